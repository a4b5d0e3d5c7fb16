"""Figures 3 and 5 of the paper, and one for other kinds of wrong labels, from stored results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from levelhead._deprecated import percentages, renamed_function
from levelhead._extras import needed
from levelhead._plot_style import INK, STYLE
from levelhead.study.curves import Curve, mean_curves
from levelhead.study.line_styles import LineStyle, line_styles, math_name
from levelhead.study.ratios import ratios
from levelhead.study.specs import Spec, percent
from levelhead.study.store import Row, Store
from levelhead.study.tables import SHOWN, Cell, cells, in_order

_WIDTH, _HEIGHT = 2.9, 2.6  # inches of one panel: three fit the width of a printed page
_COLUMNS = 3
_ENTRY, _LETTER = 0.65, 0.075  # inches of a line in a legend, and of a letter beside it
_YARDSTICK = "Gaussian"
_CONTAMINATION = "λ, % of wrong labels"
_Cells = Mapping[tuple[str, float, str], Cell]  # by data set, contamination and method


def measure_against_contamination(
    rows: Iterable[Row], measure: str = "auc", methods: Sequence[str] | None = None
) -> Any:
    """Plot a measure against the contamination with standard errors, one panel per data set (Figure 3 for "auc").

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels.
    measure : str, default="auc"
        Name of the measure, as for `table`.
    methods : sequence of str or None, default=None
        Methods to draw; by default all.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; `figure.savefig("auc.svg")` saves it.
    """
    found = _chosen(rows, measure, methods)
    styles = _line_styles(found)

    def draw(axes: Any, dataset: str) -> None:
        _keep_in_scale(axes, _draw_lines(axes, found, dataset, styles))

    return _panels(_datasets(found), draw, SHOWN.get(measure, measure))


measure_against_share = renamed_function("measure_against_share", measure_against_contamination)


def measure_by_kind(
    kinds: Mapping[str, Iterable[Row]], measure: str = "rmse", methods: Sequence[str] | None = None
) -> Any:
    """Plot a measure against the contamination for several kinds of wrong labels, one row of panels per kind.

    The scale of the measure is logarithmic.

    Parameters
    ----------
    kinds : mapping of str to iterable of Row
        Results of each kind of wrong labels, by the name to show.
    measure : str, default="rmse"
        Name of the measure, as for `table`.
    methods : sequence of str or None, default=None
        Methods to draw; by default all.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    by_kind = {kind: _chosen(rows, measure, methods) for kind, rows in kinds.items()}
    everything = {key: cell for found in by_kind.values() for key, cell in found.items()}
    datasets, styles = _datasets(everything), _line_styles(everything)
    panels = {f"{dataset}, {kind}": (kind, dataset) for kind in by_kind for dataset in datasets}

    def draw(axes: Any, title: str) -> None:
        kind, dataset = panels[title]
        _logarithmic(axes)
        _draw_lines(axes, by_kind[kind], dataset, styles)

    return _panels(list(panels), draw, SHOWN.get(measure, measure), len(datasets))


def ratios_by_kind(
    kinds: Mapping[str, Iterable[Row]], reference: str, measures: Sequence[str] = ("rmse", "auc")
) -> Any:
    """Plot measures of all methods, divided by those of a reference and averaged over the data sets, against λ.

    The scale is logarithmic; bars are standard errors.

    Parameters
    ----------
    kinds : mapping of str to iterable of Row
        Results of each kind of wrong labels, by the name to show: one column of panels per kind.
    reference : str
        Name of the method to divide by.
    measures : sequence of str, default=("rmse", "auc")
        Names of measures, as for `ratios`: one row of panels per measure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    stored = {kind: list(rows) for kind, rows in kinds.items()}
    panels = {
        f"{SHOWN.get(measure, measure)}, {kind}": ratios(rows, measure, reference)
        for measure in measures
        for kind, rows in stored.items()
    }
    styles = line_styles(in_order({method for found in panels.values() for _, method in found}))

    def draw(axes: Any, title: str) -> None:
        _logarithmic(axes, ticks=(1, 1.5, 2, 3, 5, 7))
        for name, style in styles.items():
            line = [(percent(wrong), r) for (wrong, method), r in panels[title].items() if method == name]
            means = np.array([ratio.mean for _, ratio in line])
            errors = [means - [r.low for _, r in line], [r.high for _, r in line] - means]
            options = {"elinewidth": 0.8, **style.plot_options(math_name(name))}
            axes.errorbar([wrong for wrong, _ in line], means, errors, **options)
        axes.set_xlabel(_CONTAMINATION)

    return _panels(list(panels), draw, f"ratio to {math_name(reference)}", len(stored))


@percentages("share")
def retention_curves(
    store: Store,
    contamination: float = 0.05,
    methods: Sequence[str] | None = None,
    specs: Iterable[Spec] | None = None,
) -> Any:
    """Plot RMSE(n) without the n most uncertain test rows, mean over the splits (Figure 5 for 5 % of wrong labels).

    Parameters
    ----------
    store : Store
        Results.
    contamination : float, default=0.05
        Share of wrong labels, a fraction.
    methods : sequence of str or None, default=None
        Methods to draw; by default all.
    specs : iterable of Spec or None, default=None
        Only runs of these specs; by default all.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    found = [curve for curve in mean_curves(store, specs) if curve.contamination == contamination]
    return retention([curve for curve in found if methods is None or curve.method in methods])


