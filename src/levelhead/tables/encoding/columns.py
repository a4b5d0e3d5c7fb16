"""What the columns of a frame hold, learnt once and applied to every later frame.

`Columns.learn` decides for each column whether it holds numbers, dates, categories or text, and `Columns.table` turns
any frame with these columns into one array of numbers: numbers as they are, dates as days since 1970, categories as
the position of their level. The array is the raw material of `levelhead.tables.encoding`.

>>> import pandas as pd
>>> flats = pd.DataFrame({"area": [50, None, 70], "heating": ["gas", "oil", "gas"]})
>>> columns = Columns.learn(flats)
>>> [column.kind for column in columns.columns]
['number', 'category']
>>> columns.table(pd.DataFrame({"area": [60.0], "heating": ["coal"]}))
array([[60., -1.]])
"""

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.frames import Cells, absent

Kind = Literal["number", "date", "category", "text"]
Level = str | int | float | bool

KINDS: tuple[Kind, ...] = ("number", "date", "category", "text")
UNKNOWN = -1.0  # the code of a level that was not there in fit
_REPEATED = (
    0.5  # smaller shares of the cells with a value that occurs twice make a column text, not categories
)
_DAY = np.timedelta64(86_400_000_000, "us")


@dataclass(frozen=True)
class Column:
    """What one column holds.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "date", "category", "text"}
        Text is a column whose values hardly ever occur twice, so that they are no categories.
    levels : tuple
        The values of a category, in order.
    zone : str or None
        Time zone of a date.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    zone: str | None = None

    @cached_property
    def _codes(self) -> dict[Level, float]:
        return {level: float(k) for k, level in enumerate(self.levels)}

    def _code(self, value: Any) -> float:
        if type(value) is str:  # by far the most frequent case
            return self._codes.get(value, UNKNOWN)
        return np.nan if value is None else self._codes.get(_level(value, self.name), UNKNOWN)

    @classmethod
    def learn(cls, cells: Cells, *, category: bool = False) -> "Column":
        """Learn what a column holds.

        Parameters
        ----------
        cells : Cells
            The column.
        category : bool, default=False
            Whether it holds categories, whatever its type.

        Returns
        -------
        Column
            Its description.
        """
        values = cells.values
        if category or cells.category:
            return cls(cells.name, "category", _levels(cells))
        if values.dtype.kind == "M":
            return cls(cells.name, "date", zone=cells.zone)
        if values.dtype.kind == "f" or _parsed(_numbers, cells):
            return cls(cells.name, "number")
        if _parsed(_moments, cells):
            return cls(cells.name, "date", zone=_moments(cells)[1])
        counts = Counter(_level(value, cells.name) for value in values if value is not None)
        repeated = sum(count for count in counts.values() if count > 1)
        if repeated < _REPEATED * sum(counts.values()):
            return cls(cells.name, "text")
        return cls(cells.name, "category", _ordered(counts))

    def numbers(self, cells: Cells) -> FloatArray:
        """Turn the cells of this column into numbers.

        Parameters
        ----------
        cells : Cells
            The column in any frame.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers, days since 1970, codes of levels (−1 for an unknown one) or hashes of text; NaN where missing.
        """
        if self.kind == "category":
            known = map(self._code, _as_objects(cells))
            return np.fromiter(known, dtype=np.float64, count=len(cells.values))
        if self.kind == "text":
            hashes = (np.nan if v is None else _hash(_level(v, self.name)) for v in _as_objects(cells))
            return np.fromiter(hashes, dtype=np.float64, count=len(cells.values))
        if self.kind == "number":
            return _numbers(cells)
        moments, zone = _moments(cells)
        if zone != self.zone and not absent(moments).all():
            raise ValueError(
                f"column {self.name!r} has times of the zone {zone}, but {self.zone} in fit; convert them"
            )
        days: FloatArray = (moments - np.datetime64(0, "us")) / _DAY
        return days


@dataclass(frozen=True)
class Columns:
    """What the columns of a frame hold, in order.

    Attributes
    ----------
    columns : tuple of Column
        One description for each column.
    """

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @classmethod
    def learn(cls, X: Any, categories: Collection[int] = ()) -> "Columns":
        """Learn what the columns of a frame hold.

        Parameters
        ----------
        X : frame
            A pandas or polars frame, or a pyarrow table.
        categories : collection of int, default=()
            Positions of columns that hold categories, whatever their type.

        Returns
        -------
        Columns
            The descriptions.

        Raises
        ------
        ValueError
            If a column holds what is neither a number nor a date nor text, as lists or complex numbers.
        """
        return cls(
            tuple(Column.learn(cells, category=k in categories) for k, cells in enumerate(frames.cells(X)))
        )

    def table(self, X: Any) -> FloatArray:
        """Turn a frame with the same columns into numbers.

        Parameters
        ----------
        X : frame
            A pandas or polars frame, or a pyarrow table, with the same columns in the same order.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Numbers, days since 1970, codes of levels (−1 for an unknown one) or hashes of text; NaN where missing.

        Raises
        ------
        ValueError
            If a cell does not fit its column; the message names it.
        """
        parts = [column.numbers(cells) for column, cells in zip(self.columns, frames.cells(X), strict=True)]
        return np.column_stack(parts) + 0.0  # −0 and 0 are one number

    @property
    def categories(self) -> dict[int, list[Level]]:
        """Levels of the categorical columns, by position."""
        return {k: list(column.levels) for k, column in enumerate(self.columns) if column.kind == "category"}

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was assumed about columns that are not numbers, one sentence each."""
        return tuple(map(_remark, filter(lambda column: column.kind != "number", self.columns)))


