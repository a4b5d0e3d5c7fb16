"""How long one raw row and a thousand take through `predict_dist`, with mean, standard deviation and a 90 % interval.

    python bench/latency.py            # rows of frames and arrays, beside a pipeline of skrub and LightGBM
    python bench/latency.py --many     # 100,000 rows, beside one LightGBM model of 1,000 trees; fits take minutes

The frame has numbers, categories, dates and gaps; the array 20 columns of numbers. Times are CPU milliseconds of this
process, the smallest and the median of nine repetitions: other work on the computer changes them less than the time.
The first command writes bench/results/latency.json and docs/tables/latency.md.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from lightgbm import LGBMRegressor
from sklearn.pipeline import make_pipeline
from skrub import TableVectorizer

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor

TARGETS = {1: 5.0, 1000: 20.0}  # milliseconds at most, for frames; one row of an array: 1 ms
N = 2000
MANY = 100_000
ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/latency.json"
PAGE = ROOT / "docs/tables/latency.md"


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """A frame as people have them, and labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": np.where(rng.random(N) < 0.1, np.nan, rng.uniform(30, 120, N)),
            "rooms": rng.integers(1, 6, N),
            "heating": rng.choice(["gas", "oil", "heat pump"], N),
            "street": rng.choice([f"street {k}" for k in range(50)], N),
            "built": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 25_000, N), unit="D"),
        }
    )
    y = 10 * frame["area"].fillna(75) + 200 * (frame["heating"] == "oil") + 50 * rng.normal(size=N)
    return frame, y.to_numpy()


def numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """An array of 20 columns, and labels of which one in twenty is wrong."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 20))
    y = X[:, 0] + 2 * np.abs(X[:, 1]) + np.sin(2 * X[:, 2]) * X[:, 3] + 0.3 * rng.normal(size=n)
    y[::20] += 5
    return X, y


def used(predict: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Predict, and read what most users read."""

    def read(rows: Any) -> Any:
        prediction = predict(rows)
        return prediction.mean, prediction.std, prediction.interval(0.9)

    return read


def milliseconds(call: Callable[[], Any], number: int) -> list[float]:
    """CPU time of one call, in nine repetitions."""
    call()
    times = []
    for _ in range(9):
        start = time.process_time()
        for _ in range(number):
            call()
        times.append(1e3 * (time.process_time() - start) / number)
    return times


def rows() -> None:
    """One row and a thousand."""
    frame, y = table()
    X, labels = numbers(N)
    auto = AutoRegressor(random_state=0).fit(frame, y)
    arrays = AutoRegressor(random_state=0).fit(X, labels)
    peer = make_pipeline(TableVectorizer(), LGBMRegressor(n_jobs=1, verbosity=-1)).fit(frame, y)
    networks = GCPRegressor(n_members=5, random_state=0).fit(frame, y)
    trees = GCPBoostingRegressor(random_state=0).fit(frame, y)
    cases: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "AutoRegressor, pandas": (used(auto.predict_dist), frame),
        "AutoRegressor, polars": (used(auto.predict_dist), pl.from_pandas(frame)),
        "AutoRegressor, pyarrow": (
            used(auto.predict_dist),
            pa.Table.from_pandas(frame, preserve_index=False),
        ),
        "AutoRegressor, array": (used(arrays.predict_dist), X),
        "GCPRegressor(n_members=5), pandas": (used(networks.predict_dist), frame),
        "GCPBoostingRegressor, pandas": (used(trees.predict_dist), frame),
        "skrub + LightGBM, mean only": (peer.predict, frame),
    }
    found = {}
    for name, (predict, table_) in cases.items():
        found[name] = [
            milliseconds(lambda p=predict, part=table_[:n]: p(part), 20 if n == 1 else 3) for n in TARGETS
        ]
        print(f"{name}: {', '.join(f'{min(times):.2f}' for times in found[name])} ms", flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found), encoding="utf-8")


def page(found: dict[str, list[list[float]]]) -> str:
    """The table of the manual: the smallest time and the median."""
    lines = ["| CPU ms, smallest (median) | 1 row | 1,000 rows |", "|---|---:|---:|"]
    for name, by_rows in found.items():
        cells = [f"{min(times):.2f} ({statistics.median(times):.2f})" for times in by_rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def many() -> None:
    """100,000 rows on one thread; the ratio to LightGBM should be at most 1.5."""
    X, y = numbers(MANY)
    peer = LGBMRegressor(objective="l1", n_estimators=1000, n_jobs=2, verbosity=-1).fit(X, y)
    auto = AutoRegressor(random_state=0).fit(X, y)
    auto.set_params(n_jobs=1)
    for model in auto.estimators_:
        model.set_params(n_jobs=1)
    times = {"LightGBM": [], "AutoRegressor": []}  # type: dict[str, list[float]]
    for _ in range(3):
        for name, predict in (
            ("LightGBM", lambda: peer.predict(X, num_threads=1)),
            ("AutoRegressor", lambda: auto.predict_dist(X)),
        ):
            start = time.process_time()
            predict()
            times[name].append(time.process_time() - start)
    fastest = {name: min(spent) for name, spent in times.items()}
    ratio = fastest["AutoRegressor"] / fastest["LightGBM"]
    print(f"{MANY:,} rows, CPU s: {fastest}, ratio {ratio:.2f}; {auto.reason_}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--many", action="store_true", help="predict 100,000 rows instead")
    (many if parser.parse_args().many else rows)()
