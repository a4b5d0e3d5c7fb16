"""Progress of fits: to a function of the user, and to standard error if an estimator is `verbose`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Report", "report_progress", "reporter", "silent"]

Report = Callable[[str, float], None]  # name of a stage, and the fraction that is done
_SECONDS_BETWEEN_LINES = 10.0
_LISTENERS: ContextVar[tuple[Report, ...]] = ContextVar("levelhead_progress", default=())


def silent(stage: str, share: float) -> None:
    """Report nothing.

    Parameters
    ----------
    stage : str
        Name of a stage.
    share : float
        Fraction that is done.
    """


@contextmanager
def report_progress(listener: Report) -> Iterator[None]:
    """Call a function with the progress of all fits inside a `with` block.

    Parameters
    ----------
    listener : callable
        Called with the name of a stage and the fraction of it that is done, from 0 to 1. It may be called often, and
        from several threads. A stage that ends early, because more rounds are no better, does not reach 1.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import GCPRegressor, report_progress
    >>> seen = []
    >>> with report_progress(lambda stage, share: seen.append((stage, share))):
    ...     model = GCPRegressor(max_iter=6, random_state=0).fit(np.eye(40), np.arange(40.0))
    >>> seen[-1]
    ('networks', 1.0)
    """
    token = _LISTENERS.set((listener,))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


def reporter(estimator: Any) -> Report:
    """Make a function that reports the progress of a fit.

    Parameters
    ----------
    estimator : estimator
        If it is `verbose`, the progress is also written to standard error.

    Returns
    -------
    callable
        To be called with the name of a stage and the fraction that is done; `silent` if nobody listens.
    """
    listeners = [*_LISTENERS.get(), *([_writer()] if estimator.verbose else [])]

    def report(stage: str, share: float) -> None:
        for listener in listeners:
            listener(stage, share)

    return report if listeners else silent


def _writer() -> Report:
    """On a terminal the line is replaced, elsewhere there is a new line at most every ten seconds."""
    last = -float("inf")

    def write(stage: str, share: float) -> None:
        nonlocal last
        if sys.stderr.isatty():
            print(f"\rlevelhead: {stage}, {share:.0%}   ", end="", file=sys.stderr)  # noqa: T201
        elif time.perf_counter() - last >= _SECONDS_BETWEEN_LINES:
            last = time.perf_counter()
            print(f"levelhead: {stage}, {share:.0%}", file=sys.stderr, flush=True)  # noqa: T201

    return write
