"""The pictures of the manual are drawn from the code, and the same code draws the same bytes."""

import importlib
from pathlib import Path

import pytest

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.parametrize("name", ["a-of-alpha", "b-of-alpha", "corrections", "phase-portraits"])
def test_a_picture_is_the_same_on_every_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(PICTURES))
    mathematics = importlib.import_module("mathematics")
    drawn = []
    for run in ("first", "second"):
        mathematics.draw({name: mathematics.PICTURES[name]}, tmp_path / run)
        drawn.append((tmp_path / run / f"{name}.svg").read_bytes())
    assert drawn[0] == drawn[1]
    assert capsys.readouterr().out.count("wrote") == 2


def test_the_portraits_of_both_forms_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the functions of "phase-portraits", at twice the cost: once is enough."""
    monkeypatch.syspath_prepend(str(PICTURES))
    mathematics, name = importlib.import_module("mathematics"), "phase-portraits-of-both-forms"
    mathematics.draw({name: mathematics.PICTURES[name]}, tmp_path)
    assert (tmp_path / f"{name}.svg").stat().st_size > 10_000


def test_every_picture_is_shown() -> None:
    root = PICTURES.parents[1]
    pages = "".join(page.read_text() for page in [root / "README.md", *(root / "docs").rglob("*.md")])
    pictures = list((root / "docs/assets").glob("*.svg"))
    assert pictures
    assert [picture.name for picture in pictures if f"assets/{picture.name})" not in pages] == []
