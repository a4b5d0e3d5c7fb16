"""A small part of Table 1 that takes minutes, and how close to the paper it must be.

Boston with 5 % of wrong labels, GCP and EnsGCP on all 50 splits: RMSE and AUC within one standard error of the paper
for EnsGCP, and within one and a half for GCP.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from levelhead.study.paper.comparison import Compared, compared
from levelhead.study.paper.published import N_SPLITS
from levelhead.study.paper.table1 import table1_specs
from levelhead.study.specs import Spec, shown_percent
from levelhead.study.store import Row

DATASET, CONTAMINATION = "boston", 0.05
TARGETS: Mapping[str, float] = MappingProxyType({"GCP": 1.5, "EnsGCP": 1.0})


class Target(NamedTuple):
    """A cell of the slice and whether it meets its target.

    Attributes
    ----------
    cell : Compared
        Our result and that of the paper.
    allowed : float
        Largest allowed difference, in standard errors.
    met : bool
        Whether the difference is small enough on all splits.
    """

    cell: Compared
    allowed: float
    met: bool


def slice_specs() -> list[Spec]:
    """Create the runs of the slice: two methods on 50 splits."""
    return list(table1_specs([DATASET], [CONTAMINATION], list(TARGETS)))


def check_targets(rows: Iterable[Row]) -> list[Target]:
    """Compare every cell of the slice with its target.

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
    cell = DATASET, CONTAMINATION
    chosen = [row for row in rows if (row.dataset, row.contamination) == cell and row.method in TARGETS]
    found = [
        Target(
            cell,
            TARGETS[cell.method],
            cell.n_splits >= N_SPLITS and abs(cell.difference) <= TARGETS[cell.method],
        )
        for cell in compared(chosen)
    ]
    if len(found) < 2 * len(TARGETS):
        raise ValueError(
            f"the slice needs {' and '.join(TARGETS)} on {DATASET} at {shown_percent(CONTAMINATION)}; "
            f"found {len(found)} of {2 * len(TARGETS)} cells"
        )
    return found
