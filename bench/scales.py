"""What a scale of the labels chosen on held-out rows is worth: the same model with and without it, on clean labels.

python bench/scales.py [--tables boston tables/california …] [--kinds network trees auto] [--splits 3] [--table]

Of each table up to 1,000 rows train and up to 1,000 others test. Runs are appended to bench/results/scales.csv; what is
there already is not run again. `--table` writes docs/tables/scales.md from it. The rules of the choice were set on
simulated labels; no table below was used for them.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from resuming import read, run_missing

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, metrics

RESULT = Path(__file__).parent / "results/scales.csv"
TABLE = Path(__file__).parents[1] / "docs/tables/scales.md"
TABLES = (
    "boston", "concrete", "power", "yacht", "kin8nm",
    "tables/airfoil", "tables/california", "tables/diamonds", "tables/energy", "tables/kc_house", "tables/wine_white",
)  # fmt: skip
KINDS = {"network": GCPRegressor, "trees": GCPBoostingRegressor, "auto": AutoRegressor}
MEASURES = ("nll", "crps", "rmse")
COLUMNS = ("table", "kind", "split", "transform", *MEASURES, "chosen")
ROWS = 1000


def rows_of(table: str) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(Path(os.environ["LEVELHEAD_DATA"]) / f"{table}.csv")
    inputs = frame.iloc[:, :-1]
    numbers = pd.get_dummies(inputs).astype(float).fillna(inputs.median(numeric_only=True))
    return numbers.to_numpy(), frame.iloc[:, -1].to_numpy(dtype=float)


def run(table: str, kind: str, split: int, transform: str) -> dict[str, float | str]:
    X, y = rows_of(table)
    order = np.random.default_rng(split).permutation(len(y))
    n = min(ROWS, int(0.8 * len(y)))
    train, test = order[:n], order[n : n + ROWS]
    how = None if transform == "none" else transform
    model = KINDS[kind](n_members=1, target_transform=how, random_state=split).fit(X[train], y[train])
    prediction = model.predict_dist(X[test])
    return {
        "nll": metrics.nll(y[test], prediction),
        "crps": metrics.crps(y[test], prediction),
        "rmse": metrics.rmse(y[test], prediction.mean),
        "chosen": "linear" if model.target_transform_ is None else model.target_transform_.name,
    }


def table_text(rows: list[dict[str, str]]) -> str:
    """One line per table and kind: change of each measure with its standard error over the splits."""
    frame = pd.DataFrame(rows).astype(dict.fromkeys(MEASURES, float))
    lines = [
        "| table | model | chosen scales | −ln p, change | CRPS, ratio | RMSE, ratio |",
        "|---|---|---|---|---|---|",
    ]
    for (table, kind), cell in frame.groupby(["table", "kind"], sort=False):
        wide = cell.pivot(index="split", columns="transform", values=list(MEASURES)).dropna()
        chosen = ", ".join(sorted(set(cell.loc[cell["transform"] == "auto", "chosen"])))
        changes = [wide["nll"]["auto"] - wide["nll"]["none"]]
        changes += [wide[name]["auto"] / wide[name]["none"] for name in ("crps", "rmse")]
        cells = [f"{c.mean():.3f} ± {c.std() / np.sqrt(len(c)):.3f}" for c in changes]
        lines.append(f"| {Path(table).name} | {kind} | {chosen} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        specs = [
            (table, kind, split, transform)
            for split in range(given.splits)
            for table in given.tables
            for kind in given.kinds
            for transform in ("none", "auto")
        ]
        run_missing(RESULT, COLUMNS, specs, run)
    text = table_text(read(RESULT))
    print(text)
    if given.table:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
