"""Robust trees and networks beside what people use on tables, everything in one run on the same splits.

python bench/peers.py [--datasets boston …] [--shares 0 5 20] [--seeds 10] [--peers NAME …] [--table]

Protocol of the paper's Table 1 on its first split seeds, 10 of 50 by default. Every peer also runs behind a simple
out-of-fold cleaning, because that is what a careful person would do: labels are dropped whose residual from LightGBM
L1, out of five folds, exceeds four robust standard deviations. Runs are appended to bench/results/peers.csv; what is
there already is not run again. Peers come with the extra `bench`; one that is not installed is named and left out.
"""

import argparse
import importlib.util
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy import DATASETS, SHARES
from resuming import on_shared_splits, read, run_missing
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from levelhead import AutoRegressor, GaussianRegressor, GCPBoostingRegressor, GCPRegressor, metrics
from levelhead.contamination import Replaced
from levelhead.datasets import load
from levelhead.study.paper.table1 import SEEDS

RESULT = Path(__file__).parent / "results/peers.csv"
TABLES = Path(__file__).parents[1] / "docs/tables"
COLUMNS = ("dataset", "share", "seed", "method", "rmse", "auc", "nll", "seconds", "auroc", "chosen")
MEASURES = ("rmse", "auc")
CUT = 4.0  # robust standard deviations of a residual that the cleaning still accepts
CLEANED = " cleaned"
Fit = Callable[[np.ndarray, np.ndarray, int], Any]


class Answer(NamedTuple):
    """What a fitted peer says of new rows; no variance if it knows none."""

    mean: np.ndarray
    var: np.ndarray | None = None


def plain(make: Callable[[int], Any]) -> Fit:
    """A peer that predicts means only."""

    def fit(X, y, seed):
        model = make(seed).fit(X, y)
        return lambda X: Answer(np.asarray(model.predict(X), dtype=np.float64))

    return fit


def catboost(loss: str) -> Callable[[int], Any]:
    def make(seed):
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            loss_function=loss, verbose=0, random_state=seed, allow_writing_files=False, thread_count=1
        )

    return make


def catboost_with_variance(X, y, seed):
    model = catboost("RMSEWithUncertainty")(seed).fit(X, y)

    def answer(X):
        mean, var = model.predict(X).T
        return Answer(mean, np.maximum(var, 1e-300))

    return answer


def lightgbm(**settings: Any) -> Callable[[int], Any]:
    def make(seed):
        from lightgbm import LGBMRegressor

        return LGBMRegressor(verbose=-1, random_state=seed, n_jobs=1, **settings)

    return make


def lightgbm_quantiles(X, y, seed):
    """Median, and half the distance of the quantiles one standard deviation out as the standard deviation."""
    low, middle, high = (
        lightgbm(objective="quantile", alpha=q)(seed).fit(X, y) for q in (0.1587, 0.5, 0.8413)
    )
    return lambda X: Answer(middle.predict(X), _squared(0.5 * (high.predict(X) - low.predict(X))))


def quantile_forest(X, y, seed):
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=seed, n_jobs=1).fit(X, y)

    def answer(X):
        low, middle, high = model.predict(X, quantiles=[0.1587, 0.5, 0.8413]).T
        return Answer(middle, _squared(0.5 * (high - low)))

    answer.quantiles = lambda X, levels: np.asarray(model.predict(X, quantiles=list(levels))).T
    return answer


def catboost_conformal(X, y, seed):
    """CatBoost with its own variance; 90 % intervals by normalized split conformal prediction on 20 % of the rows."""
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=seed)
    answer = catboost_with_variance(X, y, seed)
    said = answer(X_held)
    score = np.sort(np.abs(y_held - said.mean) / np.sqrt(said.var))
    rank = int(np.ceil(0.9 * (len(score) + 1)))
    half = score[min(rank, len(score)) - 1]

    def interval(X):
        said = answer(X)
        return said.mean - half * np.sqrt(said.var), said.mean + half * np.sqrt(said.var)

    answer.interval = interval
    return answer


