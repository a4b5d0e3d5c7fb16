"""Any scikit-learn regressor, fitted to audited labels."""

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from levelhead import metrics
from levelhead.audits.separation import estimate_contamination
from levelhead.estimators._inputs import explained
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.prediction import Interval, Prediction
from levelhead.prediction.calibration import IDENTITY, calibrate

_FOLDS = 5


class CleanedRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Audit the labels, then fit any regressor without the wrong ones, and give it a robust variance.

    The mean is the regressor's. The variance starts from the auditor's, which knows where labels scatter, and
    is calibrated on out-of-fold residuals of the regressor itself.

    Parameters
    ----------
    regressor : any scikit-learn regressor (a forest, LightGBM, …); it is cloned.
    auditor : the estimator that judges the labels; by default `GCPRegressor(n_members=5)`.
    suspects : "weight" gives every label its `label_quality` as weight (where the regressor takes weights),
        "drop" leaves out the labels called wrong.
    false_alarm_rate : share of clean labels accepted among those called wrong; matters for "drop".
    random_state : seed of the folds, and of the regressor and the auditor where they have none.

    Attributes
    ----------
    regressor_, auditor_ : the fitted ones.
    audit_ : the `Audit` of the training labels; None if there were fewer than 30 different rows.
    contamination_ : estimated share of wrong labels.

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

    def __init__(
        self, regressor, *, auditor=None, suspects="weight", false_alarm_rate=0.05, random_state=None
    ):
        self.regressor = regressor
        self.auditor = auditor
        self.suspects = suspects
        self.false_alarm_rate = false_alarm_rate
        self.random_state = random_state

    def fit(self, X, y):
        """Audit, fit, calibrate."""
        if self.suspects not in ("weight", "drop"):
            raise ValueError(f"suspects is {self.suspects!r}; choose 'weight' or 'drop'")
        with explained(X, y):
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        auditor = GCPRegressor(n_members=5) if self.auditor is None else self.auditor
        self.auditor_ = _seeded(auditor, seed).fit(X, y)
        weighs = self.suspects == "weight" and has_fit_parameter(self.regressor, "sample_weight")
        if not hasattr(self.auditor_, "oof_prediction_"):  # too few rows to tell wrong labels from clean ones
            self.audit_, self.calibration_, self.separation_ = None, IDENTITY, None
            self.regressor_ = self._fitted(X, y, np.ones(len(y)), weighs, seed)
            return self
        self.audit_ = self.auditor_.audit(X, y, self.false_alarm_rate)
        weight = self.audit_.label_quality if weighs else (~self.audit_.is_label_issue).astype(np.float64)
        self.regressor_ = self._fitted(X, y, weight, weighs, seed)
        self._learn_variance(X, y, weight, weighs, seed)
        return self

    @property
    def contamination_(self) -> float:
        """Estimated share of wrong labels; NaN if there were too few rows to tell."""
        check_is_fitted(self, "regressor_")
        return float("nan") if self.audit_ is None else self.audit_.contamination

    def _fitted(self, X, y, weight, weighs: bool, seed: int):
        regressor = _seeded(self.regressor, seed)
        if weighs:
            return regressor.fit(X, y, sample_weight=weight)
        return regressor.fit(X[weight > 0], y[weight > 0])

    def _learn_variance(self, X, y, weight, weighs: bool, seed: int) -> None:
        """How the regressor's own unseen residuals grow with the auditor's variance."""
        unseen = np.empty(len(y))
        for train, test in KFold(_FOLDS, shuffle=True, random_state=seed).split(X):
            unseen[test] = self._fitted(X[train], y[train], weight[train], weighs, seed).predict(X[test])
        variance = self.auditor_.oof_prediction_.var
        self.calibration_, self.separation_ = IDENTITY, None
        if np.median(np.abs(y - unseen)) == 0:  # met exactly: there is no noise to measure
            return
        self.calibration_ = calibrate(y - unseen, variance)
        honest = self.calibration_(variance)
        self.separation_ = estimate_contamination(y - unseen, honest, core="student")

    def predict(self, X, return_std=False):
        """Means of the clean labels; with `return_std`, a pair of means and standard deviations."""
        if not return_std:
            check_is_fitted(self, "regressor_")
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
            return self.regressor_.predict(X)
        prediction = self.predict_dist(X)
        return prediction.mean, prediction.std

    def predict_dist(self, X) -> Prediction:
        """The distribution of the clean label of every row."""
        mean = self.predict(X)
        ratio = 1.0 if self.separation_ is None else self.separation_.variance_ratio
        return Prediction(mean, self.calibration_(self.auditor_.predict_dist(X).var) * ratio)

    def predict_interval(self, X, coverage=0.9) -> Interval:
        """Central intervals that hold the clean label with the given probability."""
        return self.predict_dist(X).interval(coverage)

    def score(self, X, y, sample_weight=None):
        """`metrics.robust_r2` of the prediction."""
        return metrics.robust_r2(y, self.predict(X), sample_weight=sample_weight)


def _seeded(estimator, seed: int):
    """A clone whose missing seeds, also of its parts, are filled in."""
    missing = [
        k for k, v in estimator.get_params().items() if k.split("__")[-1] == "random_state" and v is None
    ]
    return clone(estimator).set_params(**dict.fromkeys(missing, seed))
