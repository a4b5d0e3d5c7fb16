"""Predictions and tables as HTML, for notebooks: plain tags, no script, nothing from elsewhere, any theme."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from levelhead._checks import FloatArray
from levelhead.prediction.display import count, number_form

if TYPE_CHECKING:
    from levelhead.prediction.multiple import MultiPrediction
    from levelhead.prediction.prediction import Prediction

_ROWS = 8
_LIKELY = 0.9  # coverage of the interval that is shown


def prediction_html(prediction: "Prediction") -> str:
    """Mean, standard deviation and 90 % interval of the first rows, with a bar for each interval.

    Parameters
    ----------
    prediction : Prediction
        The prediction.

    Returns
    -------
    str
        HTML.
    """
    title = f"Prediction of {count(len(prediction), 'row')}, {count(prediction.n_members, 'member')}"
    if len(prediction) == 0:
        return f"<p><b>{title}</b></p>"
    head = prediction[:_ROWS]
    lower, upper = head.interval(_LIKELY)
    columns = {
        "mean": numbers(head.mean, head.std),
        "std": numbers(head.std, head.std),
        "90 % from": numbers(lower, head.std),
        "to": numbers(upper, head.std),
    }
    if head.member_alpha is not None:
        columns["α"] = [f"{a:#.3g}" for a in head.alpha]
    bars = _bars(lower, head.mean, upper)
    return table(title, list(range(len(head))), columns, bars, hidden=len(prediction) - len(head))


def multi_prediction_html(prediction: "MultiPrediction") -> str:
    """Mean and standard deviation of the first rows, for every target.

    Parameters
    ----------
    prediction : MultiPrediction
        The predictions.

    Returns
    -------
    str
        HTML.
    """
    columns: dict[str, list[str]] = {}
    for name, one in zip(prediction.targets, prediction, strict=True):
        mean, std = one.mean[:_ROWS], one.std[:_ROWS]
        columns |= {f"{name} mean": numbers(mean, std), f"{name} std": numbers(std, std)}
    title = f"Prediction of {count(len(prediction), 'row')}, {count(len(prediction.targets), 'target')}"
    shown = min(_ROWS, len(prediction))
    return table(title, list(range(shown)), columns, hidden=len(prediction) - shown)


def table(
    title: str,
    rows: Sequence[int],
    columns: dict[str, list[str]],
    bars: Sequence[str] = (),
    *,
    hidden: int = 0,
) -> str:
    """A table with a caption, one line per row; what stands in the cells is escaped.

    Parameters
    ----------
    title : str
        The caption.
    rows : sequence of int
        Row numbers.
    columns : dict of str to list of str
        Name and cells of each column.
    bars : sequence of str, default=()
        A picture for each row, as HTML.
    hidden : int, default=0
        Number of rows that are not shown; a last line names it.

    Returns
    -------
    str
        HTML.
    """
    names = "".join(_cell("th", name, ' scope="col"') for name in ("row", *columns))
    names += "<th></th>" if bars else ""
    lines = []
    for k, row in enumerate(rows):
        cells = _cell("th", str(row), ' scope="row"') + "".join(
            _cell("td", texts[k]) for texts in columns.values()
        )
        lines.append(f"<tr>{cells}{f'<td>{bars[k]}</td>' if bars else ''}</tr>")
    more = f"<p>… {hidden:,} more</p>" if hidden > 0 else ""
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
    return f"<table>{caption}<thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _cell(tag: str, text: str, attributes: str = "") -> str:
    style = "text-align:right;padding:2px 10px;font-variant-numeric:tabular-nums"
    return f'<{tag}{attributes} style="{style}">{escape(text)}</{tag}>'


def numbers(values: FloatArray, spread: FloatArray) -> list[str]:
    """Format numbers with as many decimals as their spread deserves.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The numbers.
    spread : ndarray of shape (n,)
        Their standard deviations; the median decides.

    Returns
    -------
    list of str
        The texts.
    """
    form = number_form(values, spread)
    return [format(value, f",{form}") for value in values]


def _bars(lower: FloatArray, mean: FloatArray, upper: FloatArray) -> list[str]:
    """The interval of each row as a line with a dot, all on one scale."""
    start, width = lower.min(), max(np.ptp(np.concatenate([lower, upper])), np.finfo(float).tiny)
    places = ([(value - start) / width * 150 + 5 for value in values] for values in (lower, mean, upper))
    return [
        f'<svg width="160" height="12" role="img" aria-label="interval"><line x1="{a:.1f}" x2="{b:.1f}" y1="6" y2="6" '
        f'stroke="currentColor" stroke-width="2"/><circle cx="{m:.1f}" cy="6" r="3.5" fill="#0072b2"/></svg>'
        for a, m, b in zip(*places, strict=True)
    ]
