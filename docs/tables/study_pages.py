"""Writes the pages of the manual that show the study: tables and figures from the committed results.

    python docs/tables/study_pages.py          # from results/ into docs/tables and docs/assets; `make results` runs it

| from `results/` | into the manual |
|---|---|
| `table1.csv` | `tables/table1.md`, `table1_compared.md`, `table1_summary.md`, `assets/auc-against-contamination.svg` |
| `retention_curves.csv` | `assets/retention-curves.svg` |
| `synthetic_fits.csv` | `assets/synthetic-fits.svg` |
| `beyond.csv` | `tables/beyond.md`, `assets/beyond.svg` |
| `grid_search.csv`, `tuned.csv` | `tables/tuned.md` |
| `equal_epochs.csv`, `tuned.csv` | `tables/equal_epochs.md` |
| `others.csv`, `tuned.csv` | `tables/others.md`, `others_by_dataset.md`, `three_outputs.md`, `assets/others*.svg` |
| `floors.csv` | `tables/floors.md` |
| `beta_bayes.csv` | `tables/beta_bayes.md` |
| `variance_corrections.csv` | `tables/variance_corrections.md` |

Only the first is required. If an experiment has not been run, its page says so and shows the command that runs it.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from levelhead._files import whole
from levelhead.contamination import Cluster, Replaced, Swapped
from levelhead.study.curves import read_curves
from levelhead.study.figures import measure_against_contamination, measure_by_kind, retention, save
from levelhead.study.grids import Grid
from levelhead.study.paper import synthetic_fits, variance_corrections
from levelhead.study.paper.comparison import agreement_table, compare, compared
from levelhead.study.paper.grid_search import Found, read_choices
from levelhead.study.paper.published import N_SPLITS
from levelhead.study.paper.published import table1 as published
from levelhead.study.significance import best_methods
from levelhead.study.store import Row, read_csv
from levelhead.study.tables import cells, columns, table

sys.path.insert(0, str(Path(__file__).parent))
import further_pages  # beside this file, which is run as a script and imported by tests

_BY_PROGRAM = "<!-- Written by docs/tables/study_pages.py; do not edit. -->\n"
# Kinds of wrong labels in the order of the page: name in the figure, title of the tables.
_KINDS = {
    repr(Replaced()): ("replaced", "Replaced labels, as in the paper, at larger shares"),
    repr(Cluster()): ("one-sided cluster", "A one-sided cluster: all wrong labels near mean + 8 std"),
    repr(Swapped()): ("swapped", "Labels swapped between rows"),
}
_FIGURE_CONTAMINATION = 0.05


def write_pages(results: str | os.PathLike[str], manual: str | os.PathLike[str]) -> list[Path]:
    """Write all tables and figures; the same results give the same files.

    Parameters
    ----------
    results : path-like
        Folder with the CSV files.
    manual : path-like
        Folder to write to, with the subfolders `tables` and `assets`.

    Returns
    -------
    list of Path
        The files that were written.
    """
    source, target = Path(results), Path(manual)
    rows = read_csv(source / "table1.csv")
    beyond = read_csv(source / "beyond.csv") if (source / "beyond.csv").exists() else []
    texts = {
        "table1": _table1(rows),
        "table1_compared": _side_by_side(rows),
        "table1_summary": _summary(rows),
        "beyond": _beyond(beyond),
        "tuned": _tuned(source, rows),
        "equal_epochs": further_pages.equal_epochs(source, _searched(source)),
        "variance_corrections": _corrections(source),
        "others": further_pages.others(source, _searched(source)),
        "others_by_dataset": further_pages.others_by_dataset(source, _searched(source)),
        "three_outputs": further_pages.cost(source),
        "floors": further_pages.floors(source, rows),
        "beta_bayes": further_pages.beta_bayes(source, rows),
    }
    written = [_write(target / "tables" / f"{name}.md", text) for name, text in texts.items()]
    for name, draw in _figures(source, rows, beyond).items():
        path = target / "assets" / f"{name}.svg"
        with whole(path, overwrite=True, make_folders=True) as (partial,):
            save(draw(), partial)
        written.append(path)
    return written


def _write(path: Path, text: str) -> Path:
    with whole(path, overwrite=True, make_folders=True) as (partial,):
        partial.write_text(_BY_PROGRAM + "\n" + text + "\n", encoding="utf-8")
    return path


def _figures(source: Path, rows: Sequence[Row], beyond: Sequence[Row]) -> dict[str, Callable[[], Any]]:
    figures: dict[str, Callable[[], Any]] = {
        "auc-against-contamination": lambda: measure_against_contamination(rows)
    }
    if (source / "retention_curves.csv").exists():
        curves = [
            c
            for c in read_curves(source / "retention_curves.csv")
            if c.contamination == _FIGURE_CONTAMINATION
        ]
        figures["retention-curves"] = lambda: retention([c for c in curves if c.kind == repr(Replaced())])
    if (source / "synthetic_fits.csv").exists():
        points = synthetic_fits.read(source / "synthetic_fits.csv")
        figures["synthetic-fits"] = lambda: synthetic_fits.figure(points)
    if beyond:
        kinds = with_table1(beyond, rows)
        names = {row.method for row in beyond} - {"GCP_St"}  # whose means are those of GCP
        figures["beyond"] = lambda: measure_by_kind(kinds, methods=sorted(names))
    return figures | further_pages.figures(source, _searched(source))


def with_table1(beyond: Sequence[Row], table1: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each kind of wrong labels by name, together with the matching rows of Table 1 with fewer wrong labels."""
    done = {(row.dataset, row.method, row.seed) for row in beyond}
    beside = [row for row in table1 if (row.dataset, row.method, row.seed) in done]
    found = {}
    for kind, own in _by_kind(beyond).items():
        clean = [row._replace(kind=kind) for row in beside if row.contamination == 0]
        contaminated = [row for row in beside if row.contamination > 0 and row.kind == kind]
        name, _ = _KINDS.get(kind, (kind, kind))
        found[name] = [*clean, *contaminated, *own]
    return found


