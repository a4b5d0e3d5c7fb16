"""Tables from stored results: the layout of the paper's Table 1, as text, Markdown, LaTeX or HTML.

In each column a method is bold if no other method is significantly better by a two-sided paired t-test at p = 0.05 over
the splits that both have. By default the p-values of all pairs of a column are corrected together (Holm), so that the
chance of any false difference in the column is at most 5 %. The paper does not correct (Section 5.3); `bold="paper"`
does as the paper did.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from levelhead.study.grids import Grid, Style
from levelhead.study.paper import table1, trees
from levelhead.study.significance import Bold, Column, best_methods
from levelhead.study.specs import shown_percent
from levelhead.study.store import MEASURES, Row

_HIGH_IS_GOOD = ("robust_r2",)
_NO_ORDER = (
    "coverage",
    "mean_alpha",
    "fit_seconds",
    "cpu_seconds",
)  # nothing is better just because it is lower
SHOWN = {
    "rmse": "RMSE",
    "auc": "AUC",
    "nll": "NLL",
    "crps": "CRPS",
    "robust_r2": "robust R²",
    "mean_alpha": "mean α",
    "fit_seconds": "seconds",
    "cpu_seconds": "CPU seconds",
}


class Cell(NamedTuple):
    """Summary of a measure over the splits of one method.

    Attributes
    ----------
    mean, std : float
        Mean and standard deviation over the splits.
    n_splits : int
        Number of splits.
    bold : bool
        Whether no other method is significantly better.
    """

    mean: float
    std: float
    n_splits: int
    bold: bool


def table(
    rows: Iterable[Row],
    measures: Sequence[str] = ("rmse", "auc"),
    style: Style = "text",
    *,
    bold: Bold = "holm",
) -> str:
    """Format results in the layout of Table 1: for every λ one line per method and one column per data set and measure.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels.
    measures : sequence of str, default=("rmse", "auc")
        Any of "rmse", "auc", "nll", "crps", "coverage", "robust_r2", "mean_alpha", "fit_seconds",
        "cpu_seconds".
    style : {"text", "markdown", "latex", "html"}, default="text"
        Format. In text, an asterisk marks bold.
    bold : {"holm", "paper"}, default="holm"
        Which differences count: "holm" corrects the tests of a column for their number, "paper" does not.

    Returns
    -------
    str
        The table.
    """
    stored = list(rows)
    found = {measure: cells(stored, measure, bold=bold) for measure in measures}
    contaminations = sorted({wrong for of_measure in found.values() for _, wrong, _ in of_measure})
    return "\n\n".join(_grid(found, contamination).draw(style) for contamination in contaminations)


def cells(rows: Iterable[Row], measure: str, *, bold: Bold = "holm") -> dict[tuple[str, float, str], Cell]:
    """Summarise a measure over the splits.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels.
    measure : str
        Name of the measure, as for `table`.
    bold : {"holm", "paper"}, default="holm"
        Which differences count, as for `table`.

    Returns
    -------
    dict
        A `Cell` for each (data set, contamination, method).

    Raises
    ------
    ValueError
        If the measure is unknown, the rows have several kinds of wrong labels, or a split occurs twice.
    """
    return {
        (dataset, contamination, method): cell
        for (dataset, contamination), column in sorted(columns(rows, measure).items())
        for method, cell in _column_cells(
            {name: column[name] for name in in_order(set(column))}, measure, bold
        ).items()
    }


def columns(rows: Iterable[Row], measure: str) -> dict[tuple[str, float], dict[str, dict[int, float]]]:
    """Arrange the values of a measure by column of the table, method and split.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels.
    measure : str
        Name of the measure, as for `table`.

    Returns
    -------
    dict
        For each (data set, contamination) and each method, the values by the seed of the split.

    Raises
    ------
    ValueError
        If the measure is unknown, the rows have several kinds of wrong labels, or a split occurs twice.
    """
    if measure not in MEASURES:
        raise ValueError(f"there is no measure {measure!r}; choose one of {', '.join(MEASURES)}")
    found: dict[tuple[str, float], dict[str, dict[int, float]]] = {}
    kinds = set()
    for row in rows:
        value = getattr(row, measure)
        if value is not None:
            kinds.add(row.kind)
            by_seed = found.setdefault((row.dataset, row.contamination), {}).setdefault(row.method, {})
            if row.seed in by_seed:
                raise ValueError(
                    f"{row.dataset}, {shown_percent(row.contamination)}, {row.method} has split {row.seed} twice (with "
                    "another estimator?); choose the rows of one study: Store.rows(specs)"
                )
            by_seed[row.seed] = value
    if len(kinds) > 1:
        raise ValueError(
            f"the rows have several kinds of wrong labels ({', '.join(sorted(kinds))}); choose one"
        )
    return found


def on_shared_splits(rows: Iterable[Row]) -> list[Row]:
    """Keep the splits that all methods of a column have, so that means can be compared.

    Parameters
    ----------
    rows : iterable of Row
        Results.

    Returns
    -------
    list of Row
        For each data set, contamination and kind, the rows of the splits on which every method there was run.
    """
    stored = list(rows)
    seeds: dict[tuple[str, float, str], dict[str, set[int]]] = {}
    for row in stored:
        seeds.setdefault(row[:3], {}).setdefault(row.method, set()).add(row.seed)
    shared = {column: set.intersection(*methods.values()) for column, methods in seeds.items()}
    return [row for row in stored if row.seed in shared[row[:3]]]


def _column_cells(column: Column, measure: str, bold: Bold) -> dict[str, Cell]:
    sign = -1 if measure in _HIGH_IS_GOOD else 1
    losses = {method: {seed: sign * v for seed, v in found.items()} for method, found in column.items()}
    best = set() if measure in _NO_ORDER else best_methods(losses, bold=bold)
    return {method: _cell(list(found.values()), method in best) for method, found in column.items()}


def _cell(values: Sequence[float], bold: bool) -> Cell:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Cell(float(np.mean(values)), std, len(values), bold)


def _grid(found: Mapping[str, Mapping[tuple[str, float, str], Cell]], contamination: float) -> Grid:
    keys = [
        (measure, key)
        for measure, of_measure in found.items()
        for key in of_measure
        if key[1] == contamination
    ]
    datasets = dict.fromkeys(dataset for _, (dataset, _, _) in keys)
    methods = in_order({method for _, (_, _, method) in keys})
    heads_of = [(dataset, measure) for dataset in datasets for measure in found]
    drawn = [
        _column([found[m].get((dataset, contamination, method)) for method in methods])
        for dataset, m in heads_of
    ]
    counts = sorted({found[measure][key].n_splits for measure, key in keys})
    splits = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    title = f"{shown_percent(contamination)}, mean ± std over {splits} split{'' if counts[-1] == 1 else 's'}"
    heads = tuple(
        f"{dataset} {SHOWN.get(measure, measure)}"
        + _fewer(
            [cell.n_splits for key, cell in found[measure].items() if key[:2] == (dataset, contamination)],
            counts[-1],
        )
        for dataset, measure in heads_of
    )
    return Grid(title, heads, tuple(zip(methods, zip(*drawn, strict=True), strict=True)))


def _fewer(column: Sequence[int], usual: int) -> str:
    """A note for a column in which some cells have fewer splits than in the other columns."""
    few = sorted(set(column))
    if not few or few[0] == usual:
        return ""
    return f" ({few[0]} splits)" if few[0] == few[-1] else f" ({few[0]} to {few[-1]} splits)"


def _column(column: Sequence[Cell | None]) -> list[tuple[str, bool]]:
    decimals = _decimals([cell.mean for cell in column if cell is not None])
    return [_shown(cell, decimals) for cell in column]


def in_order(methods: set[str]) -> list[str]:
    """Sort methods: those of the paper first, then trees, then others by name; "X (tuned)" has the place of X."""
    place = {m: k for k, m in enumerate((*table1.METHODS, *trees.METHODS, *table1.OTHER_METHODS))}
    return sorted(methods, key=lambda m: ("(" in m, place.get(m.partition(" (")[0], len(place)), m))


def _shown(cell: Cell | None, decimals: int) -> tuple[str, bool]:
    if cell is None:
        return "–", False
    std = "" if np.isnan(cell.std) else f" ± {cell.std:.{decimals}f}"
    return f"{cell.mean:.{decimals}f}{std}", cell.bold


def _decimals(means: Sequence[float]) -> int:
    """Two decimals as in the paper, or more if needed to show three digits of the typical number."""
    typical = float(np.median(np.abs(means))) if means else 0.0
    return 2 if typical == 0 else int(np.clip(2 - np.floor(np.log10(typical)), 2, 6))
