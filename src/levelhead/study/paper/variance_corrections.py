"""What the corrections of the variance add, on the paper's synthetic set, where the true variance is known.

For every draw one GCP ensemble is read in five ways: the prognostic variance (6); with the known share ε of wrong
labels the first-order correction (8) and the one for far outliers, both from the local α and σ; and the library's
calibration on out-of-fold residuals with ε known and with ε estimated. The score of a reading is the median over
the rows of predicted over true variance: 1 is perfect.
"""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead import datasets, estimators
from levelhead._checks import FloatArray
from levelhead._deprecated import percentages
from levelhead.prediction import Prediction
from levelhead.study.grids import Grid, Style
from levelhead.study.specs import shown_percent
from levelhead.theory.special import alpha_minus_A, b
from levelhead.theory.student import prognostic_variance

CONTAMINATIONS = (0.0, 0.05, 0.2)
DRAWS = 50
READINGS = {
    "V_p": "no correction: V_p (6)",
    "first_order": "ε known: (1 − bε) V_p (8)",
    "far": "ε known: V_far",
    "known": "ε known, out-of-fold residuals",
    "estimated": "ε estimated, out-of-fold residuals",
}
_MEMBERS = 5
_OLD_COLUMNS = (
    "share",
    "draw",
    "reading",
    "ratio",
    "unsolved",
    "epsilon",
)  # of version 0.1; share in percent


class Ratio(NamedTuple):
    """Predicted over true variance of one reading of one draw.

    Attributes
    ----------
    contamination : float
        Share of wrong labels, a fraction.
    draw : int
        Number of the draw; the seed.
    reading : str
        Key of `READINGS`: how the variance is computed.
    ratio : float
        Median over the rows of predicted over true variance.
    unsolved : float
        Share of rows without a solution.
    used_contamination : float
        Share of wrong labels, ε, that the reading used.
    """

    contamination: float
    draw: int
    reading: str
    ratio: float
    unsolved: float
    used_contamination: float


@percentages("shares")
def ratios(contamination: Sequence[float] = CONTAMINATIONS, draws: int = DRAWS) -> Iterator[Ratio]:
    """Compute all readings of all draws; the number of a draw is the seed of everything in it.

    Parameters
    ----------
    contamination : sequence of float, default=CONTAMINATIONS
        Shares of wrong labels, fractions.
    draws : int, default=DRAWS
        Number of synthetic data sets.

    Yields
    ------
    Ratio
        One reading of one draw.
    """
    for draw in range(draws):
        for wrong in contamination:
            yield from _of_draw(wrong, draw)


def _of_draw(contamination: float, draw: int) -> Iterator[Ratio]:
    data = datasets.synthetic(contamination=contamination, random_state=draw)
    truth, epsilon = data.std**2, float(data.mask.mean())
    plain, estimated = _fitted(data, None, draw), _fitted(data, "auto", draw)
    known = _fitted(data, epsilon, draw) if epsilon else plain
    local = plain.predict_dist(data.X)
    variances = {
        "V_p": local.var,
        "first_order": _mixed(local, _first_order(local, epsilon)),
        "far": _mixed(local, _far(local, epsilon)),
        "known": known.predict_dist(data.X).var,
        "estimated": estimated.predict_dist(data.X).var,
    }
    for reading, variance in variances.items():
        solved = np.isfinite(variance)
        ratio = float(np.median(variance[solved] / truth[solved])) if solved.any() else float("nan")
        used = float(estimated.contamination_) if reading == "estimated" else epsilon
        yield Ratio(contamination, draw, reading, ratio, float(1 - solved.mean()), used)


def _fitted(data: datasets.Synthetic, contamination: float | str | None, seed: int) -> Any:
    """An ensemble with all defaults; out-of-fold networks only where their residuals are used."""
    model: Any = estimators.GCPRegressor
    options = {"out_of_fold": contamination is not None, "random_state": seed, "n_jobs": 1}
    return model(n_members=_MEMBERS, contamination=contamination, **options).fit(data.X, data.y)


