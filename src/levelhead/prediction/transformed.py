"""Predictions of models that learn on another scale: the distribution of the clean label in the units of y.

The members are Gaussians on the scale of a `Transform`. In the units of y they are log-normal, for example, and skewed.
Density, distribution function and quantiles are exact; mean, variance and CRPS are exact for the logarithm and
by quadrature otherwise.

>>> from levelhead.prediction import LogTransform, Prediction
>>> price = TransformedPrediction(Prediction(mean=[0.0, 1.0], var=[0.25, 0.25]), LogTransform(1e-3))
>>> price.mean.round(3)
array([1.133, 3.08 ])
>>> price.ppf(0.5).round(3)
array([1.   , 2.718])
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from levelhead._checks import FloatArray, RandomState
from levelhead.prediction._quadrature import panels
from levelhead.prediction.distribution import Distribution, read_only
from levelhead.prediction.mixture import Mixture
from levelhead.prediction.prediction import Prediction, Rows
from levelhead.prediction.transforms import Transform
from levelhead.prediction.wrapped import WrappedPrediction

_BREAKS = np.array([-9.0, *np.arange(-6, 6.1, 0.75), 9.0])  # panels of the CRPS, in standard deviations
_NODES = 6
_CELLS = 2**21  # points of the CRPS at a time


@dataclass(frozen=True)
class TransformedMixture:
    """A mixture on the scale of a transform, described in the units of y.

    Parameters
    ----------
    latent : Mixture
        The mixture on the scale.
    transform : Transform
        The scale.
    """

    latent: Mixture
    transform: Transform

    @property
    def location(self) -> FloatArray:
        """Locations in the units of y: the medians of the members."""
        return self.transform.inverse(self.latent.location)

    def logpdf(self, y: FloatArray) -> FloatArray:
        """Logarithm of the density, per unit of y.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities; −∞ where the scale holds no label.
        """
        derivative = self.transform.log_derivative(y)
        held = derivative > -np.inf
        at = np.where(held, self.transform.forward(y), 0.0)
        return np.where(held, self.latent.logpdf(at) + derivative, -np.inf)

    def cdf(self, y: FloatArray) -> FloatArray:
        """The distribution function.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Probabilities.
        """
        return self.latent.cdf(self.transform.forward(y))

    def ppf(self, q: float) -> FloatArray:
        """The q-quantile of each row.

        Parameters
        ----------
        q : float
            A probability strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            The quantiles.
        """
        return self.transform.inverse(self.latent.ppf(q))

    def crps(self, y: FloatArray) -> FloatArray:
        """Continuous ranked probability score `∫(F(t) − 1{t ≥ y})² dt` of each row, by quadrature.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, in the units of y.
        """
        n_points = self.latent.location.shape[0] * _BREAKS.size * _NODES
        block = max(1, _CELLS // (n_points * self.latent.location.shape[0]))
        rows = np.arange(len(y))
        return np.concatenate([self._crps(y[k : k + block], rows[k : k + block]) for k in rows[::block]])

    def _crps(self, y: FloatArray, rows: Any) -> FloatArray:
        """Integrate F² below the label and (1 − F)² above it, between edges at every member."""
        latent = self.latent._rows(rows)
        ends = latent.location[..., None] + latent.scale[..., None] * _BREAKS
        inner = np.moveaxis(ends, 1, 0).reshape(len(rows), -1)
        low, high = inner.min(axis=1), inner.max(axis=1)
        at = np.clip(self.transform.labels(y), low, high)
        kinks = [np.clip(kink, low, high) for kink in self.transform.kinks]
        edges = self.transform.inverse(np.sort(np.column_stack([inner, at, *kinks]), axis=1))
        points, weight = panels(edges, _NODES)
        below = latent.cdf(self.transform.forward(points).T).T
        middle = self.transform.inverse(at)
        inside = (weight * np.where(points < middle[:, None], below, 1 - below) ** 2).sum(axis=1)
        return np.asarray(inside + np.abs(y - middle))


class TransformedMarginal(Distribution):
    """The labels as they are given, wrong ones included, of a model that learns on another scale.

    It has no variance: Student's t on a log scale, for example, has no mean in the units of y.
    """


class TransformedPrediction(WrappedPrediction):
    """The distribution of the clean label of every row, in the units of y, by a model that learns on another scale.

    Parameters
    ----------
    latent : Prediction
        The prediction on the scale.
    transform : Transform
        The scale.

    Attributes
    ----------
    latent : Prediction
        The prediction on the scale.
    transform : Transform
        The scale.
    member_mean : ndarray of shape (n_members, n_samples)
        Mean of each member, in the units of y.
    member_var : ndarray of shape (n_members, n_samples)
        Variance of each member, in the units of y.
    member_alpha : ndarray of shape (n_members, n_samples), or None
        α of each member.
    member_sigma : ndarray of shape (n_members, n_samples), or None
        σ of each member, on the scale.
    """

    _transform: Transform

    def __init__(self, latent: Prediction, transform: Transform) -> None:
        super().__init__(latent)
        self._store(_transform=transform)

    @cached_property
    def mixture(self) -> TransformedMixture:  # type: ignore[override]
        """The mixture of the latent prediction, described in the units of y."""
        return TransformedMixture(self.latent.mixture, self.transform)

    @property
    def latent(self) -> Prediction:
        """The prediction on the scale."""
        return self._continuous

    @property
    def transform(self) -> Transform:
        """The scale."""
        return self._transform

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        mean, var = self.transform.moments(self.latent.member_mean, np.sqrt(self.latent.member_var))
        return read_only(mean), read_only(var)

    @cached_property
    def contaminated(self) -> TransformedMarginal:  # type: ignore[override]
        """The labels as they are given: Student's t on the scale, described in the units of y."""
        return TransformedMarginal(TransformedMixture(self.latent.contaminated.mixture, self.transform))  # type: ignore[arg-type]

    @property
    def student_var(self) -> FloatArray:
        """Not defined: Student's t on another scale need not have a variance in the units of y."""
        raise self._no_variance("student_var")

    @property
    def finite_student_var(self) -> FloatArray:
        """Not defined: Student's t on another scale need not have a variance in the units of y."""
        raise self._no_variance("finite_student_var")

    def _no_variance(self, name: str) -> AttributeError:
        return AttributeError(
            f"this prediction has no {name}: its Student's t stands on a {self.transform.name} scale and may have no "
            f"variance in the units of y; use prediction.latent.{name} on the scale, or contaminated.interval()"
        )

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
            The draws.
        """
        return self.transform.inverse(self.latent.sample(n, random_state))

    def __getitem__(self, rows: Rows) -> "TransformedPrediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
        return TransformedPrediction(self.latent[rows], self.transform)
