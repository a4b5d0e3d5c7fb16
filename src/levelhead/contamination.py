"""Outlier models: from clean labels to partly wrong ones, and the mask of what was changed.

A contamination is called with clean data and the share of rows to spoil:

>>> import numpy as np
>>> X, y = np.arange(20.0)[:, None], np.arange(20.0)
>>> spoilt = Replaced()(X, y, contamination=0.1, random_state=0)
>>> int(spoilt.mask.sum()), bool((spoilt.y[~spoilt.mask] == y[~spoilt.mask]).all())
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
    """Data with wrong labels: the inputs as given, the labels, which are wrong, and the clean ones."""

    X: Any
    y: FloatArray
    mask: NDArray[np.bool_]
    original: FloatArray


class Rows(NamedTuple):
    """What a contamination sees: all clean labels, the rows to spoil, and the noise of every row if known."""

    y: FloatArray
    chosen: NDArray[np.intp]
    noise_std: FloatArray | None


@dataclass(frozen=True)
class Contamination(ABC):
    """Spoils a share of the labels; the input is never changed, and the seed decides everything."""

    @abstractmethod
    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """New labels for the chosen rows."""

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
        """Spoil the labels of a share of the rows.

        Parameters
        ----------
        X : the inputs, handed through; only a share that is a function looks at them.
        y : clean labels.
        contamination : share of rows, probability of every row, or a function of X that gives either.
        random_state : seed or generator.
        noise_std : standard deviation of the noise of every row, for contaminations that are measured in it.

        Returns
        -------
        Contaminated : its mask marks the labels that differ from the clean ones. A label that its
            contamination leaves as it is (the sign of 0, a swap of equal labels) is not wrong.
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
    """The paper's outliers: draws from N(mean, (spread·std)²) of the clean labels (Section 5.3)."""

    spread: float = 10.0

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Gaussian draws around the mean of all labels."""
        return rng.normal(rows.y.mean(), self.spread * rows.y.std(), size=rows.chosen.size)


@dataclass(frozen=True)
class Uniform(Contamination):
    """Draws from the uniform distribution on mean ± spread·std of the clean labels."""

    spread: float = 10.0

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Uniform draws around the mean of all labels."""
        reach = self.spread * rows.y.std()
        return rng.uniform(rows.y.mean() - reach, rows.y.mean() + reach, size=rows.chosen.size)


@dataclass(frozen=True)
class Cluster(Contamination):
    """A one-sided cluster: draws from N(mean + offset·std, (width·std)²); a negative offset puts it below."""

    offset: float = 8.0
    width: float = 0.1

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Gaussian draws far on one side."""
        std = rows.y.std()
        return rng.normal(rows.y.mean() + self.offset * std, self.width * std, size=rows.chosen.size)


@dataclass(frozen=True)
class Swapped(Contamination):
    """Labels passed on around a random cycle of the chosen rows, so that none keeps its own.

    A single chosen row has nobody to swap with and stays as it is.
    """

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """The label of the next row in a random cycle."""
        cycle = rng.permutation(rows.chosen.size)
        labels = np.empty(rows.chosen.size)
        labels[cycle] = rows.y[rows.chosen[np.roll(cycle, -1)]]
        return labels


@dataclass(frozen=True)
class UnitError(Contamination):
    """Labels in a wrong unit: each multiplied by one of the factors."""

    factors: tuple[float, ...] = (10.0, 0.1, 1000.0)

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """The label times a factor."""
        return np.asarray(rows.y[rows.chosen] * rng.choice(self.factors, size=rows.chosen.size))


@dataclass(frozen=True)
class SignFlip(Contamination):
    """Labels with the wrong sign."""

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Minus the label."""
        return -rows.y[rows.chosen]


@dataclass(frozen=True)
class Shifted(Contamination):
    """Labels off by k standard deviations of the noise in their own row: hard to see if k is small.

    Needs `noise_std` in the call. The sign is random, or always that of k if `one_sided`.
    """

    k: float = 3.0
    one_sided: bool = False

    def wrong_labels(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """The label ± k noise standard deviations."""
        if rows.noise_std is None:
            raise ValueError(
                "a shift is measured in noise standard deviations: give noise_std, one number per row "
                "(known for the sets of levelhead.datasets.synthetic and heteroscedastic)"
            )
        sign = 1.0 if self.one_sided else rng.choice([-1.0, 1.0], size=rows.chosen.size)
        return np.asarray(rows.y[rows.chosen] + sign * self.k * rows.noise_std[rows.chosen])


@dataclass(frozen=True)
class Ramp:
    """A share that depends on x: rising from `start` to `end` with the rank of one feature."""

    feature: int = 0
    start: float = 0.0
    end: float = 0.2

    def __call__(self, X: Any) -> FloatArray:
        """Probability of every row."""
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
    """The contamination of this name; "replaced" is the paper's."""
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
