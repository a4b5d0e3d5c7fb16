"""Errors planted into many tables, several times each: the share of false alarms with its standard error.

    LEVELHEAD_DATA=… python bench/audits.py --planted [--tables boston …] [--seeds 10] [--minutes 8] [--table]

Every table is audited with its labels as they are and with five kinds of errors. A false alarm is a flagged label that
was not changed. Some of these stand out in the table as it was published, too; they are counted separately, because
nobody knows whether they are right. One row per table, kind and seed is appended to bench/results/audits-planted.csv;
what is there is not run again. The page docs/tables/audits-planted.md is made from it. How neighbours
(audits/_agreement.py) and powers of ten (audits/_factors.py) are judged was chosen on other errors in the tables of
CHOSEN_ON, the numbers 0 and 1 of which are not used here.
"""

import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import raised
from errors import ErrorTable, cars, clustered, of_another_row, replaced, some_rows, times_ten
from resuming import read, run_missing
from simulated import BINS, PROBABILITIES, calibration, in_bins
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.metrics import average_precision_score

from levelhead import Audit, AutoRegressor
from levelhead.auditing import groups_in_table, judge, without_codes

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/audits-planted.csv"
PAGE = ROOT / "docs/tables/audits-planted.md"
COLUMNS = (
    "table", "kind", "seed", "n", "wrong", "average_precision", "flagged", "false", "false_untouched", "found",
    "flagged_alone", "false_alone", "found_alone", "flagged_untouched", "seconds", *raised.COLUMNS, *BINS,
)  # fmt: skip
FIRST_JUDGED = 2  # seed
FILES = {
    **{name: f"{name}.csv" for name in ("boston", "concrete", "kin8nm", "power", "yacht")},
    **{
        name: f"tables/{name}.csv"
        for name in ("airfoil", "california", "diamonds", "energy", "kc_house", "wine_white")
    },
}
FRIEDMAN = {
    "Friedman 1": (make_friedman1, 1.0),
    "Friedman 2": (make_friedman2, 125.0),
    "Friedman 3": (make_friedman3, 0.1),
}
CHOSEN_ON = (*FILES, "used cars")
TABLES = (*CHOSEN_ON, "diabetes", *FRIEDMAN)
KINDS = {
    "replaced, 5 %": (replaced, 0.05),
    "another row's, 5 %": (of_another_row, 0.05),
    "× or ÷ 10, 2 %": (times_ten, 0.02),
    "replaced, 20 %": (replaced, 0.2),
    "cluster, 20 %": (clustered, 0.2),
}


def untouched(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Inputs and labels of a table as it is."""
    rng = np.random.default_rng([seed, *name.encode()])
    if name in FRIEDMAN:
        made, noise = FRIEDMAN[name]
        X, y = made(1000, noise=noise, random_state=seed)
        return pd.DataFrame(X).add_prefix("x"), y
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return X, y.to_numpy(float)
    return some_rows(FILES[name], rng, 2000) if name in FILES else cars(rng, 2000)


def planted(name: str, kind: str, seed: int) -> ErrorTable:
    X, y = untouched(name, seed)
    change, share = KINDS[kind]
    rng = np.random.default_rng([seed, *name.encode(), *kind.encode()])
    rows = rng.choice(len(y), int(share * len(y)), replace=False)
    given = y.copy()
    given[rows] = change(y, rows, rng)
    return ErrorTable(X, given, given != y)


def audited(X: pd.DataFrame, y: np.ndarray, seed: int) -> tuple[Audit, Audit]:
    """The audit by default, and that by residuals alone, without neighbours and powers of ten."""
    model = AutoRegressor(random_state=seed, n_jobs=1)
    groups, _ = groups_in_table(X, y, n_jobs=1)
    inputs, labels, given = without_codes(X, y, groups=groups)
    model.fit(inputs, labels, **given)
    return judge(model, X, y, check_rows=False, groups=groups), model.audit(X, y)


@cache
def flagged_untouched(name: str, seed: int) -> np.ndarray:
    return audited(*untouched(name, seed), seed)[0].is_label_issue


def run(name: str, kind: str, seed: int) -> dict[str, Any]:
    table = planted(name, kind, seed)
    wrong = table.wrong
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, alone = audited(table.X, table.y, seed)
        seconds = time.process_time() - began
        before = flagged_untouched(name, seed)
    flags = result.is_label_issue
    return {
        "n": len(wrong),
        "wrong": int(wrong.sum()),
        "average_precision": float(average_precision_score(wrong, result.log_odds)),
        "flagged": int(flags.sum()),
        "false": int((flags & ~wrong).sum()),
        "false_untouched": int((flags & ~wrong & before).sum()),
        "found": int((flags & wrong).sum()),
        "flagged_alone": int(alone.is_label_issue.sum()),
        "false_alone": int((alone.is_label_issue & ~wrong).sum()),
        "found_alone": int((alone.is_label_issue & wrong).sum()),
        "flagged_untouched": int(before.sum()),
        "seconds": seconds,
        **raised.raised(result, wrong),
        **in_bins(result.p_outlier[~result.is_code], wrong[~result.is_code]),
    }


def _with_error(values: np.ndarray) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():.3f} ± {error:.3f}"


def _line(name: str, rows: list[dict[str, str]]) -> str:
    of = {column: np.array([float(row[column]) for row in rows]) for column in COLUMNS[3:]}
    share = lambda part, whole: part / np.maximum(whole, 1)
    own = of["false"] - of["false_untouched"]
    cells = [
        name,
        str(len(rows)),
        _with_error(share(of["false_alone"], of["flagged_alone"])),
        _with_error(share(of["false"], of["flagged"])),
        _with_error(share(own, of["flagged"])),
        f"{of['found_alone'].sum() / of['wrong'].sum():.3f}",
        f"{of['found'].sum() / of['wrong'].sum():.3f}",
        f"{of['average_precision'].mean():.2f}",
        f"{(of['flagged'] == 0).mean():.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def page(rows: list[dict[str, str]]) -> list[str]:
    lines = [
        "| tables | audits | false alarms, by residuals alone | false alarms | without those that stand out in "
        "the published table | wrong labels found, by residuals alone | wrong labels found | average precision | "
        "audits without a flag |",
        "|---|" + "---:|" * 8,
    ]
    groups = [("all", rows)]
    groups += [(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    groups += [
        ("tables chosen on, other errors", [row for row in rows if row["table"] in CHOSEN_ON]),
        ("tables not chosen on", [row for row in rows if row["table"] not in CHOSEN_ON]),
    ]
    groups += [(name, [row for row in rows if row["table"] == name]) for name in TABLES]
    lines += [_line(name, mine) for name, mine in groups if mine]
    lines += ["", f"| wrong labels | {PROBABILITIES} |", "|---|" + "---:|" * 10]
    for name, mine in groups[: len(KINDS) + 1]:
        sums = {column: sum(float(row[column]) for row in mine) for column in BINS}
        lines.append(f"| {name} | {calibration(sums)} |")
    return lines


def main(tables: list[str] | None, seeds: int, minutes: float, only_table: bool) -> None:
    end = time.monotonic() + 60 * minutes
    for seed in range(FIRST_JUDGED, FIRST_JUDGED + (0 if only_table else seeds)):
        for name in tables or TABLES:
            if time.monotonic() < end:
                run_missing(RESULT, COLUMNS, [(name, kind, seed) for kind in KINDS], run)
    PAGE.write_text("\n".join([*page(read(RESULT)), ""]))
