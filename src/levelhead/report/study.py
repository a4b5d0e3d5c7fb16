"""The page of a study: Table 1 next to the paper, figures, and the distribution over the splits."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead.report.page import Panel, plot_text, render, write
from levelhead.study.curves import Curve
from levelhead.study.paper.comparison import Agreement, Compared, agreement, compared
from levelhead.study.paper.published import table1
from levelhead.study.specs import percent, shown_percent
from levelhead.study.store import Row
from levelhead.study.tables import SHOWN, Cell, cells, in_order

MEASURES = ("rmse", "auc", "nll", "crps", "coverage")
_COLOURS = {"GCP": "var(--blue)", "Beta": "var(--red)", "Gamma": "var(--amber)", "Gaussian": "var(--grey)"}
_OTHERS = {"GCP_St": "#9b6bd3", "Beta_Bayes": "var(--green)"}
_UNKNOWN = ("#8a4f7d", "#cc79a7", "#00a0a0", "#9a6324")


class Shown(NamedTuple):
    """A cell of the table.

    Attributes
    ----------
    ours : str
        Our mean and standard deviation.
    paper : str
        Mean of the paper and difference in standard errors.
    bold : bool
        Whether no other method is significantly better.
    far : bool
        Whether the difference is larger than two standard errors.
    """

    ours: str
    paper: str
    bold: bool
    far: bool


Cells = Mapping[str, Mapping[tuple[str, float, str], Cell]]
Place = tuple[str, float, str, str]  # data set, contamination, method, measure


def study_report(
    rows: Iterable[Row],
    path: str | os.PathLike[str],
    curves: Sequence[Curve] = (),
    *,
    title: str = "A study",
    overwrite: bool = False,
) -> None:
    """Write the results of a study as an HTML page that works offline.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels.
    path : path-like
        File to write.
    curves : sequence of Curve, default=()
        Mean curves RMSE(n) (`mean_curves`, `read_curves`) to show.
    title : str, default="A study"
        Title of the page.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Raises
    ------
    ValueError
        If there are no finished runs.
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    stored = list(rows)
    found = {measure: cells(stored, measure) for measure in MEASURES}
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in found["rmse"]))
    if not datasets:
        raise ValueError("there are no finished runs to show")
    published = {(c.dataset, c.contamination, c.method, c.measure): c for c in compared(stored)}
    kinds = {row.kind for row in stored}
    own = [curve for curve in curves if curve.kind in kinds]
    page = render(
        "study.html",
        title=title,
        summary=_summary(stored, found),
        tiles=_tiles(len(stored), agreement(published.values())),
        tables=[
            _table(found, published, dataset, measure)
            for dataset in datasets
            for measure in ("rmse", "auc")
            if any(key[0] == dataset for key in found[measure])  # no method of a table may have a variance
        ],
        against=[_against(found, k, dataset) for k, dataset in enumerate(datasets)],
        retention=[
            _retention(own, k, dataset)
            for k, dataset in enumerate(datasets)
            if any(curve.dataset == dataset for curve in own)
        ],
        spread=[_distributions(stored, k, dataset) for k, dataset in enumerate(datasets)],
    )
    write(Path(path), page, overwrite=overwrite)


def _summary(rows: Sequence[Row], found: Cells) -> str:
    counts = sorted({cell.n_splits for cell in found["rmse"].values()})
    splits = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    return (
        f"{len({r.dataset for r in rows})} data sets, {len({r.method for r in rows})} methods, {splits} splits in each "
        f"cell; wrong labels: {rows[0].kind}."
    )


def _tiles(n_rows: int, lines: Sequence[Agreement]) -> list[tuple[str, str]]:
    tiles = [(f"{n_rows:,}", "results")]
    if lines:
        total = sum(line.cells for line in lines)
        for k, word in (("within_one", "one standard error"), ("within_two", "two standard errors")):
            share = sum(getattr(line, k) for line in lines) / total
            tiles.append((f"{share:.0%}", f"of {total} cells within {word} of the paper"))
        ours = [line for line in lines if "GCP" in line.method]
        if ours:
            share = sum(line.within_two for line in ours) / sum(line.cells for line in ours)
            tiles.append((f"{share:.0%}", "of the GCP cells within two standard errors"))
    return tiles


