"""Which rows a fold model leaves out: folds by content, by groups of rows, or by any scikit-learn splitter.

By default the fold of a row depends on its content and the seed, so that copies of a row fall into one fold. Rows of
one group always fall into one fold. Whatever the folds are, no fold model is trained on a copy of a row that it
predicts. Rows with equal inputs and different labels are not copies: another label for the same inputs is evidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.validation import has_fit_parameter

from levelhead.estimators._preparation import Rows
from levelhead.estimators._types import FloatArray

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds of the rows of a table.

    Attributes
    ----------
    of_row : ndarray of int, of shape (n_rows,)
        The fold of each row: the fold model that predicts it.
    seen : ndarray of bool, of shape (n_rows, n_folds)
        Whether each fold model is trained on each row.
    """

    of_row: NDArray[np.int64]
    seen: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of folds."""
        return int(self.seen.shape[1])

    def at(self, rows: NDArray[np.int64]) -> "Folds":
        """The folds of some rows, which may occur several times."""
        return Folds(self.of_row[rows], self.seen[rows])


@dataclass(frozen=True, eq=False)
class Splitting:
    """How the user wants the rows to be divided.

    Attributes
    ----------
    groups : array-like of shape (n_rows,), or None
        Rows with equal entries belong together.
    cv : int, splitter, iterable, Folds or None
        As in scikit-learn; an int is a number of folds.
    """

    groups: Any = None
    cv: Any = None

    def checked(self, n: int) -> "Splitting":
        """The same with groups as whole numbers from 0; refuse groups of another length or with gaps."""
        if self.groups is None:
            return self
        given = np.asarray(self.groups)
        if given.shape != (n,):
            raise ValueError(f"groups has shape {given.shape} but there are {n} rows; give one entry per row")
        missing = given != given if given.dtype.kind in "fcmM" else np.zeros(n, dtype=bool)
        if given.dtype == object:
            missing = np.array([entry is None or entry != entry for entry in given])
        if missing.any():
            raise ValueError(
                f"groups has {missing.sum()} missing entries (first at row {np.flatnonzero(missing)[0]}); give every "
                "row a group, if need be one of its own"
            )
        known: dict[Any, int] = {}
        codes = np.array([known.setdefault(entry, len(known)) for entry in given.tolist()], dtype=np.int64)
        if len(known) < 2:
            raise ValueError(f"all rows have the group {given[0]!r}; folds need at least two groups")
        return Splitting(codes, self.cv)

    def take(self, rows: NDArray[np.intp]) -> "Splitting":
        """The same for some of the rows; lists of row numbers become the default folds."""
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        listed = (
            self.cv is not None
            and not isinstance(self.cv, int | np.integer)
            and not hasattr(self.cv, "split")
        )
        return Splitting(groups, None if listed else self.cv)


def takes_folds(model: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, has folds: `fit` takes `cv`."""
    if isinstance(model, BaseSearchCV):
        return takes_folds(model.estimator)
    if isinstance(model, TransformedTargetRegressor):
        return takes_folds(model.regressor)
    if hasattr(model, "steps"):
        return takes_folds(model.steps[-1][1])
    return bool(has_fit_parameter(model, "cv"))


def fit_parameters(model: Any, **given: Any) -> dict[str, Any]:
    """Keyword arguments of `fit` for an estimator, or for the last step of a pipeline, without those that are None."""
    if isinstance(model, BaseSearchCV):
        return fit_parameters(model.estimator, **given)
    if isinstance(model, TransformedTargetRegressor):
        return fit_parameters(model.regressor, **given)
    prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    return {f"{prefix}{name}": value for name, value in given.items() if value is not None}


