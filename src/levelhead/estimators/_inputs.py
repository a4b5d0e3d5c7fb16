"""Error messages about bad tables: which column or row, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs

_RANGES: dict[str, tuple[str, Any]] = {
    "learning_rate_init": ("a number above 0", lambda v: 0 < v < np.inf),
    "dropout": ("a number from 0 to below 1", lambda v: 0 <= v < 1),
    "weight_decay": ("a number of at least 0", lambda v: 0 <= v < np.inf),
    "validation_fraction": ("a number between 0 and 1", lambda v: 0 < v < 1),
    "tol": ("a number of at least 0", lambda v: v >= 0),
}
_SWITCHES = ("shared_trunk", "out_of_fold", "early_stopping", "drop_last", "warm_start")


def check_numbers(estimator: Any) -> None:
    """Refuse parameters that are no numbers or truth values, or out of range, by the names that a user gave them."""
    for name, (wanted, allowed) in _RANGES.items():
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not allowed(value):
            raise ValueError(f"{name} is {value!r}; give {wanted}")
    for name in ("n_members", "n_iter_no_change"):
        value = getattr(estimator, name)
        if not is_size(value):
            raise ValueError(f"{name} is {value!r}; give a whole number above 0")
    sizes = estimator.hidden_layer_sizes
    if not all(is_size(size) for size in np.atleast_1d(np.asarray(sizes, dtype=object)).tolist()):
        raise ValueError(f"hidden_layer_sizes is {sizes!r}; give whole numbers above 0, as in (50, 50)")
    for name in _SWITCHES:
        value = getattr(estimator, name)
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} is {value!r}; give True or False")
    if not isinstance(estimator.verbose, (bool, np.bool_, int, np.integer)):
        raise ValueError(f"verbose is {estimator.verbose!r}; give True or False")
    n_threads(estimator.n_jobs)


def n_threads(n_jobs: Any) -> int:
    """The threads that `n_jobs` means, as scikit-learn counts them."""
    known = n_jobs is None or (isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool))
    if not known or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; give a whole number of threads, or -1 for all cores")
    return int(effective_n_jobs(n_jobs))


@contextmanager
def explained(X: Any, y: Any = None) -> Iterator[None]:
    """Add the place of the cause to an error about a table, if it can be found."""
    _refuse_dates(y)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers, which only serve a test
            yield
    except OverflowError as error:
        raise ValueError(
            f"a number in {_first_bad_column(X) or 'y'} is too large for a float ({error}); rescale it"
        ) from error
    except (TypeError, ValueError) as error:
        place = _bad_labels(y) or (_bad_column(X) if isinstance(error, ValueError) else None)
        if place is None:  # scikit-learn's TypeErrors about X are not changed
            raise
        raise ValueError(f"{error} {place}") from error


def _refuse_dates(y: Any) -> None:
    """Dates would turn into numbers of days or nanoseconds since 1970."""
    try:
        labels = np.asarray(y)
    except ValueError:  # ragged, which scikit-learn reports
        return
    dates = labels.dtype == object and any(isinstance(label, (date, timedelta)) for label in labels.flat)
    if dates or labels.dtype.kind in "mM":
        raise ValueError(
            f"y holds dates or durations ({labels.dtype}), but labels must be numbers; give, for example, "
            "(y - y.min()) / np.timedelta64(1, 'D')"
        )


def is_size(value: Any) -> bool:
    """Whether a value is a whole number above 0."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _bad_labels(y: Any) -> str | None:
    """How many labels are not finite, and the first of them."""
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


def _bad_column(X: Any) -> str | None:
    place = _first_bad_column(X)
    if place is None:
        return None
    return f"(in {place}; encode it as numbers, or use levelhead.tabular_pipeline)"


def _first_bad_column(X: Any) -> str | None:
    """The first column of a table that cannot be converted to real numbers."""
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
