"""Which of two readings a column gets, where its own cells allow both.

`1,234` is 1234 or 1.234. Marks that other columns of the table use decide, and the user's settings; a column whose
name says that it holds coordinates has decimals, and an amount of money with a group of three digits has thousands. If
nothing decides, the table is refused: a number must never be misread.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from levelhead.tables import dates, numbers
from levelhead.tables.columns import UNUSABLE, ColumnFormat, Learning
from levelhead.tables.errors import TableError, cell_text, counted, examples
from levelhead.tables.numbers import NumberFormat

_COORDINATE = re.compile(
    r"(?i)(?:.*[ _.-])?(?:lat|lon|lng|long|latitude|longitude|x_?coord|y_?coord)(?:[ _.-].*)?"
)
_MONEY = re.compile(rf".*{numbers.CURRENCY}.*")
_MARK_NAMES = {",": "comma", ".": "point", "'": "apostrophe", " ": "blank"}
# As computers write numbers; with leading zeros, as in 00501, a number may be a code.
_PLAIN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN = 5
_LOOKED_AT = 1000  # cells among which the longest is shown


class _Marks(NamedTuple):
    """The marks that separate decimals, and those that group digits, in columns that leave no doubt."""

    decimal: frozenset[str]
    grouping: frozenset[str]


def decide(
    learnt: Sequence[Learning], separator: str | None, target: str | None = None
) -> tuple[dict[str, ColumnFormat], list[str]]:
    """Give every column its meaning.

    Parameters
    ----------
    learnt : sequence of Learning
        What the cells of each column say.
    separator : str or None
        Separator of the file, if it is known.
    target : str or None, default=None
        Column with the labels.

    Returns
    -------
    formats : dict of str to ColumnFormat
        The meaning of each column.
    remarks : list of str
        What was assumed.

    Raises
    ------
    TableError
        If a column can be read in two ways and nothing decides, or is written in several ways.
    """
    marks = _seen_marks(learnt)
    decided = {
        column.name: _decided(column, marks, separator)
        for column in learnt
        if column.format.kind == "number" and column.learnt is not None and column.learnt.other is not None
    }
    marks = marks._replace(decimal=marks.decimal or frozenset(form.decimal for form, _ in decided.values()))
    formats, remarks = {}, []
    for column in learnt:
        form, said = decided.get(column.name, (column.format, []))
        if form.kind == "date":
            said = _about_dates(column)
        elif form.kind == "number" and column.learnt is not None:
            settled = column.learnt.settled or bool(said)
            form = _as_in_other_columns(form, settled, marks)
            form = form._replace(marks_known=settled or len(marks.decimal) == 1 or separator == ",")
            if column.name != target:
                _refuse_several_ways(column)
        elif form.kind == "number":
            form = form._replace(marks_known=separator is not None)  # a file of text, but plain numbers
        formats[column.name] = form
        remarks += said
    return formats, [*_written_so(learnt, formats), *remarks]


def _seen_marks(learnt: Sequence[Learning]) -> _Marks:
    numeric = [c.learnt for c in learnt if c.learnt is not None and c.format.kind == "number"]
    return _Marks(
        frozenset(one.format.decimal for one in numeric if one.settled and one.shows_decimal),
        frozenset(one.format.grouping for one in numeric if one.other is None and one.format.grouping),
    )


def _decided(column: Learning, marks: _Marks, separator: str | None) -> tuple[ColumnFormat, list[str]]:
    assert column.learnt is not None
    assert column.learnt.other is not None
    both = (column.learnt.format, column.learnt.other)
    decimal, grouped = both if both[1].grouping in (",", ".") else both[::-1]
    choice = (
        (column.learnt.format == grouped, "beside numbers below 1000 without the mark")
        if column.learnt.settled
        else _by_name(column) or _by_others(decimal.decimal, marks, separator) or _by_unit(column, grouped)
    )
    if choice is None:
        raise TableError(_two_readings(column, decimal, grouped))
    taken, left = (grouped, decimal) if choice[0] else (decimal, grouped)
    return ColumnFormat("number", *taken), [
        f"{column.name}: {_reading(column, taken)}, {choice[1]}; the other reading is "
        f"{_value(column, left)} (--decimal '{column.name}={left.decimal}')"
    ]


def _as_in_other_columns(form: ColumnFormat, settled: bool, marks: _Marks) -> ColumnFormat:
    """The marks of the other columns, where a column shows none: later tables may have larger numbers."""
    if not settled and len(marks.decimal) == 1 and form.grouping not in marks.decimal:
        form = form._replace(decimal=next(iter(marks.decimal)))
    if not form.grouping and len(marks.grouping) == 1 and form.decimal not in marks.grouping:
        form = form._replace(grouping=next(iter(marks.grouping)))
    return form


def _by_name(column: Learning) -> tuple[bool, str] | None:
    if _COORDINATE.fullmatch(column.name):
        return False, "because its name says that these are coordinates"
    return None


def _by_unit(column: Learning, grouped: NumberFormat) -> tuple[bool, str] | None:
    """Amounts of money have two decimals; prices per litre, below 10, may have three."""
    digits = re.search(r"\d+", column.learnt.example if column.learnt else "")
    if grouped.unit and _MONEY.fullmatch(grouped.unit) and digits is not None and len(digits[0]) > 1:
        return True, "because amounts of money rarely have three decimals"
    return None


def _by_others(mark: str, marks: _Marks, separator: str | None) -> tuple[bool, str] | None:
    """Whether a mark groups digits, judged by the other columns, and why."""
    name = _MARK_NAMES[mark]
    if (mark in marks.decimal) != (mark in marks.grouping):
        used = "separates decimals" if mark in marks.decimal else "groups digits"
        return mark in marks.grouping, f"because a {name} {used} in other columns"
    if mark == "," and marks.decimal == {"."}:
        return True, "because a point separates decimals in other columns"
    if marks.grouping and not marks.decimal:
        used = _MARK_NAMES[min(marks.grouping)]
        return False, f"because a {used} groups digits in other columns"
    if mark == "." and separator == "," and not marks.decimal:
        return False, "because a comma separates the cells of the file"
    return None


def refuse_two_readings(column: Learning, form: ColumnFormat) -> None:
    """Stop if a later table has cells with two readings, and the first one did not show which is right.

    Parameters
    ----------
    column : Learning
        What the cells of the later table say.
    form : ColumnFormat
        What was learnt before.

    Raises
    ------
    TableError
        With both readings, and the option that chooses one.
    """
    if form.marks_known or column.learnt is None or column.learnt.other is None:
        return
    both = (column.learnt.format, column.learnt.other)
    raise TableError(_two_readings(column, *(both if both[1].grouping in (",", ".") else both[::-1])))


def _two_readings(column: Learning, decimal: NumberFormat, grouped: NumberFormat) -> str:
    name = column.name
    return (
        f"column {name!r} can be read in two ways, and nothing shows which is right: "
        f"{_reading(column, grouped)}, or {_value(column, decimal)} (the {_MARK_NAMES[decimal.decimal]} separates "
        f"decimals); give --decimal '{name}={grouped.decimal}' or --decimal '{name}={decimal.decimal}', or leave the "
        f"column out with --drop"
    )


def _reading(column: Learning, form: NumberFormat) -> str:
    role = (
        f"the {_MARK_NAMES[form.grouping]} groups thousands"
        if form.grouping in (",", ".")
        else f"the {_MARK_NAMES[form.decimal]} separates decimals"
    )
    return f"{cell_text(_example(column))} is {_value(column, form)} ({role})"


def _example(column: Learning) -> str:
    return column.learnt.example if column.learnt is not None else ""


def _value(column: Learning, form: NumberFormat) -> str:
    return number_text(numbers.parse([_example(column)], form)[0])


def number_text(value: float) -> str:
    """A number with as few digits as identify it, and no decimal point if it is whole."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _refuse_several_ways(column: Learning) -> None:
    """Stop if too many cells are numbers, but written in another way than the rest."""
    learnt = column.learnt
    if learnt is None or learnt.readable >= (1 - UNUSABLE) * learnt.total:
        return
    values = numbers.parse(column.cells, learnt.format)
    odd = [
        cell for cell, value in zip(column.cells.to_list(), values, strict=True) if cell and value != value
    ]
    raise TableError(
        f"column {column.name!r} mixes ways to write numbers: {counted(len(odd), 'cell')} of {learnt.total:,} "
        f"({examples(odd)}) cannot be read like the others ({examples(_readable(column)[:2])}); fix them, or leave "
        "the column out with --drop"
    )


