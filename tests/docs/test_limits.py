"""The statements of the page on limits hold, with fewer draws than the page has."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiled
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def limits():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS / "tables"))
        yield importlib.import_module("limits")


def one(limits, cases, name: str) -> dict[str, float]:
    found = [make for label, make in cases if label.startswith(name)]
    assert len(found) == 1
    return limits.measured(found[0](0), seed=0)


def test_up_to_half_of_the_labels_may_be_wrong_and_more_are_not_hidden(limits) -> None:
    many = one(limits, limits.shares(), "40 %")
    assert many["share"] == pytest.approx(0.4, abs=0.05)
    assert many["error"] < 1
    assert many["found"] > 0.8
    most = one(limits, limits.shares(), "60 %")
    assert most["share"] > 0.4
    assert most["width"] > 2


def test_wrong_labels_that_agree_are_believed_if_they_are_near_or_together(limits) -> None:
    for name in ("20 % at 8 sd", "40 % at 8 sd"):
        assert one(limits, limits.clusters(), name)["found"] > 0.9
    for name in ("40 % at 3 sd", "20 %, all in"):
        believed = one(limits, limits.clusters(), name)
        assert believed["found"] < 0.05
        assert believed["error"] > 2


def test_errors_near_the_noise_stay_hidden(limits) -> None:
    near, far = (one(limits, limits.inside_the_noise(), f"5 % off by {k} ") for k in (3, 10))
    assert near["found"] < 0.1
    assert far["found"] > 0.4


def test_every_table_is_shown_and_none_is_missing() -> None:
    page = (DOCS / "limits.md").read_text()
    script = (DOCS / "tables" / "limits.py").read_text()
    tables = sorted((DOCS / "tables").glob("limits_*.md"))
    assert len(tables) == 7
    for table in tables:
        assert f'"docs/tables/{table.name}"' in page
        assert f'"{table.name}"' in script
