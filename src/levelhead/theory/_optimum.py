"""Minimises a smooth loss so that different computers agree on the result."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

FloatArray = NDArray[np.float64]

_MOST_CALLS = 2000


def optimum(
    loss: Callable[..., tuple[float, FloatArray]],
    start: Sequence[float] | FloatArray,
    args: tuple[Any, ...] = (),
    *,
    bounds: Sequence[tuple[float | None, float | None]],
    tol: float,
) -> FloatArray:
    """Minimise a loss with gradient within bounds.

    The truncated Newton method adds up its vectors by itself. L-BFGS-B calls a BLAS, which rounds differently on
    different processors; on a flat loss that changed the result in the sixth digit.

    Parameters
    ----------
    loss : callable
        Called with a point and `args`; returns value and gradient.
    start : array-like of shape (n,)
        Where to begin.
    args : tuple, default=()
        Further arguments of `loss`.
    bounds : sequence of (float or None, float or None)
        Lower and upper bound of each coordinate.
    tol : float
        The value of the loss is precise to this number.

    Returns
    -------
    ndarray of shape (n,)
        The point.
    """
    found: FloatArray = minimize(
        loss, start, args, "TNC", jac=True, bounds=bounds, options={"ftol": tol, "maxfun": _MOST_CALLS}
    ).x
    return found
