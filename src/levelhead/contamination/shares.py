"""How many labels are wrong, and in which rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import _checks
from levelhead._checks import FloatArray

Share = float | ArrayLike | Callable[[Any], ArrayLike]


@dataclass(frozen=True)
class Ramp:
    """A probability of wrong labels that depends on X: linear in the rank of one feature.

    Parameters
    ----------
    feature : int, default=0
        Column of X.
    start : float, default=0.0
        Probability at the smallest value.
    end : float, default=0.2
        Probability at the largest value.
    """

    feature: int = 0
    start: float = 0.0
    end: float = 0.2

    def __call__(self, X: Any) -> FloatArray:
        """Compute the probability of a wrong label for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities.
        """
        column = np.asarray(X)[:, self.feature]
        below = np.searchsorted(np.sort(column), column, side="left")
        upto = np.searchsorted(np.sort(column), column, side="right")
        rank = (below + upto) / (2 * column.size)  # ties share the mean of their ranks
        return np.asarray(self.start + (self.end - self.start) * rank)


def choose(contamination: Share, X: Any, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose the rows that get a wrong label; return their indices."""
    if np.shape(X)[:1] != (n,):
        raise ValueError(f"X has shape {np.shape(X)} but y has {n} rows; give one row of X for each label")
    share = _checks.real("contamination", contamination(X) if callable(contamination) else contamination)
    outside = ~((share >= 0) & (share <= 1))
    if outside.any():
        raise ValueError(
            f"contamination is {share[outside].flat[0]}; shares and probabilities lie between 0 and 1"
        )
    if share.ndim == 0:
        return rng.choice(n, size=int(share * n), replace=False)
    return np.flatnonzero(rng.random(n) < per_row("contamination", share, n))


def per_row(name: str, value: ArrayLike, n: int) -> FloatArray:
    """Check that an array has one number per row, and return it as floats."""
    array = _checks.vector(name, value)
    _checks.same_length(n, **{name: array})
    return array
