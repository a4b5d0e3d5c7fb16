"""Measures of a prediction: of the mean, of the variance, and of the whole distribution.

Every measure takes the labels first and returns one number, averaged over the rows with `sample_weight` where that
makes sense. `mean` and `var` of a distribution have the shape (n_samples,) for a Gaussian, or (n_members, n_samples)
for an equal-weight mixture of Gaussians; these are `member_mean` and `member_var` of a `Prediction`.

| question | measures |
|---|---|
| how far off is the mean? | `rmse`, `robust_r2` (not misled by wrong labels in the test set) |
| does the variance predict the error? | `retention_curve`, `retention_auc`, `oracle_curve`, `ause` |
| is the distribution right? | `nll`, `crps`, `coverage`, `pit`, `calibration_curve`, `calibration_error` |

`get_scorer` returns each of them as a scorer for scikit-learn. Greater is better, so losses are negated.

>>> round(retention_auc(y=[0.0, 0.0, 0.0], mean=[3.0, 1.0, 0.0], var=[9.0, 4.0, 1.0]), 6)
0.809989
>>> round(crps(y=[0.0], mean=[0.0], var=[1.0]), 6)
0.233695
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, ndtri

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.prediction import Prediction
from levelhead.prediction.mixture import Mixture
from levelhead.theory.elementary import exp

_MAD_OF_GAUSSIAN = float(ndtri(0.75))  # median |z| of a standard Gaussian
_CUT = 3.0  # residuals beyond three robust standard deviations count as three


def rmse(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root of the mean squared error.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The error, in units of y.
    """
    error, w = _errors(y, mean, sample_weight)
    return float(np.sqrt((w * error**2).sum()))


def robust_r2(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of the spread that is explained, measured so that wrong labels have little influence.

    `1 − τ²(y − mean)/τ²(y − median(y))` with the truncated mean square

        τ²(r) = mean of min(r², (3s)²),  s = median|r|/0.6745.

    It is 1 for residuals of zero and 0 for the constant median. If all labels are correct and not too skewed, it is
    near R². For skewed labels it measures the bulk of the rows, while R² measures the few with large labels. Like any
    measure that tolerates wrong labels in up to half of the rows, it cannot distinguish a model that is right on more
    than half of the rows from a right model with wrong labels. If more than half of the labels are equal, their mean
    absolute deviation replaces s in the denominator.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of which may be wrong.
    mean : array-like of shape (n_samples,)
        Predicted means.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        At most 1; higher is better.
    """
    residual, w = _errors(y, mean, sample_weight)
    labels = _checks.vector("y", y)
    deviation = labels - _weighted_median(labels, w)
    unexplained = _truncated_mean_square(residual, w, _median_scale(residual, w))
    scale = _median_scale(deviation, w)
    total = _truncated_mean_square(deviation, w, scale if scale > 0 else float((w * np.abs(deviation)).sum()))
    if total == 0:  # all labels are equal: nothing to explain
        return 1.0 if unexplained == 0 else 0.0
    return 1 - unexplained / total


def retention_curve(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> FloatArray:
    """RMSE(n) for n = 0, …, N−1: the error that remains without the n rows of largest variance.

    Rows with equal variance each enter with the mean squared error of their group, so the order of rows does not
    matter. The variance may be infinite; only its order counts.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    ndarray of shape (n_samples,)
        RMSE(0), …, RMSE(N−1).
    """
    error, _ = _errors(y, mean, None)
    uncertainty = _checks.not_nan("var", _checks.real("var", var))
    _one_per_row("var", uncertainty, error.size)
    return _retained_rmse(error**2, uncertainty)


def oracle_curve(y: ArrayLike, mean: ArrayLike) -> FloatArray:
    """The lowest possible retention curve: rows are left out in the order of their true errors.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.

    Returns
    -------
    ndarray of shape (n_samples,)
        RMSE(0), …, RMSE(N−1).
    """
    error, _ = _errors(y, mean, None)
    return _retained_rmse(error**2, error**2)


def retention_auc(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> float:
    """Area under the retention curve, `1/(N−1) Σ_{n=0}^{N−2} (RMSE(n) + RMSE(n+1))/2`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    float
        The area, in units of y; lower is better.
    """
    return _area(retention_curve(y, mean, var))


def ause(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> float:
    """Area between the retention curve and the lowest possible one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,)
        Predicted means.
    var : array-like of shape (n_samples,)
        Predicted variances, or any other measure of uncertainty.

    Returns
    -------
    float
        The area, in units of y; 0 if the variance orders the rows as their errors do.
    """
    return retention_auc(y, mean, var) - _area(oracle_curve(y, mean))


def nll(y: ArrayLike, mean: ArrayLike, var: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean of −ln p(y) for a Gaussian or a mixture of Gaussians.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples)
        Predicted means.
    var : array-like of the shape of `mean`
        Predicted variances.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The mean; lower is better.
    """
    labels, mixture, w = _distribution(y, mean, var, sample_weight)
    return float(-(w * mixture.logpdf(labels)).sum())


