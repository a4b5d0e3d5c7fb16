"""The list of what a model file may name. Anything else is refused, in saving and in loading.

A class is listed only if it does no harm with any attributes: no code runs from them, no file is
opened, and no compiled loop relies on an index in them (`_soundness.py` checks the few that would). That is why
scikit-learn's trees and random generators are missing; levelhead's forests are text that is parsed and checked.
"""

import importlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields as dataclass_fields
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from levelhead._extras import install
from levelhead.persistence._archive import ModelFileError

Parts = Mapping[str, Callable[[Any], Any]]


def _names(listed: Mapping[str, str]) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module, names in listed.items() for name in names.split())


_CLASSES = _names(
    {
        "levelhead.tables": "TableFormats",
        "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
        "sklearn.decomposition": "PCA TruncatedSVD",
        "sklearn.feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
        "sklearn.feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
        "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
        "sklearn.kernel_approximation": "Nystroem RBFSampler",
        "sklearn.linear_model": "BayesianRidge ElasticNet HuberRegressor Lasso LinearRegression QuantileRegressor "
        "Ridge RidgeCV TheilSenRegressor",
        "sklearn.pipeline": "FeatureUnion Pipeline",
        "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer MaxAbsScaler MinMaxScaler "
        "Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer "
        "RobustScaler StandardScaler TargetEncoder",
        "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
        "skrub._apply_to_each_col": "ApplyToEachCol",
        "skrub._check_input": "CheckInputDataFrame",
        "skrub._clean_categories": "CleanCategories",
        "skrub._clean_null_strings": "CleanNullStrings",
        "skrub._datetime_encoder": "DatetimeEncoder",
        "skrub._drop_uninformative": "DropUninformative",
        "skrub._duration_to_float": "DurationToFloat",
        "skrub._string_encoder": "StringEncoder",
        "skrub._table_vectorizer": "PassThrough ShortReprDict TableVectorizer",
        "skrub._to_datetime": "ToDatetime",
        "skrub._to_float": "ToFloat",
        "skrub._to_str": "ToStr",
        "skrub.selectors._base": "All And Cols Filter Inv Or Sub XOr",
    }
)

FUNCTIONS = _names(
    {
        "numpy": "absolute arcsinh arctan cbrt cos exp exp2 expm1 log log10 log1p log2 negative reciprocal rint "
        "sign sin sinh sqrt square tanh",
        "sklearn.feature_selection": "f_regression mutual_info_regression r_regression",
        "skrub._dataframe._common": "is_any_date is_categorical is_numeric is_string",
        "skrub._table_vectorizer": "_created_by_predicate",
        "skrub.selectors._selectors": "_cardinality_below",
    }
)

# Immutable values, rebuilt by their constructors: for each argument, how to get it from a value. None: all the
# fields of a dataclass or a named tuple. The names are those of version 0.1 and never change, even if a class moves.
RECORDS: Mapping[str, Parts | None] = MappingProxyType(
    {
        "levelhead.auditing.Audit": None,
        "levelhead.engine.Architecture": None,
        "levelhead.engine.Network": None,
        "levelhead.engine.OptimizerState": None,
        "levelhead.estimators._boosting.Shape": None,
        "levelhead.estimators._forests.Forest": None,
        "levelhead.estimators._preparation.Scale": None,
        "levelhead.estimators.automatic.Comparison": None,
        "levelhead.estimators.combination.Combination": None,
        "levelhead.estimators.networks.embeddings.Embedding": None,
        "levelhead.estimators.repeats.Repeats": None,
        "levelhead.prediction.conformal.ResidualShape": None,
        "levelhead.prediction.lattice.Lattice": None,
        "levelhead.audits.audit.JudgedScale": None,
        "levelhead.prediction.LogTransform": None,
        "levelhead.prediction.MonotoneTransform": None,
        "levelhead.tables.encoding.columns.Column": None,
        "levelhead.tables.encoding.columns.Columns": None,
        "levelhead.tables.encoding.inputs.Encoding": None,
        "levelhead.tables.encoding.features.Feature": None,
        "levelhead.tables.encoding.inputs.Offset": None,
        "levelhead.tables.ColumnFormat": None,
        "levelhead.prediction.Prediction": {
            part: attrgetter(f"member_{part}") for part in ("mean", "var", "alpha", "sigma")
        },
        "levelhead.prediction.TransformedPrediction": {
            part: attrgetter(part) for part in ("latent", "transform")
        },
        "levelhead.prediction.YeoJohnsonTransform": None,
        "levelhead.theory.calibration.Calibration": None,
        "levelhead.theory.separation.ContaminationEstimate": None,
        "pandas.DatetimeTZDtype": {"unit": attrgetter("unit"), "tz": lambda dtype: str(dtype.tz)},
        "polars.Datetime": {part: attrgetter(part) for part in ("time_unit", "time_zone")},
    }
)

