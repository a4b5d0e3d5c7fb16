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


def test_every_picture_is_shown_in_the_manual() -> None:
    pages = [PICTURES.parent / "mathematics.md", PICTURES.parents[1] / "README.md"]
    page = "".join(path.read_text() for path in pages)
    shown = {
        path.stem for path in (PICTURES.parent / "assets").glob("*.svg") if f"assets/{path.name})" in page
    }
    assert shown == {path.stem for path in (PICTURES.parent / "assets").glob("*.svg")}
    assert len(shown) >= 6