def _parameters(prediction: Prediction) -> tuple[FloatArray, FloatArray]:
    assert prediction.member_alpha is not None
    assert prediction.member_sigma is not None
    return prediction.member_alpha, prediction.member_sigma


def _first_order(prediction: Prediction, epsilon: float) -> FloatArray:
    """Equation (8) for every member and row; NaN where it would be negative."""
    alpha, sigma = _parameters(prediction)
    left = 1 - b(alpha) * epsilon
    return np.where(left > 0, left, np.nan) * prognostic_variance(alpha, sigma)


def _far(prediction: Prediction, epsilon: float) -> FloatArray:
    """σ/(α* − A(α*)) for every member and row; NaN where α* has no solution."""
    alpha, sigma = _parameters(prediction)
    room = 1 - epsilon * (2 * alpha + 1)
    solved = np.where(room > 0, room, 1.0)
    return np.where(room > 0, sigma / alpha_minus_A(alpha / solved), np.nan)


def _mixed(prediction: Prediction, variance: FloatArray) -> FloatArray:
    """Variance of the mixture of members with these variances."""
    mean = prediction.member_mean
    mixed: FloatArray = (variance + mean**2).mean(axis=0) - mean.mean(axis=0) ** 2
    return mixed


def write(lines: Iterable[Ratio], path: str | os.PathLike[str]) -> None:
    """Write ratios to a CSV file, one line per reading and draw."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Ratio._fields)
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in line] for line in lines)


def read(path: str | os.PathLike[str]) -> list[Ratio]:
    """Read a file written by `write`, of this version or of version 0.1."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        given = tuple(next(reader, ()))
        if given not in (Ratio._fields, _OLD_COLUMNS):
            raise ValueError(f"{path} contains no ratios; its columns must be {', '.join(Ratio._fields)}")
        unit = 100 if "share" in given else 1
        return [
            Ratio(float(wrong) / unit, int(draw), reading, *map(float, rest))
            for wrong, draw, reading, *rest in reader
        ]


def summary(lines: Iterable[Ratio], style: Style = "markdown") -> str:
    """Format median and quartiles of the ratio over the draws; the reading closest to 1 is bold.

    Parameters
    ----------
    lines : iterable of Ratio
        Ratios.
    style : {"text", "markdown", "latex", "html"}, default="markdown"
        Format.

    Returns
    -------
    str
        The table.
    """
    found: dict[tuple[str, float], list[Ratio]] = {}
    for line in lines:
        found.setdefault((line.reading, line.contamination), []).append(line)
    contaminations = sorted({contamination for _, contamination in found})
    cells = {key: _quartiles(of_cell) for key, of_cell in found.items()}
    best = {
        wrong: min(
            (r for r in READINGS if (r, wrong) in cells), key=lambda r: abs(np.log(cells[r, wrong][1]))
        )
        for wrong in contaminations
    }
    drawn = tuple(
        (name, tuple((_shown(found[r, s], cells[r, s]), best[s] == r) for s in contaminations))
        for r, name in READINGS.items()
    )
    draws = len({line.draw for of_cell in found.values() for line in of_cell})
    title = f"predicted over true variance: median (quartiles) over {draws} draws of 400 rows"
    return Grid(title, tuple(shown_percent(s) for s in contaminations), drawn).draw(style)


def _quartiles(lines: Sequence[Ratio]) -> tuple[float, float, float]:
    low, middle, high = np.nanpercentile([line.ratio for line in lines], (25, 50, 75))
    return float(low), float(middle), float(high)


def _shown(lines: Sequence[Ratio], quartiles: tuple[float, float, float]) -> str:
    low, middle, high = quartiles
    unsolved = float(np.mean([line.unsolved for line in lines]))
    note = f"; no solution for {unsolved:.0%} of the rows" if unsolved >= 0.005 else ""
    return f"{middle:.2f} ({low:.2f} to {high:.2f}{note})"