def _by_kind(beyond: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each kind of wrong labels, known ones first."""
    others = sorted({row.kind for row in beyond} - set(_KINDS))
    found = {kind: [row for row in beyond if row.kind == kind] for kind in (*_KINDS, *others)}
    return {kind: rows for kind, rows in found.items() if rows}


def _table1(rows: Sequence[Row]) -> str:
    return "\n\n".join(
        f"### {measure.upper()}\n\n{table(rows, [measure], 'markdown', bold='paper')}"
        for measure in ("rmse", "auc")
    )


def _side_by_side(rows: Sequence[Row]) -> str:
    datasets = dict.fromkeys(row.dataset for row in rows)
    parts = {name: compare([row for row in rows if row.dataset == name], "markdown") for name in datasets}
    return "\n\n".join(f"### {name}\n\n{text}" for name, text in parts.items())


def _summary(rows: Sequence[Row]) -> str:
    """What was run, how close it is to the paper, and whether the two claims of the paper hold."""
    n_runs = len({(r.dataset, r.contamination, _fit(r.method), r.seed) for r in rows})
    found = compared(rows)
    few: dict[str, set[int]] = {}
    for (dataset, _, method), cell in cells(rows, "rmse").items():
        if cell.n_splits < N_SPLITS:
            few.setdefault(f"{method} on {dataset}", set()).add(cell.n_splits)
    ranges = {name: " to ".join(map(str, sorted({min(n), max(n)}))) for name, n in few.items()}
    part = (
        f" Every cell has {N_SPLITS} splits, except {', '.join(f'{d} ({n})' for d, n in ranges.items())}."
        if ranges
        else f" Every cell has {N_SPLITS} splits."
    ).replace("_", "\\_")
    return "\n\n".join([f"{n_runs:,} fits.{part}", _claims(rows), agreement_table(found, "markdown")])


def _claims(rows: Sequence[Row]) -> str:
    """EnsGCP's AUC among the paper's methods, and GCP's AUC against GCP_St's under contamination."""
    methods = {method for _, _, method in published()}
    found = columns([row for row in rows if row.method in methods], "auc")
    mean = {key: {m: sum(v.values()) / len(v) for m, v in column.items()} for key, column in found.items()}
    judged = [key for key, column in found.items() if "EnsGCP" in column]
    lowest = sum(min(mean[key], key=lambda m: mean[key][m]) == "EnsGCP" for key in judged)
    bold = sum("EnsGCP" in best_methods(found[key], bold="paper") for key in judged)
    contaminated = [key for key, column in found.items() if key[1] > 0 and {"GCP", "GCP_St"} <= set(column)]
    lower = sum(mean[key]["GCP"] < mean[key]["GCP_St"] for key in contaminated)
    sure = sum(
        "GCP_St" not in best_methods({m: found[key][m] for m in ("GCP", "GCP_St")}, bold="paper")
        for key in contaminated
    )
    return (
        f"Of the paper's methods EnsGCP has the lowest mean AUC in {lowest} of {len(judged)} columns, and no other is "
        f"significantly better in {bold}. Under contamination GCP's AUC is below GCP_St's in {lower} of "
        f"{len(contaminated)} columns, significantly so in {sure}."
    ).replace("GCP_St", "GCP\\_St")


def _fit(method: str) -> str:
    return "GCP" if method == "GCP_St" else method


def _beyond(beyond: Sequence[Row]) -> str:
    if not beyond:
        return "Not run yet: `levelhead study beyond --store beyond.db`, then `levelhead study export`."
    parts = []
    for kind, rows in _by_kind(beyond).items():
        _, title = _KINDS.get(kind, (kind, kind))
        parts.append(f"### {title}\n\n{table(rows, ('rmse', 'auc'), 'markdown')}")
    return "\n\n".join(parts)


def _tuned(source: Path, rows: Sequence[Row]) -> str:
    """The settings that the search chose, and the results with them next to those with the settings of the paper."""
    if not (source / "grid_search.csv").exists():
        return "Not run yet: `levelhead study search --choices results/grid_search.csv`."
    choices = _searched(source)
    parts = [_choices(choices)]
    if (source / "tuned.csv").exists():
        tuned = read_csv(source / "tuned.csv")
        there = {(row.dataset, row.contamination) for row in tuned}
        baselines = {row.method.partition(" (")[0] for row in tuned} | {"GCP", "EnsGCP"}
        beside = [
            row for row in rows if (row.dataset, row.contamination) in there and row.method in baselines
        ]
        shown = further_pages.judged([*beside, *tuned], choices)
        parts += [further_pages.equal_tuning(shown), table(shown, ("rmse", "auc"), "markdown")]
        ensembles = [row for row in shown if row.method in further_pages.TUNED]
        if {row.method for row in ensembles} == set(further_pages.TUNED):
            parts.insert(2, further_pages.uncertainty(ensembles, further_pages.TUNED[0]))
    return "\n\n".join(parts)


def _searched(source: Path) -> list[Found]:
    path = source / "grid_search.csv"
    return read_choices(path) if path.exists() else []


def _corrections(source: Path) -> str:
    path = source / "variance_corrections.csv"
    if not path.exists():
        return "Not run yet: `levelhead study corrections --out results/variance_corrections.csv`."
    return variance_corrections.summary(variance_corrections.read(path), "markdown")


def _choices(lines: Iterable[Found]) -> str:
    heads = ("scored on", "splits", "learning rate", "dropout", "epochs", "β or γ", "noise std")
    drawn = tuple(
        (
            f"{line.method}, {line.dataset}",
            tuple(
                ("–" if value is None else f"{value:g}" if isinstance(value, float) else str(value), False)
                for value in (line.scored_on, line.n_splits, *line[5:])
            ),
        )
        for line in lines
    )
    return Grid("what the search chose, at λ = 5 %", heads, drawn).draw("markdown")


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    for page in write_pages(root / "results", root / "docs"):
        print(f"Wrote {page.relative_to(root)}.")
