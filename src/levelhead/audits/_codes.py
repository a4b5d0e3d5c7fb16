"""Finds labels that stand for a missing value: 0, −200, 9999."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_LEAST_REPEATS = 5
_ISOLATED = 1.0  # interquartile ranges between a code and the nearest other label
_UNEXPECTED = 4.0  # typical residuals of other labels, by which most labels with the code are off


def find_codes(y: FloatArray, residual: FloatArray, variance: FloatArray) -> FloatArray:
    """Find values that are no measurements: repeated, isolated at one end of the labels, and unexpected.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels as given.
    residual : ndarray of shape (n_samples,)
        Labels minus predicted means, on the scale on which labels are judged.
    variance : ndarray of shape (n_samples,)
        Variance of each residual, correct up to a common factor.

    Returns
    -------
    ndarray
        The codes; empty if there are none.
    """
    z = np.abs(residual) / np.sqrt(variance)
    return np.array([code for code in (y.min(), y.max()) if _is_code(float(code), y, z)])


def _is_code(code: float, y: FloatArray, z: FloatArray) -> bool:
    same = y == code
    rest = y[~same]
    if same.sum() < _LEAST_REPEATS or same.sum() >= rest.size:
        return False
    low, high = np.quantile(rest, [0.25, 0.75])
    gap = float(np.abs(rest - code).min())
    typical = float(np.median(z[~same]))
    return gap > _ISOLATED * float(high - low) and float(np.median(z[same])) > _UNEXPECTED * typical