def retention(curves: Sequence[Curve]) -> Any:
    """Plot curves RMSE(n), one panel per data set.

    Parameters
    ----------
    curves : sequence of Curve
        Curves, all with the same contamination and kind of wrong labels.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    kinds = {(curve.contamination, curve.kind) for curve in curves}
    if len(kinds) > 1:
        raise ValueError(f"curves of several contaminations or kinds ({sorted(kinds)}); choose one")
    names = in_order({curve.method for curve in curves})
    styles = line_styles(names)

    def draw(axes: Any, dataset: str) -> None:
        lines = {curve.method: curve.rmse for curve in curves if curve.dataset == dataset}
        for name in names:
            if name in lines:
                drawn = {**styles[name].plot_options(math_name(name)), "marker": ""}
                axes.plot(np.arange(len(lines[name])), lines[name], **drawn)
        _keep_in_scale(axes, lines)
        axes.set_xlabel("n, rows left out")

    return _panels(list(dict.fromkeys(curve.dataset for curve in curves)), draw, "RMSE(n)")


def save(figure: Any, path: Path) -> None:
    """Save a figure; the same figure gives the same file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : Path
        File to write; its suffix determines the format.
    """
    dated = {".svg": {"Date": None, "Creator": None}, ".pdf": {"CreationDate": None}}
    with styled():
        figure.savefig(path, dpi=200, metadata=dated.get(path.suffix.lower()))


@contextmanager
def styled() -> Iterator[Callable[..., Any]]:
    """Set the plot style while a figure is drawn; yields the class of figures, which open no window."""
    figure = needed("matplotlib.figure", "a figure", "plot")
    with needed("matplotlib", "a figure", "plot").rc_context(STYLE):
        yield figure.Figure


def _chosen(rows: Iterable[Row], measure: str, methods: Sequence[str] | None) -> _Cells:
    found = cells(rows, measure)
    return {key: cell for key, cell in found.items() if methods is None or key[2] in methods}


def _datasets(found: _Cells) -> list[str]:
    return list(dict.fromkeys(dataset for dataset, _, _ in found))


def _line_styles(found: _Cells) -> dict[str, LineStyle]:
    return line_styles(in_order({method for _, _, method in found}))


def _draw_lines(
    axes: Any, found: _Cells, dataset: str, styles: Mapping[str, LineStyle]
) -> dict[str, list[float]]:
    """Draw one line per method against λ, with standard errors; returns the means."""
    means = {}
    for name in styles:
        line = _line(found, dataset, name)
        if line:
            error = [0.0 if cell.n_splits < 2 else cell.std / np.sqrt(cell.n_splits) for _, cell in line]
            means[name] = [cell.mean for _, cell in line]
            percentages_wrong = [percent(contamination) for contamination, _ in line]
            axes.errorbar(
                percentages_wrong,
                means[name],
                error,
                elinewidth=0.8,
                **styles[name].plot_options(math_name(name)),
            )
    axes.set_xlabel(_CONTAMINATION)
    return means


def _logarithmic(axes: Any, ticks: Sequence[float] = (1, 2, 5)) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=ticks))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _line(found: _Cells, dataset: str, method: str) -> list[tuple[float, Cell]]:
    line = [(key[1], cell) for key, cell in found.items() if key[0] == dataset and key[2] == method]
    return sorted(line, key=lambda pair: pair[0])


def _keep_in_scale(axes: Any, lines: Mapping[str, Sequence[float]]) -> None:
    """Let the method that is not robust leave the panel, so that the others can be distinguished."""
    robust = [value for name, values in lines.items() if name != _YARDSTICK for value in values]
    if robust and max(lines.get(_YARDSTICK, robust)) > max(robust) > min(robust):
        room = 0.06 * (max(robust) - min(robust))
        axes.set_ylim(min(robust) - room, max(robust) + room)


def _panels(
    titles: Sequence[str], draw: Callable[[Any, str], None], label: str, n_columns: int = _COLUMNS
) -> Any:
    if not titles:
        raise ValueError("there are no stored results for these methods and this λ")
    n_columns = min(n_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    inside = n_rows * n_columns > len(titles)  # an empty place holds the legend
    with styled() as new_figure:
        figure = new_figure(figsize=(_WIDTH * n_columns, _HEIGHT * n_rows + (0 if inside else 0.6)))
        places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for k, (axes, title) in enumerate(zip(places, titles, strict=False)):
            draw(axes, title)
            axes.set_title(title)
            axes.tick_params(labelsize=8)
            if k % n_columns == 0:
                axes.set_ylabel(label)
        for axes in places[len(titles) :]:
            figure.delaxes(axes)
        _legend(figure, places, inside, n_rows, n_columns)
    return figure


def _legend(figure: Any, places: Any, inside: bool, n_rows: int, n_columns: int) -> None:
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    options = {"frameon": False, "fontsize": 9, "labelcolor": INK, "handlelength": 3.2}
    if inside:
        box = places[-1].get_subplotspec().get_position(figure)
        anchor = (box.x0, 0.02, 1 - box.x0, 0.96 / n_rows)
        figure.legend(handles.values(), handles, loc="center", bbox_to_anchor=anchor, **options)
    else:
        room = int(_WIDTH * n_columns / (_ENTRY + _LETTER * max(map(len, handles), default=0)))
        columns = max(1, min(len(handles), 2 * n_columns, room))
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, **options)
