"""How a text table is written: encoding, line ends, separator, names of the columns."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from levelhead.tables import encodings
from levelhead.tables.errors import TableError, cell_text, counted
from levelhead.tables.sources import Source

BLANKS = " +"  # stands for one or more blanks or tabs between cells
_NOWHERE = "\x1f"  # separates nothing, in a file of one column
_SEPARATORS = (",", ";", "\t", "|", "~", "^", "\x01", "\x1e", ":")
MOST_ABOVE = 20  # lines that may stand above a header
_SAMPLE = 100  # lines that show how a table is written
Structure = tuple[str, tuple[str, ...], int, bool]
_NUMBER = re.compile(r"[\s\d.,'+-]*\d[\s\d.,'+-]*(?:[eE][+-]?\d+)?")


class Layout(NamedTuple):
    """How a text table is written.

    Attributes
    ----------
    encoding : str
        Encoding of the text.
    line_end : bytes
        A line feed, or a carriage return where that ends the lines.
    separator : str
        One character, or `BLANKS`.
    names : tuple of str
        What the header says about each cell of a row; empty where it says nothing.
    header_lines : int
        Lines up to the end of the header.
    regular : bool
        Whether a fast reader splits it correctly: quotation marks stand only around cells.
    remarks : tuple of str
        What was assumed.
    ragged_end : bool
        Whether every row ends with a separator, and the last name is empty for that reason.
    """

    encoding: str
    line_end: bytes
    separator: str
    names: tuple[str, ...]
    header_lines: int
    regular: bool
    remarks: tuple[str, ...]
    ragged_end: bool = False


def detect(source: Source, encoding: str | None = None, wanted: Collection[str] = ()) -> Layout:
    """Find out how a file is written; encoding and quotation marks are checked over the whole file.

    Parameters
    ----------
    source : Source
        Text table, possibly compressed.
    encoding : str or None, default=None
        Encoding, if it is known.
    wanted : collection of str, default=()
        Names of columns that the table must have. Lines above a header with these names are skipped.

    Returns
    -------
    Layout
        How the table is written.

    Raises
    ------
    TableError
        If the file is empty, damaged, has no header or is not text.
    """
    found, remarks = (encoding, []) if encoding is not None else _encoding(source)
    start = bytearray()
    for block in encodings.decoded(_content(source), found, source.name):
        start += block
        if len(start) >= encodings.SAMPLE:
            break
    del start[encodings.SAMPLE :]
    if b"\0" in start:
        raise TableError(f"{source.name} is not a text file: it contains zero bytes; give CSV or Parquet")
    line_end = b"\n" if b"\n" in start or b"\r" not in start else b"\r"
    text = bytes(start).replace(b"\r", b"\n") if line_end == b"\r" else bytes(start)
    with long_cells(len(text)):
        above, (separator, names, lines, ragged) = _below(_whole_rows(text), source.name, wanted)
    if above:
        remarks.append(about_skipped(above + lines - 1))
    layout = Layout(found, line_end, separator, names, above + lines, False, tuple(remarks), ragged)
    return layout._replace(regular=separator != BLANKS and _is_regular(source, layout))


def utf8(source: Source, layout: Layout) -> Iterator[tuple[bytes, float]]:
    """The text in UTF-8 with line feeds, in blocks of whole rows, each with the fraction of the file.

    Parameters
    ----------
    source : Source
        Text table.
    layout : Layout
        How it is written.

    Yields
    ------
    tuple of bytes and float
        A block of whole rows, and the fraction of the file that has been read.
    """
    share = 0.0

    def content() -> Iterator[bytes]:
        nonlocal share
        for block, read in source.blocks():
            share = read
            yield block

    rest = b""
    for block in encodings.decoded(content(), layout.encoding, source.name):
        rest += block.replace(b"\r", b"\n") if layout.line_end == b"\r" else block
        end = _end_of_rows(rest)
        if end:
            yield rest[:end], share
            rest = rest[end:]
    if rest:
        yield rest, 1.0


def _content(source: Source) -> Iterator[bytes]:
    return (block for block, _ in source.blocks())


def _encoding(source: Source) -> tuple[str, list[str]]:
    start = next(_content(source), b"")
    known = encodings.marked(start[: encodings.SAMPLE])
    if known is not None:
        return known, []
    if encodings.is_utf8(_content(source)):
        return "utf-8", []
    name = encodings.guessed(start[: encodings.SAMPLE])
    return name, [f"the text was read as {name}, because it is not UTF-8; --encoding sets another encoding"]


def _end_of_rows(text: bytes) -> int:
    """The end of the last line that does not end within quotation marks."""
    end = text.rfind(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, text.rfind(b'"', 0, end)) + 1
    return end


def _whole_rows(sample: bytes) -> str:
    """The text without its last line, which may be cut."""
    if len(sample) >= encodings.SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    return sample.decode("utf-8", errors="ignore")


def _is_regular(source: Source, layout: Layout) -> bool:
    """Whether quotation marks stand only around whole cells."""
    plain = layout.encoding == "utf-8" and layout.line_end == b"\n"
    if plain and not any(b'"' in block or b"\0" in block for block in _content(source)):
        return True
    mark = re.escape(layout.separator.encode())
    cell = re.compile(rb'(?:(?<=[\n%b])|\A)"(?:[^"]|"")*"(?=%b|\r?\n|\r?\Z)' % (mark, mark))
    for block, _ in utf8(source, layout):
        if b"\0" in block or (b'"' in block and b'"' in cell.sub(b"", block)):
            return False
    return True


@contextmanager
def long_cells(limit: int) -> Iterator[None]:
    """Let cells be longer than the csv module allows by default."""
    before = csv.field_size_limit(max(limit, csv.field_size_limit()))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def about_skipped(above: int) -> str:
    """One sentence about lines that are no part of the table."""
    return f"{counted(above, 'line')} above the names of the columns skipped"


def _below(text: str, name: str, wanted: Collection[str]) -> tuple[int, Structure]:
    """The lines above the header, and the structure of the table; without a header that has the names, of the text."""
    try:
        found = structure(text, name)
    except TableError:
        if not wanted:
            raise
        found = None
    if found is not None and set(wanted) <= {*found[1]}:
        return 0, found
    lines = text.split("\n")
    for above in range(1, min(MOST_ABOVE, len(lines))):
        with suppress(TableError):
            below = structure("\n".join(lines[above : above + _SAMPLE]), name)
            if set(wanted) <= {*below[1]}:
                return above, below
    return 0, found or structure(text, name)


def structure(text: str, name: str) -> Structure:
    """Find the separator and the header of a table from its first rows.

    Parameters
    ----------
    text : str
        The table, or whole rows at its beginning.
    name : str
        The table, for the error message.

    Returns
    -------
    tuple of str, tuple of str, int and bool
        The separator, the names, the lines up to the end of the header, and whether rows end with a separator.

    Raises
    ------
    TableError
        If there are no rows, or no header.
    """
    separator = _separator(text)
    rows = list(_rows(text, separator))
    if not rows:
        raise TableError(f"{name} is empty")
    header, lines = rows[0]
    if all(_NUMBER.fullmatch(cell) for cell in header):
        raise TableError(
            f"{name} has no header: its first line contains only numbers ({cell_text(header[0])}, …); add a "
            "line with the column names"
        )
    widths = {len(row) for row, _ in rows[1:]}
    names, ragged = [cell.strip() for cell in header], False
    if widths == {len(header) + 1}:
        if separator == BLANKS:  # as R writes tables: the index has no name
            names = ["", *names]
        elif not any(row[-1].strip() for row, _ in rows[1:]):
            names, ragged = [*names, ""], True
    return separator, tuple(names), lines, ragged


def _separator(text: str) -> str:
    """The separator that splits header and rows into the same number of cells, for most of the rows."""
    best = (-1.0, 0, _NOWHERE)
    for separator in _SEPARATORS:
        rows = [row for row, _ in _rows(text, separator)]
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        fits = sum(len(row) == width or (len(row) == width + 1 and not row[-1].strip()) for row in rows[1:])
        found = (fits / max(len(rows) - 1, 1), width, separator)
        best = max(best, found, key=lambda entry: entry[:2])
    if best[0] <= 0.5 and _is_blank_separated(text):
        return BLANKS
    return best[2]


def _is_blank_separated(text: str) -> bool:
    rows = [row for row, _ in _rows(text, BLANKS)]
    widths = {len(row) for row in rows[1:]} or {len(rows[0]) if rows else 0}
    return len(widths) == 1 and max(widths) > 1 and max(widths) - len(rows[0]) in (0, 1)


def _rows(text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """The rows that are not empty, split, each with the number of its last line."""
    if separator == BLANKS:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield line.split(), number
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield row, reader.line_num
    except csv.Error:  # a lone carriage return: the rows so far show the structure
        return
