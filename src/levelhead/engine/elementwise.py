"""Functions of `levelhead.theory.elementary` that predictions need, compiled: the same bits, in a tenth of the time.

For the few numbers of one row, nearly all the time of numpy's version is that of calling numpy.

>>> import numpy as np
>>> from levelhead.theory import elementary
>>> x = np.linspace(-800, 800, 12_345)
>>> bool((exp(x) == elementary.exp(x)).all() and (softplus(x) == elementary.softplus(x)).all())
True
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.engine._instructions import as_float64, as_int64
from levelhead.engine._jit import inline, kernel
from levelhead.engine._types import Float64
from levelhead.engine.networks import one_type
from levelhead.theory import _chebyshev, elementary

_EXP, _SOFTPLUS, _POWER, _EXCESS = range(4)
_LOG2_E, _LN2_HIGH, _LN2_LOW = elementary.LOG2_E, elementary.LN2_HIGH, elementary.LN2_LOW
_LOWEST, _HIGHEST = elementary.LOWEST, elementary.HIGHEST
_SQRT_HALF, _SMALLEST = np.int64(elementary.SQRT_HALF), float(elementary.SMALLEST)
_OF_EXP, _OF_LOG = np.array(elementary.EXP), np.array(elementary.LOG)
_OF_EXCESS = np.array(_chebyshev.S)
_SHIFT = np.int64(52)


@inline
def _horner(coefficients: Float64, x: float) -> float:
    total = coefficients[len(coefficients) - 1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[k]
    return float(total)


@inline
def _exp(x: float) -> float:
    bounded = _LOWEST if x < _LOWEST else x
    bounded = _HIGHEST if bounded > _HIGHEST else bounded
    n = np.rint(bounded * _LOG2_E)
    high = bounded - n * _LN2_HIGH
    low = n * _LN2_LOW
    r = high - low
    square = r * r
    c = r - square * _horner(_OF_EXP, square)
    near = 1 - ((low - r * c / (2 - c)) - high)
    return near if np.isnan(n) else math.ldexp(near, int(n))


@inline
def _log(x: float) -> float:
    if x == 0:
        return -np.inf
    if not x > 0:
        return np.nan
    if x == np.inf:
        return x
    subnormal = x < _SMALLEST
    bits = as_int64(x * 2.0**54 if subnormal else x)
    whole = (bits - _SQRT_HALF) >> _SHIFT
    f = as_float64(bits - (whole << _SHIFT)) - 1
    k = float(whole) - (54.0 if subnormal else 0.0)
    s = f / (2 + f)
    square = s * s
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + square * _horner(_OF_LOG, square)) + k * _LN2_LOW)) - f)


@inline
def _log1p(x: float) -> float:
    u = 1 + x
    lost = (x - (u - 1)) / u if u > 0 and u < np.inf else 0.0
    return _log(u) + lost


@inline
def _excess(alpha: float) -> float:
    """α − A(α), by Clenshaw's recurrence."""
    if not alpha >= 0:
        return np.nan
    x = 1 - 4 / (alpha + 2)
    twice_x = 2 * x
    now, before = 0.0, 0.0
    for k in range(len(_OF_EXCESS) - 1, 0, -1):
        now, before = (twice_x * now - before) + _OF_EXCESS[k], now
    series = _OF_EXCESS[0] + x * now - before
    return float(series * alpha * (1.0 if alpha == np.inf else alpha / (1 + alpha)))


@kernel
def _apply(function: int, x: Float64, exponent: float, out: Float64) -> None:
    if function == _EXP:
        for i in range(len(x)):
            out[i] = _exp(x[i])
    elif function == _SOFTPLUS:
        for i in range(len(x)):
            out[i] = (x[i] if x[i] > 0 else 0.0) + _log1p(_exp(-abs(x[i])))
    elif function == _POWER:
        for i in range(len(x)):
            out[i] = 1.0 if exponent == 0 else _exp(exponent * _log(x[i]))
    else:
        for i in range(len(x)):
            out[i] = _excess(x[i])


def _of_each(function: int, values: ArrayLike, exponent: float = 0.0) -> Float64:
    given = np.asarray(values, dtype=np.float64)
    flat = given.ravel()
    out = np.empty_like(flat)
    with np.errstate(all="ignore"):
        _apply(function, one_type(flat), exponent, out)
    result: Float64 = out.reshape(given.shape)[()]
    return result


def exp(x: ArrayLike) -> Float64:
    """eˣ; 0 and ∞ beyond the range of floats.

    Parameters
    ----------
    x : array-like
        Any numbers.

    Returns
    -------
    ndarray
        eˣ, of the same shape.
    """
    return _of_each(_EXP, x)


def softplus(x: ArrayLike) -> Float64:
    """ln(1 + eˣ), to full relative precision.

    Parameters
    ----------
    x : array-like
        Any numbers.

    Returns
    -------
    ndarray
        ln(1 + eˣ), of the same shape.
    """
    return _of_each(_SOFTPLUS, x)


def power(x: ArrayLike, exponent: float) -> Float64:
    """Raise x ≥ 0 to a power.

    Parameters
    ----------
    x : array-like
        Numbers of at least 0.
    exponent : float
        The exponent.

    Returns
    -------
    ndarray
        The powers, of the shape of x.
    """
    return _of_each(_POWER, x, float(exponent))


def prognostic_variance(alpha: ArrayLike, sigma: NDArray[np.float64]) -> Float64:
    """V_p = σ/(α − A(α)), equation (6), of parameters that need no check.

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : ndarray
        σ > 0; broadcast against α.

    Returns
    -------
    ndarray
        The variance.
    """
    return np.asarray(sigma / _of_each(_EXCESS, alpha))
