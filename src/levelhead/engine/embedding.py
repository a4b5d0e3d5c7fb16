"""Bounded and piecewise-linear inputs of networks, in compiled code."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead.engine._jit import kernel
from levelhead.engine._types import Float32, Float64, Rows
from levelhead.engine.networks import one_type


@kernel
def _embed_rows(
    X: NDArray[Any],
    scale: Float64,
    column: Rows,
    pieces: Float64,
    bound: float,
    far: float,
    inputs: Float32,
) -> None:
    n_columns = X.shape[1]
    for i in range(len(X)):
        for j in range(n_columns):
            cell, center, spread = np.float64(X[i, j]), scale[0, j], scale[1, j]
            scaled = (cell - center) / spread
            if not np.isfinite(scaled):  # a difference of two huge numbers may have overflowed
                scaled = (0.5 * cell - 0.5 * center) / spread * 2
            scaled = np.float64(np.float32(min(max(scaled, -far), far)))
            ratio = scaled / bound
            inputs[i, j] = scaled / np.sqrt(1 + ratio * ratio)
        for k in range(len(column)):
            part = (np.float64(X[i, column[k]]) - pieces[0, k]) / pieces[1, k]
            inputs[i, n_columns + k] = min(max(part, 0.0), 1.0) - 0.5


def embed(
    X: NDArray[Any], scale: Float64, column: Rows, pieces: Float64, bound: float, far: float
) -> Float32:
    """Scale the columns of a table with a bound, and add inputs that rise along one piece of a column.

    Parameters
    ----------
    X : ndarray of float32 or float64, of shape (n_samples, n_columns)
        The table, without gaps.
    scale : ndarray of shape (2, n_columns)
        Centers and spreads.
    column : ndarray of int, of shape (n_pieces,)
        The column of each piece.
    pieces : ndarray of shape (2, n_pieces)
        Where each piece begins, and its width.
    bound : float
        Bound of the scaled columns.
    far : float
        Scaled cells are cut here before the bound applies, so that their squares cannot overflow.

    Returns
    -------
    ndarray of float32, of shape (n_samples, n_columns + n_pieces)
        The inputs.
    """
    inputs = np.empty((len(X), X.shape[1] + len(column)), dtype=np.float32)
    _embed_rows(one_type(np.ascontiguousarray(X)), scale, column, pieces, bound, far, inputs)
    return inputs
