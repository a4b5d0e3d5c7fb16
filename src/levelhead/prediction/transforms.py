"""Scales of the labels: increasing maps from y to a scale on which the noise has one shape, and back.

A model that learns on such a scale predicts Gaussians there; `levelhead.prediction.transformed` returns them to the
units of y.

>>> scale = LogTransform(floor=1e-3)
>>> scale.forward([1.0, 10.0]).round(3)
array([0.   , 2.303])
>>> scale.inverse([0.0, 2.302585]).round(3)
array([ 1., 10.])
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.elementary import exp, log, log1p, power

FloatArray = NDArray[np.float64]

_REACH, _PANEL, _NODES = (
    12.0,
    1.5,
    6,
)  # quadrature: standard deviations each side, width of a panel, points in it
_BLOCK = 2**14  # distributions integrated at a time
_FAR_BELOW = 1e-3  # labels that are not positive count as this share of the smallest positive one
_WIDEST = 10.0  # times the range of the labels that predictions by a user's transformer may lie beyond it
_STEPS = 65  # in the search for the end of the range in which a transformer has an inverse
_LEAST_STEP = 1e-12  # of a numerical derivative, relative to the label


class Transform(ABC):
    """An increasing map from the units of y to another scale."""

    @abstractmethod
    def forward(self, y: ArrayLike) -> FloatArray:
        """Map from the units of y to the scale.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Transformed labels; −∞ for labels below all that the scale can hold.
        """

    @abstractmethod
    def inverse(self, z: ArrayLike) -> FloatArray:
        """Map from the scale to the units of y.

        Parameters
        ----------
        z : array-like
            Transformed labels.

        Returns
        -------
        ndarray
            Labels.
        """

    @abstractmethod
    def log_derivative(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the derivative of `forward`, which a density needs.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Logarithms; −∞ where the scale holds no label.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the scale in a sentence."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points of the scale at which `inverse` is not smooth."""
        return ()

    def labels(self, y: ArrayLike) -> FloatArray:
        """Transform labels to finite numbers, to learn from them or to judge them.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Transformed labels; a label that the scale cannot hold is far below all others.
        """
        return self.forward(y)

    def moments(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance, in the units of y, of Gaussians on the scale.

        Parameters
        ----------
        mean : ndarray
            Means of the Gaussians.
        std : ndarray of the same shape
            Standard deviations.

        Returns
        -------
        tuple of two ndarray
            Means and variances, by quadrature.
        """
        shape = mean.shape
        m, s = np.ravel(mean), np.ravel(std)
        parts = [
            _integrated(self.inverse, m[k : k + _BLOCK], s[k : k + _BLOCK], self.kinks)
            for k in range(0, max(m.size, 1), _BLOCK)
        ]
        first, second = (np.concatenate(part).reshape(shape) for part in zip(*parts, strict=True))
        return first, second


@dataclass(frozen=True)
class LogTransform(Transform):
    """The natural logarithm.

    Parameters
    ----------
    floor : float
        Labels below it, which are 0, negative or far too small, are judged as if they were this number.
    """

    floor: float

    @classmethod
    def of(cls, y: ArrayLike) -> "LogTransform":
        """The logarithm for these labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels, at least one of them positive.

        Returns
        -------
        LogTransform
            The scale.

        Raises
        ------
        ValueError
            If no label is positive.
        """
        labels = np.asarray(y, dtype=np.float64)
        if not (labels > 0).any():
            raise ValueError("no label is positive: a log scale needs positive labels; use another scale")
        return cls(max(_FAR_BELOW * float(labels[labels > 0].min()), np.finfo(np.float64).smallest_normal))

    @property
    def name(self) -> str:
        """The name of the scale in a sentence."""
        return "log"

    def forward(self, y: ArrayLike) -> FloatArray:
        """Return ln y.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            ln y; −∞ for labels of at most 0.
        """
        return np.asarray(log(np.maximum(y, 0.0)))

    def inverse(self, z: ArrayLike) -> FloatArray:
        """Return eᶻ.

        Parameters
        ----------
        z : array-like
            Logarithms.

        Returns
        -------
        ndarray
            Labels.
        """
        return np.asarray(exp(np.asarray(z, dtype=np.float64)))

    def log_derivative(self, y: ArrayLike) -> FloatArray:
        """Return −ln y.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Logarithms of the derivative; −∞ for labels of at most 0.
        """
        given = np.asarray(y, dtype=np.float64)
        return np.where(given > 0, -log(np.where(given > 0, given, 1.0)), -np.inf)

    def labels(self, y: ArrayLike) -> FloatArray:
        """Transform labels, those below the floor as if they were the floor.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Finite numbers.
        """
        return np.asarray(log(np.maximum(y, self.floor)))

    def moments(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the log-normal distribution.

        Parameters
        ----------
        mean : ndarray
            Means of the logarithm.
        std : ndarray of the same shape
            Standard deviations of the logarithm.

        Returns
        -------
        tuple of two ndarray
            Means and variances.
        """
        square = std * std
        first: FloatArray = exp(mean + 0.5 * square)
        growth = np.where(square < 1e-4, square * (1 + square / 2 * (1 + square / 3)), exp(square) - 1)
        return first, first * first * growth


@dataclass(frozen=True)
class YeoJohnsonTransform(Transform):
    """The power transform of Yeo and Johnson (2000) for labels of any sign, after centering and scaling.

    Parameters
    ----------
    power : float
        From 0 to 2: below 1 it shortens the upper tail, above 1 the lower one. 1 is a linear scale. Powers outside
        would not reach all labels.
    center : float
        A typical label.
    spread : float
        Width of the labels.
    """

    power: float
    center: float
    spread: float

    @property
    def name(self) -> str:
        """The name of the scale in a sentence."""
        return f"Yeo-Johnson (power {self.power:g})"

    @property
    def kinks(self) -> tuple[float, ...]:
        """The third derivative jumps at 0."""
        return (0.0,)

    def forward(self, y: ArrayLike) -> FloatArray:
        """Return the power of the scaled label.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Transformed labels.
        """
        u = (np.asarray(y, dtype=np.float64) - self.center) / self.spread
        size = np.abs(u)
        return np.where(u >= 0, _bent(size, self.power), -_bent(size, 2 - self.power))

    def inverse(self, z: ArrayLike) -> FloatArray:
        """Return the label of a transformed one.

        Parameters
        ----------
        z : array-like
            Transformed labels.

        Returns
        -------
        ndarray
            Labels.
        """
        given = np.asarray(z, dtype=np.float64)
        size = np.abs(given)
        u = np.where(given >= 0, _straightened(size, self.power), -_straightened(size, 2 - self.power))
        return np.asarray(self.center + self.spread * u)

    def log_derivative(self, y: ArrayLike) -> FloatArray:
        """Return the logarithm of the derivative.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Logarithms.
        """
        u = (np.asarray(y, dtype=np.float64) - self.center) / self.spread
        return np.asarray((self.power - 1) * np.sign(u) * log1p(np.abs(u)) - log(self.spread))


@dataclass(frozen=True)
class MonotoneTransform(Transform):
    """A fitted scikit-learn transformer with an inverse, increasing or decreasing.

    Parameters
    ----------
    transformer : transformer
        Has `transform` and `inverse_transform`.
    sign : float
        1, or −1 for a decreasing transformer, whose results are negated.
    step : float
        Step of the numerical derivative, in the units of y.
    low : float, default=-inf
        Smallest transformed label with an inverse that can be trusted; what is predicted below counts as this.
    high : float, default=inf
        Largest one.
    """

    transformer: Any
    sign: float
    step: float
    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of(cls, transformer: Any, y: ArrayLike, spread: float) -> "MonotoneTransform":
        """Wrap a fitted transformer, after a check on the labels.

        Parameters
        ----------
        transformer : transformer
            A fitted transformer.
        y : array-like of shape (n_samples,)
            The labels it must order.
        spread : float
            Width of the labels.

        Returns
        -------
        MonotoneTransform
            The scale.

        Raises
        ------
        ValueError
            If the transformer is not finite, not monotone or not invertible on the labels.
        """
        known = np.unique(np.asarray(y, dtype=np.float64))
        name = type(transformer).__name__
        image = cls(transformer, 1.0, 1.0).forward(known)
        if not np.isfinite(image).all():
            first = known[~np.isfinite(image)][0]
            raise ValueError(f"target_transform: {name} maps the label {first:g} to no finite number")
        rises, falls = (np.diff(image) >= 0).all(), (np.diff(image) <= 0).all()
        if known.size > 1 and (rises == falls):
            raise ValueError(
                f"target_transform: {name} is not monotone on the labels; use one that keeps order"
            )
        sign = -1.0 if falls and known.size > 1 else 1.0
        low, high = np.sort(sign * image[[0, -1]])
        scale = cls(
            transformer, sign, 1e-5 * spread, *_trusted(cls(transformer, sign, 1.0).inverse, low, high)
        )
        back = scale.inverse(scale.forward(known))
        bad = ~(np.abs(back - known) <= 1e-6 * np.maximum(spread, np.abs(known)))
        if bad.any():
            raise ValueError(
                f"target_transform: {name} does not return the label {known[bad][0]:g} but {back[bad][0]:g} by its "
                "inverse_transform; give a transformer with an inverse"
            )
        return scale

    @property
    def name(self) -> str:
        """The name of the scale in a sentence."""
        return type(self.transformer).__name__

    def forward(self, y: ArrayLike) -> FloatArray:
        """Transform labels.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Transformed labels.
        """
        return self.sign * _of_column(self.transformer.transform, y)

    def inverse(self, z: ArrayLike) -> FloatArray:
        """Return labels of transformed ones.

        Parameters
        ----------
        z : array-like
            Transformed labels.

        Returns
        -------
        ndarray
            Labels.
        """
        held = np.clip(np.asarray(z, dtype=np.float64), self.low, self.high)
        return _of_column(self.transformer.inverse_transform, self.sign * held)

    def log_derivative(self, y: ArrayLike) -> FloatArray:
        """Return the logarithm of the derivative, by a central difference.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Logarithms.
        """
        given = np.asarray(y, dtype=np.float64)
        step = np.maximum(self.step, _LEAST_STEP * np.abs(given))
        low, high = given - step, given + step
        with np.errstate(all="ignore"):
            below, at, above = (self.forward(points) for points in (low, given, high))
            below, low = np.where(np.isfinite(below), below, at), np.where(np.isfinite(below), low, given)
            above, high = np.where(np.isfinite(above), above, at), np.where(np.isfinite(above), high, given)
            return np.asarray(log((above - below) / (high - low)))


def _of_column(function: Callable[[FloatArray], Any], values: ArrayLike) -> FloatArray:
    """Apply a function of a table with one column to an array of any shape."""
    given = np.asarray(values, dtype=np.float64)
    if not given.size:
        return given
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # about numbers that cannot be transformed, which are checked elsewhere
        return np.asarray(function(given.reshape(-1, 1)), dtype=np.float64).reshape(given.shape)


def _trusted(inverse: Callable[[ArrayLike], FloatArray], low: float, high: float) -> tuple[float, float]:
    """The range of the transformed labels, wider on each side where the inverse rises to labels that are not absurd."""
    first, last = inverse([low, high]).tolist()
    reach = _WIDEST * (last - first)
    share = np.linspace(0, 1, _STEPS)
    below, above = low - share * (high - low), high + share * (high - low)
    return (
        float(below[_rising(-inverse(below), -first, -first + reach)][-1]),
        float(above[_rising(inverse(above), last, last + reach)][-1]),
    )


def _rising(values: FloatArray, start: float, end: float) -> NDArray[np.bool_]:
    """The first entries, as far as they rise from start and stay below end; always the first one."""
    with np.errstate(invalid="ignore"):
        wrong = ~((np.diff(values, prepend=start) >= 0) & (values <= end))
    wrong[0] = False
    return np.asarray(np.cumsum(wrong) == 0)


def _bent(size: FloatArray, exponent: float) -> FloatArray:
    """((1 + size)^exponent − 1)/exponent, which is ln(1 + size) at exponent 0."""
    if exponent == 0:
        return np.asarray(log1p(size))
    return np.asarray((power(1 + size, exponent) - 1) / exponent)


def _straightened(size: FloatArray, exponent: float) -> FloatArray:
    """The inverse of `_bent`."""
    if exponent == 0:
        return np.asarray(exp(size) - 1)
    return np.asarray(power(1 + exponent * size, 1 / exponent) - 1)


def _integrated(
    inverse: Callable[[FloatArray], FloatArray], m: FloatArray, s: FloatArray, kinks: tuple[float, ...]
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of inverse(m + s·u) for standard normal u, by Gauss-Legendre panels that end at kinks."""
    ends = np.arange(-_REACH, _REACH + _PANEL / 2, _PANEL)
    with np.errstate(over="ignore"):
        inner = [np.clip((kink - m) / s, -_REACH, _REACH) for kink in kinks]
    edges = np.sort(np.column_stack([np.broadcast_to(ends, (m.size, ends.size)), *inner]), axis=1)
    u, width = panels(edges, _NODES)
    weight = width * exp(-0.5 * u * u)
    weight /= weight.sum(axis=1, keepdims=True)
    values = inverse(m[:, None] + s[:, None] * u)
    mean = (weight * values).sum(axis=1)
    return mean, (weight * (values - mean[:, None]) ** 2).sum(axis=1)


def panels(edges: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of Gauss-Legendre quadrature between consecutive edges.

    Parameters
    ----------
    edges : ndarray of shape (n_rows, n_edges)
        Ascending in each row.
    n_nodes : int
        Points between two edges.

    Returns
    -------
    tuple of two ndarray, of shape (n_rows, (n_edges − 1) · n_nodes)
        Points and weights.
    """
    at, weight = np.polynomial.legendre.leggauss(n_nodes)
    half = 0.5 * np.diff(edges, axis=1)[..., None]
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None]
    shape = (len(edges), -1)
    return (middle + half * at).reshape(shape), (half * weight).reshape(shape)
