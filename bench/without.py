"""What each part of the boosted trees contributes: the same fits without it, on tables that no part was chosen on.

python bench/without.py [--datasets energy airfoil …] [--splits 3] [--table]

The tables are read from the folder `tables` in LEVELHEAD_DATA: CSV files with the target in the last column. A split
has up to 1,500 training rows and up to 4,000 clean test rows (10 % of small tables). Runs are appended to
bench/results/without_tables.csv; stored runs are not repeated.
"""

import argparse
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from peers import behind
from resuming import read, run_missing
from sklearn.model_selection import train_test_split

from levelhead import GCPBoostingRegressor, metrics
from levelhead.contamination import Contaminated, Contamination, Replaced, Swapped
from levelhead.datasets import ENVIRONMENT
from levelhead.estimators.trees import growing

RESULT = Path(__file__).parent / "results/without_tables.csv"
TABLE = Path(__file__).parents[1] / "docs/tables/without_tables.md"
MEASURES = ("rmse", "auc")
COLUMNS = ("dataset", "labels", "seed", "without", *MEASURES)
DATASETS = ("energy", "airfoil", "wine_white", "california", "kc_house", "diamonds")
LABELS: Mapping[str, tuple[Contamination, float]] = {
    "clean": (Replaced(), 0.0),
    "20 % replaced": (Replaced(), 0.2),
    "10 % swapped": (Swapped(), 0.1),
}
WHOLE = "nothing"
_TRAIN, _TEST, _TEST_SHARE = 1500, 4000, 0.1


class _SeeAll(growing._Trees):
    """Fold models that also learn from the labels that they judge."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._seen = np.ones_like(self._seen)


# What is left out → where, and what stands in its place.
PARTS: Mapping[str, tuple[ModuleType, str, Any] | None] = {
    WHOLE: None,
    "more leaves for ln s": (growing, "_SCALE_LEAVES", (4, 4)),
    "an s that depends on x": (growing, "_LARGEST_SLOPE", 0.0),
    "unseen labels": (growing, "_Trees", _SeeAll),
}


def rows_of(dataset: str, labels: str, seed: int) -> tuple[Contaminated, np.ndarray, np.ndarray]:
    """Training rows with wrong labels, and clean test rows; categories become indicators."""
    frame = pd.read_csv(Path(os.environ[ENVIRONMENT]) / "tables" / f"{dataset}.csv").dropna()
    X = pd.get_dummies(frame.iloc[:, :-1], dtype=float).to_numpy(dtype=np.float64)
    y = frame.iloc[:, -1].to_numpy(dtype=np.float64)
    n_test = max(round(_TEST_SHARE * len(y)), min(_TEST, len(y) - _TRAIN))
    X, X_test, y, y_test = train_test_split(X, y, test_size=n_test, random_state=seed)
    kind, share = LABELS[labels]
    return kind(X[:_TRAIN], y[:_TRAIN], contamination=share, random_state=seed), X_test, y_test


def run(dataset: str, labels: str, seed: int, without: str) -> dict[str, float]:
    train, X_test, y_test = rows_of(dataset, labels, seed)
    left_out = PARTS[without]
    with patch.object(*left_out) if left_out else nullcontext():
        model = GCPBoostingRegressor(random_state=seed, n_jobs=1).fit(np.asarray(train.X), train.y)
    predicted = model.predict_dist(X_test)
    return {
        "rmse": metrics.rmse(y_test, predicted.mean),
        "auc": metrics.retention_auc(y_test, predicted.mean, predicted.var),
    }


def table(rows: list[dict[str, str]]) -> str:
    """By how many percent RMSE and AUC grow without each part, with the standard error over the splits."""
    runs: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for row in rows:
        cell = runs.setdefault((row["dataset"], row["labels"], row["without"]), {})
        cell[row["seed"]] = np.array([float(row[c]) for c in MEASURES])
    parts = [part for part in PARTS if part != WHOLE]
    lines = [
        f"| data | labels | splits | RMSE / AUC | {' | '.join(f'without {part}' for part in parts)} |",
        "|---|---|---:|---:|" + "---:|" * len(parts),
    ]
    for dataset in DATASETS:
        for labels in LABELS:
            if whole := runs.get((dataset, labels, WHOLE)):
                shown = " / ".join(_short(value) for value in np.mean(list(whole.values()), axis=0))
                changes = [_change(whole, runs.get((dataset, labels, part), {})) for part in parts]
                lines.append(f"| {dataset} | {labels} | {len(whole)} | {shown} | {' | '.join(changes)} |")
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _change(whole: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> str:
    seeds = [seed for seed in whole if seed in other]
    if len(seeds) < 2:
        return "–"
    before, after = (np.array([runs[seed] for seed in seeds]).T for runs in (whole, other))
    if (before == after).all():
        return "the same"
    changes = [100 * np.array(behind(*pair)) for pair in zip(after, before, strict=True)]
    return " / ".join(f"{round(change):+d} ± {error:.0f}" for change, error in changes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="print the stored results, run nothing")
    options = parser.parse_args()
    if not options.table:
        specs = [
            (dataset, labels, seed, without)
            for seed in range(options.splits)
            for dataset in options.datasets
            for labels in LABELS
            for without in PARTS
        ]
        run_missing(RESULT, COLUMNS, specs, run)
    text = table(read(RESULT))
    print(text)
    TABLE.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
