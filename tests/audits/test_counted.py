"""Verdicts from counts that add up."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from levelhead.audits import Audit, estimate_contamination
from levelhead.audits.counted import Odds, Residuals

N = 20_000
RNG = np.random.default_rng(0)
Z = np.where(RNG.random(N) < 0.1, RNG.normal(0, 10, N), RNG.normal(0, 1, N))
V = np.ones(N)


def counted(rows):
    like = estimate_contamination(Z[:4000], V[:4000], core="student")
    parts = [Residuals.of(Z[k : k + rows], V[k : k + rows], like) for k in range(0, N, rows)]
    return reduce(add, parts)


def test_the_estimate_does_not_depend_on_the_pieces_and_agrees_with_all_residuals_at_once():
    one, many = counted(N).estimate(), counted(333).estimate()
    assert one == many
    whole = estimate_contamination(Z, V, core="student")
    assert one.n == N
    assert one.contamination == pytest.approx(whole.contamination, rel=0.05)


@pytest.mark.parametrize("level", [0.005, 0.02, 0.1])
def test_the_threshold_flags_what_an_audit_in_memory_flags(level):
    separation = counted(N).estimate()
    odds = separation.log_odds(Z, V)
    threshold = reduce(add, [Odds.of(odds[k : k + 777]) for k in range(0, N, 777)]).threshold(level)
    flagged = (odds > 0) & (odds >= threshold)
    expected = Audit.from_residuals(
        Z, np.zeros(N), V, separation=separation, codes=(), false_alarm_rate=level
    ).is_label_issue
    assert expected.any()
    assert (flagged != expected).mean() < 1e-3


def test_nothing_is_flagged_if_nothing_is_suspect():
    assert Odds.of(np.full(100, -3.0)).threshold(0.05) == np.inf
