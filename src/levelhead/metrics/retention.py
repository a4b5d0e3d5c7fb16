"""Measures of the variance: whether it predicts the error."""

import numpy as np
from numpy.typing import ArrayLike

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.metrics._arguments import errors, one_per_row


def retention_curve(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> FloatArray:
    """RMSE(n) for n = 0, …, N−1: the error that remains without the n rows of largest variance.

    Rows with equal variance each enter with the mean squared error of their group, so the order of rows does not
    matter. The variance may be infinite; only its order counts.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    ndarray of shape (n_samples,)
        RMSE(0), …, RMSE(N−1).
    """
    error, _ = errors(y, mean, None)
    uncertainty = _checks.not_nan("var", _checks.real("var", var))
    one_per_row("var", uncertainty, error.size)
    return _retained_rmse(error**2, uncertainty)


def oracle_curve(y: ArrayLike, mean: ArrayLike) -> FloatArray:
    """The lowest possible retention curve: rows are left out in the order of their true errors.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.

    Returns
    -------
    ndarray of shape (n_samples,)
        RMSE(0), …, RMSE(N−1).
    """
    error, _ = errors(y, mean, None)
    return _retained_rmse(error**2, error**2)


def retention_auc(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> float:
    """Area under the retention curve, `1/(N−1) Σ_{n=0}^{N−2} (RMSE(n) + RMSE(n+1))/2`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    float
        The area, in units of y; lower is better.
    """
    return _area(retention_curve(y, mean, var))


def ause(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> float:
    """Area between the retention curve and the lowest possible one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    float
        The area, in units of y; 0 if the variance orders the rows as their errors do.
    """
    return retention_auc(y, mean, var) - _area(oracle_curve(y, mean))


def _retained_rmse(squared_error: FloatArray, uncertainty: FloatArray) -> FloatArray:
    order = np.lexsort(
        (squared_error, uncertainty)
    )  # errors too, so that sums are rounded alike in any order of rows
    _, first, size = np.unique(uncertainty[order], return_index=True, return_counts=True)
    shared = np.repeat(np.add.reduceat(squared_error[order], first) / size, size)
    kept = np.arange(1, shared.size + 1)
    return np.asarray(np.sqrt(np.cumsum(shared) / kept)[::-1])


def _area(curve: FloatArray) -> float:
    if curve.size < 2:
        raise ValueError("the area under the retention curve needs at least two rows, got one")
    return float(np.mean((curve[:-1] + curve[1:]) / 2))
