"""Intervals of the shares of wrong labels: the values that the counts of residuals leave possible.

A share is possible if the profile likelihood of some model is near the largest one. Two things make this wider than
the profile of the best model. No family of noise is exact, and the error of its shape does not shrink with the number
of labels: the likelihood counts as if it came from a limited number of labels (Miller and Dunson's coarsened
likelihood, 2019). And whether a heavy tail is noise or a hidden share of wrong labels, no count can decide: the share
in all reaches up to what is wrong if the noise has the lightest tails, those of a normal density.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits import _mixture
from levelhead.audits._bins import Histogram
from levelhead.audits._cores import LIGHTEST
from levelhead.audits._mixture import Model
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

GRANTED = 0.5  # wrong labels that are granted outside the bulk, although none was found
_PROFILED = 8  # models whose likelihood is profiled
_DROP = (
    3.0  # in log likelihood, at the ends of an interval; 1.92 covered 81 % in bench/audits.py at n = 1,000
)
# Labels for which the families of noise are taken as exact: with many more, the likelihood counts as if from these.
_EXACT = 4000.0
_OFFSETS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0])  # of the logit of a share, in its profile


class Interval(NamedTuple):
    """An interval of shares."""

    low: float
    high: float

    def with_value(self, share: float) -> tuple[float, float]:
        """The ends of the smallest interval that holds this one and a share."""
        return min(self.low, share), max(self.high, share)


class Possible(NamedTuple):
    """The possible shares of wrong labels in all and of those that stand out, and the standard error of the former."""

    in_all: Interval
    standing_out: Interval
    standard_error: float


def known_share(in_all: float, standing_out: float) -> Possible:
    """No other share is possible than the given ones."""
    return Possible(Interval(in_all, in_all), Interval(standing_out, standing_out), 0.0)


def intervals(models: list[Model], histogram: Histogram) -> Possible:
    """Find the possible shares.

    Parameters
    ----------
    models : list of Model
        Different models, in the order of their costs.
    histogram : Histogram
        The counts that they were fitted to.

    Returns
    -------
    Possible
        Shares of all labels.
    """
    drop = _DROP * (1 + histogram.n / _EXACT)
    in_all, apart = _range(models, models[0].cost + drop, histogram)
    lightest = min(_mixture.fit(LIGHTEST, histogram.counts), key=lambda model: model.cost)
    hidden, _ = _range([lightest], lightest.cost + drop, histogram)
    error = (in_all.high - in_all.low) / (2 * float(np.sqrt(2 * drop)))
    return Possible(Interval(in_all.low, max(in_all.high, hidden.high)), apart, error)


def _range(models: list[Model], limit: float, histogram: Histogram) -> tuple[Interval, Interval]:
    """Shares in all and shares that stand out for which the cost of a model is below a limit."""
    in_all: list[float] = []
    apart: list[float] = []
    for model in models[:_PROFILED]:
        if model.cost >= limit:
            break
        ends_of_all, ends_apart = _within(limit, *_profile(model, histogram))
        in_all += ends_of_all
        apart += ends_apart
    return _of_all(in_all, histogram), _of_all(apart, histogram)


def _of_all(shares: list[float], histogram: Histogram) -> Interval:
    """The range of shares of the labels inside the bins, as shares of all labels."""
    far = histogram.far / histogram.n
    least = min(shares) if min(shares) * histogram.n > GRANTED else 0.0
    return Interval(far + (1 - far) * least, far + (1 - far) * max(shares))


def _profile(model: Model, histogram: Histogram) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of wrong labels around the fitted one; the cost of each; and how much of each stands out."""
    if model.shares.size == 0:
        model = model.with_background(model.outside_the_bulk, GRANTED / float(histogram.counts.sum()))
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
