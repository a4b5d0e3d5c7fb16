"""The attributes that a fitted levelhead estimator needs to predict: all are checked, so that it need not be run."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from levelhead.audits import Audit
from levelhead.audits.separation import ContaminationEstimate
from levelhead.engine import Network
from levelhead.estimators import (
    AutoRegressor,
    BaselineRegressor,
    BayesianBetaRegressor,
    CleanedRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    MultiTargetRegressor,
    TabularRegressor,
)
from levelhead.estimators._base import AuditedRegressor
from levelhead.estimators._preparation import LARGEST_LABEL, SPREADS, Scale
from levelhead.estimators.automatic import Comparison
from levelhead.estimators.combination import Combination
from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.estimators.networks.baselines import BASELINES
from levelhead.estimators.networks.embeddings import Embedding
from levelhead.estimators.repeats import Repeats
from levelhead.estimators.trees.forest import MOST_FEATURES, Forest
from levelhead.estimators.trees.growing import Shape
from levelhead.persistence._checks import (
    Check,
    array,
    each,
    is_number,
    is_text,
    number,
    of,
    one_of,
    optional,
    whole,
)
from levelhead.persistence._records import is_scale
from levelhead.prediction import Prediction, TransformedPrediction
from levelhead.prediction.calibration import Calibration
from levelhead.prediction.lattice import Lattice
from levelhead.tables import ColumnFormat, TableFormats
from levelhead.tables.encoding.columns import Columns
from levelhead.tables.encoding.features import STATISTICS
from levelhead.tables.encoding.inputs import Encoding
from levelhead.tables.encoding.levels import FIRST

_MOST_SAMPLED = 2**28  # bytes of weights that a variational network may draw for a prediction

_VARIANCE: Mapping[str, Check] = MappingProxyType(
    {"calibration_": of(Calibration), "separation_": optional(of(ContaminationEstimate))}
)
_PREDICTING: Mapping[str, Check] = MappingProxyType(
    {
        **_VARIANCE,
        "n_features_in_": whole(1, MOST_FEATURES + 1),
        "target_scale_": lambda scale: (
            type(scale) is Scale
            and number(-LARGEST_LABEL, LARGEST_LABEL)(scale.center)
            and number(*SPREADS)(scale.spread)
        ),
        "disagreement_": number(0, 0.9),
        "_stream": whole(0, 2**32),
    }
)

# For each kind of estimator: the attribute that a fitted one has, and what it then needs.
_NEEDED: Mapping[type, tuple[str, Mapping[str, Check]]] = MappingProxyType(
    {
        NetworkRegressor: (
            "networks_",
            {**_PREDICTING, "networks_": each(list, of(Network), 1), "input_scale_": of(Scale, Embedding)},
        ),
        GCPRegressor: ("networks_", {"n_outputs": whole(3, 5), "variance": one_of("prognostic", "student")}),
        BaselineRegressor: (
            "networks_",
            {"loss": one_of(*BASELINES), "loss_parameter": optional(number(0, 1e140))},
        ),
        BayesianBetaRegressor: (
            "networks_",
            {
                "noise_std": number(1e-140, 1e140),
                "n_posterior": lambda n: isinstance(n, (int, np.integer)) and int(n) >= 1,
            },
        ),
        GCPBoostingRegressor: (
            "mean_forests_",
            {
                **_PREDICTING,
                "mean_forests_": each(list, of(Forest), 1),
                "scale_forests_": each(list, of(Forest)),
                "shape_": of(Shape),
                "categories_": of(dict),
            },
        ),
        AutoRegressor: (
            "estimators_",
            {
                "estimators_": lambda models: _are_fitted(models, GCPRegressor, GCPBoostingRegressor),
                "n_features_in_": whole(1),
                "separation_": _VARIANCE["separation_"],
                "comparison_": optional(of(Comparison)),
                "chosen_": one_of("network", "trees", "both"),
                "reason_": is_text,
            },
        ),
        MultiTargetRegressor: (
            "estimators_",
            {
                "estimators_": each(list, lambda model: _predicts(model), 1),
                "targets_": each(list, is_text, 1),
                "n_features_in_": whole(1),
                "_flat": of(bool),
            },
        ),
        TabularRegressor: (
            "pipeline_",
            {
                "pipeline_": lambda steps: type(steps) is Pipeline and len(steps) > 1 and _predicts(steps),
                "n_features_in_": whole(1),
            },
        ),
        TableFormats: (
            "columns_",
            {
                "columns_": lambda columns: _are_formats(columns),
                "target_": lambda columns: _are_formats(columns) and len(columns) <= 1,
                "remarks_": each(list, is_text),
                "n_features_in_": whole(),
            },
        ),
        CleanedRegressor: (
            "regressor_",
            {
                **_VARIANCE,
                "auditor_": lambda model: _are_fitted([model], AuditedRegressor, AutoRegressor),
                "regressor_": lambda model: _predicts(model),
                "audit_": optional(of(Audit)),
                "n_features_in_": whole(1),
            },
        ),
    }
)
# Attributes that only some have, of any kind.
_POSSIBLE: Mapping[str, Check] = MappingProxyType(
    {
        "combination_": optional(of(Combination)),
        "judge_": lambda model: _are_fitted([model], GCPBoostingRegressor, GCPRegressor, AutoRegressor),
        "repeats_": optional(of(Repeats)),
        "lattice_": optional(of(Lattice)),
        "oof_prediction_": lambda value: type(value) in (Prediction, TransformedPrediction),
        "target_transform_": optional(is_scale),
        "target_transform_reason_": is_text,
        "_row_keys": array(np.uint64),
        "_unsaved_rows": whole(1),
        "n_iter_": whole(),
        "loss_curve_": each(list, is_number),
        "columns_": optional(of(Columns)),
        "_only_column": optional(whole()),
        "encoding_": optional(of(Encoding)),
        "feature_importances_": array(np.float64),
    }
)


def problem_with(model: Any) -> str | None:
    """What is wrong with a levelhead estimator; None for a sound or unfitted one, and for all others."""
    held = vars(model)
    for cls, (fitted_part, needed) in _NEEDED.items():
        if not isinstance(model, cls) or fitted_part not in held:
            continue
        for name, check in needed.items():
            if name not in held or not check(held[name]):
                return f"{name} is missing or not valid"
        for name, check in _POSSIBLE.items():
            if name in held and name not in needed and not check(held[name]):
                return f"{name} is not valid"
        if not all(agree(model) for kind, agree in _AGREE.items() if isinstance(model, kind)):
            return "its parts contradict each other"
    return None


def is_fitted(model: Any) -> bool:
    """Whether a levelhead model can predict."""
    return any(isinstance(model, cls) and part in vars(model) for cls, (part, _) in _NEEDED.items())


def _are_fitted(models: Any, *kinds: type) -> bool:
    few = type(models) is list and 1 <= len(models) <= 4
    return few and all(isinstance(model, kinds) and is_fitted(model) for model in models)


def _predicts(model: Any) -> bool:
    """Whether a model of any library is fitted and predicts one target."""
    if type(model) is Pipeline:
        return _predicts(model.steps[-1][1])
    if isinstance(model, MultiTargetRegressor) or not hasattr(model, "predict"):
        return False
    if isinstance(model, tuple(_NEEDED)):
        return is_fitted(model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _are_formats(columns: Any) -> bool:
    return type(columns) is dict and all(
        type(name) is str and type(form) is ColumnFormat for name, form in columns.items()
    )


def _rows_agree(model: Any) -> bool:
    """Out-of-fold predictions have a key for every row."""
    return not hasattr(model, "oof_prediction_") or (
        hasattr(model, "_row_keys") and len(model._row_keys) == len(model.oof_prediction_) > 0
    )


def _judge_agrees(model: Any) -> bool:
    """The judge of a large table is of the same kind, takes the same columns, and has no judge itself."""
    judge = getattr(model, "judge_", None)
    return judge is None or (
        type(judge) is type(model) and _same_features(model, judge) and not hasattr(judge, "judge_")
    )


def _same_features(*models: Any) -> bool:
    """All take the same columns, by number and name."""
    return len({(model.n_features_in_, *getattr(model, "feature_names_in_", ())) for model in models}) == 1


def _scale_agrees(model: Any) -> bool:
    """A scale of the labels comes with the reason for it, which audits state."""
    return getattr(model, "target_transform_", None) is None or hasattr(model, "target_transform_reason_")


def _parts_agree(model: Any) -> bool:
    """The models of an `AutoRegressor` take its columns, and have predicted the same rows."""
    n_rows = {len(part._row_keys) for part in model.estimators_ if hasattr(part, "oof_prediction_")}
    weights = None if model._combination is None else model._combination.weights
    return (
        _same_features(model, *model.estimators_)
        and len(n_rows) <= 1
        and (weights is None or len(weights) == len(model.estimators_))
    )


def _targets_agree(model: Any) -> bool:
    """Each target has a name and a model, and all models take the same number of columns."""
    n = len(model.targets_)
    widths = {getattr(part, "n_features_in_", model.n_features_in_) for part in model.estimators_}
    return n == len(model.estimators_) and (n == 1 or not model._flat) and widths == {model.n_features_in_}


def _columns_agree(model: Any) -> bool:
    """Statistics of levels have an entry for every code that a cell can get."""
    columns, encoding = getattr(model, "columns_", None), getattr(model, "encoding_", None)
    n, only = model.n_features_in_, getattr(model, "_only_column", None)
    if len(columns or range(n)) != n or (columns is not None and encoding is None):
        return False
    if only is not None and (columns is None or only >= n):
        return False
    if encoding is None:
        return True
    n_levels = {k: len(levels) for k, levels in ({} if columns is None else columns.categories).items()}
    used = [(part.column, len(part.values)) for part in encoding.features if part.kind in STATISTICS]
    if encoding.offset is not None:
        used.append((encoding.offset.column, len(encoding.offset.location)))
    return bool(encoding.n_columns == n) and all(n_levels.get(k, -FIRST) + FIRST == size for k, size in used)


def _n_inputs(model: Any) -> int:
    """Number of inputs of the networks or trees."""
    encoding = getattr(model, "encoding_", None)
    return int(model.n_features_in_ if encoding is None else len(encoding))


def _networks_agree(model: Any) -> bool:
    first = model.networks_[0].architecture
    scale = model.input_scale_
    n_inputs = scale.n_inputs if isinstance(scale, Embedding) else _n_inputs(model)
    inputs = np.shape(scale.center) == (_n_inputs(model),) and first.n_features == n_inputs
    same = all(network.architecture == first for network in model.networks_)
    return inputs and same and first.n_outputs == len(model._robust_outputs)


def _samples_agree(model: Any) -> bool:
    """A small file must not need more samples of its weights than memory can hold."""
    n_weights = sum(len(network.weights) for network in model.networks_)
    variational = all(network.rho is not None for network in model.networks_)
    return variational and 4 * n_weights * int(model.n_posterior) <= _MOST_SAMPLED


def _trees_agree(model: Any) -> bool:
    n_features = model.n_features_in_
    forests = [*model.mean_forests_, *model.scale_forests_]
    place = whole(0, n_features)
    columns = all(place(k) and type(known) is list for k, known in model.categories_.items())
    return columns and all(forest.n_features == _n_inputs(model) for forest in forests) and _hashable(model)


def _hashable(model: Any) -> bool:
    """Categories are looked up by their hash, which must distinguish them."""
    try:
        return all(2 * len({*map(hash, known)}) >= len(known) for known in model.categories_.values())
    except TypeError:
        return False


_AGREE: Mapping[type, Callable[[Any], bool]] = MappingProxyType(
    {
        AuditedRegressor: lambda model: (
            _rows_agree(model) and _columns_agree(model) and _scale_agrees(model) and _judge_agrees(model)
        ),
        NetworkRegressor: _networks_agree,
        BayesianBetaRegressor: _samples_agree,
        GCPBoostingRegressor: _trees_agree,
        AutoRegressor: lambda model: _parts_agree(model) and _scale_agrees(model) and _judge_agrees(model),
        MultiTargetRegressor: _targets_agree,
        TableFormats: lambda formats: list(formats.columns_) == list(formats.feature_names_in_),
        CleanedRegressor: lambda model: model.auditor_.n_features_in_ == model.n_features_in_,
    }
)
