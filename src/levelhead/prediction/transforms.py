"""Scales of the labels: increasing maps from y to a scale on which the noise has one shape, and back.

A model that learns on such a scale predicts Gaussians there; `levelhead.prediction.transformed` returns them to the
units of y.

>>> scale = LogTransform(floor=1e-3)
>>> scale.forward([1.0, 10.0]).round(3)
array([0.   , 2.303])
>>> scale.inverse([0.0, 2.302585]).round(3)
array([ 1., 10.])
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.prediction._quadrature import moments
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

_FAR_BELOW = 1e-3  # labels that are not positive count as this share of the smallest positive one


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
        return moments(self.inverse, mean, std, self.kinks)


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