def mapie(X, y, seed):
    """LightGBM with 90 % intervals by MAPIE's CV+."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(lightgbm()(seed), confidence_level=0.9, cv=5, random_state=seed)
    model.fit_conformalize(X, y)
    answer = lambda X: Answer(np.asarray(model.predict(X)))
    answer.interval = lambda X: model.predict_interval(X)[1][:, :, 0].T
    return answer


def ngboost(distribution: str) -> Fit:
    def fit(X, y, seed):
        from ngboost import NGBRegressor, distns

        model = NGBRegressor(
            Dist=getattr(distns, distribution),
            verbose=False,
            random_state=np.random.RandomState(seed % 2**31),
        ).fit(X, y)

        def answer(X):
            said = model.pred_dist(X)
            return Answer(np.asarray(said.loc), _squared(np.asarray(said.scale)))

        return answer

    return fit


def tabular_network(name: str) -> Callable[[int], Any]:
    """A network of pytabkit with its tuned defaults."""

    def make(seed):
        from pytabkit.models.sklearn import sklearn_interfaces

        kind = getattr(sklearn_interfaces, f"{name}_Regressor")
        return kind(device="cpu", random_state=seed % 2**31, n_threads=1)

    return make


def cleanlab(X, y, seed):
    from cleanlab.regression.learn import CleanLearning

    model = CleanLearning(lightgbm()(seed), seed=seed % 2**31).fit(X, y)
    return lambda X: Answer(np.asarray(model.predict(X)))


def ours(make: Callable[[int], Any]) -> Fit:
    def fit(X, y, seed):
        model = make(seed).fit(X, y)

        def answer(X):
            said = model.predict_dist(X)
            return Answer(said.mean, said.var)

        answer.model = model
        answer.interval = lambda X: model.predict_interval(X, 0.9)
        return answer

    return fit


OURS: dict[str, Fit] = {
    "GCPBoost": ours(lambda seed: GCPBoostingRegressor(random_state=seed, n_jobs=1)),
    "EnsGCPBoost": ours(lambda seed: GCPBoostingRegressor(n_members=5, random_state=seed, n_jobs=1)),
    "EnsGCP": ours(lambda seed: GCPRegressor(n_members=5, random_state=seed, n_jobs=1)),
    "auto": ours(lambda seed: AutoRegressor(random_state=seed, n_jobs=1)),
}
# name → (how to fit it, the package it needs)
PEERS: dict[str, tuple[Fit, str]] = {
    "CatBoost": (plain(catboost("RMSE")), "catboost"),
    "CatBoost MAE": (plain(catboost("MAE")), "catboost"),
    "CatBoost RMSEWithUncertainty": (catboost_with_variance, "catboost"),
    "LightGBM L1": (plain(lightgbm(objective="l1")), "lightgbm"),
    "LightGBM Huber": (plain(lightgbm(objective="huber")), "lightgbm"),
    "LightGBM quantiles": (lightgbm_quantiles, "lightgbm"),
    "HistGradientBoosting L1": (
        plain(lambda seed: HistGradientBoostingRegressor(loss="absolute_error", random_state=seed)),
        "sklearn",
    ),
    "random forest": (plain(lambda seed: RandomForestRegressor(random_state=seed, n_jobs=1)), "sklearn"),
    "quantile forest": (quantile_forest, "quantile_forest"),
    "NGBoost Normal": (ngboost("Normal"), "ngboost"),
    "NGBoost Student": (ngboost("TFixedDf"), "ngboost"),
    "RealMLP-TD": (plain(tabular_network("RealMLP_TD")), "pytabkit"),
    "TabM-D": (plain(tabular_network("TabM_D")), "pytabkit"),
    "CatBoost conformal": (catboost_conformal, "catboost"),
    "MAPIE CV+ LightGBM": (mapie, "mapie"),
    "cleanlab + LightGBM": (cleanlab, "cleanlab"),
    "deep ensemble": (
        ours(lambda seed: GaussianRegressor(n_members=5, random_state=seed, n_jobs=1)),
        "levelhead",
    ),
}


def without_suspects(X, y, seed) -> np.ndarray:
    """Rows whose label is near what LightGBM L1 expects that has not seen it."""
    folds = KFold(5, shuffle=True, random_state=seed)
    residual = y - cross_val_predict(lightgbm(objective="l1")(seed), X, y, cv=folds)
    residual = np.abs(residual - np.median(residual))
    return residual <= CUT * np.median(residual) / 0.6745


def rows_of(dataset: str, share: int, seed: int):
    data = load(dataset)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.05, random_state=seed)
    return Replaced()(X, y, contamination=share / 100, random_state=seed), X_test, y_test


def run(dataset: str, share: int, seed: int, method: str) -> dict:
    spoilt, X_test, y_test = rows_of(dataset, share, seed)
    X, y = np.asarray(spoilt.X), spoilt.y
    name = method.removesuffix(CLEANED)
    fit = OURS[name] if name in OURS else PEERS[name][0]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = without_suspects(X, y, seed) if name != method else np.ones(len(y), dtype=bool)
        answering = fit(X[kept], y[kept], seed)
        said = answering(X_test)
    row = {"rmse": metrics.rmse(y_test, said.mean), "seconds": time.perf_counter() - began}
    if said.var is not None:
        row["auc"] = metrics.retention_auc(y_test, said.mean, said.var)
        row["nll"] = metrics.nll(y_test, said.mean, said.var)
    model = getattr(answering, "model", None)
    if name in OURS and spoilt.mask.any():
        row["auroc"] = float(roc_auc_score(spoilt.mask, np.abs(model.audit(X, y).z)))
    return row | ({"chosen": model.chosen_} if name == "auto" else {})


class Cell(NamedTuple):
    """Runs of every method on the splits that all share; a measure that a method does not have is infinite.

    A slow method with less than half as many runs as the others is not waited for, and set apart.
    """

    n_splits: int
    runs: dict[str, dict[str, np.ndarray]]
    apart: dict[str, dict[str, np.ndarray]]

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Of the methods that share splits."""
        return {method: {c: float(v.mean()) for c, v in runs.items()} for method, runs in self.runs.items()}

    def behind_peers(self, method: str, measure: str) -> tuple[float, float]:
        """How far a method of ours is behind the best peer, relative to it, and the standard error of that.

        The error is that of the differences on the same splits; the luck of having the best peer is not in it.
        """
        peers = [runs[measure] for name, runs in self.runs.items() if _is_peer(name)]
        return behind(self.runs[method][measure], min(peers, key=np.mean))


