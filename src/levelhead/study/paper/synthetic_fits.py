"""Figure 2 of the paper: fits to synthetic data, stored as curves first and drawn from them.

The paper does not print its settings for this set. Here every method has the paper's network, an ensemble of five,
with the training that GCP has on Yacht, the smallest of the public sets, and β = γ = 0.4; without dropout, because a
network with one input has nothing to spare. Beta_Bayes has the settings of its authors, the paper's β = 0.1, and the
root mean square of the true noise as the standard deviation of its likelihood, which is the same for all x.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead import datasets
from levelhead._checks import FloatArray
from levelhead._plot_style import BLUE, GREY, INK, RED
from levelhead.study.figures import styled
from levelhead.study.line_styles import LineStyle, line_styles, math_name
from levelhead.study.paper.table1 import (
    N_MEMBERS,
    BayesHyperparameters,
    Hyperparameters,
    paper_bayes,
    paper_network,
)

SEED = 0
SETTINGS = Hyperparameters(learning_rate=1e-3, dropout=0.0, epochs=1000, robustness=0.4)
BAYES = BayesHyperparameters(beta=0.1, noise_std=0.33)
_FAMILIES = ("GCP", "Beta", "Gamma", "Gaussian")
_BATCH = 5
_GRID = np.linspace(-1, 1, 201)


class Point(NamedTuple):
    """A label, or a point of a curve.

    Attributes
    ----------
    kind : str
        "clean" or "wrong" for labels, "truth" or the name of a method for curves.
    x : float
        Input.
    mean : float
        Label or mean.
    std : float or None
        Standard deviation; None for labels.
    """

    kind: str
    x: float
    mean: float
    std: float | None


def compute(seed: int = SEED, settings: Hyperparameters = SETTINGS) -> list[Point]:
    """Fit all methods to the synthetic data; the same seed gives the same curves."""
    data = datasets.synthetic(random_state=seed)
    order = np.argsort(data.X[:, 0])
    points = [
        Point("wrong" if data.mask[k] else "clean", float(data.X[k, 0]), float(data.y[k]), None)
        for k in order
    ]
    points += [Point("truth", float(x), float(np.sin(3 * x)), float(0.5 * np.cos(x) ** 4)) for x in _GRID]
    models = {
        family if family == "Gaussian" else f"Ens{family}": paper_network(
            family, settings, _BATCH, n_members=N_MEMBERS
        )
        for family in _FAMILIES
    }
    models["Beta_Bayes"] = paper_bayes(BAYES, len(data.y))
    for name, model in models.items():
        fitted = model.set_params(random_state=seed, n_jobs=1).fit(data.X, data.y)
        prediction = fitted.predict_dist(_GRID[:, None])
        points += [
            Point(name, *map(float, row)) for row in zip(_GRID, prediction.mean, prediction.std, strict=True)
        ]
    return points


def write(points: Iterable[Point], path: str | os.PathLike[str]) -> None:
    """Write points to a CSV file, one line per point."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Point._fields)
        writer.writerows([kind, *(_short(v) for v in numbers)] for kind, *numbers in points)


def read(path: str | os.PathLike[str]) -> list[Point]:
    """Read a file written by `write`."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != Point._fields:
            raise ValueError(f"{path} contains no fits; its columns must be {', '.join(Point._fields)}")
        return [
            Point(kind, float(x), float(mean), float(std) if std else None) for kind, x, mean, std in reader
        ]


def figure(points: Iterable[Point]) -> Any:
    """Draw labels, means and standard deviations (Figure 2) from stored points."""
    by_kind: dict[str, list[Point]] = {}
    for point in points:
        by_kind.setdefault(point.kind, []).append(point)
    curves = {
        kind: np.array([p[1:] for p in found]).T
        for kind, found in by_kind.items()
        if found[0].std is not None
    }
    truth = curves.pop("truth")
    labels = {
        kind: np.array([p[1:3] for p in by_kind.get(kind, [])]).reshape(-1, 2).T
        for kind in ("clean", "wrong")
    }
    styles = line_styles(list(curves))
    # The robust curves lie on one another: with different dashes each shows through.
    dashes = {"EnsBeta": "--", "EnsGamma": ":"}
    return draw(
        labels, truth, curves, {n: styles[n]._replace(dashes=dashes.get(n, styles[n].dashes)) for n in styles}
    )


def draw(
    labels: Mapping[str, FloatArray],
    truth: FloatArray,
    curves: Mapping[str, FloatArray],
    styles: Mapping[str, LineStyle],
    called: FloatArray | None = None,
) -> Any:
    """Draw three panels: labels, means, standard deviations.

    Parameters
    ----------
    labels : mapping of str to ndarray of shape (2, n)
        x and y of the "clean" and of the "wrong" labels.
    truth : ndarray of shape (3, n)
        x, true mean and true standard deviation.
    curves : mapping of str to ndarray of shape (3, n)
        x, mean and standard deviation of each method.
    styles : mapping of str to LineStyle
        Line style of each method.
    called : ndarray of shape (2, n) or None, default=None
        x and y of the labels that an audit flags.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with styled() as new_figure:
        drawn = new_figure(figsize=(11, 3.5))
        left, means, spreads = drawn.subplots(1, 3)
        left.plot(*labels["clean"], ".", ms=3, color=GREY, label="clean")
        left.plot(*labels["wrong"], "x", ms=5, mew=1.5, color=RED, label="wrong")
        if called is not None:
            left.plot(*called, "o", ms=9, mfc="none", mec=BLUE, label="flagged")
        left.set(title="Labels", xlabel="x", ylabel="y", ylim=(-5, 23))  # room for the legend
        means.plot(truth[0], truth[1], "-", color=INK, lw=0.9, label="truth")
        spreads.plot(truth[0], truth[2], "-", color=INK, lw=0.9, label="truth")
        for name, (x, mean, std) in curves.items():
            line = {**styles[name].plot_options(math_name(name)), "marker": ""}
            means.plot(x, mean, **line)
            spreads.plot(x, std, **line)
        means.set(title="Mean of the clean labels", xlabel="x")
        spreads.set(title="Standard deviation of the clean labels", xlabel="x", yscale="log")
        left.legend(loc="upper left", ncols=3, columnspacing=1.0, handletextpad=0.3)
        means.legend(loc="upper left")
    return drawn


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
