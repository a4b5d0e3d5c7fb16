"""Any monotone transformer of scikit-learn as a scale of the labels."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.prediction.transforms import FloatArray, Transform
from levelhead.theory.elementary import log

_WIDEST = 10.0  # times the range of the labels that predictions by a user's transformer may lie beyond it
_STEPS = 65  # in the search for the end of the range in which a transformer has an inverse
_LEAST_STEP = 1e-12  # of a numerical derivative, relative to the label


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