def time_blocks(time: ArrayLike, n_blocks: int = 20) -> NDArray[np.int64]:
    """Groups of rows that follow each other in time, for `groups=`.

    Parameters
    ----------
    time : array-like of shape (n_samples,)
        Times, dates or numbers. Rows of one time fall into one block.
    n_blocks : int, default=20
        Number of blocks, of about equal size.

    Returns
    -------
    ndarray of int, of shape (n_samples,)
        The block of each row.

    Raises
    ------
    ValueError
        If times are missing, or if all are equal.

    Examples
    --------
    >>> time_blocks([3, 1, 2, 4, 4, 9], n_blocks=2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    given = np.asarray(time)
    if given.dtype.kind in "mM":
        missing = np.isnat(given)
    else:
        missing = np.array([entry is None or entry != entry for entry in given.tolist()])
    if missing.any():
        raise ValueError(
            f"time has {missing.sum()} missing entries (first at row {np.flatnonzero(missing)[0]}); give every row a "
            "time, or leave it out"
        )
    known, first, counts = np.unique(given, return_inverse=True, return_counts=True)
    if len(known) < 2:
        raise ValueError("all rows have one time; blocks need at least two")
    middle = np.cumsum(counts) - counts / 2
    return np.asarray((middle / len(given) * n_blocks).astype(np.int64)[first])


def assign(rows: Rows, n_folds: int, splitting: Splitting, X: Any, y: FloatArray) -> Folds:
    """Divide the rows into folds: `n_folds` of them, unless the user wants others."""
    cv = splitting.cv
    if isinstance(cv, Folds):
        return cv
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv is {cv}; at least two folds are needed")
        n_folds, cv = int(cv), None
    if cv is not None:
        return _by_splitter(rows, check_cv(cv), X, y, splitting.groups)
    if splitting.groups is not None:
        of_row = _balanced(np.asarray(splitting.groups), rows.key, n_folds)
        return _without_copies(of_row, of_row[:, None] != np.arange(of_row.max() + 1), rows)
    of_row = rows.group % n_folds
    return Folds(of_row, of_row[:, None] != np.arange(n_folds))


def _balanced(groups: NDArray[np.int64], key: NDArray[np.uint64], n_folds: int) -> NDArray[np.int64]:
    """Large groups first, each into the fold with the fewest rows; equal ones in an order by content."""
    sizes = np.bincount(groups)
    content = np.zeros(sizes.size, dtype=np.uint64)
    np.add.at(content, groups, key * _MIX)
    n_folds = min(n_folds, int((sizes > 0).sum()))
    if n_folds < 2:
        raise ValueError("the rows belong to one group; folds need at least two groups")
    fold_of_group, filled = np.zeros(sizes.size, dtype=np.int64), np.zeros(n_folds, dtype=np.int64)
    for group in np.lexsort((content, -sizes)):
        fold_of_group[group] = np.argmin(filled)
        filled[fold_of_group[group]] += sizes[group]
    return fold_of_group[groups]


def _by_splitter(rows: Rows, cv: Any, X: Any, y: FloatArray, groups: Any) -> Folds:
    """Test sets are folds, a row in several belongs to the first; rows in none are one more fold."""
    n = len(y)
    splits: Iterable[tuple[Any, Any]] = cv.split(X, y, groups)
    of_row, seen = np.full(n, -1, dtype=np.int64), []
    for k, (train, test) in enumerate(splits):
        trained = np.zeros(n, dtype=bool)
        trained[train] = True
        if trained[test].any():
            raise ValueError(
                f"split {k} of cv tests rows that it trains on; give a splitter of disjoint sets"
            )
        free = np.zeros(n, dtype=bool)
        free[test] = True
        of_row[free & (of_row < 0)] = k
        seen.append(trained)
    if (of_row < 0).any():  # the first rows of a time series, say: a model of all others predicts them
        seen.append(of_row >= 0)
        of_row[of_row < 0] = len(seen) - 1
    known = np.stack(seen, axis=1)
    largest_first = np.argsort(-known.sum(axis=0), kind="stable")
    place = np.argsort(largest_first)
    return _without_copies(place[of_row], known[:, largest_first], rows)


def _without_copies(of_row: NDArray[np.int64], seen: NDArray[np.bool_], rows: Rows) -> Folds:
    """No fold model is trained on a copy of a row that it predicts."""
    _, content = np.unique(rows.key, return_inverse=True)
    predicted = np.zeros((content.max() + 1, seen.shape[1]), dtype=bool)
    predicted[content, of_row] = True
    left = seen & ~predicted[content]
    visited = np.zeros(len(of_row), dtype=bool)
    visited[rows.index] = True
    empty = ~left[visited].any(axis=0)
    if empty.any():
        raise ValueError(
            f"fold {int(np.flatnonzero(empty)[0])} leaves no rows to train on; use fewer folds or other groups"
        )
    return Folds(of_row, left)
