"""Robust statistics of the labels at each level of a category: median, spread and number of labels.

Medians of few labels are shrunk towards the median of all, by as much as the spread within levels and the spread
between them suggest (empirical Bayes). Where the labels of a level agree exactly, nothing is shrunk.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

GAP, UNKNOWN, FIRST = 0, 1, 2  # places of a missing cell, of an unknown level and of the first level
_MEDIAN_OF_NORMAL = 1.5708  # variance of a median of n normal labels, times n, in units of their variance
_DEVIATION = 1.4826  # standard deviation of normal labels in units of their median absolute deviation
_QUARTILES = 1.349  # their interquartile range
_OWN_SPREAD = 4.0  # labels of a level whose spread counts as much as the spread within all levels


class LevelStatistics(NamedTuple):
    """Statistics of the labels at every place: a missing cell, an unknown level, and each level in order.

    Attributes
    ----------
    location : ndarray of shape (n_levels + 2,)
        Shrunk medians; the median of all labels where there is none.
    spread : ndarray of shape (n_levels + 2,)
        Spreads around them, shrunk towards the spread within all levels.
    n_labels : ndarray of shape (n_levels + 2,)
        Numbers of labels.
    between : float
        Variance of the locations of levels.
    """

    location: FloatArray
    spread: FloatArray
    n_labels: FloatArray
    between: float


def places(codes: FloatArray) -> NDArray[np.int64]:
    """Find the place of every cell in the statistics of its column.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Codes of levels from 0, −1 for an unknown level, NaN for a missing cell.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        Places.
    """
    return np.where(np.isnan(codes), float(GAP), codes + FIRST).astype(np.int64)


def level_statistics(place: NDArray[np.int64], y: FloatArray, n_places: int) -> LevelStatistics:
    """Compute statistics of labels by the place of their rows.

    Parameters
    ----------
    place : ndarray of int of shape (n_samples,)
        Place of every row, from 0 to below `n_places`.
    y : ndarray of shape (n_samples,)
        Labels, of moderate size: their squares must be floats.
    n_places : int
        Number of places.

    Returns
    -------
    LevelStatistics
        Statistics for every place.
    """
    order = np.lexsort((y, place))
    place, y = place[order], y[order]
    count = np.bincount(place, minlength=n_places)
    start = np.cumsum(count) - count
    overall = float(np.median(y)) if y.size else 0.0
    if not y.size:
        return LevelStatistics(np.zeros(n_places), np.ones(n_places), np.zeros(n_places), 0.0)

    def quantile(level: float) -> FloatArray:
        at = level * (count - 1)
        low, high = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
        there = np.minimum(start, len(y) - 1)  # places without labels are overwritten below
        low, high = (np.minimum(there + np.maximum(step, 0), len(y) - 1) for step in (low, high))
        middle: FloatArray = 0.5 * (y[low] + y[high])
        return middle

    median = np.where(count > 0, quantile(0.5), overall)
    width = np.where(count > 1, (quantile(0.75) - quantile(0.25)) / _QUARTILES, 0.0)
    within = _spread_within(y - median[place], count[place])
    spread = (count * width + _OWN_SPREAD * within) / (count + _OWN_SPREAD)
    kept, between = _shrinkage(median - overall, count, within)
    return LevelStatistics(overall + kept * (median - overall), spread, count.astype(np.float64), between)


def _spread_within(residual: FloatArray, count: NDArray[np.int64]) -> float:
    """Spread of labels around the median of their level; medians of few labels are too close to them."""
    several = count > 1
    if not several.any():
        return float(_DEVIATION * np.median(np.abs(residual)))
    freedom = np.sqrt(count[several] / (count[several] - 1))
    return float(_DEVIATION * np.median(np.abs(residual[several]) * freedom))


def _shrinkage(distance: FloatArray, count: NDArray[np.int64], within: float) -> tuple[FloatArray, float]:
    """The share of its distance from the median of all that a level keeps, and the variance between levels."""
    there = count > 0
    noise = np.where(there, _MEDIAN_OF_NORMAL * within**2 / np.maximum(count, 1), 0.0)
    observed = (_DEVIATION * float(np.median(np.repeat(np.abs(distance), count)))) ** 2
    between = max(observed - float(np.sum(count * noise) / np.sum(count)), 0.0)
    total = between + noise
    return np.where(total > 0, between / np.where(total > 0, total, 1.0), 1.0), between
