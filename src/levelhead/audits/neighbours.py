"""Nearest neighbours of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

Index = NDArray[np.intp]


def nearest(numbers: FloatArray, rows: Index, k: int, among: NDArray[np.bool_] | None = None) -> Index:
    """Find the nearest rows of each of `rows`.

    Each column is scaled by its standard deviation; a missing value is replaced by the mean.

    Parameters
    ----------
    numbers : ndarray of shape (n_samples, n_features)
        Inputs; NaN is missing.
    rows : ndarray of int of shape (n_rows,)
        Rows to find neighbours of.
    k : int
        Number of neighbours.
    among : ndarray of bool of shape (n_samples,) or None, default=None
        Rows that may be neighbours; by default all.

    Returns
    -------
    ndarray of int of shape (n_rows, k)
        Neighbours of each row, the nearest first, without the row itself.
    """
    from sklearn.neighbors import NearestNeighbors

    pool = np.arange(len(numbers)) if among is None else np.flatnonzero(among)
    k = min(k, len(pool) - 1)
    if not len(rows) or k < 1:
        return np.empty((len(rows), 0), dtype=np.intp)
    scaled = _scaled(numbers)
    search: Any = NearestNeighbors(n_neighbors=k + 1).fit(scaled[pool])
    found = pool[search.kneighbors(scaled[rows], return_distance=False)]
    others = found != rows[:, None]
    others[others.all(axis=1), -1] = False  # the row itself is not in the pool, or not among many equal rows
    return np.asarray(found[others].reshape(len(rows), k), dtype=np.intp)


def _scaled(numbers: FloatArray) -> NDArray[np.float32]:
    known = np.isfinite(numbers)
    filled = np.where(known, numbers, 0.0)
    count = np.maximum(known.sum(axis=0), 1)
    centre = filled.sum(axis=0) / count
    away = np.where(known, numbers - centre, 0.0)
    spread = np.sqrt((away**2).sum(axis=0) / count)
    return (away / np.where(spread > 0, spread, 1.0)).astype(np.float32)
