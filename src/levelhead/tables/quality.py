"""What is odd about the data of a table: short, ranked, each with examples.

Nothing here changes the data. What was left out or read as missing is named, and so is what a reader should look at
before trusting a model: columns that give the label away, codes for "missing", mixed units, copies of rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.tables import _frames, numbers
from levelhead.tables.columns import UNUSABLE, Learning
from levelhead.tables.decisions import number_text
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.columns import Column
from levelhead.tables.errors import cell_text, counted, row_list
from levelhead.tables.missing import Code

_EXACT = 0.9  # share of rows in which a column equals the label, or a straight line of it
_NEARLY = 0.995  # rank correlation with the label from which on a column says nearly everything about it
_NEARLY_WITHOUT_ERRORS = (
    0.998  # the same without the tenth of the rows that differ most: their labels may be wrong
)
_FEWEST_BANDS, _MOST_BANDS = 4, 50  # levels of a column that may split the labels into ranges
_LEAST_IN_BAND = 5  # rows of a level
_ENOUGH = 20_000  # rows that show whether a column gives the label away
_IN_ORDER = 0.95  # share of rows in order of time, from which on the others are out of order
_FEW_UNITS = 0.01  # share of the cells in another unit, below which they are typing errors
_MANY_NUMBERS = 0.5  # share of a column's cells, from which on one may take it for a column of numbers
_LEAST_ROWS = 20  # rows below which coincidences are common
_SHOWN = 3
_ORDER = (
    "gives the label away", "codes for missing in the labels", "mixed units", "cells that cannot be read",
    "codes for missing", "copies of rows", "spellings of one category", "numbers and words", "dates out of order",
    "names the rows", "free text", "constant column", "empty column",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One oddity of a table.

    Attributes
    ----------
    title : str
        What kind of oddity it is.
    text : str
        One sentence.
    column : str or None
        The column, if it is about one.
    count : int
        Number of cells or rows.
    examples : tuple of str
        Some of them.
    """

    title: str
    text: str
    column: str | None
    count: int
    examples: tuple[str, ...] = ()


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in order of their importance.

    Parameters
    ----------
    findings : iterable of Finding
        In any order.

    Returns
    -------
    tuple of Finding
        The most important first.
    """
    return tuple(sorted(findings, key=lambda found: (_ORDER.index(found.title), -found.count)))


def of_codes(codes: Mapping[str, Sequence[Code]], target: str, given: bool) -> list[Finding]:
    """Numbers that stand for "missing".

    Parameters
    ----------
    codes : mapping of str to sequence of Code
        The codes of each column.
    target : str
        Column with the labels.
    given : bool
        Whether the user named the codes.

    Returns
    -------
    list of Finding
        One for each column.
    """
    findings = []
    for name, found in codes.items():
        count = sum(code.count for code in found)
        if not count:
            continue
        values = ", ".join(f"{number_text(code.value)} ({code.count:,} times)" for code in found)
        title = "codes for missing in the labels" if name == target else "codes for missing"
        done = "read as missing" if name != target or given else "kept as labels"
        sure = "stands for" if given else "is probably a code for"
        text = f"{name}: {values} {sure} missing; {done}"
        findings.append(Finding(title, text, name, count, tuple(number_text(c.value) for c in found)))
    return findings


def of_unreadable(
    raw: Any, unreadable: Mapping[str, NDArray[np.intp]], row: NDArray[np.intp] | None = None
) -> list[Finding]:
    """Cells that are not what their column holds.

    Parameters
    ----------
    raw : pandas.DataFrame
        Cells as they were read.
    unreadable : mapping of str to ndarray of int
        Places of the cells.
    row : ndarray of int or None, default=None
        Number of each row in the file; by default counted from 1.

    Returns
    -------
    list of Finding
        One for each column.
    """
    findings = []
    for name, places in unreadable.items():
        rows = places + 1 if row is None else row[places]
        cells = [raw[name].iloc[place] for place in places[:5]]
        text = f"{name}: {counted(len(places), 'cell')} read as missing: {row_list(rows.tolist(), cells)}"
        findings.append(
            Finding("cells that cannot be read", text, name, len(places), tuple(map(str, cells[:_SHOWN])))
        )
    return findings


def of_units(learnt: Iterable[Learning]) -> list[Finding]:
    """Columns in which numbers have different units.

    Parameters
    ----------
    learnt : iterable of Learning
        What the cells of each column say.

    Returns
    -------
    list of Finding
        One for each column.
    """
    findings = []
    for column in learnt:
        if column.learnt is None:
            continue
        units, total = column.learnt.units, max(column.learnt.total, 1)
        odd = {
            unit: n
            for unit, n in units.items()
            if unit != column.format.unit and (unit or not column.format.bare)
        }
        if column.format.kind == "number" and sum(odd.values()) >= max(_FEW_UNITS * total, 2):
            named = ", ".join(f"{unit or 'none'} ({n:,} cells)" for unit, n in list(units.items())[:5])
            done = f"only those in {column.format.unit or 'no unit'} are used"
        elif column.format.kind == "text" and len(units) > 1 and column.learnt.numeric >= 0.8 * total:
            named = ", ".join(f"{unit or 'none'} ({n:,} cells)" for unit, n in list(units.items())[:5])
            done = "the column is read as text; convert the numbers to one unit"
        else:
            continue
        count = sum(odd.values()) or sum(units.values())
        findings.append(
            Finding(
                "mixed units",
                f"{column.name}: different units, {named}; {done}",
                column.name,
                count,
                tuple(units)[:_SHOWN],
            )
        )
    return findings


def of_words(learnt: Iterable[Learning]) -> list[Finding]:
    """Columns of numbers with so many other words that they are read as categories.

    Parameters
    ----------
    learnt : iterable of Learning
        What the cells of each column say.

    Returns
    -------
    list of Finding
        One for each column.
    """
    findings = []
    for column in learnt:
        if column.format.kind != "text" or column.learnt is None:
            continue
        n_numbers, total = column.learnt.numeric, column.learnt.total
        if not _MANY_NUMBERS * total <= n_numbers < (1 - UNUSABLE) * total:
            continue
        values = numbers.parse(column.cells, column.learnt.format)
        words = column.cells.filter(np.isnan(values)).drop_nulls().unique(maintain_order=True)
        shown = tuple(map(cell_text, words.head(_SHOWN)))
        text = (
            f"{column.name}: {n_numbers:,} of {total:,} cells are numbers, but too many are not ({', '.join(shown)}); "
            "all are read as categories. If they are missing numbers, leave them empty"
        )
        findings.append(Finding("numbers and words", text, column.name, total - n_numbers, shown))
    return findings


def of_rows(raw: Any) -> list[Finding]:
    """Rows that occur more than once.

    Parameters
    ----------
    raw : pandas.DataFrame
        The table, without columns that number the rows.

    Returns
    -------
    list of Finding
        One, or none.
    """
    if len(raw) < 2 or raw.shape[1] < 2:
        return []
    nested = [
        name for name in raw.columns if _frames.is_mixed(raw[name])
    ]  # lists cannot be compared, text can
    comparable = raw.astype(dict.fromkeys(nested, str)) if nested else raw
    copies = np.flatnonzero(comparable.duplicated().to_numpy())
    if not len(copies):
        return []
    are = "is a copy of an earlier one" if len(copies) == 1 else "are copies of earlier ones"
    text = f"{counted(len(copies))} {are}: {row_list((copies + 1).tolist())}"
    return [Finding("copies of rows", text, None, len(copies))]


def of_columns(X: Any, y: FloatArray) -> list[Finding]:
    """Columns that give the label away, are constant, or hold spellings of one category or free text.

    Parameters
    ----------
    X : pandas.DataFrame
        Inputs in their meaning.
    y : ndarray
        Labels.

    Returns
    -------
    list of Finding
        In the order of the columns.
    """
    findings: list[Finding] = []
    for name in X.columns:
        column = X[name]
        held = column.dropna()
        if held.nunique() == 1 and len(held) == len(column) > 1:
            value = held.iloc[0]
            shown = number_text(value) if column.dtype.kind == "f" else cell_text(value)
            findings.append(
                Finding("constant column", f"{name}: always {shown}", name, len(column), (shown,))
            )
        elif column.dtype.kind == "f":
            findings += _giving_away(name, column.to_numpy(), y)
        elif column.dtype.kind == "M":
            findings += _out_of_order(name, column)
        elif _frames.is_text(column):
            findings += _spellings(name, held) or _free_text(name, column)
            findings += _bands(name, column, y)
    return findings


def _giving_away(name: str, values: FloatArray, y: FloatArray) -> list[Finding]:
    both = np.flatnonzero(np.isfinite(values))
    some = both[:: len(both) // _ENOUGH + 1]
    x, label = values[some], y[some]
    if (
        len(x) < _LEAST_ROWS
        or len(np.unique(x)) < 0.5 * min(len(np.unique(label)), len(x))
        or np.ptp(label) == 0
    ):
        return []
    same = float(np.mean(x == label))
    if same >= _EXACT:
        return [_away(name, f"equals the label in {same:.0%} of the rows", int(same * len(x)))]
    line = _straight_line(x, label)
    if line is not None:
        return [_away(name, f"is {line[0]} in {line[1]:.0%} of the rows", int(line[1] * len(x)))]
    whole, most = _rank_correlations(x, label)
    if abs(whole) >= _NEARLY:
        return [_away(name, f"nearly determines the label (rank correlation {whole:.4f})", len(x))]
    if abs(most) >= _NEARLY_WITHOUT_ERRORS:
        text = f"nearly determines the label (rank correlation {most:.4f} in nine of ten rows)"
        return [_away(name, text, len(x))]
    return []


def _straight_line(x: FloatArray, label: FloatArray) -> tuple[str, float] | None:
    """The line through most rows in words, and their share; medians of slopes, because some labels are wrong."""
    order = np.argsort(label, kind="stable")
    low, high = order[: len(x) // 2], order[-(len(x) // 2) :]
    steps = label[high] - label[low]
    if not (steps > 0).any():
        return None
    slope = float(np.median((x[high] - x[low])[steps > 0] / steps[steps > 0]))
    offset = float(np.median(x - slope * label))
    middle = np.ptp(x[order[len(x) // 20 : -1 - len(x) // 20]])
    share = float(np.mean(np.abs(slope * label + offset - x) <= 1e-6 * middle))
    if slope == 0 or share < _EXACT:
        return None
    text = f"the label times {slope:.6g}"
    if abs(offset) > 1e-6 * np.max(np.abs(x)):
        text += f" {'plus' if offset > 0 else 'minus'} {abs(offset):.6g}"
    return text, share


def _away(name: str, what: str, count: int) -> Finding:
    text = f"{name}: {what}; if it is known only after the label, leave it out with --drop '{name}'"
    return Finding("gives the label away", text, name, count)


def _rank_correlations(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Rank correlation of all rows, and of those without the tenth whose ranks differ most."""
    a, b = _ranks(x), _ranks(y)
    difference = np.abs(a - (a.size + 1 - b if _correlation(a, b) < 0 else b))
    kept = np.argsort(difference, kind="stable")[: a.size - a.size // 10]
    return _correlation(a, b), _correlation(_ranks(x[kept]), _ranks(y[kept]))


def _ranks(values: Any) -> FloatArray:
    return np.asarray(_frames.pandas().Series(values).rank().to_numpy(), dtype=np.float64)


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / scale) if scale > 0 else 0.0


