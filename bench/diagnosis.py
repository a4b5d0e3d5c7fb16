"""Kinds of label errors planted into public tables: how often the named kind is right and the label repaired.

LEVELHEAD_DATA=… python bench/diagnosis.py [--datasets boston …] [--kinds factor …] [--seeds 2] [--table]

4 % of the labels of a table get errors of one kind, or of all kinds in equal shares (mixed). Boosted trees judge the
labels, then `levelhead.audits.diagnose` names the kinds. Counted are flagged labels only. Every run is appended to
bench/results/diagnosis.csv; what is there already is not run again. The numbers in `audits/_kinds.py` and
`audits/diagnosis.py` were chosen with seeds 0 and 1.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from public_tables import TABLES, audited, load
from resuming import read, run_missing

from levelhead.audits import diagnose, find_segments
from levelhead.audits._digits import resolution

RESULT = Path(__file__).parent / "results/diagnosis.csv"
TABLE = Path(__file__).parents[1] / "docs/tables/diagnosis.md"
SHARE = 0.04
CODES = (-999.0, 9999.0, -1.0, 0.0, 99999.0, -200.0)
UNITS = (2.54, 1 / 2.54, 0.3048, 1 / 0.3048, 0.45359237, 1 / 0.45359237)
COLUMNS = ("dataset", "kind", "seed", "rows", "wrong", "flagged", "flagged_wrong", "known", "named", "right",
           "repaired", "known_right", "partners", "partners_right", "seconds")  # fmt: skip
NAMES = {
    "factor": "factor of ten", "unit": "other unit", "temperature": "other unit", "sign": "sign",
    "exchanged": "exchanged", "transposed": "digits transposed", "code": "missing code", "stuck": "stuck value",
    "random": "unknown",
}  # fmt: skip


def transposed(value: float, rng: np.random.Generator) -> float:
    """Two neighbouring digits exchanged, in half of the cases the first two."""
    text = np.format_float_positional(abs(value), trim="-")
    at = [k for k in range(len(text) - 1) if text[k : k + 2].isdigit() and text[k] != text[k + 1]]
    if not at:
        return value
    k = at[0] if rng.random() < 0.5 else at[int(rng.integers(len(at)))]
    return float(text[:k] + text[k + 1] + text[k] + text[k + 2 :]) * np.sign(value)


def stuck(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    for row in np.sort(rows):
        y[row] = y[row - 1]
    return y[rows]


def random(clean: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    wide = clean.mean() + 3 * clean.std() * rng.normal(size=n)
    step = resolution(clean)
    return np.round(wide / step) * step


Plant = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
PLANTS: dict[str, Plant] = {
    "factor": lambda y, rows, rng: y[rows] * 10.0 ** rng.choice([1, 1, -1, 2, 3, -2], len(rows)),
    "unit": lambda y, rows, rng: np.round(y[rows] * rng.choice(UNITS), 6),
    "temperature": lambda y, rows, rng: y[rows] * 1.8 + 32 if rng.random() < 0.5 else (y[rows] - 32) / 1.8,
    "sign": lambda y, rows, rng: -y[rows],
    "exchanged": lambda y, rows, rng: y[partners(rows)],
    "transposed": lambda y, rows, rng: np.array([transposed(value, rng) for value in y[rows]]),
    "code": lambda y, rows, rng: np.full(len(rows), rng.choice(CODES)),
    "stuck": lambda y, rows, rng: stuck(y.copy(), rows),
    "random": lambda y, rows, rng: random(y, len(rows), rng),
}


def partners(rows: np.ndarray) -> np.ndarray:
    """The row that each of `rows` is exchanged with: 2 with 1, 4 with 3, …; a last odd one keeps its label."""
    other = rows.copy()
    even = len(rows) // 2 * 2
    other[0:even:2], other[1:even:2] = rows[1:even:2], rows[0:even:2]
    return other


def planted(y: np.ndarray, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with errors; the kind of each error ("" if none), and the row it was exchanged with."""
    rng = np.random.default_rng([seed, *kind.encode()])
    rows = rng.choice(np.arange(1, len(y)), max(12, int(SHARE * len(y))), replace=False)
    wrong, truth, partner = y.copy(), np.full(len(y), "", dtype=object), np.full(len(y), -1)
    kinds = tuple(PLANTS) if kind == "mixed" else (kind,)
    for each, part in zip(kinds, np.array_split(rows, len(kinds)), strict=True):
        wrong[part] = PLANTS[each](y, part, rng)
        truth[part] = NAMES[each]
        if each == "exchanged":
            partner[part] = partners(part)
    truth[wrong == y] = ""
    return wrong, truth, partner


