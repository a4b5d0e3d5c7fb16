"""Scheduling overhead of a study for runs of a given length, for every back end.

python bench/study.py [--seconds 1.0] [--runs 20] [--workers 2] [--backends serial threads processes dask]

Every fit waits for the given time. Two figures, as shares of the time inside fits: all of the workers' time that is
not spent in fits (splitting, contaminating, measuring, scheduling, storing), and the part of it outside runs
(scheduling and storing). The start of the workers, once per study, is shown next to them. The target is 5 % for runs of
one second.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from levelhead.study import Data, Spec, Store, backends

_WARM_UP = 4  # runs a worker before the clock starts


class Waiting(RegressorMixin, BaseEstimator):
    """Predicts the mean after a while."""

    def __init__(self, seconds=1.0):
        self.seconds = seconds

    def fit(self, X, y):
        """Wait."""
        time.sleep(self.seconds)
        self.mean_, self.std_ = np.mean(y), np.std(y)
        return self

    def predict(self, X, return_std=False):
        """The mean and the standard deviation of all labels."""
        mean = np.full(len(X), self.mean_)
        return (mean, np.full(len(X), self.std_)) if return_std else mean


class Cost(NamedTuple):
    """Seconds: of the clock once every worker has started, of runs and of fits in that time, and of the start."""

    wall: float
    runs: float
    fits: float
    start: float


def measure(backend: str, seconds: float, n_runs: int, workers: int) -> Cost:
    rng = np.random.default_rng(0)
    first = _WARM_UP * workers
    data = Data("noise", rng.normal(size=(1000, 10)), rng.normal(size=1000))
    specs = [Spec(data, 0.05, "waiting", seed, Waiting(seconds)) for seed in range(n_runs + first)]
    began = ready = time.perf_counter()
    runs = fits = 0.0
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "study.db") as store:
        for k, finished in enumerate(backends.finish(specs, backend, workers)):
            store.record(*finished)
            assert finished.outcome.result is not None, finished.outcome.error
            if k >= first:
                runs += finished.outcome.seconds
                fits += finished.outcome.result.fit_seconds
            if k == first - 1:
                ready = time.perf_counter()
            end = time.perf_counter()
    return Cost(end - ready, runs, fits, ready - began - _WARM_UP * seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--backends", nargs="+", default=list(backends.BACKENDS))
    options = parser.parse_args()
    for backend in options.backends:
        workers = 1 if backend == "serial" else options.workers
        cost = measure(backend, options.seconds, options.runs, workers)
        everything = 100 * (workers * cost.wall - cost.fits) / cost.fits
        scheduling = 100 * (workers * cost.wall - cost.runs) / cost.fits
        print(
            f"{backend:10s} {workers} workers: all but fits {everything:5.2f} %, scheduling and storing "
            f"{scheduling:5.2f} %, start {cost.start:.1f} s"
        )


if __name__ == "__main__":
    main()