def _table(found: Cells, published: Mapping[Place, Compared], dataset: str, measure: str) -> dict[str, Any]:
    """One line per method, one column per λ."""
    keys = [key for key in found[measure] if key[0] == dataset]
    contaminations = sorted({contamination for _, contamination, _ in keys})

    def shown(contamination: float, method: str) -> Shown:
        key = dataset, contamination, method
        return _shown(found[measure].get(key), published.get((*key, measure)))

    methods = in_order({method for _, _, method in keys})
    lines = [(method, [shown(wrong, method) for wrong in contaminations]) for method in methods]
    return {
        "caption": f"{dataset}, {SHOWN[measure]}",
        "heads": [shown_percent(contamination) for contamination in contaminations],
        "lines": lines,
    }


def _shown(cell: Cell | None, published: Compared | None) -> Shown:
    if cell is None:
        return Shown("–", "", False, False)
    std = "" if np.isnan(cell.std) else f" ± {_short(cell.std)}"
    paper = "" if published is None else f"paper {published.paper:.2f}, {published.difference:+.1f} SE"
    far = published is not None and abs(published.difference) > 2
    return Shown(f"{_short(cell.mean)}{std}", paper, cell.bold, far)


def _against(found: Cells, k: int, dataset: str) -> Panel:
    """Every measure against λ, selected by a menu; crosses are the numbers of the paper."""
    methods = in_order({m for d, _, m in found["rmse"] if d == dataset})
    traces: list[dict[str, Any]] = []
    choices: dict[str, list[Any]] = {measure: [] for measure in MEASURES}
    bars: dict[str, list[Any]] = {measure: [] for measure in MEASURES}
    for method in methods:
        keys = sorted(key for key in found["rmse"] if key[0] == dataset and key[2] == method)
        traces.append(_line(method, [percent(contamination) for _, contamination, _ in keys]))
        for measure in MEASURES:
            line = [found[measure].get(key) for key in keys]  # None: a method without a variance
            choices[measure].append([None if cell is None else cell.mean for cell in line])
            bars[measure].append([_standard_error(cell) for cell in line])
        facts = {key: table1()[key] for key in keys if key in table1()}
        if facts:
            traces.append(_published(method, [percent(contamination) for _, contamination, _ in facts]))
            for measure in MEASURES:
                known = [getattr(fact, measure, None) for fact in facts.values()]
                choices[measure].append(known)
                bars[measure].append([None] * len(known))
    first = _first_measure(value for line in choices["auc"] for value in line)
    for trace, y, error in zip(traces, choices[first], bars[first], strict=True):
        trace |= {"y": y, "error_y": {"type": "data", "array": error, "thickness": 1, "width": 0}}
    menu = [
        {"label": SHOWN.get(m, m), "method": "restyle", "args": [{"y": choices[m], "error_y.array": bars[m]}]}
        for m in MEASURES
    ]
    layout = {
        "xaxis": {"title": {"text": "λ, % of wrong labels"}},
        "updatemenus": [_menu(menu, MEASURES.index(first))],
    }
    text = "Bars: standard errors. Crosses: the paper. Click a name to show or hide it, double-click to show it alone."
    return Panel(f"against-{k}", dataset, {"data": traces, "layout": layout | _LEGEND}, text, height=430)


def _standard_error(cell: Cell | None) -> float:
    return 0.0 if cell is None or cell.n_splits < 2 else cell.std / float(np.sqrt(cell.n_splits))


def _retention(curves: Sequence[Curve], k: int, dataset: str) -> Panel:
    """RMSE(n) for one λ, selected by a menu."""
    own = [curve for curve in curves if curve.dataset == dataset]
    contaminations, methods = sorted({c.contamination for c in own}), in_order({c.method for c in own})
    by_cell = {(c.contamination, c.method): c.rmse for c in own}
    first = 0.05 if 0.05 in contaminations else contaminations[0]
    traces = []
    for method in methods:
        y = list(by_cell.get((first, method), ()))
        traces.append(_line(method, list(range(len(y)))) | {"y": y, "mode": "lines"})
    menu = [
        {
            "label": shown_percent(contamination),
            "method": "restyle",
            "args": [
                {
                    "y": [list(by_cell.get((contamination, m), ())) for m in methods],
                    "x": [list(range(len(by_cell.get((contamination, m), ())))) for m in methods],
                }
            ],
        }
        for contamination in contaminations
    ]
    layout = {
        "xaxis": {"title": {"text": "n, rows left out"}},
        "updatemenus": [_menu(menu, contaminations.index(first))],
    }
    text = "RMSE without the n most uncertain test rows, mean over the splits."
    return Panel(f"retention-{k}", dataset, {"data": traces, "layout": layout | _LEGEND}, text, height=430)


