"""Ours beside the paper's: the difference in every cell, in standard errors."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from levelhead.study.paper.published import DECIMALS, N_SPLITS, table1
from levelhead.study.store import Row
from levelhead.study.tables import Grid, Style, cells, in_order

MEASURES = ("rmse", "auc")
_ROUNDING = 10.0**-DECIMALS / np.sqrt(12)  # standard deviation of what the printed digits leave out


class Compared(NamedTuple):
    """One cell: our mean, the printed one, and their difference in standard errors."""

    dataset: str
    share: float
    method: str
    measure: str
    ours: float
    paper: float
    n_splits: int
    standard_error: float

    @property
    def difference(self) -> float:
        """(ours − the paper's) over the standard error; positive where the paper's is better."""
        return (self.ours - self.paper) / self.standard_error


def compared(rows: Iterable[Row]) -> list[Compared]:
    """Every cell that both have.

    The standard error is that of a mean over as many splits as ours (at most 50) by the paper's standard
    deviation, and what its two decimals leave open. For 50 splits of ours it is the paper's own.
    """
    stored, published, found = list(rows), table1(), []
    for measure in MEASURES:
        for (dataset, share, method), cell in cells(stored, measure).items():
            if (dataset, share, method) in published:
                fact = published[dataset, share, method]
                spread = getattr(fact, f"{measure}_std") / np.sqrt(min(cell.n_splits, N_SPLITS))
                error = float(np.hypot(spread, _ROUNDING))
                found.append(
                    Compared(
                        dataset,
                        share,
                        method,
                        measure,
                        cell.mean,
                        getattr(fact, measure),
                        cell.n_splits,
                        error,
                    )
                )
    return found


def compare(rows: Iterable[Row], style: Style = "text") -> str:
    """A line for every cell: ours, the paper's, the difference in standard errors; bold beyond two.

    Parameters
    ----------
    rows : from `Store.rows` or `read_csv`.
    style : "text", "markdown", "latex" or "html".
    """
    lines: dict[tuple[str, float, str], dict[str, Compared]] = {}
    for one in compared(rows):
        lines.setdefault((one.dataset, one.share, one.method), {})[one.measure] = one
    heads = tuple(
        f"{measure.upper()} {what}" for measure in MEASURES for what in ("ours", "paper", "difference")
    )
    drawn = tuple(
        (
            f"{dataset}, λ = {share:g}, {method}",
            tuple(c for measure in MEASURES for c in _three(found[measure])),
        )
        for (dataset, share, method), found in lines.items()
    )
    counts = sorted({one.n_splits for found in lines.values() for one in found.values()})
    splits = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    title = f"our results (means over {splits} splits) and the paper's; differences in standard errors"
    return Grid(title, heads, drawn).draw(style)


class Agreement(NamedTuple):
    """How many cells of a method lie within one and within two standard errors of the paper."""

    method: str
    measure: str
    cells: int
    within_one: int
    within_two: int
    better: int
    worse: int


def agreement(cells_compared: Iterable[Compared]) -> list[Agreement]:
    """A line for every method and measure; better and worse count the cells beyond two standard errors."""
    grouped: dict[tuple[str, str], list[float]] = {}
    for one in cells_compared:
        grouped.setdefault((one.method, one.measure), []).append(one.difference)
    return [
        Agreement(
            method,
            measure,
            len(found),
            sum(abs(d) <= 1 for d in found),
            sum(abs(d) <= 2 for d in found),
            sum(d < -2 for d in found),
            sum(d > 2 for d in found),
        )
        for method in in_order({method for method, _ in grouped})
        for measure in MEASURES
        if (found := grouped.get((method, measure)))
    ]


def agreement_table(cells_compared: Iterable[Compared], style: Style = "text") -> str:
    """The counts of `agreement`, with a line for all."""
    lines = agreement(cells_compared)
    total = tuple(sum(column) for column in zip(*(line[2:] for line in lines), strict=True))
    heads = ("cells", "within 1 SE", "within 2 SE", "lower by more", "higher by more")
    drawn = [(f"{line.method}, {line.measure.upper()}", line[2:]) for line in lines] + [("all", total)]
    grid = tuple((name, tuple((str(n), False) for n in counts)) for name, counts in drawn)
    return Grid("cells by their distance from the paper, in its standard errors", heads, grid).draw(style)


def _three(one: Compared) -> tuple[tuple[str, bool], ...]:
    far = abs(one.difference) > 2
    return (f"{one.ours:.3f}", False), (f"{one.paper:.{DECIMALS}f}", False), (f"{one.difference:+.1f}", far)
