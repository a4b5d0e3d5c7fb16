r"""Reading of tables: CSV with any separator, compressed or not, and Parquet.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "flats.csv"
...     _ = path.write_text('area;rent\n50;"1.200,50"\n60;unknown\n70;900,00\n')
...     table = training_table(path, "rent")
>>> table.y.tolist(), table.row.tolist()
([1200.5, 900.0], [1, 3])
>>> table.remarks
("rent: left out 1 row whose label is not a number: row 2 ('unknown')",)

Numbers may have thousands separators and a decimal comma; empty cells, `NA`, `?`, `-`, spreadsheet errors and
infinities are missing values. A first column without a name is an index and is dropped, and so is a column that only
identifies the rows. Rows are counted from 1, without the header. Needs the extra `cli`.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead._extras import needed
from levelhead.tables import dialect as dialects
from levelhead.tables.dialect import TableError

__all__ = ["TableError", "TrainingTable", "choose", "pieces", "read", "training_table"]

_PIECE = 50_000  # rows
_SHOWN = 5
_MISSING = (
    "?", "-", "--", ".", "inf", "-inf", "+inf", "Inf", "-Inf", "Infinity", "-Infinity",
    "#DIV/0!", "#REF!", "#VALUE!", "#NUM!", "#NAME?", "#NULL!",
)  # fmt: skip
_MOSTLY = 0.95  # a column with this share of numbers is one of numbers; its other cells are missing values
_FEW = 20  # rows, among which different cells say little
_TRIED = 50  # cells that are looked at to tell dates from other text
_ID = re.compile(r"(?i)(?:.*[ _-])?(?:id|index|nr|row|key|uuid|guid)|.*[a-z]Id|#")
_GROUPED = {  # numbers that Python does not read as they stand, by the decimal mark of the file
    ".": re.compile(r"[+-]?\d{1,3}(?:([,' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:\.\d*)?"),
    ",": re.compile(
        r"[+-]?(?:\d{1,3}(?:([.' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:,\d*)?|\d*,\d+(?:[eE][+-]?\d+)?)"
    ),
}
_MARKS = {
    ".": "[,' \u00a0\u202f]",
    ",": "[,.' \u00a0\u202f]",
}  # what such a number has and a plain one has not

Frame = Any  # a pandas frame


class TrainingTable(NamedTuple):
    """Inputs and labels of the rows that have a label.

    Attributes
    ----------
    X : pandas.DataFrame
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels.
    row : ndarray of int of shape (n_samples,)
        Row number in the file, counted from 1 without the header.
    identity : ndarray of shape (n_samples,) or None
        Content of the id column.
    remarks : tuple of str
        What was left out or read as missing, one sentence each.
    frame : pandas.DataFrame
        The whole table as it was read.
    """

    X: Frame
    y: FloatArray
    row: NDArray[np.intp]
    identity: NDArray[Any] | None
    remarks: tuple[str, ...]
    frame: Frame


def training_table(
    path: str | Path,
    target: str,
    *,
    id_column: str | None = None,
    drop: Collection[str] = (),
    keep: Collection[str] | Literal["all"] = (),
) -> TrainingTable:
    """Read inputs and labels from a file; rows without a numeric label are left out and reported.

    Parameters
    ----------
    path : path-like
        CSV or Parquet file.
    target : str
        Column with the labels.
    id_column : str or None, default=None
        Column that identifies the rows; not used as a feature.
    drop : collection of str, default=()
        Other columns that are not used as features.
    keep : collection of str or "all", default=()
        Columns to use as features although they look like row identifiers.

    Returns
    -------
    TrainingTable
        Inputs, labels, row numbers and remarks.

    Raises
    ------
    TableError
        If the file cannot be read, a column does not exist, or there is no label or no feature.
    """
    frame = read(path)
    choose(frame, () if keep == "all" else keep, path)
    excluded = [target, *([id_column] if id_column is not None else []), *drop]
    choose(frame, excluded, path)
    y, remarks = _labels(frame[target], target)
    kept = np.flatnonzero(np.isfinite(y))
    if not kept.size:
        raise TableError(f"{path}: column {target!r} contains no numbers, so it cannot be the target")
    inputs = frame.drop(columns=list(dict.fromkeys(excluded)))
    if not inputs.shape[1]:
        raise TableError(
            f"{path} has no column besides {', '.join(map(repr, excluded))} to predict {target!r} from"
        )
    inputs, more = _with_numbers(inputs.iloc[kept].reset_index(drop=True), kept)
    inputs, names = (inputs, []) if keep == "all" else _without_identifiers(inputs, keep)
    identity = None if id_column is None else frame[id_column].to_numpy()[kept]
    return TrainingTable(inputs, y[kept], kept + 1, identity, (*remarks, *more, *names), frame)


def read(path: str | Path) -> Frame:
    """Read a whole table.

    Cells of a CSV file stay text, so that nothing is lost; numbers are written in plain notation ("1234.5").

    Parameters
    ----------
    path : path-like
        CSV or Parquet file.

    Returns
    -------
    pandas.DataFrame
        The table.
    """
    frames = list(pieces(path))
    return frames[0] if len(frames) == 1 else _pandas().concat(frames, ignore_index=True)


def pieces(
    path: str | Path, rows: int = _PIECE, progress: Callable[[float], None] | None = None
) -> Iterator[Frame]:
    """Read a table in chunks, with bounded memory.

    Parameters
    ----------
    path : path-like
        CSV or Parquet file.
    rows : int, default=50000
        Largest number of rows of a chunk.
    progress : callable or None, default=None
        Called after each chunk with the fraction of the file that has been read.

    Yields
    ------
    pandas.DataFrame
        A chunk of the table. A table without rows gives one empty chunk.
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a CSV or Parquet file")
    if not path.exists():
        raise TableError(f"{path} does not exist")
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    made = _parquet_pieces(path, rows) if parquet else _csv_pieces(path, rows)
    for frame, share in made:
        yield frame
        if progress is not None:
            progress(share)


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


