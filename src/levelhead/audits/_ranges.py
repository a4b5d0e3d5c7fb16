"""Candidates for segments: categories, intervals of numbers and times, pairs of categories, consecutive rows.

Every candidate is a range of rows in some order: a category is a range of the rows sorted by category, an interval a
range of the rows sorted by value. `Scan` holds an order and its ranges.
"""

import importlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

Index = NDArray[np.intp]
Meaning = Literal["category", "number", "time", "order"]

LEAST = 5  # rows of a segment
LARGEST_SHARE = 0.5  # of the rows; a larger segment is better described by the rest
_MOST_LEVELS = 1000  # of a column, or of a pair of columns; more are mostly identifiers
_MOST_PAIRED = 8  # columns that are combined in pairs, those with the fewest categories
_LENGTHS_PER_OCTAVE = 2
_STEPS_PER_LENGTH = 4
_MOST_SHORT = 2000  # disjoint windows of the shortest length
_MOSTLY = 0.95  # share of the cells that must be numbers or dates for the column to be one of them


@dataclass(frozen=True, eq=False)
class Column:
    """A column with a meaning.

    Attributes
    ----------
    name : str
        Name of the column; empty for the order of the rows.
    meaning : {"category", "number", "time", "order"}
        What the values are.
    values : ndarray of float of shape (n_samples,)
        Numbers, nanoseconds, or codes of categories; NaN is missing.
    levels : list of str
        Names of the categories.
    """

    name: str
    meaning: Meaning
    values: FloatArray
    levels: list[str]


@dataclass(frozen=True, eq=False)
class Scan:
    """Ranges of rows in one order.

    Attributes
    ----------
    columns : tuple of Column
        One column, or two columns of categories.
    order : ndarray of int of shape (n_samples,)
        The rows in order.
    start, stop : ndarray of int of shape (n_ranges,)
        Range k holds the rows `order[start[k]:stop[k]]`.
    edges : ndarray of int
        Positions in the order at which a range may begin or end: a segment does not split equal values.
    lengths : ndarray of int of shape (n_ranges,)
        The length that a range stands for, by which its statistic is compared with others; 0 for a category.
    """

    columns: tuple[Column, ...]
    order: Index
    start: Index
    stop: Index
    edges: Index
    lengths: Index

    def __len__(self) -> int:
        return len(self.start)


def read_columns(table: Any, n: int, skip: tuple[str, ...]) -> list[Column]:
    """Read the columns of a frame or a dictionary of arrays, and add the order of the rows."""
    named = {} if table is None else _named(table)
    for name, column in named.items():
        if len(column) != n:
            raise ValueError(
                f"column {name!r} has {len(column)} rows, but there are {n} labels; give one row per label"
            )
    found = [_meaning(name, column) for name, column in named.items() if name not in skip]
    return [Column("", "order", np.arange(n, dtype=np.float64), []), *found]


def _named(table: Any) -> dict[str, Any]:
    if isinstance(table, Mapping):
        return {str(name): np.asarray(column) for name, column in table.items()}
    if hasattr(table, "columns"):
        return {str(name): np.asarray(table[name]) for name in table.columns}
    cells = np.asarray(table)
    return {f"column {place + 1}": cells[:, place] for place in range(cells.shape[1])}


def _meaning(name: str, column: NDArray[Any]) -> Column:
    if column.dtype.kind in "iuf":
        values = column.astype(np.float64)
        return Column(name, "number", np.where(np.isfinite(values), values, np.nan), [])
    if column.dtype.kind == "M":
        return Column(name, "time", _nanoseconds(column), [])
    if column.dtype.kind != "b":
        if (numbers := _numbers(column)) is not None:
            return Column(name, "number", numbers, [])
        if (times := _times(column)) is not None:
            return Column(name, "time", times, [])
    return _categories(name, column)


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([cell is None or cell != cell or str(cell) in ("", "<NA>", "NaT") for cell in column])


def _mostly(values: FloatArray, column: NDArray[Any]) -> FloatArray | None:
    present = int((~_missing(column)).sum())
    return values if present and np.isfinite(values).sum() >= _MOSTLY * present else None


def _numbers(column: NDArray[Any]) -> FloatArray | None:
    values = np.full(len(column), np.nan)
    for place, cell in enumerate(column.tolist()):
        try:
            values[place] = float(cell)
        except (TypeError, ValueError):
            continue
    values[~np.isfinite(values)] = np.nan
    return _mostly(values, column)


