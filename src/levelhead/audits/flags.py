"""Which labels are flagged as wrong: the most suspect ones, as many as keep the expected share of false alarms low."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray


class Uncertain(NamedTuple):
    """Labels that are more likely wrong than right, but not flagged, because too many may be false alarms.

    Attributes
    ----------
    rows : ndarray of int
        Their rows, the most suspect first.
    false_alarm_rate : float
        The rate at which they are flagged too, in steps of 0.01.
    """

    rows: NDArray[np.intp]
    false_alarm_rate: float


def most_suspect(p: FloatArray, false_alarm_rate: float) -> NDArray[np.bool_]:
    """Choose the largest set of labels whose expected share of clean ones stays within a limit.

    A label that is more likely right than wrong is never chosen.

    Parameters
    ----------
    p : ndarray of shape (n_samples,)
        Probability that each label is wrong.
    false_alarm_rate : float
        Largest expected share of clean labels in the set.

    Returns
    -------
    ndarray of bool, of shape (n_samples,)
        Whether each label is in the set.
    """
    order = np.argsort(-p, kind="stable")
    expected = np.cumsum(1 - p[order]) / np.arange(1, p.size + 1)
    chosen = np.zeros(p.size, dtype=bool)
    chosen[order[: np.searchsorted(expected, false_alarm_rate, side="right")]] = True
    return chosen & (p > 0.5)


def flagged(p: FloatArray, is_code: NDArray[np.bool_], false_alarm_rate: float) -> NDArray[np.bool_]:
    """Flag codes for missing values, and the most suspect of the other labels.

    Parameters
    ----------
    p : ndarray of shape (n_samples,)
        Probability that each label is wrong.
    is_code : ndarray of bool, of shape (n_samples,)
        Labels that stand for a missing value, which do not count for the limit.
    false_alarm_rate : float
        Largest expected share of clean labels among the other flagged ones.

    Returns
    -------
    ndarray of bool, of shape (n_samples,)
        Whether each label is flagged.
    """
    flags = is_code.copy()
    flags[~is_code] = most_suspect(p[~is_code], false_alarm_rate)
    return flags


def not_flagged(p: FloatArray, is_code: NDArray[np.bool_], flags: NDArray[np.bool_]) -> Uncertain:
    """Find the labels that are more likely wrong than right, but not flagged.

    Parameters
    ----------
    p : ndarray of shape (n_samples,)
        Probability that each label is wrong.
    is_code, flags : ndarray of bool, of shape (n_samples,)
        Labels that stand for a missing value, and those that are flagged.

    Returns
    -------
    Uncertain
        The labels, and what would flag them.
    """
    rows = np.flatnonzero((p > 0.5) & ~flags)
    expected = float(np.mean(1 - p[(p > 0.5) & ~is_code])) if rows.size else 0.0
    return Uncertain(rows[np.argsort(-p[rows], kind="stable")], math.floor(100 * expected + 1) / 100)
