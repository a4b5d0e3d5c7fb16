"""Do rows belong together? Residuals of independent rows do not agree with those of their neighbours.

Folds by content divide rows that belong together, such as visits of one patient or hours of one day. The fold models
then learn a wrong label from its own relatives, and the audit misses it. `find_dependence` looks for residuals that
agree in neighbouring rows of a file and in rows of one level of a column.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> patient = np.repeat(np.arange(50), 4)
>>> z = rng.normal(size=50)[patient] + rng.normal(size=200)
>>> find_dependence(z, {"patient": patient, "ward": np.arange(200) % 7})[0].column
'patient'
"""

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc, ndtr

from levelhead.audits._ranges import read_columns

FloatArray = NDArray[np.float64]

_LARGEST = 3.0  # residuals beyond it count as this: single wrong labels must not decide
_LEAST_CORRELATION = 0.1  # smaller ones change no verdict
_LEVEL = 1e-3  # largest p-value that is reported, over all columns and windows
_LEAST_RUN = 4
_LEAST_ROWS = 30
_MOST_RUNS = 3
_MOST_ROWS = 50_000  # of a column that are compared
_LEAST_LEVELS = 20  # of columns whose entries stand for patients, houses or mixtures
_LEAST_TIMES = 20  # different dates of a table whose rows follow each other in time


@dataclass(frozen=True)
class Dependence:
    """Rows whose residuals agree.

    Attributes
    ----------
    kind : {"neighbours", "run", "column"}
        Neighbouring rows all over the file, one run of neighbouring rows, or rows of one level of a column.
    correlation : float
        Correlation of neighbouring residuals, or of residuals in one level; for a run their mean, in noise units.
    p_value : float
        Probability of such an agreement among independent rows, corrected for the number of columns or runs.
    column : str or None
        The column whose levels agree.
    rows : tuple of int, or None
        First and last row of a run.
    """

    kind: str
    correlation: float
    p_value: float
    column: str | None = None
    rows: tuple[int, int] | None = None

    def text(self, row_numbers: ArrayLike | None = None) -> str:
        """Say what was found and which option helps.

        Parameters
        ----------
        row_numbers : array-like of int, of shape (n_samples,), default=None
            Numbers of the rows; by default they count from 0.

        Returns
        -------
        str
            One or two sentences.
        """
        chance = f"p = {max(self.p_value, 1e-99):.0e}"
        if self.rows is not None:
            low, high = self.rows if row_numbers is None else np.asarray(row_numbers)[list(self.rows)]
            side = "above" if self.correlation > 0 else "below"
            return (
                f"Rows {low} to {high} lie {side} their predictions together (on average {abs(self.correlation):.1f} "
                f"standard deviations, {chance}). If rows that follow each other belong together, give their blocks as "
                "groups=, or --time COLUMN on the command line."
            )
        if self.column is not None:
            return (
                f"Residuals agree within the levels of column {self.column!r} (correlation {self.correlation:.2f}, "
                f"{chance}). If its rows belong together, give it as groups=, or --group {quote(str(self.column))} on "
                "the command line."
            )
        return (
            f"Residuals of neighbouring rows agree (correlation {self.correlation:.2f}, {chance}). If rows that follow "
            "each other belong together, give their blocks as groups=, or --time COLUMN on the command line."
        )


def find_dependence(z: ArrayLike, columns: Mapping[str, ArrayLike] | None = None) -> list[Dependence]:
    """Find rows whose residuals agree.

    Parameters
    ----------
    z : array-like of shape (n_samples,)
        Residuals in units of the noise, in the order of the file.
    columns : mapping of str to array-like of shape (n_samples,), default=None
        Columns whose levels may belong together: categories, text, whole numbers.

    Returns
    -------
    list of Dependence
        What was found, the smallest p-value first; empty if the rows look independent.
    """
    bounded = np.clip(np.asarray(z, dtype=np.float64), -_LARGEST, _LARGEST)
    if len(bounded) < _LEAST_ROWS:
        return []
    u = bounded - bounded.mean()
    if not u.any():
        return []
    found = [*_neighbours(u), *_runs(u)]
    given = {
        name: codes for name, values in (columns or {}).items() if (codes := _levels(values)) is not None
    }
    for name, codes in given.items():
        found += _within(u[: len(codes)], codes, name, len(given))
    return sorted(found, key=lambda finding: finding.p_value)


