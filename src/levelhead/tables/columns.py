"""One column: what its cells mean, and the cells in that meaning."""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.tables import _frames, dates, numbers
from levelhead.tables.errors import TableError, cell_text
from levelhead.tables.missing import TOKENS, blanked
from levelhead.tables.numbers import Learnt, NumberFormat

_NESTED = (list, tuple, dict, set, bytes, np.ndarray)
_TRUTH = {"true": 1.0, "false": 0.0}
UNUSABLE = 0.2  # largest share of the cells that may be something else in a column of numbers or dates


class ColumnFormat(NamedTuple):
    """The meaning of a column.

    Attributes
    ----------
    kind : {"number", "date", "text", "other"}
        What the cells are; the cells of "other" (say, durations) are passed on as they are.
    decimal, grouping, unit, bare : str, str, str, bool
        How numbers are written; see `levelhead.tables.numbers.NumberFormat`.
    date : str or None
        How dates are written, for `datetime.strptime`; None if they are not text.
    codes : tuple of float
        Numbers that stand for "missing".
    marks_known : bool
        Whether the table or the user showed which mark separates decimals; if not, a later table with cells that can
        be read in two ways is refused.
    """

    kind: str
    decimal: str = "."
    grouping: str = ""
    unit: str = ""
    bare: bool = True
    date: str | None = None
    codes: tuple[float, ...] = ()
    marks_known: bool = True

    @property
    def number(self) -> NumberFormat:
        """How numbers are written."""
        return NumberFormat(self.decimal, self.grouping, self.unit, self.bare)

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as computers write them."""
        return self.kind == "number" and self.number == NumberFormat()


class Learning(NamedTuple):
    """What the cells of a column say.

    Attributes
    ----------
    name : str
        The column.
    cells : polars.Series
        Its text, without blanks around it; null where there is none.
    format : ColumnFormat
        Its meaning.
    learnt : Learnt or None
        What the numbers say about their format.
    other_date : str or None
        Another format that fits the dates as well.
    """

    name: str
    cells: Any
    format: ColumnFormat
    learnt: Learnt | None = None
    other_date: str | None = None


class Typed(NamedTuple):
    """A column in its meaning.

    Attributes
    ----------
    values : ndarray or pandas.Series
        Numbers, dates or text.
    unreadable : ndarray of int
        Places of the cells that hold something else.
    iso_dates : int
        Number of dates that are not written like the others, but as ISO dates, which have one meaning only.
    """

    values: Any
    unreadable: NDArray[np.intp]
    iso_dates: int = 0


def cells_of(column: Any) -> Any:
    """The text of a column, without blanks around it; null where a cell is missing or not text.

    Parameters
    ----------
    column : pandas.Series
        Text, or text and numbers.

    Returns
    -------
    polars.Series
        The text.
    """
    pl = _frames.polars()
    values = column.tolist()
    texts = pl.Series([v if isinstance(v, str) else None for v in values], dtype=pl.String)
    texts = texts.str.strip_chars(f" \t\r\n{numbers.BLANKS}\ufeff")
    known = texts.is_in(list(TOKENS)).fill_null(True)
    return pl.select(pl.when(~known).then(texts))[:, 0]


def learn(
    name: str, column: Any, decimal: str | None = None, grouping: str | None = None, number: bool = False
) -> Learning:
    """Learn what the cells of a column mean.

    Parameters
    ----------
    name : str
        The column.
    column : pandas.Series
        Its cells.
    decimal : {".", ","} or None, default=None
        Decimal mark, if it is known.
    grouping : str or None, default=None
        Mark between groups of digits, if it is known.
    number : bool, default=False
        Whether the column must be one of numbers, as labels are.

    Returns
    -------
    Learning
        The meaning, and what speaks for it.
    """
    types = _frames.pandas().api.types
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return Learning(name, None, ColumnFormat("number"))
    if types.is_datetime64_any_dtype(column):
        return Learning(name, None, ColumnFormat("date"))
    if not _frames.is_text(column) and not _frames.is_mixed(column):
        return Learning(name, None, ColumnFormat("other"))
    _refuse_nested(name, column)
    cells = cells_of(column)
    real = len(_real_numbers(column)[0])
    learnt = numbers.learn(cells, decimal, grouping, bare_cells=real)
    form = ColumnFormat("number", *learnt.format)
    if number or learnt.total - learnt.numeric <= UNUSABLE * learnt.total:
        mixed = learnt.readable < (1 - UNUSABLE) * learnt.total and len(learnt.units) > 1
        return Learning(name, cells, form if number or not mixed else ColumnFormat("text"), learnt)
    found = dates.learn(cells, 1 - UNUSABLE)
    if found is not None:
        return Learning(name, cells, ColumnFormat("date", date=found.format), None, found.other)
    return Learning(name, cells, ColumnFormat("text"), learnt)


def _refuse_nested(name: str, column: Any) -> None:
    """Stop at lists, objects and bytes: a cell must hold one value."""
    if _frames.is_text(column):
        return
    odd = next((cell for cell in column.tolist() if isinstance(cell, _NESTED)), None)
    if odd is not None:
        kind = "bytes" if isinstance(odd, bytes) else "lists or objects"
        raise TableError(
            f"column {name!r} holds {kind}, such as {cell_text(odd)}; turn it into columns with one value per cell, or "
            f"leave it out with --drop '{name}'"
        )


def typed(column: Any, form: ColumnFormat) -> Typed:
    """The cells of a column in its meaning.

    Parameters
    ----------
    column : pandas.Series
        Cells as they were read.
    form : ColumnFormat
        What they mean.

    Returns
    -------
    Typed
        Numbers (float64), dates (datetime64) or text, and the places of the cells that are something else.
    """
    if form.kind == "number":
        values, unreadable = _numbers(column, form)
        return Typed(blanked(values, form.codes), unreadable)
    if form.kind == "date":
        return _dates(column, form.date)
    nothing = np.empty(0, dtype=np.intp)
    if form.kind == "text":
        if _frames.is_text(column):
            return Typed(_frames.text(cells_of(column).to_list()), nothing)
        return Typed(_frames.text(map(_word, column.tolist())), nothing)
    return Typed(column, nothing)


def _dates(column: Any, form: str | None) -> Typed:
    """The dates of a column: in the format that was learnt, or as ISO dates, which have one meaning only."""
    if _frames.pandas().api.types.is_datetime64_any_dtype(column):
        return Typed(_naive(column), np.empty(0, dtype=np.intp))
    cells = cells_of(column)
    moments = np.full(len(column), np.datetime64("NaT", "us")) if form is None else dates.parse(cells, form)
    left = np.isnat(moments) & ~_frames.missing(column)
    if not left.any():
        return Typed(moments, np.empty(0, dtype=np.intp))
    moments = np.where(left, dates.parse_iso(cells), moments)
    unreadable = left & np.isnat(moments)
    return Typed(moments, np.flatnonzero(unreadable), int(np.count_nonzero(left & ~unreadable)))


def _numbers(column: Any, form: ColumnFormat) -> tuple[FloatArray, NDArray[np.intp]]:
    types = _frames.pandas().api.types
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        bad = np.isinf(values)
        return (np.where(bad, np.nan, values) if bad.any() else values), np.empty(0, dtype=np.intp)
    if not _frames.is_text(column) and not _frames.is_mixed(column):
        return np.full(len(column), np.nan), np.flatnonzero(column.notna().to_numpy())
    cells = cells_of(column)
    values = numbers.parse(cells, form.number)
    places, real = _real_numbers(column)
    if form.bare and places:
        values = values.copy()
        values[places] = real
    unreadable = np.flatnonzero(np.isnan(values) & ~_frames.missing(column))
    truths = _truths(cells) if len(unreadable) and not places and form.is_plain else None
    return (values, unreadable) if truths is None else (truths, unreadable[:0])


def _truths(cells: Any) -> FloatArray | None:
    """1 and 0 for true and false, if a column holds nothing else; a file may write truth values as numbers."""
    pl = _frames.polars()
    values = cells.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)
    if values.null_count() > cells.null_count():
        return None
    return np.asarray(values.fill_null(np.nan).to_numpy())


def _real_numbers(column: Any) -> tuple[list[int], list[float]]:
    """Places and values of the numbers in a column that holds text as well."""
    if not _frames.is_mixed(column):
        return [], []
    found = {
        place: float(cell)
        for place, cell in enumerate(column.tolist())
        if isinstance(cell, (int, float, np.number)) and np.isfinite(float(cell))
    }
    return list(found), list(found.values())


def _naive(column: Any) -> Any:
    """Moments without a zone, in UTC."""
    return column.dt.tz_convert(None) if getattr(column.dt, "tz", None) is not None else column


def _word(cell: Any) -> str | None:
    """A cell of any type as text; whole numbers without a decimal point."""
    if isinstance(cell, str):
        return cell.strip() or None
    if cell is None or cell != cell or str(cell) in ("NaT", "<NA>"):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a column, changed if it is already used."""
    return f"{name} (id)" if name in taken else name
