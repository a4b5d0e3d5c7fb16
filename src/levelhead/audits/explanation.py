"""Why a label is suspect: which inputs move its expectation, and what trusted rows nearby look like.

The contribution of an input is its Shapley value, by sampling (`levelhead.audits.shapley`), which works for every
model.

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
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import FloatArray, real
from levelhead.audits.neighbours import nearest
from levelhead.audits.shapley import N_REFERENCES, averaged, paths_of
from levelhead.prediction.display import make_frame

__all__ = ["Contributions", "Explanation", "affordable", "explain"]

Index = NDArray[np.intp]
Predict = Callable[[Any], ArrayLike]

_NEIGHBOURS = 6
_MOST_PREDICTIONS = 200_000
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


@dataclass(frozen=True, eq=False)
class Contributions:
    """By how much each column moves the mean and the spread of every row.

    For every row, `base_mean` and the contributions to the mean add up to the mean on the scale on which the model
    learns, and `base_log_std` and those to the spread to ln of its standard deviation without the disagreement of
    members (`aleatoric_var` of `prediction.latent`).

    Attributes
    ----------
    mean : ndarray of shape (n_samples, n_features)
        Contributions to the mean.
    log_std : ndarray of shape (n_samples, n_features)
        Contributions to the logarithm of the standard deviation: 0.1 stands for about 10 % more.
    base_mean : float
        Mean of the rows that each row is compared with.
    base_log_std : float
        Mean of their ln std.
    names : tuple of str
        Names of the columns.
    scale : str or None
        Name of the scale of the labels on which the model learns; None for the units of y.
    """

    mean: FloatArray
    log_std: FloatArray
    base_mean: float
    base_log_std: float
    names: tuple[str, ...]
    scale: str | None = None

    def __len__(self) -> int:
        return len(self.mean)

    def to_frame(
        self, of: Literal["mean", "log_std"] = "mean", backend: Literal["pandas", "polars"] = "pandas"
    ) -> Any:
        """Return a table with one row per row of X and one column per column of X.

        Parameters
        ----------
        of : {"mean", "log_std"}, default="mean"
            The quantity.
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Contributions.
        """
        if of not in ("mean", "log_std"):
            raise ValueError(f"of is {of!r}; choose 'mean' or 'log_std'")
        parts = self.mean if of == "mean" else self.log_std
        return make_frame(dict(zip(self.names, parts.T, strict=True)), backend)

    def __repr__(self) -> str:
        size = np.abs(self.mean).mean(axis=0) if len(self) else np.zeros(len(self.names))
        largest = [f"{self.names[k]} ({size[k]:.3g})" for k in np.argsort(-size, kind="stable")[:_SHOWN]]
        on = "" if self.scale is None else f", on a {self.scale} scale"
        return f"Contributions of {len(self.names)} columns to {len(self):,} rows{on}; mean size: {', '.join(largest)}"


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
    return max(1, _MOST_PREDICTIONS // (N_REFERENCES * (n_columns + 1)))


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
    pool = np.flatnonzero(fine)
    paths = [paths_of(int(row), rng.choice(pool, N_REFERENCES), len(columns), rng) for row in chosen]
    found = averaged(lambda source: np.asarray(predict(_mixed(X, columns, source)))[:, None], paths)
    return [
        _explanation(int(row), [part[..., 0] for part in parts], columns, others)
        for row, parts, others in zip(chosen, found, near, strict=True)
    ]


def _explanation(row: int, parts: list[Any], columns: dict[str, Any], near: Index) -> Explanation:
    mean, usual, expected = parts
    names = list(columns)
    by_size = np.argsort(-np.abs(mean), kind="stable")
    return Explanation(
        row=row,
        expected=float(expected),
        usual=float(usual),
        contributions={names[place]: float(mean[place]) for place in by_size},
        cells={name: column[row] for name, column in columns.items()},
        neighbours=near,
    )


def _columns(X: Any) -> dict[str, Any]:
    if hasattr(X, "columns"):
        return {str(name): np.asarray(X[name]) for name in X.columns}
    cells = np.asarray(X)
    return {f"column {place + 1}": cells[:, place] for place in range(cells.shape[1])}


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
