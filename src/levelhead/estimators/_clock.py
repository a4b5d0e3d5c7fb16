"""Time limits of a fit."""

import time

from levelhead.estimators._constraints import POSITIVE

TIME_LIMIT = [POSITIVE, None]
VERBOSE = ["boolean", "verbose"]


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
