"""Contaminated labels, equation (1): p_c = (1 − ε) N(m_g, V_g) + ε p_o, and mixtures in general.

>>> p_c = ContaminatedPopulation(0.05, Gaussian(mean=0.0, variance=1.0), Gaussian(mean=0.0, variance=100.0))
>>> round(p_c.whole.variance, 2)
5.95
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.dynamics.populations import Gaussian, Nodes, Population

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture:
    """The mixture Σ share·component.

    Parameters
    ----------
    shares : tuple of float
        Positive numbers that sum to 1.
    components : tuple of Population
        The components.
    """

    shares: tuple[float, ...]
    components: tuple[Population, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        object.__setattr__(self, "components", tuple(self.components))
        if len(self.shares) != len(self.components) or not self.shares:
            raise ValueError(f"Mixture: {len(self.shares)} shares for {len(self.components)} components")
        if not all(share > 0 for share in self.shares) or abs(sum(self.shares) - 1) > 1e-12:
            raise ValueError(f"Mixture: shares must be positive and sum to 1, given {self.shares}")

    @property
    def mean(self) -> float:
        """Σ share·mean."""
        return sum(share * part.mean for share, part in zip(self.shares, self.components, strict=True))

    @property
    def variance(self) -> float:
        """Variance of the mixture."""
        return self._central(2)

    @property
    def mu3(self) -> float:
        """μ⁽³⁾ of the mixture."""
        return self._central(3)

    @property
    def mu4(self) -> float:
        """μ⁽⁴⁾ of the mixture."""
        return self._central(4)

    def _central(self, k: int) -> float:
        mean = self.mean
        return sum(
            share * moments_about(part, mean)[k]
            for share, part in zip(self.shares, self.components, strict=True)
        )

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """See `Population.nodes`."""
        rules = [part.nodes(centre, width) for part in self.components]
        return Nodes(
            np.concatenate([rule.z for rule in rules], axis=-1),
            np.concatenate(
                [share * rule.weight for share, rule in zip(self.shares, rules, strict=True)], axis=-1
            ),
        )

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n labels; see `Population.sample`."""
        kind = rng.choice(len(self.shares), size=n, p=self.shares)
        draws = np.stack([part.sample(n, rng) for part in self.components])
        drawn: FloatArray = draws[kind, np.arange(n)]
        return drawn


def moments_about(population: Population, c: float) -> dict[int, float]:
    """E[(y − c)ᵏ] for k = 1 … 4, from the central moments.

    Parameters
    ----------
    population : Population
        Distribution of y.
    c : float
        The centre.

    Returns
    -------
    dict of int to float
        k ↦ moment.
    """
    d = population.mean - c
    V, mu3, mu4 = population.variance, population.mu3, population.mu4
    return {
        1: d,
        2: V + d**2,
        3: mu3 + 3 * V * d + d**3 if np.isfinite(V) else np.nan,
        # A fourth moment that diverges does so for any lower moments, even undefined ones.
        4: np.inf if np.isposinf(mu4) else mu4 + 4 * mu3 * d + 6 * V * d**2 + d**4,
    }


class Labels(NamedTuple):
    """Labels that were drawn, and which of them are outliers.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels.
    is_outlier : ndarray of bool, of shape (n,)
        Whether each label is an outlier.
    """

    y: FloatArray
    is_outlier: NDArray[np.bool_]


@dataclass(frozen=True)
class ContaminatedPopulation:
    """Contaminated labels p_c = (1 − ε) truth + ε outliers, equation (1).

    Parameters
    ----------
    epsilon : float
        Share ε of outliers, 0 ≤ ε < 1.
    truth : Gaussian
        Distribution of the clean labels.
    outliers : Population
        Distribution of the outliers.
    """

    epsilon: float
    truth: Gaussian
    outliers: Population

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < 1:
            raise ValueError(
                f"ContaminatedPopulation: the share ε of outliers must be in [0, 1), given {self.epsilon}"
            )

    @property
    def whole(self) -> Population:
        """p_c as one population."""
        if self.epsilon == 0:
            return self.truth
        return Mixture((1 - self.epsilon, self.epsilon), (self.truth, self.outliers))

    @property
    def kurtosis(self) -> float:
        """μ⁽⁴⁾/V² of p_c: 3 for Gaussian labels, ∞ where the fourth moment diverges."""
        whole = self.whole
        return whole.mu4 if np.isposinf(whole.mu4) else whole.mu4 / whole.variance**2

    def sample(self, n: int, rng: np.random.Generator) -> Labels:
        """Draw labels, each an outlier with probability ε.

        Parameters
        ----------
        n : int
            Number of labels.
        rng : numpy.random.Generator
            Generator.

        Returns
        -------
        Labels
            The labels, and which of them are outliers.
        """
        is_outlier = rng.random(n) < self.epsilon
        y = np.where(is_outlier, self.outliers.sample(n, rng), self.truth.sample(n, rng))
        return Labels(y, is_outlier)
