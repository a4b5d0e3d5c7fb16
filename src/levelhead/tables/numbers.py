r"""Numbers as people write them: what a column's cells mean, learnt from all of them.

>>> learnt = learn(["$1,200.00", "$950.00", "($34.50)"])
>>> learnt.format
NumberFormat(decimal='.', grouping=',', unit='$', bare=True)
>>> parse(["$2,000.50", "70-", "soon"], learnt.format).tolist()
[2000.5, -70.0, nan]

A cell is a sign or a bracket, a currency, digits with marks, a unit, and again a sign or a bracket. Of the marks, one
may separate decimals and one may group digits: by three, or as in India by two after the first three. Which does what
is the reading under which most cells are numbers. Where two readings fit equally well and differ, as for `1,234`, the
column says little: other columns decide (`levelhead.tables.schema`), or the user.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from levelhead._checks import FloatArray
from levelhead.tables import _frames

BLANKS = " \u00a0\u2007\u2009\u202f"
_APOSTROPHES = "'’ʼ`´"
MINUS = "−–‐‒—-"  # ends with the hyphen, which within brackets of a pattern would mean a range
_DIGITS = rf"[0-9.,{_APOSTROPHES}{BLANKS}]"
BODY = rf"[.,]?[0-9](?:{_DIGITS}*[0-9])?[.,]?(?:[eE][+-]?[0-9]+)?"
_CELL = (
    rf"^(?P<before>(?:[^0-9]*\p{{L}}\.?)?[^0-9\p{{L}}.,]*)"
    rf"(?P<body>{BODY})"
    r"(?P<after>(?:[^0-9].*)?)$"
)
_CODES = (
    "USD|EUR|GBP|JPY|INR|CNY|RMB|CHF|SEK|NOK|DKK|PLN|CZK|HUF|RON|RUB|BRL|AUD|CAD|NZD|ZAR|MXN|KRW|TRY|SGD|HKD"
)
# One name for a currency, whether it is written as a code or as a sign.
_MONEY = {code.casefold(): code for code in _CODES.split("|")} | {"eur": "€", "usd": "$", "gbp": "£"}
CURRENCY = rf"(?:[A-Z]{{0,3}}[$€£¥₹₽₩₺₴₪฿₫₱₦¢]|{_CODES}|Rs\.?|kr\.?|zł|Kč|円|元|원)"
_MONEY_SIGN = re.compile(CURRENCY)
_BEFORE = re.compile(rf"(\()?([+{MINUS}])?({CURRENCY})?([+{MINUS}])?(\()?")
_UNIT = rf"[^\d\s.,()+{MINUS}][^\d.,()+{MINUS}]{{0,14}}[²³]?|[A-Za-z]{{1,4}}[23]|[A-Za-z]{{1,3}}/100 ?km"
_AFTER = re.compile(rf"({_UNIT})?\.?\s*({CURRENCY})?\s*([+{MINUS}])?\s*(\))?\s*(%)?")
# Words for thousands and more: a number without such a word is not in the same unit.
_MULTIPLES = frozenset(
    [
        *(
            "k",
            "K",
            "m",
            "M",
            "b",
            "B",
            "T",
            "tsd",
            "thousand",
            "mio",
            "mn",
            "mil",
            "million",
            "mrd",
            "bn",
            "billion",
        ),
        *("lakh", "lac", "cr", "crore", "тыс", "млн", "млрд", "千", "万", "萬", "亿", "億", "만", "억"),
    ]
)
# Cells like 1,234 beside some like 567: were they decimals, one in ten would end in a zero, which would be left out.
_SURE = 50
_FEW_OTHERS = 0.2  # share of the numbers that may contradict a mark between groups


class NumberFormat(NamedTuple):
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : {".", ","}
        Decimal mark.
    grouping : {"", ",", ".", "'", " "}
        Mark between groups of digits; a blank stands for blanks of every width.
    unit : str
        Currency and unit, or empty.
    bare : bool
        Whether a number without the unit is in this unit, too.
    """

    decimal: str = "."
    grouping: str = ""
    unit: str = ""
    bare: bool = True


