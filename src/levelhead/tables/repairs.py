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
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from levelhead._extras import needed
from levelhead.tables.delimited import plain_line, split_rows
from levelhead.tables.dialect import BLANKS, Layout, detect, structure
from levelhead.tables.encodings import after_mark
from levelhead.tables.errors import TableError
from levelhead.tables.reading import read
from levelhead.tables.sources import opened

__all__ = ["Decision", "Merged", "Repaired", "merge_decisions", "read_decisions", "repair"]

OnConflict = Literal["stop", "first", "last", "keep"]

_KINDS = ("keep", "fix", "drop")
_BY_SUFFIX: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_NUMBER = re.compile(r"[+\-−]?[\d][\d.,' \u00a0\u202f]*(?:[eE][+-]?\d+)?|[+\-−]?[.,]\d+(?:[eE][+-]?\d+)?")
_FRACTION = re.compile(r"\d([.,])(?:\d{1,2}|\d{4,})$")  # three digits may be thousands
_SHOWN = 5
_MOST_ABOVE = 20  # lines that may stand above a header
_SAMPLE = 100  # lines that show how a table is written


class Decision(NamedTuple):
    """What to do with one label.

    Attributes
    ----------
    row : int
        Row of the file, counted from 1 without the header.
    kind : {"keep", "fix", "drop"}
        Keep the label, replace it, or remove the row.
    value : float or None
        The new label, for "fix".
    given : float
        The label that the decision was made for.
    source : str
        File that the decision comes from.
    """

    row: int
    kind: str
    value: float | None
    given: float
    source: str

    @property
    def text(self) -> str:
        """The decision in words."""
        return f"fix to {self.value:g}" if self.kind == "fix" else self.kind

    def agrees(self, other: "Decision") -> bool:
        """Return whether two decisions do the same.

        Parameters
        ----------
        other : Decision
            Another decision about the same row.

        Returns
        -------
        bool
            Whether kind and value are equal.
        """
        return (self.kind, self.value) == (other.kind, other.value)


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


class Repaired(NamedTuple):
    """What was changed.

    Attributes
    ----------
    rows : int
        Rows of the table before.
    fixed : list of int
        Rows with a new label.
    dropped : list of int
        Rows that were removed.
    """

    rows: int
    fixed: list[int]
    dropped: list[int]


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
    with opened(path) as source:
        if source.kind == "parquet":
            return _repair_parquet(source.path, out, target, decisions)
        if source.kind == "excel" or source.compression == "zip":
            raise TableError(f"{path} is a workbook or an archive; save the table as CSV and audit that file")
        layout = detect(source)
        content = b"".join(block for block, _ in source.blocks())
    mark, encoding = after_mark(content, layout.encoding)
    text = content[len(mark) :].decode(encoding, "surrogateescape")
    result, lines = _edited(text, layout, Path(path), target, decisions)
    with _BY_SUFFIX.get(name.suffix.lower(), open)(out, "wb") as file:
        file.write(mark + "".join(lines).encode(encoding, "surrogateescape"))
    return result


class _Record(NamedTuple):
    """A row of the text: its cells, the text itself with its line end, and empty lines before it."""

    cells: list[str]
    text: str
    before: str


def _edited(
    text: str, layout: Layout, path: Path, target: str, decisions: Mapping[int, Decision]
) -> tuple[Repaired, list[str]]:
    written = _lines(text, layout)
    layout = _with_target(layout, written, path, target)
    place = layout.names.index(target)
    records, end = _records(written, layout, path)
    mark = _decimal_mark(record.cells[place] for record in records if place < len(record.cells))
    lines, result = written[: layout.header_lines], Repaired(len(records), [], [])
    for row, record in enumerate(records, start=1):
        lines.append(record.before)
        decision = decisions.get(row)
        if decision is not None:
            _check(record.cells[place] if place < len(record.cells) else "", decision, path)
        if decision is None or decision.kind == "keep":
            lines.append(record.text)
        elif decision.kind == "drop":
            result.dropped.append(row)
        else:
            result.fixed.append(row)
            lines.append(_with_cell(record, place, layout.separator, mark, decision))
    _check_rows(decisions, result.rows, path)
    return result, [*lines, *written[end:]]


def _with_target(layout: Layout, lines: list[str], path: Path, target: str) -> Layout:
    """The layout whose header names the target; there may be a few lines above the header."""
    if target in layout.names:
        return layout
    for above in range(1, min(_MOST_ABOVE, len(lines))):
        with suppress(TableError):
            separator, names, head, _ = structure("".join(lines[above : above + _SAMPLE]), str(path))
            if target in names:
                return layout._replace(separator=separator, names=names, header_lines=above + head)
    raise TableError(f"{path} has no column {target!r}; name the column of the labels with --target")


