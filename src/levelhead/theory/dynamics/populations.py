"""Populations of labels at one input x: the distributions that clean labels and outliers may have.

A population is an immutable value. It knows its mean, its variance and its central moments μ⁽³⁾ and μ⁽⁴⁾; a moment that
diverges is ∞ and one that is not defined is NaN. Functions can be integrated against it, and labels drawn from it.
`levelhead.theory.dynamics.contaminated` mixes populations.

>>> Student(dof=3, location=0.0, scale=1.0).mu4
inf
>>> round(float(expect(Gaussian(0.0, 1.0), lambda z: 1 / (1 + z * z), centre=0.0, width=1.0)), 12)
0.655679542419
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.dynamics._quadrature import graded, panels
from levelhead.theory.special import log_gamma_ratio

FloatArray = NDArray[np.float64]

# In units of the standard deviation: panels of length 1, and nothing beyond 10, where 1e-23 of the mass lies.
_GRID = np.arange(-10.0, 11.0)
_FEWEST_DOF = 0.3


class Nodes(NamedTuple):
    """A quadrature rule about a centre: E[f(y − centre)] ≈ Σ weight·f(z) along the last axis.

    Attributes
    ----------
    z : ndarray
        Nodes, as distances from the centre.
    weight : ndarray
        Weights.
    """

    z: FloatArray
    weight: FloatArray


class Population(Protocol):
    """The interface of a distribution of labels."""

    @property
    def mean(self) -> float:
        """E[y]."""

    @property
    def variance(self) -> float:
        """E[(y − mean)²]."""

    @property
    def mu3(self) -> float:
        """The third central moment μ⁽³⁾."""

    @property
    def mu4(self) -> float:
        """The fourth central moment μ⁽⁴⁾."""

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """Quadrature rule for functions of z = y − centre whose only singularities are at z = ±i·width.

        Parameters
        ----------
        centre : array-like
            Centre of the function.
        width : array-like
            Width of the function.

        Returns
        -------
        Nodes
            Nodes and weights along a new last axis.
        """

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw labels.

        Parameters
        ----------
        n : int
            Number of labels.
        rng : numpy.random.Generator
            Generator.

        Returns
        -------
        ndarray of shape (n,)
            The labels.
        """


