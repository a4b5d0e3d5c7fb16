"""Two differences that a fit with large α depends on, formed without cancellation."""

import numpy as np
from numpy.typing import NDArray

from levelhead.theory.special import delta_psi

FloatArray = NDArray[np.float64]


def log_excess(sin: FloatArray, cos: FloatArray) -> FloatArray:
    """ln(1+r²) − r²/(1+r²) for r = tan φ: −ln(1−u) − u with u = sin²φ, for small u by artanh's series."""
    u = sin * sin
    w = u / (2 - u)
    w2 = np.minimum(w * w, 0.04)
    series = np.zeros_like(u)
    for k in range(23, 1, -2):
        series = series * w2 + 1 / k
    return np.where(u < 0.3, u * w + 2 * w**3 * series, -2 * np.log(cos) - u)


def psi_excess(alpha: FloatArray) -> FloatArray:
    """ΔΨ(α) + 1/(2α+1): −1/α for small α, −3/(8α²) for large, from 40 on by its asymptotic series."""
    x = 1 / np.maximum(alpha, 40.0) ** 2
    tail = -x / 8 * (1 - x / 8 * (1 - x / 2 * (1 - 17 * x / 16)))  # ΔΨ(α) + 1/(2α)
    series = tail - 1 / (2 * alpha * (2 * alpha + 1))
    return np.where(alpha < 40, delta_psi(alpha) + 1 / (2 * alpha + 1), series)