def _csv_pieces(path: Path, rows: int) -> Iterator[tuple[Frame, float]]:
    pandas = _pandas()
    dialect = dialects.detect(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            reader = pandas.read_csv(
                file,
                sep=dialect.separator,
                compression=dialect.compression,
                encoding=dialect.encoding,
                index_col=False if dialect.ragged_end else None,
                dtype="str",
                na_values=list(_MISSING),
                skipinitialspace=True,
                chunksize=rows,
            )
            for frame in reader:
                yield _tidy(frame, dialect.decimal), file.tell() / size
        except pandas.errors.EmptyDataError as error:
            raise TableError(f"{path} is empty") from error
        except pandas.errors.ParserError as error:
            raise TableError(f"{path}: {_message(error)}") from error
        except UnicodeDecodeError as error:
            raise TableError(f"{path} is not UTF-8 and mixes encodings; save it as UTF-8") from error
        except (EOFError, OSError) as error:
            raise TableError(f"{path} is damaged or truncated ({error})") from error


def _message(error: Exception) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if found is None:
        return str(error).strip()
    expected, line, cells = found.groups()
    return f"line {line} has {cells} cells where {expected} are expected; fix or remove it"


def _parquet_pieces(path: Path, rows: int) -> Iterator[tuple[Frame, float]]:
    parquet = _needed("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        total, done = file.metadata.num_rows, 0
        if total == 0:
            yield _typed(file.read().to_pandas()), 1.0
        for batch in file.iter_batches(batch_size=rows):
            done += batch.num_rows
            yield _typed(batch.to_pandas()), done / total
    except (OSError, ValueError) as error:  # pyarrow has errors of either kind
        raise TableError(f"{path} is a damaged Parquet file ({error})") from error


def _tidy(frame: Frame, decimal: str) -> Frame:
    frame = frame.reset_index(drop=True)  # an index that pandas has found for itself
    frame.columns = [str(name).strip() for name in frame.columns]
    if frame.shape[1] > 1 and frame.columns[0] in ("", "Unnamed: 0"):
        frame = frame.iloc[:, 1:]
    return frame.apply(_plain, decimal=decimal) if len(frame) else frame


def _plain(column: Any, decimal: str) -> Any:
    """Text cells with every number in the notation that all programs read."""
    odd = column.str.contains(_MARKS[decimal], regex=True, na=False)
    if not odd.any():
        return column
    grouped, other = _GROUPED[decimal], "." if decimal == "," else ","

    def plain(cell: str) -> str:
        cell = cell.strip()
        if not grouped.fullmatch(cell):
            return cell
        digits = re.sub(rf"[{re.escape(other)}' \u00a0\u202f]", "", cell)
        return digits.replace(decimal, ".")

    column = column.copy()
    column[odd] = [plain(cell) for cell in column[odd]]
    return column


def _typed(frame: Frame) -> Frame:
    """Remove the index, read infinities as missing and convert decimals to floats."""
    pandas = _pandas()
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object and pandas.api.types.infer_dtype(column, skipna=True) == "decimal":
            frame[name] = column.astype("float64")
        elif column.dtype.kind == "f":
            frame[name] = column.where(np.isfinite(column))
    return frame


def _labels(column: Any, target: str) -> tuple[FloatArray, list[str]]:
    """Labels, NaN where there is none, and remarks about the rows without one."""
    numbers = _pandas().to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    missing = column.isna().to_numpy()
    not_numeric = np.flatnonzero(np.isnan(numbers) & ~missing)
    remarks = []
    if missing.any():
        rows = _row_list(np.flatnonzero(missing))
        remarks.append(f"{target}: left out {_count(int(missing.sum()))} without a label: {rows}")
    if not_numeric.size:
        rows = _row_list(not_numeric, column)
        remarks.append(f"{target}: left out {_count(not_numeric.size)} whose label is not a number: {rows}")
    return numbers, remarks


def _with_numbers(frame: Frame, place: NDArray[np.intp]) -> tuple[Frame, list[str]]:
    """Convert text columns whose cells are almost all numbers."""
    pandas = _pandas()
    columns, remarks = {}, []
    for name in frame.columns:
        column = columns[name] = frame[name]
        if not _is_text(column):
            continue
        numbers = pandas.to_numeric(column, errors="coerce")
        not_numeric = np.flatnonzero((numbers.isna() & column.notna()).to_numpy())
        if not_numeric.size <= (1 - _MOSTLY) * column.notna().sum():
            columns[name] = numbers
            if not_numeric.size:
                rows = _row_list(not_numeric, column, place)
                remarks.append(
                    f"{name}: {_count(not_numeric.size, 'cell')} read as missing (not a number): {rows}"
                )
    return pandas.DataFrame(columns), remarks


def _is_text(column: Any) -> bool:
    """Before pandas 3, text with gaps is a column of objects, and not called one of strings."""
    types = _pandas().api.types
    return bool(types.is_string_dtype(column) or types.infer_dtype(column, skipna=True) == "string")


def _without_identifiers(frame: Frame, keep: Collection[str]) -> tuple[Frame, list[str]]:
    """Remove columns that only identify the rows: a model could only memorise them."""
    names = [name for name in frame.columns if name not in keep and _identifies_rows(frame[name])]
    if not names or len(names) == frame.shape[1]:
        return frame, []
    return frame.drop(columns=names), [
        f"{name}: not used as a feature, it only identifies the rows (all values differ); --keep {name} uses it"
        for name in names
    ]


def _identifies_rows(column: Any) -> bool:
    """Whether all cells differ and are single words (but not dates), or integers in a column named like an id."""
    pandas = _pandas()
    if len(column) < _FEW or not column.is_unique:
        return False
    if pandas.api.types.is_integer_dtype(column):
        return bool(_ID.fullmatch(str(column.name)))
    if not _is_text(column):
        return False
    cells = column.dropna().astype(str)
    some = cells.iloc[:_TRIED]
    dates = pandas.to_datetime(some, errors="coerce", format="mixed", utc=True)
    return not cells.str.strip().str.contains(r"\s").any() and bool(dates.isna().mean() > 0.5)


def _row_list(index: NDArray[np.intp], column: Any = None, place: NDArray[np.intp] | None = None) -> str:
    """The first few rows by their number in the file, with what they hold."""
    numbers = index if place is None else place[index]
    cells = [""] * len(index) if column is None else [f" ({column.iloc[i]!r})" for i in index[:_SHOWN]]
    named = [f"{row + 1}{cell}" for row, cell in zip(numbers[:_SHOWN], cells, strict=False)]
    more = f" and {len(index) - _SHOWN:,} more" if len(index) > _SHOWN else ""
    return f"row{'s' if len(index) > 1 else ''} {', '.join(named)}{more}"


def _count(n: int, noun: str = "row") -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _pandas() -> Any:
    return _needed("pandas")


def _needed(module: str) -> Any:
    return needed(module, "reading tables", "cli")