def advice(name: str, cells: Sequence[object], form: ColumnFormat) -> str:
    """What to do with cells that a format does not read.

    Parameters
    ----------
    name : str
        The column.
    cells : sequence of object
        Some of the cells.
    form : ColumnFormat
        The format.

    Returns
    -------
    str
        The options that would read the first cell, with the numbers they give; or how to write the cells.
    """
    if form.kind == "date":
        like = "like that, or " if form.date else ""
        return f"Write them {like}as year-month-day, such as 2024-05-31"
    other = "." if form.decimal == "," else ","
    text = str(cells[0]).strip()
    tried = {
        f"--decimal '{name}={other}'": form._replace(decimal=other, grouping=""),
        f"--thousands '{name}={other}'": form._replace(grouping=other),
    }
    read = {option: numbers.parse([text], changed.number)[0] for option, changed in tried.items()}
    found = [
        f"{option} reads {text!r} as {number_text(value)}" for option, value in read.items() if value == value
    ]
    if found:
        return f"If this file writes numbers in another way, {', and '.join(found)}"
    if form.unit:
        return f"Convert them to {form.unit}, or leave them empty"
    return "Fix them, or leave them empty"


def _readable(column: Learning) -> list[str]:
    values = numbers.parse(column.cells, column.format.number)
    return [cell for cell, value in zip(column.cells.to_list(), values, strict=True) if value == value]


