"""Dates as people write them: the format of a column, learnt from all of its cells."""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.tables import _frames

_DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y",
    "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%Y-%m",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S%.f")
_ZONES = ("", "Z", "%z")
FORMATS = frozenset(
    day + time + zone for day in _DAYS for time in _TIMES for zone in (_ZONES if time else ("",))
)
ISO = "%Y-%m-%d"  # the only order of year, month and day that is never exchanged
_PATTERNS = {
    "%Y": "[0-9]{4}", "%y": "[0-9]{2}", "%m": "[0-9]{1,2}", "%d": "[0-9]{1,2}", "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]{3,9}", "%H": "[0-9]{1,2}", "%M": "[0-9]{2}", "%S": "[0-9]{2}", "%.f": r"\.[0-9]{1,9}",
    "%z": "[+-][0-9]{2}:?[0-9]{2}",
}  # fmt: skip
_LIKE_A_DATE = r"^[0-9A-Za-z]{1,9}[-/. ][0-9A-Za-z]{1,9},?(?:[-/. ][0-9]{2,4})?(?:[T ].*)?$"


class LearntDates(NamedTuple):
    """What the cells of a column say about their dates.

    Attributes
    ----------
    format : str
        Format of `datetime.strptime`.
    other : str or None
        Another format that fits as many cells, with day and month exchanged.
    readable : int
        Cells that are dates in this format.
    """

    format: str
    other: str | None
    readable: int


def learn(cells: Any, least: float) -> LearntDates | None:
    """Learn how the dates of a column are written.

    Parameters
    ----------
    cells : polars.Series
        Cells without blanks around them; null where one is missing.
    least : float
        Share of the cells that must be dates.

    Returns
    -------
    LearntDates or None
        The format; None if too few cells are dates.
    """
    frame = cells.drop_nulls().alias("cell").value_counts(name="n")
    total = int(frame["n"].sum())
    like = frame.filter(frame["cell"].str.contains(_LIKE_A_DATE))
    if not total or like["n"].sum() < least * total:
        return None
    found: list[tuple[int, str]] = []
    for form in sorted(FORMATS, key=_preference):
        shaped = like.filter(like["cell"].str.contains(_pattern(form)))
        if shaped["n"].sum() >= least * total:
            found.append((int(shaped.filter(_moments(shaped["cell"], form).is_not_null())["n"].sum()), form))
    best = max(found, key=lambda entry: entry[0], default=(0, ""))
    if not best[0] or best[0] < least * total:
        return None
    other = [form for count, form in found if count == best[0] and form != best[1]]
    return LearntDates(best[1], other[0] if other else None, best[0])


def parse(cells: Any, form: str) -> NDArray[np.datetime64]:
    """Read the cells of a column; times with a zone become UTC.

    Parameters
    ----------
    cells : polars.Series
        Cells without blanks around them; null where one is missing.
    form : str
        Format of `datetime.strptime`.

    Returns
    -------
    ndarray of datetime64
        Moments; NaT where a cell is missing or not a date in this format.
    """
    shaped = cells.str.contains(_pattern(form)).fill_null(False)
    pl = _frames.polars()
    moments = pl.DataFrame({"moment": _moments(cells, form), "shaped": shaped})
    kept = moments.select(pl.when("shaped").then(pl.col("moment")))["moment"]
    return np.asarray(kept.to_numpy(), dtype="datetime64[us]")


def parse_iso(cells: Any) -> NDArray[np.datetime64]:
    """Read ISO dates: year, month, day, and possibly a time.

    Parameters
    ----------
    cells : polars.Series
        Cells without blanks around them; null where one is missing.

    Returns
    -------
    ndarray of datetime64
        Moments; NaT where a cell is not an ISO date.
    """
    moments = np.full(len(cells), np.datetime64("NaT", "us"))
    if cells.str.starts_with("1").any() or cells.str.starts_with("2").any():  # cheap, and true for such dates
        for form in sorted(form for form in FORMATS if form.startswith(ISO)):
            found = parse(cells, form)
            moments = np.where(np.isnat(moments), found, moments)
    return moments


def _moments(cells: Any, form: str) -> Any:
    zone = form.endswith("%z")
    whole = form if "%d" in form else f"{form}-%d"
    cells = cells if "%d" in form else cells + "-01"
    moments = cells.str.to_datetime(whole, strict=False, time_unit="us", time_zone="UTC" if zone else None)
    return moments.dt.replace_time_zone(None) if zone else moments


def _pattern(form: str) -> str:
    pieces = re.split(r"(%\.f|%[A-Za-z])", form)
    return f"^{''.join(_PATTERNS.get(piece, re.escape(piece)) for piece in pieces)}$"


def _preference(form: str) -> tuple[int, int, str]:
    """Formats in the order of the list above."""
    day = next(k for k, start in enumerate(sorted(_DAYS, key=len, reverse=True)) if form.startswith(start))
    return _DAYS.index(sorted(_DAYS, key=len, reverse=True)[day]), len(form), form
