"""The special functions of the paper: A(α), b(α), ΔΨ(α) and lnΓ(α+½) − lnΓ(α), to full precision.

`A(α)` is the root of equation (7). It turns the scale of a fitted Student's t into the variance of the
clean labels, `V_p = σ/(α − A(α))`, equation (6). With `s = √(α − A)` the equation reads

    √π · s · erfcx(s) = 2α/(2α+1),

whose solution loses all digits at both ends if it is formed naively. Here every function is a Chebyshev
series in `x = (α − 2)/(α + 2)`, after its behaviour at α → 0 and α → ∞ has been divided out. The relative
error is below 1e-13 for α in [1e-12, 1e12]; the limits at 0 and ∞ are exact; NaN and negative α give NaN.

>>> float(A(1.0))
0.46328801452354343
>>> float(alpha_minus_A(1e-9))  # the difference of two nearly equal numbers is never formed
1.2732395425847747e-18
"""

from collections.abc import Callable
from functools import wraps

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory import _chebyshev
from levelhead.theory.elementary import in_blocks, log

FloatArray = NDArray[np.float64]


def _elementwise(f: Callable[[FloatArray], FloatArray]) -> Callable[[ArrayLike], FloatArray]:
    """Lift a function of a 1-D block of α ≥ 0 to arrays of any shape, NaN outside the domain."""

    @wraps(f)
    def in_domain(alpha: FloatArray) -> FloatArray:
        return f(np.where(alpha >= 0, alpha, np.nan))

    return in_blocks(in_domain)


def _series(coefficients: tuple[float, ...], alpha: FloatArray) -> FloatArray:
    """Sum of c_k T_k(x) at x = (α − 2)/(α + 2), by Clenshaw's recurrence, in place."""
    x = 1 - 4 / (alpha + 2)  # the same as (α − 2)/(α + 2), and right at α = ∞
    twice_x = 2 * x
    now, before, work = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
    for c in reversed(coefficients[1:]):
        np.multiply(twice_x, now, out=work)
        work -= before
        work += c
        now, before, work = work, now, before
    return coefficients[0] + x * now - before


def _fraction(alpha: FloatArray) -> FloatArray:
    """α/(1 + α), and 1 at α = ∞."""
    return np.where(np.isinf(alpha), 1.0, alpha / (1 + alpha))


@_elementwise
def A(alpha: FloatArray) -> FloatArray:
    """A(α), the unique root of equation (7); rises from A(0) = 0 to A(∞) = 1.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        A(α), of the same shape.
    """
    return _series(_chebyshev.A, alpha) * _fraction(alpha)


@_elementwise
def alpha_minus_A(alpha: FloatArray) -> FloatArray:
    """α − A(α), the denominator of the prognostic variance (6): 4α²/π for small α, α − 1 for large.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        α − A(α), of the same shape.
    """
    return _series(_chebyshev.S, alpha) * alpha * _fraction(alpha)


@_elementwise
def dA(alpha: FloatArray) -> FloatArray:
    """A′(α) = 1 − 2(α − A)/((2α+1)A); from 1 at α = 0 down to 3/(2α²) for large α.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        A′(α), of the same shape.
    """
    reciprocal = 1 / (1 + alpha)
    return _series(_chebyshev.DA, alpha) * reciprocal * reciprocal


@_elementwise
def b(alpha: FloatArray) -> FloatArray:
    """b(α) = 2α/A(α), the coefficient of V_g = (1 − bε)V_p + O(ε²), equations (8) and (56).

    The paper defines b by an integral; an integration by parts in (7) gives this closed form.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        b(α), of the same shape.
    """
    return 2 * (1 + alpha) / _series(_chebyshev.A, alpha)


@_elementwise
def delta_psi(alpha: FloatArray) -> FloatArray:
    """ΔΨ(α) = Ψ(α) − Ψ(α + ½): −1/α for small α, −1/(2α) for large.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        ΔΨ(α), of the same shape.
    """
    return -_series(_chebyshev.PSI, alpha) / alpha


@_elementwise
def log_gamma_ratio(alpha: FloatArray) -> FloatArray:
    """lnΓ(α + ½) − lnΓ(α), the normalising constant of Student's t; its derivative is −ΔΨ(α).

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        The difference, of the same shape.
    """
    root = np.where(np.isinf(alpha), np.inf, alpha / np.sqrt(alpha + 0.25))
    return log(root) + _series(_chebyshev.GAMMA, alpha)


@_elementwise
def A_rough(alpha: FloatArray) -> FloatArray:
    """The authors' rough formula 2α/(2α+3) for A(α), for comparison only.

    It is too low by up to 0.065 (at α = 0.73) and makes the prognostic variance too small by a factor of 0.75 at α =
    0.5 and 0.30 at α = 0.1. Use `A`.

    Parameters
    ----------
    alpha : array-like
        α ≥ 0.

    Returns
    -------
    ndarray
        2α/(2α+3), of the same shape.
    """
    return 1 / (1 + 1.5 / alpha)
