"""Segments of a table whose labels are shifted or hold too many suspects.

The scan looks at categories, intervals of numbers and times, pairs of categories, and consecutive rows. Two statistics
are computed for each candidate. The shift is the sum of normal scores: residuals in units of the noise are replaced by
their ranks, so heavy tails do no harm. The suspects are counted; Hoeffding's inequality bounds the probability of as
many. Both are tested with a Bonferroni correction over all candidates, so the probability that a table without such
segments gets any is at most `level`.

A model is never exact: its residuals agree a little in many regions. The shift of a candidate is therefore compared
with the shifts of the other candidates of the same length, and small shifts are left out.

>>> import numpy as np
>>> from levelhead.audits import Audit
>>> rng = np.random.default_rng(0)
>>> y, sensor = rng.normal(size=1000), rng.integers(0, 20, 1000).astype(str)
>>> y[sensor == "7"] += 2.0
>>> audit = Audit.from_residuals(y, np.zeros(1000), 1.0)
>>> [segment.where for segment in find_segments(audit, {"sensor": sensor})]
['sensor = 7']
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri
from scipy.stats import rankdata

from levelhead._checks import FloatArray
from levelhead._checks import share as check_share
from levelhead.audits._places import place_of
from levelhead.audits._ranges import LARGEST_SHARE, LEAST, Column, Scan, read_columns, scans
from levelhead.theory.elementary import log

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

__all__ = ["Segment", "doubtful", "find_segments"]

Index = NDArray[np.intp]

_MOST = 10  # segments that are reported
# The next four were chosen on simulated residuals and on the clean tables boston, concrete, yacht, power and kin8nm;
# bench/segments.py judges them on the other tables.
_SMALLEST_SHIFT = 0.5  # in standard deviations of the noise; models are off by less than that in many regions
_SMALLEST_SHARE = 0.25  # of the rows of a segment that are suspects
_SMALLEST_LIFT = 3.0  # share of suspects inside over that outside
_FEWEST_SUSPECTS = 4
_SAME_ROWS = 0.8  # two segments that share this many of their rows describe the same thing
_ENOUGH = 30  # disjoint windows of a length, from which the agreement of the residuals can be estimated
_MOST_MOVES = 10
_MEDIAN_SQUARE = 0.45493642  # of a standard normal variable
_MEDIAN_ERROR = 2.3  # standard error of the median of n such squares, times √n, over the median
_PREFERENCE = ("category", "time", "number", "order")


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows whose labels are shifted, or hold too many suspects.

    Attributes
    ----------
    where : str
        The rows in words, such as "sensor = 7" or "date from 4 to 5 April 2004".
    columns : tuple of str
        Columns that define it; empty for consecutive rows.
    rows : ndarray of int
        Positions of its labels in the audit.
    shift : float
        Median residual of its labels minus that of the others, in units of the label.
    shift_in_std : float
        The same in standard deviations of the noise.
    is_shifted : bool
        Whether the shift is significant.
    suspects : int
        Labels in doubt or flagged among its rows.
    all_suspects : int
        Labels in doubt or flagged in the whole table.
    is_dense : bool
        Whether it holds significantly many suspects.
    p_value : float
        Probability of such a segment anywhere in a table without errors, at most; corrected for all candidates.
    """

    where: str
    columns: tuple[str, ...]
    rows: Index
    shift: float
    shift_in_std: float
    is_shifted: bool
    suspects: int
    all_suspects: int
    is_dense: bool
    p_value: float

    @property
    def text(self) -> str:
        """The segment in one sentence."""
        count = f"{len(self.rows):,} rows with {self.where}" if self.columns else self.where
        side = "high" if self.shift > 0 else "low"
        shifted = f"about {abs(self.shift):.3g} too {side} ({abs(self.shift_in_std):.1f} standard deviations)"
        inside = f"{self.suspects:,} of {self.all_suspects:,} doubtful labels"
        if not self.is_dense:
            return f"The labels of {'the ' if self.columns else ''}{count} are {shifted}."
        dense = f"{inside} are in {'the ' if self.columns else ''}{count}"
        return f"{dense}; labels there are {shifted}." if self.is_shifted else f"{dense}."

    def to_dict(self) -> dict[str, Any]:
        """Return the segment as plain values, for JSON.

        Returns
        -------
        dict
            One entry per attribute, the sentence as `text`, and the number of rows instead of the rows.
        """
        names = (
            "where",
            "columns",
            "shift",
            "shift_in_std",
            "is_shifted",
            "suspects",
            "all_suspects",
            "is_dense",
        )
        plain = {name: getattr(self, name) for name in names}
        plain["columns"] = list(self.columns)
        return {"text": self.text, **plain, "p_value": self.p_value, "n_rows": len(self.rows)}


