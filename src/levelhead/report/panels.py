"""The figures of an audit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead import metrics
from levelhead.audits import Audit
from levelhead.report.page import Panel, plot_text

FloatArray = NDArray[np.float64]
Index = NDArray[np.intp]
Titled = tuple[FloatArray, str]

_MOST_POINTS = 1200  # of a kind: more only lie on top of each other, and make a browser slow
_CELLS = 160, 90  # a plot's points are thinned to one in each cell
_CURVE = 400
_KINDS = (("fully trusted", "var(--grey)"), ("in doubt", "var(--mid)"), ("flagged", "var(--red)"))
_Z_TICKS = np.array([-10000, -1000, -100, -30, -10, -3, 0, 3, 10, 30, 100, 1000, 10000])


def of_audit(
    audit: Audit,
    verdict: NDArray[np.uint8],
    position: NDArray[np.int32],
    row: Index,
    target: str,
    log_scale: bool = False,
) -> list[Panel]:
    """Create all figures of an audit; the first is shown next to the table.

    Parameters
    ----------
    audit : Audit
        Result of an audit.
    verdict : ndarray of uint8 of shape (n_labels,)
        0 fully trusted, 1 in doubt, 2 flagged.
    position : ndarray of int of shape (n_labels,)
        Index of each label among those in the page; −1 if it is not in the page.
    row : ndarray of int of shape (n_labels,)
        Row number of each label, counted from 1.
    target : str
        Name of the label.
    log_scale : bool, default=False
        Whether labels are drawn on logarithmic axes.

    Returns
    -------
    list of Panel
        The figures.
    """
    draw = _Drawer(verdict, position, row)
    name = plot_text(target)
    return [
        Panel(
            "labels",
            "Given against expected",
            _labels(audit, draw, name, log_scale),
            "Each point is a label. On the line, it equals the prediction of models that were not trained on it.",
            height=300,
        ),
        Panel(
            "scores",
            "Residuals in units of the noise",
            draw.points((row.astype(np.float64), "row"), (np.arcsinh(audit.z), "z"), y_axis=_z_axis(audit.z)),
            "z = (given − expected)/std, in the order of the rows. Wrong labels in consecutive rows form a cluster.",
        ),
        Panel(
            "probability",
            "Probability that a label is wrong",
            _histogram(audit.p_outlier, verdict),
            _doubtful(verdict),
        ),
        *_spreads(audit, draw, f"expected {name}"),
        _retention(audit, name),
        _calibration(audit),
    ]


def _labels(audit: Audit, draw: "_Drawer", name: str, log_scale: bool) -> dict[str, Any]:
    """Given against expected labels."""
    expected, given = audit.predicted_label, audit.given_label
    if not log_scale or not (expected > 0).any() or not (given > 0).any():
        return draw.points(
            (expected, f"expected {name}"), (given, f"given {name}"), shapes=[_diagonal(expected)]
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = np.log10(expected), np.log10(given)
    figure = draw.points(
        (x, f"expected {name}"), (y, f"given {name}"), _log_axis(given), [_diagonal(x[np.isfinite(x)])]
    )
    figure["layout"]["xaxis"] |= _log_axis(expected)
    return figure


def _spreads(audit: Audit, draw: "_Drawer", expected: str) -> list[Panel]:
    """Standard deviation and, if the model has it, α."""
    shown = [
        (
            "spread",
            "Noise of the clean labels",
            (audit.std, "standard deviation"),
            "Standard deviation of clean labels around the prediction. Where it is large, only large errors are found.",
        )
    ]
    if alpha_varies(audit):
        text = "α of each prediction. Where it is small, many labels nearby are wrong."
        shown.append(("alpha", "α of the predictions", (audit.alpha, "α"), text))
    return [
        Panel(
            name,
            title,
            draw.points((audit.predicted_label, expected), (np.log10(y), words), y_axis=_log_axis(y)),
            text,
        )
        for name, title, (y, words), text in shown
    ]


def alpha_varies(audit: Audit) -> bool:
    """Whether the model has an α that differs from row to row."""
    known = audit.alpha[np.isfinite(audit.alpha)]
    return known.size > 0 and bool(known.max() > 1.001 * known.min())


class _Drawer:
    """Draws rows as points, with a marker for each verdict."""

    def __init__(self, verdict: NDArray[np.uint8], position: NDArray[np.int32], row: Index) -> None:
        self.verdict, self.position, self.row = verdict, position, row

    def points(
        self, abscissa: Titled, ordinate: Titled, y_axis: dict[str, Any] | None = None, shapes: Any = ()
    ) -> dict[str, Any]:
        (x, x_title), (y, y_title) = abscissa, ordinate
        known = np.isfinite(x) & np.isfinite(y)
        traces = [
            self.trace(x, y, np.flatnonzero(known & (self.verdict == kind)), kind)
            for kind in range(len(_KINDS))
        ]
        layout = {
            "xaxis": {"title": {"text": x_title}},
            "yaxis": {"title": {"text": y_title}, **(y_axis or {})},
            "shapes": list(shapes),
        }
        return {"data": [trace for trace in traces if len(trace["x"])], "layout": layout}

    def trace(self, x: FloatArray, y: FloatArray, rows: Index, kind: int) -> dict[str, Any]:
        name, color = _KINDS[kind]
        chosen = rows[thinned(x[rows], y[rows], _MOST_POINTS)]
        return {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": x[chosen],
            "y": y[chosen],
            "text": self.row[chosen].tolist(),
            "customdata": self.position[chosen],
            "marker": _marker(kind, color, len(chosen)),
            "hovertemplate": f"row %{{text}}, {name}<extra></extra>",
        }


def _marker(kind: int, color: str, count: int) -> dict[str, Any]:
    """A dot, a ring or a cross; smaller and fainter where there are many."""
    if kind == 0:
        return {"color": color, "size": 4, "opacity": 0.45}
    symbol, size = (("circle-open", 6), ("x-thin-open", 7))[kind - 1]
    many = count > 500
    line = {"width": 1.1 if many else 1.8}
    return {
        "color": color,
        "symbol": symbol,
        "size": size - 2 if many else size,
        "line": line,
        "opacity": 0.6 if many else 1,
    }


def thinned(x: FloatArray, y: FloatArray, most: int) -> Index:
    """Select points that look like all of them: one per cell of a grid, at most `most` in total."""
    if x.size <= most:
        return np.arange(x.size)
    cells = [
        np.floor((values - values.min()) / (np.ptp(values) or 1.0) * (count - 1)).astype(np.int64)
        for values, count in zip((x, y), _CELLS, strict=True)
    ]
    _, first = np.unique(cells[0] * _CELLS[1] + cells[1], return_index=True)
    if first.size > most:
        first = np.random.default_rng(0).choice(first, most, replace=False)
    return np.sort(first)


def _diagonal(expected: FloatArray) -> dict[str, Any]:
    low, high = float(expected.min()), float(expected.max())
    line = {"type": "line", "x0": low, "y0": low, "x1": high, "y1": high, "layer": "below"}
    return line | {"line": {"color": "var(--blue)", "width": 1.4}}


def _z_axis(z: FloatArray) -> dict[str, Any]:
    reach = np.abs(z).max()
    ticks = _Z_TICKS[np.abs(_Z_TICKS) <= max(10, 1.5 * reach)]
    if len(ticks) > 9:
        ticks = ticks[np.abs(ticks) != 30]
    return {"tickvals": np.arcsinh(ticks), "ticktext": [f"{tick:,}".replace("-", "−") for tick in ticks]}


def _log_axis(values: FloatArray) -> dict[str, Any]:
    """Ticks for a plot of log10(values); on plotly's own logarithmic axes, rings around points are distorted."""
    known = values[np.isfinite(values) & (values > 0)]
    low, high = np.log10(known.min()), np.log10(known.max())
    fine = (1, 1.5, 2, 3, 4, 5, 7) if high - low < 0.9 else (1, 2, 5)
    steps = fine if high - low < 2.5 else (1,)
    decades = np.arange(np.floor(low), np.ceil(high) + 1, max(1, (high - low) // 6))
    ticks = np.array([step * 10.0**decade for decade in decades for step in steps])
    ticks = ticks[(np.log10(ticks) > low - 0.3) & (np.log10(ticks) < high + 0.3)]
    room = max(0.15 - 0.5 * (high - low), 0.06 * (high - low))  # also where all values are equal
    return {
        "tickvals": np.log10(ticks),
        "ticktext": [f"{tick:.6g}" for tick in ticks],
        "range": [low - room, high + room],
    }


def _histogram(p: FloatArray, verdict: NDArray[np.uint8]) -> dict[str, Any]:
    edges = np.linspace(0, 1, 41)
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": (edges[1:] + edges[:-1]) / 2,
            "y": np.histogram(p[verdict == kind], edges)[0].astype(np.float64),
            "marker": {"color": color},
            "hovertemplate": f"%{{y}} labels around %{{x:.0%}}<extra>{name}</extra>",
        }
        for kind, (name, color) in enumerate(_KINDS)
        if (verdict == kind).any()
    ]
    layout = {
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "barmode": "stack",
        "bargap": 0.08,
        "xaxis": {"title": {"text": "probability that the label is wrong"}, "tickformat": ".0%"},
        "yaxis": {"title": {"text": "labels"}, "type": "log", "dtick": 1},
    }
    return {"data": bars, "layout": layout}


