"""Reading of tables: CSV with any separator and encoding, Parquet, workbooks, JSON lines, standard input.

Cells of text files stay text, so that nothing is lost; what they mean is learnt afterwards
(`levelhead.tables.schema`). Rows are counted from 1, without the header. Needs the extra `cli`.
"""

import difflib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from levelhead.tables import delimited, parquet, records, sheets
from levelhead.tables.dialect import Layout, about_skipped, detect
from levelhead.tables.errors import TableError, counted, row_list
from levelhead.tables.sources import Source, opened

_PIECE = 50_000  # rows

Frame = Any  # a pandas frame


class RawTable(NamedTuple):
    """A table as it was read.

    Attributes
    ----------
    frame : pandas.DataFrame
        Text, and numbers and dates where the file holds such.
    remarks : tuple of str
        What was assumed or left out, one sentence each.
    separator : str or None
        Separator of a text file.
    """

    frame: Frame
    remarks: tuple[str, ...] = ()
    separator: str | None = None


def read(path: str | Path, *, encoding: str | None = None, sheet: str | None = None) -> Frame:
    """Read a whole table.

    Cells of a text file stay text, so that nothing is lost; of large files, columns of plain numbers become numbers.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    encoding : str or None, default=None
        Encoding of a text file; by default it is detected.
    sheet : str or None, default=None
        Sheet of a workbook.

    Returns
    -------
    pandas.DataFrame
        The table.
    """
    return read_raw(path, encoding=encoding, sheet=sheet).frame


def read_raw(
    path: str | Path,
    *,
    encoding: str | None = None,
    sheet: str | None = None,
    as_text: Collection[str] = (),
    wanted: Collection[str] = (),
) -> RawTable:
    """Read a whole table, with what was assumed about the file.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    encoding : str or None, default=None
        Encoding of a text file; by default it is detected.
    sheet : str or None, default=None
        Sheet of a workbook.
    as_text : collection of str, default=()
        Columns of a text file that stay text, however large the file is.
    wanted : collection of str, default=()
        Names of columns that the table must have. Up to 20 lines above a header with these names are skipped.

    Returns
    -------
    RawTable
        The table, remarks and the separator.
    """
    with opened(path) as source:
        if source.kind == "excel":
            return _of_sheet(source, sheet, wanted)
        if sheet is not None:
            raise TableError(
                f"{source.name} is not a workbook, so it has no sheet {sheet!r}; leave --sheet out"
            )
        if source.kind == "parquet":
            return RawTable(next(parquet.pieces(source))[0], parquet.remarks(source))
        if records.is_json(source):
            return _named(next(records.pieces(source))[0])
        layout = detect(source, encoding, wanted)
        rows = delimited.read(source, layout, as_text)
        table = _named(_with_header(rows.frame, layout), layout.remarks, layout.separator)
        return table._replace(remarks=(*table.remarks, *_about_short(rows.short)))


def pieces(
    path: str | Path,
    rows: int = _PIECE,
    progress: Callable[[float], None] | None = None,
    *,
    encoding: str | None = None,
    sheet: str | None = None,
    remark: Callable[[str], None] | None = None,
    wanted: Collection[str] = (),
) -> Iterator[Frame]:
    """Read a table in chunks, with bounded memory.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    rows : int, default=50000
        Largest number of rows of a chunk.
    progress : callable or None, default=None
        Called after each chunk with the fraction of the file that has been read.
    encoding : str or None, default=None
        Encoding of a text file; by default it is detected.
    sheet : str or None, default=None
        Sheet of a workbook.
    remark : callable or None, default=None
        Called with what was assumed or left out, one sentence each.
    wanted : collection of str, default=()
        Names of columns that the table must have. Up to 20 lines above a header with these names are skipped.

    Yields
    ------
    pandas.DataFrame
        A chunk of the table; all cells of a text file are text. A table without rows gives one empty chunk.
    """
    said: dict[str, None] = {}
    short: list[int] = []
    with opened(path) as source:
        for table, share in _parts(source, rows, encoding, sheet, short, wanted):
            said.update(dict.fromkeys(table.remarks))
            yield table.frame
            if progress is not None:
                progress(share)
    if remark is not None:
        for sentence in [*said, *_about_short(short)]:
            remark(sentence)


