"""The slice says whether ours differs from the paper, with the errors of both sides and of four tests."""

import numpy as np
import pytest

from levelhead.study.paper.published import table1
from levelhead.study.paper.table1 import SEEDS
from levelhead.study.paper.targets import METHODS, check_targets, slice_specs
from levelhead.study.store import Row

# The paper's standard deviation on our side too: standard errors of the difference are √2 times the paper's.
SPREAD = np.random.default_rng(0).normal(size=len(SEEDS))
SPREAD = (SPREAD - SPREAD.mean()) / SPREAD.std(ddof=1)


def rows(shift: float, n_splits: int = 50) -> list[Row]:
    """Results off the paper's by so many standard errors of the paper, in RMSE."""
    found = []
    for method in METHODS:
        fact = table1()["boston", 0.05, method]
        for seed, noise in list(zip(SEEDS, SPREAD, strict=True))[:n_splits]:
            rmse = fact.rmse + fact.rmse_std * (shift / 50**0.5 + noise)
            auc = fact.auc + fact.auc_std * noise
            found.append(Row("boston", 0.05, "r", method, seed, rmse, auc, 0, 0, 0, 0, None, 1.0))
    return found


def test_the_slice_is_two_methods_on_all_splits():
    specs = slice_specs()
    assert len(specs) == 100
    assert {(s.dataset, s.contamination) for s in specs} == {("boston", 0.05)}
    assert {s.method for s in specs} == {"GCP", "EnsGCP"}


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        (0.0, "agrees"),
        (2.5, "agrees"),  # 1.8 standard errors of the difference
        (3.0, "agrees"),  # 2.1, significant alone but not among four
        (4.0, "worse than the paper"),
        (-4.0, "better than the paper"),
    ],
)
def test_verdicts_use_the_errors_of_both_sides(shift, verdict):
    found = check_targets(rows(shift))
    assert {t.verdict for t in found if t.cell.measure == "rmse"} == {verdict}
    assert {t.verdict for t in found if t.cell.measure == "auc"} == {"agrees"}
    assert all(t.met for t in found) == (verdict != "worse than the paper")


def test_the_interval_of_the_difference():
    target = check_targets(rows(2.0))[0]
    error = 1.47 * (2 / 50) ** 0.5
    expected = (2 * 1.47 / 50**0.5 - 1.96 * error, 2 * 1.47 / 50**0.5 + 1.96 * error)
    assert target.interval == pytest.approx(expected, abs=2e-3)


def test_fewer_splits_allow_no_statement():
    found = check_targets(rows(0.0, n_splits=49))
    assert {t.verdict for t in found} == {"too few splits"}
    assert not any(t.met for t in found)
    with pytest.raises(ValueError, match="found 2 of 4 cells"):
        check_targets([row for row in rows(0.0) if row.method == "GCP"])
