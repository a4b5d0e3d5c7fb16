r"""Applies decisions about labels to a file, and leaves every other cell as it is written.

The report of an audit exports decisions: keep, fix or drop a label. `read_decisions` reads them, `merge_decisions`
combines those of several reviewers, and `repair` writes the repaired table.

>>> import tempfile, pathlib
>>> folder = tempfile.TemporaryDirectory()
>>> data, out = pathlib.Path(folder.name) / "flats.csv", pathlib.Path(folder.name) / "clean.csv"
>>> _ = data.write_text('area;rent\n50;"1.200,50"\n60;9000,0\n70;950,00\n')
>>> made = [Decision(1, "drop", None, 1200.5, "a.csv"), Decision(2, "fix", 900.5, 9000.0, "a.csv")]
>>> _ = repair(data, out, "rent", {decision.row: decision for decision in made})
>>> out.read_text()
'area;rent\n60;900,5\n70;950,00\n'
>>> folder.cleanup()
"""

import bz2
import gzip
import lzma
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from levelhead._extras import needed
from levelhead.tables._edits import Decision, Repaired, check_rows, edited, format_of, new_cell
from levelhead.tables.dialect import detect
from levelhead.tables.encodings import after_mark
from levelhead.tables.errors import TableError
from levelhead.tables.numbers import NumberFormat
from levelhead.tables.reading import read, read_raw
from levelhead.tables.schema import TableFormats
from levelhead.tables.sources import opened

__all__ = ["Decision", "Merged", "Repaired", "merge_decisions", "read_decisions", "repair"]

OnConflict = Literal["stop", "first", "last", "keep"]

_KINDS = ("keep", "fix", "drop")
_BY_SUFFIX: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_SHOWN = 5


class Merged(NamedTuple):
    """Decisions of several files.

    Attributes
    ----------
    decisions : dict of int to Decision
        One decision per row.
    conflicts : list of str
        Rows about which the files disagree, one sentence each.
    """

    decisions: dict[int, Decision]
    conflicts: list[str]


def read_decisions(path: str | Path) -> tuple[list[Decision], str | None]:
    """Read decisions that were exported by the report of an audit.

    Parameters
    ----------
    path : path-like
        CSV file with the columns `row`, `given_label`, `decision` and `new_label`.

    Returns
    -------
    decisions : list of Decision
        The decisions.
    target : str or None
        Column with the labels, if the file names it.

    Raises
    ------
    TableError
        If a column is missing, or a decision cannot be understood.
    """
    frame = read(path)
    missing = [name for name in ("row", "given_label", "decision", "new_label") if name not in frame.columns]
    if missing:
        raise TableError(
            f"{path} has no column {missing[0]!r}; give a file that the report exported (Decisions)"
        )
    columns = zip(*(frame[name] for name in ("row", "given_label", "decision", "new_label")), strict=True)
    made = [_decision(line, cells, str(path)) for line, cells in enumerate(columns, start=1)]
    targets = set(frame["column"].astype(str)) if "column" in frame.columns else set()
    if len(targets) > 1:
        raise TableError(f"{path} decides about several columns: {', '.join(sorted(targets))}; split it")
    return made, _unescaped(targets.pop()) if targets else None


def _unescaped(name: str) -> str:
    return name[1:] if name.startswith("'") else name  # written so that no spreadsheet reads a formula


def _decision(line: int, cells: tuple[Any, ...], path: str) -> Decision:
    where = f"{path}, line {line + 1}"
    row, given, value = (_float(cell) for cell in (cells[0], cells[1], cells[3]))
    kind = str(cells[2]).strip().lower()
    if not (row >= 1 and row == int(row)):
        raise TableError(f"{where}: the row is {cells[0]!r}; give a whole number from 1")
    if kind not in _KINDS:
        raise TableError(f"{where}: the decision is {cells[2]!r}; use keep, fix or drop")
    if kind == "fix" and not math.isfinite(value):
        raise TableError(f"{where}: the new label is {cells[3]!r}; a fix needs a number")
    return Decision(int(row), kind, value if kind == "fix" else None, given, path)


