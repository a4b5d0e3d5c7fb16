"""A whole study: what is missing is run and stored, what is there already is left alone."""

import os
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from levelhead.study import backends, progress
from levelhead.study.specs import Spec
from levelhead.study.store import Failure, Store


@dataclass(frozen=True)
class Summary:
    """What became of a call of `run_study`.

    Attributes
    ----------
    finished : runs done in this call.
    found : runs that were in the store already.
    failures : runs that failed in this call; they are tried again next time.
    wall_seconds : from beginning to end.
    run_seconds : sum over the runs of this call, whichever worker did them.
    """

    finished: int
    found: int
    failures: tuple[Failure, ...]
    wall_seconds: float
    run_seconds: float

    def __str__(self) -> str:
        spent, compute = progress.duration(self.wall_seconds), progress.duration(self.run_seconds)
        lines = [f"{self.finished} runs finished, {self.found} cached; {spent} ({compute} of computing time)"]
        if self.failures:
            first = self.failures[0]
            lines.append(
                f"{len(self.failures)} failed and will be repeated next time; the first: {first.dataset}, "
                f"λ = {first.share:g}, {first.method}, split {first.seed}: {first.error.strip().splitlines()[-1]}"
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
    """Do all runs that the store does not hold yet; stop it as you like and call it again to go on.

    Parameters
    ----------
    specs : the study; a spec that comes twice is run once.
    store_path : the SQLite file, made if it is not there.
    backend : "serial", "threads", "processes", "dask", the address of a Dask scheduler, a `distributed.Client` or an
        `Executor`. The numbers do not depend on it.
    n_jobs : workers to start; -1 means one a core.
    show_progress : whether to report on stderr.
    """
    study = list(dict.fromkeys(specs))
    began = time.monotonic()
    with Store(store_path) as store:
        done = store.done()
        missing = [spec for spec in study if spec.digest not in done]
        report = progress.show(missing, show_progress)
        finished, seconds = 0, 0.0
        # Closed at once, whatever happens, so that no worker goes on for nobody.
        with closing(report), closing(backends.finish(missing, backend, n_jobs)) as outcomes:
            for spec, outcome in outcomes:
                store.record(spec, outcome)
                report.advance(spec, outcome)
                finished += outcome.result is not None
                seconds += outcome.seconds
        failures = tuple(store.failures(missing))
    return Summary(finished, len(study) - len(missing), failures, time.monotonic() - began, seconds)