def run(dataset: str, kind: str, seed: int) -> dict[str, float]:
    X, y = load(dataset, seed)
    wrong, truth, partner = planted(y, kind, seed)
    audit = audited(X, wrong, seed)
    began = time.perf_counter()
    found = diagnose(audit, segments=find_segments(audit, X))
    seconds = time.perf_counter() - began
    flagged = audit.is_label_issue[found.rows]
    said, true, rows = found.kind[flagged], truth[found.rows[flagged]], found.rows[flagged]
    named, right = said != "unknown", said == true
    near = np.abs(found.repaired[flagged] - y[rows]) <= 2 * audit.std[rows]
    other = found.partner[flagged]
    return {
        "rows": len(y),
        "wrong": int((wrong != y).sum()),
        "flagged": len(rows),
        "flagged_wrong": int((true != "").sum()),
        "known": int(((true != "") & (true != "unknown")).sum()),
        "named": int(named.sum()),
        "right": int((named & right).sum()),
        "repaired": int((named & near).sum()),
        "known_right": int((named & right & (true != "unknown")).sum()),
        "partners": int((right & (other >= 0)).sum()),
        "partners_right": int((right & (other >= 0) & (other == partner[rows])).sum()),
        "seconds": seconds,
    }


def ratio(rows: list[dict[str, str]], above: str, below: str) -> str:
    """A ratio of sums, with its standard error over the runs."""
    top, bottom = (np.array([float(row[name]) for row in rows]) for name in (above, below))
    if not bottom.sum():
        return "–"
    share = top.sum() / bottom.sum()
    error = np.sqrt(((top - share * bottom) ** 2).sum()) / bottom.sum()
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def table(rows: list[dict[str, str]]) -> str:
    """One line per planted kind, and one per table."""
    lines = [
        "| planted | runs | wrong | flagged and wrong | named | named kind right | repaired within two deviations | "
        "of known kinds named |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    kinds = [
        (f"{kind} ({NAMES[kind]})" if kind in NAMES else kind, "kind", kind) for kind in (*PLANTS, "mixed")
    ]
    for title, column, value in [*kinds, *((name, "dataset", name) for name in TABLES), ("**all**", "", "")]:
        cell = [row for row in rows if not column or row[column] == value]
        if cell:
            counts = [sum(int(row[name]) for row in cell) for name in ("wrong", "flagged_wrong", "named")]
            shares = [
                ratio(cell, *pair)
                for pair in (("right", "named"), ("repaired", "named"), ("known_right", "known"))
            ]
            lines.append(f"| {title} | {len(cell)} | {' | '.join(map(str, counts))} | {' | '.join(shares)} |")
    right = ratio(rows, "partners_right", "partners")
    lines += ["", f"Of the exchanged labels whose partner is named, the partner is right for {right}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--kinds", nargs="+", default=[*PLANTS, "mixed"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[2])
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    if not options.table:
        specs = [(d, k, s) for s in options.seeds for k in options.kinds for d in options.datasets]
        run_missing(RESULT, COLUMNS, specs, run)
    text = table(read(RESULT))
    print(text)
    TABLE.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
