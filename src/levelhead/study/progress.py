"""Progress of a study: bars with the remaining time if rich is installed, plain lines otherwise."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, Protocol, TextIO

from levelhead.study.runs import Outcome
from levelhead.study.specs import Spec

_EVERY = 5.0  # seconds between plain lines


class Progress(Protocol):
    """Receives every finished run."""

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Count a finished run."""

    def close(self) -> None:
        """Stop; no more runs follow."""


class Silent:
    """Shows nothing."""

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Pace:
    """Estimates the remaining time from the durations of runs of the same data set and method.

    Data sets and methods without a finished run are assumed to take the mean time of their data set, or of all runs:
    an ensemble on a large table may take a thousand times as long as a network on a small one.
    """

    def __init__(self, specs: Sequence[Spec], clock: Callable[[], float] = time.monotonic) -> None:
        self._left = Counter(map(_kind, specs))
        self._done: Counter[tuple[str, str]] = Counter()
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._clock, self._began = clock, clock()

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Count a finished run."""
        kind = _kind(spec)
        self._left[kind] -= 1
        self._done[kind] += 1
        self._seconds[kind] += outcome.seconds

    def left(self, dataset: str | None = None) -> float:
        """Estimate the remaining time at the current speed of all workers.

        Parameters
        ----------
        dataset : str or None, default=None
            Only runs of this data set; by default all.

        Returns
        -------
        float
            Seconds.
        """
        spent = sum(self._seconds.values())
        if spent == 0:
            return 0.0
        cost = {kind: self._seconds[kind] / n for kind, n in self._done.items()}
        work = 0.0
        for kind, n in self._left.items():
            if dataset in (None, kind[0]):
                alike = [c for (name, _), c in cost.items() if name == kind[0]]
                work += n * (cost[kind] if kind in cost else mean(alike or cost.values()))
        return (self._clock() - self._began) * work / spent


def _kind(spec: Spec) -> tuple[str, str]:
    return spec.dataset_name, spec.method


class Lines:
    """Prints a line with the remaining time every few seconds and at the end."""

    def __init__(self, specs: Sequence[Spec], file: TextIO | None = None, every: float = _EVERY) -> None:
        self._file = sys.stderr if file is None else file
        self._total, self._done, self._failed = len(specs), 0, 0
        self._every, self._last_line = every, time.monotonic()
        self._pace = Pace(specs)

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Count a finished run, and print a line if the last one is old enough."""
        self._pace.advance(spec, outcome)
        self._done += 1
        self._failed += outcome.result is None
        now = time.monotonic()
        if now - self._last_line >= self._every or self._done == self._total:
            self._last_line = now
            left = duration(self._pace.left())
            failed = f", {self._failed} failed" if self._failed else ""
            line = f"{self._done}/{self._total} runs{failed}, {left} left; last: {spec}"
            print(line, file=self._file, flush=True)

    def close(self) -> None:
        """Do nothing."""


class Bars:
    """Shows a progress bar for every data set and one for all, with the remaining time."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True, emoji=False),
        )
        sizes = Counter(spec.dataset_name for spec in specs)
        self._tasks = {
            name: self._bars.add_task(name, total=n, note="", start=False) for name, n in sizes.items()
        }
        self._all: Any = self._bars.add_task("all", total=len(specs), note="")
        self._failed, self._pace = 0, Pace(specs)
        self._bars.start()

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Advance the bar of the data set and that of all."""
        self._pace.advance(spec, outcome)
        self._failed += outcome.result is None
        failed = f", {self._failed} failed" if self._failed else ""
        self._bars.start_task(self._tasks[spec.dataset_name])
        self._bars.advance(self._tasks[spec.dataset_name])
        for name, task in self._tasks.items():
            self._bars.update(task, note=f"{duration(self._pace.left(name))} left")
        self._bars.update(self._all, advance=1, note=f"{duration(self._pace.left())} left{failed}")

    def close(self) -> None:
        """Stop, and leave the bars on the screen."""
        self._bars.stop()


def show(specs: Sequence[Spec], wanted: bool) -> Progress:
    """Create bars on a terminal if rich is installed, lines otherwise; nothing if not wanted."""
    if not wanted or not specs:
        return Silent()
    if sys.stderr.isatty():
        try:
            return Bars(specs)
        except ModuleNotFoundError:
            pass
    return Lines(specs)


def duration(seconds: float) -> str:
    """Format a number of seconds as text."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