def neighbours_agree(z: FloatArray, counts: NDArray[np.bool_]) -> bool:
    """Whether residuals of neighbouring rows agree, among labels that nobody doubts.

    Parameters
    ----------
    z : ndarray of shape (n_samples,)
        Residuals in units of the noise, in the order of the file.
    counts : ndarray of bool of shape (n_samples,)
        Labels that count. Wrong ones must not: they may lie in runs although residuals of clean labels are independent.

    Returns
    -------
    bool
        True if the model misses something that neighbouring rows have in common.
    """
    if np.count_nonzero(counts) < _LEAST_ROWS:
        return False
    bounded = np.clip(z, -_LARGEST, _LARGEST)
    u = np.where(counts, bounded - bounded[counts].mean(), 0.0)
    return bool(_neighbours(u))


def level_codes(values: ArrayLike) -> NDArray[np.intp]:
    """Number the different entries of a column from 0, in the order in which they occur.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Entries of any kind; missing numbers are one level.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        The numbers.
    """
    known: dict[object, int] = {}
    entries = [None if entry != entry else entry for entry in np.asarray(values).tolist()]
    return np.array([known.setdefault(entry, len(known)) for entry in entries], dtype=np.intp)


def shared_levels(columns: Mapping[str, ArrayLike]) -> tuple[tuple[str, ...], NDArray[np.intp]] | None:
    """Find rows of one patient, house or mixture: a column whose entries determine those of another.

    Both must have many levels, and neither may be a function of the other that only rises or falls, as the square of
    an age: such columns say the same thing twice.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n_samples,)
        Columns of the table.

    Returns
    -------
    tuple of names and ndarray of int of shape (n_samples,), or None
        Names of the columns that are equal in the same rows, and the number of the group of each row.
    """
    many = {}
    for name, values in columns.items():
        codes = level_codes(values)
        if _LEAST_LEVELS <= codes.max(initial=0) + 1 <= len(codes) // 2:
            many[name] = codes
    for name in sorted(many, key=lambda each: -int(many[each].max())):
        codes, count = many[name], int(many[name].max()) + 1
        first = np.unique(codes, return_index=True)[1]
        same = [
            other
            for other, their in many.items()
            if other != name
            and 2 * (their.max() + 1) >= count
            and (their[first][codes] == their).all()
            and not _monotone(np.asarray(columns[name])[first], np.asarray(columns[other])[first])
        ]
        if same:
            return (name, *same), codes
    return None


