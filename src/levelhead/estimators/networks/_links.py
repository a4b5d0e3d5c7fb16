"""Softplus and its inverse, for positive outputs of networks."""

import numpy as np
from numpy.typing import NDArray

from levelhead.engine import elementwise
from levelhead.theory import elementary

_TINY = float(np.finfo(np.float32).tiny)


def softplus(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(1 + e^u), never exactly 0: its lower bound is the smallest normal float32."""
    return np.maximum(elementwise.softplus(u), _TINY)


def raw(value: float) -> float:
    """The output whose softplus is `value`."""
    return float(value + elementary.log(-np.expm1(-value)))
