"""Which labels are wrong? levelhead compared with cleanlab and with a filter written by hand.

python bench/audit.py [--data boston …] [--errors "replaced 5 %" …] [--methods cleanlab …] [--seeds 3] [--table]

Training sets of the protocol (95 % of each data set) with added errors. Runs are appended to
bench/results/audit.csv; stored runs are not repeated. Baselines (extra `bench`): cleanlab's CleanLearning
around LightGBM; and by hand: out-of-fold residual of LightGBM L1, over an L1 model of the log residual, cut at six
robust standard deviations.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from accuracy import DATASETS, SEEDS
from resuming import on_shared_splits, read, run_missing
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

import levelhead
from levelhead.contamination import Ramp, Replaced, Shifted, Swapped
from levelhead.datasets import heteroscedastic, load

RESULT = Path(__file__).parent / "results/audit.csv"
COLUMNS = ("data", "errors", "seed", "method", "auroc", "precision", "recall", "flagged", "seconds")
# name → (contamination, share); `steep` depends on x: from 0 to 10 % along the first feature
ERRORS = {
    "none": (Replaced(), 0.0),
    "replaced 5 %": (Replaced(), 0.05),
    "replaced 20 %": (Replaced(), 0.2),
    "swapped 5 %": (Swapped(), 0.05),
}
HARD = {  # only where the noise is known
    "2 sd, 5 %": (Shifted(2), 0.05),
    "3 sd, 5 %": (Shifted(3), 0.05),
    "3 sd up, 5 %": (Shifted(3, one_sided=True), 0.05),
    "replaced, 0 to 10 % along x": (Replaced(), Ramp(0, 0.0, 0.1)),
}


def ours(X, y, seed):
    result = levelhead.audit(X, y, random_state=seed, n_jobs=1)
    return np.abs(result.z), result.is_label_issue


def cleanlab(X, y, seed):
    from cleanlab.regression.learn import CleanLearning
    from lightgbm import LGBMRegressor

    finder = CleanLearning(LGBMRegressor(verbose=-1, random_state=seed, n_jobs=1), seed=seed)
    found = finder.find_label_issues(X, y)
    return 1 - found["label_quality"].to_numpy(), found["is_label_issue"].to_numpy()


def by_hand(X, y, seed):
    from lightgbm import LGBMRegressor

    folds = KFold(5, shuffle=True, random_state=seed)
    model = lambda: LGBMRegressor(objective="l1", verbose=-1, random_state=seed, n_jobs=1)
    residual = np.abs(y - cross_val_predict(model(), X, y, cv=folds))
    log_residual = np.log(residual + 1e-6 * np.median(residual))
    score = residual / np.exp(cross_val_predict(model(), X, log_residual, cv=folds))
    return score, score > 6 * np.median(score) / 0.6745


METHODS = {"levelhead": ours, "cleanlab": cleanlab, "by hand": by_hand}


def data(name: str, errors: str, seed: int):
    if name == "heteroscedastic":
        clean = heteroscedastic(2000, random_state=seed)
        contamination, share = (ERRORS | HARD)[errors]
        return contamination(clean.X, clean.y_clean, share, random_state=seed, noise_std=clean.std)
    table = load(name)
    X, _, y, _ = train_test_split(table.X, table.y, test_size=0.05, random_state=seed)
    contamination, share = ERRORS[errors]
    return contamination(X, y, share, random_state=seed)


def run(name: str, errors: str, seed: int, method: str) -> dict:
    contaminated = data(name, errors, seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score, flagged = METHODS[method](np.asarray(contaminated.X), contaminated.y, seed)
    seconds = time.perf_counter() - began
    wrong = contaminated.mask
    return {
        "auroc": roc_auc_score(wrong, score) if wrong.any() else np.nan,
        "precision": wrong[flagged].mean() if flagged.any() else np.nan,
        "recall": flagged[wrong].mean() if wrong.any() else np.nan,
        "flagged": flagged.mean(),
        "seconds": seconds,
    }


def table(rows: list[dict]) -> str:
    lines = [
        "| data | errors | method | AUROC | precision | recall | flagged | time |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for name in (*DATASETS, "heteroscedastic"):
        for errors in ERRORS | HARD:
            cell = on_shared_splits([r for r in rows if (r["data"], r["errors"]) == (name, errors)])
            own = np.mean([float(r["seconds"]) for r in cell if r["method"] == "levelhead"] or [np.nan])
            for method in METHODS:
                runs = [r for r in cell if r["method"] == method]
                if not runs:
                    continue
                mean = {c: np.mean([float(r[c]) for r in runs]) for c in COLUMNS[4:]}
                shown = [
                    "–" if np.isnan(mean[c]) else f"{mean[c]:.2f}" for c in ("auroc", "precision", "recall")
                ]
                shown += [f"{100 * mean['flagged']:.1f} %", f"{mean['seconds'] / own:.1f} ×"]
                lines.append(f"| {name} | {errors} | {method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["heteroscedastic", *DATASETS])
    parser.add_argument("--errors", nargs="+", help="default: all that the data allow")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    specs = [
        (name, errors, seed, method)
        for seed in SEEDS[: options.seeds]
        for name in options.data
        for errors in (ERRORS | HARD if name == "heteroscedastic" else ERRORS)
        if not options.errors or errors in options.errors
        for method in options.methods
    ]
    run_missing(RESULT, COLUMNS, [] if options.table else specs, run)
    text = table(read(RESULT))
    print(text)
    (Path(__file__).parents[1] / "docs/tables/audit.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
