"""Averages the fitted models of noise and wrong labels into odds, shares and their intervals."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits import _mixture
from levelhead.audits._backgrounds import dictionary, outside
from levelhead.audits._bins import KNOTS, WIDTHS, Histogram, X, count, half_scale
from levelhead.audits._cores import CORES
from levelhead.audits._mixture import Model
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

_GRANTED = 0.5  # wrong labels that are granted outside the bulk, although none was found
_BULK = 2.5  # half-widths of the core
_SLAB = 1  # the background of a given share of wrong labels that the counts do not show
_LEAST_WEIGHT = 1e-4  # of a model in the average
_ALIKE = 0.02  # models whose shares of the bins differ by less in total are one
_PROFILED = 4  # models whose likelihood is profiled
_DROP = (
    3.0  # in log likelihood, at the ends of an interval; 1.92 covered 81 % in bench/audits.py at n = 1,000
)
_OFFSETS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0])  # of the logit of a share, in its profile
_TINY = 1e-300
# Divided by n and added to the log odds: a fitted core absorbs some wrong labels, the more the fewer labels there are.
# Chosen with n = 200 on the cells CHOSEN_ON of bench/audits.py, on draws that are not in its table.
_ABSORBED, _MOST_ABSORBED = 80.0, 0.5
_MANY = 1 / 3  # beyond this share, wrong labels may be taken for the clean ones
_MISFIT = 0.05  # deviance per label that no sampling error explains
_LEAST_EXPECTED = 5.0  # labels in a bin of the test of fit
_JOINED = 4  # bins that are one in the test of fit, so that rounded labels are no misfit


class _Average(NamedTuple):
    wrong: FloatArray  # shares of the labels inside the bins
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
    kept, weights = _weighted(models)
    average = _average(kept, weights, histogram)
    share, far = inside / histogram.n, histogram.far / histogram.n
    estimate = far + share * float(average.wrong.sum()) if contamination is None else contamination
    out = far + share * float(average.wrong[average.odds > 0].sum())
    in_all, apart = _intervals(kept, histogram) if contamination is None else ((estimate,) * 2, (out,) * 2)
    low, high = min(in_all[0], estimate), max(in_all[1], estimate)
    return {
        "contamination": estimate,
        "standard_error": (high - low) / (2 * float(np.sqrt(2 * _DROP))),
        "contamination_interval": (low, high),
        "standing_out": out,
        "standing_out_interval": (min(apart[0], out), max(apart[1], out)),
        "variance_ratio": _second_moment(average.clean, histogram),
        "tail": average.tail,
        "center": histogram.center,
        "scale": histogram.width,
        "knots": tuple(KNOTS.tolist()),
        "odds": tuple(average.odds.tolist()),
        "n": histogram.n,
        "warnings": _warnings(estimate, average, histogram),
    }


def _weighted(models: list[Model]) -> tuple[list[Model], FloatArray]:
    """The different models that matter, best first, and their weights."""
    ordered = sorted(models, key=lambda model: model.cost)
    kept: list[Model] = []
    for model in ordered:
        if ordered[0].cost - model.cost < float(log(_LEAST_WEIGHT)):
            break
        if not any(_alike(model, other) for other in kept):
            kept.append(model)
    weights = exp(ordered[0].cost - np.array([model.cost for model in kept]))
    return kept, weights / weights.sum()


def _alike(one: Model, other: Model) -> bool:
    if one.core is not other.core or one.shares.size != other.shares.size:
        return False
    distance = np.abs(one.clean - other.clean).sum() + np.abs(one.wrong - other.wrong).sum()
    return bool(distance < _ALIKE)


def _average(models: list[Model], weights: FloatArray, histogram: Histogram) -> _Average:
    wrong, clean, granted = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X)
    tail = 0.0
    for model, weight in zip(models, weights, strict=True):
        wrong += weight * model.wrong
        clean += weight * model.clean
        mode = float(X[np.argmax(model.mass / WIDTHS)])
        granted += weight * outside(mode, _BULK * half_scale(model.mass))
        tail += float(weight) * model.core.tail(model.at)
    granted *= (_GRANTED + histogram.far) / histogram.n
    odds = log(np.maximum(wrong + granted, _TINY)) - log(np.maximum(clean, _TINY))
    odds += min(_ABSORBED / histogram.n, _MOST_ABSORBED)
    return _Average(wrong, clean, _rising_outwards(odds, int(np.argmax(clean / WIDTHS))), tail)


def _rising_outwards(odds: FloatArray, mode: int) -> FloatArray:
    right = np.maximum.accumulate(odds[mode:])
    left = np.maximum.accumulate(odds[: mode + 1][::-1])[::-1]
    return np.concatenate([left[:-1], right])


def _with_share(model: Model, counts: FloatArray, share: float) -> Model:
    """The same model with a given share of wrong labels."""
    if share == 0:
        return model if model.shares.size == 0 else _replaced(model, np.inf, np.empty(0))
    shown = model if model.shares.size else _hidden(model, dictionary(1.0)[0][_SLAB], share)
    batch = _mixture.refit(shown, counts, np.array([share]))
    (found,) = batch.models(np.ones(1))
    return found


def _hidden(model: Model, shape: FloatArray, share: float) -> Model:
    return Model(model.cost, model.core, model.at, model.mass, shape[None, :], np.array([share]), np.zeros(1))


def _replaced(model: Model, cost: float, shares: FloatArray) -> Model:
    return Model(cost, model.core, model.at, model.mass, model.shapes[:0], shares, model.prices[:0])


def _intervals(models: list[Model], histogram: Histogram) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shares in all and shares that stand out for which a profile likelihood is high enough."""
    limit = models[0].cost + _DROP
    in_all: list[float] = []
    apart: list[float] = []
    for model in models[:_PROFILED]:
        if model.cost >= limit:
            break
        ends_of_all, ends_apart = _within(limit, *_profile(model, histogram))
        in_all += ends_of_all
        apart += ends_apart
    return _of_all(in_all, histogram), _of_all(apart, histogram)