def _doubtful(verdict: NDArray[np.uint8]) -> str:
    unclear = int((verdict == 1).sum())
    return (
        "The fewer labels lie between 0 and 100 %, the clearer the result. "
        f"{unclear:,} of {len(verdict):,} labels are in doubt."
    )


def _retention(audit: Audit, name: str) -> Panel:
    """RMSE(n) of all labels and of those not flagged, and the best possible curve."""
    kept = ~audit.is_label_issue
    y, mean, var = audit.given_label, audit.predicted_label, audit.std**2
    curves = [("all labels", "var(--red)", "dot", metrics.retention_curve(y, mean, var))]
    if 1 < kept.sum() < len(audit):
        without = metrics.retention_curve(y[kept], mean[kept], var[kept])
        curves.append(("not flagged", "var(--blue)", "solid", without))
    axis = _error_axis([curve for *_, curve in curves])
    if kept.sum() > 1:
        curves.append(("best possible", "var(--grey)", "dash", metrics.oracle_curve(y[kept], mean[kept])))
    traces = []
    for label, color, dash, curve in curves:
        at = np.unique(np.linspace(0, len(curve) - 1, _CURVE).astype(int))
        traces.append(_line(label, color, dash, at / len(curve), curve[at]))
    layout = {
        "xaxis": {"title": {"text": "share of rows left out"}, "tickformat": ".0%"},
        "yaxis": {"title": {"text": f"RMSE of {name}"}, **axis},
    }
    text = (
        "RMSE(n): the error without the n most uncertain rows. A falling curve means that large uncertainty goes with "
        "large errors. The best possible curve orders the rows by their true errors."
    )
    return Panel(
        "retention", "Does the uncertainty predict the error?", {"data": traces, "layout": layout}, text
    )


