"""Eleven tables, seven kinds of wrong labels: our models beside what people use on tables, on the same splits.

python bench/eleven.py [--tables airfoil …] [--conditions clean …] [--rows 2000] [--seeds 5] [--methods NAME …]

Up to 2,000 training rows and up to 4,000 clean test rows (10 % of small tables) are drawn at random. Categories become
indicator columns for every method. Settings of ours were chosen on the tables in `CHOSEN_ON`; results on the others are
summarized apart. Runs are appended to bench/results/eleven.csv; what is there already is not run again. RMSE, AUC and
CRPS as in the manual; CRPS is the mean quantile loss at 99 levels, of each method's own distribution (of a Gaussian for
methods that give mean and variance). Coverage and width are those of 90 % intervals.
"""

import argparse
import os
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from peers import CLEANED, OURS, PEERS, Answer, behind, without_suspects
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
CHOSEN_ON = ("kc_house", "diamonds", "energy", "concrete")
CONDITIONS = {
    "clean": (Replaced(), 0.0),
    "replaced 20 %": (Replaced(), 0.2),
    "swapped 10 %": (Swapped(), 0.1),
    "unit 5 %": (UnitError(), 0.05),
    "replaced 5 %": (Replaced(), 0.05),
    "cluster 10 %": (Cluster(), 0.1),
    "0 to 40 % by x": (Replaced(), Ramp(0, 0.0, 0.4)),
}
MEASURES = ("rmse", "auc", "crps")
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
    fit = OURS[name] if name in OURS else PEERS[name][0]
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


def cells_of(rows: list[dict]) -> dict[tuple[str, str, str], dict[str, dict[str, dict[str, float]]]]:
    """Table, condition and number of rows → method → seed → measures; what a method does not have is infinite."""
    cells: dict = {}
    for row in rows:
        cell = cells.setdefault((row["table"], row["condition"], row["rows"]), {})
        values = {c: float(row[c] or "inf") for c in (*MEASURES, "coverage", "width", "seconds")}
        cell.setdefault(row["method"], {})[row["seed"]] = values
    return cells


def beside_best(cell: dict, measure: str) -> tuple[float, float, str] | None:
    """How far `auto` is behind the best peer of the cell, on shared splits, its standard error, and the peer."""
    peers = {m: runs for m, runs in cell.items() if m not in OURS}
    if "auto" not in cell or not peers:
        return None
    seeds = sorted(set(cell["auto"]).intersection(*peers.values()))
    if not seeds:
        return None
    values = {m: np.array([runs[s][measure] for s in seeds]) for m, runs in peers.items()}
    best = min(values, key=lambda m: values[m].mean())
    mine = np.array([cell["auto"][s][measure] for s in seeds])
    return (*behind(mine, values[best]), best)


def summary(rows: list[dict]) -> str:
    """Leads, ties and lags of `auto`, for the tables that choices were made on and for the others."""
    lines = [
        "| tables | measure | cells | ahead | beyond 2 SE | behind beyond 2 SE | mean | furthest behind |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    cells = cells_of(rows)
    for label, judged in (("judged", True), ("chosen on", False)):
        here = {key: cell for key, cell in cells.items() if (key[0] not in CHOSEN_ON) == judged}
        for measure in MEASURES:
            gaps = {key: gap for key, cell in here.items() if (gap := beside_best(cell, measure)) is not None}
            if not gaps:
                continue
            values = np.array([gap[:2] for gap in gaps.values()]) * 100
            far = max(gaps, key=lambda key: gaps[key][0])
            counts = [
                (values[:, 0] < 0).sum(),
                (values[:, 0] < -2 * values[:, 1]).sum(),
                (values[:, 0] > 2 * values[:, 1]).sum(),
            ]
            gap, error, peer = gaps[far]
            worst = f"{100 * gap:+.1f} ± {100 * error:.1f} % ({far[0]}, {far[1]}; {peer})"
            mean = f"{values[:, 0].mean():+.1f} %"
            lines.append(
                f"| {label} | {measure.upper()} | {len(gaps)} | {' | '.join(map(str, counts))} | {mean} | {worst} |"
            )
    return "\n".join(lines)


def coverage_table(rows: list[dict]) -> str:
    """Coverage and width of 90 % intervals of the methods that have some, by number of rows and condition."""
    found: dict = {}
    for row in rows:
        if row["coverage"]:
            key = (row["rows"], row["condition"], row["method"], "no" if row["table"] in CHOSEN_ON else "yes")
            found.setdefault(key, []).append(float(row["coverage"]))
    lines = [
        "| rows | wrong labels | method | judged tables only | runs | coverage | lowest | highest |",
        "|---:|---|---|---|---:|---:|---:|---:|",
    ]
    for (n, condition, method, judged), values in sorted(found.items()):
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        share = f"{100 * np.mean(values):.1f} ± {100 * error:.1f} %"
        ends = f"{100 * min(values):.1f} % | {100 * max(values):.1f} %"
        lines.append(f"| {n} | {condition} | {method} | {judged} | {len(values)} | {share} | {ends} |")
    return "\n".join(lines)


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
    rows = read(RESULT)
    for name, text in (("eleven", summary(rows)), ("eleven_coverage", coverage_table(rows))):
        print(f"{text}\n")
        (TABLES / f"{name}.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
