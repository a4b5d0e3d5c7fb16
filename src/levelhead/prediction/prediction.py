"""What an estimator answers: for every row a distribution of its clean label.

A `Prediction` holds, for every member of an ensemble and every row, a mean and a variance of the clean
label; it describes the Gaussian (one member) or the mixture of Gaussians (several) that they define. GCP
models add α and σ of their Student's t, which describes the labels as they were given, wrong ones included:
that is `Prediction.contaminated`.

>>> prediction = Prediction.from_student(m=[[1.0, 2.0]], alpha=[[3.0, 0.5]], sigma=[[0.3, 0.1]])
>>> prediction.mean
array([1., 2.])
>>> prediction
Prediction of 2 rows, 1 member
row   mean ± std    α
  0  1.000 ± 0.361  3.00
  1  2.000 ± 0.731  0.500
>>> prediction.interval(0.9).lower.round(2)
array([0.41, 0.8 ])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead._extras import needed
from levelhead.prediction.mixture import GAUSSIAN, STUDENT, Mixture
from levelhead.theory.elementary import exp
from levelhead.theory.student import prognostic_variance, student_variance

Rows = int | slice | Sequence[int] | Sequence[bool] | NDArray[np.integer[Any]] | NDArray[np.bool_]
_HEAD = 8


class Interval(NamedTuple):
    """The ends of a central interval, one pair a row."""

    lower: FloatArray
    upper: FloatArray


def make_frame(columns: dict[str, NDArray[Any]], backend: Literal["pandas", "polars"]) -> Any:
    """A frame of copies of the columns, from whichever library is asked for."""
    if backend not in ("pandas", "polars"):
        raise ValueError(f"backend is {backend!r}; choose 'pandas' or 'polars'")
    return needed(backend, "to_frame", "tables").DataFrame(
        {name: values.copy() for name, values in columns.items()}
    )


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """A mixture for every row: the functions shared by the clean and the contaminated answer.

    A label y is a scalar, or an array whose last axis has one entry a row. For a single row, any shape will
    do: `prediction[7].pdf(grid)`.
    """

    mixture: Mixture

    def __len__(self) -> int:
        return int(self.mixture.location.shape[1])

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Density at y."""
        return exp(self.logpdf(y))

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the density at y; finite however far y lies from the mean, short of overflow."""
        return self.mixture.logpdf(self._labels(y))

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a label of at most y."""
        return self.mixture.cdf(self._labels(y))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """The q-quantile of every row: shape (n,) for a scalar q, else the shape of q followed by n."""
        levels = _checks.real("q", q)
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q is {levels.tolist()}; probabilities must lie between 0 and 1, both excluded")
        rows = [self.mixture.ppf(float(level)) for level in levels.flat]
        return np.array(rows).reshape(*levels.shape, len(self))

    def interval(self, coverage: float = 0.9) -> Interval:
        """The central interval that holds the label with probability `coverage`."""
        tail = (1 - _checks.share("coverage", coverage)) / 2
        return Interval(self.ppf(tail), self.ppf(1 - tail))

    def _labels(self, y: ArrayLike) -> FloatArray:
        labels = _checks.not_nan("y", _checks.real("y", y))
        if labels.ndim and len(self) != 1 and labels.shape[-1] != len(self):
            raise ValueError(
                f"y has shape {labels.shape} but there are {len(self)} rows; give a scalar or an array whose "
                f"last axis has length {len(self)}"
            )
        return labels


