"""Writing files: each is complete or absent, and existing files are replaced only with --force."""

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelhead import _files
from levelhead._extras import needed

if TYPE_CHECKING:
    from levelhead import Audit

_BEGINS_FORMULA = frozenset("=+-@|%")
_INVISIBLE = frozenset("CZM")  # classes of characters: control and format, blanks, marks without a letter


def refuse(*paths: Path, force: bool) -> None:
    """Check before the work starts that the files can be written."""
    _files.refuse(*paths, overwrite=force, option="--force")


def whole(*paths: Path, force: bool) -> AbstractContextManager[list[Path]]:
    """Yield temporary paths to write to; if no error occurs, the files get their real names together.

    Missing folders are created.
    """
    return _files.whole(*paths, overwrite=force, option="--force", make_folders=True)


def write_csv(frame: Any, path: Path, *, append: bool = False) -> None:
    """Write a frame so that a spreadsheet reads no cell or column name as a formula."""
    safe = frame.rename(columns=_escaped)
    for name in safe.columns:
        if safe[name].dtype.kind not in "biufmM":
            safe[name] = safe[name].map(_escaped)
    safe.to_csv(
        path, index=False, header=not append, mode="a" if append else "w", compression=_compression(path)
    )


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}.get(path.suffix.lower())


def _escaped(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")  # unquoted by csv, a lone \r would begin a new row
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if _is_formula(cell) else cell
    return cell


def _is_formula(cell: str) -> bool:
    """Whether a spreadsheet would read a cell as a formula; the same rule as in `report/assets/decisions.js`."""
    if cell.startswith(("\t", "\n")):
        return True
    plain = unicodedata.normalize("NFKC", cell)  # full-width signs are signs, too
    return next((c for c in plain if unicodedata.category(c)[0] not in _INVISIBLE), "") in _BEGINS_FORMULA


@contextmanager
def writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends a frame to a file, Parquet or CSV depending on the file name."""
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


def draw(audit: "Audit", path: Path) -> None:
    """Write the figure of an audit: without a window, and of bounded size however many rows there are."""
    needed("matplotlib", "a plot", "plot").use("agg")
    audit.plot().savefig(path, format="png", dpi=150)
