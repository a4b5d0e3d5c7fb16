"""Columns of text, in the type that the installed pandas gives them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from levelhead._extras import needed
from levelhead.tables.missing import TOKENS

Frame = Any  # a pandas frame


def pandas() -> Any:
    """The library, or an error that names the extra."""
    return needed("pandas", "reading tables", "cli")


def polars() -> Any:
    """The library, or an error that names the extra."""
    return needed("polars", "reading tables", "cli")


def text(cells: Iterable[str | None]) -> Any:
    """A pandas series of text; None is a missing cell."""
    new = int(pandas().__version__.partition(".")[0]) >= 3
    return pandas().Series(list(cells), dtype="str" if new else "object")


def is_text(column: Any) -> bool:
    """Whether a column holds text; before pandas 3, text with gaps is a column of objects."""
    types = pandas().api.types
    if types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column):
        return False
    return bool(types.is_string_dtype(column) or types.infer_dtype(column, skipna=True) == "string")


def is_mixed(column: Any) -> bool:
    """Whether a column holds both numbers and text, as in a sheet or in JSON."""
    return column.dtype == object and not is_text(column)


def named(names: Sequence[str], columns: Sequence[Any]) -> Frame:
    """A frame of columns that may have the same name."""
    frame = pandas().DataFrame(dict(enumerate(columns)), copy=False)
    frame.columns = [str(name) for name in names]
    return frame


def missing(column: Any) -> Any:
    """Where a raw column holds no value: empty cells, and words such as NA."""
    absent = column.isna().to_numpy(dtype=bool)
    if is_text(column) or is_mixed(column):
        words = [isinstance(cell, str) and cell.strip() in TOKENS for cell in column.tolist()]
        absent = absent | np.array(words, dtype=bool)
    return absent