class Learnt(NamedTuple):
    """What the cells of a column say about their format.

    Attributes
    ----------
    format : NumberFormat
        The format under which most cells are numbers.
    other : NumberFormat or None
        Another format under which as many are, with other values.
    settled : bool
        Whether the marks of this column show which one separates decimals.
    numeric : int
        Cells that are numbers in some format.
    readable : int
        Cells that are numbers in this format.
    total : int
        All cells.
    units : dict of str to int
        Units and how often they occur.
    shows_decimal : bool
        Whether some cells have decimals.
    example : str
        The longest cell that the two formats read differently.
    """

    format: NumberFormat
    other: NumberFormat | None
    settled: bool
    numeric: int
    readable: int
    total: int
    units: dict[str, int]
    shows_decimal: bool = False
    example: str = ""


def learn(
    cells: Any, decimal: str | None = None, grouping: str | None = None, *, bare_cells: int = 0
) -> Learnt:
    """Learn how the numbers of a column are written.

    Parameters
    ----------
    cells : sequence of str or polars.Series
        Cells without blanks around them; None where one is missing.
    decimal : {".", ","} or None, default=None
        Decimal mark, if it is known.
    grouping : {"", ",", ".", "'", " "} or None, default=None
        Mark between groups of digits, if it is known.
    bare_cells : int, default=0
        Further cells of the column that are numbers already, without a unit.

    Returns
    -------
    Learnt
        The format, and what speaks for it.
    """
    pl = _frames.polars()
    column = cells if isinstance(cells, pl.Series) else pl.Series(list(cells), dtype=pl.String)
    frame = column.drop_nulls().alias("cell").value_counts(name="n")
    total = int(frame["n"].sum()) + bare_cells
    parts = _parts(frame["cell"]).with_columns(frame["n"], frame["cell"])
    parts = parts.filter(pl.col("unit").is_not_null())
    units = dict(
        parts.group_by("unit").agg(pl.col("n").sum()).sort("n", "unit", descending=[True, False]).iter_rows()
    )
    if bare_cells:
        units[""] = units.get("", 0) + bare_cells
    unit, bare = _unit(units)
    same_unit = parts.filter(_fits_unit(unit, bare))
    best = {
        mark: _best_grouping(same_unit, mark, grouping)
        for mark in ([decimal] if decimal is not None else [".", ","])
        if grouping is None or mark != grouping
    }
    numeric = _count(parts, [_body(d, g) for d in ".," for g in _groupings(d)]) + bare_cells
    first, *rest = sorted(best.items(), key=lambda entry: -entry[1][1])
    chosen = NumberFormat(first[0], first[1][0], unit, bare)
    readable = first[1][1] + (bare_cells if bare or not unit else 0)
    learnt = Learnt(chosen, None, decimal is not None, numeric, readable, total, units)
    if not rest:
        return learnt
    other = NumberFormat(rest[0][0], rest[0][1][0], unit, bare)
    if rest[0][1][1] < first[1][1] and not _is_doubtful(same_unit, chosen, other):
        marked = same_unit.filter(pl.col("body").str.contains(first[0], literal=True))
        return learnt._replace(settled=True, shows_decimal=_count(marked, [_body(first[0], first[1][0])]) > 0)
    return _of_equals(same_unit, learnt, other)


