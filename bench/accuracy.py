"""Accuracy of the defaults: against the paper's hyperparameters on the same splits, and of the audit.

python bench/accuracy.py [--datasets boston yacht …] [--seeds 10] [--methods defaults paper] [--table]

Protocol of the paper's Table 1 (95 % train, labels replaced by N(mean, (10 std)²), clean test labels). Every
run is appended to bench/results/accuracy.csv; what is there already is not run again.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from resuming import read, run_missing
from sklearn.model_selection import train_test_split

from levelhead import CleanedRegressor, GCPRegressor, metrics
from levelhead.contamination import Replaced
from levelhead.datasets import load
from levelhead.study.paper import table1

RESULT = Path(__file__).parent / "results/accuracy.csv"
TABLES = Path(__file__).parents[1] / "docs/tables"
DATASETS = ("boston", "concrete", "power", "yacht", "kin8nm")
SHARES = (0, 5, 20)
SEEDS = table1.SEEDS[:10]  # the first splits of the protocol
COLUMNS = ("dataset", "share", "seed", "method", "rmse", "auc", "nll", "seconds", "epsilon", "precision", "recall",
           "flagged")  # fmt: skip


def as_in_the_paper(dataset: str, seed: int) -> GCPRegressor:
    return table1.recipe("EnsGCP", dataset).set_params(random_state=seed)


def cleaned(dataset: str, seed: int) -> CleanedRegressor:
    from catboost import CatBoostRegressor

    return CleanedRegressor(
        CatBoostRegressor(verbose=0, random_state=seed, allow_writing_files=False), random_state=seed
    )


METHODS = {
    "defaults": lambda dataset, seed: GCPRegressor(n_members=5, random_state=seed),
    "paper": as_in_the_paper,
    "cleaned": cleaned,
}


def run(dataset: str, share: int, seed: int, method: str) -> dict:
    data = load(dataset)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.05, random_state=seed)
    spoilt = Replaced()(X, y, contamination=share / 100, random_state=seed)
    model = METHODS[method](dataset, seed)
    began = time.perf_counter()
    model.fit(X, spoilt.y)
    seconds = time.perf_counter() - began
    answer = model.predict_dist(X_test)
    row = {
        "rmse": metrics.rmse(y_test, answer.mean),
        "auc": metrics.retention_auc(y_test, answer.mean, answer.var),
        "nll": metrics.nll(y_test, answer.mean, answer.var),
        "seconds": seconds,
    }
    if method == "defaults":
        flagged = model.audit(X, spoilt.y).is_label_issue
        row |= {
            "epsilon": model.contamination_,
            "flagged": flagged.mean(),
            "precision": spoilt.mask[flagged].mean() if flagged.any() else np.nan,
            "recall": flagged[spoilt.mask].mean() if share else np.nan,
        }
    return row


def means(rows: list[dict]) -> dict:
    """Mean of every column over the stored splits of each (dataset, share, method), and their number."""
    cells: dict = {}
    for row in rows:
        cells.setdefault((row["dataset"], int(row["share"]), row["method"]), []).append(row)
    average = lambda group, c: float(np.mean([float(r[c] or "nan") for r in group]))
    return {
        key: {c: average(group, c) for c in COLUMNS[4:]} | {"splits": len(group)}
        for key, group in cells.items()
    }


def table(rows: list[dict]) -> str:
    """Defaults beside the paper's hyperparameters, and CatBoost behind our audit."""
    cell = means(rows)

    def pair(dataset: str, share: int, method: str) -> str:
        if (dataset, share, method) not in cell:
            return "–"
        own = cell[dataset, share, method]
        fewer = own["splits"] < cell[dataset, share, "defaults"]["splits"]
        return f"{own['rmse']:.3f} / {own['auc']:.3f}" + (f" ({own['splits']} splits)" if fewer else "")

    lines = [
        "| data | wrong labels | defaults | paper's hyperparameters | ratio | CatBoost behind our audit |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    ratios = []
    for dataset in DATASETS:
        for share in SHARES:
            if (dataset, share, "defaults") not in cell or (dataset, share, "paper") not in cell:
                continue
            own, theirs = cell[dataset, share, "defaults"], cell[dataset, share, "paper"]
            ratios.append((own["rmse"] / theirs["rmse"], own["auc"] / theirs["auc"]))
            shown = [pair(dataset, share, m) for m in ("defaults", "paper", "cleaned")]
            ratio = "{:.2f} / {:.2f}".format(*ratios[-1])
            columns = [dataset, f"{share} %", *shown[:2], ratio, shown[2]]
            lines.append(f"| {' | '.join(columns)} |")
    if ratios:
        lines.append("| mean | | | | {:.2f} / {:.2f} | |".format(*np.mean(ratios, axis=0)))
    return "\n".join(lines)


def audit_table(rows: list[dict]) -> str:
    """How well the default model's own audit does in the same runs."""
    cell = means(rows)
    lines = ["| data | wrong labels | ε̂ | precision | recall | flagged |", "|---|---:|---:|---:|---:|---:|"]
    for dataset in DATASETS:
        for share in SHARES:
            if (own := cell.get((dataset, share, "defaults"))) is not None:
                found = [f"{own[c]:.2f}" if share else "–" for c in ("precision", "recall")]
                lines.append(
                    f"| {dataset} | {share} % | {100 * own['epsilon']:.1f} % | {' | '.join(found)} | "
                    f"{100 * own['flagged']:.2f} % |"
                )
    return "\n".join(lines)


def time_beside_catboost() -> str:
    """Seconds of one fit to Boston with all defaults, ours over CatBoost's, interleaved, medians of seven."""
    from catboost import CatBoostRegressor

    data = load("boston")
    makers = {
        "ours": lambda: GCPRegressor(n_members=5, random_state=0),
        "catboost": lambda: CatBoostRegressor(verbose=0, allow_writing_files=False, random_state=0),
    }
    seconds: dict = {name: [] for name in makers}
    for _ in range(8):
        for name, make in makers.items():
            began = time.perf_counter()
            make().fit(data.X, data.y)
            seconds[name].append(time.perf_counter() - began)
    ours, theirs = (np.median(seconds[name][1:]) for name in makers)
    return f"Boston, all defaults, one fit: ours (5 members) takes {ours / theirs:.2f} × CatBoost's time."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--methods", nargs="+", default=["defaults", "paper"])
    parser.add_argument("--shares", nargs="+", type=int, default=SHARES)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    parser.add_argument("--time", action="store_true", help="also time a fit beside CatBoost")
    options = parser.parse_args()
    specs = [
        (dataset, share, seed, method)
        for seed in SEEDS[: options.seeds]
        for dataset in options.datasets
        for share in options.shares
        for method in options.methods
    ]
    run_missing(RESULT, COLUMNS, [] if options.table else specs, run)
    rows = read(RESULT)
    for name, text in (("accuracy", table(rows)), ("accuracy_audit", audit_table(rows))):
        print(f"{text}\n")
        (TABLES / f"{name}.md").write_text(f"{text}\n")
    if options.time:
        print(time_beside_catboost())


if __name__ == "__main__":
    main()
