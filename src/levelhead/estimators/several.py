"""Several targets: one model for each, with the same folds, or networks that share their hidden layers."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from levelhead import metrics
from levelhead.audits.multiple import MultiAudit
from levelhead.estimators import _large
from levelhead.estimators._inputs import explained
from levelhead.estimators._out_of_fold import Splitting, assign, fit_parameters, takes_folds
from levelhead.estimators._preparation import arrange
from levelhead.estimators._types import Constraints, FloatArray, Weights
from levelhead.estimators.automatic import AutoRegressor
from levelhead.estimators.networks import sharing
from levelhead.prediction import Interval, Prediction
from levelhead.prediction.multiple import MultiPrediction
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.columns import Columns

_FOLDS = 5
_LEAST_ROWS = 30  # with fewer, each model chooses its folds


class MultiTargetRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Several targets: one model for each, with the same folds.

    A label that is wrong in one target does not count as wrong in the others, because every target has a model of its
    own; networks may share their hidden layers. Rows with equal inputs fall into one fold, and each row is held out by
    the fold models of all targets at once: the audits of a row are comparable. Labels of one target, as in any other
    regressor, may have one dimension.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The estimator of each target; it is cloned, not changed. None is `AutoRegressor()`.
    shared_trunk : bool, default=False
        Whether the networks of all targets share their hidden layers: one network is trained for all targets, with
        outputs for each. The estimator must be a network of levelhead, such as `GCPRegressor`. Related targets gain by
        this, unrelated ones lose. With False, every target has networks of its own.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted estimators, one for each target.
    targets_ : list of str
        Names of the targets: the columns of y, if it was a frame, or their numbers.
    contamination_ : ndarray of shape (n_targets,)
        Share of wrong labels of each target.
    oof_prediction_ : MultiPrediction
        Out-of-fold predictions of the training rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the importances of the targets.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import GCPRegressor, MultiTargetRegressor
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> model = MultiTargetRegressor(GCPRegressor(max_iter=20, random_state=0)).fit(X, X @ [[1, 2], [3, 4]])
    >>> model.predict(X[:3]).shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "shared_trunk": ["boolean"],
    }
    estimators_: list[Any]
    targets_: list[str]
    _flat: bool  # whether y had one dimension

    def __init__(self, estimator: Any = None, *, shared_trunk: bool = False) -> None:
        self.estimator = estimator
        self.shared_trunk = shared_trunk

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Fit the models of all targets.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like or frame of shape (n_samples, n_targets) or (n_samples,)
            Labels, some of which may be wrong. With several targets, NaN is a missing label: it is not used, and the
            other labels of its row are.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Weights of at least 0, of rows or of labels. A label of weight 0 is not used, and its value does not count.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together: they fall into one fold.
        cv : int, splitter or iterable, default=None
            Folds, as in scikit-learn. By default, they depend on the inputs, or on `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        if y is None:
            raise ValueError("MultiTargetRegressor requires y to be passed, but the target y is None")
        self.targets_ = target_names(y)
        missing = _missing(y)
        given = y if missing is None else np.where(missing, 0.0, y)
        with explained(X, given, several=True):
            X = self._taken(X, reset=True)
            labels = np.asarray(
                _check_y(given, multi_output=True, y_numeric=True, estimator=self), dtype=np.float64
            )
            check_consistent_length(X, labels)
        self._flat = labels.ndim == 1
        labels = labels.reshape(len(labels), -1)
        weight = self._weights(sample_weight, X, labels, missing)
        cv = list(cv) if isinstance(cv, Iterator) else cv  # several models read it
        if weight is not None and weight.ndim == 2:
            labels = np.where(weight > 0, labels, 0.0)
        base = AutoRegressor() if self.estimator is None else self.estimator
        fit = sharing.fit if self.shared_trunk else _fit_each
        self.estimators_ = list(fit(base, X, labels, weight, groups, cv))
        return self

    def _weights(
        self, given: Weights, X: Any, labels: FloatArray, missing: NDArray[np.bool_] | None
    ) -> FloatArray | None:
        """Weights of rows, or of labels, checked; 0 for missing labels."""
        if given is not None and np.asarray(given).ndim == 2:
            weight = check_array(
                given, dtype=np.float64, ensure_non_negative=True, input_name="sample_weight"
            )
            if weight.shape != labels.shape:
                raise ValueError(
                    f"sample_weight has shape {weight.shape}; give one weight for each row, or one for each label, of "
                    f"shape {labels.shape}"
                )
        elif given is None and missing is None:
            return None
        else:
            weight = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
        if missing is not None:
            weight = np.where(missing, 0.0, weight.reshape(len(labels), -1))
        without = np.flatnonzero(~weight.reshape(len(labels), -1).any(axis=0))
        if without.size:
            named = f" of {self.targets_[without[0]]!r}" if weight.ndim == 2 else ""
            raise ValueError(f"every label{named} is missing or has weight 0; at least one must count")
        return np.asarray(weight)

    def _taken(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is, anything else as an array; the columns are checked."""
        X = frames.collected(X)
        if frames.library(X) is None:
            return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)
        return validate_data(self, X, reset=reset, skip_check_array=True)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the means of the clean labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        ndarray of the shape of y, or a tuple of two
            Means; with `return_std=True`, means and standard deviations.
        """
        prediction = self.predict_dist(X)
        mean = self._shaped(prediction.mean)
        return (mean, self._shaped(prediction.std)) if return_std else mean

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._flat else values

    def predict_dist(self, X: Any) -> MultiPrediction:
        """Predict the distribution of the clean label of every target and row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        MultiPrediction
            One prediction for each target.
        """
        check_is_fitted(self, "estimators_")
        X = self._taken(X, reset=False)
        return self._joined([metrics.predict_dist(model, X) for model in self.estimators_])

    def _joined(self, predictions: list[Prediction]) -> MultiPrediction:
        return MultiPrediction(tuple(predictions), tuple(self.targets_))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Interval:
        """Predict central intervals of every target.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        coverage : float, default=0.9
            Probability that the interval of a target holds its clean label.

        Returns
        -------
        Interval
            Lower and upper ends, of the shape of y.
        """
        ends = self.predict_dist(X).interval(coverage)
        return Interval(self._shaped(ends.lower), self._shaped(ends.upper))

    def score(self, X: Any, y: ArrayLike, sample_weight: Weights = None) -> float:
        """Mean over the targets of robust R², `levelhead.metrics.robust_r2`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples, n_targets) or (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0.

        Returns
        -------
        float
            1 for perfect predictions, 0 for the constant medians.
        """
        mean = self.predict_dist(X).mean
        labels = self._labels(y, len(mean))
        pairs = zip(labels.T, mean.T, strict=True)
        return float(np.mean([metrics.robust_r2(a, b, sample_weight=sample_weight) for a, b in pairs]))

    def _labels(self, y: ArrayLike, n: int) -> FloatArray:
        given = np.asarray(y, dtype=np.float64)
        labels = given[:, None] if given.ndim == 1 else given
        needed = (n, len(self.estimators_))
        if labels.shape != needed:
            raise ValueError(f"y has shape {given.shape}; needed are labels of shape {needed}")
        missing = np.argwhere(np.isnan(labels))
        if len(missing):
            row, k = missing[0].tolist()
            raise ValueError(
                f"y has {len(missing)} missing labels (first at row {row} of {self.targets_[k]!r}); give the rows with "
                f"a label of one target to its own model, for example estimators_[{k}]"
            )
        return labels

    def audit(self, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> MultiAudit:
        """Judge which labels are wrong.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples, n_targets) or (n_samples,)
            Labels.
        false_alarm_rate : float, default=0.05
            Expected share of false alarms among flagged labels.

        Returns
        -------
        MultiAudit
            A verdict on each label of each target.

        Raises
        ------
        TypeError
            If the estimator of the targets cannot audit.
        """
        check_is_fitted(self, "estimators_")
        if not all(hasattr(model, "audit") for model in self.estimators_):
            raise TypeError(f"{type(self.estimators_[0]).__name__} cannot audit; use a levelhead estimator")
        X = self._taken(X, reset=False)
        labels = self._labels(y, X.shape[0])
        audits = (model.audit(X, labels[:, k], false_alarm_rate) for k, model in enumerate(self.estimators_))
        return MultiAudit(tuple(audits), tuple(self.targets_))

    @property
    def oof_prediction_(self) -> MultiPrediction:
        """Out-of-fold predictions of the training rows."""
        check_is_fitted(self, "estimators_")
        return self._joined([model.oof_prediction_ for model in self.estimators_])

    @property
    def contamination_(self) -> FloatArray:
        """Share of wrong labels of each target."""
        check_is_fitted(self, "estimators_")
        return np.array([model.contamination_ for model in self.estimators_])

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the importances of the targets."""
        check_is_fitted(self, "estimators_")
        return np.asarray(np.mean([model.feature_importances_ for model in self.estimators_], axis=0))


