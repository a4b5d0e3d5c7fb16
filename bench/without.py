"""What each part of the boosted trees is worth: the same fits without it, on splits that no part was chosen by.

python bench/without.py [--datasets boston concrete yacht power] [--splits 10] [--table]

Runs are appended to bench/results/without.csv; what is there already is not run again.
"""

import argparse
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from accuracy import SHARES
from peers import MEASURES, behind, rows_of
from resuming import read, run_missing

from levelhead import GCPBoostingRegressor, metrics
from levelhead.estimators.trees import growing
from levelhead.study.paper.table1 import SEEDS

RESULT = Path(__file__).parent / "results/without.csv"
TABLE = Path(__file__).parents[1] / "docs/tables/without.md"
COLUMNS = ("dataset", "share", "seed", "without", *MEASURES)
DATASETS = ("boston", "concrete", "yacht", "power")
UNUSED = SEEDS[30:]  # neither the tables' splits nor those that parts were chosen by
WHOLE = "nothing"


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


def run(dataset: str, share: int, seed: int, without: str) -> dict[str, float]:
    spoilt, X_test, y_test = rows_of(dataset, share, seed)
    left_out = PARTS[without]
    with patch.object(*left_out) if left_out else nullcontext():
        model = GCPBoostingRegressor(random_state=seed, n_jobs=1).fit(np.asarray(spoilt.X), spoilt.y)
    said = model.predict_dist(np.asarray(X_test))
    return {
        "rmse": metrics.rmse(y_test, said.mean),
        "auc": metrics.retention_auc(y_test, said.mean, said.var),
    }


def table(rows: list[dict[str, str]]) -> str:
    """By how many percent RMSE and AUC grow without each part, with the standard error over the splits."""
    runs: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for row in rows:
        cell = runs.setdefault((row["dataset"], row["share"], row["without"]), {})
        cell[row["seed"]] = np.array([float(row[c]) for c in MEASURES])
    parts = [part for part in PARTS if part != WHOLE]
    lines = [
        f"| data | λ | splits | RMSE / AUC | {' | '.join(f'without {part}' for part in parts)} |",
        "|---|---:|---:|---:|" + "---:|" * len(parts),
    ]
    for dataset in DATASETS:
        for share in map(str, SHARES):
            if whole := runs.get((dataset, share, WHOLE)):
                seen = " / ".join(f"{value:.2f}" for value in np.mean(list(whole.values()), axis=0))
                changes = [_change(whole, runs.get((dataset, share, part), {})) for part in parts]
                lines.append(f"| {dataset} | {share} % | {len(whole)} | {seen} | {' | '.join(changes)} |")
    return "\n".join(lines)


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
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    if not options.table:
        specs = [
            (dataset, share, seed, without)
            for dataset in options.datasets
            for seed in UNUSED[: options.splits]
            for share in SHARES
            for without in PARTS
        ]
        run_missing(RESULT, COLUMNS, specs, run)
    text = table(read(RESULT))
    print(text)
    TABLE.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
