"""Eleven tables, seven kinds of wrong labels: our models beside what people use on tables, on the same splits.

python bench/eleven.py [--tables airfoil …] [--conditions clean …] [--rows 2000] [--seeds 5] [--methods NAME …]

Up to 2,000 training rows and up to 4,000 clean test rows (10 % of small tables) are drawn at random. Categories become
indicator columns for every method. Settings of ours were chosen on the tables in `eleven_summary.CHOSEN_ON`; results on
the others are summarized apart. Runs are appended to bench/results/eleven.csv; what is there already is not run again.
RMSE and AUC as in the manual; CRPS is the mean quantile loss at 99 levels, of each method's own distribution (of a
Gaussian for methods that give mean and variance). Coverage and width are those of 90 % intervals.
"""

import argparse
import os
import time
import warnings
from functools import lru_cache
from pathlib import Path

import eleven_summary as summary
import numpy as np
import pandas as pd
from eleven_summary import MEASURES
from peers import CLEANED, OURS, PEERS, Answer, without_suspects
from resuming import read, run_missing
from scipy.special import ndtri
from sklearn.model_selection import train_test_split

from levelhead import metrics
from levelhead.contamination import Cluster, Ramp, Replaced, Swapped, UnitError

HERE = Path(__file__).parent
RESULT, TABLES = HERE / "results/eleven.csv", HERE.parent / "docs/tables"
NAMES = (
    "boston", "concrete", "power", "yacht", "kin8nm",
    "energy", "airfoil", "wine_white", "california", "kc_house", "diamonds",
)  # fmt: skip
CONDITIONS = {
    "clean": (Replaced(), 0.0),
    "replaced 20 %": (Replaced(), 0.2),
    "swapped 10 %": (Swapped(), 0.1),
    "unit 5 %": (UnitError(), 0.05),
    "replaced 5 %": (Replaced(), 0.05),
    "cluster 10 %": (Cluster(), 0.1),
    "0 to 40 % by x": (Replaced(), Ramp(0, 0.0, 0.4)),
}
COLUMNS = ("table", "condition", "rows", "seed", "method", *MEASURES, "coverage", "width", "seconds", "note")
QUICK = ("CatBoost", "CatBoost MAE", "LightGBM L1", "LightGBM quantiles", "quantile forest", "deep ensemble")
LEVELS = np.arange(1, 100) / 100
_TRAIN, _TEST, _SHARE = 2000, 4000, 0.1


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Columns as numbers, categories as indicators."""
    return pd.get_dummies(frame, dtype=float).to_numpy(dtype=np.float64)


def rows_of(table: str, condition: str, rows: int, seed: int):
    root = Path(os.environ["LEVELHEAD_DATA"])
    path = next(p for p in (root / f"{table}.csv", root / "tables" / f"{table}.csv") if p.exists())
    frame = pd.read_csv(path).dropna()
    X, y = numbers(frame.iloc[:, :-1]), frame.iloc[:, -1].to_numpy(dtype=np.float64)
    n_test = max(round(_SHARE * len(y)), min(_TEST, len(y) - _TRAIN))
    X, X_test, y, y_test = train_test_split(X, y, test_size=n_test, random_state=seed)
    kind, share = CONDITIONS[condition]
    return kind(X[:rows], y[:rows], contamination=share, random_state=seed), X_test, y_test


@lru_cache(maxsize=8)
def filtered(table: str, condition: str, rows: int, seed: int) -> tuple[np.ndarray, float]:
    """The rows that the filter by hand keeps, and the processor time that it takes."""
    spoilt, _, _ = rows_of(table, condition, rows, seed)
    began = time.process_time()
    kept = without_suspects(np.asarray(spoilt.X), spoilt.y, seed)
    return kept, time.process_time() - began


def run(table: str, condition: str, rows: int, seed: int, method: str) -> dict:
    spoilt, X_test, y_test = rows_of(table, condition, rows, seed)
    X, y, name = np.asarray(spoilt.X), spoilt.y, method.removesuffix(CLEANED)
    fit = (OURS | PEERS)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cleaned = name != method
        kept, spent = (
            filtered(table, condition, rows, seed) if cleaned else (np.ones(len(y), dtype=bool), 0.0)
        )
        began = time.process_time()
        answering = fit(X[kept], y[kept], seed)
        said = answering(X_test)
        seconds = time.process_time() - began + spent
        row = scores(y_test, said, _quantiles(answering, said, X_test))
        if hasattr(answering, "interval"):
            row |= interval_scores(y_test, *answering.interval(X_test))
    return row | {"seconds": seconds, "note": _note(getattr(answering, "model", None))}


def _quantiles(answering, said: Answer, X: np.ndarray) -> np.ndarray | None:
    """Quantiles of a method's own distribution, or of a Gaussian, or None without any variance."""
    if hasattr(answering, "model"):
        return answering.model.predict_dist(X).ppf(LEVELS)
    if hasattr(answering, "quantiles"):
        return answering.quantiles(X, LEVELS)
    return None if said.var is None else said.mean + np.sqrt(said.var) * ndtri(LEVELS)[:, None]


def _note(model) -> str:
    combination = getattr(model, "combination_", None)
    return "" if combination is None else " ".join(f"{weight:.2f}" for weight in combination.weights)


def scores(y: np.ndarray, said: Answer, quantiles: np.ndarray | None) -> dict:
    row = {"rmse": metrics.rmse(y, said.mean)}
    if said.var is None or quantiles is None:
        return row
    above = y - quantiles
    level = LEVELS[:, None]
    return row | {
        "auc": metrics.retention_auc(y, said.mean, said.var),
        "crps": float(2 * np.mean(np.maximum(level * above, (level - 1) * above))),
        **interval_scores(y, quantiles[4], quantiles[94]),
    }


def interval_scores(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> dict:
    """Coverage and mean width."""
    return {"coverage": float(np.mean((lower <= y) & (y <= upper))), "width": float(np.mean(upper - lower))}


def pages(rows: list[dict]) -> dict[str, str]:
    """The tables of the manual."""
    cells = summary.cells_of(rows, _TRAIN)
    return {
        "eleven": summary.leads(cells),
        "eleven_cells": summary.each_cell(cells),
        "eleven_recipes": summary.recipes(cells),
        "eleven_coverage": summary.coverage(rows),
        "eleven_cost": summary.cost(cells),
        "eleven_slow": summary.slow_peers(cells),
        "eleven_errors": summary.errors(cells, "replaced 20 %"),
        "eleven_clean": summary.errors(cells, "clean"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=NAMES)
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS))
    parser.add_argument("--rows", type=int, default=_TRAIN)
    parser.add_argument("--seeds", type=int, default=5)
    quick = [*QUICK, *(f"{name}{CLEANED}" for name in QUICK)]
    parser.add_argument("--methods", nargs="+", default=["auto", *quick])
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no run after so many minutes")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    specs = [
        (table, condition, options.rows, seed, method)
        for seed in range(options.seeds)
        for condition in options.conditions
        for table in options.tables
        for method in options.methods
    ]
    run_missing(RESULT, COLUMNS, [] if options.table else specs, run, options.minutes)
    for name, text in pages(read(RESULT)).items():
        print(f"{text}\n")
        (TABLES / f"{name}.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
