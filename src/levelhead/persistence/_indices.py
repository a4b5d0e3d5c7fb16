"""Sizes and indices in parts of scikit-learn that its compiled code uses, or allocates memory for, without a check.

A crafted file could make it write beyond its memory, use all memory of the computer, or search a text endlessly.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np

_MOST_BITS = 60  # so many features of such a degree have 2**60 combinations
# No groups and few repetitions: patterns that take extremely long on some texts have more of either.
_TOKEN = re.compile(r"(?:\(\?u\))?(?:\\[bBwWdDsS][+*]?|\[[^\[\]\\]*\][+*]?|[\w .,:;@#-][+*]?){1,40}")


def one_hot_is_sound(encoder: Any, _: int) -> bool:
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


def categories_are_sound(encoder: Any, _: int) -> bool:
    """Each column has a vector of categories."""
    return all(map(_is_looked_up, getattr(encoder, "categories_", [])))


def _feature_is_sound(categories: Any, drop: Any, rare: Any, mapping: Any, n_columns: Any) -> bool:
    if not _is_looked_up(categories):
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


def _is_looked_up(categories: Any) -> bool:
    """Numbers are looked up by bisection, and must ascend, NaN last; text is looked up by name."""
    if type(categories) is not np.ndarray or categories.ndim != 1:
        return False
    if categories.dtype.kind not in "biufc":
        return True
    known = categories[~np.isnan(categories)]
    no_gap = not np.isnan(categories[: len(known)]).any()
    return no_gap and len(categories) - len(known) <= 1 and all(a < b for a, b in pairwise(known.tolist()))


def vocabulary_is_sound(vectorizer: Any, _: int) -> bool:
    """Terms have the numbers 0, 1, 2, …, each once, and are found by a pattern that is fast."""
    pattern = vectorizer.token_pattern
    if pattern is not None and not (_TOKEN.fullmatch(pattern) and sum(map(pattern.count, "+*")) <= 2):
        return False
    if not hasattr(vectorizer, "vocabulary_"):
        return True
    vocabulary = vectorizer.vocabulary_
    numbers = sorted(vocabulary.values()) if type(vocabulary) is dict else None
    return numbers == list(range(len(vocabulary))) and all(type(term) is str for term in vocabulary)


def polynomial_is_sound(features: Any, size: int) -> bool:
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
    return bool(features.n_output_features_ == columns and features._n_out_full == full <= room)
