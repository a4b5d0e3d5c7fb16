"""The smallest value of a smooth loss, found so that unlike machines agree on it."""

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
    """Where a loss with gradient is smallest within bounds; its value is settled to `tol`.

    The truncated Newton method adds up its vectors by itself. L-BFGS-B calls a BLAS, which rounds as suits the
    processor; on a flat loss that moved the result in the sixth digit.
    """
    found: FloatArray = minimize(
        loss, start, args, "TNC", jac=True, bounds=bounds, options={"ftol": tol, "maxfun": _MOST_CALLS}
    ).x
    return found