def _fit_each(
    base: Any, X: Any, labels: FloatArray, weight: FloatArray | None, groups: Any, cv: Any
) -> list[Any]:
    """One model for each target."""
    models = []
    if groups is None and cv is None and takes_folds(base):
        cv = _shared_folds(X, len(labels))
    for k, y in enumerate(labels.T):
        own = weight if weight is None or weight.ndim == 1 else weight[:, k]
        given = fit_parameters(base, sample_weight=own, groups=groups, cv=cv)
        models.append(clone(base).fit(X, y, **given))
    return models


def _missing(y: Any) -> NDArray[np.bool_] | None:
    """Which labels of several targets are missing; None if all are there, or are not numbers."""
    try:
        given = np.asarray(y)
        if given.ndim != 2 or given.shape[1] < 2 or given.dtype.kind not in "fO":
            return None
        frame = given.dtype.kind == "O" and hasattr(y, "isna")  # of pandas, whose NA is not a number
        missing = np.asarray(y.isna()) if frame else np.isnan(given.astype(np.float64))
    except (TypeError, ValueError, OverflowError):
        return None
    return missing if missing.any() else None


def target_names(y: Any) -> list[str]:
    """Names of the targets: columns of a frame, or numbers from 1."""
    if hasattr(y, "columns"):
        names = [str(name) for name in y.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"y has several columns named {twice!r}; give each target a name of its own")
        return names
    shape = np.asarray(y).shape
    n_targets = shape[1] if len(shape) == 2 else 1
    return [f"target {k + 1}" for k in range(n_targets)]


def _shared_folds(X: Any, n: int) -> PredefinedSplit | None:
    """Folds by the inputs alone, the same for all targets; None for few rows and for tables that are sampled."""
    if n < _LEAST_ROWS or _large.applies(n, None, None):
        return None
    framed = frames.library(X) is not None
    table = Columns.learn(X).table(X) if framed else np.asarray(X, dtype=np.float64)
    nothing = np.zeros(n)
    rows = arrange(table, nothing, None, 0)
    if rows.n_groups < _FOLDS:
        return None
    return PredefinedSplit(assign(rows, _FOLDS, Splitting(), table, nothing).of_row)
