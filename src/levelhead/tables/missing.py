"""Cells without a value: words for "missing", and numbers that stand for it (−200, −999, 0 mmHg).

A number is taken for a code if it is repeated, lies at one end of its column and is isolated from the other values, or
if it does so in one column and occurs in others as well. A number like −99 or −999 among positive values only needs to
be repeated. Zeros need more: the other values must keep away from zero as
a whole, and must not scatter like counts, because zero is a common value of counts and amounts. For labels, predictions
that have not seen them are further evidence: a repeated value at one end that no prediction comes near is a code even
if it is less isolated, or the only one below zero (`label_codes`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from levelhead._checks import FloatArray

TOKENS = frozenset(
    {
        "", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "Null", "None", "none",
        "NaN", "nan", "-NaN", "-nan", "NaT", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "nil",
        "n.a.", "N.A.", "n. a.", "k.A.", "k. A.", "(null)", "(NULL)", "<null>", "\\N",
        "?", "-", "--", "---", ".", "..", "...", "–", "—", "…",
        "inf", "-inf", "+inf", "Inf", "-Inf", "+Inf", "Infinity", "-Infinity",
        "#DIV/0!", "#REF!", "#VALUE!", "#NUM!", "#NAME?", "#NULL!",
    }
)  # fmt: skip

# Chosen on air quality and blood pressure (codes), and on energy, Boston and yacht (levels, but no codes).
_LEAST = 3  # repetitions of a code
_LEVELS = 12  # other values of a column; a column with fewer has levels, of which one may lie apart
_CODE_LIKE = re.compile(r"-9+|-?99+|-?[7-8]{3,}")
_RAREST = 1 / 2000  # share of the rows
_MOST_ZEROS = 0.2  # share of the rows; more zeros are a property of the quantity, not gaps
_ZERO_GAP = 1.25  # gap between zero and the other values, in distances from their lower end to their median
_POISSON = (0.5, 1.5)  # variance over mean of whole numbers that scatter like counts
_LEAST_LABELS = 5  # repetitions of a code among labels that is found by predictions
_APART = 1.0  # interquartile ranges between such a code and the nearest other label
_UNEXPECTED = 4.0  # typical residuals of other labels, by which most labels with the code are off


@dataclass(frozen=True)
class Code:
    """A number that stands for "missing" in a column.

    Attributes
    ----------
    value : float
        The number.
    count : int
        How often it occurs.
    """

    value: float
    count: int


def codes(columns: Mapping[str, FloatArray]) -> dict[str, list[Code]]:
    """Find the numbers that probably stand for "missing".

    Parameters
    ----------
    columns : mapping of str to ndarray
        Columns of numbers, NaN where there is none.

    Returns
    -------
    dict of str to list of Code
        For each column that has some, its codes.

    Examples
    --------
    >>> import numpy as np
    >>> carbon_monoxide = np.r_[np.linspace(0.1, 11.9, 60), [-200.0] * 5]
    >>> codes({"CO": carbon_monoxide, "rooms": np.arange(65.0) % 6})
    {'CO': [Code(value=-200.0, count=5)]}
    """
    counted = {name: _ends(values) for name, values in columns.items()}
    certain = {
        value
        for ends in counted.values()
        for value, count, rest in ends
        if value != 0 and (_is_isolated(value, rest) or _is_impossible(value, rest))
    }
    found: dict[str, list[Code]] = {}
    for name, ends in counted.items():
        for value, count, rest in ends:
            own = _is_zero_code(count, rest) if value == 0 else _is_isolated(value, rest)
            if own or _is_impossible(value, rest) or (value in certain and _lies_apart(value, rest)):
                found.setdefault(name, []).append(Code(value, count))
    return found


def label_codes(y: FloatArray, residual: FloatArray | None = None) -> FloatArray:
    """Find the labels that probably stand for "missing".

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    residual : ndarray of shape (n_samples,), default=None
        Labels minus predictions that have not seen them, in units of their noise, correct up to a common factor. By
        default, only the values themselves decide.

    Returns
    -------
    ndarray
        The codes; empty if there are none.
    """
    if residual is None:
        return np.array([code.value for code in codes({"y": y}).get("y", [])], dtype=np.float64)
    size = np.abs(residual)
    return np.array([end for end in (y.min(), y.max()) if _is_unexpected(float(end), y, size)])


def _is_unexpected(value: float, y: FloatArray, size: FloatArray) -> bool:
    """Whether a repeated label lies apart from the others, or alone below zero, and far from its predictions."""
    same = y == value
    rest = y[~same]
    if same.sum() >= _LEAST and _is_impossible(value, rest):
        return True
    if same.sum() < _LEAST_LABELS or same.sum() >= rest.size:
        return False
    low, high = np.quantile(rest, [0.25, 0.75])
    off = float(np.median(size[same]))
    apart = value < 0 < float(rest.min()) or _gap(value, rest) > _APART * float(high - low)
    return apart and off > _UNEXPECTED * float(np.median(size[~same])) > 0


def _ends(values: FloatArray) -> list[tuple[float, int, FloatArray]]:
    """Smallest and largest value if they are repeated, with their counts and the other values."""
    values = values[np.isfinite(values)]
    distinct, counts = np.unique(values, return_counts=True)
    least = max(_LEAST, _RAREST * len(values))
    found = []
    for place in (0, -1) if len(distinct) > 2 else ():
        value = float(distinct[place])
        levels = len(distinct) > _LEVELS or _CODE_LIKE.fullmatch(f"{value:.0f}")
        if counts[place] >= least and value == np.rint(value) and levels:
            found.append((value, int(counts[place]), values[values != value]))
    return found


def _is_isolated(value: float, rest: FloatArray) -> bool:
    """Whether the gap to the other values is larger than their whole range."""
    low, high = float(rest.min()), float(rest.max())
    return value != 0 and _gap(value, rest) > high - low > 0


def _is_impossible(value: float, rest: FloatArray) -> bool:
    """Whether a number that is written like a code, such as −999, is the only negative one."""
    return (
        rest.size > 0 and value <= -99 and float(rest.min()) > 0 and bool(_CODE_LIKE.fullmatch(f"{value:g}"))
    )


def _lies_apart(value: float, rest: FloatArray) -> bool:
    """Whether the gap is wider than the lower (or upper) tail of the other values, for a code known elsewhere."""
    edge = np.quantile(rest, 0.05 if value < rest.min() else 0.95)
    return value < 0 <= rest.min() or _gap(value, rest) > abs(float(edge) - float(np.median(rest)))


def _is_zero_code(count: int, rest: FloatArray) -> bool:
    if rest.min() <= 0 or count > _MOST_ZEROS * (count + len(rest)):
        return False
    low, median = np.quantile(rest, [0.01, 0.5])
    whole = bool((rest == np.rint(rest)).all())
    dispersion = float(rest.var() / rest.mean())
    counts = whole and _POISSON[0] <= dispersion <= _POISSON[1]
    return not counts and bool(low >= _ZERO_GAP * (median - low))


def _gap(value: float, rest: FloatArray) -> float:
    return float(rest.min() - value if value < rest.min() else value - rest.max())


def blanked(values: FloatArray, known: Sequence[float]) -> FloatArray:
    """The same numbers with NaN in the place of codes.

    Parameters
    ----------
    values : ndarray
        Numbers.
    known : sequence of float
        Codes for "missing".

    Returns
    -------
    ndarray
        The given array if it holds no code, and a changed copy otherwise.
    """
    hit = np.isin(values, list(known)) if known else np.zeros(0, dtype=bool)
    return np.where(hit, np.nan, values) if hit.any() else values
