"""Measures of the whole distribution."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.metrics._arguments import distribution, one_per_row
from levelhead.prediction import Prediction


def nll(
    y: ArrayLike,
    mean: ArrayLike | Prediction,
    var: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean of −ln p(y) for a Gaussian or a mixture of Gaussians.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples), or Prediction
        Predicted means, or a prediction, which holds the variances too.
    var : array-like of the shape of `mean`, default=None
        Predicted variances; left out with a prediction.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The mean; lower is better.
    """
    labels, mixture, w = distribution(y, mean, var, sample_weight)
    return float(-(w * mixture.logpdf(labels)).sum())


def crps(
    y: ArrayLike,
    mean: ArrayLike | Prediction,
    var: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean continuous ranked probability score, `∫(F(t) − 1{t ≥ y})² dt`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples), or Prediction
        Predicted means, or a prediction, which holds the variances too.
    var : array-like of the shape of `mean`, default=None
        Predicted variances; left out with a prediction.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The mean score, in units of y; lower is better.
    """
    labels, mixture, w = distribution(y, mean, var, sample_weight)
    return float((w * mixture.crps(labels)).sum())


def coverage(
    y: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of the labels inside their interval, ends included.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    lower : array-like of shape (n_samples,)
        Lower ends of the intervals.
    upper : array-like of shape (n_samples,)
        Upper ends of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The share, from 0 to 1.

    Raises
    ------
    ValueError
        If a lower end exceeds its upper end.
    """
    labels = _checks.vector("y", y)
    ends = []
    for name, value in (("lower", lower), ("upper", upper)):
        end = _checks.not_nan(name, _checks.real(name, value))
        one_per_row(name, end, labels.size)
        ends.append(end)
    crossed = np.flatnonzero(ends[0] > ends[1])
    if crossed.size:
        raise ValueError(f"lower exceeds upper in {crossed.size} rows (first at row {crossed[0]}); swap them")
    inside = (ends[0] <= labels) & (labels <= ends[1])
    return float((_checks.weights(sample_weight, labels.size) * inside).sum())


def pit(y: ArrayLike, mean: ArrayLike | Prediction, var: ArrayLike | None = None) -> FloatArray:
    """The probability integral transform F(y) of every label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples), or Prediction
        Predicted means, or a prediction, which holds the variances too.
    var : array-like of the shape of `mean`, default=None
        Predicted variances; left out with a prediction.

    Returns
    -------
    ndarray of shape (n_samples,)
        Values from 0 to 1; uniform if the predicted distributions are right.
    """
    labels, mixture, _ = distribution(y, mean, var, None)
    return mixture.cdf(labels)


class CalibrationCurve(NamedTuple):
    """Expected and observed share of labels below each quantile.

    Attributes
    ----------
    expected : ndarray of shape (n_levels,)
        Probabilities of the quantiles.
    observed : ndarray of shape (n_levels,)
        Share of the labels below each quantile.
    """

    expected: FloatArray
    observed: FloatArray


def calibration_curve(
    y: ArrayLike,
    mean: ArrayLike | Prediction,
    var: ArrayLike | None = None,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationCurve:
    """Expected and observed share of labels below each quantile.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples), or Prediction
        Predicted means, or a prediction, which holds the variances too.
    var : array-like of the shape of `mean`, default=None
        Predicted variances; left out with a prediction.
    levels : array-like of shape (n_levels,), default=None
        Probabilities of the quantiles; 0.01, 0.02, …, 0.99 by default.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    CalibrationCurve
        The levels, and the observed share at each.
    """
    expected = np.arange(1, 100) / 100 if levels is None else _checks.vector("levels", levels)
    values = pit(y, mean, var)
    w = _checks.weights(sample_weight, values.size)
    order = np.argsort(values)
    below = np.searchsorted(values[order], expected, side="right")
    observed = np.concatenate([[0.0], np.cumsum(w[order])])[below]
    return CalibrationCurve(expected, observed)


def calibration_error(
    y: ArrayLike,
    mean: ArrayLike | Prediction,
    var: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area between the calibration curve and the diagonal, ∫|observed(p) − p| dp, computed exactly.

    It is the Wasserstein distance of the PIT values from the uniform distribution.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples), or Prediction
        Predicted means, or a prediction, which holds the variances too.
    var : array-like of the shape of `mean`, default=None
        Predicted variances; left out with a prediction.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The area, from 0 to ½; lower is better.
    """
    values = pit(y, mean, var)
    w = _checks.weights(sample_weight, values.size)
    order = np.argsort(values)
    p, end = values[order], np.cumsum(w[order])
    start = end - w[order]
    return float(0.5 * np.sum((p - start) * np.abs(p - start) + (end - p) * np.abs(end - p)))
