"""Any scikit-learn regressor, fitted to audited labels."""

from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from levelhead.audits import Audit
from levelhead.estimators._base import FittedRegressor
from levelhead.estimators._constraints import SHARE
from levelhead.estimators._inputs import explained
from levelhead.estimators._label_scale import TARGET_TRANSFORM
from levelhead.estimators._out_of_fold import Splitting, assign
from levelhead.estimators._preparation import arrange
from levelhead.estimators._separating import calibrated_separation, is_noiseless
from levelhead.estimators._types import Constraints, FloatArray, Seed, TargetTransform, Weights
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.prediction import Prediction, Transform, TransformedPrediction
from levelhead.prediction.calibration import IDENTITY
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.columns import Columns

_FOLDS = 5


class CleanedRegressor(MetaEstimatorMixin, FittedRegressor, BaseEstimator):  # type: ignore[misc]
    """Any regressor, fitted to audited labels: wrong labels get small weights or are left out.

    The mean is the regressor's. The variance is the auditor's, which varies with the inputs, calibrated on
    out-of-fold residuals of the regressor.

    Parameters
    ----------
    regressor : estimator
        Any scikit-learn regressor (a random forest, LightGBM, …). It is cloned.
    auditor : estimator or None, default=None
        Estimator that judges the labels. None uses `GCPRegressor(n_members=5)`.
    suspects : {"weight", "drop"}, default="weight"
        What to do with labels that may be wrong. "weight" uses the `label_quality` of each label as its weight, if the
        regressor takes weights. "drop" leaves out the labels flagged as wrong.
    false_alarm_rate : float, default=0.05
        Expected share of false alarms among flagged labels, strictly between 0 and 1. It matters for "drop".
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default=None
        Scale of the labels on which auditor and regressor learn; predictions are in the units of y. None leaves it to
        the auditor.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the regressor and the auditor if they have none.

    Attributes
    ----------
    regressor_ : estimator
        The fitted regressor.
    auditor_ : estimator
        The fitted auditor.
    audit_ : Audit or None
        Audit of the training labels; None if there were fewer than 30 different rows.
    contamination_ : float
        Estimated share of wrong labels; NaN if there were too few rows.
    separation_ : ContaminationEstimate or None
        Share and variances of clean and wrong labels, estimated from the regressor's out-of-fold residuals.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Those of the regressor, if it has them.
    calibration_ : Calibration
        Map from the auditor's variance to the variance of the regressor's residuals.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from levelhead import CleanedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=300)
    >>> y[::15] = 20
    >>> model = CleanedRegressor(RandomForestRegressor(random_state=0), random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.5, 0.0]])[0] - 0.5) < 0.15)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "regressor": [HasMethods(["fit", "predict"])],
        "auditor": [HasMethods(["fit"]), None],
        "suspects": [StrOptions({"weight", "drop"})],
        "false_alarm_rate": [SHARE],
        "target_transform": TARGET_TRANSFORM,
        "random_state": ["random_state"],
    }

    _fitted_attribute = "regressor_"
    audit_: Audit | None

    def __init__(
        self,
        regressor: Any,
        *,
        auditor: Any = None,
        suspects: Literal["weight", "drop"] = "weight",
        false_alarm_rate: float = 0.05,
        target_transform: TargetTransform = None,
        random_state: Seed = None,
    ) -> None:
        self.regressor = regressor
        self.auditor = auditor
        self.suspects = suspects
        self.false_alarm_rate = false_alarm_rate
        self.target_transform = target_transform
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.regressor).input_tags.allow_nan
        tags.input_tags.sparse = True
        return tags

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Audit the labels, fit the regressor, and calibrate the variance.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs. They reach the regressor as they are, with missing cells and categories, if it takes them.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0, for the auditor and the regressor.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together, as visits of one patient: they fall into one fold.
        cv : int, splitter or iterable, default=None
            Folds, as in scikit-learn. By default, the auditor's and five random ones for the regressor.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If weights differ and the regressor takes none.
        """
        self._validate_params()
        if y is None:
            raise ValueError("CleanedRegressor requires y to be passed, but the target y is None")
        with explained(X, y):
            X = self._taken(X, reset=True)
            labels = np.asarray(_check_y(y, y_numeric=True, estimator=self), dtype=np.float64)
            check_consistent_length(X, labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return self._fit(X, labels, weight, Splitting(groups, cv).checked(len(labels)))

    def _taken(self, X: Any, *, reset: bool) -> Any:
        """X for the regressor: a frame as it is, anything else as an array; the columns are checked."""
        X = frames.collected(X)
        if frames.library(X) is None:
            return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _fit(self, X: Any, y: FloatArray, sample_weight: FloatArray | None, splitting: Splitting) -> Self:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        auditor = _seeded(GCPRegressor(n_members=5) if self.auditor is None else self.auditor, seed)
        if self.target_transform is not None:
            auditor.set_params(target_transform=self.target_transform)
        given = {"sample_weight": sample_weight, "groups": splitting.groups, "cv": splitting.cv}
        self.auditor_ = auditor.fit(X, y, **{k: v for k, v in given.items() if v is not None})
        labels = y if self._scale is None else self._scale.labels(y)
        takes_weights = has_fit_parameter(self.regressor, "sample_weight")
        weighs = takes_weights and (self.suspects == "weight" or sample_weight is not None)
        own = np.ones(len(y)) if sample_weight is None else sample_weight
        if not weighs and len(np.unique(own[own > 0])) > 1:
            raise ValueError(
                f"sample_weight has different weights, but {type(self.regressor).__name__} takes none; leave "
                "sample_weight out, or give a regressor whose fit takes it"
            )
        if (
            not hasattr(self.auditor_, "oof_prediction_") or y.min() == y.max()
        ):  # labels that nothing can judge
            self.audit_, self.calibration_, self.separation_ = None, IDENTITY, None
            self.regressor_ = self._fitted(X, labels, own, weighs, seed)
            return self
        self.audit_ = self.auditor_.audit(X, y, self.false_alarm_rate)
        by_quality = takes_weights and self.suspects == "weight"
        weight = own * (self.audit_.label_quality if by_quality else ~self.audit_.is_label_issue)
        self.regressor_ = self._fitted(X, labels, weight, weighs, seed)
        self._learn_variance(X, labels, weight, weighs, seed, splitting, np.flatnonzero(own > 0))
        return self

    @property
    def _scale(self) -> Transform | None:
        """The auditor's scale of the labels, on which the regressor learns too."""
        return getattr(self.auditor_, "target_transform_", None)

    @property
    def contamination_(self) -> float:
        """Estimated share of wrong labels; NaN if there were too few rows, or if all labels are equal."""
        check_is_fitted(self, "regressor_")
        return float("nan") if self.audit_ is None else self.audit_.contamination

    @property
    def feature_importances_(self) -> FloatArray:
        """Those of the regressor, if it has them."""
        check_is_fitted(self, "regressor_")
        return np.asarray(self.regressor_.feature_importances_)

    def _fitted(self, X: Any, y: FloatArray, weight: FloatArray, weighs: bool, seed: int) -> Any:
        regressor = _seeded(self.regressor, seed)
        if weighs:
            return regressor.fit(X, y, sample_weight=weight)
        kept = np.flatnonzero(weight > 0)
        return regressor.fit(frames.take(X, kept), y[kept])

    def _learn_variance(
        self,
        X: Any,
        y: FloatArray,
        weight: FloatArray,
        weighs: bool,
        seed: int,
        splitting: Splitting,
        counted: NDArray[np.intp],
    ) -> None:
        """Learn how the regressor's out-of-fold residuals depend on the auditor's variance."""
        oof = np.empty(len(y))
        for train, test in self._folds(X, y, splitting, seed):
            fitted = self._fitted(frames.take(X, train), y[train], weight[train], weighs, seed)
            oof[test] = fitted.predict(frames.take(X, test))
        y, oof, variance = y[counted], oof[counted], self._audited_variance()[counted]
        self.calibration_, self.separation_ = IDENTITY, None
        if is_noiseless(y, oof):
            return
        self.calibration_, self.separation_ = calibrated_separation(y, oof, variance)

    def _audited_variance(self) -> FloatArray:
        """The auditor's variance of every label; of a large table it has out-of-fold predictions of a part only."""
        if hasattr(self.auditor_, "judge_"):
            assert self.audit_ is not None
            return self.audit_.judged.std**2
        variance: FloatArray = self.auditor_.oof_prediction_.latent.var
        return variance

    def _folds(self, X: Any, y: FloatArray, splitting: Splitting, seed: int) -> Any:
        if splitting.groups is None and splitting.cv is None:
            return KFold(_FOLDS, shuffle=True, random_state=seed).split(y)
        framed = frames.library(X) is not None
        table = Columns.learn(X).table(X) if framed else np.asarray(X, dtype=np.float64)
        folds = assign(arrange(table, y, None, seed), _FOLDS, splitting, table, y)
        numbers = range(folds.n)
        return [(np.flatnonzero(folds.seen[:, k]), np.flatnonzero(folds.of_row == k)) for k in numbers]

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict(self, X: Any, return_std: bool) -> FloatArray | tuple[FloatArray, FloatArray]: ...

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict the means of the clean labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two
            Means; with `return_std=True`, means and standard deviations.
        """
        check_is_fitted(self, "regressor_")
        if not return_std and self._scale is None:
            return self._latent_mean(X)
        prediction = self.predict_dist(X)
        return (prediction.mean, prediction.std) if return_std else prediction.mean

    def _latent_mean(self, X: Any) -> FloatArray:
        """The regressor's predictions, on the scale of the labels."""
        check_is_fitted(self, "regressor_")
        mean: FloatArray = self.regressor_.predict(self._taken(X, reset=False))
        return mean

    def predict_dist(self, X: Any) -> Prediction:
        """Predict the distribution of the clean label of every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Prediction
            Means, variances, quantiles and densities, one for each row.
        """
        mean = self._latent_mean(X)
        ratio = 1.0 if self.separation_ is None else self.separation_.variance_ratio
        latent = Prediction(mean, self.calibration_(self.auditor_.predict_dist(X).latent.var) * ratio)
        return latent if self._scale is None else TransformedPrediction(latent, self._scale)

    def audit(self, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
        """Judge which labels are wrong, by the auditor.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        false_alarm_rate : float, default=0.05
            Expected share of false alarms among flagged labels.

        Returns
        -------
        Audit
            A verdict on each label.

        Raises
        ------
        ValueError
            If the model was fitted to too few rows to judge labels.
        """
        check_is_fitted(self, self._fitted_attribute)
        verdict: Audit = self.auditor_.audit(X, y, false_alarm_rate)
        return verdict

    @property
    def _fills_gaps(self) -> bool:
        return bool(self.auditor_._fills_gaps)


def _seeded(estimator: Any, seed: int) -> Any:
    """A clone with a seed wherever `random_state` is None, nested estimators included."""
    missing = [
        k for k, v in estimator.get_params().items() if k.split("__")[-1] == "random_state" and v is None
    ]
    return clone(estimator).set_params(**dict.fromkeys(missing, seed))