def _times(column: NDArray[Any]) -> FloatArray | None:
    """Dates as text, all in the format of the first one; needs pandas, without which they are categories."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return None
    absent = _missing(column)
    first = next((cell for cell, gone in zip(column.tolist(), absent, strict=True) if not gone), None)
    if not isinstance(first, str):
        return None
    for dayfirst in (False, True):
        form = pandas.tseries.api.guess_datetime_format(first, dayfirst=dayfirst)
        if form is None:
            continue
        text = pandas.Series(column, dtype=object).mask(absent)
        times = pandas.to_datetime(text, format=form, errors="coerce", utc=True).dt.tz_localize(None)
        values = _mostly(_nanoseconds(times.to_numpy()), column)
        if values is not None:
            return values
    return None


def _nanoseconds(times: NDArray[Any]) -> FloatArray:
    exact = times.astype("datetime64[ns]")
    return np.where(np.isnat(exact), np.nan, exact.astype(np.int64).astype(np.float64))


def _categories(name: str, column: NDArray[Any]) -> Column:
    absent = _missing(column)
    text = np.array([str(cell) for cell in column.tolist()], dtype=object)
    levels, codes = np.unique(text[~absent].astype(str), return_inverse=True)
    values = np.full(len(column), np.nan)
    values[~absent] = codes
    return Column(name, "category", values, [str(level) for level in levels])


def scans(columns: list[Column]) -> Iterator[Scan]:
    """All orders with their ranges; those without a range are left out."""
    for column in columns:
        yield from _not_empty(
            _category_scan((column,)) if column.meaning == "category" else _interval_scan(column)
        )
    few = [column for column in columns if column.meaning == "category" and 2 <= len(column.levels) <= 50]
    few = sorted(few, key=lambda column: len(column.levels))[:_MOST_PAIRED]
    for pair in itertools.combinations(few, 2):
        yield from _not_empty(_category_scan(pair))


def _not_empty(scan: Scan) -> Iterator[Scan]:
    if len(scan):
        yield scan


def _category_scan(columns: tuple[Column, ...]) -> Scan:
    """One range per category, or per pair of categories; missing cells are a category."""
    code = np.zeros(len(columns[0].values))
    for column in columns:
        present = np.where(np.isnan(column.values), len(column.levels), column.values)
        code = code * (len(column.levels) + 1) + present
    order = np.argsort(code, kind="stable")
    edges = _edges(code[order])
    start, stop = _fitting(edges[:-1], edges[1:], len(code))
    most = start[:_MOST_LEVELS], stop[:_MOST_LEVELS]
    return Scan(columns, order, *most, edges, np.zeros(len(most[0]), dtype=np.intp))


def _interval_scan(column: Column) -> Scan:
    """Windows of many lengths, single values that occur often, and the missing cells."""
    n = len(column.values)
    order = np.argsort(column.values, kind="stable")  # NaN comes last
    edges = _edges(column.values[order])
    present = int(np.isfinite(column.values).sum())
    inside = edges[edges <= present]
    found = [(inside[:-1], inside[1:]), (np.array([present]), np.array([n]))]  # single values, missing cells
    scale = [np.zeros(len(inside) - 1, dtype=np.intp), np.zeros(1, dtype=np.intp)]
    for length in _lengths(present):
        begin = np.arange(0, present - length + 1, max(1, length // _STEPS_PER_LENGTH))
        found.append((_snapped(inside, begin), _snapped(inside, begin + length)))
        scale.append(np.full(len(begin), length, dtype=np.intp))
    start, stop = (np.concatenate(part) for part in zip(*found, strict=True))
    lengths = np.concatenate(scale)
    keep = _fits(start, stop, n)
    ranges = np.column_stack([start[keep], stop[keep]])
    _, first = np.unique(ranges, axis=0, return_index=True)
    return Scan((column,), order, ranges[first, 0], ranges[first, 1], edges, lengths[keep][first])


def _lengths(n: int) -> list[int]:
    """Lengths of windows, in geometric order; the shortest windows of a long table would be very many."""
    least, top = max(LEAST, n // _MOST_SHORT), int(LARGEST_SHARE * n)
    if top < least:
        return []
    count = int(_LENGTHS_PER_OCTAVE * np.log2(top / least)) + 1
    return sorted({int(least * 2 ** (k / _LENGTHS_PER_OCTAVE)) for k in range(count)})


def _edges(ordered: FloatArray) -> Index:
    """Positions at which the value changes, with 0 and n."""
    same = (ordered[1:] == ordered[:-1]) | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    return np.concatenate([[0], np.flatnonzero(~same) + 1, [len(ordered)]]).astype(np.intp)


def _snapped(edges: Index, at: Index) -> Index:
    """The nearest edge of each position."""
    right = np.clip(np.searchsorted(edges, at), 0, len(edges) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(at - edges[left] < edges[right] - at, edges[left], edges[right])


def _fits(start: Index, stop: Index, n: int) -> NDArray[np.bool_]:
    return (stop - start >= LEAST) & (stop - start <= LARGEST_SHARE * n)


def _fitting(start: Index, stop: Index, n: int) -> tuple[Index, Index]:
    keep = _fits(start, stop, n)
    return start[keep], stop[keep]
