"""Tables of the manual from the runs of bench/eleven.py: leads and lags, single recipes, intervals, processor time.

A gap is how far `auto` is behind a peer on the same splits, relative to the peer's mean; below 0, `auto` is ahead. A
cell is a table with a kind of wrong labels. A peer counts in a cell if it has more than half of the splits of `auto`.
"""

from itertools import product

import numpy as np
from peers import CLEANED, OURS, behind

CHOSEN_ON = ("kc_house", "diamonds", "energy", "concrete")
FEW_TEST_ROWS = ("boston", "yacht", "energy")  # fewer than 100
MEASURES = ("rmse", "auc", "crps")
BESIDE = f"CatBoost{CLEANED}"  # processor time is relative to it
Cell = dict[str, dict[str, dict[str, float]]]


def cells_of(rows: list[dict], n_rows: int) -> dict[tuple[str, str], Cell]:
    """Table and condition → method → seed → measures; what a method does not have is infinite."""
    cells: dict = {}
    for row in rows:
        if row["rows"] != str(n_rows):
            continue
        cell = cells.setdefault((row["table"], row["condition"]), {})
        values = {c: float(row[c] or "inf") for c in (*MEASURES, "coverage", "width", "seconds")}
        cell.setdefault(row["method"], {})[row["seed"]] = values
    return {key: cell for key, cell in sorted(cells.items()) if "auto" in cell}


def shared(cell: Cell) -> tuple[list[str], list[str]]:
    """The peers that count in a cell, and the splits that they and `auto` share."""
    mine = set(cell["auto"])
    peers = [m for m in cell if m not in OURS and 2 * len(mine & set(cell[m])) > len(mine)]
    return peers, sorted(mine.intersection(*(cell[m] for m in peers))) if peers else []


def gap(cell: Cell, measure: str) -> tuple[float, float, str] | None:
    """How far `auto` is behind the best peer of the cell, the standard error, and the peer."""
    peers, seeds = shared(cell)
    values = {m: np.array([cell[m][s][measure] for s in seeds]) for m in peers}
    if not seeds or not np.isfinite(min(v.mean() for v in values.values())):
        return None
    best = min(values, key=lambda m: values[m].mean())
    return (*behind(np.array([cell["auto"][s][measure] for s in seeds]), values[best]), best)


def parts(cells: dict) -> dict[str, dict]:
    """The cells of tables that settings were not chosen on, and of those they were chosen on."""
    judged = {key: cell for key, cell in cells.items() if key[0] not in CHOSEN_ON}
    return {"judged": judged, "chosen on": {key: cell for key, cell in cells.items() if key not in judged}}


# The methods of the two tables of errors: on clean labels all that have every split of `auto`.
SHOWN = {
    "replaced 20 %": (
        "auto", f"deep ensemble{CLEANED}", f"CatBoost{CLEANED}", "LightGBM L1", "CatBoost MAE",
        f"quantile forest{CLEANED}", "cleanlab + LightGBM",
    ),
    "clean": (
        "auto", "CatBoost", f"CatBoost{CLEANED}", "CatBoost RMSEWithUncertainty", "deep ensemble",
        f"deep ensemble{CLEANED}", "LightGBM L1", "LightGBM quantiles", "quantile forest",
    ),
}  # fmt: skip


def errors(cells: dict, condition: str) -> str:
    """RMSE of some methods on the judged tables with one kind of wrong labels; means of the splits of `auto`."""
    judged = [table for table, kind in parts(cells)["judged"] if kind == condition]
    lines = [f"| | {' | '.join(judged)} |", f"|---|{'---:|' * len(judged)}"]
    for method in SHOWN[condition]:
        values = []
        for table in judged:
            cell = cells[table, condition]
            own = np.array([cell[method][seed]["rmse"] for seed in cell["auto"]])
            error = own.std(ddof=1) / np.sqrt(len(own))
            digits = max(0, 1 - int(np.floor(np.log10(error))))
            values.append(f"{own.mean():,.{digits}f} ± {error:,.{digits}f}")
        lines.append(f"| {method} | {' | '.join(values)} |")
    return "\n".join(lines)


