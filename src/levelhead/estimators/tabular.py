"""A regressor for raw frames, whose columns skrub converts to numbers."""

import warnings
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import check_is_fitted, validate_data

from levelhead._extras import needed
from levelhead.audits import Audit
from levelhead.estimators._base import FittedRegressor
from levelhead.estimators._out_of_fold import fit_parameters
from levelhead.estimators._types import Constraints, Weights
from levelhead.metrics import predict_dist
from levelhead.prediction import Prediction
from levelhead.tables.encoding import frames


class TabularRegressor(FittedRegressor, BaseEstimator):  # type: ignore[misc]
    """A pipeline of skrub's table vectorizer and a regressor, for raw tables.

    It takes pandas and polars frames, pyarrow tables, arrays and lists. Categories become indicator columns, or a few
    numeric columns if there are 40 or more of them. Dates become numeric columns (year, month, …). Text that contains
    numbers or dates is converted. Missing numbers are replaced by the median, with an indicator column. Categories
    that were not seen in `fit` raise no error in `predict`. Needs the extra `tables`.

    The steps are those of `pipeline_`, named "table", "missing" and "regressor"; `model[-1]` is the fitted regressor.

    Parameters
    ----------
    regressor : estimator
        A regressor. It is cloned, not changed.

    Attributes
    ----------
    pipeline_ : Pipeline
        The fitted steps.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows, if the regressor has them.
    contamination_ : float
        Share of wrong labels, by the regressor.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X was a frame with string column names.

    Examples
    --------
    >>> import pandas as pd
    >>> from levelhead import GCPRegressor, TabularRegressor
    >>> flats = pd.DataFrame({"area": [50, 70, None, 40] * 10, "heating": ["gas", "oil", "gas", None] * 10})
    >>> model = TabularRegressor(GCPRegressor(max_iter=50, random_state=0))
    >>> model.fit(flats, [500.0, 600.0, 550.0, 450.0] * 10).predict_interval(flats.head(2)).lower.shape
    (2,)
    """

    _fitted_attribute = "pipeline_"
    pipeline_: Pipeline
    _parameter_constraints: ClassVar[Constraints] = {"regressor": [HasMethods(["fit", "predict"])]}

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def get_metadata_routing(self) -> Any:
        """Return the routing of the steps.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            The router.
        """
        return self._unfitted(self.regressor).get_metadata_routing()

    def fit(self, X: Any, y: ArrayLike, sample_weight: Weights = None, **parameters: Any) -> Self:
        """Fit the steps.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Inputs: numbers, categories, dates and text. Cells may be missing.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0, for the regressor.
        **parameters : object
            More arguments of the regressor's `fit`, such as `groups`; the prefix `regressor__` is allowed.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        pipeline = self._unfitted(clone(self.regressor))
        if y is None:
            raise ValueError("TabularRegressor requires y to be passed, but the target y is None")
        table = self._frame(X, reset=True)
        given = {name.removeprefix("regressor__"): value for name, value in parameters.items()}
        given |= {} if sample_weight is None else {"sample_weight": sample_weight}
        routed = given if _routing_enabled() else fit_parameters(pipeline, **given)
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "The matrix shape is", UserWarning
            )  # a short text has fewer parts
            self.pipeline_ = pipeline.fit(table, y, **routed)
        return self

    @staticmethod
    def _unfitted(regressor: Any) -> Pipeline:
        skrub = needed("skrub", "tabular_pipeline", "tables")
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        table = skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))
        return Pipeline([("table", table), ("missing", fill), ("regressor", regressor)])

    def _frame(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is, and anything else as an array; names and number of the columns are checked."""
        X = frames.collected(X)
        if frames.library(X) == "pyarrow":
            X = X.to_pandas()
        if frames.library(X) is None:
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return validate_data(self, X, reset=reset, skip_check_array=True)

    # ------------------------------------------------------------------ the steps

    @property
    def _current(self) -> Pipeline:
        return self.pipeline_ if hasattr(self, "pipeline_") else self._unfitted(self.regressor)

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """Names and parts, fitted after `fit`."""
        steps: list[tuple[str, Any]] = self._current.steps
        return steps

    @property
    def named_steps(self) -> Any:
        """The parts by their names, fitted after `fit`."""
        return self._current.named_steps

    def __getitem__(self, place: Any) -> Any:
        """A step by its name or number, or a pipeline of several."""
        return self._current[place]

    def __len__(self) -> int:
        return len(self.steps)

    def _ready(self, X: Any) -> Any:
        """The inputs of the regressor."""
        check_is_fitted(self, self._fitted_attribute)
        return self.pipeline_[:-1].transform(self._frame(X, reset=False))

    # ------------------------------------------------------------------ what the regressor can do

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the means of the clean labels.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two
            Means; with `return_std=True`, means and standard deviations.
        """
        ready = self._ready(X)
        if not return_std:
            return self.pipeline_[-1].predict(ready)
        prediction = predict_dist(self.pipeline_[-1], ready)
        return prediction.mean, prediction.std

    def predict_dist(self, X: Any) -> Prediction:
        """Predict the distribution of the clean label of every row.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Prediction
            Means, variances, quantiles and densities, one for each row.
        """
        ready = self._ready(X)
        return predict_dist(self.pipeline_[-1], ready)

    def score(self, X: Any, y: ArrayLike, sample_weight: Weights = None) -> float:
        """Score the predictions by the regressor's own score, robust R² for ours.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0.

        Returns
        -------
        float
            The score; greater is better.
        """
        ready = self._ready(X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.pipeline_[-1].score(ready, y, **weights))

    def audit(self, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
        """Judge which labels are wrong; rows with missing cells are judged with a larger variance.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
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
        TypeError
            If the regressor cannot audit.
        """
        ready = self._ready(X)
        regressor = self.pipeline_[-1]
        if not hasattr(regressor, "audit"):
            raise TypeError(f"{type(regressor).__name__} cannot audit; use a levelhead estimator")
        verdict: Audit = regressor.audit(ready, y, false_alarm_rate)
        return verdict.allowing_for(frames.missing_cells(X))

    @property
    def oof_prediction_(self) -> Prediction:
        """Out-of-fold predictions of the training rows."""
        prediction: Prediction = self._of_regressor("oof_prediction_")
        return prediction

    @property
    def contamination_(self) -> float:
        """Share of wrong labels among the training labels, by the regressor."""
        return float(self._of_regressor("contamination_"))

    @property
    def separation_(self) -> Any:  # type: ignore[override]
        """The estimate behind `contamination_`."""
        return self._of_regressor("separation_")

    def _of_regressor(self, name: str) -> Any:
        check_is_fitted(self, self._fitted_attribute)
        return getattr(self.pipeline_[-1], name)


def tabular_pipeline(estimator: BaseEstimator) -> TabularRegressor:
    """Pipeline of skrub's table vectorizer and a regressor, for raw pandas or polars frames; see `TabularRegressor`.

    Needs the extra `tables`. The pipeline can be saved by `levelhead.save`.

    Parameters
    ----------
    estimator : estimator
        A regressor. It is not changed; a clone of it becomes the last step of the pipeline, named "regressor".

    Returns
    -------
    TabularRegressor
        An unfitted pipeline with the methods of our estimators.

    Raises
    ------
    TypeError
        If `estimator` is not a regressor.
    ImportError
        If skrub is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> from levelhead import GCPRegressor, tabular_pipeline
    >>> flats = pd.DataFrame({"area": [50, 70, None, 40] * 10, "heating": ["gas", "oil", "gas", None] * 10})
    >>> model = tabular_pipeline(GCPRegressor(max_iter=50, random_state=0))
    >>> rent = model.fit(flats, [500.0, 600.0, 550.0, 450.0] * 10).predict_dist(flats.head(2))
    >>> rent.mean.shape
    (2,)
    """
    if not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise TypeError(f"tabular_pipeline takes a regressor, such as GCPRegressor(), not {estimator!r}")
    needed("skrub", "tabular_pipeline", "tables")
    return TabularRegressor(estimator)
