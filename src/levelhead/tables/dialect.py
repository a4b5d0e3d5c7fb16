"""Detects how a text table is written: compression, encoding, separator, decimal mark."""

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

_SAMPLE = 1 << 18  # bytes looked at
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = r"\s+"
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_OPENERS: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
# Cells that can only be meant one way: 0,5 and 1.234,5 on one side, 0.5 and 1,234.5 on the other.
_COMMA_CELL = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,}))")
_POINT_CELL = re.compile(r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,}))([eE][+-]?\d+)?")


class TableError(ValueError):
    """A file that cannot be read as a table; the message says what to do."""


class Dialect(NamedTuple):
    """How a text table is written.

    Attributes
    ----------
    compression : str or None
        Compression, by its name in pandas.
    encoding : str
        Encoding of the text.
    separator : str
        One character, or a regular expression for blanks.
    decimal : {".", ","}
        Decimal mark.
    ragged_end : bool
        Whether every line ends with an extra separator.
    """

    compression: str | None
    encoding: str
    separator: str
    decimal: str
    ragged_end: bool


def detect(path: Path) -> Dialect:
    """Detect the dialect of a file from its first 256 kB.

    Parameters
    ----------
    path : Path
        Text table, possibly compressed.

    Returns
    -------
    Dialect
        How the table is written.

    Raises
    ------
    TableError
        If the file is empty, damaged, has no header or is not text.
    """
    compression = compression_of(path)
    sample, complete = _sample(path, compression)
    encoding = _encoding(sample)
    text = sample.decode(encoding, errors="replace")
    if "\0" in text:
        raise TableError(f"{path} is not a text file: it contains zero bytes; give CSV or Parquet")
    if not complete:
        text = text[: text.rfind("\n") + 1] or text  # the last line may be cut
    try:
        separator, rows = _separator(text)
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be split into cells ({error}); is a closing quotation mark missing?"
        ) from error
    if not rows:
        raise TableError(f"{path} is empty")
    header, body = rows[0], rows[1:]
    if all(_is_number(cell) for cell in header):
        raise TableError(
            f"{path} has no header: its first line contains only numbers; add a line with the column names"
        )
    extra = {len(row) for row in body} == {len(header) + 1} and not any(row[-1].strip() for row in body)
    return Dialect(compression, encoding, separator, _decimal(body), extra)


def compression_of(path: Path) -> str | None:
    """Detect the compression of a file by its first bytes, whatever its name.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    str or None
        Name of the compression, or None.
    """
    with path.open("rb") as file:
        start = file.read(8)
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            return name
    return None


def _sample(path: Path, compression: str | None) -> tuple[bytes, bool]:
    try:
        with _opened(path, compression) as file:
            sample = file.read(_SAMPLE)
            return sample, len(sample) < _SAMPLE
    except (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise TableError(f"{path} is damaged or truncated ({error})") from error


def _opened(path: Path, compression: str | None) -> Any:
    if compression is None:
        return path.open("rb")
    if compression in _OPENERS:
        return _OPENERS[compression](path, "rb")
    if compression == "zip":
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        if len(names) != 1:
            found = (
                "an Excel workbook" if "[Content_Types].xml" in names else f"an archive of {len(names)} files"
            )
            raise TableError(f"{path} is {found}, not one table; save it as CSV or Parquet")
        return archive.open(names[0])
    raise TableError(f"{path} is compressed with {compression}, which is not supported; use gzip")


def _encoding(sample: bytes) -> str:
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        sample[:-4].decode("utf-8-sig")  # the last letter may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _separator(text: str) -> tuple[str, list[list[str]]]:
    """The separator that splits most lines into the same number of cells, and the lines so split."""
    best: tuple[float, int, str, list[list[str]]] | None = None
    for separator in _SEPARATORS:
        rows = _cells(text, separator)
        agreement, width = _agreement(rows)
        if width > 1 and (best is None or (agreement, width) > best[:2]):
            best = agreement, width, separator, rows
    if best is not None and best[0] > 0.5:
        return best[2], best[3]
    rows = [line.split() for line in text.splitlines() if line.strip()]
    agreement, width = _agreement(rows[1:] or rows)  # a header may lack the name of the index
    if width > 1 and agreement == 1 and width - len(rows[0]) in (0, 1):
        return _SPACES, rows
    return ",", _cells(text, ",")


def _cells(text: str, separator: str) -> list[list[str]]:
    """The lines that are not empty, split."""
    return [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(map(str.strip, row))]


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """Share of the lines that have the commonest number of cells, and that number."""
    if not rows:
        return 0.0, 0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return count / len(rows), width


def _decimal(body: list[list[str]]) -> str:
    cells = [cell.strip() for row in body for cell in row]
    commas = sum(_COMMA_CELL.fullmatch(cell) is not None for cell in cells)
    points = sum(_POINT_CELL.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
