"""Checks of arguments; the messages say what was given, where it is wrong, and what to do."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None


def real(name: str, value: ArrayLike) -> FloatArray:
    """Return `value` as a float64 array; refuse strings, complex numbers and ragged lists."""
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name} is not a rectangular array of numbers; give rows of equal length"
        ) from error
    if given.dtype.kind == "O":
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{name} contains a value that is not a number ({error}); convert it") from error
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {given.dtype}; give real numbers")
    return given.astype(np.float64, copy=False)


def vector(name: str, value: ArrayLike) -> FloatArray:
    """Return a non-empty 1-D array of finite numbers; a single column is refused, not flattened."""
    array = real(name, value)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; give one number per row, shape (n,)")
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one row is needed")
    return finite(name, array)


def finite(name: str, array: FloatArray) -> FloatArray:
    """Return the array if it holds no NaN and no infinity."""
    return _all(np.isfinite(array), name, array, "NaN or infinite values", "remove or fix them")


def not_nan(name: str, array: FloatArray) -> FloatArray:
    """Return the array if it holds no NaN."""
    return _all(~np.isnan(array), name, array, "NaN values", "remove or fix them")


def positive(name: str, array: FloatArray) -> FloatArray:
    """Return the array if every entry is greater than zero."""
    return _all(array > 0, name, array, "values that are not positive", "all must be greater than 0")


def weights(sample_weight: ArrayLike | None, n: int) -> FloatArray:
    """Return weights that sum to one; equal ones by default."""
    if sample_weight is None:
        return np.full(n, 1 / n)
    given = vector("sample_weight", sample_weight)
    same_length(n, sample_weight=given)
    _all(given >= 0, "sample_weight", given, "negative values", "all must be at least 0")
    if not given.any():
        raise ValueError("sample_weight is zero everywhere; at least one weight must be positive")
    scaled = given / given.max()  # huge weights would overflow their sum
    return np.asarray(scaled / scaled.sum())


def same_length(n: int, **named: FloatArray) -> None:
    """Refuse arrays whose last axis does not have the length of y."""
    for name, array in named.items():
        if array.shape[-1:] != (n,):
            raise ValueError(f"{name} has shape {array.shape} but y has {n} rows; give one entry per row")


def share(name: str, value: float) -> float:
    """Return the number if it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; it must lie strictly between 0 and 1")
    return float(value)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator from a seed, from None (fresh entropy), or from either kind of numpy generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def _all(good: NDArray[np.bool_], name: str, array: FloatArray, what: str, remedy: str) -> FloatArray:
    if not good.all():
        first = np.argwhere(~good)[0].tolist()
        place = f"row {first[0]}" if len(first) == 1 else f"index {tuple(first)}"
        count = int(good.size - np.count_nonzero(good))
        where = f"first at {place}: {array[tuple(first)]}" if first else f"namely {array}"
        raise ValueError(f"{name} has {count} {what} ({where}); {remedy}")
    return array
