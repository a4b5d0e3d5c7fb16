"""Time limits and progress of a fit."""

import sys
import time
from collections.abc import Callable
from typing import Any

from levelhead.estimators._constraints import POSITIVE

TIME_LIMIT = [POSITIVE, None]
VERBOSE = ["boolean", "verbose"]
_SECONDS_BETWEEN_LINES = 10.0
Report = Callable[[str], None]


class Clock:
    """Measures the time that is left of a limit.

    Parameters
    ----------
    limit : float or None, default=None
        Seconds from now; None is no limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._end = float("inf") if limit is None else time.perf_counter() + limit

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._end < float("inf")

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - time.perf_counter()) if self.limited else float("inf")

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.limited and self.left == 0

    def part(self, share: float) -> "Clock":
        """A clock for a share of the time that is left."""
        return Clock(share * self.left if self.limited else None)


def reporter(estimator: Any) -> Report:
    """A function that writes the progress of a fit to standard error, if the estimator is `verbose`.

    On a terminal the line is replaced, elsewhere there is a new line at most every ten seconds.
    """
    if not estimator.verbose:
        return lambda text: None
    last = [-float("inf")]

    def report(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\rlevelhead: {text}   ", end="", file=sys.stderr)  # noqa: T201
        elif time.perf_counter() - last[0] >= _SECONDS_BETWEEN_LINES:
            last[0] = time.perf_counter()
            print(f"levelhead: {text}", file=sys.stderr, flush=True)  # noqa: T201

    return report
