"""Tables in workbooks of Excel and other spreadsheets."""

from datetime import date, datetime, time, timedelta
from typing import Any

from levelhead._extras import needed
from levelhead.tables import _frames
from levelhead.tables.errors import TableError, examples
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame


def read(source: Source, sheet: str | None = None) -> Frame:
    """Read a sheet of a workbook; the first row that is not empty holds the names of the columns.

    Parameters
    ----------
    source : Source
        Workbook.
    sheet : str or None, default=None
        Name of the sheet; may be left out if only one is not empty.

    Returns
    -------
    pandas.DataFrame
        Columns of numbers, of dates, or of text and numbers as they stand in the cells.

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
    header, *body = next(iter(filled.values()))
    columns = zip(*body, strict=True) if body else ([] for _ in header)
    return _frames.named([str(cell) for cell in header], [_column(list(cells)) for cells in columns])


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