def _parts(
    source: Source,
    rows: int,
    encoding: str | None,
    sheet: str | None,
    short: list[int],
    wanted: Collection[str],
) -> Iterator[tuple[RawTable, float]]:
    """Chunks of a table; rows with too few cells are added to `short`."""
    if source.kind == "excel":
        frame, remarks, _ = _of_sheet(source, sheet, wanted)
        for start in range(0, max(len(frame), 1), rows):
            part = frame.iloc[start : start + rows].reset_index(drop=True)
            yield RawTable(part, remarks), min((start + rows) / max(len(frame), 1), 1.0)
        return
    if sheet is not None:
        raise TableError(f"{source.name} is not a workbook, so it has no sheet {sheet!r}; leave --sheet out")
    if source.kind == "parquet":
        said = parquet.remarks(source)
        yield from ((RawTable(frame, said), share) for frame, share in parquet.pieces(source, rows))
    elif records.is_json(source):
        yield from ((_named(frame), share) for frame, share in records.pieces(source, rows))
    else:
        layout = detect(source, encoding, wanted)
        for part, share in delimited.pieces(source, layout, rows):
            short += part.short
            yield _named(_with_header(part.frame, layout), layout.remarks), share


def _of_sheet(source: Source, sheet: str | None, wanted: Collection[str]) -> RawTable:
    frame, above = sheets.read(source, sheet, wanted)
    return _named(frame, (about_skipped(above),) if above else ())


def _about_short(rows: list[int]) -> list[str]:
    if not rows:
        return []
    what = "with fewer cells than the header, whose last cells were read as missing"
    return [f"{counted(len(rows))} {what}: {row_list(rows)}"]


def choose(frame: Frame, names: Collection[str], path: str | Path) -> Frame:
    """Select columns of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Table.
    names : collection of str
        Columns to select.
    path : path-like
        File of the table, for the error message.

    Returns
    -------
    pandas.DataFrame
        The selected columns.

    Raises
    ------
    TableError
        If a column does not exist; the message suggests the nearest name.
    """
    present = list(map(str, frame.columns))
    for name in names:
        if name not in present:
            raise TableError(f"{path} has no column {name!r}; {_suggestion(name, present)}")
    return frame[list(names)]


def _suggestion(name: str, present: list[str]) -> str:
    folded: dict[str, str] = {}
    for column in present:
        folded.setdefault(column.casefold(), column)
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(repr(folded[n]) for n in near)}?"
    more = ", …" if len(present) > 12 else ""
    return f"it has {', '.join(present[:12])}{more}"


def _with_header(frame: Frame, layout: Layout) -> Frame:
    frame.columns = list(layout.names)
    return frame.iloc[:, :-1] if layout.ragged_end else frame


def _named(frame: Frame, remarks: tuple[str, ...] = (), separator: str | None = None) -> RawTable:
    """Drop an index without a name, and give every column a name of its own."""
    given = [str(name).strip() for name in frame.columns]
    said = list(remarks)
    if len(given) > 1 and given[0] in ("", "Unnamed: 0"):
        frame, given = frame.iloc[:, 1:], given[1:]
        said.append("the first column has no name; it was read as an index and left out")
    names: list[str] = []
    for place, name in enumerate(given):
        new = name or f"Unnamed: {place}"
        copy = 2
        while new in names:
            new, copy = f"{name} ({copy})", copy + 1
        if not name:
            said.append(f"a column has no name; it is called {new!r} here")
        elif new != name:
            said.append(f"two columns are named {name!r}; the second is called {new!r} here")
        names.append(new)
    frame = frame.copy(deep=False)
    frame.columns = names
    return RawTable(frame, tuple(said), separator)