def crps(y: ArrayLike, mean: ArrayLike, var: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean continuous ranked probability score, `∫(F(t) − 1{t ≥ y})² dt`.

    With `a(z, s) = E|z + s·ε|`, ε ~ N(0, 1), it is (Grimit et al., 2006)

        mean_k a(y − m_k, s_k) − ½ mean_kl a(m_k − m_l, √(V_k + V_l)).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples)
        Predicted means.
    var : array-like of the shape of `mean`
        Predicted variances.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The mean score, in units of y; lower is better.
    """
    labels, mixture, w = _distribution(y, mean, var, sample_weight)
    m, s = mixture.location, mixture.scale
    to_label = _mean_absolute(labels - m, s).mean(axis=0)
    between = sum(_mean_absolute(m - mk, np.hypot(s, sk)).mean(axis=0) for mk, sk in zip(m, s, strict=True))
    return float((w * (to_label - 0.5 * between / len(m))).sum())


def coverage(
    y: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of the labels inside their interval, ends included.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    lower : array-like of shape (n_samples,)
        Lower ends of the intervals.
    upper : array-like of shape (n_samples,)
        Upper ends of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The share, from 0 to 1.

    Raises
    ------
    ValueError
        If a lower end exceeds its upper end.
    """
    labels = _checks.vector("y", y)
    ends = []
    for name, value in (("lower", lower), ("upper", upper)):
        end = _checks.not_nan(name, _checks.real(name, value))
        _one_per_row(name, end, labels.size)
        ends.append(end)
    crossed = np.flatnonzero(ends[0] > ends[1])
    if crossed.size:
        raise ValueError(f"lower exceeds upper in {crossed.size} rows (first at row {crossed[0]}); swap them")
    inside = (ends[0] <= labels) & (labels <= ends[1])
    return float((_checks.weights(sample_weight, labels.size) * inside).sum())


def pit(y: ArrayLike, mean: ArrayLike, var: ArrayLike) -> FloatArray:
    """The probability integral transform F(y) of every label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples)
        Predicted means.
    var : array-like of the shape of `mean`
        Predicted variances.

    Returns
    -------
    ndarray of shape (n_samples,)
        Values from 0 to 1; uniform if the predicted distributions are right.
    """
    labels, mixture, _ = _distribution(y, mean, var, None)
    return mixture.cdf(labels)


class CalibrationCurve(NamedTuple):
    """Expected and observed share of labels below each quantile.

    Attributes
    ----------
    expected : ndarray of shape (n_levels,)
        Probabilities of the quantiles.
    observed : ndarray of shape (n_levels,)
        Share of the labels below each quantile.
    """

    expected: FloatArray
    observed: FloatArray


