"""What every contamination does: choose rows, draw their labels, return a mask."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead._deprecated import renamed_argument
from levelhead.contamination.shares import Share, choose, per_row


class Contaminated(NamedTuple):
    """Data with wrong labels.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs, as given.
    y : ndarray of shape (n_samples,)
        Labels, some of them wrong.
    mask : ndarray of bool of shape (n_samples,)
        True where a label is wrong.
    original : ndarray of shape (n_samples,)
        Clean labels.
    """

    X: Any
    y: FloatArray
    mask: NDArray[np.bool_]
    original: FloatArray


class Rows(NamedTuple):
    """The data that `Contamination.wrong_labels` gets.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Clean labels of all rows.
    chosen : ndarray of int of shape (n_chosen,)
        Indices of the rows that get a wrong label.
    noise_std : ndarray of shape (n_samples,) or None
        Standard deviation of the noise of each row, if it is known.
    """

    y: FloatArray
    chosen: NDArray[np.intp]
    noise_std: FloatArray | None


@dataclass(frozen=True)
class Contamination(ABC):
    """Replaces a share of the labels by wrong ones.

    An instance is called with clean data (see `__call__`). The given arrays are never changed, and the same seed gives
    the same result. Subclasses are frozen dataclasses that implement `wrong_labels`.
    """

    @abstractmethod
    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Draw new labels for the chosen rows.

        Parameters
        ----------
        rows : Rows
            Clean labels, the indices of the chosen rows and, if known, the noise.
        rng : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        ndarray of shape (n_chosen,)
            Wrong labels of the chosen rows.
        """

    @renamed_argument("rate", "contamination")
    def __call__(
        self,
        X: Any,
        y: ArrayLike,
        contamination: Share = 0.05,
        random_state: RandomState = None,
        *,
        noise_std: ArrayLike | None = None,
    ) -> Contaminated:
        """Replace the labels of a share of the rows by wrong ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; returned as given. They are used only if `contamination` is a function.
        y : array-like of shape (n_samples,)
            Clean labels.
        contamination : float, array-like of shape (n_samples,) or callable, default=0.05
            Share of rows, probability of each row, or a function of X that returns either.
        random_state : int, numpy.random.Generator or None, default=None
            Seed or generator.
        noise_std : array-like of shape (n_samples,) or None, default=None
            Standard deviation of the noise of each row; `Shifted` needs it.

        Returns
        -------
        Contaminated
            Inputs, labels, mask and clean labels. The mask is True where a label differs from the clean one; a chosen
            label that stays the same (the sign of 0, a swap of equal labels) is not wrong.

        Raises
        ------
        ValueError
            If X and y differ in length, or a share or probability is not between 0 and 1.
        """
        clean = _checks.vector("y", y).copy()
        rng = _checks.generator(random_state)
        chosen = choose(contamination, X, clean.size, rng)
        noise = None if noise_std is None else per_row("noise_std", noise_std, clean.size)
        labels = clean.copy()
        if chosen.size:
            labels[chosen] = self.wrong_labels(Rows(clean, chosen, noise), rng)
        return Contaminated(X, labels, labels != clean, clean)
