"""Predictions: for every row the distribution of its clean label.

A `Prediction` holds a mean and a variance of the clean label for every member of an ensemble and every row. It
describes the Gaussian (one member) or the mixture of Gaussians (several members) that they define. GCP models add α
and σ of their Student's t, which describes the labels as they are given, wrong ones included; see
`Prediction.contaminated`.

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
    """Lower and upper ends of a central interval, one pair per row.

    Attributes
    ----------
    lower : ndarray of shape (n_samples,)
        Lower ends.
    upper : ndarray of shape (n_samples,)
        Upper ends.
    """

    lower: FloatArray
    upper: FloatArray


def make_frame(columns: dict[str, NDArray[Any]], backend: Literal["pandas", "polars"]) -> Any:
    """Build a data frame from copies of the columns.

    Parameters
    ----------
    columns : dict of str to ndarray
        Name and values of each column.
    backend : {"pandas", "polars"}
        The library whose data frame is returned.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        The table.

    Raises
    ------
    ImportError
        If the library is not installed.
    """
    if backend not in ("pandas", "polars"):
        raise ValueError(f"backend is {backend!r}; choose 'pandas' or 'polars'")
    return needed(backend, "to_frame", "tables").DataFrame(
        {name: values.copy() for name, values in columns.items()}
    )


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """One mixture distribution per row: what predictions of clean and of contaminated labels share.

    A label y is a scalar, or an array whose last axis has one entry per row. With a single row y may have any shape:
    `prediction[7].pdf(grid)`.

    Parameters
    ----------
    mixture : Mixture
        Locations, scales and shapes of the members.
    """

    mixture: Mixture

    def __len__(self) -> int:
        return int(self.mixture.location.shape[1])

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Density at y.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Densities, in the shape of y; (n_samples,) for a scalar.
        """
        return exp(self.logpdf(y))

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the density at y; finite even for y far from the mean.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities, in the shape of y; (n_samples,) for a scalar.
        """
        return self.mixture.logpdf(self._labels(y))

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a label of at most y.

        Parameters
        ----------
        y : array-like
            A scalar, or an array whose last axis has one entry per row.

        Returns
        -------
        ndarray
            Probabilities, in the shape of y; (n_samples,) for a scalar.
        """
        return self.mixture.cdf(self._labels(y))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantiles of every row.

        Parameters
        ----------
        q : array-like
            Probabilities strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (*q.shape, n_samples)
            The q-quantile of every row; of shape (n_samples,) for a scalar q.

        Raises
        ------
        ValueError
            If a probability is not strictly between 0 and 1.
        """
        levels = _checks.real("q", q)
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q is {levels.tolist()}; probabilities must lie strictly between 0 and 1")
        rows = [self.mixture.ppf(float(level)) for level in levels.flat]
        return np.array(rows).reshape(*levels.shape, len(self))

    def interval(self, coverage: float = 0.9) -> Interval:
        """The central interval that holds the label with a given probability.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval holds the label.

        Returns
        -------
        Interval
            Lower and upper ends, one pair per row.

        Raises
        ------
        ValueError
            If `coverage` is not strictly between 0 and 1.
        """
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
    """The labels as they are given, wrong ones included: Student's t of (3), or a mixture of several.

    Attributes
    ----------
    var : ndarray of shape (n_samples,)
        Variance of the given labels, equation (9).
    """

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
    mean : array-like of shape (n_members, n_samples) or (n_samples,)
        Mean of the clean label.
    var : array-like of the same shape
        Variance of the clean label.
    alpha : array-like of the same shape, default=None
        α of the Student's t of a GCP model. Give `alpha` and `sigma` together, or neither.
    sigma : array-like of the same shape, default=None
        σ of the Student's t of a GCP model, in squared units of y.

    Attributes
    ----------
    member_mean : ndarray of shape (n_members, n_samples)
        Mean of each member.
    member_var : ndarray of shape (n_members, n_samples)
        Variance of each member.
    member_alpha : ndarray of shape (n_members, n_samples), or None
        α of each member.
    member_sigma : ndarray of shape (n_members, n_samples), or None
        σ of each member.
    mean : ndarray of shape (n_samples,)
        Mean of the clean label.
    var : ndarray of shape (n_samples,)
        Variance of the clean label: `aleatoric_var` + `epistemic_var`.
    std : ndarray of shape (n_samples,)
        Standard deviation of the clean label.
    aleatoric_var : ndarray of shape (n_samples,)
        Noise of the clean labels.
    epistemic_var : ndarray of shape (n_samples,)
        Disagreement of the members.
    alpha : ndarray of shape (n_samples,)
        α; small where the training labels held outliers. GCP models only.
    student_var : ndarray of shape (n_samples,)
        Variance (9) of the labels as they are given. GCP models only.

    Examples
    --------
    >>> prediction = Prediction(mean=[[0.0, 1.0], [0.2, 1.0]], var=[[1.0, 4.0], [1.0, 4.0]])
    >>> prediction.mean, prediction.var
    (array([0.1, 1. ]), array([1.01, 4.  ]))
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
            raise ValueError("give both alpha and sigma (GCP models) or neither")
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
        """The prediction of a GCP model, with the prognostic variance V_p = σ/(α − A(α)) of equation (6).

        Parameters
        ----------
        m : array-like of shape (n_members, n_samples) or (n_samples,)
            Location of the Student's t.
        alpha : array-like of the same shape
            α: half the degrees of freedom.
        sigma : array-like of the same shape
            σ; the squared scale is σ/α.

        Returns
        -------
        Prediction
            The distribution of the clean labels.
        """
        positive_alpha = _checks.positive("alpha", _members("alpha", alpha))
        prognostic = prognostic_variance(positive_alpha, _members("sigma", sigma, positive_alpha.shape))
        return cls(m, prognostic, alpha=alpha, sigma=sigma)

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
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
        """Variance of the mixture, mean(V + m²) − mean(m)², as `aleatoric_var` + `epistemic_var`."""
        return _read_only(self.aleatoric_var + self.epistemic_var)

    @cached_property
    def std(self) -> FloatArray:
        """Standard deviation, the square root of `var`."""
        return _read_only(np.sqrt(self.var))

    @cached_property
    def alpha(self) -> FloatArray:
        """Harmonic mean of the members' α. It is small where the training labels held outliers.

        By Theorem 3.1, 1/α is proportional to the share of outliers, so 1/α is averaged.
        """
        alpha, _ = self._student("alpha")
        return _read_only(1 / np.mean(1 / alpha, axis=0))

    @cached_property
    def student_var(self) -> FloatArray:
        """V_St = σ/(α−1), equation (9), mixed over the members; ∞ where a member has α ≤ 1."""
        return self.contaminated.var

    @cached_property
    def finite_student_var(self) -> FloatArray:
        """V_St with max(α − 1, 5e-5) instead of α − 1, for uses that need a finite number, such as sorting."""
        alpha, sigma = self._student("finite_student_var")
        members = student_variance(alpha, sigma, finite=True)
        return _read_only(members.mean(axis=0) + self.epistemic_var)

    @cached_property
    def contaminated(self) -> ContaminatedMarginal:
        """The labels as they are given: Student's t with 2α degrees of freedom and squared scale σ/α (3)."""
        alpha, sigma = self._student("contaminated")
        scale = np.sqrt(sigma) / np.sqrt(alpha)  # σ/α itself could underflow
        return ContaminatedMarginal(Mixture.of(STUDENT, self.member_mean, scale, alpha))

    def sample(self, n: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw clean labels.

        Parameters
        ----------
        n : int, default=1
            Number of draws per row.
        random_state : int, numpy.random.Generator or RandomState, default=None
            Seed or generator.

        Returns
        -------
        ndarray of shape (n, n_samples)
            The draws.
        """
        rng = _checks.generator(random_state)
        member = rng.integers(self.n_members, size=(n, len(self)))
        row = np.arange(len(self))
        noise = self.mixture.scale[member, row] * rng.standard_normal(member.shape)
        return np.asarray(self.member_mean[member, row] + noise)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a table with one row per row and one column per attribute.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            mean, std, aleatoric_var, epistemic_var and, for GCP models, student_var and alpha.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        names = ["mean", "std", "aleatoric_var", "epistemic_var"]
        names += [] if self.member_alpha is None else ["student_var", "alpha"]
        return make_frame({name: getattr(self, name) for name in names}, backend)

    def __getitem__(self, rows: Rows) -> "Prediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
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
    """Aligned lines `row  mean ± std  α`, with decimals chosen by the spread."""
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
