"""Distributions: one mixture per row, with density, distribution function, quantiles and intervals."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.prediction.mixture import Mixture
from levelhead.theory.elementary import exp


class Interval(NamedTuple):
    """Lower and upper ends of a central interval, one pair per row.

    Attributes
    ----------
    lower : ndarray of shape (n_samples,)
        Lower ends.
    upper : ndarray of shape (n_samples,)
        Upper ends.
    """

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """One mixture distribution per row: what predictions of clean and of contaminated labels share.

    A label y is a scalar, or an array whose last axis has one entry per row. With a single row y may have any shape:
    `prediction[7].pdf(grid)`.

    Parameters
    ----------
    mixture : Mixture
        Locations, scales and shapes of the members.
    """

    mixture: Mixture

    def __len__(self) -> int:
        return int(self.mixture.location.shape[1])

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Density at y.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Densities, in the shape of y; (n_samples,) for a scalar.
        """
        return exp(self.logpdf(y))

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the density at y; finite even for y far from the mean.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities, in the shape of y; (n_samples,) for a scalar.
        """
        return self.mixture.logpdf(self._labels(y))

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a label of at most y.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Probabilities, in the shape of y; (n_samples,) for a scalar.
        """
        return self.mixture.cdf(self._labels(y))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles of every row.

        Parameters
        ----------
        q : array-like
            Probabilities strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (*q.shape, n_samples)
            The q-quantile of every row; of shape (n_samples,) for a scalar q.

        Raises
        ------
        ValueError
            If a probability is not strictly between 0 and 1.
        """
        levels = _checks.real("q", q)
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q is {levels.tolist()}; probabilities must lie strictly between 0 and 1")
        rows = [self.mixture.ppf(float(level)) for level in levels.flat]
        return np.array(rows).reshape(*levels.shape, len(self))

    def interval(self, coverage: float = 0.9) -> Interval:
        """The central interval that holds the label with a given probability.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval holds the label.

        Returns
        -------
        Interval
            Lower and upper ends, one pair per row.

        Raises
        ------
        ValueError
            If `coverage` is not strictly between 0 and 1.
        """
        tail = (1 - _checks.share("coverage", coverage)) / 2
        return Interval(self.ppf(tail), self.ppf(1 - tail))

    def _labels(self, y: ArrayLike) -> FloatArray:
        labels = _checks.not_nan("y", _checks.real("y", y))
        if labels.ndim and len(self) != 1 and labels.shape[-1] != len(self):
            raise ValueError(
                f"y has shape {labels.shape} but there are {len(self)} rows; give a scalar or an array whose "
                f"last axis has length {len(self)}"
            )
        return labels


class ContaminatedMarginal(Distribution):
    """The labels as they are given, wrong ones included: Student's t of (3), or a mixture of several.

    Attributes
    ----------
    var : ndarray of shape (n_samples,)
        Variance of the given labels, equation (9).
    """

    @cached_property
    def var(self) -> FloatArray:
        """The variance σ/(α−1) of equation (9), mixed over the members; ∞ where a member has α ≤ 1."""
        location, scale, alpha = self.mixture.location, self.mixture.scale, self.mixture.shape
        with np.errstate(divide="ignore"):
            members = scale**2 * np.where(alpha > 1, alpha / np.maximum(alpha - 1, 0), np.inf)
        return read_only(members.mean(axis=0) + location.var(axis=0))


def read_only(array: FloatArray) -> FloatArray:
    """Forbid writing to an array, and return it."""
    array.flags.writeable = False
    return array