def behind(mine: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """How much larger a measure is on the same splits, relative to the other's mean, and the standard error of that."""
    gaps = (mine - other) / other.mean()
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.nan


def cells_of(rows: list[dict]) -> dict[tuple[str, int], Cell]:
    """The cells of the table, by data set and share."""
    by_cell: dict[tuple[str, int], list[dict]] = {}
    for row in rows:
        by_cell.setdefault((row["dataset"], int(row["share"])), []).append(row)
    found = {}
    for key, cell in by_cell.items():
        done = Counter(row["method"] for row in cell)
        enough = np.median(list(done.values())) / 2
        shared = on_shared_splits([row for row in cell if done[row["method"]] >= enough])
        apart = [row for row in cell if done[row["method"]] < enough]
        found[key] = Cell(len({row["seed"] for row in shared}), _by_method(shared), _by_method(apart))
    return found


def _by_method(rows: list[dict]) -> dict[str, dict[str, np.ndarray]]:
    rows = sorted(rows, key=lambda row: row["seed"])
    return {
        method: {
            c: np.array([float(row[c] or "inf") for row in rows if row["method"] == method]) for c in MEASURES
        }
        for method in dict.fromkeys(row["method"] for row in rows)
    }


def table(rows: list[dict]) -> str:
    """RMSE and AUC, ours first, then by error at the largest λ."""
    cells, lines = cells_of(rows), []
    for dataset in DATASETS:
        shares = [share for share in SHARES if (dataset, share) in cells]
        if not shares:
            continue
        here = {share: cells[dataset, share].means for share in shares}
        splits = ", ".join(f"{cells[dataset, share].n_splits} at λ = {share}" for share in shares)
        lines += [f"\n**{dataset}**, RMSE / AUC, splits: {splits}\n"]
        lines += ["| method | " + " | ".join(f"λ = {share} %" for share in shares) + " |"]
        lines += ["|---|" + "---:|" * len(shares)]
        best = {(s, c): min(means[c] for means in here[s].values()) for s in shares for c in MEASURES}
        nothing = dict.fromkeys(MEASURES, np.inf)
        last = here[shares[-1]]
        for method in sorted(
            dict.fromkeys(m for share in shares for m in here[share]),
            key=lambda m: (m not in OURS, last.get(m, nothing)["rmse"]),
        ):
            shown = []
            for share in shares:
                values = here[share].get(method, nothing)
                pair = [_shown(values[c], values[c] <= best[share, c]) for c in MEASURES]
                shown.append(" / ".join(pair))
            lines.append(f"| {method} | {' | '.join(shown)} |")
        for method in dict.fromkeys(m for share in shares for m in cells[dataset, share].apart):
            shown = []
            for share in shares:
                runs = cells[dataset, share].apart.get(method)
                shown.append(_apart(runs) if runs else "–")
            lines.append(f"| {method} | {' | '.join(shown)} |")
    return "\n".join(lines).strip()


def targets(rows: list[dict]) -> str:
    """In how many cells each of ours is ahead of every peer, and how far behind the best of them it falls."""
    cells = cells_of(rows)
    lines = [
        "| | measure | λ | cells | ahead of every peer | furthest behind the best |",
        "|---|---|---|---:|---:|---|",
    ]
    for method in ("auto", "EnsGCPBoost", "EnsGCP"):
        for measure in MEASURES:
            for shares in ((0,), (5, 20)):
                gaps = {
                    key: cell.behind_peers(method, measure)
                    for key, cell in cells.items()
                    if key[1] in shares and method in cell.runs
                }
                if not gaps:
                    continue
                ahead, worst = sum(gap < 0 for gap, _ in gaps.values()), max(gaps, key=gaps.__getitem__)
                gap, error = 100 * np.array(gaps[worst])
                behind = f"{gap:.1f} ± {error:.1f} % ({worst[0]}, λ = {worst[1]})" if gap > 0 else "–"
                named = f"{method} | {measure.upper()} | {', '.join(map(str, shares))} %"
                lines.append(f"| {named} | {len(gaps)} | {ahead} | {behind} |")
    lines += [
        "",
        "| RMSE at λ = 20 over λ = 0 | " + " | ".join(DATASETS) + " |",
        "|---|" + "---:|" * len(DATASETS),
    ]
    means = {key: cell.means for key, cell in cells.items()}
    for method in OURS:
        grown = []
        for dataset in DATASETS:
            clean, spoilt = (means.get((dataset, share), {}).get(method) for share in (0, 20))
            grown.append(f"{spoilt['rmse'] / clean['rmse']:.2f}" if clean and spoilt else "–")
        lines.append(f"| {method} | {' | '.join(grown)} |")
    return "\n".join(lines)


def more_splits(rows: list[dict]) -> str:
    """`auto` beside those peers with which it shares more splits than all methods share."""
    lines = ["| data | λ | beside | splits | RMSE | AUC |", "|---|---:|---|---:|---:|---:|"]
    for (dataset, share), cell in cells_of(rows).items():
        here = [row for row in rows if (row["dataset"], int(row["share"])) == (dataset, share)]
        for peer in dict.fromkeys(row["method"] for row in here if _is_peer(row["method"])):
            pair = on_shared_splits([row for row in here if row["method"] in ("auto", peer)])
            n = len({row["seed"] for row in pair})
            if n <= cell.n_splits:
                continue
            beside = Cell(n, _by_method(pair), {})
            gaps = [100 * np.array(beside.behind_peers("auto", measure)) for measure in MEASURES]
            shown = " | ".join(f"{gap:+.1f} ± {error:.1f} %" for gap, error in gaps)
            lines.append(f"| {dataset} | {share} % | {peer} | {n} | {shown} |")
    return "\n".join(lines)


def _is_peer(name: str) -> bool:
    return name.removesuffix(CLEANED) in PEERS


def _apart(runs: dict[str, np.ndarray]) -> str:
    """Means over fewer splits than those of the table, and how many."""
    pair = " / ".join(_shown(float(runs[c].mean()), best=False) for c in MEASURES)
    return f"({pair}; n = {len(runs[MEASURES[0]])})"


def _shown(value: float, best: bool) -> str:
    return "–" if np.isinf(value) else f"**{value:.3f}**" if best else f"{value:.3f}"


def audit_table(rows: list[dict], beside: list[dict]) -> str:
    """AUROC of our audits and, from bench/audit.py, of cleanlab's on the same splits with the same wrong labels."""
    theirs = {
        (r["data"], r["errors"], r["seed"]): float(r["auroc"]) for r in beside if r["method"] == "cleanlab"
    }
    names = list(OURS)[:2]
    ours_ = {(r["dataset"], r["share"], r["seed"], r["method"]): r["auroc"] for r in rows if r["auroc"]}
    lines = [
        f"| data | wrong labels | splits | {' | '.join(names)} | cleanlab |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for dataset in DATASETS:
        for share in map(str, SHARES[1:]):
            key = lambda seed: (dataset, f"replaced {share} %", seed)  # noqa: B023
            both = [
                s for s in map(str, SEEDS) if key(s) in theirs and (dataset, share, s, names[-1]) in ours_
            ]
            if not both:
                continue
            mine = [np.mean([float(ours_[dataset, share, s, name]) for s in both]) for name in names]
            shown = [f"{value:.3f}" for value in (*mine, np.mean([theirs[key(s)] for s in both]))]
            lines.append(f"| {dataset} | {share} % | {len(both)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _squared(std: np.ndarray) -> np.ndarray:
    return np.maximum(std, 1e-9) ** 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--shares", nargs="+", type=int, default=SHARES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peers", nargs="+", help="methods, '… cleaned' included; default: all")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    there = {name: importlib.util.find_spec(package) is not None for name, (_, package) in PEERS.items()}
    missing = [name for name, found in there.items() if not found]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}")
    usable = [name for name, found in there.items() if found]
    methods = options.peers or [*OURS, *usable, *(f"{name}{CLEANED}" for name in usable)]
    specs = [
        (dataset, share, seed, method)
        for seed in SEEDS[: options.seeds]
        for dataset in options.datasets
        for share in options.shares
        for method in methods
    ]
    run_missing(RESULT, COLUMNS, [] if options.table else specs, run)
    rows, beside = read(RESULT), read(RESULT.with_name("audit.csv"))
    tables = {"peers": table(rows), "peers_targets": targets(rows), "peers_more_splits": more_splits(rows)}
    tables["peers_audit"] = audit_table(rows, beside)
    for name, text in tables.items():
        print(f"{text}\n")
        (TABLES / f"{name}.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
