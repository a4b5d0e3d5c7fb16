"""Tries the parts of other libraries on a few rows, before a loaded model is returned.

What their attributes may hold changes with their versions. So they are run, on rows like those that the model was
fitted to: with its columns, its categories, its typical numbers. An error that is not a
`ValueError` (a missing attribute, an index out of range, a wrong type) shows a file whose parts do not fit together.
A `ValueError` may be about the rows, which are made up, and is ignored here. Levelhead's own estimators
are checked completely (`_estimators.py`) and not run, which would load or compile their kernels.
"""

import importlib
import re
import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from levelhead.estimators import AutoRegressor, CleanedRegressor, MultiTargetRegressor, TabularRegressor
from levelhead.estimators._base import AuditedRegressor
from levelhead.persistence._archive import ModelFileError
from levelhead.persistence._estimators import is_fitted
from levelhead.tables import TableFormats

_NUMBERS = (1.0, 0.5, 2.0)
_TEXT = "some words"
_MOST_ROWS = 1000
_MOST_CELLS = 2**22
# Messages of numpy and Python about parts that do not fit together; rows of the right shape never cause them.
_ABOUT_SHAPES = re.compile(
    r"broadcast|core dimension|to unpack|not aligned|cannot reshape|inhomogeneous|truth value|too deep"
)
_REGRESSORS = (AuditedRegressor, AutoRegressor, CleanedRegressor, MultiTargetRegressor, TabularRegressor)
_TYPICAL = {
    StandardScaler: "mean_",
    RobustScaler: "center_",
    MinMaxScaler: "data_min_",
    SimpleImputer: "statistics_",
}

Columns = list[list[Any]]  # for each column of the input some values that it may hold


def run(model: Any) -> None:
    """Refuse a model that fails on rows of its own kind with anything but a `ValueError`."""
    if isinstance(model, (AuditedRegressor, AutoRegressor)):
        return
    if isinstance(model, TabularRegressor):
        run(getattr(model, "pipeline_", model.regressor))
        return
    if isinstance(model, MultiTargetRegressor):
        for part in getattr(model, "estimators_", []):
            run(part)
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            for rows in _tables(model):
                _try(model, rows)
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:
            raise ModelFileError(f"the model does not work: {type(error).__name__}: {error}") from error


def _try(model: Any, rows: Any) -> None:
    try:
        _predict(model, rows)
    except ModelFileError:
        raise
    except ValueError as error:
        if _ABOUT_SHAPES.search(str(error)):
            raise ModelFileError(f"the model does not work: {error}") from error


def _predict(model: Any, rows: Any) -> Any:
    """What a model predicts for rows; None for levelhead's estimators, which are not run."""
    if isinstance(model, _REGRESSORS) and is_fitted(model) and model.n_features_in_ != rows.shape[1]:
        given = f"{model.n_features_in_} features and gets {rows.shape[1]}"
        raise ModelFileError(f"{type(model).__name__} takes {given}")
    if isinstance(model, Pipeline):
        return _predict(model[-1], model[:-1].transform(rows) if len(model.steps) > 1 else rows)
    if isinstance(model, AutoRegressor):
        for one in getattr(model, "estimators_", []):
            _predict(one, rows)
    elif isinstance(model, AuditedRegressor) and is_fitted(model):
        model._checked_inputs(rows, reset=False)
    elif isinstance(model, CleanedRegressor) and hasattr(model, "regressor_"):
        mean = _predict(model.regressor_, rows)
        if mean is not None and (np.ndim(mean) != 1 or np.iscomplexobj(mean)):
            raise ModelFileError("the regressor of CleanedRegressor does not predict one number for each row")
    elif isinstance(model, TransformedTargetRegressor) and hasattr(model, "regressor_"):
        _predict(model.regressor_, rows)
        model.transformer_.inverse_transform(np.ones((len(rows), model._training_dim)))
    elif hasattr(model, "predict"):
        return model.predict(rows)
    elif model not in ("passthrough", None):
        model.transform(rows)
    return None


# ------------------------------------------------------------------ rows of the kind that a model was fitted to