def _lines(text: str, layout: Layout) -> list[str]:
    """The lines, each with its end."""
    end = layout.line_end.decode()
    *ended, last = text.split(end)
    return [*(line + end for line in ended), *([last] if last else [])]


def _records(lines: list[str], layout: Layout, path: Path) -> tuple[list[_Record], int]:
    """The rows, each with the lines that it is written on; and the number of lines up to the last row."""
    end = layout.line_end.decode()
    plain = (plain_line(line.removesuffix(end) + "\n") for line in lines)
    records, before = [], layout.header_lines
    for cells, first, last in split_rows(plain, layout, str(path)):
        records.append(_Record(cells, "".join(lines[first - 1 : last]), "".join(lines[before : first - 1])))
        before = last
    return records, before


def _decimal_mark(cells: Iterable[str]) -> str:
    """The decimal mark of a column, from the cells that can be read in one way only."""
    ends = [found.group(1) for cell in cells if (found := _FRACTION.search(cell.strip()))]
    return "," if ends.count(",") > ends.count(".") else "."


def _check_rows(decisions: Mapping[int, Decision], rows: int, path: Path) -> None:
    beyond = [row for row in decisions if row > rows]
    if beyond:
        raise TableError(
            f"{path} has {rows} rows, but there is a decision about row {max(beyond)}; is it the same file?"
        )


def _check(cell: str, decision: Decision, path: Path) -> None:
    if math.isfinite(decision.given) and not any(
        _same(value, decision.given) for _, value in _readings(cell)
    ):
        raise TableError(
            f"{path}, row {decision.row}: the label is {cell!r}, but the decision in {decision.source} was made for "
            f"{decision.given:g}; give the file that was audited"
        )


def _same(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-6)


def _readings(cell: str) -> Iterator[tuple[str, float]]:
    """What a cell may mean, with a decimal point or a decimal comma."""
    found = _NUMBER.search(cell)
    if found is None:
        return
    number = re.sub(r"[' \u00a0\u202f]", "", found.group()).replace("−", "-")
    for mark, grouping in ((".", ","), (",", ".")):
        value = _float(number.replace(grouping, "").replace(mark, "."))
        if math.isfinite(value):
            yield mark, value


def _with_cell(record: _Record, place: int, separator: str, mark: str, decision: Decision) -> str:
    """The text of a row with another label, and everything else as it is."""
    begin, end = _span(record.text, place, separator)
    old = record.text[begin:end]
    possible = [each for each, value in _readings(old) if _same(value, decision.given)]
    new = _plain(decision.value).replace(".", possible[0] if len(possible) == 1 else mark)
    blanks = old[: len(old) - len(old.lstrip())]
    if old.strip().startswith('"') or separator in new:
        new = f'"{new}"'
    return f"{record.text[:begin]}{blanks}{new}{record.text[end:]}"


def _plain(value: float | None) -> str:
    text = repr(float(value if value is not None else math.nan))
    return text.removesuffix(".0")


def _span(text: str, place: int, separator: str) -> tuple[int, int]:
    """Where a cell begins and ends in the text of a row."""
    if separator == BLANKS:
        cells = list(re.finditer(r"\S+", text))
        return cells[place].span()
    pattern = rf'[ \t]*"(?:[^"]|"")*"[^{re.escape(separator)}\r\n]*|[^{re.escape(separator)}\r\n]*'
    at = 0
    for _ in range(place):
        at = re.compile(pattern).match(text, at).end() + 1  # type: ignore[union-attr]
    return at, re.compile(pattern).match(text, at).end()  # type: ignore[union-attr]


def _repair_parquet(path: Path, out: Path, target: str, decisions: Mapping[int, Decision]) -> Repaired:
    pa = needed("pyarrow", "a Parquet file", "cli")
    pq = needed("pyarrow.parquet", "a Parquet file", "cli")
    table = pq.read_table(path)
    if target not in table.column_names:
        raise TableError(f"{path} has no column {target!r}; it has {', '.join(table.column_names)}")
    labels = table[target].to_pylist()
    _check_rows(decisions, len(labels), path)
    for row, decision in decisions.items():
        _check(str(labels[row - 1]), decision, path)
        if decision.kind == "fix":
            labels[row - 1] = decision.value
    kind = table.schema.field(target).type
    if pa.types.is_integer(kind) and any(isinstance(v, float) and not v.is_integer() for v in labels):
        kind = pa.float64()
    labels = [str(v) if pa.types.is_string(kind) and v is not None else v for v in labels]
    at = table.column_names.index(target)
    table = table.set_column(at, pa.field(target, kind), pa.array(labels).cast(kind))
    dropped = sorted(row for row, decision in decisions.items() if decision.kind == "drop")
    keep = [row not in set(dropped) for row in range(1, len(labels) + 1)]
    pq.write_table(table.filter(pa.array(keep)), out)
    return Repaired(len(labels), sorted(r for r, d in decisions.items() if d.kind == "fix"), dropped)
