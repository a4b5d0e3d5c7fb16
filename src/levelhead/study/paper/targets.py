"""A small part of Table 1 that takes minutes, and the statistical statement that it allows.

Boston with 5 % of wrong labels, GCP and EnsGCP on all 50 splits, RMSE and AUC: four comparisons with the paper. A cell
agrees unless the difference is significant at 5 %, corrected for the four comparisons (Holm), with the standard error
of two independent means. A result that is significantly better than the paper's is reported; only one that is
significantly worse contradicts the reproduction. That a cell agrees does not prove equality: the interval of the
difference shows what remains possible.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from scipy.stats import norm

from levelhead.study.paper.comparison import Compared, compared
from levelhead.study.paper.published import N_SPLITS
from levelhead.study.paper.table1 import table1_specs
from levelhead.study.significance import LEVEL, holm
from levelhead.study.specs import Spec, shown_percent
from levelhead.study.store import Row

DATASET, CONTAMINATION = "boston", 0.05
METHODS = ("GCP", "EnsGCP")
Verdict = Literal["agrees", "better than the paper", "worse than the paper", "too few splits"]


class Target(NamedTuple):
    """A cell of the slice and what can be said about it.

    Attributes
    ----------
    cell : Compared
        Our result and that of the paper.
    p_value : float
        p-value of the difference, corrected for the number of cells (Holm).
    interval : tuple of float
        95 % confidence interval of the difference ours − paper, not corrected.
    verdict : {"agrees", "better than the paper", "worse than the paper", "too few splits"}
        The statement at the level of 5 %.
    """

    cell: Compared
    p_value: float
    interval: tuple[float, float]
    verdict: Verdict

    @property
    def met(self) -> bool:
        """Whether the cell does not contradict the reproduction."""
        return self.verdict in ("agrees", "better than the paper")


def slice_specs() -> list[Spec]:
    """Create the runs of the slice: two methods on 50 splits."""
    return list(table1_specs([DATASET], [CONTAMINATION], list(METHODS)))


def check_targets(rows: Iterable[Row]) -> list[Target]:
    """Compare every cell of the slice with the paper.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`; rows that are not in the slice are ignored.

    Returns
    -------
    list of Target
        One entry per method and measure.

    Raises
    ------
    ValueError
        If a cell is missing.
    """
    place = DATASET, CONTAMINATION
    found = compared(
        row for row in rows if (row.dataset, row.contamination) == place and row.method in METHODS
    )
    if len(found) < 2 * len(METHODS):
        raise ValueError(
            f"the slice needs {' and '.join(METHODS)} on {DATASET} at {shown_percent(CONTAMINATION)}; "
            f"found {len(found)} of {2 * len(METHODS)} cells"
        )
    corrected = holm([cell.p_value for cell in found])
    return [
        Target(cell, p, _interval(cell), _verdict(cell, p)) for cell, p in zip(found, corrected, strict=True)
    ]


def _verdict(cell: Compared, p_value: float) -> Verdict:
    if cell.n_splits < N_SPLITS:
        return "too few splits"
    if p_value >= LEVEL:
        return "agrees"
    return "better than the paper" if cell.ours < cell.paper else "worse than the paper"


def _interval(cell: Compared) -> tuple[float, float]:
    middle, half = cell.ours - cell.paper, float(norm.isf(LEVEL / 2)) * cell.standard_error
    return middle - half, middle + half
