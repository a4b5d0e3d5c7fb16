"""Exponential, logarithm and power in float64 that give the same bits on every computer.

numpy has several versions of these functions and chooses one for the processor; they differ in the last bit. All that
influences training uses the functions below, so that a fit does not depend on the computer. They consist of additions,
multiplications and divisions, which every processor rounds alike, and are precise to two units in the last place.

>>> float(exp(1.0)), float(log(10.0))
(2.718281828459045, 2.302585092994046)
"""

from collections.abc import Callable
from functools import wraps

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

_BLOCK = 4096  # numbers whose intermediate results fit into the cache
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # n·HIGH is exact for |n| < 2²¹
LOWEST, HIGHEST = -746.0, 710.0  # beyond, exp is 0 or ∞
SQRT_HALF = np.float64(0.7071067811865476).view(np.int64)
SMALLEST = np.finfo(np.float64).smallest_normal

# Remez coefficients: r·coth(r/2) = 2 + r²·P(r²) on |r| ≤ ½ ln 2, and (ln((1+s)/(1−s)) − 2s)/s on |s| ≤ 0.1716.
EXP = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
    -1.65339022054652515390e-06, 4.13813679705723846039e-08,
)  # fmt: skip
LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip


def _sine_series(n_terms: int) -> tuple[float, ...]:
    terms = [2 * np.pi]
    for k in range(1, n_terms):
        terms.append(-terms[-1] * (2 * np.pi) * (2 * np.pi) / (2 * k * (2 * k + 1)))
    return tuple(terms)


SINE = _sine_series(12)  # coefficients of sin 2πu in u, u³, … for |u| ≤ ¼


def in_blocks(f: Callable[[FloatArray], FloatArray]) -> Callable[[ArrayLike], FloatArray]:
    """Lift a function of a 1-D block to arrays of any shape; blocks keep intermediate results in the cache.

    Parameters
    ----------
    f : callable
        Takes and returns a 1-D array.

    Returns
    -------
    callable
        Takes and returns arrays of any shape.
    """

    @wraps(f)
    def lifted(values: ArrayLike) -> FloatArray:
        given = np.asarray(values).astype(np.float64, casting="same_kind", copy=False)
        flat = given.ravel()
        with np.errstate(all="ignore"):
            if flat.size <= _BLOCK:
                out = f(flat)
            else:
                out = np.empty_like(flat)
                for start in range(0, flat.size, _BLOCK):
                    block = slice(start, start + _BLOCK)
                    out[block] = f(flat[block])
        result: FloatArray = out.reshape(given.shape)[()]
        return result

    return lifted


def _log(x: FloatArray) -> FloatArray:
    usual = (x >= SMALLEST) & (x < np.inf)
    return _log_of_usual(x) if usual.all() else _log_of_any(x)


def _log_of_any(x: FloatArray) -> FloatArray:
    subnormal = (x > 0) & (x < SMALLEST)
    near = _log_of_usual(np.where(subnormal, x * 2.0**54, x), np.where(subnormal, 54.0, 0.0))
    usual = (x > 0) & (x < np.inf)
    near[~usual] = np.where(x == 0, -np.inf, np.where(x > 0, x, np.nan))[~usual]
    return near


def _log_of_usual(x: FloatArray, lifted_by: FloatArray | None = None) -> FloatArray:
    """The logarithm of positive normal numbers, which were multiplied by a power of 2."""
    bits = x.view(np.int64)
    whole = (bits - SQRT_HALF) >> 52
    f = (bits - (whole << 52)).view(np.float64) - 1  # in [√½, √2) − 1
    k = whole.astype(np.float64) if lifted_by is None else whole - lifted_by
    s = f / (2 + f)
    square = s * s
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + square * _horner(LOG, square)) + k * LN2_LOW)) - f)


@in_blocks
def exp(x: FloatArray) -> FloatArray:
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
    bounded = np.clip(x, LOWEST, HIGHEST)
    n = np.rint(bounded * LOG2_E)
    high = bounded - n * LN2_HIGH
    low = n * LN2_LOW
    r = high - low
    square = r * r
    c = r - square * _horner(EXP, square)
    near = 1 - ((low - r * c / (2 - c)) - high)  # eʳ
    whole = np.where(np.isnan(n), 0, n).astype(np.int32)
    return np.ldexp(near, whole)


@in_blocks
def log(x: FloatArray) -> FloatArray:
    """The natural logarithm; −∞ at 0, NaN below.

    Parameters
    ----------
    x : array-like
        Any numbers.

    Returns
    -------
    ndarray
        ln x, of the same shape.
    """
    return _log(x)


@in_blocks
def log1p(x: FloatArray) -> FloatArray:
    """ln(1 + x), to full relative precision for small x.

    Parameters
    ----------
    x : array-like
        Any numbers.

    Returns
    -------
    ndarray
        ln(1 + x), of the same shape.
    """
    u = 1 + x
    lost = (x - (u - 1)) / u  # what rounding took from 1 + x
    usual = (u > 0) & (u < np.inf)
    if not usual.all():
        lost[~usual] = 0.0
    return _log(u) + lost


def softplus(x: ArrayLike) -> FloatArray:
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
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(np.maximum(x, 0.0) + log1p(exp(-np.abs(x))))[()]


@in_blocks
def cos_turns(t: FloatArray) -> FloatArray:
    """The cosine of 2πt for 0 ≤ t ≤ 1.

    Parameters
    ----------
    t : array-like
        Numbers from 0 to 1.

    Returns
    -------
    ndarray
        cos 2πt, of the same shape.
    """
    u = 0.25 - np.minimum(t, 1 - t)  # cos 2πt = sin 2πu, |u| ≤ ¼
    return u * _horner(SINE, u * u)


def sin(x: ArrayLike) -> FloatArray:
    """Compute sin x, for |x| up to some thousands, to about 1e-15 of the largest |x|.

    Parameters
    ----------
    x : array-like
        Angles in radians.

    Returns
    -------
    ndarray of the shape of x
        The sines.
    """
    turns = np.asarray(x, dtype=np.float64) / (2 * np.pi) - 0.25
    return cos_turns(turns - np.floor(turns))


def power(x: ArrayLike, exponent: ArrayLike) -> FloatArray:
    """Raise x ≥ 0 to the power of an exponent.

    Parameters
    ----------
    x : array-like
        Numbers of at least 0.
    exponent : array-like
        Exponents; broadcast against x.

    Returns
    -------
    ndarray
        The powers.
    """
    with np.errstate(invalid="ignore"):
        raised = exp(np.asarray(exponent) * log(x))
    return np.where(np.asarray(exponent) == 0, 1.0, raised)[()]


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    total = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total *= x
        total += c
    return total
