"""Labels that are a power of ten times too large or too small, as a misplaced decimal point or another unit makes them.

What such a label would be without the error is known, and whether the prediction expects that value is strong evidence.
Each power is one more place where wrong labels lie, another one in every row: the density of y = 10ᵏ·v is that of clean
labels at v, divided by 10ᵏ. Shares of the powers are fitted by expectation maximisation, beside core and backgrounds
(`_averaging`). As there, they must explain the labels clearly better (`_backgrounds`). A label counts in the next fit
of the core as far as it is not explained this way.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._averaging import average, separate_counts
from levelhead.audits._backgrounds import EXISTENCE, RING, per_label
from levelhead.audits._bins import KNOTS, WIDTHS, Histogram, asinh, count
from levelhead.audits._intervals import GRANTED
from levelhead.audits.separation import ContaminationEstimate
from levelhead.prediction.transforms import Transform
from levelhead.theory.elementary import exp, log, log1p

FloatArray = NDArray[np.float64]

_POWERS = (1, -1, 2, -2, 3, -3)
_APART = 2.5  # deviations between a label and what it would be: nearer ones could be noise
_EXPECTED = 3.0  # deviations from the prediction, within which a repaired label is worth a closer look
_LEAST = 2  # such labels
_ROUNDS = 3  # fits of the core
_STEPS = 100  # of expectation maximisation
_IRRELEVANT, _LARGEST = -30.0, 600.0  # log likelihood ratios
_NOTHING = -1e9  # a logarithmic density that stands for 0
_TINY = 1e-300


@dataclass(frozen=True)
class Factors:
    """Labels that are a power of ten times another value.

    Attributes
    ----------
    log_odds : ndarray of shape (n_samples,)
        Log odds that each label is wrong, in this way or in another.
    separation : ContaminationEstimate
        The fit to all other labels; its shares are those of all labels.
    """

    log_odds: FloatArray
    separation: ContaminationEstimate


def find_factors(
    given: FloatArray, predicted: FloatArray, std: FloatArray, transform: Transform | None
) -> Factors | None:
    """Find labels that are a power of ten times too large or too small.

    Parameters
    ----------
    given : ndarray of shape (n_samples,)
        Labels, in their own units.
    predicted, std : ndarray of shape (n_samples,)
        Predictions and standard deviations on the scale on which labels are judged.
    transform : Transform or None
        That scale, if it is not the one of the labels.

    Returns
    -------
    Factors or None
        The verdict; None if there is no sign of such labels.
    """
    found = _fit_to(_Labels(given, predicted, std, transform))
    if found is None:
        return None
    r, fit = found
    separation = ContaminationEstimate(**separate_counts(count(r, 1 - fit.explained), None))
    odds = _log_sum(np.array([separation.log_odds(r, 1.0), fit.by_factors - fit.clean]))
    return Factors(odds, _of_all(separation, fit.explained))


def explained_by_factors(
    given: FloatArray, predicted: FloatArray, std: FloatArray, transform: Transform | None
) -> FloatArray:
    """Probability that each label is a power of ten times another value; 0 if there is no sign of such labels.

    Parameters
    ----------
    given, predicted, std, transform
        As for `find_factors`, which also separates all other labels.

    Returns
    -------
    ndarray of shape (n_samples,)
        Probabilities from 0 to 1.
    """
    found = _fit_to(_Labels(given, predicted, std, transform))
    return np.zeros(len(given)) if found is None else found[1].explained


def _fit_to(labels: "_Labels") -> "tuple[FloatArray, _Fit] | None":
    """Residuals and the fit with powers of ten; None if these do not explain the labels clearly better."""
    given = labels.given
    r = labels.residuals(given)
    repaired = np.array([labels.residuals(given / 10.0**k) for k in _POWERS])
    possible = np.isfinite(repaired) & (np.abs(repaired - r) >= _APART)
    expected = possible & (np.abs(repaired) < _EXPECTED) & (np.abs(r) >= _APART)
    if np.count_nonzero(expected.any(axis=0)) < _LEAST:
        return None
    known = np.where(possible, repaired, 0.0)
    slopes = np.where(possible, np.array([labels.log_slopes(k) for k in _POWERS]), _NOTHING)
    first = fit = _fitted(r, known, slopes, np.ones(len(r)))
    for _ in range(_ROUNDS - 1):
        fit = _fitted(r, known, slopes, 1 - fit.explained)
    gain = float((_log_sum(np.array([fit.by_factors, fit.otherwise])) - first.usual).sum())
    if fit.explained.sum() < _LEAST or gain < _price(len(r) * fit.shares):
        return None
    return r, fit


class _Fit(NamedTuple):
    """Log densities of all labels: wrong by a factor, anything else, clean; and without any factor."""

    shares: FloatArray
    by_factors: FloatArray
    otherwise: FloatArray
    clean: FloatArray
    usual: FloatArray

    @property
    def explained(self) -> FloatArray:
        """Probability that each label is wrong by a factor."""
        ahead = np.clip(self.by_factors - self.otherwise, -_LARGEST, _LARGEST)
        chance: FloatArray = 1 / (1 + exp(-ahead))
        return chance


def _fitted(r: FloatArray, repaired: FloatArray, slopes: FloatArray, weight: FloatArray) -> _Fit:
    """Fit the noise to labels by their weights, then the shares of the powers to all labels."""
    noise = _Densities(count(r, weight))
    kinds, usual = noise.log_clean(repaired) + slopes, noise.log_all(r)
    shares = _fitted_shares(kinds - usual)
    others = 1 - float(shares.sum())
    return _Fit(
        shares=shares,
        by_factors=_log_sum(log(np.maximum(shares, _TINY))[:, None] + kinds),
        otherwise=usual + float(log(others)),
        clean=noise.log_clean(r) + float(log(noise.clean_share * others)),
        usual=usual,
    )


@dataclass(frozen=True)
class _Labels:
    given: FloatArray
    predicted: FloatArray
    std: FloatArray
    transform: Transform | None

    def residuals(self, labels: FloatArray) -> FloatArray:
        """Residuals of labels in units of the noise; infinite for labels that the scale cannot hold."""
        if self.transform is None:
            judged = labels
        else:
            judged = self.transform.labels(labels) if labels is self.given else self.transform.forward(labels)
        return (judged - self.predicted) / self.std

    def log_slopes(self, power: int) -> FloatArray:
        """Logarithm of the derivative of the residual of y/10ᵏ by that of y; 0 where the scale holds no label."""
        by_factor = -power * float(log(10.0))
        if self.transform is None:
            return np.full(len(self.given), by_factor)
        there = self.transform.log_derivative(self.given / 10.0**power)
        here = self.transform.log_derivative(self.given)
        known = np.isfinite(there) & np.isfinite(here)
        return np.where(known, np.where(known, there, 0.0) - np.where(known, here, 0.0) + by_factor, 0.0)


class _Densities:
    """Log densities of residuals, interpolated between the bins of a fit."""

    def __init__(self, histogram: Histogram) -> None:
        found = average(histogram)
        self.center, self.width = histogram.center, histogram.width
        self.clean_share = float(found.clean.sum())
        self._clean = log(np.maximum(found.clean / self.clean_share / WIDTHS, _TINY)) - float(log(self.width))
        both = found.clean + found.wrong + GRANTED / histogram.n / len(KNOTS)
        self._all = log(both / WIDTHS) - float(log(self.width))

    def log_clean(self, r: FloatArray) -> FloatArray:
        """Log density of clean labels."""
        return self._at(r, self._clean)

    def log_all(self, r: FloatArray) -> FloatArray:
        """Log density of all labels."""
        return self._at(r, self._all)

    def _at(self, r: FloatArray, values: FloatArray) -> FloatArray:
        u = asinh((r - self.center) / self.width)
        beyond = np.maximum(np.maximum(KNOTS[0] - u, u - KNOTS[-1]), 0.0)
        found: FloatArray = np.interp(u, KNOTS, values) - beyond  # flat in asinh r, as what is granted
        return found


def _fitted_shares(ratio: FloatArray) -> FloatArray:
    """Share of each power of ten, from log likelihood ratios to all other labels; 0 for powers that do not pay."""
    n = ratio.shape[1]
    matters = ratio.max(axis=0) > _IRRELEVANT
    likelihood = exp(np.clip(ratio[:, matters], _NOTHING, _LARGEST))
    shares = np.full(len(ratio), _LEAST / n)
    while shares.any():
        for _ in range(_STEPS):
            joint = shares[:, None] * likelihood
            shares = (joint / (joint.sum(axis=0) + 1 - shares.sum())).sum(axis=1) / n
        gain = _gain(shares, likelihood, n)
        powers = range(len(shares))
        lost = np.array([gain - _gain(_without(shares, k), likelihood, n) for k in powers])
        price = np.array([_price(n * shares[k : k + 1]) for k in powers])
        short = np.where(shares > 0, lost - price, np.inf)
        if short.min() >= 0 or np.count_nonzero(shares) == 1:
            break
        shares = _without(shares, int(short.argmin()))
    return shares


def _price(counts: FloatArray) -> float:
    """What the log likelihood must gain by powers of ten that explain so many labels each."""
    some = counts[counts > 0]
    each = EXISTENCE + float(log(float(len(_POWERS)))) + RING * log1p(some) + per_label(np.array(RING)) * some
    return float(each.sum())


def _gain(shares: FloatArray, likelihood: FloatArray, n: int) -> float:
    """Gain in log likelihood over no such labels."""
    rest = 1 - float(shares.sum())
    among = log(rest + (shares[:, None] * likelihood).sum(axis=0))
    return float(among.sum() + (n - likelihood.shape[1]) * log(rest))


def _without(shares: FloatArray, power: int) -> FloatArray:
    return np.where(np.arange(len(shares)) == power, 0.0, shares)


def _log_sum(logs: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials along the first axis."""
    largest = logs.max(axis=0)
    total: FloatArray = largest + log(exp(logs - largest).sum(axis=0))
    return total


def _of_all(separation: ContaminationEstimate, explained: FloatArray) -> ContaminationEstimate:
    """The fit to other labels, with the shares of all labels; each is explained with some probability."""
    n, number = len(explained), float(explained.sum())
    error = 2 * float(np.sqrt((explained * (1 - explained)).sum()))

    def of_all(share: float, off: float = 0.0) -> float:
        return (min(max(number + off, 0.0), n) + share * (n - number)) / n

    low, high = separation.contamination_interval
    least, most = separation.standing_out_interval
    return replace(
        separation,
        contamination=of_all(separation.contamination),
        contamination_interval=(of_all(low, -error), min(of_all(high, error), 1.0)),
        standing_out=of_all(separation.standing_out),
        standing_out_interval=(of_all(least, -error), min(of_all(most, error), 1.0)),
        n=n,
    )
