"""Frames of pandas, polars and pyarrow as columns of numpy arrays.

None of the three libraries is imported here: a frame of a library exists only if the library has been imported.
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}
_MICROSECONDS = 86_400e6  # of a day
_MOMENT = np.dtype("datetime64[us]")


class Cells(NamedTuple):
    """The cells of one column.

    Attributes
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_samples,)
        Numbers (float64, NaN where missing), moments (datetime64[us], NaT where missing, local time) or objects (None
        where missing). A duration is a number of days.
    category : bool
        Whether the type of the column says that it holds categories.
    zone : str or None
        Time zone of the moments.
    """

    name: str
    values: NDArray[Any]
    category: bool = False
    zone: str | None = None


def library(X: Any) -> str | None:
    """Find the library of a frame.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    {"pandas", "polars", "pyarrow"} or None
        The library; None if X is not a frame.
    """
    for name, types in _FRAMES.items():
        module = sys.modules.get(name)
        if module is not None and isinstance(X, tuple(getattr(module, kind) for kind in types)):
            return name
    return None


def is_sparse(X: Any) -> bool:
    """Whether a table is a sparse matrix or array of scipy.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        True for sparse tables.
    """
    return hasattr(X, "tocsr")


def collected(X: Any) -> Any:
    """Run the query of a lazy frame, and fill in the zeros of a sparse table.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    object
        The frame of a lazy frame, the array of a sparse table; X itself otherwise.
    """
    if is_sparse(X):
        return X.toarray()
    return X.collect() if library(X) == "polars" and hasattr(X, "collect") else X


def cells(X: Any) -> Iterator[Cells]:
    """Go through the columns of a frame.

    Parameters
    ----------
    X : frame
        A pandas or polars frame, or a pyarrow table.

    Yields
    ------
    Cells
        One column.
    """
    kind = library(X)
    if kind == "pandas":
        yield from (_of_pandas(str(name), column) for name, column in X.items())
    elif kind == "polars":
        yield from (_of_polars(column) for column in collected(X).get_columns())
    else:
        yield from (_of_arrow(name, X.column(k)) for k, name in enumerate(X.schema.names))


def names(X: Any) -> list[Any]:
    """Names of the columns of a frame.

    Parameters
    ----------
    X : frame
        A pandas or polars frame, or a pyarrow table.

    Returns
    -------
    list
        The names, in order.
    """
    return list(X.schema.names) if library(X) == "pyarrow" else list(X.columns)


def is_numeric(X: Any) -> bool:
    """Whether all columns of a frame have a numeric type, so that numpy converts it.

    Parameters
    ----------
    X : frame
        A pandas or polars frame, or a pyarrow table.

    Returns
    -------
    bool
        True if no column needs a meaning: no text, categories, dates or durations.
    """
    kind = library(X)
    if kind == "pandas":
        return all(dtype.kind in "biuf" and str(dtype) != "category" for dtype in X.dtypes)
    if kind == "polars":
        return all(dtype.is_numeric() or dtype == sys.modules["polars"].Boolean for dtype in X.dtypes)
    types = sys.modules["pyarrow"].types
    return all(types.is_integer(of) or types.is_floating(of) for of in X.schema.types)


def take(X: Any, rows: NDArray[Any]) -> Any:
    """Select rows of a table.

    Parameters
    ----------
    X : array, sparse matrix or frame
        The table.
    rows : ndarray of int
        Positions of the rows.

    Returns
    -------
    object
        A table of the same kind.
    """
    kind = library(X)
    if kind is None:
        return X[rows]
    if kind == "pandas":
        return X.iloc[rows]
    return collected(X)[rows] if kind == "polars" else X.take(rows)


def missing_cells(X: Any) -> NDArray[np.bool_]:
    """Find the cells of a table that hold no value.

    Parameters
    ----------
    X : array-like, sparse matrix or frame
        The table, n_samples × n_features.

    Returns
    -------
    ndarray of bool, of shape (n_samples, n_features)
        True where a cell is missing. A sparse matrix has no missing cells; the result has no columns then.
    """
    if library(X) is not None:
        return np.column_stack([absent(column.values) for column in cells(X)])
    if is_sparse(X):  # what is not stored is zero, not missing
        return np.zeros((X.shape[0], 0), dtype=bool)
    return absent(np.asarray(X))


def absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Find the cells without a value in an array.

    Parameters
    ----------
    values : ndarray
        Numbers, moments or objects.

    Returns
    -------
    ndarray of bool
        True for None and for what differs from itself, as NaN and NaT do.
    """
    strange: NDArray[np.bool_] = values != values
    return strange | (values == None) if values.dtype == object else strange  # noqa: E711, cell by cell


