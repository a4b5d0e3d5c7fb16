"""Intervals that hold: the shape of the predicted distributions, learnt from held-out labels that are probably clean.

A prediction gives every row a mean and a standard deviation. Standardized residuals r = (y − mean)/std of labels that
the models have not seen show what is in between: heavy tails, skewness, a spread that is too narrow. A `ResidualShape`
maps r to standard normal quantiles, so that the distribution function Φ(T((y − mean)/std)) is the share of held-out
clean residuals below r. This is split conformal prediction, normalized by the predicted spread (Lei et al., 2018), at
all levels at once.

Wrong labels among the held-out ones would widen it. So every residual counts with the probability that its label is
clean. If these probabilities are right, the weighted share of residuals below r is that of the clean labels
(cf. Clarkson et al., 2024, and Einbinder et al., 2024, on calibration with contaminated labels).

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> r = rng.standard_t(3, size=2000)
>>> shape = learn_shape(r, np.ones(2000))
>>> lower, upper = ShapedPrediction([0.0], [1.0], shape=shape).interval(0.9)
>>> bool(abs(upper[0] - 2.35) < 0.2)  # the 95 % quantile of this Student's t
True
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead.prediction.prediction import Prediction, Rows
from levelhead.theory.elementary import exp, log

_LEVELS = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])
_LEAST_BEYOND = 2.0  # residuals beyond the outermost level that is used: quantiles farther out are chance
_LEAST_RESIDUALS = 30.0
_LEAST_GAP = 1e-6  # between knots, in standard deviations


@dataclass(frozen=True, eq=False)
class ResidualShape:
    """A monotone map from standardized residuals to standard normal quantiles, linear between knots.

    Beyond the outermost knots it continues in proportion, as the tail of a normal distribution of another width.

    Parameters
    ----------
    residual : ndarray of shape (n_knots,)
        Standardized residuals, strictly increasing; the first is negative, the last positive.
    normal : ndarray of shape (n_knots,)
        The standard normal quantiles that they correspond to, strictly increasing.
    """

    residual: FloatArray
    normal: FloatArray

    def __call__(self, r: ArrayLike) -> FloatArray:
        """Map standardized residuals to normal quantiles.

        Parameters
        ----------
        r : array-like
            Standardized residuals.

        Returns
        -------
        ndarray
            Normal quantiles, of the same shape.
        """
        return _along(np.asarray(r, dtype=np.float64), self.residual, self.normal)

    def inverse(self, normal: ArrayLike) -> FloatArray:
        """Map normal quantiles to standardized residuals.

        Parameters
        ----------
        normal : array-like
            Normal quantiles.

        Returns
        -------
        ndarray
            Standardized residuals, of the same shape.
        """
        return _along(np.asarray(normal, dtype=np.float64), self.normal, self.residual)

    def log_slope(self, r: ArrayLike) -> FloatArray:
        """Logarithm of the derivative.

        Parameters
        ----------
        r : array-like
            Standardized residuals.

        Returns
        -------
        ndarray
            Logarithms, of the same shape.
        """
        return log(self.slopes)[np.searchsorted(self.residual, np.asarray(r, dtype=np.float64))]

    @property
    def slopes(self) -> FloatArray:
        """Slope below the first knot, between knots, and above the last one."""
        inner = np.diff(self.normal) / np.diff(self.residual)
        return np.array([self.normal[0] / self.residual[0], *inner, self.normal[-1] / self.residual[-1]])

    def mirrored(self) -> "ResidualShape":
        """Return the shape of the residuals with the other sign.

        Returns
        -------
        ResidualShape
            The shape.
        """
        return ResidualShape(-self.residual[::-1], -self.normal[::-1])


NORMAL_SHAPE = ResidualShape(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))


def _along(x: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Piecewise-linear interpolation, in proportion beyond the ends."""
    inside = np.interp(x, knots, values)
    below, above = x < knots[0], x > knots[-1]
    inside = np.where(below, values[0] / knots[0] * x, inside)
    return np.where(above, values[-1] / knots[-1] * x, inside)


def _squared_below(r: FloatArray, shape: ResidualShape) -> FloatArray:
    """∫ Φ(T(t))² dt from −∞ to r, piece by piece: on each of them T is linear."""
    slopes = shape.slopes
    at_knots = _squared_normal_below(shape.normal)
    pieces = [at_knots[0] / slopes[0], *(np.diff(at_knots) / slopes[1:-1])]
    before = np.array([0.0, *np.cumsum(pieces)])
    piece = np.searchsorted(shape.residual, r)
    since = np.array([0.0, *at_knots])[piece]
    return np.asarray(before[piece] + (_squared_normal_below(shape(r)) - since) / slopes[piece])


def _squared_normal_below(u: FloatArray) -> FloatArray:
    """∫ Φ(t)² dt from −∞ to u = u Φ² + 2 Φ φ − Φ(√2 u)/√π."""
    below = ndtr(u)
    with np.errstate(over="ignore"):
        density = exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
    return np.asarray(u * below**2 + 2 * below * density - ndtr(np.sqrt(2) * u) / np.sqrt(np.pi))


