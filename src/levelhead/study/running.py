"""Running a study: missing runs are done and stored, stored runs are kept."""

import os
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from levelhead._deprecated import renamed_attribute
from levelhead.study import backends, progress
from levelhead.study.specs import Spec, shown_percent
from levelhead.study.store import Failure, Store


@dataclass(frozen=True)
class Summary:
    """Summary of a call of `run_study`; `str` gives it as text.

    Attributes
    ----------
    finished : int
        Number of runs finished in this call.
    cached : int
        Number of runs that were already in the store.
    failures : tuple of Failure
        Runs that failed in this call; they are repeated next time.
    wall_seconds : float
        Duration of the call.
    run_seconds : float
        Sum of the durations of the runs, over all workers.
    """

    finished: int
    cached: int
    failures: tuple[Failure, ...]
    wall_seconds: float
    run_seconds: float
    found = renamed_attribute("found", "cached")

    def __str__(self) -> str:
        spent, compute = progress.duration(self.wall_seconds), progress.duration(self.run_seconds)
        lines = [
            f"{self.finished} runs finished, {self.cached} cached; {spent} ({compute} of computing time)"
        ]
        if self.failures:
            first = self.failures[0]
            error = first.error.strip().splitlines()[-1]
            lines.append(
                f"{len(self.failures)} failed and will be repeated next time; the first: {first.dataset}, "
                f"{shown_percent(first.contamination)}, {first.method}, split {first.seed}: {error}"
            )
        return "\n".join(lines)


def run_study(
    specs: Iterable[Spec],
    store_path: str | os.PathLike[str],
    backend: Any = "serial",
    *,
    n_jobs: int = 1,
    show_progress: bool = True,
) -> Summary:
    """Run all specs that are not in the store yet.

    A study can be interrupted at any time; the same call continues it.

    Parameters
    ----------
    specs : iterable of Spec
        The study; duplicates are run once.
    store_path : path-like
        SQLite file with the results; created if it does not exist.
    backend : str, distributed.Client or concurrent.futures.Executor, default="serial"
        "serial", "threads", "processes", "dask", or the address of a Dask scheduler. The results do not depend on it.
    n_jobs : int, default=1
        Number of workers; -1 means one per core.
    show_progress : bool, default=True
        Whether to report the progress on stderr.

    Returns
    -------
    Summary
        What was run and what failed.
    """
    study = list(dict.fromkeys(specs))
    began = time.monotonic()
    with Store(store_path) as store:
        done = store.done()
        missing = [spec for spec in study if spec.digest not in done]
        report = progress.show(missing, show_progress)
        finished, seconds = 0, 0.0
        # Closed immediately after an error, so that no worker continues.
        with closing(report), closing(backends.finish(missing, backend, n_jobs)) as outcomes:
            for spec, outcome in outcomes:
                store.record(spec, outcome)
                report.advance(spec, outcome)
                finished += outcome.result is not None
                seconds += outcome.seconds
        failures = tuple(store.failures(missing))
    return Summary(finished, len(study) - len(missing), failures, time.monotonic() - began, seconds)
