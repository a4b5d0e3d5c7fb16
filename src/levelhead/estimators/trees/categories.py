"""Columns of categories as integer codes for the trees; unknown categories become NaN."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAMED_TYPES = ("category", "categorical", "enum", "str", "string", "utf8")


def learn(X: Any, which: Any) -> dict[int, list[Any]]:
    """The categories of every categorical column, by its position.

    `which` is "from_dtype" (columns of a frame that hold categories or text), None, or positions or names of columns.
    """
    if which is None or (isinstance(which, str) and not hasattr(X, "columns")):
        return {}
    columns = _columns(X)
    chosen = (
        [k for k, name in enumerate(columns) if _is_named(X, name)]
        if isinstance(which, str)
        else positions(X, which)
    )
    return {k: _categories(_cells(X, columns, k)) for k in chosen}


def positions(X: Any, which: Sequence[int | str]) -> list[int]:
    """The positions of columns that are given by position or name."""
    columns = _columns(X)
    return [_position(columns, given) for given in which]


def encode(X: Any, categories: dict[int, list[Any]]) -> Any:
    """The same table with codes in place of categories."""
    if not categories:
        return X
    columns = _columns(X)
    if max(categories) >= len(columns):
        raise ValueError(f"X has {len(columns)} columns, but column {max(categories)} was categorical in fit")
    coded = {k: _codes(_cells(X, columns, k), known) for k, known in categories.items()}
    if hasattr(X, "with_columns"):
        return X.with_columns(**{columns[k]: codes for k, codes in coded.items()})
    if hasattr(X, "columns"):
        return X.assign(**{columns[k]: codes for k, codes in coded.items()})
    table = np.array(X, dtype=object)
    for k, codes in coded.items():
        table[:, k] = codes
    return table.astype(np.float64)


def _columns(X: Any) -> list[Any]:
    if hasattr(X, "columns"):
        return list(X.columns)
    return list(range(np.shape(X)[1])) if np.ndim(X) == 2 else []


def _position(columns: list[Any], given: Any) -> int:
    if given in columns:
        return columns.index(given)
    if isinstance(given, (int, np.integer)) and 0 <= int(given) < len(columns):
        return int(given)
    raise ValueError(f"categorical_features names {given!r}, but X has the columns {columns}")


def _cells(X: Any, columns: list[Any], k: int) -> NDArray[Any]:
    return np.asarray(
        X[columns[k]] if hasattr(X, "columns") else np.asarray(X, dtype=object)[:, k], dtype=object
    )


def _is_named(X: Any, name: Any) -> bool:
    """Whether a column of a frame holds categories or text."""
    kind = str(X[name].dtype).lower()
    if kind == "object":
        return any(isinstance(value, str) for value in X[name])
    return kind.partition("(")[0].partition("[")[0] in _NAMED_TYPES


def _is_missing(value: Any) -> bool:
    return value is None or value != value or str(value) == "<NA>"


def _categories(cells: NDArray[Any]) -> list[Any]:
    known = {value for value in cells.tolist() if not _is_missing(value)}
    return sorted(known, key=lambda value: (type(value).__name__, value))


def _codes(cells: NDArray[Any], known: list[Any]) -> NDArray[Any]:
    code = {value: float(k) for k, value in enumerate(known)}
    return np.array([np.nan if _is_missing(value) else code.get(value, np.nan) for value in cells.tolist()])
