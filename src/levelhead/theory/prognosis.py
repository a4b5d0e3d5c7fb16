"""What is read off a fitted network: variances of the clean labels, and the probability of a wrong label.

Given α and σ of the fitted Student's t (equations (3) and (4)):

| variance | formula | needs |
|---|---|---|
| `student_variance` | σ/(α − 1), equation (9): of the contaminated labels | |
| `prognostic_variance` | σ/(α − A(α)), equation (6): of the clean labels up to O(ε) | |
| `first_order_variance` | (1 − bε)V_p, equation (8): up to O(ε²) | ε, small |
| `far_variance` | σ/(α* − A(α*)), α* = α/(1 − ε(2α+1)): exact for far outliers | ε |

With residuals of a whole data set at hand, `separation.estimate_contamination` does better than all of them.

>>> float(prognostic_variance(1.0, 0.53671198547645658))
1.0
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.normal_gamma import StudentT
from levelhead.theory.special import alpha_minus_A, b

FloatArray = NDArray[np.float64]

# Where a finite Student variance is needed (sorting, mixtures), α − 1 is kept above this.
_SMALLEST_EXCESS = 5e-5


def prognostic_variance(alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """V_p = σ/(α − A(α)), equation (6)."""
    alpha, sigma = _parameters(alpha, sigma)
    return sigma / alpha_minus_A(alpha)


def student_variance(alpha: ArrayLike, sigma: ArrayLike, *, finite: bool = False) -> FloatArray:
    """V_St = σ/(α − 1), equation (9); for α ≤ 1 infinite, or with `finite` a very large number."""
    alpha, sigma = _parameters(alpha, sigma)
    if finite:
        return sigma / np.maximum(alpha - 1, _SMALLEST_EXCESS)
    return np.where(alpha > 1, sigma / np.where(alpha > 1, alpha - 1, 1.0), np.inf)


def first_order_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """(1 − b(α)ε)V_p, equation (8). It needs bε ≪ 1; prefer `far_variance`."""
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    _refuse(b(alpha) * epsilon >= 1, alpha, epsilon, "b(α)ε ≥ 1 makes the first-order variance negative")
    return (1 - b(alpha) * epsilon) * prognostic_variance(alpha, sigma)


def far_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """V_far = σ/(α* − A(α*)) with α* = α/(1 − ε(2α+1)): exact if the outliers are far away.

    Far outliers enter H = 0 only through their share, which leaves equation (7) with α* instead of α.
    Near outliers make it too small. Its expansion in ε is `first_order_variance`.
    """
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    room = 1 - epsilon * (2 * alpha + 1)
    _refuse(room <= 0, alpha, epsilon, "ε(2α+1) ≥ 1 leaves no clean variance")
    return sigma / alpha_minus_A(alpha / room)


def outlier_probability(z: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """Probability that a label with residual z = y − m is wrong, from the local parameters alone.

    1 − N(y; m, V_p)/t(y) beyond the point where the densities cross (2.15 to 2.43 √V_p), 0 inside. It
    raises few false alarms, but is too sure or too timid when many labels are wrong: with residuals of a
    whole data set use `separation.estimate_contamination(…).probability`.
    """
    alpha, sigma = _parameters(alpha, sigma)
    z = np.asarray(z, dtype=np.float64)
    variance = prognostic_variance(alpha, sigma)
    with np.errstate(over="ignore"):  # an absurd residual has Gaussian log density −∞
        log_gaussian = -0.5 * np.log(2 * np.pi * variance) - 0.5 * z / variance * z
    share = -np.expm1(np.minimum(log_gaussian - StudentT(np.zeros_like(z), alpha, sigma).logpdf(z), 0.0))
    return np.where(np.abs(z) > np.sqrt(variance), share, 0.0)


def _parameters(*given: ArrayLike) -> tuple[FloatArray, ...]:
    """α, σ and perhaps ε as arrays of one shape, checked."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in given))
    for name, array in zip(("alpha", "sigma"), arrays, strict=False):
        if not (array > 0).all():
            raise ValueError(f"{name} must be positive, its smallest value is {array.min()}")
    if len(arrays) > 2 and not ((arrays[2] >= 0) & (arrays[2] < 1)).all():
        raise ValueError(f"epsilon must lie in [0, 1), got {arrays[2].min()} to {arrays[2].max()}")
    return tuple(arrays)


def _refuse(bad: NDArray[np.bool_], alpha: FloatArray, epsilon: FloatArray, why: str) -> None:
    if np.any(bad):
        at = int(np.argmax(np.ravel(bad)))
        raise ValueError(
            f"{why} ({np.count_nonzero(bad)} of {bad.size} values; first at position {at}: "
            f"alpha {alpha.ravel()[at]:.4g}, epsilon {epsilon.ravel()[at]:.4g}); use a smaller epsilon, or "
            "the prognostic variance"
        )
