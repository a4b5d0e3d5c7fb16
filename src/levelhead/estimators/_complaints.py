"""What an estimator says about bad settings and bad tables: which one, where in it, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np

_RANGES: dict[str, tuple[str, Any]] = {
    "learning_rate_init": ("a number above 0", lambda v: 0 < v < np.inf),
    "dropout": ("a number from 0 to below 1", lambda v: 0 <= v < 1),
    "weight_decay": ("a number of at least 0", lambda v: 0 <= v < np.inf),
    "validation_fraction": ("a number between 0 and 1", lambda v: 0 < v < 1),
    "tol": ("a number of at least 0", lambda v: v >= 0),
}


def check_numbers(estimator: Any) -> None:
    """Refuse numeric parameters that are no numbers or out of range, by the names that a user gave them."""
    for name, (wanted, allowed) in _RANGES.items():
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not allowed(value):
            raise ValueError(f"{name} is {value!r}; give {wanted}")
    for name in ("n_members", "n_iter_no_change"):
        value = getattr(estimator, name)
        if not _is_size(value):
            raise ValueError(f"{name} is {value!r}; give a whole number above 0")
    sizes = estimator.hidden_layer_sizes
    if not all(_is_size(size) for size in np.atleast_1d(np.asarray(sizes, dtype=object)).tolist()):
        raise ValueError(f"hidden_layer_sizes is {sizes!r}; give whole numbers above 0, as in (50, 50)")


@contextmanager
def explained(X: Any, y: Any = None) -> Iterator[None]:
    """Add to an error about a table where in the table its cause lies, if that can be found out."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers, which are looked at only
            yield
    except OverflowError as error:
        raise ValueError(
            f"a number in {_where(X) or 'y'} is too large for a float ({error}); rescale it"
        ) from error
    except ValueError as error:
        place = _labels(y) or _words(X)
        if place is None:
            raise
        raise ValueError(f"{error} {place}") from error


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _labels(y: Any) -> str | None:
    """Which labels are not finite."""
    if y is None or np.iscomplexobj(y):
        return None
    try:
        bad = ~np.isfinite(np.asarray(y, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return "(in y; labels must be real numbers)"
    if bad.ndim == 0 or not bad.any():
        return None
    first = np.argwhere(bad)[0][0]
    return f"(y has {np.count_nonzero(bad)} NaN or infinite labels, the first at row {first}; remove or fix them)"


def _words(X: Any) -> str | None:
    place = _where(X)
    if place is None:
        return None
    return f"(in {place}; encode it as numbers, or use levelhead.tabular_pipeline)"


def _where(X: Any) -> str | None:
    """The first column of a table that does not turn into real numbers."""
    names = list(getattr(X, "columns", []))
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if cells.ndim != 2 or np.iscomplexobj(X):
        return None
    for k, column in enumerate(cells.T):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return f"column {k}" + (f" ({names[k]!r})" if names else "")
    return None
