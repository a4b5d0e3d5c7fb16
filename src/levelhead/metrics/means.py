"""Measures of the mean."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.metrics._arguments import errors

_MAD_OF_GAUSSIAN = float(ndtri(0.75))  # median |z| of a standard Gaussian
_CUT = 3.0  # residuals beyond three robust standard deviations count as three


def rmse(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root of the mean squared error.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The error, in units of y.
    """
    error, w = errors(y, mean, sample_weight)
    return float(np.sqrt((w * error**2).sum()))


def robust_r2(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of the spread that is explained, measured so that wrong labels have little influence.

    `1 − τ²(y − mean)/τ²(y − median(y))` with the truncated mean square

        τ²(r) = mean of min(r², (3s)²),  s = median|r|/0.6745.

    It is 1 for residuals of zero and 0 for the constant median. If all labels are correct and not too skewed, it is
    near R². For skewed labels it measures the bulk of the rows, while R² measures the few with large labels. Like any
    measure that tolerates wrong labels in up to half of the rows, it cannot distinguish a model that is right on more
    than half of the rows from a right model with wrong labels. If more than half of the labels are equal, their mean
    absolute deviation replaces s in the denominator.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of which may be wrong.
    mean : array-like of shape (n_samples,)
        Predicted means.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        At most 1; higher is better.
    """
    residual, w = errors(y, mean, sample_weight)
    labels = _checks.vector("y", y)
    deviation = labels - _weighted_median(labels, w)
    unexplained = _truncated_mean_square(residual, w, _median_scale(residual, w))
    scale = _median_scale(deviation, w)
    total = _truncated_mean_square(deviation, w, scale if scale > 0 else float((w * np.abs(deviation)).sum()))
    if total == 0:  # all labels are equal: nothing to explain
        return 1.0 if unexplained == 0 else 0.0
    return 1 - unexplained / total


def _median_scale(residual: FloatArray, w: FloatArray) -> float:
    return _weighted_median(np.abs(residual), w) / _MAD_OF_GAUSSIAN


def _truncated_mean_square(residual: FloatArray, w: FloatArray, scale: float) -> float:
    return float((w * np.minimum(np.abs(residual), _CUT * scale) ** 2).sum())


def _weighted_median(values: FloatArray, w: FloatArray) -> float:
    """The middle of the interval of values that have at most half of the weight on either side."""
    order = np.argsort(values)
    below = np.cumsum(w[order])
    half = 0.5 * below[-1]
    slack = 1e-12 * below[-1]  # equal weights must find the same two middle rows in spite of rounding
    low = np.searchsorted(below, half - slack)
    high = np.searchsorted(below, half + slack)
    return float(0.5 * (values[order[low]] + values[order[high]]))
