"""Boosted trees: how honest their variances are where the noise is known, and what a fit costs beside LightGBM.

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
            told = np.mean([_calibrated(make(), share, seed) for seed in range(n_seeds)], axis=0)
            shown = " | ".join(f"{100 * value:.1f} %" for value in told[:3])
            lines.append(f"| {share:.0%} | {name} | {shown} | {told[3]:.2f} |")
    return "\n".join(lines)


def _calibrated(model, share: float, seed: int) -> tuple[float, ...]:
    train, test = heteroscedastic(2000, random_state=seed), heteroscedastic(2000, random_state=100 + seed)
    spoilt = Replaced()(train.X, train.y_clean, contamination=share, random_state=seed)
    answer = model.fit(train.X, spoilt.y).predict_dist(test.X)
    held = [metrics.coverage(test.y_clean, *answer.interval(level)) for level in (0.5, 0.9)]
    actual = metrics.rmse(test.y_clean, answer.mean)
    return model.contamination_, *held, float(np.sqrt(answer.var.mean())) / actual


def time_beside_lightgbm() -> str:
    """Seconds of one fit over those of LightGBM with the same number of trees for each of two quantities."""
    lines = ["| data | trees | time of a fit |", "|---|---:|---:|"]
    for dataset in ("concrete", "power"):
        spoilt, _, _ = rows_of(dataset, 5, SEEDS[0])
        X, y = np.asarray(spoilt.X), spoilt.y
        mine, theirs = [], []
        for _ in range(5):
            began = time.perf_counter()
            model = GCPBoostingRegressor(random_state=0, n_jobs=1).fit(X, y)
            mine.append(time.perf_counter() - began)
            leaves = max(map(int, re.findall(r"num_leaves=(\d+)", model.mean_forests_[0].text)))
            settings = {"num_leaves": leaves, "min_data_in_leaf": 3, "learning_rate": 0.05, "num_threads": 1}
            began = time.perf_counter()
            for _ in range(2):
                lgb.train(settings | {"verbosity": -1}, lgb.Dataset(X, y), model.n_iter_)
            theirs.append(time.perf_counter() - began)
        ratio = np.median(mine) / np.median(theirs)
        lines.append(f"| {dataset} | {model.n_iter_} | {ratio:.1f} × LightGBM's |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    tables = {"calibration": calibration(options.seeds), "time": time_beside_lightgbm()}
    for name, text in tables.items():
        print(f"{text}\n")
        (TABLES / f"boosting_{name}.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
