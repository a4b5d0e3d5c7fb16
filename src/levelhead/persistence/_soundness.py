"""Checks of instances that were rebuilt from a file, before anything relies on them.

Settings are checked by scikit-learn's own rules, arrays by the number of features, steps by their form; indices
that compiled code does not check are checked in `_indices.py`, and levelhead's estimators in `_estimators.py`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn import decomposition, feature_selection, impute, kernel_approximation, preprocessing
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model._base import LinearModel
from sklearn.pipeline import FeatureUnion, Pipeline

from levelhead.estimators._base import AuditedRegressor
from levelhead.estimators.trees.forest import MOST_FEATURES
from levelhead.persistence import _estimators, _indices
from levelhead.persistence._archive import ModelFileError


def check_instance(instance: Any, size: int) -> None:
    """Refuse instances whose attributes are impossible, or contradict each other, in a file of `size` bytes."""
    wrong = _estimators.problem_with(instance)
    if wrong is not None:
        raise ModelFileError(f"{type(instance).__name__}: {wrong}")
    if isinstance(instance, BaseEstimator):
        _check_settings(instance)
        _check_features(instance)
    for cls, check in _CHECKS.items():
        if isinstance(instance, cls):
            try:
                sound = check(instance, size)
            except Exception:  # attributes of the wrong types
                sound = False
            if not sound:
                raise ModelFileError(f"the parts of {type(instance).__name__} contradict each other")


def _check_settings(estimator: Any) -> None:
    if hasattr(type(estimator), "_parameter_constraints"):
        try:
            estimator._validate_params()
        except ValueError as error:
            raise ModelFileError(str(error)) from error


def _check_features(estimator: Any) -> None:
    """The number of features, their names, and arrays with one entry for each of them."""
    held, name = vars(estimator), type(estimator).__name__
    n = held.get("n_features_in_")
    if n is None:
        return
    if type(n) is not int or not 0 <= n <= MOST_FEATURES:
        raise ModelFileError(
            f"{name}.n_features_in_ is {n!r}; it must be a whole number up to {MOST_FEATURES}"
        )
    if "feature_names_in_" in held and not _names_are_sound(held["feature_names_in_"], n, type(estimator)):
        raise ModelFileError(f"{name}.feature_names_in_ does not name the {n} features")
    for cls, axes in _PER_FEATURE.items():
        for attribute, axis in axes.items() if isinstance(estimator, cls) else ():
            value = held.get(attribute)
            if value is not None and not _has_length(value, axis, n):
                raise ModelFileError(f"{name}.{attribute} does not have one entry for each of {n} features")


def _names_are_sound(names: Any, n: int, cls: type) -> bool:
    """An array of texts, one for each feature; skrub's classes have lists of any names."""
    if cls.__module__.partition(".")[0] == "skrub":
        return type(names) is list and len(names) in (0, n)
    is_array = type(names) is np.ndarray and names.shape in ((0,), (n,))
    return is_array and all(type(name) is str for name in names)


def _has_length(value: Any, axis: int, n: int) -> bool:
    if type(value) is list:
        return len(value) == n
    if type(value) is not np.ndarray or value.ndim != (2 if axis else 1):
        return axis == -1 and type(value) is np.ndarray and value.shape == (n,)
    return bool(value.shape[axis] == n)


def _steps_are_sound(steps: Any, entries: int = 2) -> bool:
    """Tuples of a name and a part, and with three entries also columns."""
    names = [step[0] for step in steps if type(step) in (tuple, list) and len(step) == entries]
    parts = [step[1] for step in steps]
    return (
        type(steps) is list
        and len({*names}) == len(steps)
        and all(type(name) is str for name in names)
        and all(part in (None, "drop", "passthrough") or isinstance(part, BaseEstimator) for part in parts)
    )


