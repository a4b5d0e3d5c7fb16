"""Synthetic data sets, drawn from a known distribution."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead._deprecated import renamed_argument
from levelhead.contamination import Contamination, Replaced, Share
from levelhead.theory.elementary import exp, sin


class Synthetic(NamedTuple):
    """Synthetic data for which the truth is known.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels, some of them wrong.
    mask : ndarray of bool of shape (n_samples,)
        True where a label is wrong.
    y_clean : ndarray of shape (n_samples,)
        Clean labels.
    mean : ndarray of shape (n_samples,)
        True mean of the clean label.
    std : ndarray of shape (n_samples,)
        True standard deviation of the clean label.
    """

    X: FloatArray
    y: FloatArray
    mask: NDArray[np.bool_]
    y_clean: FloatArray
    mean: FloatArray
    std: FloatArray

    def __repr__(self) -> str:
        n, wrong = len(self.y), int(self.mask.sum())
        return f"Synthetic data of {n:,} rows and {self.X.shape[1]} features; {wrong:,} labels are wrong"


@renamed_argument("rate", "contamination")
def synthetic(n: int = 400, contamination: float = 0.05, random_state: RandomState = None) -> Synthetic:
    """Draw the synthetic data set of the paper (Section 5.2).

    x ~ U(−1, 1), clean labels ~ N(sin 3x, (0.5 cos⁴x)²). With probability `contamination`, a label is replaced by a
    draw from U(−4, 16). For a given seed, the inputs and clean labels do not depend on `contamination`.

    Parameters
    ----------
    n : int, default=400
        Number of rows.
    contamination : float, default=0.05
        Probability that a label is wrong.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or not 0 <= contamination <= 1:
        raise ValueError(
            f"n is {n} and contamination is {contamination}; n must be at least 1, contamination between 0 and 1"
        )
    rng = _checks.generator(random_state)
    x = rng.uniform(-1, 1, size=n)
    mean = sin(3 * x)
    std = 0.5 * np.square(1 - np.square(sin(x)))  # 0.5 cos⁴x
    y_clean = mean + std * rng.standard_normal(n)
    mask = rng.random(n) < contamination
    y = np.where(mask, rng.uniform(-4, 16, size=n), y_clean)
    return Synthetic(x[:, None], y, mask, y_clean, mean, std)


@renamed_argument("rate", "contamination")
def heteroscedastic(
    n: int = 2000,
    n_features: int = 5,
    contamination: Share = 0.0,
    random_state: RandomState = None,
    *,
    kind: Contamination | None = None,
) -> Synthetic:
    """Draw data with a smooth mean and noise that depend on several features, to test calibration.

    x ~ U(−1, 1) in every feature. Let u be the sum of features 0, 2, 4, … and v the sum of features 1, 3, 5, …, each
    divided by the root of the number of terms (v = 0 if there are none). Then

        mean = sin(2u) + u·v + v²/2,  std = 0.1 + 0.4/(1 + exp(−3(u − v))),

    so the noise varies by a factor of five and every feature matters. For a given seed, the clean labels do not depend
    on `contamination`.

    Parameters
    ----------
    n : int, default=2000
        Number of rows.
    n_features : int, default=5
        Number of features.
    contamination : float, array-like of shape (n_samples,) or callable, default=0.0
        Share of wrong labels, probability of each row, or a function of X that returns either.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper, `Replaced`.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or n_features < 1:
        raise ValueError(f"n is {n} and n_features is {n_features}; both must be at least 1")
    rng = _checks.generator(random_state)
    X = rng.uniform(-1, 1, size=(n, n_features))
    u = X[:, ::2].sum(axis=1) / np.sqrt(X[:, ::2].shape[1])
    v = X[:, 1::2].sum(axis=1) / np.sqrt(max(X[:, 1::2].shape[1], 1))
    mean = sin(2 * u) + u * v + 0.5 * v**2
    std = 0.1 + 0.4 / (1 + exp(-3 * (u - v)))
    y_clean = mean + std * rng.standard_normal(n)
    contaminate = Replaced() if kind is None else kind
    contaminated = contaminate(X, y_clean, contamination, rng, noise_std=std)
    return Synthetic(X, contaminated.y, contaminated.mask, y_clean, mean, std)


@renamed_argument("rate", "contamination")
def rents(
    n: int = 800, contamination: float = 0.05, missing: float = 0.0, random_state: RandomState = None
) -> Synthetic:
    """Draw a table of flats with realistic features: area, gas heating, number of rooms, year; the label is the rent.

    The area explains most of the rent, so a row without it has a large error although its label is right.

    Parameters
    ----------
    n : int, default=800
        Number of rows.
    contamination : float, default=0.05
        Probability that a rent is wrong: ten times too large.
    missing : float, default=0.0
        Probability that a cell is missing (NaN).
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or not 0 <= contamination <= 1 or not 0 <= missing < 1:
        raise ValueError(
            f"n is {n}, contamination {contamination}, missing {missing}; n must be at least 1, the others fractions"
        )
    rng = _checks.generator(random_state)
    area, gas = rng.uniform(20, 150, n), rng.integers(0, 2, n)
    rooms, year = (area / 25 + rng.normal(0, 0.7, n)).round(), rng.integers(1950, 2020, n)
    mean, std = 200 + (8 + 3 * gas) * area + 2 * (year - 1950), np.full(n, 15.0)
    y_clean = mean + std * rng.standard_normal(n)
    mask = rng.random(n) < contamination
    X = np.column_stack([area, gas, rooms, year])
    X[rng.random(X.shape) < missing] = np.nan
    return Synthetic(X, np.where(mask, 10 * y_clean, y_clean), mask, y_clean, mean, std)
