"""Tables in workbooks of Excel and other spreadsheets."""

from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from typing import Any

from levelhead._extras import needed
from levelhead.tables import _frames
from levelhead.tables.dialect import MOST_ABOVE
from levelhead.tables.errors import TableError, examples
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame


def read(source: Source, sheet: str | None = None, wanted: Collection[str] = ()) -> tuple[Frame, int]:
    """Read a sheet of a workbook; the first row that is not empty holds the names of the columns.

    Parameters
    ----------
    source : Source
        Workbook.
    sheet : str or None, default=None
        Name of the sheet; may be left out if only one is not empty.
    wanted : collection of str, default=()
        Names of columns that the table must have. Rows above a header with these names are skipped.

    Returns
    -------
    pandas.DataFrame
        Columns of numbers, of dates, or of text and numbers as they stand in the cells.
    int
        Number of rows above the header.

    Raises
    ------
    TableError
        If the workbook is damaged, or the sheet does not exist or is not named.
    """
    calamine = needed("python_calamine", "reading workbooks", "cli")
    try:
        with source.path.open("rb") as file:
            book = calamine.CalamineWorkbook.from_filelike(file)
            names = [sheet] if sheet is not None else list(book.sheet_names)
            rows = {name: _filled(book.get_sheet_by_name(name).to_python()) for name in names}
    except calamine.WorksheetNotFound as error:
        raise TableError(
            f"{source.name} has no sheet {sheet!r}; it has {examples(book.sheet_names)}"
        ) from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise TableError(f"{source.name} is a damaged workbook ({error})") from error
    filled = {name: cells for name, cells in rows.items() if cells}
    if not filled:
        raise TableError(f"{source.name} is empty")
    if len(filled) > 1:
        raise TableError(
            f"{source.name} has {len(filled)} sheets: {examples(list(filled))}; choose one with --sheet"
        )
    (table,) = filled.values()
    above = next((k for k, row in enumerate(table[:MOST_ABOVE]) if _has_names(row, wanted)), 0)
    header, *body = table[above:]
    columns = zip(*body, strict=True) if body else ([] for _ in header)
    named = _frames.named([str(cell) for cell in header], [_column(list(cells)) for cells in columns])
    return named, above


def _has_names(row: list[Any], wanted: Collection[str]) -> bool:
    return {*wanted} <= {str(cell).strip() for cell in row}


def _filled(rows: list[list[Any]]) -> list[list[Any]]:
    return [row for row in rows if any(cell != "" for cell in row)]


def _column(cells: list[Any]) -> Any:
    pandas = _frames.pandas()
    cells = [None if cell == "" else cell for cell in cells]
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds == {"span"}:
        cells, kinds = [None if cell is None else _days(cell) for cell in cells], {"number"}
    if kinds == {"number"}:
        return pandas.Series(
            [float("nan") if cell is None else float(cell) for cell in cells], dtype="float64"
        )
    if kinds == {"date"}:
        return pandas.Series(pandas.to_datetime(pandas.Series(cells, dtype=object)))
    if kinds == {"text"} or not kinds:
        return _frames.text(cells)
    return pandas.Series(
        [cell if _kind(cell) in ("number", "text") or cell is None else str(cell) for cell in cells],
        dtype=object,
    )


def _days(cell: time | timedelta) -> float:
    """A time of day or a duration as a number of days."""
    if isinstance(cell, time):
        cell = datetime.combine(date.min, cell) - datetime.min
    return cell / timedelta(days=1)


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "other"
    if isinstance(cell, (int, float)):
        return "number"
    if isinstance(cell, (date, datetime)):
        return "date"
    if isinstance(cell, (time, timedelta)):
        return "span"
    return "text" if isinstance(cell, str) else "other"