def _bands(name: str, column: Any, y: FloatArray) -> list[Finding]:
    """Levels that split the labels into ranges one above the other, as price bands do."""
    counts = column.value_counts()
    if not _FEWEST_BANDS <= len(counts) <= _MOST_BANDS or counts.min() < _LEAST_IN_BAND:
        return []
    rank = _frames.pandas().Series(_ranks(y)).groupby(column.to_numpy())
    bands = np.array([rank.quantile(q).to_numpy() for q in (0.1, 0.5, 0.9)])
    low, _, high = bands[:, np.argsort(bands[1], kind="stable")]
    if (high[:-1] > low[1:]).any():
        return []
    return [_away(name, f"splits the labels into {len(counts)} ranges, one above the other", len(column))]


def _out_of_order(name: str, column: Any) -> list[Finding]:
    moments = column.to_numpy()
    places = np.flatnonzero(~np.isnat(moments))
    if len(places) < _LEAST_ROWS:
        return []
    steps = np.diff(moments[places]) < np.timedelta64(0, "s")
    if not steps.any() or steps.mean() > 1 - _IN_ORDER:
        return []
    late = (places[1:][steps] + 1).tolist()
    text = (
        f"{name}: dates go back, against the order of the others, in {counted(len(late))}: {row_list(late)}"
    )
    return [Finding("dates out of order", text, name, len(late))]


def _free_text(name: str, column: Any) -> list[Finding]:
    cells = next(frames.cells(column.to_frame()))
    if Column.learn(cells).kind != "text":
        return []
    text = f"{name}: text whose values hardly ever occur twice; the estimators do not use it as a feature"
    return [Finding("free text", text, name, len(column), tuple(map(cell_text, column.dropna()[:_SHOWN])))]


def _spellings(name: str, held: Any) -> list[Finding]:
    counts = held.value_counts()
    if len(counts) > 20_000:
        return []
    groups: dict[str, list[str]] = {}
    for cell in counts.index:
        groups.setdefault(" ".join(str(cell).casefold().split()), []).append(str(cell))
    several = [spelt for spelt in groups.values() if len(spelt) > 1]
    if not several:
        return []
    shown = tuple(" = ".join(map(cell_text, spelt[:3])) for spelt in several[:_SHOWN])
    n = f"{len(several):,} {'category' if len(several) == 1 else 'categories'}"
    text = f"{name}: {n} in several spellings: {', '.join(shown)}"
    return [Finding("spellings of one category", text, name, sum(map(len, several)), shown)]