_MOVED = {
    "levelhead.auditing": "levelhead.audits",
    "levelhead.audits.audit": "levelhead.audits.judged",
    "levelhead.estimators._boosting": "levelhead.estimators.trees.growing",
    "levelhead.estimators._forests": "levelhead.estimators.trees.forest",
    "levelhead.theory.calibration": "levelhead.prediction.calibration",
    "levelhead.theory.separation": "levelhead.audits.separation",
}

# Fields that have another name since version 0.1.
_RENAMED_FIELDS = {
    "levelhead.auditing.Audit": {"trust": "alpha"},
    "levelhead.theory.separation.ContaminationEstimate": {"epsilon": "contamination"},
}

# Fields and settings that files of earlier versions do not have, with the values that describe them.
_ADDED_FIELDS: Mapping[str, dict[str, Any]] = {
    "levelhead.auditing.Audit": {"scale": None, "remarks": {"tuple": []}},
    "levelhead.prediction.lattice.Lattice": {"levels": {"tuple": []}},
    "levelhead.estimators.combination.Combination": {"widest": 1e300},
}
ADDED_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "input_scaling": "standard",
        "target_transform": None,
        "monotonic_cst": None,
        "n_outputs": 4,
        "time_limit": None,
        "verbose": False,
    }
)

# Settings through which a model could use other files: a cache on disk, which is read with pickle, and text that
# is read as the name of a file.
_FIXED = {"memory": None, "input": "content"}
_ZONE = re.compile(r"(?!dateutil)[A-Za-z0-9_+:-]+(/[A-Za-z0-9_+-]+)*")


@cache
def classes() -> frozenset[str]:
    """Names of all classes whose instances a model may hold, all public estimators of levelhead included."""
    ours = importlib.import_module("levelhead.estimators")
    public = (name for name in ours.__all__ if isinstance(getattr(ours, name), type))
    return _CLASSES | {f"levelhead.{name}" for name in public}


def name_of(thing: Any, listed: Collection[str]) -> str | None:
    """The name under which a class or function is listed, if it is."""
    ending = f".{getattr(thing, '__name__', '')}"
    home = str(getattr(thing, "__module__", None) or "numpy").partition(".")[0]
    for name in listed:
        if name.endswith(ending) and name.startswith(f"{home}.") and _get(name) is thing:
            return name
    return None


def resolve(name: Any, listed: Collection[str]) -> Any:
    """The class or function of a listed name; nothing is imported for a name that is not listed."""
    if not isinstance(name, str) or name not in listed:
        raise ModelFileError(
            f"the file names {name!r}, which is not on the list of classes that a model file may contain"
        )
    try:
        return _get(name)
    except (ImportError, AttributeError) as error:
        library = name.partition(".")[0]
        extra = f": {install('tables')}" if library in ("skrub", "pandas", "polars") else ""
        raise ModelFileError(
            f"the model needs {name}, which the {library} here does not have{extra}"
        ) from error


def parts(name: str, cls: type) -> Parts:
    """Constructor arguments of a record, and how to get them from a value."""
    given = RECORDS[name]
    if given is not None:
        return given
    names = getattr(cls, "_fields", None) or [field.name for field in dataclass_fields(cls)]
    return {field: attrgetter(field) for field in names}


def today(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record under their current names, with those that did not exist when it was written."""
    renamed = _RENAMED_FIELDS.get(name, {})
    current = {renamed.get(field, field): value for field, value in fields.items()}
    return _ADDED_FIELDS.get(name, {}) | current


def check_attributes(cls: type, attributes: Any, where: str, error: type[Exception]) -> None:
    """Refuse names that no attribute may have, and settings that refer to other files."""
    for name, value in attributes.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise error(f"{where} has an attribute {name!r}, which no model has")
        if hasattr(cls, name):  # a method, or a constant that its class relies on
            raise error(f"{where} has an attribute {name!r} that replaces a method or property of its class")
        if name in _FIXED and value != _FIXED[name]:
            raise error(f"{where}.{name} is {value!r}; in a model file it can only be {_FIXED[name]!r}")
        if name == "output_time_zone_" and not is_zone(value):
            raise error(f"{where}.{name} is {value!r}, which is not a time zone")


def is_zone(value: Any) -> bool:
    """Whether a value is None or names a unit or a time zone, and cannot be taken for the path of a file."""
    return value is None or (type(value) is str and _ZONE.fullmatch(value) is not None)


def _get(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(_MOVED.get(module, module)), attribute)
