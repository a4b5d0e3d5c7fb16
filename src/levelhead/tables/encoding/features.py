"""The inputs that a column of numbers, codes of categories, or days gives to a model.

Networks get numbers with gaps filled by the median and an indicator of the gap, indicators of few levels, robust
statistics of the labels of many levels, and cosines and sines of the season, the week and the time of day. Trees get
numbers with their gaps, codes of categories, and the phase of a date in the year, the week and the day.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from levelhead._checks import FloatArray
from levelhead.tables.encoding.columns import Kind
from levelhead.tables.encoding.levels import FIRST, LevelStatistics, places
from levelhead.theory.elementary import cos_turns

Reader = Literal["network", "trees"]
Compute = Callable[
    [FloatArray, FloatArray], FloatArray
]  # from the cells of a column, and numbers that were learnt

_FEW_LEVELS = 10  # up to this number, networks get an indicator for each level
_YEAR, _WEEK = 365.2425, 7.0  # days
_FIRST_WEEKDAY = 3.0  # 1970-01-01 was a Thursday; weeks begin on Monday
_NONE = np.empty(0)


class Feature(NamedTuple):
    """One column of the inputs of a model.

    Attributes
    ----------
    kind : str
        How it is computed; see `FEATURES`.
    column : int
        The column of the table that it is computed from.
    values : ndarray
        Numbers that it needs: the value of a gap, a level, or statistics of levels.
    """

    kind: str
    column: int
    values: FloatArray


def _phase(period: float, start: float) -> Callable[[FloatArray], FloatArray]:
    """The part of a period that has passed, from 0 to 1."""

    def passed(days: FloatArray) -> FloatArray:
        turns = (days + start) / period
        return turns - np.floor(turns)

    return passed


def _wave(phase: Callable[[FloatArray], FloatArray], shift: float) -> Compute:
    """A cosine (shift 0) or sine (shift ¾) of a phase, 0 where the date is missing."""

    def wave(days: FloatArray, _: FloatArray) -> FloatArray:
        turns = phase(np.nan_to_num(days)) + shift
        return np.where(np.isnan(days), 0.0, cos_turns(turns - np.floor(turns)))

    return wave


def _number_of(phase: Callable[[FloatArray], FloatArray]) -> Compute:
    return lambda days, _: phase(days)


PHASES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"season": (_YEAR, 0.0), "week": (_WEEK, _FIRST_WEEKDAY), "clock": (1.0, 0.0)}
)  # period and start, in days
_PHASES = {name: _phase(*times) for name, times in PHASES.items()}
FEATURES: Mapping[str, Compute] = MappingProxyType(
    {
        "number": lambda x, fill: np.where(np.isnan(x), fill[0], x),
        "gap": lambda x, _: np.isnan(x).astype(np.float64),
        "level": lambda x, level: (x == level[0]).astype(np.float64),
        "code": lambda x, _: np.where(x < 0, np.nan, x),
        **dict.fromkeys(("location", "spread", "known"), lambda x, values: values[places(x)]),
        **{name: _number_of(phase) for name, phase in _PHASES.items()},
        **{f"{name} cosine": _wave(phase, 0.0) for name, phase in _PHASES.items()},
        **{f"{name} sine": _wave(phase, 0.75) for name, phase in _PHASES.items()},
    }
)
STATISTICS: Mapping[str, Callable[[LevelStatistics], FloatArray]] = MappingProxyType(
    {
        "location": lambda known: known.location,
        "spread": lambda known: known.spread,
        "known": lambda known: (known.n_labels > 0).astype(np.float64),
    }
)
# The fewest numbers that a feature of each kind needs.
LEAST_VALUES: Mapping[str, int] = MappingProxyType(
    {"number": 1, "level": 1, **dict.fromkeys(STATISTICS, FIRST)}
)


def _number(k: int, values: FloatArray, _: int) -> list[Feature]:
    return [Feature("number", k, np.array([np.nan]))]


def _filled(k: int, values: FloatArray, _: int) -> list[Feature]:
    gaps = np.isnan(values)
    median = 0.0 if gaps.all() else float(np.quantile(values[~gaps], 0.5, method="lower"))
    return [Feature("number", k, np.array([median])), *_gap(k, values)]


def _gap(k: int, values: FloatArray) -> list[Feature]:
    """An indicator of the gaps, if there are some and not only gaps."""
    gaps = np.isnan(values)
    return [Feature("gap", k, _NONE)] if gaps.any() and not gaps.all() else []


def _parts(k: int, values: FloatArray, endings: tuple[str, ...]) -> list[Feature]:
    """Phases of a date that vary."""
    parts = [Feature(f"{name}{ending}", k, _NONE) for name in _PHASES for ending in endings]
    days = values[~np.isnan(values)]
    return [part for part in parts if len(np.unique(FEATURES[part.kind](days, _NONE))) > 1]


def _levels(k: int, values: FloatArray, n_levels: int) -> list[Feature]:
    if n_levels > _FEW_LEVELS:
        zeros = np.zeros(n_levels + FIRST)
        return [Feature(kind, k, zeros) for kind in STATISTICS]
    return [*(Feature("level", k, np.array([float(code)])) for code in range(n_levels)), *_gap(k, values)]


_MAKERS: Mapping[tuple[str, str], Callable[[int, FloatArray, int], list[Feature]]] = MappingProxyType(
    {
        ("network", "number"): _filled,
        ("network", "date"): lambda k, values, n: [
            *_filled(k, values, n),
            *_parts(k, values, (" cosine", " sine")),
        ],
        ("network", "category"): _levels,
        ("network", "text"): lambda *_: [],
        ("trees", "number"): _number,
        ("trees", "date"): lambda k, values, n: [*_number(k, values, n), *_parts(k, values, ("",))],
        ("trees", "category"): lambda k, *_: [Feature("code", k, _NONE)],
        ("trees", "text"): lambda *_: [],
    }
)


def features_of(column: int, kind: Kind, n_levels: int, values: FloatArray, reader: Reader) -> list[Feature]:
    """Choose the inputs that one column gives.

    Parameters
    ----------
    column : int
        Position of the column.
    kind : {"number", "date", "category", "text"}
        What it holds.
    n_levels : int
        Number of levels of a category.
    values : ndarray of shape (n_samples,)
        Its cells as numbers, codes or days.
    reader : {"network", "trees"}
        The kind of model.

    Returns
    -------
    list of Feature
        Inputs; statistics of labels are still zeros.
    """
    return _MAKERS[reader, kind](column, values, n_levels)
