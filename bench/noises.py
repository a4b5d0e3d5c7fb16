"""Residuals of known origin: kinds of clean noise and of wrong labels, each with density and draws.

All noises have mean 0 and standard deviation 1. The densities are what an oracle knows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

FloatArray = np.ndarray
_SWAPPED_SD = 3 * np.sqrt(2)  # the signal has three times the deviation of the noise; two rows differ by this
_NEAR = (3.0, 6.0)  # deviations by which a near error is off


@dataclass(frozen=True)
class Law:
    """A distribution: density, distribution function, draws."""

    pdf: Callable[[FloatArray], FloatArray]
    cdf: Callable[[FloatArray], FloatArray]
    draw: Callable[[np.random.Generator, int], FloatArray]


def _standardised(law) -> Law:
    mean, sd = law.mean(), law.std()
    return Law(
        lambda r: sd * law.pdf(mean + sd * r),
        lambda r: law.cdf(mean + sd * r),
        lambda rng, n: (law.rvs(size=n, random_state=rng) - mean) / sd,
    )


def _skewness_by_x() -> Law:
    """Gamma noise of skewness 2x, x uniform on (−1, 1): pooled over x it is symmetric."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x, w = (nodes + 1) / 2, weights / 2
    k = 1 / x**2

    def pooled(f: Callable[..., FloatArray], r: FloatArray, sign: int) -> FloatArray:
        return (w * f(k + np.asarray(r)[..., None] * sign * np.sqrt(k), k)).sum(axis=-1)

    def pdf(r: FloatArray) -> FloatArray:
        scaled = lambda g, shape: np.sqrt(shape) * stats.gamma.pdf(g, shape)
        return (pooled(scaled, r, 1) + pooled(scaled, r, -1)) / 2

    def cdf(r: FloatArray) -> FloatArray:
        return (pooled(stats.gamma.cdf, r, 1) + pooled(stats.gamma.sf, r, -1)) / 2

    return Law(_tabulated(pdf), _tabulated(cdf), lambda rng, n: skewed(rng, rng.uniform(-1, 1, n)))


def skewed(rng: np.random.Generator, x: FloatArray) -> FloatArray:
    """Draws of gamma noise whose skewness is 2x."""
    shape = 1 / x**2
    return np.sign(x) * (rng.gamma(shape) - shape) / np.sqrt(shape)


def skewed_pdf(r: FloatArray, x: FloatArray) -> FloatArray:
    """The density of gamma noise whose skewness is 2x."""
    shape = 1 / x**2
    return np.sqrt(shape) * stats.gamma.pdf(shape + np.sign(x) * r * np.sqrt(shape), shape)


def _tabulated(f: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    grid = np.linspace(-40, 40, 8001)
    values = f(grid)
    return lambda r: np.interp(r, grid, values)


NOISES = {
    "Gaussian": _standardised(stats.norm()),
    "t5": _standardised(stats.t(5)),
    "lognormal": _standardised(stats.lognorm(0.8)),
    "gamma": _standardised(stats.gamma(2)),
    "t3": _standardised(stats.t(3)),
    "Laplace": _standardised(stats.laplace()),
    "exponential": _standardised(stats.expon()),
    "skewness by x": _skewness_by_x(),
}


def _plain(law) -> Callable[[Law], Law]:
    drawn = Law(law.pdf, law.cdf, lambda rng, n: law.rvs(size=n, random_state=rng))
    return lambda noise: drawn


def _shifted(sides: tuple[int, ...]) -> Callable[[Law], Law]:
    """The clean label, shifted by 3 to 6 standard deviations."""
    low, high = _NEAR

    def made(noise: Law) -> Law:
        def pdf(r: FloatArray) -> FloatArray:
            ends = [
                np.abs(noise.cdf(r - side * low) - noise.cdf(r - side * high)) / (high - low)
                for side in sides
            ]
            return np.mean(ends, axis=0)

        def draw(rng: np.random.Generator, n: int) -> FloatArray:
            return noise.draw(rng, n) + rng.choice(sides, n) * rng.uniform(low, high, n)

        return Law(pdf, noise.cdf, draw)

    return made


def _swapped(noise: Law) -> Law:
    """The label of another row."""

    def pdf(r: FloatArray) -> FloatArray:
        shifts = np.linspace(-5, 5, 2001) * _SWAPPED_SD
        density = stats.norm.pdf(shifts, scale=_SWAPPED_SD) * (shifts[1] - shifts[0])
        return np.concatenate(
            [(density * noise.pdf(part[:, None] - shifts)).sum(axis=-1) for part in np.array_split(r, 40)]
        )

    return Law(
        _tabulated(pdf),
        noise.cdf,
        lambda rng, n: noise.draw(rng, n) + _SWAPPED_SD * rng.normal(size=n),
    )


WRONG: dict[str, Callable[[Law], Law]] = {
    "wide": _plain(stats.norm(0, 10)),
    "one-sided": _shifted((1,)),
    "cluster": _plain(stats.norm(8, 0.5)),
    "near": _shifted((-1, 1)),
    "swapped": _swapped,
    "code": _plain(stats.norm(-8, 2)),
}


@cache
def wrong_law(noise: str, kind: str) -> Law:
    """The distribution of wrong labels of a kind, where the clean noise is known."""
    return WRONG[kind](NOISES[noise])