def calibration_curve(
    y: ArrayLike,
    mean: ArrayLike,
    var: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationCurve:
    """Expected and observed share of labels below each quantile.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples)
        Predicted means.
    var : array-like of the shape of `mean`
        Predicted variances.
    levels : array-like of shape (n_levels,), default=None
        Probabilities of the quantiles; 0.01, 0.02, …, 0.99 by default.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    CalibrationCurve
        The levels, and the observed share at each.
    """
    expected = np.arange(1, 100) / 100 if levels is None else _checks.vector("levels", levels)
    values = pit(y, mean, var)
    w = _checks.weights(sample_weight, values.size)
    order = np.argsort(values)
    below = np.searchsorted(values[order], expected, side="right")
    observed = np.concatenate([[0.0], np.cumsum(w[order])])[below]
    return CalibrationCurve(expected, observed)


def calibration_error(
    y: ArrayLike, mean: ArrayLike, var: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Area between the calibration curve and the diagonal, ∫|observed(p) − p| dp, computed exactly.

    It is the Wasserstein distance of the PIT values from the uniform distribution.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    mean : array-like of shape (n_samples,) or (n_members, n_samples)
        Predicted means.
    var : array-like of the shape of `mean`
        Predicted variances.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; equal by default.

    Returns
    -------
    float
        The area, from 0 to ½; lower is better.
    """
    values = pit(y, mean, var)
    w = _checks.weights(sample_weight, values.size)
    order = np.argsort(values)
    p, end = values[order], np.cumsum(w[order])
    start = end - w[order]
    return float(0.5 * np.sum((p - start) * np.abs(p - start) + (end - p) * np.abs(end - p)))


@dataclass(frozen=True)
class Scorer:
    """A measure as a scikit-learn scorer: called with (estimator, X, y), greater is better.

    Parameters
    ----------
    name : str
        The name that `get_scorer` takes.
    function : callable
        The measure. It is called with the labels and the quantities that `wants` names.
    sign : float
        −1 for losses, 1 otherwise.
    wants : {"mean", "moments", "members"}
        "mean" (`predict`), "moments" (mean and variance) or "members" (mean and variance of every member).
    weighted : bool, default=True
        Whether the measure takes a sample_weight.
    request : bool or str, default=None
        Whether to request the sample_weight from metadata routing; see `set_score_request`.
    """

    name: str
    function: Callable[..., float]
    sign: float
    wants: Literal["mean", "moments", "members"]
    weighted: bool = True
    request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; equal by default.

        Returns
        -------
        float
            The score; greater is better.

        Raises
        ------
        ValueError
            If weights are given to a measure that takes none.
        """
        if sample_weight is not None and not self.weighted:
            raise ValueError(f"{self.name} takes no sample_weight; leave it out")
        options = {"sample_weight": sample_weight} if self.weighted else {}
        return self.sign * self.function(y, *self._predicted(estimator, X), **options)

    def set_score_request(self, *, sample_weight: bool | str | None) -> "Scorer":
        """Return a copy that requests the sample_weight from metadata routing, or declines it.

        Parameters
        ----------
        sample_weight : bool, str or None
            True, or the alias of the weights, to request them; False to decline them.

        Returns
        -------
        Scorer
            The copy.
        """
        return replace(self, request=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the request for scikit-learn's metadata routing.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The request.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if self.weighted:
            request.score.add_request(param="sample_weight", alias=self.request)
        return request

    def _predicted(self, estimator: Any, X: Any) -> tuple[FloatArray, ...]:
        if self.wants == "mean":
            return (estimator.predict(X),)
        prediction = predict_dist(estimator, X)
        if self.wants == "moments":
            return prediction.mean, prediction.var
        return prediction.member_mean, prediction.member_var


SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        scorer.name: scorer
        for scorer in (
            Scorer("robust_r2", robust_r2, 1, "mean"),
            Scorer("neg_rmse", rmse, -1, "mean"),
            Scorer("neg_retention_auc", retention_auc, -1, "moments", weighted=False),
            Scorer("neg_ause", ause, -1, "moments", weighted=False),
            Scorer("neg_nll", nll, -1, "members"),
            Scorer("neg_crps", crps, -1, "members"),
            Scorer("neg_calibration_error", calibration_error, -1, "members"),
        )
    }
)


def get_scorer(name: str) -> Scorer:
    """Return a scorer for the argument `scoring` of scikit-learn's searches and cross-validation.

    Parameters
    ----------
    name : str
        A key of `SCORERS`, for example "neg_crps" or "robust_r2".

    Returns
    -------
    Scorer
        The scorer.

    Raises
    ------
    ValueError
        If there is no scorer of this name.

    Examples
    --------
    >>> get_scorer("neg_crps").sign
    -1
    """
    if name not in SCORERS:
        raise ValueError(f"there is no scorer {name!r}; choose one of {', '.join(SCORERS)}")
    return SCORERS[name]


def predict_dist(estimator: Any, X: Any) -> Prediction:
    """Return the `Prediction` of any estimator that predicts a distribution.

    Works through scikit-learn's pipelines, searches, recursive feature elimination and frozen estimators, in any order.
    An estimator that only has `predict(X, return_std=True)` gives a Gaussian.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, pipeline or search.
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    Prediction
        One distribution per row.

    Raises
    ------
    TypeError
        If the estimator only predicts means.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.arange(10.0)[:, None]
    >>> predict_dist(make_pipeline(StandardScaler(), BayesianRidge()).fit(X, X[:, 0]), X).mean.shape
    (10,)
    """
    if hasattr(estimator, "predict_dist"):
        prediction: Prediction = estimator.predict_dist(X)
        return prediction
    inner = _inner(estimator, X)
    if inner is not None:
        return predict_dist(*inner)
    if "return_std" not in inspect.signature(estimator.predict).parameters:
        raise _no_distribution(estimator)
    mean, std = estimator.predict(X, return_std=True)
    return Prediction(mean, np.square(std))


def _inner(estimator: Any, X: Any) -> tuple[Any, Any] | None:
    """The fitted estimator inside one of scikit-learn's, and what it gets for X."""
    if hasattr(estimator, "best_estimator_"):
        return estimator.best_estimator_, X
    if hasattr(estimator, "named_steps"):
        before = estimator[:-1]
        return estimator[-1], before.transform(X) if len(before) else X
    if hasattr(estimator, "support_") and hasattr(estimator, "estimator_"):  # RFE, RFECV
        return estimator.estimator_, estimator.transform(X)
    return None


def _no_distribution(estimator: Any) -> TypeError:
    from sklearn.utils.validation import check_is_fitted

    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    return TypeError(
        f"{type(estimator).__name__} does not predict a distribution: it needs predict_dist(X) or "
        "predict(X, return_std=True)"
    )


def _errors(y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    labels, centre = _checks.vector("y", y), _checks.vector("mean", mean)
    _one_per_row("mean", centre, labels.size)
    return labels - centre, _checks.weights(sample_weight, labels.size)


def _distribution(
    y: ArrayLike, mean: ArrayLike, var: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[FloatArray, Mixture, FloatArray]:
    labels = _checks.vector("y", y)
    mixture = Prediction(mean, var).mixture
    _checks.same_length(labels.size, mean=mixture.location)
    return labels, mixture, _checks.weights(sample_weight, labels.size)


def _one_per_row(name: str, array: FloatArray, n: int) -> None:
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape} but y has {n} rows; give one number per row")


def _retained_rmse(squared_error: FloatArray, uncertainty: FloatArray) -> FloatArray:
    order = np.lexsort(
        (squared_error, uncertainty)
    )  # errors too, so that sums are rounded alike in any order of rows
    _, first, size = np.unique(uncertainty[order], return_index=True, return_counts=True)
    shared = np.repeat(np.add.reduceat(squared_error[order], first) / size, size)
    kept = np.arange(1, shared.size + 1)
    return np.asarray(np.sqrt(np.cumsum(shared) / kept)[::-1])


def _area(curve: FloatArray) -> float:
    if curve.size < 2:
        raise ValueError("the area under the retention curve needs at least two rows, got one")
    return float(np.mean((curve[:-1] + curve[1:]) / 2))


def _mean_absolute(z: FloatArray, s: FloatArray) -> FloatArray:
    """E|z + s·ε| = z·erf(z/(s√2)) + s·√(2/π)·exp(−z²/(2s²))."""
    u = z / s
    return np.asarray(z * erf(u / np.sqrt(2)) + s * np.sqrt(2 / np.pi) * exp(-0.5 * u * u))


def _median_scale(residual: FloatArray, w: FloatArray) -> float:
    return _weighted_median(np.abs(residual), w) / _MAD_OF_GAUSSIAN


def _truncated_mean_square(residual: FloatArray, w: FloatArray, scale: float) -> float:
    return float((w * np.minimum(np.abs(residual), _CUT * scale) ** 2).sum())


def _weighted_median(values: FloatArray, w: FloatArray) -> float:
    """The middle of the interval of values that have at most half of the weight on either side."""
    order = np.argsort(values)
    below = np.cumsum(w[order])
    half = 0.5 * below[-1]
    slack = 1e-12 * below[-1]  # equal weights must find the same two middle rows in spite of rounding
    low = np.searchsorted(below, half - slack)
    high = np.searchsorted(below, half + slack)
    return float(0.5 * (values[order[low]] + values[order[high]]))