def _tables(model: Any) -> list[Any]:
    """Tables to try, if the model says what it was fitted to: complete rows, and rows with gaps."""
    first = _first(model)
    if isinstance(first, CountVectorizer):
        return [[_TEXT, _TEXT]]
    if type(first).__name__ == "TableVectorizer":
        return [_raw_frame(first)] if hasattr(first, "all_processing_steps_") else []
    n = _width(model)
    if n is None:
        return []
    columns = _accepted(model) or [list(_NUMBERS)] * n
    n_rows = min(max(map(len, columns), default=0), _MOST_ROWS, _MOST_CELLS // max(n, 1)) + 2
    n_rows += n_rows == n  # square tables would hide wrong shapes
    complete = [_cycle(values, n_rows) for values in columns]
    gaps = [values if _is_text(values) else [np.nan] * n_rows for values in complete]
    names = getattr(model, "feature_names_in_", None)
    return [_table(cells, names) for cells in (complete, gaps)]


def _first(model: Any) -> Any:
    """The part of a pipeline that gets the input."""
    while isinstance(model, (Pipeline, FeatureUnion)):
        if isinstance(model, Pipeline) and type(model.steps[0][1]) is TableFormats and len(model.steps) > 1:
            model = model.steps[1][1]  # takes what it would make of raw text, too
            continue
        model = model.steps[0][1] if isinstance(model, Pipeline) else model.transformer_list[0][1]
    return model


def _width(model: Any) -> int | None:
    """The number of features, from the first part of a pipeline that does more than pass them on."""
    if isinstance(model, (Pipeline, FeatureUnion)):
        steps = model.steps if isinstance(model, Pipeline) else model.transformer_list
        return next(filter(None, (_width(step) for _, step in steps)), None)
    if isinstance(model, TransformedTargetRegressor):
        return _width(getattr(model, "regressor_", None))
    return getattr(model, "n_features_in_", None)


def _accepted(part: Any) -> Columns | None:
    """Values for each column, if a part knows which it was fitted to."""
    if isinstance(part, (Pipeline, FeatureUnion)):
        steps = part.steps if isinstance(part, Pipeline) else part.transformer_list
        return next(filter(None, (_accepted(step) for _, step in steps)), None)
    if isinstance(part, ColumnTransformer):
        return _of_columns(part) if hasattr(part, "transformers_") else None
    if isinstance(part, (OneHotEncoder, OrdinalEncoder, TargetEncoder)):
        return [list(known) for known in getattr(part, "categories_", [])] or None
    if isinstance(part, CountVectorizer):
        return [[_TEXT]]
    typical = getattr(part, _TYPICAL.get(type(part), "none"), None)
    return None if typical is None else [[value] for value in typical]


def _of_columns(transformer: Any) -> Columns:
    columns: Columns = [[] for _ in range(transformer.n_features_in_)]
    for name, part, _ in transformer.transformers_:
        places = transformer._transformer_to_input_indices.get(name, [])
        for place, values in zip(places, _accepted(part) or [], strict=False):
            if columns[place] and _is_text(columns[place]) != _is_text(values):
                raise ModelFileError(
                    f"column {place} is text to one part of the model and numbers to another"
                )
            columns[place] = values
    return [values or list(_NUMBERS) for values in columns]


def _cycle(values: list[Any], n: int) -> list[Any]:
    known = values or [1.0]
    return [known[k % len(known)] for k in range(n)]


def _is_text(values: list[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def _table(columns: Columns, names: Any) -> Any:
    if names is not None:
        return importlib.import_module("pandas").DataFrame(dict(zip(names, columns, strict=True)))
    kind = object if any(map(_is_text, columns)) else np.float64
    cells = np.empty((len(columns[0]) if columns else 1, len(columns)), dtype=kind)
    for k, values in enumerate(columns):
        cells[:, k] = values
    return cells


def _raw_frame(vectorizer: Any) -> Any:
    """A frame for skrub's `TableVectorizer`, in the library that it was fitted with."""
    steps, check = vectorizer.all_processing_steps_, vectorizer._preprocessors[0]
    library = importlib.import_module("polars" if check.module_name_ == "polars" else "pandas")
    names = list(zip(check.feature_names_in_, check.feature_names_out_, strict=True))
    if not all(name.startswith(str(given)) for given, name in names):  # copies of a name get an ending
        raise ModelFileError("the names of the columns contradict each other")
    return library.DataFrame({given: _cycle(_raw_values(steps.get(name, [])), 3) for given, name in names})


def _raw_values(steps: list[Any]) -> list[Any]:
    """What a column held before its processing, judged by the steps."""
    parts = {type(step).__name__: step for step in steps}
    text = not parts.keys().isdisjoint({"CleanNullStrings", "CleanCategories", "ToStr"})
    if "ToDatetime" in parts or "DatetimeEncoder" in parts:
        return [_moment(parts.get("ToDatetime"))]
    if "DurationToFloat" in parts:
        return [importlib.import_module("datetime").timedelta(seconds=1)]
    if isinstance(parts.get("OneHotEncoder"), OneHotEncoder) and text:
        return [value if isinstance(value, str) else None for value in parts["OneHotEncoder"].categories_[0]]
    if "StringEncoder" in parts:
        return [_TEXT]
    return ["1.5"] if text else list(_NUMBERS)


def _moment(parser: Any) -> Any:
    zone = getattr(parser, "output_time_zone_", None)
    moment = importlib.import_module("pandas").Timestamp("2020-02-03 04:05:06", tz=zone)
    style = getattr(parser, "format_", None)
    return moment.to_pydatetime() if style is None else moment.strftime(style)
