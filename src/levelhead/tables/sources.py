"""Where the bytes of a table come from: files, compressed or not, folders of Parquet files, and standard input."""

import bz2
import gzip
import io
import lzma
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from levelhead._extras import needed
from levelhead.tables.errors import TableError

STANDARD_INPUT = "-"
DAMAGED = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zipfile.LargeZipFile)

_BLOCK = 1 << 22  # bytes
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_OPENERS: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}

Kind = Literal["text", "parquet", "excel"]


@dataclass(frozen=True)
class Source:
    """A file whose kind is known.

    Attributes
    ----------
    path : Path
        The file, or a temporary copy of standard input.
    name : str
        How messages call it.
    kind : {"text", "parquet", "excel"}
        What it holds.
    compression : str or None
        Compression of a text file.
    """

    path: Path
    name: str
    kind: Kind
    compression: str | None = None

    def blocks(self) -> Iterator[tuple[bytes, float]]:
        """The decompressed content in blocks, each with the fraction of the file that has been read.

        Yields
        ------
        tuple of bytes and float
            A block, and the fraction of the file.

        Raises
        ------
        TableError
            If the file is damaged.
        """
        size = max(self.path.stat().st_size, 1)
        try:
            with self.path.open("rb") as raw, ExitStack() as stack:
                file = stack.enter_context(self._decompressed(raw))
                while block := file.read(_BLOCK):
                    yield block, min(raw.tell() / size, 1.0)
        except DAMAGED as error:
            raise TableError(f"{self.name} is damaged or truncated ({error})") from error

    def _decompressed(self, raw: BinaryIO) -> Any:
        if self.compression is None:
            return raw
        if self.compression == "zip":
            archive = zipfile.ZipFile(raw)
            return archive.open(_files(archive)[0])
        if self.compression == "zstd":
            pyarrow = needed("pyarrow", "a file compressed with zstd", "cli")
            return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")
        return _OPENERS[self.compression](raw, "rb")


@contextmanager
def opened(path: str | Path) -> Iterator[Source]:
    """Find out what a file holds; `-` is standard input.

    Parameters
    ----------
    path : path-like
        File, folder of Parquet files, or `-`.

    Yields
    ------
    Source
        The file, or a temporary copy of what can be read only once.

    Raises
    ------
    TableError
        If it does not exist or holds no table.
    """
    if str(path) == STANDARD_INPUT:
        with _copied(sys.stdin.buffer) as copy:
            yield _recognised(copy, "standard input")
        return
    path = Path(path)
    if not path.exists():
        raise TableError(f"{path} does not exist")
    if path.is_dir():
        if not any(path.rglob("*.parquet")):
            raise TableError(f"{path} is a folder without Parquet files; give a table or a folder of them")
        yield Source(path, str(path), "parquet")
    elif path.is_file():
        yield _recognised(path, str(path))
    else:  # a pipe can be read only once
        with path.open("rb") as file, _copied(file) as copy:
            yield _recognised(copy, str(path))


@contextmanager
def _copied(file: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="levelhead-") as folder:
        copy = Path(folder) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(file, target, _BLOCK)
        yield copy


def _recognised(path: Path, name: str) -> Source:
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"PAR1"):
        return Source(path, name, "parquet")
    if start.startswith(_OLD_EXCEL):
        return Source(path, name, "excel")
    compression = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if compression == "zip":
        names = _members(path, name)
        if "[Content_Types].xml" in names or "content.xml" in names:
            return Source(path, name, "excel")
        if len(names) != 1:
            raise TableError(
                f"{name} is an archive of {len(names)} files, not one table; give one of its files"
            )
    return Source(path, name, "text", compression)


def _members(path: Path, name: str) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            return _files(archive)
    except DAMAGED as error:
        raise TableError(f"{name} is damaged or truncated ({error})") from error


def _files(archive: zipfile.ZipFile) -> list[str]:
    """The files of an archive, without folders and what macOS adds."""
    return [
        name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")
    ]
