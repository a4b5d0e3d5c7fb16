"""Shifts of one standard deviation planted into 2 to 10 % of the rows: segments that are found, and false ones.

LEVELHEAD_DATA=… python bench/segments.py [--simulations 40] [--datasets boston …] [--table]

Two parts. Residuals alone: noise of three kinds, eight columns, with and without a shift. Public tables: boosted trees
judge the labels as they are, and labels of which a run of rows, an interval or category of an input, or one level of a
further input that has no other effect (an "operator" with 16 levels, drawn at random), is shifted by one standard
deviation of the noise. Every run is appended to bench/results/segments.csv; what is there already is not
run again. Limits of the scan were chosen on such residuals and on clean audits of all these tables, so that the rows
without a shift are not an independent check of them.
"""

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from public_tables import TABLES, audited, load
from resuming import read, run_missing

from levelhead.audits import Audit, find_segments

RESULT = Path(__file__).parent / "results/segments.csv"
TABLE = Path(__file__).parents[1] / "docs/tables/segments.md"
COLUMNS = ("source", "where", "seed", "rows", "share", "found", "others")
NOISES = ("normal", "t3", "lognormal")
SIZES = (1000, 3000)
LARGE = 1000
SHARES = (0.02, 0.1)  # of the rows that are shifted
DRAWS = 200
PLACES = ("nowhere", "order", "input", "operator")
OPERATORS = {f"operator {k}": share for k, share in enumerate([0.02, 0.03, 0.05, 0.1] + [0.8 / 12] * 12)}


