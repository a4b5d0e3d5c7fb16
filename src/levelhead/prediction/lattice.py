"""Labels that are whole multiples of a unit: grades, counts, prices in steps of five.

A model predicts a continuous distribution. If clean labels only take the values start, start + step, …, the predicted
label is the nearest of them: the probability of a value is that of its cell, from half a step below to half a step
above. Quantiles and the ends of intervals are values that labels can take, and an interval holds a label with at least
the given probability.

>>> import numpy as np
>>> from levelhead.prediction import Prediction
>>> grades = find_lattice(np.arange(1000) % 7 + 3.0, np.ones(1000))
>>> grades
Lattice(start=3.0, step=1.0, count=7)
>>> LatticePrediction(Prediction([5.9], [0.49]), grades).interval(0.9)
Interval(lower=array([5.]), upper=array([7.]))
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from levelhead._checks import FloatArray, RandomState
from levelhead.prediction.distribution import ContaminatedMarginal
from levelhead.prediction.mixture import Mixture
from levelhead.prediction.prediction import Prediction, Rows
from levelhead.prediction.transforms import Transform
from levelhead.theory.elementary import log

# By judgement, not tuned.
MOST_VALUES = 100  # of a lattice; with more, the steps are small beside the noise
_LABELS_PER_VALUE = 10.0  # at least, on average; with fewer, labels may agree by chance
_MOST_GAPS = 0.5  # share of the values that no label has
_OFTEN, _LEAST_SHARE = 3, 0.002  # labels of a value that shows the step: number and share
_MOST_MISSED = 0.05  # share of trusted labels that are not on the lattice: wrong ones that nobody has found
_TRUSTED = 0.5  # weight from which a label counts
_ROUNDING = 1e-6  # of a step, by which labels may miss it
_LEAST_MASS = 1e-300


@dataclass(frozen=True)
class Lattice:
    """The values start, start + step, …, of which there are `count`.

    Parameters
    ----------
    start : float
        The smallest value.
    step : float
        Distance of neighbouring values, above 0.
    count : int
        Number of values, at least 2.
    """

    start: float
    step: float
    count: int

    @property
    def values(self) -> FloatArray:
        """All values, in increasing order."""
        return self.start + self.step * np.arange(self.count, dtype=np.float64)

    @property
    def edges(self) -> FloatArray:
        """Limits between the cells of neighbouring values."""
        return self.values[:-1] + 0.5 * self.step

    def nearest(self, y: ArrayLike) -> FloatArray:
        """Round to the nearest value.

        Parameters
        ----------
        y : array-like
            Numbers.

        Returns
        -------
        ndarray
            Values of the lattice, of the same shape.
        """
        place = np.round((np.asarray(y, dtype=np.float64) - self.start) / self.step)
        return self.start + self.step * np.clip(place, 0, self.count - 1)


def find_lattice(y: ArrayLike, weight: ArrayLike) -> Lattice | None:
    """Find the values that labels take, if they are few and equally far apart.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,)
        Probability that each label is clean; those below ½ do not count.

    Returns
    -------
    Lattice or None
        The lattice of the labels. None if there are more than 100 values, fewer than ten labels for each of them, no
        common step, or more than 5 % of the labels elsewhere.
    """
    labels = np.asarray(y, dtype=np.float64)[np.asarray(weight) > _TRUSTED]
    values, counts = np.unique(labels, return_counts=True)
    often = values[counts >= max(_OFTEN, _LEAST_SHARE * len(labels))]
    if not 2 <= len(often) <= len(labels) / _LABELS_PER_VALUE:
        return None
    gaps = np.diff(often)
    steps = np.round(gaps / gaps.min())
    count = float(steps.sum()) + 1
    step = float(often[-1] - often[0]) / (count - 1)
    if np.abs(gaps / step - steps).max() > _ROUNDING or len(often) < (1 - _MOST_GAPS) * count:
        return None
    found = _with_ends(Lattice(float(often[0]), step, int(count)), values)
    missed = np.abs(labels - found.nearest(labels)) > _ROUNDING * step
    return found if found.count <= MOST_VALUES and missed.mean() <= _MOST_MISSED else None


def _with_ends(lattice: Lattice, values: FloatArray) -> Lattice:
    """The lattice, longer by neighbouring values at its ends that some label has."""
    place = (values - lattice.start) / lattice.step
    taken = set(np.round(place[np.abs(place - np.round(place)) < _ROUNDING]).tolist())
    first, last = 0, lattice.count - 1
    while first - 1 in taken:
        first -= 1
    while last + 1 in taken:
        last += 1
    return Lattice(lattice.start + lattice.step * first, lattice.step, last - first + 1)


@dataclass(frozen=True)
class LatticeMixture:
    """Distributions on a lattice, one per row, from continuous ones.

    Parameters
    ----------
    continuous : Mixture
        The continuous distributions.
    lattice : Lattice
        The values that labels can take.
    """

    continuous: Mixture
    lattice: Lattice

    @property
    def location(self) -> FloatArray:
        """Locations of the continuous distributions."""
        return self.continuous.location

    def cdf(self, y: FloatArray) -> FloatArray:
        """The distribution function.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Probabilities of labels of at most y.
        """
        start, step, last = self.lattice.start, self.lattice.step, self.lattice.count - 1
        place = np.floor((y - start) / step + _ROUNDING)
        inside = self.continuous.cdf(start + step * (np.clip(place, 0, last) + 0.5))
        return np.where(place < 0, 0.0, np.where(place >= last, 1.0, inside))

    def logpdf(self, y: FloatArray) -> FloatArray:
        """Logarithm of the probability of the nearest value, divided by the step.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities, per unit of y, as if labels were spread evenly over the cells.
        """
        value, step = self.lattice.nearest(y), self.lattice.step
        mass = self.cdf(value) - self.cdf(value - step)
        return log(np.maximum(mass, _LEAST_MASS) / step)

    def ppf(self, q: float) -> FloatArray:
        """The q-quantile of each row.

        Parameters
        ----------
        q : float
            A probability strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of the lattice.
        """
        return self.lattice.nearest(self.continuous.ppf(q))

    def crps(self, y: FloatArray) -> FloatArray:
        """Continuous ranked probability score `∫(F(t) − 1{t ≥ y})² dt` of each row, exact.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, in the units of y.
        """
        values = self.lattice.values
        inside = np.clip(y, values[0], values[-1])
        total = np.abs(y - inside)
        for low, high, edge in zip(values[:-1], values[1:], self.lattice.edges, strict=True):
            below = self.continuous.cdf(np.full_like(y, edge))
            middle = np.clip(inside, low, high)
            total = total + (middle - low) * below**2 + (high - middle) * (1 - below) ** 2
        return total


class LatticePrediction(Prediction):
    """A prediction of labels that only take the values of a lattice.

    Means, variances and members are those of the continuous prediction; densities, quantiles, intervals, scores and
    draws are those of the nearest value.

    Parameters
    ----------
    continuous : Prediction
        The prediction of a model, in the units of y.
    lattice : Lattice
        The values that labels can take.

    Attributes
    ----------
    lattice : Lattice
        The values that labels can take.
    """

    lattice: Lattice

    def __init__(self, continuous: Prediction, lattice: Lattice) -> None:
        self._store(
            _continuous=continuous,
            lattice=lattice,
            member_alpha=continuous.member_alpha,
            member_sigma=continuous.member_sigma,
        )

    @cached_property
    def mixture(self) -> LatticeMixture:  # type: ignore[override]
        """The distributions on the lattice."""
        return LatticeMixture(self._inner.mixture, self.lattice)

    @property
    def _inner(self) -> Prediction:
        continuous: Prediction = self._continuous  # type: ignore[attr-defined]
        return continuous

    @property
    def latent(self) -> Prediction:
        """The continuous prediction, on the scale on which the model learns."""
        return self._inner.latent

    @property
    def transform(self) -> Transform | None:
        """The scale on which the model learns; None for the units of y."""
        return self._inner.transform

    def __len__(self) -> int:
        return len(self._inner)

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
        return self._inner.n_members

    @property
    def member_mean(self) -> FloatArray:
        """Mean of each member, in the units of y."""
        return self._inner.member_mean

    @property
    def member_var(self) -> FloatArray:
        """Variance of each member, in the units of y."""
        return self._inner.member_var

    @property
    def contaminated(self) -> ContaminatedMarginal:
        """The labels as they are given, wrong ones included; these need not lie on the lattice."""
        return self._inner.contaminated

    @property
    def student_var(self) -> FloatArray:
        """Variance (9) of the labels as they are given, as in the continuous prediction."""
        return self._inner.student_var

    @property
    def finite_student_var(self) -> FloatArray:
        """V_St with max(α − 1, 5e-5) instead of α − 1, as in the continuous prediction."""
        return self._inner.finite_student_var

    def sample(self, n: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw clean labels.

        Parameters
        ----------
        n : int, default=1
            Number of draws per row.
        random_state : int, numpy.random.Generator or RandomState, default=None
            Seed or generator.

        Returns
        -------
        ndarray of shape (n, n_samples)
            The draws, values of the lattice.
        """
        return self.lattice.nearest(self._inner.sample(n, random_state))

    def __getitem__(self, rows: Rows) -> "LatticePrediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
        return LatticePrediction(self._inner[rows], self.lattice)