def doubtful(audit: "Audit") -> NDArray[np.bool_]:
    """Find the labels that are flagged or in doubt.

    Parameters
    ----------
    audit : Audit
        Result of an audit.

    Returns
    -------
    ndarray of bool of shape (n_labels,)
        True where the label is flagged, or wrong with at least half the probability `audit.false_alarm_rate`.
    """
    return np.asarray(audit.is_label_issue | (audit.p_outlier >= 0.5 * audit.false_alarm_rate))


def find_segments(
    audit: "Audit",
    table: Any = None,
    *,
    rows: ArrayLike | None = None,
    skip: Collection[str] = (),
    level: float = 0.05,
) -> list[Segment]:
    """Find segments whose labels are shifted or hold too many suspects.

    Parameters
    ----------
    audit : Audit
        Result of an audit, its labels in the order of the file.
    table : DataFrame, mapping of str to array-like, or 2-D array, default=None
        Columns to look for segments in, one row per label; columns that are no inputs of the model are most useful,
        because a model learns a shift that its inputs explain. Without a table only the order of the rows is used.
    rows : array-like of int of shape (n_labels,), default=None
        Row number of each label, for the words; by default 1, 2, 3, ….
    skip : collection of str, default=()
        Columns to leave out, such as the label.
    level : float, default=0.05
        Probability that any segment is found in a table without such segments, at most.

    Returns
    -------
    list of Segment
        The segments, the most significant first. A row is in at most one of them for the same reason.

    Raises
    ------
    ValueError
        If the table does not have one row per label.
    """
    check_share("level", level)
    number = np.arange(1, len(audit) + 1) if rows is None else np.asarray(rows)
    if number.shape != (len(audit),):
        raise ValueError(f"rows has shape {number.shape}; give one number for each of {len(audit)} labels")
    columns = read_columns(table, len(audit), tuple(skip))
    candidates = list(scans(columns))
    tests: list[_Test] = [_Shift(audit.z, _repeated(audit, columns)), _Suspects(doubtful(audit))]
    limit = float(np.log(level / len(tests) / max(len(candidates), 1)))
    found: list[Segment] = []
    while len(found) < _MOST and (best := _strongest(candidates, tests, limit)) is not None:
        inside = best.scan.order[best.start : best.stop]
        p_value = float(np.exp(min(0.0, best.cost - limit)) * level)
        found.append(_described(audit, best.scan, inside, number, tests, limit, p_value))
        for test in tests:
            test.explain(inside)
    return found


class _Hit(NamedTuple):
    """A range with its logarithm of p, corrected for the number of candidates of its scan."""

    cost: float
    scan: Scan
    start: int
    stop: int

    def rows(self) -> Index:
        return self.scan.order[self.start : self.stop]


