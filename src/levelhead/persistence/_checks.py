"""Checks of single values: what a field of a model file may hold."""

from collections.abc import Callable
from typing import Any

import numpy as np

Check = Callable[[Any], bool]


def whole(low: int = 0, high: int = 2**63) -> Check:
    """An int from `low` to below `high`."""
    return lambda value: type(value) is int and low <= value < high


def number(low: float = -np.inf, high: float = np.inf) -> Check:
    """A finite number from `low` to `high`."""
    return lambda value: is_number(value) and bool(np.isfinite(value)) and low <= value <= high


def is_number(value: Any) -> bool:
    """Any float, NaN included, or an int that fits into one."""
    return type(value) in (float, np.float64) or (type(value) is int and abs(value) < 2**1023)


def is_flag(value: Any) -> bool:
    """True or False."""
    return type(value) is bool


def is_text(value: Any) -> bool:
    """Text."""
    return type(value) is str


def one_of(*choices: str) -> Check:
    """One of the given words."""
    return lambda value: type(value) is str and value in choices


def of(*classes: type) -> Check:
    """An instance of one of the classes, not of a subclass."""
    return lambda value: type(value) in classes


def optional(check: Check) -> Check:
    """None, or a value that passes the check."""
    return lambda value: value is None or check(value)


def each(container: type[list[Any]] | type[tuple[Any, ...]], check: Check, least: int = 0) -> Check:
    """A list or tuple of at least so many entries that all pass."""

    def fits(value: Any) -> bool:
        entries = list(value) if type(value) is container else []
        return type(value) is container and len(entries) >= least and all(check(entry) for entry in entries)

    return fits


def array(kind: type[np.generic], ndim: int = 1) -> Check:
    """An array of exactly this type of numbers, finite where they are floats."""

    def fits(value: Any) -> bool:
        if type(value) is not np.ndarray or value.dtype != np.dtype(kind) or value.ndim != ndim:
            return False
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())

    return fits