def _float(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return math.nan


def merge_decisions(files: Iterable[Iterable[Decision]], on_conflict: OnConflict = "stop") -> Merged:
    """Combine the decisions of several reviewers.

    A row that only one file decides about, or that all files decide alike, takes that decision.

    Parameters
    ----------
    files : iterable of iterable of Decision
        The decisions of each file.
    on_conflict : {"stop", "first", "last", "keep"}, default="stop"
        What to do where files disagree: raise an error, take the decision of the first or of the last file, or keep
        the label as it is.

    Returns
    -------
    Merged
        One decision per row, and the conflicts.

    Raises
    ------
    TableError
        If files disagree and `on_conflict` is "stop".
    """
    by_row: dict[int, list[Decision]] = {}
    for decision in (decision for file in files for decision in file):
        by_row.setdefault(decision.row, []).append(decision)
    merged, conflicts = {}, []
    for row, made in sorted(by_row.items()):
        merged[row] = made[-1] if on_conflict == "last" else made[0]
        if not all(decision.agrees(made[0]) for decision in made):
            conflicts.append(f"row {row}: " + ", ".join(f"{d.text} in {d.source}" for d in made))
            if on_conflict == "keep":
                merged[row] = made[0]._replace(kind="keep", value=None)
    if conflicts and on_conflict == "stop":
        raise TableError(
            f"the decisions disagree about {len(conflicts)} rows ({'; '.join(conflicts[:_SHOWN])}"
            f"{'; …' if len(conflicts) > _SHOWN else ''}); settle them, or choose with --on-conflict"
        )
    return Merged(merged, conflicts)


def repair(
    path: str | Path,
    out: str | Path,
    target: str,
    decisions: Mapping[int, Decision],
    *,
    like: str | Path | None = None,
) -> Repaired:
    """Write a table with decisions applied; all other cells keep their format, encoding and quotation marks.

    Parameters
    ----------
    path : path-like
        The table that was audited: CSV, possibly compressed, or Parquet.
    out : path-like
        File to write; it is replaced if it exists.
    target : str
        Column with the labels.
    decisions : mapping of int to Decision
        Decisions by row.
    like : path-like, default=None
        The name that decides about the compression, if `out` is a temporary file.

    Returns
    -------
    Repaired
        What was changed.

    Raises
    ------
    TableError
        If the column or a row does not exist, or if the file has other labels than the decisions were made for.
    """
    out, name = Path(out), Path(like if like is not None else out)
    if name.suffix.lower() in (".zip", ".zst", ".xlsx"):
        raise TableError(f"{name}: tables are written as CSV, CSV compressed with gz, bz2 or xz, and Parquet")
    with opened(path) as source:
        if source.kind == "parquet":
            return _repair_parquet(source.path, out, target, decisions, _likely_format(path, target))
        if source.kind == "excel":
            raise TableError(f"{path} is a workbook; save the table as CSV and audit that file")
        layout = detect(source, wanted=(target,))
        content = b"".join(block for block, _ in source.blocks())
    mark, encoding = after_mark(content, layout.encoding)
    text = content[len(mark) :].decode(encoding, "surrogateescape")
    result, lines = edited(text, layout, Path(path), target, decisions, _likely_format(path, target))
    with _BY_SUFFIX.get(name.suffix.lower(), open)(out, "wb") as file:
        file.write(mark + "".join(lines).encode(encoding, "surrogateescape"))
    return result


def _likely_format(path: str | Path, target: str) -> NumberFormat | None:
    """How the labels are written, as an audit of the table reads them; None if it refuses or has no such column."""
    with suppress(TableError):
        raw = read_raw(path, wanted=(target,))
        if target in raw.frame.columns:
            formats = TableFormats(separator=raw.separator)
            formats.learn(raw.frame, target)
            return formats.target_[target].number
    return None


def _repair_parquet(
    path: Path, out: Path, target: str, decisions: Mapping[int, Decision], likely: NumberFormat | None
) -> Repaired:
    pa = needed("pyarrow", "a Parquet file", "cli")
    pq = needed("pyarrow.parquet", "a Parquet file", "cli")
    table = pq.read_table(path)
    if target not in table.column_names:
        raise TableError(f"{path} has no column {target!r}; it has {', '.join(table.column_names)}")
    labels = table[target].to_pylist()
    check_rows(decisions, len(labels), path)
    form = format_of(["" if label is None else str(label) for label in labels], decisions, path, likely)
    text = any(isinstance(label, str) for label in labels)
    fixed = {row: decision.value for row, decision in sorted(decisions.items()) if decision.value is not None}
    for row, value in fixed.items():
        labels[row - 1] = new_cell(labels[row - 1] or "", value, form) if text else value
    at = table.column_names.index(target)
    table = table.set_column(at, target, _like(pa, labels, table.schema.field(target).type))
    dropped = sorted(row for row, decision in decisions.items() if decision.kind == "drop")
    keep = np.isin(np.arange(1, len(labels) + 1), dropped, invert=True)
    pq.write_table(table.filter(pa.array(keep)), out)
    return Repaired(len(labels), list(fixed), dropped)


def _like(pa: Any, labels: list[Any], kind: Any) -> Any:
    """Labels in the type of their column; as floats if it cannot hold the new ones."""
    floats = [float(label) if isinstance(label, Decimal) else label for label in labels]
    if pa.types.is_decimal(kind):
        exact = [None if label is None else Decimal(str(label)) for label in labels]
        with suppress(pa.ArrowInvalid):
            return pa.array(exact, type=kind)
    elif not (
        pa.types.is_integer(kind) and any(label is not None and label != int(label) for label in labels)
    ):
        with suppress(pa.ArrowInvalid):
            return pa.array(labels).cast(kind)
    return pa.array(floats, type=pa.float64())
