"""What the fields of records may hold, one table per record, and which fields must agree.

A record's constructor checks some of that again; but constructors do not expect an attack, and a file may put
anything into any field.
"""

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn import preprocessing

from levelhead.audits import Audit
from levelhead.audits.judged import JudgedScale
from levelhead.audits.separation import ContaminationEstimate
from levelhead.engine import Architecture, Network, OptimizerState
from levelhead.engine.descriptions import ACTIVATIONS
from levelhead.estimators._preparation import Scale
from levelhead.estimators.automatic import Comparison
from levelhead.estimators.combination import Combination
from levelhead.estimators.networks.embeddings import Embedding
from levelhead.estimators.repeats import Repeats
from levelhead.estimators.trees.forest import Forest
from levelhead.estimators.trees.growing import Shape
from levelhead.persistence._allowed import is_zone
from levelhead.persistence._archive import ModelFileError
from levelhead.persistence._checks import (
    Check,
    array,
    each,
    is_flag,
    is_number,
    is_text,
    number,
    of,
    one_of,
    optional,
    whole,
)
from levelhead.prediction import (
    LogTransform,
    MonotoneTransform,
    Prediction,
    TransformedPrediction,
    YeoJohnsonTransform,
)
from levelhead.prediction.calibration import Calibration
from levelhead.prediction.conformal import ResidualShape
from levelhead.prediction.lattice import COVERAGES, MOST_VALUES, Lattice
from levelhead.tables import ColumnFormat
from levelhead.tables.dates import FORMATS as DATE_FORMATS
from levelhead.tables.encoding.columns import KINDS, Column, Columns
from levelhead.tables.encoding.features import FEATURES, LEAST_VALUES, Feature
from levelhead.tables.encoding.inputs import Encoding, Offset

_TINY, _HUGE = 1e-300, 1e300
_TRIED = np.array([0.5, 1.0, 2.0])
# Scikit-learn's transformers that are monotone, invertible and do no harm with any attributes.
_MONOTONE = (
    preprocessing.FunctionTransformer,
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.PowerTransformer,
    preprocessing.QuantileTransformer,
    preprocessing.RobustScaler,
    preprocessing.StandardScaler,
)

_floats, _positive = array(np.float64), number(_TINY, _HUGE)
_members: Check = lambda value: array(np.float64, 1)(value) or array(np.float64, 2)(value)
_per_row: Check = lambda value: type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1
_positives: Check = lambda value: _floats(value) and bool((value > 0).all())

is_scale: Check = lambda value: type(value) in (LogTransform, MonotoneTransform, YeoJohnsonTransform)
_level: Check = lambda value: type(value) in (str, bool, int, float) and value == value
_places: Check = lambda value: _floats(value) and len(value) >= LEAST_VALUES["location"]
_pair: Check = lambda value: each(tuple, number(0, 1))(value) and len(value) == 2