def learn_shape(residual: ArrayLike, weight: ArrayLike) -> ResidualShape:
    """Learn the shape of standardized residuals of labels that the prediction has not seen.

    Quantiles are those of split conformal prediction: of n residuals, the k-th smallest has the level k/(n + 1), so
    that few residuals give wide intervals rather than narrow ones.

    Parameters
    ----------
    residual : array-like of shape (n_samples,)
        Residuals, label minus mean, divided by the predicted standard deviations.
    weight : array-like of shape (n_samples,)
        Weight of each residual, at least 0: the probability that the label is clean, times its sample weight.

    Returns
    -------
    ResidualShape
        The shape; that of the normal distribution if fewer than 30 residuals count.
    """
    r, w = np.asarray(residual, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    r, w = r[w > 0], w[w > 0]
    total = float(w.sum())
    n = total * total / float((w * w).sum()) if total > 0 else 0.0  # Kish's effective number of rows
    if n < _LEAST_RESIDUALS:
        return NORMAL_SHAPE
    order = np.argsort(r, kind="stable")
    share = w[order] * (n / total)
    level = (np.cumsum(share) - 0.5 * share + 0.5) / (n + 1)
    used = _LEVELS[np.minimum(_LEVELS, 1 - _LEVELS) * (n + 1) >= _LEAST_BEYOND]
    knots = np.interp(used, level, r[order])
    rising = np.diff(knots, prepend=-np.inf) > _LEAST_GAP
    knots, normal = knots[rising], ndtri(used[rising])
    if len(knots) < 2 or not (knots[0] < 0 < knots[-1] and normal[0] < 0 < normal[-1]):
        return NORMAL_SHAPE
    return ResidualShape(knots, normal)


@dataclass(frozen=True)
class ShapedNormal:
    """The distributions Φ(T((y − location)/scale)), one per row.

    Parameters
    ----------
    location : ndarray of shape (1, n_samples)
        Locations.
    scale : ndarray of shape (1, n_samples)
        Scales.
    shape : ResidualShape
        The map T.
    """

    location: FloatArray
    scale: FloatArray
    shape: ResidualShape

    def logpdf(self, y: FloatArray) -> FloatArray:
        """Logarithm of the density.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities.
        """
        r = self._standardized(y)
        with np.errstate(over="ignore"):
            normal = -0.5 * self.shape(r) ** 2 - 0.5 * log(2 * np.pi)
        return normal + self.shape.log_slope(r) - log(self.scale[0])

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
        return np.asarray(ndtr(self.shape(self._standardized(y))))

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
        return np.asarray(self.location[0] + self.scale[0] * self.shape.inverse(ndtri(q)))

    def crps(self, y: FloatArray) -> FloatArray:
        """Continuous ranked probability score `∫(F(t) − 1{t ≥ y})² dt` of each row, in closed form.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, in the units of y.
        """
        r = self._standardized(y)
        return np.asarray(
            self.scale[0] * (_squared_below(r, self.shape) + _squared_below(-r, self.shape.mirrored()))
        )

    def _rows(self, index: Any) -> "ShapedNormal":
        return ShapedNormal(self.location[:, index], self.scale[:, index], self.shape)

    def _standardized(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray((y - self.location[0]) / self.scale[0])


class ShapedPrediction(Prediction):
    """A prediction whose quantiles, intervals and densities follow the residuals of held-out clean labels.

    Mean, variance and members are those of a `Prediction`. Only the shape of the distribution around the mean differs:
    it is not normal, but that of the held-out residuals. The median may differ from the mean.

    Parameters
    ----------
    mean : array-like of shape (n_members, n_samples) or (n_samples,)
        Mean of the clean label.
    var : array-like of the same shape
        Variance of the clean label.
    alpha : array-like of the same shape, default=None
        α of the Student's t of a GCP model.
    sigma : array-like of the same shape, default=None
        σ of the Student's t of a GCP model.
    shape : ResidualShape, default=NORMAL_SHAPE
        Shape of the distribution around the mean.

    Attributes
    ----------
    shape : ResidualShape
        Shape of the distribution around the mean.
    """

    shape: ResidualShape

    def __init__(
        self,
        mean: ArrayLike,
        var: ArrayLike,
        *,
        alpha: ArrayLike | None = None,
        sigma: ArrayLike | None = None,
        shape: ResidualShape = NORMAL_SHAPE,
    ) -> None:
        super().__init__(mean, var, alpha=alpha, sigma=sigma)
        self._store(shape=shape)

    @cached_property
    def mixture(self) -> ShapedNormal:  # type: ignore[override]
        """The distributions around the means."""
        return ShapedNormal(self.mean[None], self.std[None], self.shape)

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
        normal = _checks.generator(random_state).standard_normal((n, len(self)))
        return np.asarray(self.mean + self.std * self.shape.inverse(normal))

    def __getitem__(self, rows: Rows) -> "ShapedPrediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
        part = super().__getitem__(rows)
        return ShapedPrediction(
            part.member_mean,
            part.member_var,
            alpha=part.member_alpha,
            sigma=part.member_sigma,
            shape=self.shape,
        )
