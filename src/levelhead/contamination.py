"""Models of wrong labels: they replace some of the clean labels and return a mask of the changed ones.

A contamination is called with clean data and the share of labels to make wrong:

>>> import numpy as np
>>> X, y = np.arange(20.0)[:, None], np.arange(20.0)
>>> contaminated = Replaced()(X, y, contamination=0.1, random_state=0)
>>> int(contaminated.mask.sum()), bool((contaminated.y[~contaminated.mask] == y[~contaminated.mask]).all())
(2, True)

The share of wrong labels, `contamination`, is a number (then exactly `int(contamination·n)` rows are chosen, without
replacement, as in the paper), an array with the probability of every row, or a function of X that returns one, such
as `Ramp`.

A new kind of wrong labels is a frozen dataclass with one method, `wrong_labels`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead._deprecated import renamed_argument

Share = float | ArrayLike | Callable[[Any], ArrayLike]


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
        chosen = _choose(contamination, X, clean.size, rng)
        noise = None if noise_std is None else _per_row("noise_std", noise_std, clean.size)
        labels = clean.copy()
        if chosen.size:
            labels[chosen] = self.wrong_labels(Rows(clean, chosen, noise), rng)
        return Contaminated(X, labels, labels != clean, clean)


@dataclass(frozen=True)
class Replaced(Contamination):
    """The outliers of the paper: draws from N(mean, (spread·std)²) of the clean labels (Section 5.3).

    Parameters
    ----------
    spread : float, default=10.0
        Standard deviation of the draws, in standard deviations of the clean labels.
    """

    spread: float = 10.0

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Draw Gaussian labels around the mean of all labels.

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
        return rng.normal(rows.y.mean(), self.spread * rows.y.std(), size=rows.chosen.size)


@dataclass(frozen=True)
class Uniform(Contamination):
    """Draws from the uniform distribution on mean ± spread·std of the clean labels.

    Parameters
    ----------
    spread : float, default=10.0
        Half the width of the interval, in standard deviations of the clean labels.
    """

    spread: float = 10.0

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Draw uniform labels around the mean of all labels.

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
        reach = self.spread * rows.y.std()
        return rng.uniform(rows.y.mean() - reach, rows.y.mean() + reach, size=rows.chosen.size)


@dataclass(frozen=True)
class Cluster(Contamination):
    """A one-sided cluster: draws from N(mean + offset·std, (width·std)²) of the clean labels.

    Parameters
    ----------
    offset : float, default=8.0
        Distance of the cluster from the mean, in standard deviations of the clean labels; negative puts it below.
    width : float, default=0.1
        Standard deviation of the cluster, in standard deviations of the clean labels.
    """

    offset: float = 8.0
    width: float = 0.1

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Draw Gaussian labels far on one side.

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
        std = rows.y.std()
        return rng.normal(rows.y.mean() + self.offset * std, self.width * std, size=rows.chosen.size)


@dataclass(frozen=True)
class Swapped(Contamination):
    """Labels exchanged between the chosen rows, along a random cycle, so that no row keeps its label.

    If only one row is chosen, its label stays the same.
    """

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Return the label of the next row in a random cycle.

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
        cycle = rng.permutation(rows.chosen.size)
        labels = np.empty(rows.chosen.size)
        labels[cycle] = rows.y[rows.chosen[np.roll(cycle, -1)]]
        return labels


@dataclass(frozen=True)
class UnitError(Contamination):
    """Labels in a wrong unit: each is multiplied by one of the factors, chosen at random.

    Parameters
    ----------
    factors : tuple of float, default=(10.0, 0.1, 1000.0)
        Possible factors.
    """

    factors: tuple[float, ...] = (10.0, 0.1, 1000.0)

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Multiply each label by a random factor.

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
        return np.asarray(rows.y[rows.chosen] * rng.choice(self.factors, size=rows.chosen.size))


@dataclass(frozen=True)
class SignFlip(Contamination):
    """Labels with the wrong sign."""

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Return minus the label.

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
        return -rows.y[rows.chosen]


@dataclass(frozen=True)
class Shifted(Contamination):
    """Labels shifted by k standard deviations of the noise of their row: hard to detect if k is small.

    Needs `noise_std` in the call.

    Parameters
    ----------
    k : float, default=3.0
        Size of the shift, in standard deviations of the noise.
    one_sided : bool, default=False
        Whether all shifts have the sign of k; otherwise the sign is random.
    """

    k: float = 3.0
    one_sided: bool = False

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Return the label ± k standard deviations of the noise.

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

        Raises
        ------
        ValueError
            If `rows.noise_std` is None.
        """
        if rows.noise_std is None:
            raise ValueError(
                "a shift is measured in noise standard deviations: give noise_std, one number per row "
                "(known for the sets of levelhead.datasets.synthetic and heteroscedastic)"
            )
        sign = 1.0 if self.one_sided else rng.choice([-1.0, 1.0], size=rows.chosen.size)
        return np.asarray(rows.y[rows.chosen] + sign * self.k * rows.noise_std[rows.chosen])


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


CONTAMINATIONS: Mapping[str, Contamination] = MappingProxyType(
    {
        "replaced": Replaced(),
        "uniform": Uniform(),
        "cluster": Cluster(),
        "swapped": Swapped(),
        "unit": UnitError(),
        "sign": SignFlip(),
        "shift2": Shifted(2.0),
        "shift3": Shifted(3.0),
        "shift3_up": Shifted(3.0, one_sided=True),
    }
)


def get_contamination(name: str) -> Contamination:
    """Look up a contamination by its name.

    Parameters
    ----------
    name : str
        One of the keys of `CONTAMINATIONS`; "replaced" is the contamination of the paper.

    Returns
    -------
    Contamination
        The contamination with this name.

    Raises
    ------
    ValueError
        If there is no contamination with this name.
    """
    if name not in CONTAMINATIONS:
        raise ValueError(f"there is no contamination {name!r}; choose one of {', '.join(CONTAMINATIONS)}")
    return CONTAMINATIONS[name]


def _choose(contamination: Share, X: Any, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
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
    return np.flatnonzero(rng.random(n) < _per_row("contamination", share, n))


def _per_row(name: str, value: ArrayLike, n: int) -> FloatArray:
    array = _checks.vector(name, value)
    _checks.same_length(n, **{name: array})
    return array