class ContaminatedMarginal(Distribution):
    """The labels as they are given, wrong ones included: Student's t of (3), or a mixture of several."""

    @cached_property
    def var(self) -> FloatArray:
        """The variance σ/(α−1) of equation (9), mixed over the members; ∞ where a member has α ≤ 1."""
        location, scale, alpha = self.mixture.location, self.mixture.scale, self.mixture.shape
        with np.errstate(divide="ignore"):
            members = scale**2 * np.where(alpha > 1, alpha / np.maximum(alpha - 1, 0), np.inf)
        return _read_only(members.mean(axis=0) + location.var(axis=0))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Prediction(Distribution):
    """The distribution of the clean label of every row; immutable.

    Parameters
    ----------
    mean, var : mean and variance of the clean label, shape (n_members, n), or (n,) for one member.
    alpha, sigma : α and σ of the Student's t of a GCP model in the units of y, of the same shape; or None.

    Attributes
    ----------
    member_mean, member_var, member_alpha, member_sigma : the arrays given, of shape (n_members, n).
    """

    member_mean: FloatArray
    member_var: FloatArray
    member_alpha: FloatArray | None
    member_sigma: FloatArray | None

    def __init__(
        self,
        mean: ArrayLike,
        var: ArrayLike,
        *,
        alpha: ArrayLike | None = None,
        sigma: ArrayLike | None = None,
    ) -> None:
        if (alpha is None) != (sigma is None):
            raise ValueError("alpha and sigma belong together: give both (GCP models) or neither")
        m = _members("mean", mean)
        v = _checks.positive("var", _members("var", var, m.shape))
        self._store(member_mean=m, member_var=v, member_alpha=None, member_sigma=None)
        if alpha is not None and sigma is not None:
            a = _checks.positive("alpha", _members("alpha", alpha, m.shape))
            s = _checks.positive("sigma", _members("sigma", sigma, m.shape))
            self._store(member_alpha=a, member_sigma=s)
        std = _read_only(np.sqrt(v))
        self._store(mixture=Mixture.of(GAUSSIAN, m, std, shape=std))  # a Gaussian ignores its shape

    @classmethod
    def from_student(cls, m: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> "Prediction":
        """A GCP model's answer with the prognostic variance V_p = σ/(α − A(α)) of equation (6)."""
        positive_alpha = _checks.positive("alpha", _members("alpha", alpha))
        prognostic = prognostic_variance(positive_alpha, _members("sigma", sigma, positive_alpha.shape))
        return cls(m, prognostic, alpha=alpha, sigma=sigma)

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n_members(self) -> int:
        """How many members the ensemble has."""
        return len(self.member_mean)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of the clean label."""
        return _read_only(self.member_mean.mean(axis=0))

    @cached_property
    def aleatoric_var(self) -> FloatArray:
        """Noise of the clean labels: the mean of the members' variances."""
        return _read_only(self.member_var.mean(axis=0))

    @cached_property
    def epistemic_var(self) -> FloatArray:
        """Disagreement of the members: the variance of their means; 0 for one member."""
        return _read_only(self.member_mean.var(axis=0))

    @cached_property
    def var(self) -> FloatArray:
        """Variance of the mixture, mean(V + m²) − mean(m)², as the sum of its two parts."""
        return _read_only(self.aleatoric_var + self.epistemic_var)

    @cached_property
    def std(self) -> FloatArray:
        """Standard deviation, the root of `var`."""
        return _read_only(np.sqrt(self.var))

    @cached_property
    def alpha(self) -> FloatArray:
        """Trust: the harmonic mean of the members' α. Small where the training labels held outliers.

        By Theorem 3.1, 1/α is proportional to the share of outliers, so it is 1/α that is averaged.
        """
        alpha, _ = self._student("alpha")
        return _read_only(1 / np.mean(1 / alpha, axis=0))

    @cached_property
    def student_var(self) -> FloatArray:
        """V_St = σ/(α−1), equation (9), mixed over the members; ∞ where a member has α ≤ 1."""
        return self.contaminated.var

    @cached_property
    def finite_student_var(self) -> FloatArray:
        """V_St with max(α − 1, 5e-5) for α − 1: where a finite number is needed, as for sorting."""
        alpha, sigma = self._student("finite_student_var")
        members = student_variance(alpha, sigma, finite=True)
        return _read_only(members.mean(axis=0) + self.epistemic_var)

    @cached_property
    def contaminated(self) -> ContaminatedMarginal:
        """The labels as they are given: Student's t with 2α degrees of freedom, squared scale σ/α (3)."""
        alpha, sigma = self._student("contaminated")
        scale = np.sqrt(sigma) / np.sqrt(alpha)  # σ/α itself could underflow
        return ContaminatedMarginal(Mixture.of(STUDENT, self.member_mean, scale, alpha))

    def sample(self, n: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draws of the clean label, `n` for every row: shape (n, number of rows)."""
        rng = _checks.generator(random_state)
        member = rng.integers(self.n_members, size=(n, len(self)))
        row = np.arange(len(self))
        noise = self.mixture.scale[member, row] * rng.standard_normal(member.shape)
        return np.asarray(self.member_mean[member, row] + noise)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """A table with a row for every row and a column for every attribute."""
        names = ["mean", "std", "aleatoric_var", "epistemic_var"]
        names += [] if self.member_alpha is None else ["student_var", "alpha"]
        return make_frame({name: getattr(self, name) for name in names}, backend)

    def __getitem__(self, rows: Rows) -> "Prediction":
        """The chosen rows, by slice, mask, list or number; a number gives a prediction of one row."""
        index = np.arange(len(self))[rows if isinstance(rows, int | np.integer | slice) else np.asarray(rows)]
        chosen = np.atleast_1d(index)
        alpha, sigma = (None if a is None else a[:, chosen] for a in (self.member_alpha, self.member_sigma))
        return Prediction(self.member_mean[:, chosen], self.member_var[:, chosen], alpha=alpha, sigma=sigma)

    def __repr__(self) -> str:
        rows, members = _count(len(self), "row"), _count(self.n_members, "member")
        table = _table(self[:_HEAD])
        more = [f"… {len(self) - _HEAD} more"] if len(self) > _HEAD else []
        return "\n".join([f"Prediction of {rows}, {members}", *table, *more])

    def _student(self, name: str) -> tuple[FloatArray, FloatArray]:
        if self.member_alpha is None or self.member_sigma is None:
            raise AttributeError(
                f"this prediction has no {name}: only GCP models (GCPRegressor) fit a Student's t; "
                "mean, var and the clean-label distribution are available"
            )
        return self.member_alpha, self.member_sigma


def _members(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> FloatArray:
    """A read-only copy of shape (n_members, n)."""
    given = _checks.real(name, value)
    if given.ndim not in (1, 2) or (given.shape[0] == 0 and given.ndim == 2):
        raise ValueError(f"{name} has shape {given.shape}; give (n_members, n), or (n,) for one member")
    array = np.atleast_2d(given).copy()
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} but mean has {shape}; give arrays of one shape")
    return _read_only(_checks.finite(name, array))


def _read_only(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array


def _table(head: Prediction) -> list[str]:
    """Aligned lines `row  mean ± std  α`, with the decimals that the spread deserves."""
    if len(head) == 0:
        return []
    size = np.log10(np.median(head.std))
    plain = -6 < size < 6 and np.abs(head.mean).max() < 1e9
    form = f".{int(np.clip(2 - np.floor(size), 0, 9))}f" if plain else ".3e"
    mean = _right([format(m, form) for m in head.mean])
    std = _right([format(s, form) for s in head.std])
    columns = [
        _right(["row", *map(str, range(len(head)))]),
        _left([f"{'mean':>{len(mean[0])}} ± std", *(f"{m} ± {s}" for m, s in zip(mean, std, strict=True))]),
    ]
    if head.member_alpha is not None:
        columns.append(["α", *(f"{a:#.3g}" for a in head.alpha)])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _right(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [f"{text:>{width}}" for text in texts]


def _left(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [f"{text:<{width}}" for text in texts]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
