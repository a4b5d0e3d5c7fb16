"""Paired tests of methods over splits, and their correction for many tests.

Splits share most of their training rows, so that differences are correlated over the splits and a t-test is optimistic
(Nadeau and Bengio, 2003). A difference that is barely significant is best read as a tie.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

LEVEL = 0.05
Bold = Literal["holm", "paper"]
_BOLD = ("holm", "paper")
Column = Mapping[str, Mapping[int, float]]


def best_methods(column: Column, *, bold: Bold = "holm") -> set[str]:
    """Find the methods that no other method beats significantly.

    Parameters
    ----------
    column : mapping
        For each method a mapping from split to loss.
    bold : {"holm", "paper"}, default="holm"
        Whether the p-values of all pairs are corrected for their number (Holm), or not, as in the paper.

    Returns
    -------
    set of str
        Names of the methods.

    Raises
    ------
    ValueError
        If `bold` is not known.
    """
    if bold not in _BOLD:
        raise ValueError(f"bold is {bold!r}; choose 'holm' (corrected) or 'paper' (not corrected)")
    found = {pair: p_value(column[pair[0]], column[pair[1]]) for pair in combinations(column, 2)}
    if bold == "holm":
        found = dict(zip(found, holm(list(found.values())), strict=True))
    beaten = {
        other if _mean_difference(column[one], column[other]) < 0 else one
        for (one, other), p in found.items()
        if p < LEVEL
    }
    return set(column) - beaten


def p_value(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Compute the p-value of a two-sided paired t-test on the splits that both have; 1 with fewer than two."""
    difference = _differences(one, other)
    if difference.size < 2:
        return 1.0
    mean = difference.mean()
    if np.ptp(difference) <= 1e-12 * abs(mean):  # the same everywhere, but for rounding
        return 1.0 if mean == 0 else 0.0
    t = mean / (difference.std(ddof=1) / np.sqrt(difference.size))
    return float(2 * stdtr(difference.size - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm, 1979): rejections below a level keep the error of the family there."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.minimum(1, np.maximum.accumulate(np.asarray(p_values, dtype=float)[order] * factors))
    corrected = np.empty(len(p_values))
    corrected[order] = stepped
    return [float(p) for p in corrected]


def _differences(one: Mapping[int, float], other: Mapping[int, float]) -> NDArray[np.float64]:
    shared = sorted(one.keys() & other.keys())
    return np.array([one[seed] - other[seed] for seed in shared], dtype=np.float64)


def _mean_difference(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    return float(_differences(one, other).mean())
