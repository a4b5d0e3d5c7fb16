"""Checks of instances that were rebuilt from a file, before anything relies on them.

Three kinds: settings, by scikit-learn's own rules; sizes and indices that compiled code would follow without
looking, so that a crafted file could make it write beyond its memory; and sizes from which memory would be taken.
"""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn import decomposition, feature_selection, impute, kernel_approximation, linear_model, preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from levelhead.estimators._forests import MOST_FEATURES
from levelhead.persistence import _estimators
from levelhead.persistence._archive import ModelFileError

_MOST_BITS = 60  # so many features of such a degree have 2**60 combinations
# No groups and few repetitions: patterns that take for ever on some texts have more of either.
_TOKEN = re.compile(r"(?:\(\?u\))?(?:\\[bBwWdDsS][+*]?|\[[^\[\]\\]*\][+*]?|[\w .,:;@#-][+*]?){1,40}")


def check_instance(instance: Any, size: int) -> None:
    """Refuse instances whose attributes cannot be, or contradict each other, in a file of so many bytes."""
    wrong = _estimators.complaint(instance)
    if wrong is not None:
        raise ModelFileError(f"{type(instance).__name__}: {wrong}")
    if isinstance(instance, BaseEstimator):
        _check_settings(instance)
        _check_features(instance)
    for cls, check in _CHECKS.items():
        if isinstance(instance, cls):
            try:
                sound = check(instance, size)
            except Exception:  # whatever does not even have the right types
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
        raise ModelFileError(f"{name}.n_features_in_ is {n!r}; it must be a whole number up to {MOST_FEATURES}")
    names = held.get("feature_names_in_", ())
    if len(names) not in (0, n) or not all(type(feature) is str for feature in names):
        raise ModelFileError(f"{name}.feature_names_in_ does not name the {n} features")
    for cls, axes in _PER_FEATURE.items():
        for attribute, axis in axes.items() if isinstance(estimator, cls) else ():
            value = held.get(attribute)
            if value is not None and not _has_length(value, axis, n):
                raise ModelFileError(f"{name}.{attribute} has not one entry for each of {n} features")


def _has_length(value: Any, axis: int, n: int) -> bool:
    if type(value) is list:
        return len(value) == n
    return type(value) is np.ndarray and -value.ndim <= axis < value.ndim and value.shape[axis] == n


def _one_hot_is_sound(encoder: Any, _: int) -> bool:
    """Every code that a category can get lies within the columns that are there for it."""
    if not hasattr(encoder, "categories_"):
        return True
    n_features = len(encoder.categories_)
    dropped = encoder._drop_idx_after_grouping
    dropped = [None] * n_features if dropped is None else list(dropped)
    grouped = encoder._infrequent_indices if encoder._infrequent_enabled else [None] * n_features
    mapped = encoder._default_to_infrequent_mappings if encoder._infrequent_enabled else [None] * n_features
    lists = [encoder.categories_, encoder._n_features_outs, grouped, mapped]
    if any(type(given) is not list for given in lists) or {*map(len, [*lists, dropped])} != {n_features}:
        return False
    parts = zip(encoder.categories_, dropped, grouped, mapped, encoder._n_features_outs, strict=True)
    return all(_feature_is_sound(*part) for part in parts)


def _feature_is_sound(categories: Any, drop: Any, rare: Any, mapping: Any, n_columns: Any) -> bool:
    if type(categories) is not np.ndarray or categories.ndim != 1 or not _sorted(categories):
        return False
    if (rare is None) != (mapping is None):
        return False
    codes = np.arange(len(categories))
    if rare is not None:
        if type(rare) is not np.ndarray or rare.dtype.kind not in "iu" or not len(rare):
            return False
        usual = np.setdiff1d(codes, rare)
        if len(usual) + len(rare) != len(codes) or len(np.unique(rare)) != len(rare):
            return False
        codes = np.full(len(categories), len(usual))
        codes[usual] = np.arange(len(usual))
        if type(mapping) is not np.ndarray or not np.array_equal(mapping, codes):
            return False
    n_codes = len(np.unique(codes))
    if drop is not None and not (isinstance(drop, (int, np.integer)) and 0 <= drop < n_codes):
        return False
    return type(n_columns) is int and n_columns == n_codes - (drop is not None)


def _sorted(categories: Any) -> bool:
    """Numbers are looked up by bisection, and must ascend, NaN last; text is looked up by name."""
    if categories.dtype.kind not in "biufc":
        return True
    known = categories[~np.isnan(categories)]
    no_gap = not np.isnan(categories[: len(known)]).any()
    return no_gap and len(categories) - len(known) <= 1 and all(a < b for a, b in pairwise(known.tolist()))


def _vocabulary_is_sound(vectorizer: Any, _: int) -> bool:
    """Terms have the numbers 0, 1, 2, …, each once, and are found by a pattern that takes no time."""
    pattern = vectorizer.token_pattern
    if pattern is not None and not (_TOKEN.fullmatch(pattern) and sum(map(pattern.count, "+*")) <= 2):
        return False
    if not hasattr(vectorizer, "vocabulary_"):
        return True
    vocabulary = vectorizer.vocabulary_
    numbers = sorted(vocabulary.values()) if type(vocabulary) is dict else None
    return numbers == list(range(len(vocabulary))) and all(type(term) is str for term in vocabulary)


def _polynomial_is_sound(features: Any, size: int) -> bool:
    """As many columns come out as the degrees give: no more than a file that goes on with them has bytes."""
    if not hasattr(features, "n_output_features_"):
        return True
    low, high = features._min_degree, features._max_degree
    given = (0, features.degree) if isinstance(features.degree, (int, np.integer)) else tuple(features.degree)
    n, room = features.n_features_in_, max(size, 2**12)
    if (low, high) != given or not 0 <= low <= high or max(n, high) > room or min(n, high) > _MOST_BITS:
        return False
    at = {"n_features": n, "interaction_only": features.interaction_only}
    count = features._num_combinations
    columns = count(min_degree=low, max_degree=high, include_bias=features.include_bias, **at)
    full = count(min_degree=0, max_degree=high, include_bias=features.include_bias, **at)
    return features.n_output_features_ == columns and features._n_out_full == full <= room


def _vector(*attributes: str, axis: int = 0) -> Mapping[str, int]:
    return dict.fromkeys(attributes, axis)


_PER_FEATURE: Mapping[Any, Mapping[str, int]] = MappingProxyType(
    {
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
        kernel_approximation.RBFSampler: _vector("random_weights_"),
        TfidfTransformer: _vector("idf_"),
        tuple(
            getattr(linear_model, name)
            for name in (
                "BayesianRidge", "ElasticNet", "HuberRegressor", "Lasso", "LinearRegression",
                "QuantileRegressor", "Ridge", "RidgeCV", "TheilSenRegressor",
            )
        ): _vector("coef_", axis=-1),
    }  # fmt: skip
)
_CHECKS: Mapping[type, Callable[[Any, int], bool]] = MappingProxyType(
    {
        OneHotEncoder: _one_hot_is_sound,
        CountVectorizer: _vocabulary_is_sound,
        PolynomialFeatures: _polynomial_is_sound,
    }
)
