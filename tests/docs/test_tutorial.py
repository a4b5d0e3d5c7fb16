"""The tutorial's commands work on the tutorial's table, and say what the page says."""

import re
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from levelhead.cli import screen
from levelhead.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.compiled
def test_the_commands_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text()
    monkeypatch.setattr(screen, "_SECONDS_BETWEEN_LINES", float("inf"))  # a slow machine reports its progress
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    commands = re.findall(r"^\$ levelhead (.*)$", page, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["audit"]
    result = CliRunner().invoke(app, commands[0].split())
    assert result.exit_code == 0, result.stderr
    shown = page.split("$ levelhead audit")[1].split("```")[0].splitlines()[1:]
    for line in result.stderr.splitlines():
        assert line in shown or line.startswith(("levelhead: compiling", "Estimator: ", "Labels: "))
    assert any(line.startswith("Estimator: ") for line in shown)
    labels = pd.read_csv("levelhead-audit/labels.csv")
    found = labels.loc[labels["is_label_issue"], "id"].tolist()
    planted = {f"F{i}" for i in names["wrong"][:30]}  # the rest is off by a third, and may hide in the noise
    assert len(planted & set(found)) >= 29
    assert len(found) <= 36
