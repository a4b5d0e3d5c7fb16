"""Accuracy of the defaults: against the paper's hyperparameters on the same splits, and of the audit.

python bench/accuracy.py [--datasets boston yacht …] [--seeds 10] [--methods defaults paper] [--table]

Protocol of the paper's Table 1 (95 % train, labels replaced by N(mean, (10 std)²), clean test labels). Every
run is appended to bench/results/accuracy.csv; what is there already is not run again.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from levelhead import GCPRegressor, metrics
from levelhead.contamination import Replaced
from levelhead.datasets import load

RESULT = Path(__file__).parent / "results/accuracy.csv"
DATASETS = ("boston", "concrete", "power", "yacht", "kin8nm")
SHARES = (0, 5, 20)
# The first split seeds of the protocol.
SEEDS = (41631779, 68230795, 49590161, 54924514, 71045363, 66211075, 61684656, 50278163, 20937475, 46627605)
COLUMNS = ("dataset", "share", "seed", "method", "rmse", "auc", "nll", "seconds", "epsilon", "precision", "recall",
           "flagged")  # fmt: skip
PAPER = {  # learning rate, dropout of an ensemble (half the single one's), epochs, minibatch
    "boston": (1e-4, 0.15, 700, 5),
    "concrete": (1e-4, 0.05, 1000, 5),
    "power": (5e-5, 0.0, 150, 10),
    "yacht": (1e-3, 0.05, 1000, 5),
    "kin8nm": (7e-4, 0.0, 250, 10),
}
# What a careful practitioner reaches with one recipe for all (filter, then deep ensemble), λ = 5: RMSE, AUC.
ONE_RECIPE = {
    "boston": (2.94, 1.73),
    "concrete": (4.69, 2.91),
    "power": (3.96, 3.31),
    "yacht": (0.66, 0.16),
    "kin8nm": (0.082, 0.058),
}


def as_in_the_paper(dataset: str, seed: int) -> GCPRegressor:
    rate, dropout, epochs, batch = PAPER[dataset]
    return GCPRegressor(
        (50,),
        shared_trunk=False,
        learning_rate="constant",
        learning_rate_init=rate,
        dropout=dropout,
        max_iter=epochs,
        batch_size=batch,
        weight_decay=1e-3,
        out_of_fold=False,
        contamination=None,
        target_scaling="standard",
        initial_outputs="zero",
        drop_last=True,
        n_members=5,
        random_state=seed,
    )


METHODS = {
    "defaults": lambda dataset, seed: GCPRegressor(n_members=5, random_state=seed),
    "paper": as_in_the_paper,
}


def run(dataset: str, share: int, seed: int, method: str) -> dict:
    data = load(dataset)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.05, random_state=seed)
    spoilt = Replaced()(X, y, rate=share / 100, random_state=seed)
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
    if model.contamination is not None:
        flagged = model.audit(X, spoilt.y).is_label_issue
        row |= {
            "epsilon": model.contamination_,
            "flagged": flagged.mean(),
            "precision": spoilt.mask[flagged].mean() if flagged.any() else np.nan,
            "recall": flagged[spoilt.mask].mean() if share else np.nan,
        }
    return row


def read() -> list[dict]:
    if not RESULT.exists():
        return []
    with RESULT.open(newline="") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict]) -> None:
    """Mean over the splits that both methods have."""
    by = {(r["dataset"], int(r["share"]), r["method"], int(r["seed"])): r for r in rows}
    print(f"{'':14s}{'splits':>7s}{'RMSE':>9s}{'paper':>9s}{'ratio':>7s}{'AUC':>9s}{'paper':>9s}{'ratio':>7s}"
          f"{'ε̂':>8s}{'prec':>7s}{'recall':>7s}{'flagged':>9s}{'s':>7s}")  # fmt: skip
    ratios = []
    for dataset in DATASETS:
        for share in SHARES:
            common = [s for s in SEEDS if all((dataset, share, m, s) in by for m in METHODS)]
            if not common:
                continue
            mean = lambda m, c, d=dataset, q=share, k=common: np.mean(
                [float(by[d, q, m, s][c] or "nan") for s in k]
            )
            rmse, rmse_0, auc, auc_0 = (mean(m, c) for c in ("rmse", "auc") for m in METHODS)
            ratios.append((share, rmse / rmse_0, auc / auc_0))
            extras = [mean("defaults", c) for c in ("epsilon", "precision", "recall", "flagged", "seconds")]
            print(f"{dataset:9s} λ={share:<3d}{len(common):6d}{rmse:9.3f}{rmse_0:9.3f}{rmse / rmse_0:7.2f}"
                  f"{auc:9.3f}{auc_0:9.3f}{auc / auc_0:7.2f}{extras[0]:8.3f}{extras[1]:7.2f}{extras[2]:7.2f}"
                  f"{extras[3]:9.4f}{extras[4]:7.2f}")  # fmt: skip
    if ratios:
        means = np.mean([r[1:] for r in ratios], axis=0)
        print(f"mean ratio to the paper's hyperparameters: RMSE {means[0]:.3f}, AUC {means[1]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--shares", nargs="+", type=int, default=SHARES)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    done = {(r["dataset"], int(r["share"]), int(r["seed"]), r["method"]) for r in read()}
    specs = [
        (dataset, share, seed, method)
        for seed in SEEDS[: options.seeds]
        for dataset in options.datasets
        for share in options.shares
        for method in options.methods
    ]
    missing = [] if options.table else [spec for spec in specs if spec not in done]
    RESULT.parent.mkdir(exist_ok=True)
    for k, spec in enumerate(missing):
        row = dict(zip(COLUMNS, spec, strict=False)) | run(*spec)
        fresh = not RESULT.exists()
        with RESULT.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
        print(f"\r{k + 1}/{len(missing)} {spec}          ", end="", flush=True)
    print()
    table(read())


if __name__ == "__main__":
    main()