class _Shift:
    """Sums of normal scores."""

    def __init__(self, z: FloatArray, repeated: NDArray[np.bool_]) -> None:
        self.scores = np.where(
            repeated, 0.0, _normal_scores(z)
        )  # the same row twice is no more evidence than once

    def strength(self, scan: Scan, start: Index, stop: Index) -> FloatArray:
        """The absolute sum in its standard deviations; 0 for a small shift."""
        statistic, effect = self._statistic(scan, start, stop)
        return np.where(effect >= _SMALLEST_SHIFT, statistic, 0.0)

    def _statistic(self, scan: Scan, start: Index, stop: Index) -> tuple[FloatArray, FloatArray]:
        n = len(self.scores)
        below = np.append(0.0, np.cumsum(self.scores[scan.order]))
        inside, length = below[stop] - below[start], (stop - start).astype(np.float64)
        mean = below[-1] / n
        away = np.abs(inside - length * mean)
        spread = np.sqrt(np.mean((self.scores - mean) ** 2) * length * (1 - length / n))
        effect = away / (length * (1 - length / n))  # mean inside minus mean outside
        return away / np.maximum(spread, 1e-300), effect

    def candidates(self, scan: Scan) -> FloatArray:
        """The strength of all ranges, corrected for the agreement of residuals that is usual for their length."""
        statistic, effect = self._statistic(scan, scan.start, scan.stop)
        return np.where(effect >= _SMALLEST_SHIFT, statistic / np.sqrt(_inflation(statistic, scan)), 0.0)

    def log_p(self, strength: float) -> float:
        return float(np.round(np.log(2.0) + log_ndtr(-strength), 9))

    def explain(self, rows: Index) -> None:
        """Remove the shift of a segment that was found."""
        self.scores[rows] -= np.mean(self.scores[rows])


class _Suspects:
    """Counts of suspects."""

    def __init__(self, suspect: NDArray[np.bool_]) -> None:
        self.suspect = suspect.copy()

    def strength(self, scan: Scan, start: Index, stop: Index) -> FloatArray:
        """Compute m KL(k/m ‖ K/n) for k of m suspects inside and K of n in all; 0 if they are few."""
        n, total = len(self.suspect), int(self.suspect.sum())
        if total < _FEWEST_SUSPECTS or total == n:
            return np.zeros(len(start))
        below = np.append(0, np.cumsum(self.suspect[scan.order]))
        count, length = below[stop] - below[start], stop - start
        inside, outside = count / length, (total - count) / (n - length)
        usual = total / n
        divergence = _entropy_term(inside, usual) + _entropy_term(1 - inside, 1 - usual)
        notable = (
            (count >= _FEWEST_SUSPECTS) & (inside >= _SMALLEST_SHARE) & (inside >= _SMALLEST_LIFT * outside)
        )
        return np.where(notable, length * divergence, 0.0)

    def candidates(self, scan: Scan) -> FloatArray:
        return self.strength(scan, scan.start, scan.stop)

    def log_p(self, strength: float) -> float:
        """Hoeffding's bound, which holds for draws without replacement."""
        return float(np.round(-strength, 9))

    def explain(self, rows: Index) -> None:
        self.suspect[rows] = False


_Test = _Shift | _Suspects