def expect(
    population: Population, f: Callable[[FloatArray], FloatArray], centre: ArrayLike, width: ArrayLike
) -> FloatArray:
    """E[f(y − centre)] for f analytic but for singularities at ±i·width.

    Parameters
    ----------
    population : Population
        Distribution of y.
    f : callable
        Takes and returns an array.
    centre : array-like
        Centre of f.
    width : array-like
        Width of f; broadcast against `centre`.

    Returns
    -------
    ndarray
        The expectation.
    """
    z, weight = population.nodes(centre, width)
    total: FloatArray = np.sum(weight * f(z), axis=-1)
    return total


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian distribution N(mean, variance).

    Parameters
    ----------
    mean : float
        Mean.
    variance : float
        Variance, positive.
    """

    mean: float
    variance: float

    def __post_init__(self) -> None:
        _check_finite(self, mean=self.mean)
        _check_positive(self, variance=self.variance)

    @property
    def mu3(self) -> float:
        """μ⁽³⁾ = 0."""
        return 0.0

    @property
    def mu4(self) -> float:
        """μ⁽⁴⁾ = 3V²."""
        return 3 * self.variance**2

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """See `Population.nodes`."""
        sd = np.sqrt(self.variance)
        z, dz, u = _panels_about(centre, width, self.mean, sd * _GRID)
        t = u / sd
        return Nodes(z, dz * np.exp(-0.5 * t * t) / (sd * np.sqrt(2 * np.pi)))

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n labels; see `Population.sample`."""
        return rng.normal(self.mean, np.sqrt(self.variance), n)


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on [low, high].

    Parameters
    ----------
    low : float
        Lower end.
    high : float
        Upper end.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_finite(self, low=self.low, high=self.high)
        _check_positive(self, **{"high − low": self.high - self.low})

    @property
    def mean(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """(high − low)²/12."""
        return (self.high - self.low) ** 2 / 12

    @property
    def mu3(self) -> float:
        """μ⁽³⁾ = 0."""
        return 0.0

    @property
    def mu4(self) -> float:
        """μ⁽⁴⁾ = (high − low)⁴/80."""
        return (self.high - self.low) ** 4 / 80

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """See `Population.nodes`."""
        length = self.high - self.low
        z, dz, _ = _panels_about(centre, width, self.mean, np.array([-length / 2, length / 2]))
        return Nodes(z, dz / length)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n labels; see `Population.sample`."""
        return rng.uniform(self.low, self.high, n)


@dataclass(frozen=True)
class Student:
    """Student's t; moments of high order do not exist for few degrees of freedom.

    Parameters
    ----------
    dof : float
        Degrees of freedom, at least 0.3.
    location : float
        Location.
    scale : float
        Scale, positive.
    """

    dof: float
    location: float
    scale: float

    def __post_init__(self) -> None:
        _check_finite(self, location=self.location)
        _check_positive(self, dof=self.dof, scale=self.scale)
        if self.dof < _FEWEST_DOF:
            raise ValueError(
                f"Student(dof={self.dof}): the tails of a t with fewer than {_FEWEST_DOF} degrees of freedom "
                "cannot be integrated to full precision; use dof ≥ 0.3"
            )

    @property
    def mean(self) -> float:
        """The location; NaN for dof ≤ 1."""
        return self.location if self.dof > 1 else np.nan

    @property
    def variance(self) -> float:
        """scale²·dof/(dof − 2); ∞ for 1 < dof ≤ 2, NaN below."""
        if self.dof <= 2:
            return np.inf if self.dof > 1 else np.nan
        return self.scale**2 * self.dof / (self.dof - 2)

    @property
    def mu3(self) -> float:
        """μ⁽³⁾ = 0; NaN for dof ≤ 3."""
        return 0.0 if self.dof > 3 else np.nan

    @property
    def mu4(self) -> float:
        """μ⁽⁴⁾ = 3V²(dof − 2)/(dof − 4); ∞ for 1 < dof ≤ 4, NaN below."""
        if self.dof <= 4:
            return np.inf if self.dof > 1 else np.nan
        return 3 * self.variance**2 * (self.dof - 2) / (self.dof - 4)

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """See `Population.nodes`."""
        pole = self.scale * np.sqrt(self.dof)
        levels = 5 + int(np.ceil(30 / self.dof))  # out to where 4^(−30) ≈ 1e-18 of the mass is left
        own = np.concatenate([graded(np.asarray(pole), levels), self.scale * _GRID])
        z, dz, u = _panels_about(centre, width, self.location, own)
        t = u / pole
        norm = log_gamma_ratio(self.dof / 2) - 0.5 * np.log(np.pi) - np.log(pole)
        return Nodes(z, dz * np.exp(norm - (self.dof + 1) / 2 * np.log1p(t * t)))

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n labels; see `Population.sample`."""
        return self.location + self.scale * rng.standard_t(self.dof, n)


@dataclass(frozen=True)
class Sample:
    """The empirical distribution of some labels.

    Parameters
    ----------
    values : tuple of float
        The labels.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        given = np.asarray(self.values, dtype=np.float64)
        if given.ndim != 1 or given.size == 0:
            raise ValueError(f"Sample needs a 1-D list of labels, at least one; given shape {given.shape}")
        bad = np.flatnonzero(~np.isfinite(given))
        if bad.size:
            raise ValueError(
                f"Sample has {bad.size} labels that are not finite (first at {bad[0]}); remove them"
            )
        object.__setattr__(self, "values", tuple(given.tolist()))

    def __repr__(self) -> str:
        return f"Sample({self.values})" if len(self.values) < 5 else f"Sample(<{len(self.values)} labels>)"

    @cached_property
    def _array(self) -> FloatArray:
        return np.asarray(self.values)

    @property
    def mean(self) -> float:
        """The average."""
        return float(np.mean(self._array))

    @property
    def variance(self) -> float:
        """The mean square about the average (ddof 0: the values are the whole population)."""
        return self._central(2)

    @property
    def mu3(self) -> float:
        """μ⁽³⁾."""
        return self._central(3)

    @property
    def mu4(self) -> float:
        """μ⁽⁴⁾."""
        return self._central(4)

    def _central(self, k: int) -> float:
        return float(np.mean((self._array - self.mean) ** k))

    def nodes(self, centre: ArrayLike, width: ArrayLike) -> Nodes:
        """See `Population.nodes`."""
        centre, _ = np.broadcast_arrays(np.asarray(centre, dtype=np.float64), width)
        z = self._array - centre[..., None]
        return Nodes(z, np.full_like(z, 1 / len(self.values)))

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n of the labels with replacement; see `Population.sample`."""
        return rng.choice(self._array, n)


def Point(y: float) -> Sample:
    """The distribution with all mass at one label.

    Parameters
    ----------
    y : float
        The label.

    Returns
    -------
    Sample
        The distribution.
    """
    return Sample((y,))


def _panels_about(
    centre: ArrayLike, width: ArrayLike, location: float, own: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes z = y − centre, weights, and u = y − location; panels graded about z = 0 and split at u = own."""
    centre, width = np.broadcast_arrays(
        np.asarray(centre, dtype=np.float64), np.asarray(width, dtype=np.float64)
    )
    shift = (location - centre)[..., None]
    own = np.sort(own)
    z_own, u_own = shift + own, np.broadcast_to(own, (*shift.shape[:-1], own.size))
    peak = graded(width)
    z = np.concatenate([z_own, np.clip(peak, z_own[..., :1], z_own[..., -1:])], axis=-1)
    u = np.concatenate([u_own, np.clip(peak - shift, own[0], own[-1])], axis=-1)
    return panels(z, u, shift)


def _check_finite(population: object, **given: float) -> None:
    for name, value in given.items():
        if not np.isfinite(value):
            raise ValueError(f"{type(population).__name__}: {name} must be finite, given {value}")


def _check_positive(population: object, **given: float) -> None:
    for name, value in given.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(
                f"{type(population).__name__}: {name} must be positive and finite, given {value}"
            )
