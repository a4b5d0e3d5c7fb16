"""Several targets: networks that share their hidden layers, compared with one network per target.

    python bench/targets.py [--splits 10] [--rows 1000] [--missing 0] [--members 1] [--width 64] [--tables NAME ...]
        [--out FILE]

Targets are columns of public tables in the folder LEVELHEAD_DATA, or simulated. Each split draws training rows,
replaces a share of the labels of every target on its own by labels of other rows, and tests on clean rows. The table
shows, for each set of targets, the ratio of the errors (root mean square in units of each target's standard deviation,
mean over targets), of the CRPS, and of the CPU time of the fits, shared against separate, with standard errors over
the splits.
With `--missing 0.5`, half of the labels of every target are missing.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from levelhead import GCPRegressor, MultiTargetRegressor

Array = np.ndarray
Table = tuple[pd.DataFrame, Array]
SHARES = (0.0, 0.1)
TESTED = 2000


def columns(
    name: str, *targets: str, without: tuple[str, ...] = ()
) -> Callable[[np.random.Generator], Table]:
    """A public table with several of its columns as targets."""

    def read(_: np.random.Generator) -> Table:
        frame = pd.read_csv(Path(os.environ["LEVELHEAD_DATA"]) / name).dropna()
        names = [frame.columns[-1] if target == "last" else target for target in targets]
        return frame.drop(columns=[*names, *without]), frame[names].to_numpy(float)

    return read


def arm(rng: np.random.Generator) -> Table:
    """Place of the hand of an arm with four joints: three related targets."""
    angles = rng.uniform(-np.pi / 2, np.pi / 2, size=(5000, 4))
    reach = np.cumsum(angles[:, 1:], axis=1)
    length = np.array([1.0, 0.8, 0.5])
    out, up = (np.cos(reach) * length).sum(axis=1), (np.sin(reach) * length).sum(axis=1)
    clean = np.column_stack([out * np.cos(angles[:, 0]), out * np.sin(angles[:, 0]), up])
    return pd.DataFrame(angles).add_prefix("joint "), clean + 0.1 * rng.normal(size=clean.shape)


def spectrum(rng: np.random.Generator) -> Table:
    """Six mixtures of three functions of eight inputs."""
    X = rng.normal(size=(5000, 8))
    hidden = np.column_stack([np.sin(2 * X[:, 0]) * X[:, 1], np.abs(X[:, 2] + X[:, 3]), X[:, 4] * X[:, 5]])
    clean = np.einsum("nk,kt->nt", hidden, rng.normal(size=(3, 6)))
    return pd.DataFrame(X).add_prefix("x"), clean + 0.5 * rng.normal(size=clean.shape)


def unrelated(rng: np.random.Generator) -> Table:
    """Three functions of different inputs, which have nothing in common."""
    X = rng.normal(size=(5000, 9))
    clean = np.column_stack([np.sin(2 * X[:, k]) * X[:, k + 1] + np.abs(X[:, k + 2]) for k in (0, 3, 6)])
    return pd.DataFrame(X).add_prefix("x"), clean + 0.3 * rng.normal(size=clean.shape)


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "california: value, income": columns("tables/california.csv", "last", "median_income"),
    "houses: price, living area": columns(
        "tables/kc_house.csv", "last", "sqft living", without=("sqft above", "sqft basement", "zipcode")
    ),
    "diamonds: price, depth, table": columns("tables/diamonds.csv", "last", "depth", "table"),
    "wine: quality, alcohol, acidity": columns("tables/wine_white.csv", "last", "10", "0"),
    "airfoil: noise, thickness": columns("tables/airfoil.csv", "last", "x4"),
    "robot arm: 3 coordinates": arm,
    "mixtures: 6 of 3 functions": spectrum,
    "3 unrelated functions": unrelated,
}


def replaced(Y: Array, share: float, rng: np.random.Generator) -> Array:
    """A share of the labels of each target, replaced by labels of other rows."""
    dirty = Y.copy()
    for k in range(Y.shape[1]):
        rows = rng.choice(len(Y), round(share * len(Y)), replace=False)
        dirty[rows, k] = rng.permutation(Y[:, k])[: len(rows)]
    return dirty


def compared(
    table: Table, share: float, given: argparse.Namespace, rng: np.random.Generator
) -> dict[str, float]:
    """Errors and CPU seconds of both kinds of fits on one split."""
    X, Y = table
    order = rng.permutation(len(X))
    n_rows = min(given.rows, round(0.8 * len(X)))
    train, test = order[:n_rows], order[n_rows : n_rows + TESTED]
    labels, clean = replaced(Y[train], share, rng), Y[test]
    labels[rng.uniform(size=labels.shape) < given.missing] = np.nan
    result: dict[str, float] = {}
    for name, width in (("shared", given.width), ("separate", 64)):
        base = GCPRegressor((width, width), n_members=given.members, random_state=0, n_jobs=1)
        model = MultiTargetRegressor(base, shared_trunk=name == "shared")
        began = time.process_time()
        model.fit(X.iloc[train], labels)
        result[f"{name} seconds"] = time.process_time() - began
        prediction = model.predict_dist(X.iloc[test])
        spread = Y.std(axis=0)
        result[f"{name} error"] = float(
            np.mean(np.sqrt(np.mean(((prediction.mean - clean) / spread) ** 2, axis=0)))
        )
        scores = [one.crps(y) for one, y in zip(prediction, clean.T, strict=True)]
        result[f"{name} crps"] = float(np.mean(np.stack(scores, axis=1) / spread))
    return result


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Ratios and differences, shared against separate, with standard errors over the splits."""
    lines = []
    for (name, share), runs in frame.groupby(["table", "share"], sort=False):
        logs = np.log(runs["shared error"] / runs["separate error"])
        crps = np.log(runs["shared crps"] / runs["separate crps"])
        lines.append(
            {
                "table": name,
                "wrong": share,
                "error separate": f"{runs['separate error'].mean():.3f}",
                "error ratio": f"{np.exp(logs.mean()):.3f} ± {logs.std() / len(logs) ** 0.5:.3f}",
                "CRPS ratio": f"{np.exp(crps.mean()):.3f} ± {crps.std() / len(crps) ** 0.5:.3f}",
                "time ratio": f"{(runs['shared seconds'] / runs['separate seconds']).median():.2f}",
            }
        )
    return pd.DataFrame(lines)


def main() -> None:
    """Run all comparisons and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--missing", type=float, default=0.0)
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--width", type=int, default=64, help="of the hidden layers that targets share")
    parser.add_argument("--tables", nargs="*", default=[""], help="first letters of the tables to use")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    runs = []
    for name, make in TABLES.items():
        if not name.startswith(tuple(given.tables)):
            continue
        for share in SHARES:
            for split in range(given.splits):
                rng = np.random.default_rng(split)
                result = compared(make(rng), share, given, rng)
                settings = {key: vars(given)[key] for key in ("rows", "missing", "members", "width")}
                runs.append({"table": name, "share": share, "split": split, **settings, **result})
                if given.out is not None:
                    pd.DataFrame(runs).to_csv(given.out, index=False)
        print(summary(pd.DataFrame(runs)).tail(len(SHARES)).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