def _normal_scores(z: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks; rounded, because last digits depend on the processor."""
    return np.round(ndtri((rankdata(z) - 0.5) / len(z)), 9)


def _repeated(audit: "Audit", columns: list[Column]) -> NDArray[np.bool_]:
    """Rows that equal an earlier one in every column and in the label."""
    inputs = [column.values for column in columns if column.meaning != "order"]
    if not inputs:
        return np.zeros(len(audit), dtype=bool)
    cells = np.column_stack([*inputs, audit.given_label])
    _, first = np.unique(np.where(np.isnan(cells), np.inf, cells), axis=0, return_index=True)
    return ~np.isin(np.arange(len(audit)), first)


def _entropy_term(share: FloatArray, usual: float) -> FloatArray:
    known = np.where(share > 0, share, 1.0)
    return np.where(share > 0, known * (log(known) - np.log(usual)), 0.0)


def _inflation(statistic: FloatArray, scan: Scan) -> FloatArray:
    """By how much the squared statistics of most ranges exceed those of independent residuals, at least 1.

    One standard error is subtracted, so that independent residuals are seldom corrected.
    Windows are compared with windows of the same length. Where these are few, and for categories, the variance of the
    shifts between ranges is taken from the ranges that there are.
    """
    size = (scan.stop - scan.start).astype(np.float64)
    factor = np.ones(len(scan))
    between = 0.0
    for length in np.unique(scan.lengths):
        chosen = scan.lengths == length
        disjoint = chosen.sum() if length == 0 else len(scan.order) // length
        if disjoint >= _ENOUGH:
            typical = float(np.median(statistic[chosen] ** 2)) / _MEDIAN_SQUARE
            typical = max(1.0, typical / (1 + _MEDIAN_ERROR / np.sqrt(disjoint)))
            between = (typical - 1) / float(np.median(size[chosen]))
            factor[chosen] = 1 + between * size[chosen] if length == 0 else typical
        else:
            factor[chosen] = 1 + between * size[chosen]
    return factor


def _strongest(candidates: list[Scan], tests: list[_Test], limit: float) -> _Hit | None:
    """The most significant range; of several that describe the same rows, the one that is easiest to read."""
    hits = [hit for test in tests for scan in candidates for hit in _best_range(scan, test, limit)]
    if not hits:
        return None
    first = min(hits, key=lambda hit: hit.cost)
    same = [hit for hit in hits if _overlap(hit.rows(), first.rows()) >= _SAME_ROWS]
    return min(same, key=lambda hit: (len(hit.scan.columns), _PREFERENCE.index(hit.scan.columns[0].meaning)))


def _best_range(scan: Scan, test: _Test, limit: float) -> Iterator[_Hit]:
    strength = test.candidates(scan)
    best = int(np.argmax(strength))
    cost = test.log_p(float(strength[best])) + _log_count(scan)
    if cost < limit:
        start, stop = int(scan.start[best]), int(scan.stop[best])
        if scan.lengths[best] > 0:
            start, stop = _refined(scan, test, start, stop)
        yield _Hit(cost, scan, start, stop)


def _log_count(scan: Scan) -> float:
    return float(np.log(len(scan)))


def _refined(scan: Scan, test: _Test, start: int, stop: int) -> tuple[int, int]:
    """Move the ends of a window to where the statistic is largest, until they stay there."""
    for _ in range(_MOST_MOVES):
        before = start, stop
        start = _best_end(scan, test, stop, start)
        stop = _best_end(scan, test, start, stop)
        if (start, stop) == before:
            break
    return start, stop


def _best_end(scan: Scan, test: _Test, fixed: int, moved: int) -> int:
    """The best place for one end of a range, at most its length away, while the other end is fixed."""
    length = np.abs(scan.edges - fixed)
    allowed = (length >= LEAST) & (length <= LARGEST_SHARE * len(scan.order))
    allowed &= (np.abs(scan.edges - moved) <= abs(moved - fixed)) & ((scan.edges > fixed) == (moved > fixed))
    at = scan.edges[allowed]
    if not len(at):
        return moved
    return int(at[np.argmax(test.strength(scan, np.minimum(at, fixed), np.maximum(at, fixed)))])


def _overlap(one: Index, other: Index) -> float:
    shared = len(np.intersect1d(one, other))
    return shared / (len(one) + len(other) - shared)


def _described(
    audit: "Audit", scan: Scan, inside: Index, number: Index, tests: list[_Test], limit: float, p_value: float
) -> Segment:
    residual = audit.given_label - audit.predicted_label
    outside = np.setdiff1d(np.arange(len(audit)), inside)
    within = np.sort(inside)
    start = int(np.flatnonzero(scan.order == inside[0])[0])
    ends = np.array([start]), np.array([start + len(inside)])
    shifted, dense = (
        test.log_p(float(test.strength(scan, *ends)[0])) + _log_count(scan) < limit for test in tests
    )
    suspect = doubtful(audit)
    return Segment(
        where=place_of(scan.columns, within, number),
        columns=tuple(column.name for column in scan.columns if column.meaning != "order"),
        rows=within,
        shift=float(np.median(residual[within]) - np.median(residual[outside])),
        shift_in_std=float(np.median(audit.z[within]) - np.median(audit.z[outside])),
        is_shifted=shifted,
        suspects=int(suspect[within].sum()),
        all_suspects=int(suspect.sum()),
        is_dense=dense,
        p_value=p_value,
    )
