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
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead.prediction.display import count, make_frame, text_table
from levelhead.prediction.distribution import ContaminatedMarginal, Distribution, read_only
from levelhead.prediction.html import prediction_html
from levelhead.prediction.mixture import GAUSSIAN, STUDENT, Mixture
from levelhead.prediction.transforms import Transform
from levelhead.theory.student import prognostic_variance, student_variance

Rows = int | slice | Sequence[int] | Sequence[bool] | NDArray[np.integer[Any]] | NDArray[np.bool_]
_HEAD = 8


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

    @cached_property  # type: ignore[misc]  # mean and variance do not need it
    def mixture(self) -> Mixture:
        """Locations, scales and shapes of the members."""
        std = read_only(np.sqrt(self.member_var))
        return Mixture.of(GAUSSIAN, self.member_mean, std, shape=std)  # a Gaussian ignores its shape

    def __len__(self) -> int:
        return int(self.member_mean.shape[1])

    @property
    def latent(self) -> "Prediction":
        """The prediction on the scale on which the model learns; this one, unless it is a `TransformedPrediction`."""
        return self

    @property
    def transform(self) -> Transform | None:
        """The scale on which the model learns; None for the units of y."""
        return None

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
        return len(self.member_mean)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of the clean label."""
        return read_only(self.member_mean.mean(axis=0))

    @cached_property
    def aleatoric_var(self) -> FloatArray:
        """Noise of the clean labels: the mean of the members' variances."""
        return read_only(self.member_var.mean(axis=0))

    @cached_property
    def epistemic_var(self) -> FloatArray:
        """Disagreement of the members: the variance of their means; 0 for one member."""
        return read_only(self.member_mean.var(axis=0))

    @cached_property
    def var(self) -> FloatArray:
        """Variance of the mixture, mean(V + m²) − mean(m)², as `aleatoric_var` + `epistemic_var`."""
        return read_only(self.aleatoric_var + self.epistemic_var)

    @cached_property
    def std(self) -> FloatArray:
        """Standard deviation, the square root of `var`."""
        return read_only(np.sqrt(self.var))

    @cached_property
    def alpha(self) -> FloatArray:
        """Harmonic mean of the members' α. It is small where the training labels held outliers.

        By Theorem 3.1, 1/α is proportional to the share of outliers, so 1/α is averaged.
        """
        alpha, _ = self._student("alpha")
        return read_only(1 / np.mean(1 / alpha, axis=0))

    @cached_property
    def student_var(self) -> FloatArray:
        """V_St = σ/(α−1), equation (9), mixed over the members; ∞ where a member has α ≤ 1."""
        return self.contaminated.var

    @cached_property
    def finite_student_var(self) -> FloatArray:
        """V_St with max(α − 1, 5e-5) instead of α − 1, for uses that need a finite number, such as sorting."""
        alpha, sigma = self._student("finite_student_var")
        members = student_variance(alpha, sigma, finite=True)
        return read_only(members.mean(axis=0) + self.epistemic_var)

    @cached_property
    def contaminated(self) -> ContaminatedMarginal:
        """The labels as they are given: Student's t with 2α degrees of freedom and squared scale σ/α (3)."""
        alpha, sigma = self._student("contaminated")
        scale = np.sqrt(sigma) / np.sqrt(alpha)  # σ/α itself could underflow
        return ContaminatedMarginal(Mixture.of(STUDENT, self.member_mean, scale, alpha))

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score of each label.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, in the units of y; lower is better.
        """
        return self.mixture.crps(np.broadcast_to(self._labels(y), (len(self),)))

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
            mean, std, aleatoric_var, epistemic_var and, for GCP models, student_var and alpha. A prediction of a model
            that learns on another scale has no student_var.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        names = ["mean", "std", "aleatoric_var", "epistemic_var"]
        if self.member_alpha is not None:
            names += ["student_var", "alpha"] if self.transform is None else ["alpha"]
        return make_frame({name: getattr(self, name) for name in names}, backend)

    def __getitem__(self, rows: Rows) -> "Prediction":
        """Select rows by slice, mask, list or number; a number gives a prediction of one row."""
        index = np.arange(len(self))[rows if isinstance(rows, int | np.integer | slice) else np.asarray(rows)]
        chosen = np.atleast_1d(index)
        alpha, sigma = (None if a is None else a[:, chosen] for a in (self.member_alpha, self.member_sigma))
        return Prediction(self.member_mean[:, chosen], self.member_var[:, chosen], alpha=alpha, sigma=sigma)

    def __repr__(self) -> str:
        rows, members = count(len(self), "row"), count(self.n_members, "member")
        head = self[:_HEAD]
        table = text_table(head.mean, head.std, None if head.member_alpha is None else head.alpha)
        more = [f"… {len(self) - _HEAD} more"] if len(self) > _HEAD else []
        return "\n".join([f"Prediction of {rows}, {members}", *table, *more])

    def _repr_html_(self) -> str:
        return prediction_html(self)

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
    array = np.array(given, ndmin=2)
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} but mean has {shape}; give arrays of one shape")
    return read_only(_checks.finite(name, array))
