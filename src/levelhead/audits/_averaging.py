"""Averages the fitted models of noise and wrong labels into odds, shares and their intervals."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits import _mixture
from levelhead.audits._backgrounds import dictionary
from levelhead.audits._bins import KNOTS, WIDTHS, Histogram, X, count
from levelhead.audits._cores import CORES
from levelhead.audits._intervals import GRANTED, intervals, known_share
from levelhead.audits._mixture import Model, distinct
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

_SLAB = 1  # the background of a given share of wrong labels that the counts do not show
_LEAST_WEIGHT = 1e-4  # of a model in the average
_TINY = 1e-300
# Divided by n and added to the log odds: a fitted core absorbs some wrong labels, the more the fewer labels there are.
# Chosen with n = 200 on the cells CHOSEN_ON of bench/audits.py, on draws that are not in its table.
_ABSORBED, _MOST_ABSORBED = 80.0, 0.5
_MANY = 1 / 3  # beyond this share, wrong labels may be taken for the clean ones
_MISFIT = 0.05  # deviance per label that no sampling error explains
_LEAST_EXPECTED = 5.0  # labels in a bin of the test of fit
_JOINED = 4  # bins that are one in the test of fit, so that rounded labels are no misfit


class Average(NamedTuple):
    """The average model: shares of the labels in each bin that are wrong and clean, log odds, and tail."""

    wrong: FloatArray
    clean: FloatArray
    odds: FloatArray
    tail: float


def separate(r: FloatArray, contamination: float | None) -> dict[str, Any]:
    """Separate clean from wrong labels; the noise may have any of the shapes in `CORES`.

    Parameters
    ----------
    r : ndarray of shape (n,)
        Scaled residuals.
    contamination : float or None
        Share of wrong labels, if it is known.

    Returns
    -------
    dict
        The fields of a `ContaminationEstimate`.
    """
    return separate_counts(count(r), contamination)


def separate_counts(histogram: Histogram, contamination: float | None) -> dict[str, Any]:
    """The same from residuals that were counted already, piece by piece.

    Parameters
    ----------
    histogram : Histogram
        Counts of scaled residuals.
    contamination : float or None
        Share of wrong labels, if it is known.

    Returns
    -------
    dict
        The fields of a `ContaminationEstimate`.
    """
    inside = histogram.n - histogram.far
    models = [model for core in CORES for model in _mixture.fit(core, histogram.counts)]
    if contamination is not None:
        known = max(contamination * histogram.n - histogram.far, 0.0) / inside
        models = [_with_share(model, histogram.counts, known) for model in models]
    models = distinct(models)
    kept, weights = _weighted(models)
    joint = _average(kept, weights, histogram)
    share, far = inside / histogram.n, histogram.far / histogram.n
    estimate = far + share * float(joint.wrong.sum()) if contamination is None else contamination
    out = far + share * float(joint.wrong[joint.odds > 0].sum())
    possible = intervals(models, histogram) if contamination is None else known_share(estimate, out)
    return {
        "contamination": estimate,
        "standard_error": possible.standard_error,
        "contamination_interval": possible.in_all.with_value(estimate),
        "standing_out": out,
        "standing_out_interval": possible.standing_out.with_value(out),
        "variance_ratio": _second_moment(joint.clean, histogram),
        "tail": joint.tail,
        "center": histogram.center,
        "scale": histogram.width,
        "knots": tuple(KNOTS.tolist()),
        "odds": tuple(joint.odds.tolist()),
        "n": histogram.n,
        "warnings": _warnings(estimate, joint, histogram),
    }


def average(histogram: Histogram) -> Average:
    """The average of all models that fit the counts.

    Parameters
    ----------
    histogram : Histogram
        Counts of scaled residuals.

    Returns
    -------
    Average
        The average model.
    """
    models = [model for core in CORES for model in _mixture.fit(core, histogram.counts)]
    return _average(*_weighted(distinct(models)), histogram)


def _weighted(models: list[Model]) -> tuple[list[Model], FloatArray]:
    """The models that matter and their weights; the models come in the order of their costs."""
    ahead = models[0].cost - np.array([model.cost for model in models])
    weights = exp(ahead[ahead >= float(log(_LEAST_WEIGHT))])
    return models[: weights.size], weights / weights.sum()


def _average(models: list[Model], weights: FloatArray, histogram: Histogram) -> Average:
    wrong, clean, granted = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X)
    tail = 0.0
    for model, weight in zip(models, weights, strict=True):
        wrong += weight * model.wrong
        clean += weight * model.clean
        granted += weight * model.outside_the_bulk
        tail += float(weight) * model.core.tail(model.at)
    granted *= (GRANTED + histogram.far) / histogram.n
    odds = log(np.maximum(wrong + granted, _TINY)) - log(np.maximum(clean, _TINY))
    odds += min(_ABSORBED / histogram.n, _MOST_ABSORBED)
    return Average(wrong, clean, _rising_outwards(odds, int(np.argmax(clean / WIDTHS))), tail)


def _rising_outwards(odds: FloatArray, mode: int) -> FloatArray:
    right = np.maximum.accumulate(odds[mode:])
    left = np.maximum.accumulate(odds[: mode + 1][::-1])[::-1]
    return np.concatenate([left[:-1], right])


def _with_share(model: Model, counts: FloatArray, share: float) -> Model:
    """The same model with a given share of wrong labels."""
    if share == 0:
        return model if model.shares.size == 0 else _replaced(model, np.inf, np.empty(0))
    shown = model if model.shares.size else model.with_background(dictionary(1.0)[0][_SLAB], share)
    batch = _mixture.refit(shown, counts, np.array([share]))
    (found,) = batch.models(np.ones(1))
    return found


def _replaced(model: Model, cost: float, shares: FloatArray) -> Model:
    return Model(cost, model.core, model.at, model.mass, model.shapes[:0], shares, model.prices[:0])


def _second_moment(clean: FloatArray, histogram: Histogram) -> float:
    r = histogram.center + histogram.width * X
    return float((clean * r * r).sum() / clean.sum())


def _warnings(contamination: float, average: Average, histogram: Histogram) -> tuple[str, ...]:
    found = []
    if contamination > _MANY:
        found.append(
            f"about {contamination:.0%} of the labels look wrong: with so many, wrong labels can be taken for clean "
            "ones and clean ones for wrong"
        )
    if _misfit(average, histogram) > _MISFIT:
        found.append(
            "the residuals have no shape in which clean noise and wrong labels can be told apart; the inputs may lack "
            "what separates groups of rows"
        )
    return tuple(found)


def _misfit(average: Average, histogram: Histogram) -> float:
    """Deviance per label, less what chance explains: six standard deviations above its expectation."""
    n, joints = float(histogram.counts.sum()), np.arange(0, X.size, _JOINED)
    counts = np.add.reduceat(histogram.counts, joints)
    expected = np.add.reduceat(n * (average.wrong + average.clean), joints)
    groups = np.floor(np.cumsum(expected) / _LEAST_EXPECTED)
    _, starts = np.unique(groups, return_index=True)
    seen, meant = np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)
    ratio = np.maximum(seen, _TINY) / np.maximum(meant, _TINY)
    deviance = 2 * float((seen * log(ratio)).sum() - seen.sum() + meant.sum())
    chance = len(starts) + 6 * np.sqrt(2 * len(starts))
    return float(deviance - chance) / n
