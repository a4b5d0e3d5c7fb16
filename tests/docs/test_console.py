"""What the pages show of the command line is what it prints, for the table that the tutorial makes.

Words must be the same, numbers nearly: trees of another version of LightGBM differ a little. `…` stands for any lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from levelhead.cli import screen
from levelhead.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?")
pytestmark = pytest.mark.compiled


def first_code(page: str, seed: int = 0) -> dict[str, object]:
    """Names after the first Python block of a page, which makes the table."""
    names: dict[str, object] = {}
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    exec(code.replace("default_rng(0)", f"default_rng({seed})"), names)
    return names


def sessions(page: str) -> Iterator[tuple[str, list[str]]]:
    """Commands of a page and the lines that follow each."""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for session in block.split("$ levelhead ")[1:]:
            command, *lines = session.strip().splitlines()
            if lines:
                yield command.partition("#")[0].strip(), lines


def alike(shown: str, printed: str) -> bool:
    """Whether two lines have the same words, and numbers that differ by at most a tenth."""
    shown, printed = (re.sub(r" in \d+ s\b", " in some s", line.strip()) for line in (shown, printed))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(a - b) <= 0.1 * abs(b) + 0.05 for a, b in (map(_float, pair) for pair in pairs))


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def missing(shown: list[str], printed: list[str]) -> list[str]:
    """Lines of a page that were not printed, in this order."""
    rest, absent = iter(printed), []
    for line in shown:
        if line.strip() not in ("", "…") and not any(alike(line, given) for given in rest):
            absent.append(line)
    return absent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tables that the pages speak of, and the decisions of a review that takes every repair."""
    folder = tmp_path_factory.mktemp("flats")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(screen, "_SECONDS_BETWEEN_LINES", float("inf"))  # a slow machine reports its progress
        page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
        other = first_code(page, seed=1)
        further = other["flats"].head(400)
        further.drop(columns="rent").to_csv("new.csv", index=False)
        further.assign(rent=np.round(other["true_rent"][:400])).to_csv("held-out.csv", index=False)
        first_code(page)
        command, _ = next(sessions(page))
        audit = CliRunner().invoke(app, command.split())
        assert audit.exit_code == 0, audit.output
        review(pd.read_csv("levelhead-audit/labels.csv")).to_csv("decisions.csv", index=False)
        yield folder


def review(labels: pd.DataFrame) -> pd.DataFrame:
    """Decisions as the report writes them: repairs that are known, and one label that is kept."""
    fixed = labels[labels["is_label_issue"] & labels["repaired_label"].notna()]
    kept = labels[labels["is_label_issue"] & labels["repaired_label"].isna()].head(1)
    decided = pd.concat([fixed.assign(decision="fix"), kept.assign(decision="keep")])
    decided["new_label"] = decided["repaired_label"]
    return decided[["row", "given_label", "decision", "new_label"]].assign(column="rent")


@pytest.mark.parametrize("name", ["tutorial", "command-line", "howto/repair"])
def test_pages_show_what_is_printed(name: str, folder: Path) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shown = list(sessions(page))
    assert shown
    for command, lines in shown:
        force = [] if command.startswith("evaluate") else ["--force"]
        result = CliRunner().invoke(app, [*command.split(), *force])
        assert result.exit_code == 0, result.output
        assert missing(lines, result.output.splitlines()) == [], result.output


def test_the_tutorial_finds_the_planted_errors(folder: Path) -> None:
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    wrong = first_code(page)["wrong"]
    labels = pd.read_csv(folder / "levelhead-audit" / "labels.csv")
    found = labels.loc[labels["is_label_issue"], "id"].tolist()
    planted = {f"F{i}" for i in wrong[:30]}  # the rest is off by a third, and may hide in the noise
    assert len(planted & set(found)) >= 29
    assert len(found) <= 36


def test_the_comparison_finds_what_is_different() -> None:
    printed = ["About 5.3% of 597 labels look wrong", "row     id", "452   F451      164"]
    assert missing(printed, printed) == []
    assert missing(["About 5.2% of 597 labels look wrong", "…", "452 F451 164"], printed) == []
    assert missing(["About 9.3% of 597 labels look wrong"], printed) == [
        "About 9.3% of 597 labels look wrong"
    ]
    assert missing(["About 5.3% of 597 labels seem wrong"], printed)
    assert missing(["452   F452      164"], printed)
    assert missing(printed[::-1], printed)
