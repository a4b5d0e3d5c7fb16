"""What is written: files appear whole or not at all, and never in place of others unless asked."""

import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from levelhead._extras import needed

# How a cell begins that a spreadsheet would take for a formula, also after blanks.
_FORMULA = re.compile(r"\s*[=+\-@|%]|[\t\n]")


def refuse(*paths: Path, force: bool) -> None:
    """Fail before the work is done rather than after it."""
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; give the name of a file")
        if path.exists() and not force:
            raise FileExistsError(f"{path} exists; use another --out, or --force to replace it")
        if path.parent.exists() and not path.parent.is_dir():
            raise NotADirectoryError(f"{path.parent} is a file, not a folder; use another --out")


@contextmanager
def whole(*paths: Path, force: bool) -> Iterator[list[Path]]:
    """Names to write to; when all has gone well, the files get their real names, together.

    Folders are made as needed.
    """
    refuse(*paths, force=force)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(4)
    partial = [path.with_name(f".{token}-{path.name}") for path in paths]
    try:
        yield partial
        for path in partial:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        refuse(*paths, force=force)
        for written, path in zip(partial, paths, strict=True):
            written.replace(path)
    finally:
        for path in partial:
            path.unlink(missing_ok=True)


def write_csv(frame: Any, path: Path, *, append: bool = False) -> None:
    """Write a frame so that no cell or column name is a formula to a spreadsheet."""
    safe = frame.rename(columns=_harmless)
    for name in safe.columns:
        if safe[name].dtype.kind not in "biufmM":
            safe[name] = safe[name].map(_harmless)
    safe.to_csv(
        path, index=False, header=not append, mode="a" if append else "w", compression=_compression(path)
    )


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}.get(path.suffix.lower())


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")  # unquoted by csv, a lone \r would begin a new row
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if _FORMULA.match(cell) else cell
    return cell


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a column, changed if it is taken."""
    return f"{name} (id)" if name in taken else name


@contextmanager
def writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """A function that adds a frame to a table, in Parquet or CSV by the ending of its name."""
    if path.suffix.lower() in (".parquet", ".pq"):
        with _parquet_writer(path) as write:
            yield write
        return
    begun = False

    def add(frame: Any) -> None:
        nonlocal begun
        write_csv(frame, path, append=begun)
        begun = True

    yield add


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[Any], None]]:
    pa = needed("pyarrow", "a Parquet file", "cli")
    pq = needed("pyarrow.parquet", "a Parquet file", "cli")
    file: Any = None

    def add(frame: Any) -> None:
        nonlocal file
        schema = None if file is None else file.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        file = file or pq.ParquetWriter(path, table.schema)
        file.write_table(table)

    try:
        yield add
    finally:
        if file is not None:
            file.close()
