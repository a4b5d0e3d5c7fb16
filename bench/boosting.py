"""Boosted trees: calibration of their variances where the noise is known, and the time of a fit relative to LightGBM.

python bench/boosting.py [--seeds 2]
"""

import argparse
import re
import time
from pathlib import Path

import lightgbm as lgb
import numpy as np
from accuracy import SEEDS
from peers import rows_of

from levelhead import GCPBoostingRegressor, GCPRegressor, metrics
from levelhead.contamination import Replaced
from levelhead.datasets import heteroscedastic

TABLES = Path(__file__).parents[1] / "docs/tables"
MAKERS = {
    "trees": lambda: GCPBoostingRegressor(random_state=0, n_jobs=1),
    "networks": lambda: GCPRegressor(n_members=5, random_state=0, n_jobs=1),
}


def calibration(n_seeds: int) -> str:
    """Coverage of new clean labels, and predicted over actual squared error, on data with known noise."""
    lines = [
        "| wrong labels | model | ε̂ | 50 % intervals hold | 90 % intervals hold | predicted / actual error |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for share in (0.0, 0.05, 0.2):
        for name, make in MAKERS.items():
            means = np.mean([_calibrated(make(), share, seed) for seed in range(n_seeds)], axis=0)
            shown = " | ".join(f"{100 * value:.1f} %" for value in means[:3])
            lines.append(f"| {share:.0%} | {name} | {shown} | {means[3]:.2f} |")
    return "\n".join(lines)


def _calibrated(model, share: float, seed: int) -> tuple[float, ...]:
    train, test = heteroscedastic(2000, random_state=seed), heteroscedastic(2000, random_state=100 + seed)
    contaminated = Replaced()(train.X, train.y_clean, contamination=share, random_state=seed)
    predicted = model.fit(train.X, contaminated.y).predict_dist(test.X)
    covered = [metrics.coverage(test.y_clean, *predicted.interval(level)) for level in (0.5, 0.9)]
    actual = metrics.rmse(test.y_clean, predicted.mean)
    return model.contamination_, *covered, float(np.sqrt(predicted.var.mean())) / actual


def time_relative_to_lightgbm() -> str:
    """Time of one fit relative to LightGBM, with the same number of trees for each of two quantities."""
    lines = ["| data | trees | time of a fit |", "|---|---:|---:|"]
    for dataset in ("concrete", "power"):
        train, _, _ = rows_of(dataset, 5, SEEDS[0])
        X, y = np.asarray(train.X), train.y
        ours, theirs = [], []
        for _ in range(5):
            began = time.perf_counter()
            model = GCPBoostingRegressor(random_state=0, n_jobs=1).fit(X, y)
            ours.append(time.perf_counter() - began)
            leaves = max(map(int, re.findall(r"num_leaves=(\d+)", model.mean_forests_[0].text)))
            settings = {"num_leaves": leaves, "min_data_in_leaf": 3, "learning_rate": 0.05, "num_threads": 1}
            began = time.perf_counter()
            for _ in range(2):
                lgb.train(settings | {"verbosity": -1}, lgb.Dataset(X, y), model.n_iter_)
            theirs.append(time.perf_counter() - began)
        ratio = np.median(ours) / np.median(theirs)
        lines.append(f"| {dataset} | {model.n_iter_} | {ratio:.1f} × LightGBM's |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    tables = {"calibration": calibration(options.seeds), "time": time_relative_to_lightgbm()}
    for name, text in tables.items():
        print(f"{text}\n")
        (TABLES / f"boosting_{name}.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
