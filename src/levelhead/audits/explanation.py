"""Why a label is suspect: which inputs move its expectation, and what trusted rows nearby look like.

The contribution of an input is its Shapley value, by sampling: beginning at a trusted row, the inputs are replaced by
those of the suspect in random order, and the changes of the prediction are recorded. This needs only predictions, so
it works for every model.

>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(200, 3))
>>> (found,) = explain(lambda X: 5 * X[:, 0] - X[:, 2], X, [7])
>>> sorted(found.contributions) == ["column 1", "column 2", "column 3"]
True
>>> found.contributions["column 2"]
0.0
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import FloatArray, real
from levelhead.audits.neighbours import nearest

__all__ = ["Explanation", "affordable", "explain"]

Index = NDArray[np.intp]
Predict = Callable[[Any], ArrayLike]

_REFERENCES = 24  # trusted rows, and orders of the inputs, that contributions are averaged over
_NEIGHBOURS = 6
_MOST_PREDICTIONS = 200_000
_BLOCK = 50_000  # predictions at once
_SHOWN = 4


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why the model expects what it expects of one row.

    Attributes
    ----------
    row : int
        Position of the row.
    expected : float
        The prediction of the model.
    usual : float
        Mean prediction of trusted rows.
    contributions : dict of str to float
        By how much each input moves the prediction from `usual` to `expected`, the largest first.
    cells : dict of str to object
        The inputs of the row.
    neighbours : ndarray of int
        Positions of the nearest trusted rows, the nearest first; empty if no numbers to compare by were given.
    """

    row: int
    expected: float
    usual: float
    contributions: dict[str, float]
    cells: dict[str, Any]
    neighbours: Index

    @property
    def text(self) -> str:
        """The explanation in one sentence."""
        moved = [(name, value) for name, value in self.contributions.items() if value != 0][:_SHOWN]
        causes = ", ".join(f"{name} = {cell_text(self.cells[name])} ({value:+.3g})" for name, value in moved)
        because = f", because of {causes}" if causes else ""
        return f"{self.expected:.4g} is expected{because}; the mean of trusted rows is {self.usual:.4g}."


def affordable(n_columns: int) -> int:
    """Return the number of rows that `explain` explains in reasonable time.

    Parameters
    ----------
    n_columns : int
        Number of inputs.

    Returns
    -------
    int
        Rows that need about 200,000 predictions.
    """
    return max(1, _MOST_PREDICTIONS // (_REFERENCES * (n_columns + 1)))


def explain(
    predict: Predict,
    X: Any,
    rows: ArrayLike,
    *,
    trusted: ArrayLike | None = None,
    inputs: ArrayLike | None = None,
    random_state: int = 0,
) -> list[Explanation]:
    """Explain the expectation of rows.

    Parameters
    ----------
    predict : callable
        Takes a table like X and returns one prediction per row, such as `predict` of a fitted model.
    X : ndarray, pandas or polars DataFrame, n_samples × n_features
        The inputs of all rows.
    rows : array-like of int
        Positions of the rows to explain.
    trusted : array-like of bool of shape (n_samples,), default=None
        Rows to compare with; by default all.
    inputs : array-like of shape (n_samples, n_numbers), default=None
        Numbers to find the nearest rows with; by default X, if it is an array of numbers.
    random_state : int, default=0
        Seed.

    Returns
    -------
    list of Explanation
        One per row.
    """
    chosen = np.asarray(rows, dtype=np.intp)
    columns = _columns(X)
    n = len(next(iter(columns.values())))
    fine = np.ones(n, dtype=bool) if trusted is None else np.asarray(trusted, dtype=bool)
    if not fine.any():
        raise ValueError("no row is trusted; give at least one row to compare with")
    near = _nearest(X, inputs, chosen, fine)
    rng = np.random.default_rng(random_state)
    paths = [_paths(int(row), np.flatnonzero(fine), len(columns), rng) for row in chosen]
    means = _predictions(predict, X, columns, [path.source for path in paths])
    return [
        _explanation(path, values, columns, others)
        for path, values, others in zip(paths, means, near, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Paths:
    """Mixed rows: `source[k, j]` is the row that column j of the k-th mixed row is taken from."""

    row: int
    source: Index
    order: Index  # of the columns, one line per reference


def _paths(row: int, pool: Index, n_columns: int, rng: np.random.Generator) -> _Paths:
    reference = rng.choice(pool, _REFERENCES)
    order = np.argsort(rng.random((_REFERENCES, n_columns)), axis=1)
    rank = np.argsort(order, axis=1)
    taken = rank[:, None, :] < np.arange(n_columns + 1)[None, :, None]
    source = np.where(taken, row, reference[:, None, None])
    return _Paths(row, source.reshape(-1, n_columns), order)


def _explanation(paths: _Paths, means: FloatArray, columns: dict[str, Any], near: Index) -> Explanation:
    steps = means.reshape(len(paths.order), -1)
    change = np.zeros(paths.order.shape)
    np.put_along_axis(change, paths.order, np.diff(steps, axis=1), axis=1)
    mean = change.mean(axis=0)
    names = list(columns)
    by_size = np.argsort(-np.abs(mean), kind="stable")
    return Explanation(
        row=paths.row,
        expected=float(steps[0, -1]),
        usual=float(steps[:, 0].mean()),
        contributions={names[place]: float(mean[place]) for place in by_size},
        cells={name: column[paths.row] for name, column in columns.items()},
        neighbours=near,
    )


def _columns(X: Any) -> dict[str, Any]:
    if hasattr(X, "columns"):
        return {str(name): np.asarray(X[name]) for name in X.columns}
    cells = np.asarray(X)
    return {f"column {place + 1}": cells[:, place] for place in range(cells.shape[1])}


def _predictions(
    predict: Predict, X: Any, columns: dict[str, Any], sources: Sequence[Index]
) -> list[FloatArray]:
    """Predictions of the mixed rows, many at once, because every call takes time of its own."""
    if not sources:
        return []
    together = np.concatenate(sources)
    parts = [
        np.asarray(predict(_mixed(X, columns, together[start : start + _BLOCK])), dtype=np.float64)
        for start in range(0, len(together), _BLOCK)
    ]
    return np.split(np.concatenate(parts), np.cumsum([len(source) for source in sources])[:-1])


def _mixed(X: Any, columns: dict[str, Any], source: Index) -> Any:
    """Rows whose columns come from different rows, as a table of the same kind."""
    if hasattr(X, "iloc"):
        frame = X.iloc[source[:, 0]].reset_index(drop=True)
        for place, name in enumerate(X.columns):
            frame[name] = X[name].iloc[source[:, place]].array
        return frame
    if hasattr(X, "columns"):  # polars
        return type(X)({name: X[name].gather(source[:, place]) for place, name in enumerate(X.columns)})
    return np.column_stack([column[source[:, place]] for place, column in enumerate(columns.values())])


def _nearest(X: Any, inputs: ArrayLike | None, rows: Index, trusted: NDArray[np.bool_]) -> Sequence[Index]:
    if inputs is None and (hasattr(X, "columns") or np.asarray(X).dtype.kind not in "biuf"):
        return [np.empty(0, dtype=np.intp)] * len(rows)
    return list(nearest(real("inputs", X if inputs is None else inputs), rows, _NEIGHBOURS, trusted))


def cell_text(cell: Any) -> str:
    """Write the value of an input: numbers with six digits, dates without a time of zero."""
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}"
    if isinstance(cell, np.datetime64):
        return str(cell.astype("datetime64[s]")).removesuffix("T00:00:00").replace("T", " ")
    return str(cell)
