"""Comparison of our results with those of the paper, in standard errors of the difference.

Both sides are means over random splits, so both have an error: the standard error of the difference is that of two
independent samples, with the rounding of the paper's two printed decimals. If results agree, about two thirds of the
cells lie within one and 95 % within two standard errors. The paper prints no results of single splits, so that a paired
test is not possible; if its splits were ours, as they may be for Boston, the standard errors are too large.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from levelhead._deprecated import percentage
from levelhead.study.grids import Grid, Style
from levelhead.study.paper.published import DECIMALS, N_SPLITS, table1
from levelhead.study.specs import shown_percent
from levelhead.study.store import Row
from levelhead.study.tables import Cell, cells, in_order

MEASURES = ("rmse", "auc")
_ROUNDING = 10.0**-DECIMALS / np.sqrt(12)  # standard deviation of what the printed digits leave out


class Compared(NamedTuple):
    """Our result and the published one for one cell of Table 1.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    contamination : float
        Share of wrong labels, a fraction.
    method : str
        Name of the method.
    measure : str
        "rmse" or "auc".
    ours, paper : float
        Mean of our runs and published mean.
    n_splits : int
        Number of our splits.
    standard_error : float
        Standard error of the difference: of both means, and of the rounding of the printed one.
    """

    dataset: str
    contamination: float
    method: str
    measure: str
    ours: float
    paper: float
    n_splits: int
    standard_error: float

    @property
    def difference(self) -> float:
        """(ours − paper) / standard error; positive where the paper is better."""
        return (self.ours - self.paper) / self.standard_error

    @property
    def p_value(self) -> float:
        """Probability of a difference at least as large if both means are samples of one quantity."""
        return float(2 * norm.sf(abs(self.difference)))

    @property
    def share(self) -> float:
        """Old name of `contamination`, in percent."""
        return percentage(self)


def compared(rows: Iterable[Row]) -> list[Compared]:
    """Compare all cells that are in both tables.

    The standard error is that of the difference of two independent means: the paper's over 50 splits and ours, with the
    rounding of the paper's two decimals. A cell with one split of ours takes the paper's standard deviation for both.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`.

    Returns
    -------
    list of Compared
        One entry per cell.
    """
    stored, published, found = list(rows), table1(), []
    for measure in MEASURES:
        for key, cell in cells(stored, measure).items():
            if key in published:
                fact = published[key]
                error = _standard_error(cell, getattr(fact, f"{measure}_std"))
                found.append(Compared(*key, measure, cell.mean, getattr(fact, measure), cell.n_splits, error))
    return found


def _standard_error(ours: Cell, paper_std: float) -> float:
    """Standard error of the difference of two independent means, one of them printed with two decimals."""
    our_std = paper_std if np.isnan(ours.std) else ours.std
    return float(np.sqrt(paper_std**2 / N_SPLITS + our_std**2 / ours.n_splits + _ROUNDING**2))


def compare(rows: Iterable[Row], style: Style = "text") -> str:
    """Format our results next to those of the paper; differences of more than two standard errors are bold.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`.
    style : {"text", "markdown", "latex", "html"}, default="text"
        Format. In text, an asterisk marks bold.

    Returns
    -------
    str
        Table with one line per data set, λ and method.
    """
    lines: dict[tuple[str, float, str], dict[str, Compared]] = {}
    for one in compared(rows):
        lines.setdefault((one.dataset, one.contamination, one.method), {})[one.measure] = one
    heads = tuple(
        f"{measure.upper()} {what}" for measure in MEASURES for what in ("ours", "paper", "difference")
    )
    drawn = tuple(
        (
            f"{dataset}, {shown_percent(contamination)}, {method}",
            tuple(c for measure in MEASURES for c in _three(found[measure])),
        )
        for (dataset, contamination, method), found in lines.items()
    )
    counts = sorted({one.n_splits for found in lines.values() for one in found.values()})
    splits = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    title = f"our results (means over {splits} splits) and the paper's; differences in standard errors"
    return Grid(title, heads, drawn).draw(style)


class Agreement(NamedTuple):
    """Number of cells of a method close to the paper.

    Attributes
    ----------
    method : str
        Name of the method.
    measure : str
        "rmse" or "auc".
    cells : int
        Number of cells.
    within_one, within_two : int
        Number of cells within one and two standard errors of the paper.
    better, worse : int
        Number of cells that are lower or higher by more than two standard errors.
    """

    method: str
    measure: str
    cells: int
    within_one: int
    within_two: int
    better: int
    worse: int


def agreement(cells_compared: Iterable[Compared]) -> list[Agreement]:
    """Count the cells by their distance from the paper.

    Parameters
    ----------
    cells_compared : iterable of Compared
        Cells, from `compared`.

    Returns
    -------
    list of Agreement
        One entry per method and measure.
    """
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
    """Format the counts of `agreement`, with a line for all methods.

    Parameters
    ----------
    cells_compared : iterable of Compared
        Cells, from `compared`.
    style : {"text", "markdown", "latex", "html"}, default="text"
        Format.

    Returns
    -------
    str
        The table.
    """
    lines = agreement(cells_compared)
    total = tuple(sum(column) for column in zip(*(line[2:] for line in lines), strict=True))
    heads = ("cells", "within 1 SE", "within 2 SE", "lower by more", "higher by more")
    drawn = [(f"{line.method}, {line.measure.upper()}", line[2:]) for line in lines] + [("all", total)]
    grid = tuple((name, tuple((str(n), False) for n in counts)) for name, counts in drawn)
    return Grid(
        "cells by their distance from the paper, in standard errors of the difference", heads, grid
    ).draw(style)


def _three(one: Compared) -> tuple[tuple[str, bool], ...]:
    far = abs(one.difference) > 2
    return (f"{one.ours:.3f}", False), (f"{one.paper:.{DECIMALS}f}", False), (f"{one.difference:+.1f}", far)