def _columns_are_sound(model: Any, _: int) -> bool:
    """Each part gets columns that there are, and those that it names."""
    if not _steps_are_sound(model.transformers, 3) or not hasattr(model, "transformers_"):
        return _steps_are_sound(model.transformers, 3)
    there, names = range(model.n_features_in_), list(getattr(model, "feature_names_in_", []))
    places = model._transformer_to_input_indices
    return _steps_are_sound(model.transformers_, 3) and all(
        all(type(place) is int and place in there for place in places[part])
        and (not _are_names(columns) or [names.index(name) for name in columns] == places[part])
        for part, _, columns in model.transformers_
        if part in places
    )


def _are_names(columns: Any) -> bool:
    return type(columns) is list and all(type(name) is str for name in columns)


def _target_is_sound(model: Any, _: int) -> bool:
    """What is fitted predicts, and what is predicted can be turned back."""
    return not any(name.endswith("_") for name in vars(model)) or (
        hasattr(model.regressor_, "predict")
        and hasattr(model.transformer_, "inverse_transform")
        and model._training_dim in (1, 2)
    )


def _are_elementwise(model: Any, _: int) -> bool:
    """Functions of numpy alone: others on the list take settings of their own, a number of processes among them."""
    return all(
        function is None or isinstance(function, np.ufunc) for function in (model.func, model.inverse_func)
    )


def _is_finite(model: Any, _: int) -> bool:
    """Coefficients are numbers, so that predictions are."""
    return bool(np.isfinite(getattr(model, "coef_", 0.0)).all())


def _vector(*attributes: str, axis: int = 0) -> Mapping[str, int]:
    return dict.fromkeys(attributes, axis)


_PER_FEATURE: Mapping[Any, Mapping[str, int]] = MappingProxyType(
    {
        AuditedRegressor: _vector("feature_importances_"),
        preprocessing.StandardScaler: _vector("mean_", "var_", "scale_"),
        preprocessing.RobustScaler: _vector("center_", "scale_"),
        preprocessing.MinMaxScaler: _vector("min_", "scale_", "data_min_", "data_max_", "data_range_"),
        preprocessing.MaxAbsScaler: _vector("scale_", "max_abs_"),
        preprocessing.QuantileTransformer: _vector("quantiles_", axis=1),
        preprocessing.PowerTransformer: _vector("lambdas_"),
        preprocessing.KBinsDiscretizer: _vector("n_bins_", "bin_edges_"),
        (preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder): _vector("categories_"),
        preprocessing.TargetEncoder: _vector("categories_"),
        (decomposition.PCA, decomposition.TruncatedSVD): _vector("components_", axis=1),
        (feature_selection.SelectKBest, feature_selection.SelectPercentile): _vector("scores_"),
        feature_selection.VarianceThreshold: _vector("variances_"),
        impute.SimpleImputer: _vector("statistics_"),
        impute.KNNImputer: _vector("_fit_X", "_mask_fit_X", axis=1),
        kernel_approximation.Nystroem: _vector("components_", axis=1),
        kernel_approximation.RBFSampler: _vector("random_weights_", axis=-2),
        TfidfTransformer: _vector("idf_"),
        LinearModel: _vector("coef_", axis=-1),
    }
)
_CHECKS: Mapping[type, Callable[[Any, int], bool]] = MappingProxyType(
    {
        Pipeline: lambda pipeline, _: len(pipeline.steps) > 0 and _steps_are_sound(pipeline.steps),
        FeatureUnion: lambda union, _: _steps_are_sound(union.transformer_list),
        ColumnTransformer: _columns_are_sound,
        TransformedTargetRegressor: lambda model, size: (
            _target_is_sound(model, size) and _are_elementwise(model, size)
        ),
        preprocessing.FunctionTransformer: _are_elementwise,
        preprocessing.OneHotEncoder: _indices.one_hot_is_sound,
        preprocessing.OrdinalEncoder: _indices.categories_are_sound,
        preprocessing.TargetEncoder: _indices.categories_are_sound,
        preprocessing.PolynomialFeatures: _indices.polynomial_is_sound,
        CountVectorizer: _indices.vocabulary_is_sound,
        LinearModel: _is_finite,
    }
)
