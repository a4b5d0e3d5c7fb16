"""The examples of the gallery run, where the tables are there, and find what the page says."""

import importlib
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text("utf-8")
DATA = Path(os.environ.get("LEVELHEAD_DATA", ROOT / "data"))


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pandas")
    pytest.importorskip("lightgbm")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("gallery")


def test_the_page_shows_every_example_and_its_output(gallery) -> None:
    assert set(re.findall(r"docs/tables/gallery/(\w+)\.txt", PAGE)) == set(gallery.EXAMPLES)
    for name in gallery.EXAMPLES:
        assert (gallery.WRITTEN / f"{name}.txt").stat().st_size > 100


@pytest.mark.compiled
def test_the_zeros_of_blood_pressure_are_found(gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (DATA / "errors" / "blood_pressure.csv").exists():
        pytest.skip("the table is not in LEVELHEAD_DATA")
    monkeypatch.setattr(gallery, "DATA", DATA)
    found = re.search(r"the truth: 35 wrong labels; (\d+) of (\d+) flagged", gallery.output("blood_pressure"))
    assert found is not None
    right, flagged = map(int, found.groups())
    assert right >= 33
    assert flagged - right <= 3