def _of_all(shares: list[float], histogram: Histogram) -> tuple[float, float]:
    """The range of shares of the labels inside the bins, as shares of all labels."""
    far = histogram.far / histogram.n
    return far + (1 - far) * min(shares), far + (1 - far) * max(shares)


def _profile(model: Model, histogram: Histogram) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of wrong labels around the fitted one; the cost of each; and how much of each stands out."""
    n = float(histogram.counts.sum())
    if model.shares.size == 0:
        mode = float(X[np.argmax(model.mass / WIDTHS)])
        model = _hidden(model, outside(mode, _BULK * half_scale(model.mass)), _GRANTED / n)
    share = float(model.shares.sum())
    logits = log(share / (1 - share)) + np.concatenate([-_OFFSETS[::-1], [0.0], _OFFSETS])
    shares = 1 / (1 + exp(-logits))
    batch = _mixture.refit(model, histogram.counts, shares)
    wrong = (batch.state.shares[:, :, None] * batch.shapes).sum(axis=1)
    clean = batch.state.clean[:, None] * batch.state.mass
    out = np.where(wrong > clean, wrong, 0.0).sum(axis=1)
    costs = batch.state.cost + (model.cost - float(batch.state.cost.min()))
    return shares, costs, out


def _within(
    limit: float, shares: FloatArray, costs: FloatArray, out: FloatArray
) -> tuple[list[float], list[float]]:
    """The ends of the stretch of a profile that is below a limit, interpolated."""
    good = np.flatnonzero(costs <= limit)
    ends_of_shares, ends_of_out = [], []
    for inner, outer in ((good[0], good[0] - 1), (good[-1], good[-1] + 1)):
        part = 0.0
        if 0 <= outer < costs.size:
            part = float((limit - costs[inner]) / max(float(costs[outer] - costs[inner]), 1e-9))
        else:
            outer = inner
        ends_of_shares.append(float(shares[inner] + part * (shares[outer] - shares[inner])))
        ends_of_out.append(float(out[inner] + part * (out[outer] - out[inner])))
    ends_of_out += [float(out[good].min()), float(out[good].max())]
    return ends_of_shares, ends_of_out


def _second_moment(clean: FloatArray, histogram: Histogram) -> float:
    r = histogram.center + histogram.width * X
    return float((clean * r * r).sum() / clean.sum())


def _warnings(contamination: float, average: _Average, histogram: Histogram) -> tuple[str, ...]:
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


def _misfit(average: _Average, histogram: Histogram) -> float:
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
