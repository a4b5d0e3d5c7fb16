"""Draws a `Plot` with matplotlib or plotly."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from levelhead._extras import needed
from levelhead._plot_style import STYLE, shown_once

if TYPE_CHECKING:
    from levelhead.plots.description import Mark, Plot

_WIDTH, _HEIGHT = 4.6, 3.8  # inches of a panel
_PIXELS = 100  # per inch, for plotly
_OPACITY = 0.25  # of bands


def with_matplotlib(plot: "Plot", axes: Any = None) -> Any:
    """Draw a plot with matplotlib, on the given axes or in a new figure."""
    plt = needed("matplotlib.pyplot", "a plot", "plot")
    with plt.rc_context(STYLE):
        if axes is None:
            n = len(plot.panels)
            figure, axes = plt.subplots(1, n, figsize=(_WIDTH * n, _HEIGHT), layout="constrained")
            shown_once(figure)
        given = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
        if len(given) != len(plot.panels):
            raise ValueError(f"the plot has {len(plot.panels)} panels, but {len(given)} axes were given")
        for panel, ax in zip(plot.panels, given, strict=True):
            for mark in panel.marks:
                _draw(ax, mark)
            ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
            if any(mark.label for mark in panel.marks):
                ax.legend()
    return given[0].figure


def _draw(ax: Any, mark: "Mark") -> None:
    named = {"color": mark.colour, "label": mark.label or None}
    if mark.kind == "band":
        ax.fill_between(mark.x, mark.y, mark.upper, alpha=_OPACITY, lw=0, **named)
    elif mark.kind == "bars":
        ax.barh(mark.y, mark.x, **named)
    elif mark.kind == "line":
        ax.plot(mark.x, mark.y, "--" if mark.dashed else "-", **named)
    else:
        style, size = (".", 4) if mark.kind == "points" else ("x", 6)
        ax.plot(mark.x, mark.y, style, ms=size, **named)


def with_plotly(plot: "Plot") -> Any:
    """Draw a plot with plotly."""
    make = needed("plotly.subplots", "a plot", "report").make_subplots
    n = len(plot.panels)
    figure = make(1, n, subplot_titles=[panel.title for panel in plot.panels])
    shown: set[str] = set()
    for k, panel in enumerate(plot.panels, start=1):
        for mark in panel.marks:
            for trace in _traces(mark):
                trace["showlegend"] = (
                    bool(mark.label) and mark.label not in shown and trace.pop("named", True)
                )
                figure.add_trace(trace, 1, k)
            shown.add(mark.label)
        figure.update_xaxes(title_text=panel.x_label, row=1, col=k)
        figure.update_yaxes(title_text=panel.y_label, row=1, col=k)
    figure.update_layout(width=_PIXELS * _WIDTH * n, height=_PIXELS * _HEIGHT, template="plotly_white")
    return figure


def _traces(mark: "Mark") -> list[dict[str, Any]]:
    """Traces of plotly; a band is the area between two lines."""
    base = {"type": "scatter", "x": mark.x, "y": mark.y, "name": mark.label}
    if mark.kind == "band":
        edge = base | {"mode": "lines", "line": {"width": 0, "color": mark.colour}}
        red, green, blue = (int(mark.colour[k : k + 2], 16) for k in (1, 3, 5))
        fill = {"y": mark.upper, "fill": "tonexty", "fillcolor": f"rgba({red}, {green}, {blue}, {_OPACITY})"}
        return [edge | {"named": False}, edge | fill]
    if mark.kind == "bars":
        return [base | {"type": "bar", "orientation": "h", "marker": {"color": mark.colour}}]
    if mark.kind == "line":
        return [
            base
            | {"mode": "lines", "line": {"color": mark.colour, "dash": "dash" if mark.dashed else "solid"}}
        ]
    symbol = "circle" if mark.kind == "points" else "x"
    return [base | {"mode": "markers", "marker": {"color": mark.colour, "symbol": symbol, "size": 5}}]


def png(plot: "Plot") -> bytes:
    """Draw a plot as a picture, for notebooks."""
    plt = needed("matplotlib.pyplot", "a plot", "plot")
    figure = with_matplotlib(plot)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_PIXELS)
    plt.close(figure)
    return buffer.getvalue()
