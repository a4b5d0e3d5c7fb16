"""Shapley values by sampling: by how much each column of a table moves a prediction.

Beginning at a row to compare with, the columns are replaced by those of the row in random order, and the changes of
the prediction are recorded. This needs only predictions, so it works for every model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

__all__ = ["N_REFERENCES", "Averaged", "Paths", "ShapleyValues", "averaged", "paths_of", "shapley_values"]

Index = NDArray[np.intp]

N_REFERENCES = 24  # rows to compare with, and orders of the columns, that contributions are averaged over
_BLOCK = 50_000  # predictions at once


class ShapleyValues(NamedTuple):
    """Contributions of the columns to one or several quantities.

    Attributes
    ----------
    contributions : ndarray of shape (n_rows, n_columns, n_quantities)
        By how much each column moves each quantity.
    base : ndarray of shape (n_quantities,)
        Means of the quantities over the rows to compare with.
    """

    contributions: FloatArray
    base: FloatArray


def shapley_values(
    predict: Callable[[Index], FloatArray],
    rows: Index,
    background: Index,
    n_columns: int,
    random_state: int = 0,
) -> ShapleyValues:
    """Sample Shapley values of the columns, with the same rows to compare with for every row.

    Parameters
    ----------
    predict : callable
        Takes an array `source` of shape (n_mixed, n_columns) and returns the quantities of mixed rows, shape
        (n_mixed, n_quantities): column j of the k-th mixed row is that of row `source[k, j]`.
    rows : ndarray of int
        Rows to explain.
    background : ndarray of int
        Rows to compare with; 24 of them are chosen at random.
    n_columns : int
        Number of columns.
    random_state : int, default=0
        Seed.

    Returns
    -------
    ShapleyValues
        Contributions and base; their sum is the prediction of each row.
    """
    rng = np.random.default_rng(random_state)
    reference = rng.choice(background, N_REFERENCES, replace=len(background) < N_REFERENCES)
    paths = [paths_of(int(row), reference, n_columns, rng) for row in rows]
    found = list(averaged(predict, paths))
    return ShapleyValues(np.array([parts.contributions for parts in found]), found[0].base)


@dataclass(frozen=True, eq=False)
class Paths:
    """Mixed rows between the rows to compare with and one row.

    Attributes
    ----------
    source : ndarray of int, of shape (n_mixed, n_columns)
        The row that each column of each mixed row is taken from.
    order : ndarray of int, of shape (n_references, n_columns)
        Order in which the columns are replaced.
    """

    source: Index
    order: Index


class Averaged(NamedTuple):
    """Contributions to one row, averaged over the rows to compare with; the last axis has the quantities.

    Attributes
    ----------
    contributions : ndarray of shape (n_columns, n_quantities)
        By how much each column moves each quantity.
    base : ndarray of shape (n_quantities,)
        Mean over the rows to compare with.
    expected : ndarray of shape (n_quantities,)
        The prediction of the row.
    """

    contributions: FloatArray
    base: FloatArray
    expected: FloatArray


def paths_of(row: int, reference: Index, n_columns: int, rng: np.random.Generator) -> Paths:
    """Draw the orders in which columns are replaced.

    Parameters
    ----------
    row : int
        The row to explain.
    reference : ndarray of int
        Rows to compare with.
    n_columns : int
        Number of columns.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    Paths
        The mixed rows.
    """
    order = np.argsort(rng.random((len(reference), n_columns)), axis=1)
    rank = np.argsort(order, axis=1)
    taken = rank[:, None, :] < np.arange(n_columns + 1)[None, :, None]
    source = np.where(taken, row, reference[:, None, None])
    return Paths(source.reshape(-1, n_columns), order)


def averaged(predict: Callable[[Index], FloatArray], paths: Sequence[Paths]) -> Iterator[Averaged]:
    """Average the changes of the predictions along the paths; many rows at once, because every call takes time.

    Parameters
    ----------
    predict : callable
        As in `shapley_values`.
    paths : sequence of Paths
        One for each row.

    Returns
    -------
    iterator of Averaged
        One for each row.
    """
    for start in range(0, len(paths), _at_once(paths)):
        part = paths[start : start + _at_once(paths)]
        values = np.asarray(predict(np.concatenate([path.source for path in part])), dtype=np.float64)
        for path, steps in zip(part, np.split(values, len(part)), strict=True):
            along = steps.reshape(len(path.order), -1, steps.shape[-1])
            change = np.zeros((*path.order.shape, steps.shape[-1]))
            np.put_along_axis(change, path.order[..., None], np.diff(along, axis=1), axis=1)
            yield Averaged(change.mean(axis=0), along[:, 0].mean(axis=0), along[0, -1])


def _at_once(paths: Sequence[Paths]) -> int:
    return max(1, _BLOCK // len(paths[0].source)) if paths else 1