FIELDS: Mapping[type, Mapping[str, Check]] = MappingProxyType(
    {
        Architecture: {
            "n_features": whole(1),
            "hidden": each(tuple, whole(1)),
            "n_outputs": whole(1),
            "shared_trunk": is_flag,
            "activation": one_of(*ACTIVATIONS),
        },
        OptimizerState: {"first": array(np.float32), "second": array(np.float32), "steps": whole()},
        Network: {
            "architecture": of(Architecture),
            "weights": array(np.float32),
            "rho": optional(array(np.float32)),
            "state": optional(of(OptimizerState)),
            "epochs": whole(),
            "loss_curve": _per_row,
            "score_curve": _per_row,
            "best_epoch": whole(),
            "stopped": is_flag,
        },
        Shape: {"offset": number(-100, 100), "slope": number(-100, 100), "log_alpha": number(-100, 100)},
        Forest: {"n_features": whole(1), "text": is_text},
        ColumnFormat: {
            "kind": one_of("number", "date", "text", "other"),
            "decimal": one_of(".", ","),
            "grouping": one_of("", ",", ".", "'", " "),
            "unit": is_text,
            "bare": is_flag,
            "date": optional(one_of(*DATE_FORMATS)),
            "codes": each(tuple, number()),
            "marks_known": is_flag,
        },
        Scale: {
            "center": lambda value: number()(value) or _floats(value),
            "spread": lambda value: _positive(value) or (_floats(value) and bool((value > 0).all())),
        },
        Combination: {
            "weights": lambda value: _floats(value) and bool((value >= 0).all()),
            "calibration": of(Calibration),
            "shape": of(ResidualShape),
            "lowest": number(),
            "highest": number(),
            "widest": lambda value: is_number(value) and value > 0,
        },
        ResidualShape: {"residual": _floats, "normal": _floats},
        Lattice: {
            "start": number(-_HUGE, _HUGE),
            "step": _positive,
            "count": whole(2, MOST_VALUES + 1),
            "levels": each(tuple, number(0, 1)),
        },
        Repeats: {
            "key": array(np.uint64),
            "mean": lambda value: _floats(value) and bool((np.abs(value) <= _HUGE).all()),
            "variance": lambda value: _floats(value) and bool(((value >= _TINY) & (value <= _HUGE)).all()),
            "correlation": number(0, 1),
        },
        Embedding: {
            "center": _floats,
            "spread": _positives,
            "column": array(np.int64),
            "start": _floats,
            "width": _positives,
        },
        Comparison: dict.fromkeys(Comparison._fields, is_number),
        Calibration: {"factor": _positive, "power": number(-10, 10), "center": _positive},
        ContaminationEstimate: {
            "contamination": number(0, 1),
            "standard_error": is_number,
            "contamination_interval": _pair,
            "standing_out": number(0, 1),
            "standing_out_interval": _pair,
            "variance_ratio": _positive,
            "tail": number(0, 0.49),
            "center": number(-1e140, 1e140),
            "scale": number(1e-140, 1e140),
            "knots": each(tuple, number(-1000, 1000), least=2),
            "odds": each(tuple, number()),
            "n": whole(1),
            "warnings": each(tuple, is_text),
        },
        Column: {
            "name": is_text,
            "kind": one_of(*KINDS),
            "levels": each(tuple, _level),
            "zone": is_zone,
        },
        Columns: {"columns": each(tuple, of(Column), 1)},
        Feature: {"kind": one_of(*FEATURES), "column": whole(), "values": _per_row},
        Offset: {"column": whole(), "location": _places, "variance": _places},
        Encoding: {
            "n_columns": whole(1),
            "features": each(tuple, of(Feature), 1),
            "offset": optional(of(Offset)),
            "center": number(),
            "spread": number(1e-140, 1e140),
        },
        Prediction: {
            "mean": _members,
            "var": _members,
            "alpha": optional(_members),
            "sigma": optional(_members),
        },
        LogTransform: {"floor": _positive},
        YeoJohnsonTransform: {"power": number(0, 2), "center": number(-_HUGE, _HUGE), "spread": _positive},
        MonotoneTransform: {
            "transformer": lambda value: type(value) in _MONOTONE,
            "sign": lambda value: value in (-1.0, 1.0),
            "step": _positive,
            "low": is_number,
            "high": is_number,
        },
        TransformedPrediction: {"latent": of(Prediction), "transform": is_scale},
        JudgedScale: {"transform": is_scale, "predicted": _per_row, "std": _per_row},
        Audit: {
            "scale": optional(of(JudgedScale)),
            "remarks": each(tuple, is_text),
            "given_label": _per_row,
            "predicted_label": _per_row,
            "std": _per_row,
            "p_outlier": _per_row,
            "is_label_issue": array(np.bool_),
            "alpha": _per_row,
            "separation": of(ContaminationEstimate),
            "false_alarm_rate": number(0, 1),
            "log_odds": array(np.float64),
            "is_code": array(np.bool_),
            "unrelated": number(0, 1),
            "warnings": each(tuple, is_text),
            "index": optional(lambda value: type(value) is np.ndarray and value.ndim == 1),
        },
    }
)


def check_fields(cls: type, arguments: dict[str, Any]) -> None:
    """Refuse arguments that a record cannot have, before its constructor sees them."""
    if cls not in FIELDS:
        _check_words(cls, arguments)
        return
    for name, check in FIELDS[cls].items():
        if not check(arguments[name]):
            raise ModelFileError(f"{cls.__name__}.{name} cannot be {_shown(arguments[name])}")


def check_record(record: Any) -> None:
    """Refuse a record whose fields contradict each other."""
    agree = _AGREE.get(type(record))
    if agree is not None and not agree(record):
        raise ModelFileError(f"the fields of {type(record).__name__} contradict each other")