def _distributions(rows: Sequence[Row], k: int, dataset: str) -> Panel:
    """A box for every method and λ; the measure is selected by a menu."""
    own = sorted(
        (row for row in rows if row.dataset == dataset), key=lambda row: (row.contamination, row.seed)
    )
    methods = in_order({row.method for row in own})
    grouped = {method: [row for row in own if row.method == method] for method in methods}
    first = _first_measure(row.auc for row in own)
    traces = [
        {
            "type": "box",
            "name": plot_text(method),
            "x": [shown_percent(row.contamination) for row in grouped[method]],
            "y": [_rounded(getattr(row, first)) for row in grouped[method]],
            "text": [f"split {row.seed}" for row in grouped[method]],
            "marker": {"color": _colour(method), "size": 3},
            "line": {"width": 1.2},
            **({} if method.startswith("Ens") else {"fillcolor": "rgba(0,0,0,0)"}),
            "boxpoints": "outliers",
        }
        for method in methods
    ]
    menu = [
        {
            "label": SHOWN.get(measure, measure),
            "method": "restyle",
            "args": [{"y": [[_rounded(getattr(r, measure)) for r in grouped[m]] for m in methods]}],
        }
        for measure in MEASURES
    ]
    layout = {"boxmode": "group", "updatemenus": [_menu(menu, MEASURES.index(first))]}
    text = (
        "Each box shows the splits of one cell of the table; filled boxes are ensembles. Drag to zoom; hover over a "
        "point to see its split."
    )
    figure = {"data": traces, "layout": layout | _LEGEND}
    return Panel(f"spread-{k}", dataset, figure, text, wide=True, height=470)


_LEGEND = {"margin": {"l": 48, "r": 12, "t": 56, "b": 40}, "legend": {"orientation": "h", "y": -0.18, "x": 0}}


def _menu(buttons: list[dict[str, Any]], active: int) -> dict[str, Any]:
    return {
        "buttons": buttons,
        "active": active,
        "x": 0,
        "xanchor": "left",
        "y": 1.02,
        "yanchor": "bottom",
        "bgcolor": "var(--raised)",
        "bordercolor": "var(--line)",
        "font": {"color": "var(--ink)"},
    }


def _line(method: str, x: list[Any]) -> dict[str, Any]:
    single = not method.startswith("Ens")
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plot_text(method),
        "legendgroup": plot_text(method),
        "x": x,
        "line": {
            "color": _colour(method),
            "dash": "dot" if single else "solid",
            "width": 1.6 if single else 2.4,
        },
        "marker": {"size": 6},
        "visible": _visible(method),
    }


def _published(method: str, x: list[Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{plot_text(method)}, paper",
        "legendgroup": plot_text(method),
        "showlegend": False,
        "x": x,
        "visible": _visible(method),
        "marker": {"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": _colour(method)}},
    }


def _visible(method: str) -> bool | str:
    """Show the ensembles and GCP at first, so that the figure is readable; the reader can add the others."""
    return "legendonly" if method in ("Beta", "Gamma", "Gaussian") else True


def _colour(method: str) -> str:
    family = method.removeprefix("Ens")
    known = {**_COLOURS, **_OTHERS}.get(family)
    return known or _UNKNOWN[sum(map(ord, method)) % len(_UNKNOWN)]


def _first_measure(areas: Iterable[float | None]) -> str:
    """The measure that a figure shows first: AUC, or RMSE if no method has a variance."""
    return "rmse" if all(area is None for area in areas) else "auc"


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.5g}")


def _short(number: float) -> str:
    return (
        f"{number:.2f}" if abs(number) >= 0.5 else f"{number:.3f}" if abs(number) >= 0.05 else f"{number:.4f}"
    )
