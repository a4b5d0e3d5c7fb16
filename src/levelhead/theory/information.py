"""Fisher's information of Student's t, the geometry in which natural-gradient steps are taken.

The t of equation (3) has 2α degrees of freedom, location m and **squared** scale σ/α. Here it is written with its scale
s = √(σ/α), in the coordinates (m, ln s, ln α), in which the information about the location stands alone:

    I(m, m) = (2α+1)/((2α+3)s²)         I(ln s, ln s) = 4α/(2α+3)
    I(ln s, ln α) = −4α/((2α+1)(2α+3))  I(ln α, ln α) = α²(Ψ′(α) − Ψ′(α+½)) − α(2α+5)/((2α+1)(2α+3))

It is finite and positive definite for every α: steps of −I⁻¹∇L are bounded, because the gradient is.

>>> import numpy as np
>>> student_information(0.5, 1.0)[:2, :2]  # Cauchy's distribution: ½ and ½
array([[0.5, 0. ],
       [0. , 0.5]])
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import zeta

FloatArray = NDArray[np.float64]

_FAR = 13.0  # beyond this α the terms of ln α cancel so far that their series is better
# (½ + ½ tanh(t/4)) is the generating function of Ψ′(α) − Ψ′(α+½); coefficients of t, t³, t⁵, … of its second half.
_TANH = np.array([1 / 8, -1 / 384, 1 / 15_360, -17 / 10_321_920, 31 / 743_178_240, -691 / 653_996_851_200])


def student_information(alpha: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Information matrix in (m, ln s, ln α), of shape (…, 3, 3), for one label."""
    alpha, scale = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(scale, np.float64))
    if not ((alpha > 0) & (scale > 0)).all():
        raise ValueError("alpha and scale must be positive")
    information = np.zeros((*alpha.shape, 3, 3))
    information[..., 0, 0] = (2 * alpha + 1) / (2 * alpha + 3) / scale / scale
    information[..., 1, 1] = of_log_scale(alpha)
    information[..., 1, 2] = information[..., 2, 1] = _across(alpha)
    information[..., 2, 2] = of_log_alpha(alpha)
    return information


def of_log_scale(alpha: ArrayLike) -> FloatArray:
    """I(ln s, ln s) = 4α/(2α+3)."""
    alpha = np.asarray(alpha, dtype=np.float64)
    return np.asarray(4 / (2 + 3 / alpha))


def of_log_alpha(alpha: ArrayLike) -> FloatArray:
    """I(ln α, ln α): 1 for small α, 7/(8α²) for large."""
    alpha = np.asarray(alpha, dtype=np.float64)
    near = np.minimum(alpha, _FAR)
    trigammas = near * near * (zeta(2.0, near) - zeta(2.0, near + 0.5))
    rational = near * (2 * near + 5) / ((2 * near + 1) * (2 * near + 3))
    return np.where(alpha < _FAR, trigammas - rational, _of_large_alpha(np.maximum(alpha, _FAR)))


def _of_large_alpha(alpha: FloatArray) -> FloatArray:
    """The same with its leading terms cancelled by hand, ½ + 1/(4α) against the rational part's."""
    tail = sum(
        c * _factorial(2 * k + 2) * alpha ** -(2 * k + 1.0) for k, c in enumerate(_TANH[1:].tolist(), start=1)
    )
    # ½ + 1/(4α) − α(2α+5)/((2α+1)(2α+3)), over one denominator
    rest = (3.5 + 0.75 / alpha) / (2 * alpha + 1) / (2 * alpha + 3)
    return np.asarray(rest + tail)


def _across(alpha: FloatArray) -> FloatArray:
    return np.asarray(-2 / ((1 + 0.5 / alpha) * (2 * alpha + 3)))


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1.0, n + 1)))