def _of_pandas(name: str, column: Any) -> Cells:
    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(name, column.array.__arrow_array__())
    if str(dtype) == "category":
        return Cells(name, _of_objects(column), category=True)
    if dtype.kind in "biuf":
        return Cells(name, column.to_numpy(dtype=np.float64, na_value=np.nan))
    if dtype.kind == "M":
        zone = getattr(column.dt, "tz", None)
        local = column if zone is None else column.dt.tz_localize(None)
        return Cells(name, local.to_numpy(dtype=_MOMENT), zone=None if zone is None else str(zone))
    if dtype.kind == "m":
        return Cells(name, _days(column.to_numpy(dtype="timedelta64[us]")))
    return Cells(name, _of_objects(column))


def _of_objects(column: Any) -> NDArray[Any]:
    array = np.array(column.to_numpy(dtype=object))
    array[column.isna().to_numpy()] = None
    return array


def _of_polars(column: Any) -> Cells:
    polars = sys.modules["polars"]
    dtype = column.dtype
    if dtype.is_numeric() or dtype == polars.Boolean:
        return Cells(column.name, column.cast(polars.Float64).to_numpy())
    if dtype in (polars.Date, polars.Datetime):
        zone = getattr(dtype, "time_zone", None)
        local = column if zone is None else column.dt.replace_time_zone(None)
        return Cells(column.name, local.cast(polars.Datetime("us")).to_numpy().astype(_MOMENT), zone=zone)
    if dtype == polars.Duration:
        return Cells(column.name, _days(column.cast(polars.Duration("us")).to_numpy()))
    if dtype == polars.Time:
        return Cells(
            column.name, column.cast(polars.Int64).cast(polars.Float64).to_numpy() / 1e3 / _MICROSECONDS
        )
    category = dtype in (polars.Categorical, polars.Enum)
    values = column.cast(polars.String) if category else column
    return Cells(column.name, _objects(values.to_list()), category=category)


def _of_arrow(name: str, column: Any) -> Cells:
    pyarrow = sys.modules["pyarrow"]
    types, of = pyarrow.types, column.type
    if types.is_timestamp(of) or types.is_date(of):
        zone = of.tz if types.is_timestamp(of) else None
        if zone is not None:
            import pyarrow.compute as compute  # the library itself is there already

            column = compute.local_timestamp(column)
        moments = column.cast(pyarrow.timestamp("us")).to_numpy(zero_copy_only=False)
        return Cells(name, moments.astype(_MOMENT), zone=zone)
    if types.is_duration(of):
        spans = column.cast(pyarrow.duration("us")).to_numpy(zero_copy_only=False)
        return Cells(name, _days(spans))
    if types.is_time(of):
        ticks = column.cast(pyarrow.time64("us")).cast("int64").cast("float64")
        return Cells(name, ticks.to_numpy(zero_copy_only=False) / _MICROSECONDS)
    if types.is_primitive(of) or types.is_decimal(of):  # numbers and truth values
        return Cells(name, column.cast("float64").to_numpy(zero_copy_only=False))
    return Cells(name, _objects(column.to_pylist()), category=types.is_dictionary(of))


def _objects(values: list[Any]) -> NDArray[Any]:
    """An array of objects, with None where a value is missing."""
    array = np.fromiter(values, dtype=object, count=len(values))  # a list in a cell stays one object
    array[absent(array)] = None
    return array


def _days(spans: NDArray[Any]) -> FloatArray:
    days: FloatArray = spans.astype("timedelta64[us]").astype(np.float64) / _MICROSECONDS
    return np.where(np.isnat(spans), np.nan, days)
