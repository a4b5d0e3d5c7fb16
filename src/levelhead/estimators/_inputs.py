"""Error messages about bad tables: which column or row, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np

from levelhead.tables.encoding import frames


@contextmanager
def explained(X: Any, y: Any = None, *, several: bool = False) -> Iterator[None]:
    """Add the place of the cause to an error about a table, if it can be found; y may have `several` targets or not."""
    _refuse_dates(y)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers, which only serve a test
            yield
    except OverflowError as error:
        raise ValueError(
            f"a number in {_first_bad_column(X) or 'y'} is too large for a float ({error}); rescale it"
        ) from error
    except (TypeError, ValueError) as error:
        # Columns of frames are encoded. scikit-learn's TypeErrors about X stay, and errors that name a column.
        named = isinstance(error, TypeError) or frames.library(X) is not None
        named = named or str(error).startswith("column ") or " was fitted to a frame " in str(error)
        place = _bad_labels(y, several) or (None if named else _bad_column(X))
        if place is None:
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


def _bad_labels(y: Any, several: bool) -> str | None:
    """How many labels are not finite, and the first of them."""
    if y is None or np.iscomplexobj(y):
        return None
    try:
        bad = ~np.isfinite(np.asarray(y, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return "(in y; labels must be real numbers)"
    if bad.ndim == 2 and bad.shape[1] > 1 and not several:
        return f"(y has {bad.shape[1]} columns; use MultiTargetRegressor for several targets)"
    if bad.ndim == 0 or not bad.any():
        return None
    row, *column = np.argwhere(bad)[0].tolist()
    place = f"row {row}, column {column[0]}" if several and column else f"row {row}"
    return f"(y has {np.count_nonzero(bad)} NaN or infinite labels, the first at {place}; remove or fix them)"


def _bad_column(X: Any) -> str | None:
    place = _first_bad_column(X)
    if place is None:
        return None
    return (
        f"(in {place}; encode it as numbers, or give a frame, whose categories, dates and text are encoded)"
    )


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