def noise(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if name == "normal":
        return rng.normal(size=n)
    if name == "t3":
        return rng.standard_t(3, n) / np.sqrt(3)
    skewed = np.exp(0.8 * rng.normal(size=n))
    return (skewed - np.exp(0.32)) / np.sqrt((np.exp(0.64) - 1) * np.exp(0.64))


def segment(columns: dict[str, np.ndarray], where: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """2 to 10 % of the rows: consecutive, in an interval of an input, or of one category."""
    if where == "order":
        size = int(rng.uniform(*SHARES) * n)
        start = int(rng.integers(0, n - size))
        return np.arange(start, start + size)
    for _ in range(DRAWS):
        values = columns[str(rng.choice(list(columns)))]
        rows = interval(values, n, rng) if values.dtype.kind in "iuf" else category(values, rng)
        if SHARES[0] * n <= len(rows) <= SHARES[1] * n:
            return rows
    raise ValueError("no column has an interval or a category with 2 to 10 % of the rows")


def interval(values: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows between two values of a column; equal values stay together."""
    size = int(rng.uniform(*SHARES) * n)
    start = int(rng.integers(0, n - size))
    low, high = np.sort(values)[[start, start + size]]
    return np.flatnonzero((values >= low) & (values < high))


def category(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    text = values.astype(str)
    return np.flatnonzero(text == str(rng.choice(np.unique(text))))


def overlap(rows: np.ndarray, other: np.ndarray) -> float:
    return len(np.intersect1d(rows, other)) / len(np.union1d(rows, other))


def judged(audit: Any, columns: Any, rows: np.ndarray, inputs: Sequence[str] = ()) -> dict[str, Any]:
    found = find_segments(audit, columns, inputs=inputs)
    hits = [overlap(each.rows, rows) > 0.5 for each in found]
    away = [not len(np.intersect1d(each.rows, rows)) for each in found]
    share = len(rows) / len(audit)
    return {"rows": len(audit), "share": share, "found": int(any(hits)), "others": int(sum(away))}


def run(source: str, where: str, seed: int) -> dict[str, Any]:
    if source in TABLES:
        X, rows, audit = planted(source, where, seed)
        return judged(audit, X, rows, list(X.columns))
    rng = np.random.default_rng([seed, *source.encode(), *where.encode()])
    name, n = source.split()[0], int(source.split()[1])
    columns = {f"x{k}": rng.normal(size=n) for k in range(6)}
    columns |= {"sensor": rng.integers(0, 15, n).astype(str), "site": rng.choice(list("abc"), n)}
    residual = noise(name, n, rng)
    rows = np.empty(0, dtype=int) if where == "nowhere" else segment(columns, where, n, rng)
    residual[rows] += rng.choice([-1, 1])
    return judged(Audit.from_residuals(residual, np.zeros(n), 1.0), columns, rows)


@cache
def untouched(name: str, seed: int) -> tuple[Any, np.ndarray, Any]:
    """A public table with an operator, its labels, and their audit."""
    X, y = load(name, seed)
    rng = np.random.default_rng([seed, *name.encode()])
    X = X.assign(operator=rng.choice(list(OPERATORS), len(y), p=list(OPERATORS.values())))
    return X, y, audited(X, y, seed)


def planted(name: str, where: str, seed: int) -> tuple[Any, np.ndarray, Any]:
    """A public table, its shifted rows, and the audit."""
    rng = np.random.default_rng([seed, *name.encode(), *where.encode()])
    X, y, audit = untouched(name, seed)
    if where == "nowhere":
        return X, np.empty(0, dtype=int), audit
    if where == "operator":
        rows = np.flatnonzero(X["operator"] == rng.choice(list(OPERATORS)[:4]))
    else:
        columns = {c: X[c].to_numpy() for c in X.columns if c != "operator"}
        rows = segment(columns, where, len(y), rng)
    shifted = y.copy()
    shifted[rows] += rng.choice([-1, 1]) * audit.std[rows]
    return X, rows, audited(X, shifted, seed)


def percent(values: list[int]) -> str:
    share = np.mean(values)
    return f"{100 * share:.0f} ± {100 * np.sqrt(share * (1 - share) / len(values)):.0f} %"


def table(rows: list[dict[str, str]]) -> str:
    lines = [
        "| labels | runs without a shift | with a false segment | runs of shifted rows: found | "
        "shifted interval or category of an input: found | shifted level of an input without other effect: found | "
        "segments elsewhere per run |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    stored = {row["source"] for row in rows} - set(
        TABLES
    )  # all of them, also of sizes that are no longer run
    made = sorted(
        (source.split() for source in stored), key=lambda part: (NOISES.index(part[0]), int(part[1]))
    )
    groups = [(f"residuals, {name} noise, n = {int(n):,}", [f"{name} {n}"]) for name, n in made]
    groups.append(("public tables, trees", list(TABLES)))
    large = {row["source"] for row in rows if row["source"] in TABLES and int(row["rows"]) >= LARGE}
    groups.append((f"of these, tables with at least {LARGE:,} rows", sorted(large)))
    groups += [(name, [name]) for name in TABLES]
    for title, sources in groups:
        cell = {
            where: [row for row in rows if row["source"] in sources and row["where"] == where]
            for where in PLACES
        }
        if not cell["nowhere"]:
            continue
        clean = percent([int(row["others"]) > 0 for row in cell["nowhere"]])
        hits = [
            percent([int(row["found"]) for row in cell[where]]) if cell[where] else "–"
            for where in PLACES[1:]
        ]
        others = np.mean([int(row["others"]) for where in PLACES[1:] for row in cell[where]])
        lines.append(f"| {title} | {len(cell['nowhere'])} | {clean} | {' | '.join(hits)} | {others:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=40)
    parser.add_argument("--datasets", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=10, help="random choices of rows of each public table")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    if not options.table:
        made = [f"{name} {n}" for name in NOISES for n in SIZES]
        specs = [(s, where, k) for k in range(options.splits) for s in options.datasets for where in PLACES]
        specs += [(s, where, k) for k in range(options.simulations) for s in made for where in PLACES[:3]]
        run_missing(RESULT, COLUMNS, specs, run)
    text = table(read(RESULT))
    print(text)
    TABLE.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