def _monotone(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.kind not in "iuf" or other.dtype.kind not in "iuf":
        return False
    steps = np.diff(other[np.argsort(one, kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())


def correlation_within(z: FloatArray, codes: NDArray[np.intp], largest: float) -> float:
    """Correlation of residuals within groups, 0 if they do not agree.

    Parameters
    ----------
    z : ndarray of shape (n_samples,)
        Residuals in units of the noise.
    codes : ndarray of int of shape (n_samples,)
        Number of the group of each row, from 0.
    largest : float
        Residuals beyond it count as this.

    Returns
    -------
    float
        The correlation, from 0 to 1.
    """
    return max(0.0, _analysis_of_variance(np.clip(z, -largest, largest), codes)[0])


def time_order(columns: Mapping[str, ArrayLike]) -> tuple[str, FloatArray] | None:
    """Find the column of dates by which the rows of a table are ordered.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n_samples,)
        Columns of the table.

    Returns
    -------
    tuple of str and ndarray of shape (n_samples,), or None
        Name and times, in nanoseconds, of the first such column; None if there is none.
    """
    dates = {
        name: cells
        for name, values in columns.items()
        if (cells := np.asarray(values)).dtype.kind not in "iufb"
    }
    n = len(next(iter(dates.values()), ()))
    for column in read_columns(dates, n, ()):
        steps = np.diff(column.values)
        ordered = bool((steps >= 0).all() or (steps <= 0).all())  # never, if a time is missing
        if column.meaning == "time" and ordered and 1 + np.count_nonzero(steps) >= _LEAST_TIMES:
            return column.name, column.values
    return None


def _neighbours(u: FloatArray) -> list[Dependence]:
    correlation = float((u[1:] * u[:-1]).sum() / (u * u).sum())
    p = float(ndtr(-correlation * np.sqrt(len(u))))
    agree = correlation >= _LEAST_CORRELATION and p < _LEVEL
    return [Dependence("neighbours", correlation, p)] if agree else []


def _runs(u: FloatArray) -> list[Dependence]:
    """Windows of neighbouring rows with the largest mean, one after the other, without overlap."""
    n, spread = len(u), float(np.sqrt((u * u).mean()))
    lengths = [length for k in range(4, 40) if (length := round(2 ** (k / 2))) <= n // 4]
    left, found = u.copy(), []
    for _ in range(_MOST_RUNS):
        total = np.concatenate([[0.0], np.cumsum(left)])
        best = (0.0, 0, 0)
        for length in lengths:
            sums = (total[length:] - total[:-length]) / np.sqrt(length)
            k = int(np.argmax(np.abs(sums)))
            best = max(best, (float(abs(sums[k])), k, length))
        size, start, length = best
        p = min(1.0, 2 * n * len(lengths) * float(ndtr(-size / spread)))
        mean = float(u[start : start + length].mean()) if length else 0.0
        if p >= _LEVEL or length < _LEAST_RUN or abs(mean) < spread:
            break
        found.append(Dependence("run", mean / spread, p, rows=(start, start + length - 1)))
        left[start : start + length] = 0
    return found


def _levels(values: ArrayLike) -> NDArray[np.intp] | None:
    """Codes of the levels of a column; None if it has too few or too many."""
    given = np.asarray(values)[:_MOST_ROWS]
    if given.dtype.kind == "f" and not (given == np.trunc(given))[np.isfinite(given)].all():
        return None
    codes = level_codes(given)
    return codes if 3 <= codes.max(initial=0) + 1 <= len(codes) // 2 else None


def _within(u: FloatArray, codes: NDArray[np.intp], name: str, n_columns: int) -> list[Dependence]:
    """One-way analysis of variance: whether levels differ more than their rows."""
    correlation, ratio = _analysis_of_variance(u, codes)
    n, n_levels = len(u), int(codes.max()) + 1
    p = min(1.0, n_columns * float(fdtrc(n_levels - 1, n - n_levels, ratio)))
    agree = correlation >= _LEAST_CORRELATION and p < _LEVEL
    return [Dependence("column", correlation, p, column=name)] if agree else []


def _analysis_of_variance(u: FloatArray, codes: NDArray[np.intp]) -> tuple[float, float]:
    """Correlation within levels, and the ratio of the variances between and within them; 0 if either cannot vary."""
    sizes = np.bincount(codes).astype(np.float64)
    n, n_levels = len(u), len(sizes)
    means = np.bincount(codes, u) / sizes
    between = float((sizes * (means - u.mean()) ** 2).sum()) / max(n_levels - 1, 1)
    within = float(((u - means[codes]) ** 2).sum()) / max(n - n_levels, 1)
    if within == 0:
        return 0.0, 0.0
    typical = (n - float((sizes**2).sum()) / n) / max(n_levels - 1, 1)
    return (between - within) / (between + (typical - 1) * within), between / within
