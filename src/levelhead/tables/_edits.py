"""The text of a table with some labels replaced and some rows removed; every other character stays as it is."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead.tables import numbers
from levelhead.tables._frames import text as text_column
from levelhead.tables.columns import cells_of
from levelhead.tables.delimited import plain_line, split_rows
from levelhead.tables.dialect import BLANKS, Layout
from levelhead.tables.errors import TableError
from levelhead.tables.numbers import NumberFormat

_BODY = re.compile(numbers.BODY)
_SIGNS = re.compile(rf"[()+{re.escape(numbers.MINUS)}]")
_AMBIGUOUS = 3  # decimals that may also be a group of digits


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


class _Record(NamedTuple):
    """A row of the text: its cells, the text itself with its line end, and empty lines before it."""

    cells: list[str]
    text: str
    before: str


def edited(
    text: str,
    layout: Layout,
    path: Path,
    target: str,
    decisions: Mapping[int, Decision],
    likely: NumberFormat | None,
) -> tuple[Repaired, list[str]]:
    """The text with decisions applied, line by line, and what was changed.

    Parameters
    ----------
    text : str
        The whole table.
    layout : Layout
        How it is written.
    path : Path
        The file, for messages.
    target : str
        Column with the labels.
    decisions : mapping of int to Decision
        Decisions by row.
    likely : NumberFormat or None
        How the labels are written, as the whole table shows it.

    Returns
    -------
    tuple of Repaired and list of str
        What was changed, and the lines.

    Raises
    ------
    TableError
        If the column or a row does not exist, or if the table has other labels than the decisions were made for.
    """
    written = _lines(text, layout)
    if target not in layout.names:
        raise TableError(f"{path} has no column {target!r}; name the column of the labels with --target")
    place = layout.names.index(target)
    records, end = _records(written, layout, path)
    check_rows(decisions, len(records), path)
    cells = [record.cells[place] if place < len(record.cells) else "" for record in records]
    form = format_of(cells, decisions, path, likely)
    lines, result = written[: layout.header_lines], Repaired(len(records), [], [])
    for row, record in enumerate(records, start=1):
        lines.append(record.before)
        decision = decisions.get(row)
        if decision is None or decision.kind == "keep":
            lines.append(record.text)
        elif decision.kind == "drop":
            result.dropped.append(row)
        else:
            result.fixed.append(row)
            lines.append(_with_cell(record, place, layout.separator, form, decision, path))
    return result, [*lines, *written[end:]]


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


def check_rows(decisions: Mapping[int, Decision], rows: int, path: Path) -> None:
    """Stop if there is a decision about a row beyond the last one."""
    beyond = [row for row in decisions if row > rows]
    if beyond:
        raise TableError(
            f"{path} has {rows} rows, but there is a decision about row {max(beyond)}; is it the same file?"
        )


def format_of(
    cells: Sequence[str], decisions: Mapping[int, Decision], path: Path, likely: NumberFormat | None
) -> NumberFormat:
    """How the labels are written: the format in which they are the numbers that the decisions were made for.

    Parameters
    ----------
    cells : sequence of str
        The labels as they are written.
    decisions : mapping of int to Decision
        Decisions by row.
    path : Path
        The file, for messages.
    likely : NumberFormat or None
        How the labels are written, as the whole table shows it; None if it does not.

    Returns
    -------
    NumberFormat
        The format.

    Raises
    ------
    TableError
        If a label is another one in every format, or if several formats fit and would write new labels differently.
    """
    texts = cells_of(text_column([cell.encode(errors="replace").decode() for cell in cells]))
    known = [decision for decision in decisions.values() if math.isfinite(decision.given)]
    wrong = {form: _first_other(texts, known, form) for form in _possible(texts, likely)}
    fitting = [form for form, row in wrong.items() if row is None]
    if not fitting:
        row, given, source = next((d.row, d.given, d.source) for d in wrong.values() if d is not None)
        raise TableError(
            f"{path}, row {row}: the label is {cells[row - 1]!r}, but the decision in {source} was made for {given:g}; "
            "give the file that was audited"
        )
    if fitting[0] != likely:
        values = numbers.parse(texts, fitting[0])
        others = [f for f in fitting if not np.array_equal(values, numbers.parse(texts, f), equal_nan=True)]
        _refuse_doubt(cells, decisions, [fitting[0], *others], path)
    return fitting[0]


def _possible(texts: Any, likely: NumberFormat | None) -> list[NumberFormat]:
    """Formats in which labels may be written, the likely one first."""
    learnt = [numbers.learn(texts, mark) for mark in (None, ".", ",")]
    forms = [likely, *(form for one in learnt for form in (one.format, one.other))]
    return list(dict.fromkeys(form for form in forms if form is not None))


def _first_other(texts: Any, decisions: list[Decision], form: NumberFormat) -> Decision | None:
    """The first decision that was made for another number than the label."""
    found = numbers.parse(texts.gather([decision.row - 1 for decision in decisions]), form)
    given = np.array([decision.given for decision in decisions])
    wrong = np.flatnonzero(~np.isclose(found, given, rtol=1e-6, atol=0))
    return decisions[wrong[0]] if len(wrong) else None


def _refuse_doubt(
    cells: Sequence[str], decisions: Mapping[int, Decision], forms: list[NumberFormat], path: Path
) -> None:
    """Stop if a new label would be another number in another format of the column."""
    for row, decision in decisions.items():
        if decision.value is None:
            continue
        new = new_cell(cells[row - 1], decision.value, forms[0])
        if any(numbers.parse([new], form)[0] != decision.value for form in forms):
            raise TableError(
                f"{path}, row {row}: nothing tells whether the new label should be written with a decimal point or a "
                f"decimal comma; write it into the file yourself ({decision.value:g})"
            )


def new_cell(old: str, value: float, form: NumberFormat) -> str:
    """A number in the notation of its column, and with the unit of the cell that it replaces.

    Parameters
    ----------
    old : str
        The cell.
    value : float
        The number.
    form : NumberFormat
        How the numbers of the column are written.

    Returns
    -------
    str
        A text that is read as the number.
    """
    digits = _digits(old, abs(value), form)
    found, sign = _BODY.search(old), "-" if value < 0 else ""
    if found is not None:
        around = [_SIGNS.sub("", part) for part in (old[: found.start()], old[found.end() :])]
        new = f"{sign}{around[0].lstrip()}{digits}{around[1]}".rstrip()
        if numbers.parse([new], form)[0] == value:
            return new
    return f"{sign}{digits}" if form.bare else f"{sign}{digits} {form.unit}"


def _digits(old: str, value: float, form: NumberFormat) -> str:
    """The digits of a number: grouped if those of the cell are, with as many decimals where their number matters."""
    whole, _, decimals = np.format_float_positional(value, trim="-").partition(".")
    body = _BODY.search(old)
    text = "" if body is None else body.group()
    shown = len(text.partition(form.decimal)[2])
    if shown == _AMBIGUOUS:
        decimals = decimals.ljust(shown, "0")
    mark = next((each for each in numbers.marks(form.grouping) if form.grouping and each in text), "")
    whole = f"{int(whole):,}".replace(",", mark)
    return whole + (f"{form.decimal}{decimals}" if decimals else "")


def _with_cell(
    record: _Record, place: int, separator: str, form: NumberFormat, decision: Decision, path: Path
) -> str:
    """The text of a row with another label, and everything else as it is."""
    if place >= len(record.cells):
        raise TableError(
            f"{path}, row {decision.row} has fewer cells than the header, and none for the label; add it by hand"
        )
    begin, end = _span(record.text, place, separator)
    old = record.text[begin:end]
    quoted = old.strip().startswith('"')
    new = new_cell(record.cells[place], math.nan if decision.value is None else decision.value, form)
    if quoted or separator in new:
        new = f'"{new}"'
    blanks = old[: len(old) - len(old.lstrip())]
    return f"{record.text[:begin]}{blanks}{new}{record.text[end:]}"


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