def leads(cells: dict) -> str:
    """Leads, ties and lags of `auto` beside the best peer of each cell."""
    lines = [
        "| tables | measure | cells | splits | ahead | ahead beyond 2 SE | behind beyond 2 SE | mean gap | "
        "furthest behind |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for label, here in parts(cells).items():
        for measure in MEASURES:
            gaps = {key: found for key, cell in here.items() if (found := gap(cell, measure)) is not None}
            if not gaps:
                continue
            values = np.array([found[:2] for found in gaps.values()]) * 100
            far = max(gaps, key=lambda key: gaps[key][0])
            splits = {len(shared(here[key])[1]) for key in gaps}
            counts = [
                (values[:, 0] < 0).sum(),
                (values[:, 0] < -2 * values[:, 1]).sum(),
                (values[:, 0] > 2 * values[:, 1]).sum(),
            ]
            error = values[:, 0].std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            mean = f"{values[:, 0].mean():+.1f} ± {error:.1f} %"
            worst = f"{_gap(gaps[far])} ({', '.join(far)}; {gaps[far][2]})"
            shown = " | ".join(map(str, counts))
            lines.append(
                f"| {label} | {measure.upper()} | {len(gaps)} | {_range(splits)} | {shown} | {mean} | {worst} |"
            )
    return "\n".join(lines)


def each_cell(cells: dict) -> str:
    """The gap of every cell and measure, with the best peer."""
    lines = ["| table | wrong labels | splits | RMSE | AUC | CRPS |", "|---|---|---:|---|---|---|"]
    for part in parts(cells).values():
        for (table, condition), cell in part.items():
            found = [gap(cell, measure) for measure in MEASURES]
            if any(one is not None for one in found):
                shown = " | ".join("–" if one is None else f"{_gap(one)} ({one[2]})" for one in found)
                lines.append(f"| {table} | {condition} | {len(shared(cell)[1])} | {shown} |")
    return "\n".join(lines)


def recipes(cells: dict) -> str:
    """`auto` beside each peer as one recipe for all cells of the judged tables that both have done."""
    lines = ["| one recipe for all cells | cells | RMSE | AUC | CRPS |", "|---|---:|---:|---:|---:|"]
    judged = parts(cells)["judged"]
    found = []
    for peer in sorted({m for cell in judged.values() for m in cell if m not in OURS}):
        both = [cell for cell in judged.values() if set(cell["auto"]) & set(cell.get(peer, {}))]
        if 2 * len(both) < len(judged):
            continue
        logs = {measure: [_log_ratio(cell, peer, measure) for cell in both] for measure in MEASURES}
        shown = " | ".join(_percent(logs[measure]) for measure in MEASURES)
        found.append((np.mean(logs["rmse"]), f"| {peer} | {len(both)} | {shown} |"))
    return "\n".join(lines + [line for _, line in sorted(found, key=lambda pair: -pair[0])])


SLOW = ("RealMLP-TD", "TabM-D")


def slow_peers(cells: dict) -> str:
    """RMSE of `auto` beside networks that take too long for all splits, on the judged tables that both have done."""
    lines = [
        "| method | wrong labels | cells | splits | auto is ahead in | mean gap | furthest behind | time / auto's |",
        "|---|---|---:|---:|---:|---:|---|---:|",
    ]
    judged = parts(cells)["judged"]
    for peer, clean in product((f"{name}{end}" for name in SLOW for end in ("", CLEANED)), (True, False)):
        gaps, splits, times = {}, set(), []
        for key, cell in judged.items():
            both = sorted(set(cell["auto"]) & set(cell.get(peer, {})))
            if both and (key[1] == "clean") == clean:
                mine, other = ([cell[m][s] for s in both] for m in ("auto", peer))
                gaps[key] = behind(*(np.array([run["rmse"] for run in runs]) for runs in (mine, other)))
                splits.add(len(both))
                times.append(
                    np.log(np.mean([b["seconds"] / a["seconds"] for a, b in zip(mine, other, strict=True)]))
                )
        if gaps:
            values = np.array([found[0] for found in gaps.values()])
            error = 100 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            far = max(gaps, key=lambda key: gaps[key][0])
            worst = f"{_gap((*gaps[far], peer))} ({', '.join(far)})" if gaps[far][0] > 0 else "–"
            kinds = sorted({kind for _, kind in gaps})
            which = "none" if clean else kinds[0] if len(kinds) == 1 else f"{len(kinds)} kinds"
            lines.append(
                f"| {peer} | {which} | {len(gaps)} | {_range(splits)} | {(values < 0).sum()} | "
                f"{100 * values.mean():+.1f} ± {error:.1f} % | {worst} | {np.exp(np.mean(times)):.1f} |"
            )
    return "\n".join(lines)


def _log_ratio(cell: Cell, peer: str, measure: str) -> float:
    seeds = sorted(set(cell["auto"]) & set(cell[peer]))
    mine, other = (np.mean([cell[m][s][measure] for s in seeds]) for m in ("auto", peer))
    return float(np.log(mine / other)) if np.isfinite(other) else np.nan


def _percent(logs: list[float]) -> str:
    """Geometric mean of ratios as a difference in percent, with the standard error over the cells."""
    values = np.asarray(logs)
    if not np.isfinite(values).all():
        return "–"
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{100 * np.expm1(values.mean()):+.1f} ± {100 * error:.1f} %"


def coverage(rows: list[dict]) -> str:
    """Coverage of 90 % intervals on the judged and on all tables, and their width beside that of `auto`."""
    lines = [
        "| rows | wrong labels | method | runs | coverage | lowest | highest | width / auto's |",
        "|---:|---|---|---:|---:|---:|---:|---:|",
    ]
    found: dict = {}
    width = {_run(row): float(row["width"]) for row in rows if row["method"] == "auto"}
    for row in rows:
        if row["coverage"] and _run(row) in width:
            found.setdefault((int(row["rows"]), row["condition"], row["method"]), []).append(row)
    for (n, condition, method), runs in sorted(found.items()):
        values = np.array([float(row["coverage"]) for row in runs])
        by_table = {row["table"]: [] for row in runs if row["table"] not in FEW_TEST_ROWS}
        for row in runs:
            if row["table"] in by_table:
                by_table[row["table"]].append(float(row["coverage"]))
        ends = [np.mean(v) for v in by_table.values()]
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        ratio = np.exp(np.mean([np.log(float(row["width"]) / width[_run(row)]) for row in runs]))
        shown = " | ".join(f"{100 * v:.1f} %" for v in (min(ends), max(ends))) if ends else "– | –"
        lines.append(
            f"| {n} | {condition} | {method} | {len(runs)} | {100 * values.mean():.1f} ± {100 * error:.1f} % | "
            f"{shown} | {ratio:.2f} |"
        )
    return "\n".join(lines)


def _run(row: dict) -> tuple[str, ...]:
    return row["table"], row["condition"], row["rows"], row["seed"]


def cost(cells: dict) -> str:
    """Processor time of fit and prediction, and its ratio to CatBoost behind the filter, by table."""
    lines = [
        "| table | runs | auto, s | CatBoost behind the filter, s | ratio |",
        "|---|---:|---:|---:|---:|",
    ]
    times: dict[str, list[tuple[float, float]]] = {}
    for (table, _), cell in cells.items():
        for seed in set(cell["auto"]) & set(cell.get(BESIDE, {})):
            times.setdefault(table, []).append((cell["auto"][seed]["seconds"], cell[BESIDE][seed]["seconds"]))
    for table, pairs in times.items():
        mine, other = np.mean(pairs, axis=0)
        lines.append(f"| {table} | {len(pairs)} | {mine:.1f} | {other:.1f} | {mine / other:.1f} |")
    return "\n".join(lines)


def _gap(found: tuple[float, float, str]) -> str:
    error = "" if np.isnan(found[1]) else f" ± {100 * found[1]:.1f}"
    return f"{100 * found[0]:+.1f}{error} %"


def _range(counts: set[int]) -> str:
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)}–{max(counts)}"