def _error_axis(curves: list[FloatArray]) -> dict[str, Any]:
    """Logarithmic, without the last few rows of a curve, whose error may be almost 0."""
    low = min(curve[: max(1, int(0.95 * len(curve)))].min() for curve in curves)
    high = max(curve.max() for curve in curves)
    return {"type": "log", "range": [np.log10(low / 3), np.log10(1.5 * high)]} if low > 0 else {}


def _calibration(audit: Audit) -> Panel:
    """Observed against expected shares below each quantile; clean labels are weighted by 1 − p_outlier."""
    y, mean, var = audit.given_label, audit.predicted_label, audit.std**2
    traces = []
    weighted: list[tuple[str, str, str, FloatArray | None]] = [("all labels", "var(--red)", "dot", None)]
    if audit.label_quality.sum() > 0:
        weighted.append(("clean labels", "var(--blue)", "solid", audit.label_quality))
    for label, color, dash, weight in weighted:
        curve = metrics.calibration_curve(y, mean, var, sample_weight=weight)
        traces.append(_line(label, color, dash, curve.expected, curve.observed))
    error = metrics.calibration_error(y, mean, var, sample_weight=weighted[-1][-1])
    ideal = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "layer": "below"}
    layout = {
        "shapes": [ideal | {"line": {"color": "var(--grey)", "width": 1.2, "dash": "dash"}}],
        "xaxis": {"title": {"text": "expected share"}, "tickformat": ".0%"},
        "yaxis": {"title": {"text": "observed share"}, "tickformat": ".0%"},
    }
    text = (
        "On the dashed line, each predicted quantile has the expected share of labels below it. Mean distance of the "
        f"clean labels from this line: {100 * error:.1f} percentage points."
    )
    return Panel("calibration", "Calibration", {"data": traces, "layout": layout}, text)


def _line(name: str, color: str, dash: str, x: FloatArray, y: FloatArray) -> dict[str, Any]:
    line = {"color": color, "dash": dash, "width": 2.2}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": line,
        "hovertemplate": f"%{{x:.0%}}, %{{y:.4~g}}<extra>{name}</extra>",
    }
