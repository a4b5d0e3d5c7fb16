"""Are most labels unrelated to their rows? Then a model follows the wrong ones too, and its residuals look like noise.

If more than half of the labels belong to other rows, predictions are drawn towards the middle of all labels: the right
labels lie on another line than label = prediction, and the rest scatter like labels drawn at random. `unrelated_share`
fits such a mixture, a normal density around a + b · prediction and the density of all labels whatever the prediction,
and compares it with the density of the residuals as they are. `unrelated_limit` asks how many such labels could hide.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._bins import asinh
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

MANY = 1 / 3  # beyond this share of labels of other rows, the model has followed them
_LEAST_ROWS = 100
_MOST_ROWS = 20_000  # of more labels, so many are looked at
_GAIN = 0.05  # log likelihood per label by which the mixture must be better; chosen on energy and kc_house
_SLOPES, _SHARES = (1.0, 1.5, 2.5), (0.3, 0.6)  # to start from
_STEPS = 60
_SMOOTHING = 0.25  # of a density in asinh of robust deviations
_CELLS = 400
_ENOUGH_ROWS = 5000  # whose predictions are compared with all labels
_LEAST_SCALE = 0.02  # of the core, relative to the predicted deviations
_REACHES = (
    0.0,
    0.5,
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    3.5,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    13.0,
    17.0,
    22.0,
    30.0,
)  # in std
_LOG_SQRT_2PI = 0.9189385332046727
_TINY = 1e-300


class _Line(NamedTuple):
    """A fitted mixture."""

    log_likelihood: float
    share: float


def unrelated_share(given: FloatArray, predicted: FloatArray, std: FloatArray) -> float:
    """Share of labels that look like labels of other rows; 0 if the residuals show no such thing.

    Parameters
    ----------
    given : ndarray of shape (n_samples,)
        Labels.
    predicted : ndarray of shape (n_samples,)
        Predictions that have not seen the labels.
    std : ndarray of shape (n_samples,)
        Standard deviations of the labels around the predictions, correct up to a common factor.

    Returns
    -------
    float
        The share, from 0 to 1.
    """
    if len(given) > _MOST_ROWS:
        some = _spread_out(given, predicted)
        given, predicted, std = given[some], predicted[some], std[some]
    n = len(given)
    if n < _LEAST_ROWS or np.ptp(predicted) == 0:
        return 0.0
    residual = (given - predicted) / std
    as_noise = float((_log_density(residual) - log(std)).sum())
    anywhere = exp(_log_density(given))
    fits = [_fitted(given, predicted, std, anywhere, slope, share) for slope in _SLOPES for share in _SHARES]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    return best.share if best.log_likelihood - as_noise > _GAIN * n else 0.0


def _spread_out(given: FloatArray, predicted: FloatArray) -> NDArray[np.intp]:
    """Rows at equal distances in the order of their labels: the same ones in whatever order the rows are."""
    places = np.linspace(0, len(given) - 1, _MOST_ROWS).astype(np.intp)
    return np.lexsort((predicted, given))[places]


def _fitted(
    y: FloatArray, predicted: FloatArray, std: FloatArray, anywhere: FloatArray, slope: float, share: float
) -> _Line:
    """Expectation maximisation of the line, its scale and the share of the other labels."""
    middle, scale, log_likelihood = float(np.median(predicted)), 0.5, -np.inf
    x = predicted - middle
    level = middle
    for _ in range(_STEPS):
        away = (y - level - slope * x) / (std * scale)
        core = (1 - share) * exp(-0.5 * away * away - _LOG_SQRT_2PI) / (std * scale)
        density = np.maximum(core + share * anywhere, _TINY)
        log_likelihood = float(log(density).sum())
        right = core / density
        w = right / (std * std)
        total = max(float(w.sum()), _TINY)
        x_mean, y_mean = float((w * x).sum()) / total, float((w * y).sum()) / total
        spread = float((w * (x - x_mean) ** 2).sum())
        slope = float((w * (x - x_mean) * (y - y_mean)).sum()) / max(spread, _TINY)
        level = y_mean - slope * x_mean
        away = (y - level - slope * x) / std
        square = float((right * away * away).sum()) / max(float(right.sum()), _TINY)
        scale = max(float(np.sqrt(square)), _LEAST_SCALE)
        share = float(np.clip(1 - right.mean(), 1e-6, 1 - 1e-6))
    return _Line(log_likelihood, share)


def _log_density(values: FloatArray) -> FloatArray:
    """Log density of each value among all: counts in asinh of robust deviations, smoothed by a normal kernel."""
    low, center, high = np.quantile(values, [0.25, 0.5, 0.75])
    spread = float(high - low) / 1.349 or float(values.std()) or 1.0
    x = (values - center) / spread
    u = asinh(x)
    distinct = np.unique(u)
    gap = float(np.median(np.diff(distinct))) if len(distinct) > 1 else 0.0
    width = max(_SMOOTHING, gap)  # labels with few levels must not look like certain ones
    edges = np.linspace(u[0] if len(distinct) == 1 else distinct[0], distinct[-1], _CELLS + 1)
    if edges[0] == edges[-1]:
        return np.zeros_like(values)
    step = float(edges[1] - edges[0])
    cell = np.clip(((u - edges[0]) / step).astype(np.intp), 0, _CELLS - 1)
    counts = np.bincount(cell, minlength=_CELLS)
    middles = edges[:-1] + 0.5 * step
    away = (middles[:, None] - middles) / width
    kernel = exp(-0.5 * away * away - _LOG_SQRT_2PI) / width
    smooth = (kernel * counts).sum(axis=1) / len(values)
    inside = (kernel * step).sum(axis=1)  # part of the kernel that does not leave the range
    found: FloatArray = log(np.maximum(smooth / inside, _TINY))[cell] - 0.5 * log(1 + x * x) - log(spread)
    return found


def unrelated_limit(given: FloatArray, predicted: FloatArray, std: FloatArray) -> float:
    """Largest share of labels that could be those of other rows without anyone seeing it in the residuals.

    Labels of other rows would scatter around the predictions in a known way. Wherever few residuals lie, few of them
    can be such labels: a share ε puts ε·E of them into a range in which all labels, if exchanged, would put E. With k
    residuals there, ε is at most (√(k + 1) + 1)²/E, about the upper end of a 95 % interval for a count. The result is
    the smallest of these limits, over ranges on either side or both.

    Parameters
    ----------
    given : ndarray of shape (n_samples,)
        Labels.
    predicted : ndarray of shape (n_samples,)
        Predictions that have not seen the labels.
    std : ndarray of shape (n_samples,)
        Standard deviations of clean labels around the predictions.

    Returns
    -------
    float
        The share, from 0 to 1; 0 if all predictions are equal, because then every row is like every other.
    """
    if np.ptp(predicted) == 0:
        return 0.0
    seen, exchanged = _beyond(given, predicted, std)
    inside = np.triu(np.ones((len(_REACHES) + 1,) * 2, dtype=bool), 1)
    k, expected = (beyond[:, :, None] - beyond[:, None, :] for beyond in (seen, exchanged))
    limits = (np.sqrt(np.maximum(k, 0.0) + 1) + 1) ** 2 / np.maximum(expected, _TINY)
    return float(min(limits[:, inside].min(), 1.0))


def _beyond(given: FloatArray, predicted: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Labels beyond each reach above, below and on both sides of the predictions: as given, and if exchanged."""
    n, r = len(given), (given - predicted) / std
    ordered = np.sort(given)
    some = slice(None, None, max(1, n // _ENOUGH_ROWS))
    mean, spread = predicted[some], std[some]
    seen, exchanged = np.zeros((3, len(_REACHES) + 1)), np.zeros((3, len(_REACHES) + 1))
    for place, reach in enumerate(_REACHES):
        above = n - np.searchsorted(ordered, mean + reach * spread, side="right")
        below = np.searchsorted(ordered, mean - reach * spread)
        seen[:2, place] = (r > reach).sum(), (r < -reach).sum()
        exchanged[:2, place] = above.mean(), below.mean()
    seen[2], exchanged[2] = seen[0] + seen[1], exchanged[0] + exchanged[1]
    return seen, exchanged
