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

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import share as check_share
from levelhead.audits._places import place_of
from levelhead.audits._ranges import Column, Scan, read_columns, scans
from levelhead.audits._scanning import Shift, Suspects, Test, log_count, strongest
from levelhead.audits._unaware import unaware_residuals

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

__all__ = ["Segment", "doubtful", "find_segments"]

Index = NDArray[np.intp]

_MOST = 10  # segments that are reported


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
    is_learnt : bool
        Whether the model has learnt the shift, so that residuals cannot show whether it is an error or a true effect.
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
    is_learnt: bool = False

    @property
    def text(self) -> str:
        """The segment in one sentence."""
        count = f"{len(self.rows):,} rows with {self.where}" if self.columns else self.where
        side = "high" if self.shift > 0 else "low"
        shifted = f"about {abs(self.shift):.3g} too {side} ({abs(self.shift_in_std):.1f} standard deviations)"
        inside = f"{self.suspects:,} of {self.all_suspects:,} doubtful labels"
        if not self.is_dense:
            learnt = "; the model has learnt this, so it may be a true effect" if self.is_learnt else ""
            return f"The labels of {'the ' if self.columns else ''}{count} are {shifted}{learnt}."
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
            "is_learnt",
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
    inputs: Collection[str] = (),
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
    inputs : collection of str, default=()
        Columns that the model was fitted to. It has learnt the shifts of their categories, so categories with 5 to 50
        levels among them are scanned with residuals around predictions that do not know the column; needs LightGBM.
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
    ignored = _repeated(audit, columns) | audit.is_code
    shift = Shift(audit.z, ignored, unaware_residuals(*audit.judged, columns, inputs))
    tests: list[Test] = [shift, Suspects(doubtful(audit))]
    limit = float(np.log(level / len(tests) / max(len(candidates), 1)))
    found: list[Segment] = []
    while len(found) < _MOST and (best := strongest(candidates, tests, limit)) is not None:
        inside = best.scan.order[best.start : best.stop]
        p_value = float(np.exp(min(0.0, best.cost - limit)) * level)
        found.append(_described(audit, best.scan, inside, number, (shift, tests[1]), limit, p_value))
        for test in tests:
            test.explain(inside)
    return found


def _repeated(audit: "Audit", columns: list[Column]) -> NDArray[np.bool_]:
    """Rows that equal an earlier one in every column and in the label."""
    inputs = [column.values for column in columns if column.meaning != "order"]
    if not inputs:
        return np.zeros(len(audit), dtype=bool)
    cells = np.column_stack([*inputs, audit.given_label])
    _, first = np.unique(np.where(np.isnan(cells), np.inf, cells), axis=0, return_index=True)
    return ~np.isin(np.arange(len(audit)), first)


def _described(
    audit: "Audit",
    scan: Scan,
    inside: Index,
    number: Index,
    tests: tuple[Shift, Test],
    limit: float,
    p_value: float,
) -> Segment:
    outside = np.setdiff1d(np.arange(len(audit)), inside)
    within = np.sort(inside)
    start = int(np.flatnonzero(scan.order == inside[0])[0])
    ends = np.array([start]), np.array([start + len(inside)])
    shifted, dense = (
        test.log_p(float(test.strength(scan, *ends)[0])) + log_count(scan) < limit for test in tests
    )
    suspect = doubtful(audit)
    unknown = tests[0].about(scan) if shifted else ""
    z = tests[0].residuals[unknown]
    residual = z * audit.std if unknown else audit.given_label - audit.predicted_label
    return Segment(
        where=place_of(scan.columns, within, number),
        columns=tuple(column.name for column in scan.columns if column.meaning != "order"),
        rows=within,
        shift=float(np.median(residual[within]) - np.median(residual[outside])),
        shift_in_std=float(np.median(z[within]) - np.median(z[outside])),
        is_shifted=shifted,
        suspects=int(suspect[within].sum()),
        all_suspects=int(suspect.sum()),
        is_dense=dense,
        p_value=p_value,
        is_learnt=bool(unknown),
    )