def _remark(column: Column) -> str:
    if column.kind == "category":
        return f"{column.name}: {len(column.levels)} categories"
    if column.kind == "date":
        return f"{column.name}: dates" + (f" in the time zone {column.zone}" if column.zone else "")
    return f"{column.name}: text whose values hardly ever occur twice; not used as a feature"


# ------------------------------------------------------------------ cells


def _as_objects(cells: Cells) -> list[Any]:
    """Cells as Python objects, None where missing."""
    values = cells.values
    if values.dtype == object:
        return list(values)
    gaps = absent(values)
    return [None if gap else value for gap, value in zip(gaps.tolist(), values.tolist(), strict=True)]


def _level(value: Any, name: str) -> Level:
    """A value as it is compared with others."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple, dict, set, np.ndarray, complex, bytes)):
        raise ValueError(
            f"column {name!r} holds {type(value).__name__} values, as {str(value)[:40]!r}; only numbers, dates, text "
            "and categories can be features: turn it into columns of these, or drop it"
        )
    return str(value)


def _levels(cells: Cells) -> tuple[Level, ...]:
    return _ordered({_level(value, cells.name) for value in _as_objects(cells) if value is not None})


def _ordered(levels: Collection[Level]) -> tuple[Level, ...]:
    return tuple(sorted(levels, key=lambda level: (type(level).__name__, level)))


def _hash(level: Level) -> float:
    """A whole number below 2⁵², which floats hold exactly."""
    return float(int.from_bytes(blake2b(repr(level).encode(), digest_size=8).digest()) >> 12)


def _parsed(parse: Any, cells: Cells) -> bool:
    """Whether all cells of a column can be read in one way; a column without any is one of numbers."""
    try:
        parse(cells)
    except (TypeError, ValueError):
        return False
    return True


def _numbers(cells: Cells) -> FloatArray:
    """Cells as numbers, NaN where missing."""
    if cells.values.dtype.kind == "f":
        return np.asarray(cells.values, dtype=np.float64)
    if cells.values.dtype.kind == "M":
        raise ValueError(f"column {cells.name!r} held numbers in fit, but holds dates now")
    return np.fromiter(
        (_number(v, k, cells.name) for k, v in enumerate(cells.values)), np.float64, len(cells.values)
    )


def _number(value: Any, row: int, name: str) -> float:
    if value is None:
        return np.nan
    number = np.nan
    if isinstance(value, (str, Real, Decimal)):
        with suppress(ValueError):
            number = float(value)
    if not np.isfinite(number) and not isinstance(value, Real):
        raise ValueError(
            f"column {name!r} holds numbers, but {value!r} in row {row}; correct the cell or leave it empty"
        )
    return number


def _moments(cells: Cells) -> tuple[NDArray[Any], str | None]:
    """Cells as moments of local time, NaT where missing, and their time zone."""
    if cells.values.dtype.kind == "M":
        return cells.values, cells.zone
    if cells.values.dtype.kind == "f":
        if np.isnan(cells.values).all():
            return np.full(len(cells.values), np.datetime64("NaT"), "datetime64[us]"), None
        raise ValueError(f"column {cells.name!r} held dates in fit, but holds numbers now")
    moments = [_moment(value, k, cells.name) for k, value in enumerate(cells.values)]
    aware = [moment.tzinfo is not None for moment in moments if moment is not None]
    if any(aware) and not all(aware):
        raise ValueError(f"column {cells.name!r} mixes times with and without a time zone")
    plain = [m if m is None or m.tzinfo is None else m.astimezone(UTC).replace(tzinfo=None) for m in moments]
    return np.array(plain, dtype="datetime64[us]"), "UTC" if any(aware) else None


def _moment(value: Any, row: int, name: str) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise ValueError(
        f"column {name!r} holds dates, but {value!r} in row {row}; correct the cell or leave it empty"
    )
