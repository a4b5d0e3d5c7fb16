"""Text tables: rows of cells, as frames of text whose columns are numbered.

Polars reads files that are written in the regular way, in whole or in blocks. The csv module reads the others (empty
lines, quotation marks within cells, blanks as separators) and finds the line of an error. Of large files, columns that
hold nothing but plain numbers are read as numbers at once, which takes a third of the memory.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.tables import _frames
from levelhead.tables.dialect import BLANKS, Layout, long_cells, utf8
from levelhead.tables.errors import TableError
from levelhead.tables.missing import TOKENS
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame

LARGE = 1 << 25  # bytes of a file from which on plain numbers are not kept as text
_TRIED = 1000  # rows of a large file that show which columns are numbers
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


class Rows(NamedTuple):
    """A part of a text table.

    Attributes
    ----------
    frame : pandas.DataFrame
        Cells.
    short : list of int
        Rows that have fewer cells than the header, counted from 1.
    """

    frame: Frame
    short: list[int]


def read(source: Source, layout: Layout, as_text: Collection[str] = ()) -> Rows:
    """Read a whole text table.

    Parameters
    ----------
    source : Source
        Text table.
    layout : Layout
        How it is written.
    as_text : collection of str, default=()
        Columns that stay text, however large the file is.

    Returns
    -------
    Rows
        The cells.
    """
    large = layout.regular and source.path.stat().st_size >= LARGE and not as_text
    numeric = _all_numbers(source, layout) if large else None
    if numeric is not None:
        return Rows(numeric, [])
    frame = _fast(source, layout, as_text) if layout.regular else None
    if frame is None:
        return next(_slow(source, layout))[0]
    short: list[int] = []
    if _may_be_short(frame):
        short = _too_short((cells for cells, _ in _split_rows(source, layout)), layout)
    return Rows(_to_pandas(frame), short)


def pieces(source: Source, layout: Layout, rows: int) -> Iterator[tuple[Rows, float]]:
    """Read a text table in parts of `rows` rows; a table without rows gives one empty part.

    Parameters
    ----------
    source : Source
        Text table.
    layout : Layout
        How it is written.
    rows : int
        Rows of a part.

    Yields
    ------
    tuple of Rows and float
        A part, and the fraction of the file that has been read.
    """
    if not layout.regular:
        yield from _slow(source, layout, rows)
        return
    pl = _frames.polars()
    held: list[Any] = []
    short: list[int] = []
    done = seen = 0
    for place, (block, share) in enumerate(utf8(source, layout)):
        skipped = layout.header_lines if place == 0 else 0
        frame = _parsed(block, layout, skip=skipped)
        if frame is None:  # the csv module skips empty lines, and says which line is wrong
            yield from islice(_slow(source, layout, rows), done, None)
            return
        if _may_be_short(frame):
            part = split_rows(_plain_lines(block), layout._replace(header_lines=skipped), source.name)
            short += [seen + row for row in _too_short((cells for cells, _, _ in part), layout)]
        seen += len(frame)
        held.append(frame)
        while sum(map(len, held)) > rows:
            joined = pl.concat(held)
            yield Rows(_to_pandas(joined[:rows]), short), share
            short, done, held = [], done + 1, [joined[rows:]]
    yield Rows(_to_pandas(pl.concat(held)), short), 1.0


def _all_numbers(source: Source, layout: Layout) -> Frame | None:
    """A table of plain numbers only, block by block, so that no number is held twice; None if it is another table."""
    types = _number_types(source, layout)
    if len(types) < len(layout.names):
        return None
    most = 1 + sum(block.count(b"\n") for block, _ in utf8(source, layout))
    integers = [kind.is_integer() for kind in types.values()]
    columns = [np.empty(most, dtype=np.int64 if integer else np.float64) for integer in integers]
    end = 0
    for place, (block, _) in enumerate(utf8(source, layout)):
        frame = _parsed(block, layout, layout.header_lines if place == 0 else 0, types)
        if frame is None or any(frame[k].null_count() for k in frame.columns):
            return None
        for k, column in enumerate(columns):
            column[end : end + len(frame)] = frame[f"{k}"].to_numpy()
        end += len(frame)
    if any(_may_be_grouped(column[:end]) for column in columns):
        return None
    return _frames.pandas().DataFrame({f"{k}": c[:end] for k, c in enumerate(columns)}, copy=False)


def _fast(source: Source, layout: Layout, as_text: Collection[str]) -> Any:
    """All cells by polars; None if it cannot split them, or finds a row that is too long."""
    plain = source.compression is None and layout.encoding == "utf-8" and layout.line_end == b"\n"
    content: Any = source.path if plain else b"".join(block for block, _ in utf8(source, layout))
    size = source.path.stat().st_size if plain else len(content)
    types = _number_types(source, layout) if size >= LARGE else {}
    types = {k: kind for k, kind in types.items() if layout.names[k] not in as_text}
    frame = _parsed(content, layout, layout.header_lines, types, words=())
    if frame is None and types:
        frame = _parsed(content, layout, layout.header_lines, types, words=TOKENS)
    if frame is not None:
        certain = {k: kind for k, kind in types.items() if not _may_be_grouped(_values(frame[f"{k}"]))}
    if frame is None or len(certain) < len(types):
        frame = _parsed(content, layout, layout.header_lines, {} if frame is None else certain, words=TOKENS)
    return frame


def _parsed(
    content: Any, layout: Layout, skip: int, types: dict[int, Any] | None = None, words: Collection[str] = ()
) -> Any:
    """The cells by polars, some columns as numbers; None if that fails, or if there are empty lines."""
    pl = _frames.polars()
    schema = {f"{k}": (types or {}).get(k, pl.String) for k in range(len(layout.names))}
    try:
        frame = pl.read_csv(
            content,
            has_header=False,
            separator=layout.separator,
            skip_lines=skip,
            schema=schema,
            null_values=list(words) if types and words else None,
            glob=False,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        return None
    if skip and frame.height == 1 and list(frame.row(0)) == list(layout.names):
        frame = frame.clear()  # polars 1.32 does not skip a header without rows
    gaps = frame["0"].null_count() and frame.select(pl.all_horizontal(pl.all().is_null()).any()).item()
    return None if gaps else frame


def _number_types(source: Source, layout: Layout) -> dict[int, Any]:
    """The columns that hold plain numbers only, as far as the first rows show."""
    pl = _frames.polars()
    rows = [row for row, _ in islice(_split_rows(source, layout), _TRIED)]
    types = {}
    for k in range(len(layout.names)):
        cells = {row[k] for row in rows if k < len(row)} - TOKENS
        if cells and all(_INTEGER.fullmatch(cell) for cell in cells):
            types[k] = pl.Int64
        elif cells and all(_DECIMAL.fullmatch(cell) for cell in cells):
            types[k] = pl.Float64
    return types


def _values(column: Any) -> NDArray[Any]:
    return np.asarray(column.drop_nulls().to_numpy())


def _may_be_grouped(column: NDArray[Any]) -> bool:
    """Whether all cells may be like 1.234, where the point may also group thousands: then the text decides."""
    if column.dtype.kind != "f":
        return False
    values = np.abs(column)
    broken = values[values != np.floor(values)]
    thousandths = 1000 * broken
    return bool(
        len(broken)
        and (broken > 1).all()
        and (broken < 1000).all()
        and (np.abs(thousandths - np.rint(thousandths)) < 1e-9 * thousandths).all()
    )


def _slow(source: Source, layout: Layout, rows: int | None = None) -> Iterator[tuple[Rows, float]]:
    """The cells by the csv module, in parts of `rows` rows or all at once."""
    width, number = len(layout.names), 0
    split = _split_rows(source, layout)
    while True:
        cells: list[list[str | None]] = []
        short = []
        for row, line in islice(split, rows):
            number += 1
            if len(row) > width and any(map(str.strip, row[width:])):
                raise TableError(
                    f"{source.name}: line {line} has {len(row)} cells where {width} are expected; fix or remove it"
                )
            if len(row) < width:
                short.append(number)
            cells.append([cell or None for cell in row[:width]] + [None] * (width - len(row)))
        if not cells and number:
            return
        columns = list(zip(*cells, strict=True)) or [()] * width
        yield (
            Rows(_frames.pandas().DataFrame({f"{k}": _frames.text(c) for k, c in enumerate(columns)}), short),
            1.0,
        )
        if rows is None or len(cells) < rows:
            return


def _may_be_short(frame: Any) -> bool:
    return bool(frame.width > 1 and frame[frame.columns[-1]].null_count() > 0)


def _too_short(rows: Iterable[list[str]], layout: Layout) -> list[int]:
    """The rows with fewer cells than the header, counted from 1."""
    return [k for k, row in enumerate(rows, start=1) if len(row) < len(layout.names)]


def split_rows(lines: Iterable[str], layout: Layout, name: str) -> Iterator[tuple[list[str], int, int]]:
    """Split the rows after the header into cells; rows without any cell are skipped.

    Parameters
    ----------
    lines : iterable of str
        All lines of the table, as `plain_line` returns them.
    layout : Layout
        How the table is written.
    name : str
        The table, for the error message.

    Yields
    ------
    tuple of list of str, int and int
        The cells of a row, and the numbers of its first and last line, counted from 1.

    Raises
    ------
    TableError
        If a line cannot be split.
    """
    if layout.separator == BLANKS:
        split = ((line.split(), number) for number, line in enumerate(lines, start=1))
        yield from ((row, at, at) for row, at in split if row and at > layout.header_lines)
        return
    reader = csv.reader(lines, delimiter=layout.separator, skipinitialspace=True, strict=True)
    before = 0
    with long_cells(2**31 - 1):
        try:
            for row in reader:
                blank = not row or (len(row) == 1 < len(layout.names) and not row[0].strip())
                if reader.line_num > layout.header_lines and not blank:
                    yield row, before + 1, reader.line_num
                before = reader.line_num
        except csv.Error as error:
            raise TableError(
                f"{name}: line {reader.line_num} cannot be split into cells ({error}); is a closing "
                "quotation mark missing?"
            ) from error


def plain_line(line: str) -> str:
    """The line as the csv module splits it: ended by a line feed, without other control characters.

    Parameters
    ----------
    line : str
        A line of a table.

    Returns
    -------
    str
        The line.
    """
    return line.replace("\r\n", "\n").replace("\r", " ").replace("\0", " ")


def _plain_lines(block: bytes) -> Iterator[str]:
    return map(plain_line, io.StringIO(block.decode(), newline="\n"))


def _split_rows(source: Source, layout: Layout) -> Iterator[tuple[list[str], int]]:
    """The rows after the header, each with the number of its last line."""
    lines = (line for block, _ in utf8(source, layout) for line in _plain_lines(block))
    return ((row, last) for row, _, last in split_rows(lines, layout, source.name))


def _to_pandas(frame: Any) -> Frame:
    """A pandas frame; numbers without gaps are not copied."""
    pandas = _frames.pandas()
    columns = {}
    for name in list(frame.columns):
        column = frame.drop_in_place(name).rechunk()  # no column is held twice for long
        if column.dtype.is_integer() and column.null_count():
            columns[name] = pandas.array(column.to_list(), dtype="Int64")
        elif column.dtype.is_numeric():
            columns[name] = column.to_numpy()
        else:
            columns[name] = _frames.text(column.to_list())
    return pandas.DataFrame(columns, copy=False)
