"""The normal-gamma prior on mean and precision of a Gaussian label, and Student's t that it implies.

`NormalGamma(m, ν, α, β)` says: the precision τ is Gamma(α, rate β), and given τ the mean μ is
N(m, 1/(ντ)). A label y ~ N(μ, 1/τ) then has Student's t as its marginal, equation (3).

>>> prior = NormalGamma(m=0.0, nu=1.0, alpha=2.0, beta=1.0)
>>> posterior = prior.update(1.5)
>>> float(posterior.m), float(posterior.alpha)
(0.75, 2.5)
>>> float(prior.marginal.sigma)
2.0
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

from levelhead.theory._arrays import check_positive, read_only_copy, shape_of
from levelhead.theory.student import StudentT

FloatArray = NDArray[np.float64]


class MeanAndPrecision(NamedTuple):
    """Draws of (μ, τ).

    Attributes
    ----------
    mu : ndarray
        Means.
    tau : ndarray
        Precisions.
    """

    mu: FloatArray
    tau: FloatArray


@dataclass(frozen=True, eq=False)
class NormalGamma:
    """The normal-gamma prior; immutable. Its fields are arrays of one shape (arguments broadcast).

    Parameters
    ----------
    m : array-like
        Location of the mean μ.
    nu : array-like
        ν > 0: how many labels the prior on μ counts for.
    alpha : array-like
        α > 0: shape of the gamma distribution of the precision τ.
    beta : array-like
        β > 0: rate of the gamma distribution of τ.

    Attributes
    ----------
    sigma : ndarray
        σ = β(ν+1)/ν, equation (4).
    marginal : StudentT
        The distribution of one label, equation (3).

    Raises
    ------
    ValueError
        If m is not finite, or ν, α or β is not positive.
    """

    m: FloatArray
    nu: FloatArray
    alpha: FloatArray
    beta: FloatArray

    def __post_init__(self) -> None:
        names = ("m", "nu", "alpha", "beta")
        values = np.broadcast_arrays(*(read_only_copy(getattr(self, name)) for name in names))
        if not np.isfinite(values[0]).all():
            raise ValueError("m must be finite")
        for name, value in zip(names, values, strict=True):
            if name != "m":
                check_positive(name, value)
            object.__setattr__(self, name, value)

    @property
    def sigma(self) -> FloatArray:
        """σ = β(ν+1)/ν, equation (4)."""
        return self.beta * (self.nu + 1) / self.nu

    @property
    def marginal(self) -> StudentT:
        """The distribution of one label, equation (3)."""
        return StudentT(self.m, self.alpha, self.sigma)

    def update(self, y: ArrayLike) -> Self:
        """The posterior after one label per prior, equation (10).

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        NormalGamma
            The posterior.
        """
        z = np.asarray(y, dtype=np.float64) - self.m
        m = self.m + z / (self.nu + 1)  # (νm + y)/(ν + 1)
        beta = self.beta + self.nu / (self.nu + 1) * z * z / 2
        return type(self)(m, self.nu + 1, self.alpha + 0.5, beta)

    def update_many(self, labels: ArrayLike) -> Self:
        """The posterior after all labels along the first axis; equal to one `update` after another.

        Parameters
        ----------
        labels : array-like of shape (n, …)
            Labels.

        Returns
        -------
        NormalGamma
            The posterior.

        Raises
        ------
        ValueError
            If `labels` is a single number.
        """
        y = np.asarray(labels, dtype=np.float64)
        if y.ndim == 0:
            raise ValueError(
                "labels must be an array with at least one axis; for a single label use update(y)"
            )
        n = y.shape[0]
        if n == 0:
            return self
        mean = y.mean(axis=0)
        scatter = ((y - mean) ** 2).sum(axis=0)
        z = mean - self.m
        m = self.m + n * z / (self.nu + n)
        beta = self.beta + scatter / 2 + self.nu * n / (self.nu + n) * z * z / 2
        return type(self)(m, self.nu + n, self.alpha + n / 2, beta)

    def kl(self, other: "NormalGamma") -> FloatArray:
        """KL divergence from this distribution to another; equation (11) if this one is the posterior.

        Parameters
        ----------
        other : NormalGamma
            The other distribution; the prior in (11).

        Returns
        -------
        ndarray
            The divergence.
        """
        ratio = other.beta / self.beta
        rate = other.alpha * -np.log(ratio) + self.alpha * (ratio - 1)
        shape = gammaln(other.alpha) - gammaln(self.alpha) - (other.alpha - self.alpha) * digamma(self.alpha)
        counts = 0.5 * (other.nu / self.nu - 1 - np.log(other.nu / self.nu))
        location = self.alpha / self.beta * other.nu * (other.m - self.m) ** 2 / 2
        result: FloatArray = location + counts + rate + shape
        return result

    def logpdf(self, mu: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Log density of (μ, τ).

        Parameters
        ----------
        mu : array-like
            Means.
        tau : array-like
            Precisions.

        Returns
        -------
        ndarray
            Log densities.
        """
        mu, tau = np.asarray(mu, dtype=np.float64), np.asarray(tau, dtype=np.float64)
        of_tau = self.alpha * np.log(self.beta) - gammaln(self.alpha) + (self.alpha - 1) * np.log(tau)
        of_mu = 0.5 * np.log(self.nu * tau / (2 * np.pi)) - self.nu * tau * (mu - self.m) ** 2 / 2
        result: FloatArray = of_tau - self.beta * tau + of_mu
        return result

    def sample(
        self, size: int | tuple[int, ...] = (), *, random_state: int | np.random.Generator
    ) -> MeanAndPrecision:
        """Draw (μ, τ).

        Parameters
        ----------
        size : int or tuple of int, default=()
            Number of draws per prior.
        random_state : int or numpy.random.Generator
            Seed or generator.

        Returns
        -------
        MeanAndPrecision
            Arrays of shape `size` + the shape of the parameters.
        """
        rng = np.random.default_rng(random_state)
        shape = shape_of(size) + self.m.shape
        tau = rng.gamma(self.alpha, 1 / self.beta, shape)
        mu = rng.normal(self.m, 1 / np.sqrt(self.nu * tau), shape)
        return MeanAndPrecision(mu, tau)
