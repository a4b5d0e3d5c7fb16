"""Segments in words: "sensor = 7", "area from 20 to 35", "date from 4 to 5 April 2004", "rows 100 to 123"."""

import datetime

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.audits._ranges import Column

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_DAY = 86_400 * 10**9  # nanoseconds


def place_of(columns: tuple[Column, ...], rows: NDArray[np.intp], number: NDArray[np.intp]) -> str:
    """Describe rows by the columns that define them.

    Parameters
    ----------
    columns : tuple of Column
        One column, or two columns of categories.
    rows : ndarray of int
        Positions of the rows.
    number : ndarray of int
        Row number of every position.

    Returns
    -------
    str
        The description.
    """
    return " and ".join(_place(column, rows, number) for column in columns)


def _place(column: Column, rows: NDArray[np.intp], number: NDArray[np.intp]) -> str:
    if column.meaning == "order":
        return f"rows {number[rows].min()} to {number[rows].max()}"
    values = column.values[rows]
    known = values[np.isfinite(values)]
    if not len(known):
        return f"{column.name} missing"
    if column.meaning == "category":
        return f"{column.name} = {column.levels[int(known[0])]}"
    low, high = float(known.min()), float(known.max())
    if column.meaning == "time":
        return f"{column.name} {_times(low, high, column.values)}"
    return f"{column.name} = {low:.6g}" if low == high else f"{column.name} from {low:.6g} to {high:.6g}"


def _times(low: float, high: float, values: FloatArray) -> str:
    """Two times in words, without what all times have in common."""
    known = values[np.isfinite(values)]
    first, last = _moment(low), _moment(high)
    if (
        known.max() - known.min() < _DAY and known.max() < 0
    ):  # a time of the day is read as one of the year 1900
        return f"= {first:%H:%M}" if low == high else f"from {first:%H:%M} to {last:%H:%M}"
    if (known % _DAY).any() and high - low < 2 * _DAY:
        return (
            f"= {_date(first)} {first:%H:%M}"
            if low == high
            else (f"from {_date(first)} {first:%H:%M} to {_date(last)} {last:%H:%M}")
        )
    if first.date() == last.date():
        return f"= {_date(first)}"
    if (first.year, first.month) == (last.year, last.month):
        return f"from {first.day} to {_date(last)}"
    return f"from {_date(first)} to {_date(last)}"


def _moment(nanoseconds: float) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=nanoseconds // 1000)


def _date(moment: datetime.datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
