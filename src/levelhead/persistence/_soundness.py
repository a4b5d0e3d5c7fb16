"""Checks of what was rebuilt from a file, before compiled code relies on it.

Most code fails with a Python error when its numbers do not fit together. The exceptions are here: kernels and
sparse matrices that follow sizes and indices without looking, so that a crafted file could make them write
beyond their memory.
"""

import re
import types
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder

from levelhead.engine import Network
from levelhead.estimators._forests import Forest
from levelhead.persistence._archive import ModelFileError


def check_record(cls: type, arguments: dict[str, Any]) -> None:
    """Refuse arguments that are not of the types which a record declares for its fields."""
    ours = cls.__module__.startswith("levelhead.")
    if not ours:
        _check_words(cls, arguments)
    hints = get_type_hints(cls) if ours else {}
    for name, value in arguments.items():
        if name in hints and not _fits(value, hints[name]):
            raise ModelFileError(f"{cls.__name__}.{name} is {type(value).__name__!r}, not {hints[name]}")


def check_instance(instance: Any) -> None:
    """Refuse instances whose sizes and indices contradict each other."""
    for cls, check in _CHECKS.items():
        if isinstance(instance, cls):
            try:
                sound = check(instance)
            except Exception:  # whatever does not even have the right types
                sound = False
            if not sound:
                raise ModelFileError(f"the parts of {type(instance).__name__} contradict each other")
    for name, kind in _PARTS.items():
        parts = vars(instance).get(name, [])
        if type(parts) is not list or not all(type(part) is kind for part in parts):
            raise ModelFileError(
                f"{type(instance).__name__}.{name} holds something that is no {kind.__name__.lower()}"
            )


def _check_words(cls: type, arguments: dict[str, Any]) -> None:
    """Records of others are types of dates: a unit and a time zone, which must not be taken for a path."""
    for name, value in arguments.items():
        plain = type(value) is str and re.fullmatch(r"(?!dateutil)[A-Za-z0-9_+:-]+(/[A-Za-z0-9_+-]+)*", value)
        if value is not None and not plain:
            raise ModelFileError(f"{cls.__name__}.{name} is {value!r}, which is no unit and no time zone")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: of those that occur in records."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, option) for option in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return type(value) is tuple and all(_fits(item, arguments[0]) for item in value)
    if origin is np.ndarray:
        declared = get_args(arguments[1])[0]
        return type(value) is np.ndarray and (not isinstance(declared, type) or value.dtype.type is declared)
    if hint is float:
        return type(value) in (float, int, np.float64)
    return type(value) is hint


def _one_hot_is_sound(encoder: Any) -> bool:
    """Every code that a category can get lies within the columns that are there for it."""
    if not hasattr(encoder, "categories_"):
        return True
    columns, n_features = encoder._n_features_outs, len(encoder.categories_)
    dropped = encoder._drop_idx_after_grouping
    dropped = [None] * n_features if dropped is None else list(dropped)
    mapped = encoder._default_to_infrequent_mappings if encoder._infrequent_enabled else [None] * n_features
    if not type(encoder.categories_) is type(columns) is list or {
        len(columns),
        len(mapped),
        len(dropped),
    } != {n_features}:
        return False
    for categories, drop, mapping, n_columns in zip(
        encoder.categories_, dropped, mapped, columns, strict=True
    ):
        codes = np.arange(len(categories)) if mapping is None else np.asarray(mapping, dtype=np.int64)
        if drop is not None:
            codes = codes[codes != int(drop)]
            codes = codes - (codes > int(drop))
        within = codes.size == 0 or (codes.min() >= 0 and codes.max() < int(n_columns))
        if (
            not within
            or type(categories) is not np.ndarray
            or categories.ndim != 1
            or not _sorted(categories)
        ):
            return False
    return all(int(n) >= 0 for n in columns)


def _sorted(categories: Any) -> bool:
    """Numbers are looked up by bisection, and must ascend, NaN last; text is looked up by name."""
    if categories.dtype.kind not in "biufc":
        return True
    known = categories[~np.isnan(categories)]
    no_gap = not np.isnan(categories[: len(known)]).any()
    return no_gap and len(categories) - len(known) <= 1 and all(a < b for a, b in pairwise(known.tolist()))


def _vocabulary_is_sound(vectorizer: Any) -> bool:
    """Terms have the numbers 0, 1, 2, …, each once."""
    if not hasattr(vectorizer, "vocabulary_"):
        return True
    vocabulary = vectorizer.vocabulary_
    return type(vocabulary) is dict and sorted(vocabulary.values()) == list(range(len(vocabulary)))


_PARTS: dict[str, type] = {"networks_": Network, "mean_forests_": Forest, "scale_forests_": Forest}
_CHECKS: dict[type, Callable[[Any], bool]] = {
    OneHotEncoder: _one_hot_is_sound,
    CountVectorizer: _vocabulary_is_sound,
}
