"""The scale of Yeo and Johnson, which takes labels of both signs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelhead.prediction.transforms import FloatArray, Transform
from levelhead.theory.elementary import exp, log, log1p, power


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
