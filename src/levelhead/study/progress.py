"""How far a study is: bars with the time left if rich is installed, plain lines otherwise."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from levelhead.study.runs import Outcome
from levelhead.study.specs import Spec

_EVERY = 5.0  # seconds between plain lines


class Progress(Protocol):
    """Told of every finished run."""

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """One more is done."""

    def close(self) -> None:
        """No more will come."""


class Silent:
    """Says nothing."""

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line every few seconds and at the end, with the time left."""

    def __init__(self, specs: Sequence[Spec], file: TextIO | None = None, every: float = _EVERY) -> None:
        self._file = sys.stderr if file is None else file
        self._total, self._done, self._failed = len(specs), 0, 0
        self._every = every
        self._began = self._told = time.monotonic()

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Count, and tell if the last line is old enough."""
        self._done += 1
        self._failed += outcome.result is None
        now = time.monotonic()
        if now - self._told >= self._every or self._done == self._total:
            self._told = now
            left = (now - self._began) / self._done * (self._total - self._done)
            failed = f", {self._failed} failed" if self._failed else ""
            line = f"{self._done}/{self._total} runs{failed}, {duration(left)} left; last: {spec}"
            print(line, file=self._file, flush=True)

    def close(self) -> None:
        """Nothing to tidy."""


class Bars:
    """A bar for every data set and one for all, with the time left."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            speed_estimate_period=600,
        )
        sizes = Counter(spec.dataset_name for spec in specs)
        self._tasks = {
            name: self._bars.add_task(name, total=n, note="", start=False) for name, n in sizes.items()
        }
        self._all: Any = self._bars.add_task("all", total=len(specs), note="")
        self._failed = 0
        self._bars.start()

    def advance(self, spec: Spec, outcome: Outcome) -> None:
        """Move two bars."""
        task = self._tasks[spec.dataset_name]
        self._bars.start_task(task)
        self._bars.advance(task)
        self._failed += outcome.result is None
        self._bars.update(self._all, advance=1, note=f"{self._failed} failed" if self._failed else "")

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self._bars.stop()


def show(specs: Sequence[Spec], wanted: bool) -> Progress:
    """Bars on a terminal with rich, lines without, nothing if nothing is wanted."""
    if not wanted or not specs:
        return Silent()
    if sys.stderr.isatty():
        try:
            return Bars(specs)
        except ModuleNotFoundError:
            pass
    return Lines(specs)


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
