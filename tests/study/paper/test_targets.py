"""The slice meets its targets where ours is near the paper, on all splits; and it says so where not."""

import pytest

from levelhead.study.paper.published import table1
from levelhead.study.paper.table1 import SEEDS
from levelhead.study.paper.targets import TARGETS, check_targets, slice_specs
from levelhead.study.store import Row


def rows(shift: float, n_splits: int = 50) -> list[Row]:
    """Results off the paper's by so many of its standard errors."""
    found = []
    for method in TARGETS:
        fact = table1()["boston", 0.05, method]
        rmse = fact.rmse + shift * fact.rmse_std / 50**0.5
        for seed in SEEDS[:n_splits]:
            found.append(Row("boston", 0.05, "r", method, seed, rmse, fact.auc, 0, 0, 0, 0, None, 1.0))
    return found


def test_the_slice_is_two_methods_on_all_splits():
    specs = slice_specs()
    assert len(specs) == 100
    assert {(s.dataset, s.contamination) for s in specs} == {("boston", 0.05)}
    assert {s.method for s in specs} == {"GCP", "EnsGCP"}


@pytest.mark.parametrize(
    ("shift", "missed"), [(0.0, set()), (0.9, set()), (-1.2, {"EnsGCP"}), (1.7, {"GCP", "EnsGCP"})]
)
def test_targets(shift, missed):
    found = check_targets(rows(shift))
    assert {m.cell.method for m in found if not m.met} == missed
    assert all(m.met for m in found if m.cell.measure == "auc")


def test_fewer_splits_meet_no_target():
    assert not any(m.met for m in check_targets(rows(0.0, n_splits=49)))
    with pytest.raises(ValueError, match="found 2 of 4 cells"):
        check_targets([row for row in rows(0.0) if row.method == "GCP"])