def parse(cells: Any, form: NumberFormat) -> FloatArray:
    """Read the cells of a column.

    Parameters
    ----------
    cells : sequence of str or polars.Series
        Cells without blanks around them; None where one is missing.
    form : NumberFormat
        How they are written.

    Returns
    -------
    ndarray of float
        Numbers; NaN where a cell is missing or not a number in this format.
    """
    pl = _frames.polars()
    column = cells if isinstance(cells, pl.Series) else pl.Series(list(cells), dtype=pl.String)
    if form.decimal == "." and not form.unit:
        plain = column.str.contains(r"^-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$").fill_null(False)
        if plain.sum() == len(column) - column.null_count():
            return _finite(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
    distinct = column.drop_nulls().unique()
    numbers = _numbers(distinct, form)
    return _finite(
        column.replace_strict(distinct, numbers, default=None, return_dtype=pl.Float64)
        .fill_null(np.nan)
        .to_numpy()
    )


def _numbers(distinct: Any, form: NumberFormat) -> Any:
    pl = _frames.polars()
    parts = _parts(distinct)
    body = pl.col("body")
    for mark in marks(form.grouping):
        body = body.str.replace_all(mark, "", literal=True)
    if form.decimal == ",":
        body = body.str.replace_all(",", ".", literal=True)
    number = body.str.strip_chars_end(".").cast(pl.Float64, strict=False) * pl.col("sign")
    fits = _fits_unit(form.unit, form.bare) & pl.col("body").str.contains(_body(form.decimal, form.grouping))
    return parts.select(pl.when(fits).then(number).alias("number"))["number"]


def _finite(values: FloatArray) -> FloatArray:
    bad = np.isinf(values)
    return np.where(bad, np.nan, values) if bad.any() else values


def _parts(cells: Any) -> Any:
    """Sign, digits and unit of each cell; the unit is null where a cell is not a number."""
    pl = _frames.polars()
    parts = cells.str.extract_groups(_CELL).struct.unnest()
    around = parts.select(
        pl.struct("before", "after", pl.col("body").str.contains(r"[.,]$").alias("cut")).alias("a")
    )["a"]
    distinct = around.unique()
    meant = [
        _around(row["before"], row["after"], row["cut"]) if row["before"] is not None else (None, None)
        for row in distinct.to_list()
    ]
    looked = pl.DataFrame(
        {"a": distinct, "sign": [sign for sign, _ in meant], "unit": [unit for _, unit in meant]},
        schema={"a": distinct.dtype, "sign": pl.Float64, "unit": pl.String},
    )
    joined = pl.DataFrame({"a": around}).join(
        looked, on="a", how="left", nulls_equal=True, maintain_order="left"
    )
    return pl.DataFrame({"body": parts["body"], "sign": joined["sign"], "unit": joined["unit"]})


@cache
def _around(before: str, after: str, cut: bool) -> tuple[float | None, str | None]:
    """The sign and the unit that stand around the digits; None, None if they are something else."""
    head, tail = _BEFORE.fullmatch("".join(before.split())), _AFTER.fullmatch(after.strip())
    if head is None or tail is None:
        return None, None
    opening, first, currency, second, bracket = head.groups()
    unit, money, last, closing, percent = tail.groups()
    signs = [sign for sign in (first, second, last) if sign]
    if cut and last and last in MINUS and not (first or second):
        signs = []  # 5.– and 5,- are prices without cents
    if (
        len(signs) > 1
        or bool(opening or bracket) != bool(closing)
        or (opening and bracket)
        or (closing and signs)
    ):
        return None, None
    negative = bool(closing) or any(sign in MINUS for sign in signs)
    words = [_unit_name(word) for word in (currency, unit, money, percent) if word]
    return (-1.0 if negative else 1.0), " ".join(words)


def _unit_name(unit: str) -> str:
    """The same name for `kms`, `Kms` and `km`, and for `EUR` and `€`; short units keep their case (MW is not mW)."""
    name = " ".join(unit.split()).rstrip(".")
    if name.casefold() in _MONEY:
        return _MONEY[name.casefold()]
    if len(name) > 2 or name in ("KG", "Kg", "KM", "Km"):
        name = name.casefold()
    return name[:-1] if len(name) > 2 and name.endswith("s") and name.isalpha() and name != "rs" else name


def _unit(units: dict[str, int]) -> tuple[str, bool]:
    """The unit of a column, and whether numbers without a unit are in it."""
    named = [unit for unit in units if unit]
    if len(named) == 1:
        unit = named[0]
        if "%" not in unit and not _is_multiple(unit):
            return unit, True
        return (unit, False) if units[unit] >= units.get("", 0) else ("", True)
    common = max(units, key=lambda unit: units[unit], default="")
    return (common, common == "")


def _is_multiple(unit: str) -> bool:
    """Whether a unit contains a word for thousands or more, as `k€`, `$ M` and `mio €` do."""
    return any(word in _MULTIPLES for word in _MONEY_SIGN.sub(" ", unit).split())


def _fits_unit(unit: str, bare: bool) -> Any:
    pl = _frames.polars()
    return pl.col("unit").is_in([unit, ""] if bare else [unit])


def marks(grouping: str) -> str:
    """All characters that a mark between groups of digits stands for."""
    return {"'": _APOSTROPHES, " ": BLANKS}.get(grouping, grouping)


def _groupings(decimal: str) -> tuple[str, ...]:
    return ("", "," if decimal == "." else ".", "'", " ")


def _body(decimal: str, grouping: str) -> str:
    """The pattern of digits with these marks; a group never begins with a zero, nor does it have an exponent."""
    point = re.escape(decimal)
    plain = rf"(?:[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    if not grouping:
        return f"^{plain}$"
    mark = f"[{re.escape(marks(grouping))}]"
    whole = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+"
    if grouping == ",":
        whole += r"|[1-9][0-9]?(?:,[0-9]{2})*,[0-9]{3}"
    return rf"^(?:{plain}|(?:{whole})(?:{point}[0-9]*)?)$"


def _count(parts: Any, patterns: Sequence[str]) -> int:
    pl = _frames.polars()
    fits = pl.any_horizontal(*(pl.col("body").str.contains(pattern) for pattern in patterns))
    return int(parts.filter(fits)["n"].sum())


def _best_grouping(parts: Any, decimal: str, given: str | None) -> tuple[str, int]:
    """The mark of grouping with which most cells are numbers, and how many; none at all if that is enough."""
    choices = _groupings(decimal) if given is None else (given,)
    counts = {mark: _count(parts, [_body(decimal, mark)]) for mark in choices}
    best = max(counts, key=lambda mark: counts[mark])
    return best, counts[best]


def _is_doubtful(parts: Any, decimal: NumberFormat, grouped: NumberFormat) -> bool:
    """Whether a few cells like 1,5 make decimals of many like 1,200: who leaves out zeros would write 1,2."""
    if decimal.decimal != grouped.grouping:
        return False
    n_decimal, n_grouped = (_count(parts, [_body(one.decimal, one.grouping)]) for one in (decimal, grouped))
    mark = re.escape(decimal.decimal)
    ends = [_count(parts, [rf"{mark}[0-9]{{1,2}}$"]), _count(parts, [rf"{mark}[0-9]{{2}}0$"])]
    return n_grouped >= (1 - _FEW_OTHERS) * n_decimal and all(ends)


def _of_equals(parts: Any, learnt: Learnt, other: NumberFormat) -> Learnt:
    """Compare two formats that read about equally many cells."""
    pl = _frames.polars()
    first, second = _numbers(parts["cell"], learnt.format), _numbers(parts["cell"], other)
    differ = parts.filter(first.is_not_null() & second.is_not_null() & (first != second))
    if not len(differ):
        return learnt
    example = max(sorted(differ["cell"].to_list()), key=len)
    learnt = learnt._replace(other=other, example=example)
    grouped, decimal = (other, learnt.format) if other.grouping in (",", ".") else (learnt.format, other)
    small = parts.filter(pl.col("body").str.contains(r"^[1-9][0-9]{0,2}$"))["n"].sum()
    large = parts.filter(pl.col("body").str.contains(r"^[0-9]{4,}$"))["n"].sum()
    if small and not large and differ["n"].sum() >= _SURE:
        return learnt._replace(format=grouped, other=decimal, settled=True)
    return learnt
