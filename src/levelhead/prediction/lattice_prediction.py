"""Predictions of labels that are whole multiples of a unit.

A model predicts a continuous distribution. If clean labels only take the values of a lattice, the predicted label is
the nearest of them: the probability of a value is that of its cell, from half a step below to half a step above.
Quantiles and the ends of intervals are values that labels can take. The interval between two quantiles holds a label
more often than their levels say, because it ends with whole cells. So the ends of intervals are quantiles nearer to the
median, at `Lattice.levels`: learnt from held-out labels (`learn_levels`), these make intervals cover as often as they
say, on average over the table.

>>> from levelhead.prediction import Prediction
>>> from levelhead.prediction.lattice import Lattice
>>> LatticePrediction(Prediction([5.9], [0.49]), Lattice(3.0, 1.0, 7)).interval(0.9)
Interval(lower=array([5.]), upper=array([7.]))
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead.prediction.distribution import ContaminatedMarginal, Interval
from levelhead.prediction.lattice import COVERAGES, ROUNDING, Lattice
from levelhead.prediction.mixture import Mixture
from levelhead.prediction.prediction import Prediction, Rows
from levelhead.prediction.wrapped import WrappedPrediction
from levelhead.theory.elementary import log

_LEAST_LABELS = 30.0  # from which levels are learnt
_LEAST_MASS = 1e-300


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
        place = np.floor((y - start) / step + ROUNDING)
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


class LatticePrediction(WrappedPrediction):
    """A prediction of labels that only take the values of a lattice.

    Means, variances and members are those of the continuous prediction; densities, quantiles, intervals, scores and
    draws are those of the nearest value. The ends of an interval are the quantiles at `lattice.level(coverage)` around
    the median, which may be nearer to it than those at the coverage itself.

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
        super().__init__(continuous)
        self._store(lattice=lattice)

    @cached_property
    def mixture(self) -> LatticeMixture:  # type: ignore[override]
        """The distributions on the lattice."""
        return LatticeMixture(self._continuous.mixture, self.lattice)

    @property
    def contaminated(self) -> ContaminatedMarginal:
        """The labels as they are given, wrong ones included; these need not lie on the lattice."""
        return self._continuous.contaminated

    def interval(self, coverage: float = 0.9) -> Interval:
        """The interval that holds labels as often as it says, on average over many rows.

        Parameters
        ----------
        coverage : float, default=0.9
            Share of the labels that intervals hold.

        Returns
        -------
        Interval
            Lower and upper ends, values of the lattice, one pair per row.

        Raises
        ------
        ValueError
            If `coverage` is not strictly between 0 and 1.
        """
        half = 0.5 * self.lattice.level(_checks.share("coverage", coverage))
        return Interval(self.ppf(0.5 - half), self.ppf(0.5 + half))

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
        return self.lattice.nearest(self._continuous.sample(n, random_state))

    def __getitem__(self, rows: Rows) -> "LatticePrediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
        return LatticePrediction(self._continuous[rows], self.lattice)


def learn_levels(prediction: LatticePrediction, y: ArrayLike, weight: ArrayLike) -> Lattice:
    """Learn the levels at which intervals hold as many labels as they say, on average (split conformal prediction).

    An interval of level τ holds a label y if τ > 1 − 2F(y) and τ > 2F(y − step) − 1, where F is the distribution
    function on the lattice. So the level for a coverage is that quantile of the larger of the two.

    Parameters
    ----------
    prediction : LatticePrediction
        Predictions that have not seen the labels.
    y : array-like of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,)
        Probability that each label is clean, times its sample weight.

    Returns
    -------
    Lattice
        The lattice of the prediction, with levels; without any if fewer than 30 labels count.
    """
    lattice, labels, w = prediction.lattice, np.asarray(y, dtype=np.float64), np.asarray(weight)
    counts = (w > 0) & (np.abs(labels - lattice.nearest(labels)) <= ROUNDING * lattice.step)
    w = w[counts]
    total = float(w.sum())
    n = total * total / float((w * w).sum()) if total > 0 else 0.0  # Kish's effective number of rows
    if n < _LEAST_LABELS:
        return lattice
    value = lattice.nearest(labels[counts])
    F = prediction[counts].mixture.cdf
    least = np.maximum(np.maximum(1 - 2 * F(value), 2 * F(value - lattice.step) - 1), 0.0)
    order = np.argsort(least, kind="stable")
    reached = np.cumsum(w[order]) * (n / total / (n + 1))
    levels = np.interp(COVERAGES, reached, least[order], right=1.0)
    return replace(lattice, levels=tuple(np.minimum(levels, COVERAGES).tolist()))
