"""Kinds of wrong labels."""

from dataclasses import dataclass

import numpy as np

from levelhead._checks import FloatArray
from levelhead.contamination.base import Contamination, Rows


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
