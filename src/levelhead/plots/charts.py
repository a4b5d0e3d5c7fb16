"""The pictures: each function describes one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import metrics
from levelhead._checks import FloatArray, vector
from levelhead._extras import needed
from levelhead._plot_style import AMBER, BLUE, GREY, INK, RED
from levelhead.audits import Audit, Contributions
from levelhead.metrics import predict_dist
from levelhead.plots.description import Mark, Panel, Plot, numbers_or_names
from levelhead.prediction import Prediction
from levelhead.tables.encoding import frames

_MOST_ROWS = 200  # over which a dependence is averaged
_MOST_LEVELS = 30  # of a column whose values are shown one by one
_GRID = 40


def calibration(y: ArrayLike, prediction: Prediction) -> Plot:
    """Expected against observed share of labels below each quantile.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels that the model has not seen.
    prediction : Prediction
        Predictions of them.

    Returns
    -------
    Plot
        One panel; a calibrated prediction is on the diagonal.
    """
    curve = metrics.calibration_curve(y, prediction)
    ends = np.array([0.0, 1.0])
    marks = (
        Mark("line", ends, ends, colour=GREY, dashed=True, label="calibrated"),
        Mark("line", curve.expected, curve.observed, label="observed"),
    )
    return Plot((Panel("Calibration", "expected share below the quantile", "observed share", marks),))


def retention(y: ArrayLike, prediction: Prediction) -> Plot:
    """Error that remains if the most uncertain rows are left out.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels that the model has not seen.
    prediction : Prediction
        Predictions of them.

    Returns
    -------
    Plot
        One panel, with the best possible curve.
    """
    curves = (
        ("by predicted variance", BLUE, False, metrics.retention_curve(y, prediction.mean, prediction.var)),
        ("by true error", GREY, True, metrics.oracle_curve(y, prediction.mean)),
    )
    marks = tuple(
        Mark("line", np.arange(len(curve)) / len(curve), curve, label=label, colour=colour, dashed=dashed)
        for label, colour, dashed, curve in curves
    )
    return Plot((Panel("Retention", "share of the rows left out", "RMSE of the others", marks),))


def intervals(
    prediction: Prediction,
    x: ArrayLike,
    y: ArrayLike | None = None,
    *,
    coverage: float = 0.9,
    n_bins: int = 60,
    name: str = "x",
) -> Plot:
    """Mean and interval along a column; of many rows, those of neighbouring values are averaged.

    Parameters
    ----------
    prediction : Prediction
        Predictions.
    x : array-like of shape (n_samples,)
        Values of a column of numbers.
    y : array-like of shape (n_samples,), default=None
        Labels to show as points.
    coverage : float, default=0.9
        Probability that the interval holds the clean label.
    n_bins : int, default=60
        Largest number of averages.
    name : str, default="x"
        Name of the column.

    Returns
    -------
    Plot
        One panel.
    """
    at = _per_row("x", x, len(prediction))
    lower, upper = prediction.interval(coverage)
    order = np.argsort(at, kind="stable")
    parts = np.array_split(order, min(n_bins, len(order)))
    x_, mean, low, high = (
        np.array([values[part].mean() for part in parts]) for values in (at, prediction.mean, lower, upper)
    )
    marks = [Mark("band", x_, low, high, label=f"{coverage:.0%} interval")]
    if y is not None:
        marks.append(Mark("points", at, _per_row("y", y, len(at)), label="labels", colour=GREY))
    marks.append(Mark("line", x_, mean, label="mean"))
    return Plot((Panel(f"Intervals along {name}", name, "label", tuple(marks)),))


def partial_dependence(
    model: Any, X: Any, column: int | str, *, grid: ArrayLike | None = None, random_state: int = 0
) -> Plot:
    """How the mean and the spread of the predictions depend on one column, averaged over rows.

    Parameters
    ----------
    model : estimator
        A fitted estimator, pipeline or search that predicts distributions.
    X : ndarray, pandas or polars DataFrame
        Rows to average over; of more than 200, 200 are chosen at random.
    column : int or str
        Position or name of the column.
    grid : array-like, default=None
        Values of the column. By default its values if there are at most 30, or else 40 quantiles.
    random_state : int, default=0
        Seed of the choice of rows.

    Returns
    -------
    Plot
        Two panels: the mean, with the band that holds 80 % of the rows, and the standard deviation.
    """
    X = frames.collected(X)
    values, name = _column(X, column)
    points = _grid(values) if grid is None else np.asarray(grid)
    n = len(values)
    rows = np.arange(n)
    if n > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(random_state).choice(n, _MOST_ROWS, replace=False))
    table = frames.take(X, rows)
    predictions = [predict_dist(model, _with_column(table, column, point)) for point in _scalars(points)]
    axis = numbers_or_names(points)
    mean = np.array([one.mean.mean() for one in predictions])
    low, high = (np.array([np.quantile(one.mean, level) for one in predictions]) for level in (0.1, 0.9))
    std = np.array([one.std.mean() for one in predictions])
    return Plot(
        (
            Panel(
                f"Mean by {name}",
                name,
                "predicted mean",
                (
                    Mark("band", axis, low, high, label="80 % of the rows"),
                    Mark("line", axis, mean, label="average"),
                ),
            ),
            Panel(f"Spread by {name}", name, "predicted std", (Mark("line", axis, std, colour=AMBER),)),
        )
    )


def suspects(audit: Audit, x: ArrayLike | None = None, *, name: str = "expected label") -> Plot:
    """Given labels against the expected ones, or along a column, with the flagged ones marked.

    Parameters
    ----------
    audit : Audit
        Result of an audit.
    x : array-like of shape (n_samples,), default=None
        Values of a column; by default the expected labels.
    name : str, default="expected label"
        Name of the column.

    Returns
    -------
    Plot
        Two panels: labels, and residuals in units of the clean noise.
    """
    at = audit.predicted_label if x is None else numbers_or_names(x)
    if len(at) != len(audit):
        raise ValueError(f"x has {len(at)} entries, but the audit has {len(audit)} labels")
    flagged = audit.is_label_issue
    title = f"{int(flagged.sum()):,} of {len(audit):,} labels are flagged"
    diagonal: tuple[Mark, ...] = ()
    if x is None:
        ends = np.array([audit.predicted_label.min(), audit.predicted_label.max()])
        diagonal = (Mark("line", ends, ends, colour=INK, dashed=True),)
    residual = np.arcsinh(audit.z)
    return Plot(
        (
            Panel(
                title, name, "given label", (*_kept_and_flagged(at, audit.given_label, flagged), *diagonal)
            ),
            Panel(
                "Residuals",
                name,
                "arsinh of (given − expected)/std",
                _kept_and_flagged(at, residual, flagged),
            ),
        )
    )


def _per_row(name: str, values: ArrayLike, n: int) -> FloatArray:
    given = vector(name, values)
    if len(given) != n:
        raise ValueError(f"{name} has {len(given)} entries, but there are {n} predictions")
    return given


def _kept_and_flagged(x: NDArray[Any], y: FloatArray, flagged: NDArray[np.bool_]) -> tuple[Mark, ...]:
    return (
        Mark("points", x[~flagged], y[~flagged], label="kept", colour=GREY),
        Mark("crosses", x[flagged], y[flagged], label="flagged", colour=RED),
    )


def importance(contributions: Contributions, *, most: int = 12) -> Plot:
    """Mean size of the contributions of the columns to the mean and to the spread.

    Parameters
    ----------
    contributions : Contributions
        Result of `contributions` of a model.
    most : int, default=12
        Largest number of columns that are shown.

    Returns
    -------
    Plot
        Two panels.
    """
    on = "" if contributions.scale is None else f", {contributions.scale} scale"
    return Plot(
        (
            _bars(
                "Effect on the mean",
                f"mean |contribution|{on}",
                contributions.mean,
                contributions.names,
                most,
            ),
            _bars(
                "Effect on ln std", "mean |contribution|", contributions.log_std, contributions.names, most
            ),
        )
    )


def _bars(title: str, label: str, parts: FloatArray, names: Sequence[str], most: int) -> Panel:
    size = np.abs(parts).mean(axis=0)
    largest = np.argsort(-size, kind="stable")[:most][::-1]
    return Panel(title, label, "", (Mark("bars", size[largest], np.asarray(names)[largest]),))


def _column(X: Any, column: int | str) -> tuple[NDArray[Any], str]:
    """The values of a column, and its name."""
    if hasattr(X, "columns"):
        name = list(X.columns)[column] if isinstance(column, int) else column
        if name not in list(X.columns):
            raise ValueError(f"there is no column {column!r}; X has {', '.join(map(str, X.columns))}")
        return np.asarray(X[name]), str(name)
    if not isinstance(column, int):
        raise ValueError(f"column is {column!r}, but X has no names; give a number")
    return np.asarray(X)[:, column], f"column {column + 1}"


def _grid(values: NDArray[Any]) -> NDArray[Any]:
    """The values of a column that are shown, in order."""
    known = values[~frames.absent(values)]
    levels = np.unique(known.astype(str) if known.dtype == object else known)
    if len(levels) <= _MOST_LEVELS or known.dtype.kind not in "iuf":
        return levels[:_MOST_LEVELS]
    return np.unique(np.quantile(known.astype(np.float64), np.linspace(0.01, 0.99, _GRID)))


def _scalars(points: NDArray[Any]) -> list[Any]:
    return list(points) if points.dtype.kind == "M" else points.tolist()


def _with_column(table: Any, column: int | str, value: Any) -> Any:
    """The same rows with one value in a column."""
    if hasattr(table, "with_columns"):  # polars
        name = table.columns[column] if isinstance(column, int) else column
        return table.with_columns(needed("polars", "partial_dependence", "tables").lit(value).alias(name))
    if hasattr(table, "assign"):
        name = table.columns[column] if isinstance(column, int) else column
        return table.assign(**{name: value})
    changed = np.array(table)
    changed[:, int(column)] = value
    return changed