def _about_dates(column: Learning) -> list[str]:
    said, form = [], column.format.date or ""
    if column.other_date is not None:
        said.append(
            f"{column.name}: dates such as {cell_text(column.cells.drop_nulls()[0])} were read as "
            f"{form}; {column.other_date} fits as well"
        )
    if "%y" in form:
        moments = dates.parse(column.cells, form)
        latest = int(np.nanargmax(np.where(np.isnat(moments), np.nan, moments.astype(np.float64))))
        said.append(
            f"{column.name}: years of two digits are 1970 to 2069; the latest date, "
            f"{cell_text(column.cells[latest])}, is one of {str(moments[latest])[:4]}"
        )
    return said


def _written_so(learnt: Sequence[Learning], formats: dict[str, ColumnFormat]) -> list[str]:
    """One sentence about the columns whose numbers are not written as computers write them."""
    said = []
    for column in learnt:
        form = formats[column.name]
        if form.kind != "number" or column.learnt is None:
            continue
        odd = column.cells.filter(~column.cells.str.contains(f"^(?:{_PLAIN.pattern})$"))
        cells = _readable(column._replace(format=form, cells=odd.head(_LOOKED_AT)))
        if cells:
            cell = max(dict.fromkeys(cells), key=len)
            unit = f" {form.unit}" if form.unit else ""
            said.append(
                f"{column.name} {cell_text(cell)} = {number_text(numbers.parse([cell], form.number)[0])}{unit}"
            )
    more = f" and {len(said) - _SHOWN} more columns" if len(said) > _SHOWN else ""
    return [f"numbers were read as follows: {'; '.join(said[:_SHOWN])}{more}"] if said else []