def _check_words(cls: type, arguments: dict[str, Any]) -> None:
    """Records of other libraries are types of dates: a unit and a time zone, which must not be taken for a path."""
    for name, value in arguments.items():
        if not is_zone(value):
            raise ModelFileError(
                f"{cls.__name__}.{name} is {value!r}, which is neither a unit nor a time zone"
            )


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape} and these values"
    return f"{repr(value)[:80]} ({type(value).__name__})"


def _inverts(scale: MonotoneTransform) -> bool:
    """Whether the transformer takes and returns one column; its own check was made when it was read."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return scale.inverse(scale.forward(_TRIED)).shape == _TRIED.shape
    except Exception:  # attributes of the wrong types or shapes
        return False


def _state_fits(network: Network) -> bool:
    n_free = network.architecture.n_weights * (1 if network.rho is None else 2)
    state = network.state
    return state is None or state.first.shape == state.second.shape == (n_free,)


_NOT_PER_ROW = ("separation", "false_alarm_rate", "unrelated", "scale", "remarks", "warnings", "index")


def _rows_agree(audit: Audit) -> bool:
    arrays = [getattr(audit, name) for name in FIELDS[Audit] if name not in _NOT_PER_ROW]
    arrays += [] if audit.scale is None else [audit.scale.predicted, audit.scale.std]
    arrays += [] if audit.index is None else [audit.index]
    return {len(rows) for rows in arrays} == {len(audit.is_label_issue)}


def _knots_agree(shape: ResidualShape) -> bool:
    """Both sequences rise, from below 0 to above 0."""
    knots = (shape.residual, shape.normal)
    rising = all(len(k) > 1 and bool((np.diff(k) > 0).all()) and k[0] < 0 < k[-1] for k in knots)
    return rising and len(shape.residual) == len(shape.normal)


def _inputs_agree(repeats: Repeats) -> bool:
    """Keys rise, so that inputs are found by bisection."""
    rising = len(repeats.key) > 0 and bool((repeats.key[1:] > repeats.key[:-1]).all())
    return rising and len(repeats.key) == len(repeats.mean) == len(repeats.variance)


def _pieces_agree(embedding: Embedding) -> bool:
    """Each piece belongs to a column that there is."""
    column, n = embedding.column, len(embedding.center)
    return (
        len(embedding.spread) == n
        and len(column) == len(embedding.start) == len(embedding.width)
        and bool(((column >= 0) & (column < n)).all())
    )


def _levels_differ(column: Column) -> bool:
    """Levels are looked up by their hash, which must distinguish them."""
    return len(set(column.levels)) == len(column.levels) <= 2 * len({*map(hash, column.levels)})


def _columns_exist(encoding: Encoding) -> bool:
    used = [feature.column for feature in encoding.features]
    if encoding.offset is not None:
        used.append(encoding.offset.column)
    return max(used) < encoding.n_columns


_AGREE: Mapping[type, Callable[[Any], bool]] = MappingProxyType(
    {
        Network: _state_fits,
        Scale: lambda scale: np.shape(scale.center) == np.shape(scale.spread),
        Audit: _rows_agree,
        Combination: lambda combination: (
            abs(float(combination.weights.sum()) - 1) < 1e-6 and combination.lowest <= combination.highest
        ),
        Embedding: _pieces_agree,
        Repeats: _inputs_agree,
        ResidualShape: _knots_agree,
        Column: _levels_differ,
        Feature: lambda feature: len(feature.values) >= LEAST_VALUES.get(feature.kind, 0),
        Offset: lambda offset: (
            len(offset.location) == len(offset.variance) and bool((offset.variance >= 0).all())
        ),
        Encoding: _columns_exist,
        MonotoneTransform: _inverts,
        ColumnFormat: lambda column: column.decimal != column.grouping,
        Lattice: lambda lattice: (
            len(lattice.levels) in (0, len(COVERAGES))
            and bool((np.diff(lattice.levels) >= 0).all())
            and bool((np.array(lattice.levels) <= COVERAGES[: len(lattice.levels)]).all())
        ),
        ContaminationEstimate: lambda fit: (
            len(fit.knots) == len(fit.odds) and bool((np.diff(fit.knots) > 0).all())
        ),
    }
)
