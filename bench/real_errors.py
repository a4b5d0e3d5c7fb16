"""Label errors with known truth: levelhead's defaults beside cleanlab and a filter by hand, in the same run.

    LEVELHEAD_DATA=… python bench/audits.py --real [--tables air_quality …] [--seeds 1] [--minutes 8] [--table]

Tables as in bench/errors.py; the other methods see only those with real errors. All get the same columns. Methods that
need numbers get categories and dates as numbers of their levels and median values for gaps; LightGBM keeps the gaps.
Everything runs on one core; times are those of the processor. One row per table, seed and method is appended to
bench/results/audits-real.csv; what is there is not run again. The page docs/tables/audits-real.md is made from it.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from audit import by_hand, cleanlab
from errors import PLANTED, REAL, ErrorTable
from resuming import read, run_missing
from sklearn.metrics import average_precision_score

import levelhead
from levelhead.audits import find_segments

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/audits-real.csv"
PAGE = ROOT / "docs/tables/audits-real.md"
TABLES = REAL | PLANTED
COLUMNS = (
    "table", "seed", "method", "n", "wrong", "average_precision", "flagged", "precision", "differs", "recall",
    "reliable", "contamination", "low", "high", "standing_out_low", "standing_out_high", "segment", "seconds",
)  # fmt: skip
DASH = "–"


def numbers(X: pd.DataFrame, *, gaps: bool) -> np.ndarray:
    """Categories, dates and text as numbers of their levels."""
    table = X.apply(lambda c: c if c.dtype.kind in "iuf" else pd.factorize(c, sort=True)[0]).astype(float)
    return (table if gaps else table.fillna(table.median())).to_numpy()


def ours(table: ErrorTable, seed: int) -> dict[str, Any]:
    result = levelhead.audit(table.X, table.y, groups=table.groups, random_state=seed, n_jobs=1)
    low, high = result.contamination_interval
    out_low, out_high = result.standing_out_interval
    return {
        "score": result.log_odds,
        "flags": result.is_label_issue,
        "reliable": int(result.reliable),
        "contamination": result.contamination,
        "low": low,
        "high": high,
        "standing_out_low": out_low,
        "standing_out_high": out_high,
        "segment": _segment_found(find_segments(result, table.X, inputs=list(table.X.columns)), table.wrong),
    }


def _segment_found(segments: list[Any], wrong: np.ndarray) -> float:
    """Largest overlap of a segment with the wrong rows: rows in both over rows in either."""
    rows = np.flatnonzero(wrong == 1)
    shares = [len(np.intersect1d(s.rows, rows)) / len(np.union1d(s.rows, rows)) for s in segments]
    return max(shares, default=0.0)


def _cleanlab_default(table: ErrorTable, seed: int) -> dict[str, Any]:
    from cleanlab.regression.learn import CleanLearning

    found = CleanLearning(seed=seed).find_label_issues(numbers(table.X, gaps=False), table.y)
    return {"score": 1 - found["label_quality"].to_numpy(), "flags": found["is_label_issue"].to_numpy()}


def _cleanlab_lightgbm(table: ErrorTable, seed: int) -> dict[str, Any]:
    score, flags = cleanlab(numbers(table.X, gaps=True), table.y, seed)
    return {"score": score, "flags": flags}


def _by_hand(table: ErrorTable, seed: int) -> dict[str, Any]:
    score, flags = by_hand(numbers(table.X, gaps=True), table.y, seed)
    return {"score": score, "flags": flags}


METHODS = {
    "levelhead": ours,
    "cleanlab, its default": _cleanlab_default,
    "cleanlab, LightGBM": _cleanlab_lightgbm,
    "by hand": _by_hand,
}


def run(name: str, seed: int, method: str) -> dict[str, Any]:
    table = TABLES[name](np.random.default_rng([seed, *name.encode()]))
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = METHODS[method](table, seed)
    seconds = time.process_time() - began
    known = ~np.isnan(table.wrong)
    wrong, flags = table.wrong[known] == 1, np.asarray(found.pop("flags"))[known]
    score = np.asarray(found.pop("score"))[known]
    differs = wrong if table.differs is None else table.differs[known]
    return found | {
        "n": len(table.y),
        "wrong": float(wrong.mean()),
        "average_precision": float(average_precision_score(wrong, score)) if wrong.any() else np.nan,
        "flagged": int(flags.sum()),
        "precision": float(wrong[flags].mean()) if flags.any() else np.nan,
        "differs": float(differs[flags].mean()) if flags.any() else np.nan,
        "recall": float(flags[wrong].mean()) if wrong.any() else np.nan,
        "seconds": seconds,
    }


def _mean(rows: list[dict[str, str]], column: str) -> float:
    values = [float(row[column]) for row in rows if row[column] not in ("", "nan")]
    return float(np.mean(values)) if values else float("nan")


def _shown(value: float, form: str) -> str:
    return DASH if np.isnan(value) else format(value, form)


def _line(name: str, method: str, rows: list[dict[str, str]], own: float) -> str:
    cells = [name, method, *(_shown(_mean(rows, c), ".2f") for c in ("average_precision",))]
    cells += [_shown(_mean(rows, "flagged"), ".0f")]
    cells += [_shown(_mean(rows, column), ".2f") for column in ("precision", "differs", "recall")]
    ratio = _mean(rows, "seconds") / own
    cells.append(DASH if np.isnan(ratio) else f"{ratio:.1f} ×")
    return f"| {' | '.join(cells)} |"


def methods_table(rows: list[dict[str, str]]) -> list[str]:
    lines = [
        "| table | method | average precision | flagged | of those wrong | of those other than the truth | "
        "of the wrong ones flagged | time |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in TABLES:
        cell = [row for row in rows if row["table"] == name]
        own = _mean([row for row in cell if row["method"] == "levelhead"], "seconds")
        for method in METHODS:
            mine = [row for row in cell if row["method"] == method]
            if mine:
                lines.append(_line(name if method == "levelhead" else "", method, mine, own))
    return lines


def verdicts_table(rows: list[dict[str, str]]) -> list[str]:
    lines = [
        "| table | rows | wrong | estimated | interval | standing out | reliable | segment |",
        "|---|---:|---:|---:|---:|---:|---|---:|",
    ]
    for name in TABLES:
        mine = [row for row in rows if row["table"] == name and row["method"] == "levelhead"]
        if mine:
            ends = lambda low, high, mine=mine: f"{_mean(mine, low):.1%} to {_mean(mine, high):.1%}"
            cells = [
                name,
                f"{_mean(mine, 'n'):,.0f}",
                f"{_mean(mine, 'wrong'):.1%}",
                f"{_mean(mine, 'contamination'):.1%}",
                ends("low", "high"),
                ends("standing_out_low", "standing_out_high"),
                "yes" if _mean(mine, "reliable") == 1 else "no",
                _shown(_mean(mine, "segment"), ".2f"),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(tables: list[str] | None, seeds: int, minutes: float, only_table: bool) -> None:
    end = time.monotonic() + 60 * minutes
    for seed in range(0 if only_table else seeds):
        for name in tables or TABLES:
            if time.monotonic() < end:
                methods = METHODS if name in REAL else list(METHODS)[:1]
                run_missing(RESULT, COLUMNS, [(name, seed, method) for method in methods], run)
    rows = read(RESULT)
    PAGE.write_text("\n".join([*methods_table(rows), "", *verdicts_table(rows), ""]))
