"""Tables of the experiments beside Table 1: equal tuning, other methods, and the floor of the variance."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from levelhead.contamination import Cluster, Replaced, Swapped
from levelhead.study.figures import measure_by_kind, ratios_by_kind
from levelhead.study.grids import Grid
from levelhead.study.paper.comparison import Compared, compared
from levelhead.study.paper.grid_search import Found
from levelhead.study.paper.table1 import SEEDS
from levelhead.study.ratios import Ratio, ratios
from levelhead.study.significance import LEVEL, holm, p_value
from levelhead.study.specs import shown_percent
from levelhead.study.store import Row, read_csv
from levelhead.study.tables import columns, in_order, on_shared_splits, table

_ENSEMBLES = ("EnsBeta (tuned)", "EnsGamma (tuned)")
_OURS = "EnsGCP (tuned)"
TUNED = (_OURS, *_ENSEMBLES)
_SAME_EPOCHS = "EnsGCP (tuned, epochs of Beta)"
_REFERENCE = "GCP"
_KINDS = {repr(Replaced()): "replaced", repr(Cluster()): "clustered", repr(Swapped()): "swapped"}


def judged(rows: Sequence[Row], choices: Sequence[Found]) -> list[Row]:
    """Rows of the splits on which nothing was chosen, and that all methods of a column have."""
    searched: dict[str, int] = {}
    for line in choices:
        searched[line.dataset] = max(line.n_splits, searched.get(line.dataset, 0))
    return on_shared_splits(row for row in rows if row.seed not in SEEDS[: searched.get(row.dataset, 0)])


def equal_tuning(rows: Sequence[Row], ours: str = _OURS) -> str:
    """Count, for each data set, where EnsGCP is ahead of, level with or behind both baselines, all tuned alike."""
    lines = []
    for measure in ("rmse", "auc"):
        verdicts: dict[str, list[str]] = {}
        for (dataset, contamination), column in columns(rows, measure).items():
            if contamination > 0 and ours in column and set(_ENSEMBLES) <= set(column):
                verdicts.setdefault(dataset, []).append(_verdict(column, ours))
        for dataset, found in verdicts.items():
            counts = tuple((str(found.count(name)), False) for name in ("ahead", "tie", "behind"))
            lines.append((f"{dataset}, {measure.upper()}", ((str(len(found)), False), *counts)))
    heads = ("columns", "EnsGCP ahead of both", "tie", "behind at least one")
    title = "EnsGCP against EnsBeta and EnsGamma, all tuned on held-out rows, with wrong labels (paired tests, Holm)"
    return Grid(title, heads, tuple(lines)).draw("markdown")


def equal_epochs(source: Path, choices: Sequence[Found]) -> str:
    """The same comparison with GCP trained, and tuned, for as many epochs as its baselines."""
    if not (source / "equal_epochs.csv").exists():
        return (
            "Not run yet: `levelhead study search --methods GCP --epochs 2500`, then `levelhead study run`."
        )
    longer = [row for row in read_csv(source / "equal_epochs.csv") if row.method == _SAME_EPOCHS]
    beside = [row for row in read_csv(source / "tuned.csv") if row.method in TUNED]
    done = {row[:3] for row in longer}
    rows = judged([*longer, *(row for row in beside if row[:3] in done)], choices)
    return "\n\n".join(
        [
            f"GCP with as many epochs as Beta: {equal_tuning(rows, _SAME_EPOCHS)}",
            f"GCP with the paper's epochs, on the same splits: {equal_tuning(rows)}",
            _ratio_table(rows, _OURS, "**Ensembles, replaced labels**"),
            uncertainty(rows, _SAME_EPOCHS),
            table(rows, ("rmse", "auc"), "markdown"),
        ]
    )


def _verdict(column: Mapping[str, Mapping[int, float]], name_of_ours: str) -> str:
    ours = column[name_of_ours]
    corrected = holm([p_value(ours, column[name]) for name in _ENSEMBLES])
    signs = [
        0 if p >= LEVEL else 1 if _mean(ours) > _mean(column[name]) else -1
        for p, name in zip(corrected, _ENSEMBLES, strict=True)
    ]
    return "behind" if 1 in signs else "ahead" if signs == [-1, -1] else "tie"


def _mean(values: Mapping[int, float]) -> float:
    return sum(values.values()) / len(values)


def others(source: Path, choices: Sequence[Found]) -> str:
    """All methods as ratios to GCP over all data sets, one table per kind of wrong labels."""
    kinds = _all_methods(source, choices)
    if not kinds:
        return "Not run yet: `levelhead study run --methods GCP,GCP3,Gaussian,BetaNLL,… --store others.db`."
    tables = [
        _ratio_table(rows, _REFERENCE, f"**{name.capitalize()} labels**") for name, rows in kinds.items()
    ]
    return "\n\n".join([*tables, uncertainty(kinds["replaced"], _REFERENCE)])


def others_by_dataset(source: Path, choices: Sequence[Found]) -> str:
    """All methods on each data set, one table per kind and share of wrong labels."""
    parts = [
        f"### {name.capitalize()} labels\n\n{table(rows, ('rmse', 'auc'), 'markdown')}"
        for name, rows in _all_methods(source, choices).items()
    ]
    return "\n\n".join(parts) or "Not run yet."


def _all_methods(source: Path, choices: Sequence[Found]) -> dict[str, list[Row]]:
    """Rows of all single networks by kind of wrong labels, on splits that all of them have and no search has used."""
    if not (source / "others.csv").exists():
        return {}
    stored = read_csv(source / "others.csv")
    if (source / "tuned.csv").exists():
        done = {(*row[:3], row.seed) for row in stored}
        stored += [
            row
            for row in read_csv(source / "tuned.csv")
            if row.method in ("Beta (tuned)", "Gamma (tuned)") and (*row[:3], row.seed) in done
        ]
    rows = [row._replace(method=row.method.removesuffix(" (tuned)")) for row in judged(stored, choices)]
    found = {name: [row for row in rows if row.kind == kind] for kind, name in _KINDS.items()}
    clean = [row for row in rows if row.contamination == 0]
    return {
        name: own if name == "replaced" else [*_of_the_same_splits(clean, own), *own]
        for name, own in found.items()
        if own
    }


def _of_the_same_splits(clean: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    done = {(row.dataset, row.method, row.seed): row.kind for row in rows}
    return [
        row._replace(kind=done[key]) for row in clean if (key := (row.dataset, row.method, row.seed)) in done
    ]


def _ratio_table(rows: Sequence[Row], reference: str, name: str) -> str:
    found = {measure: ratios(rows, measure, reference) for measure in ("rmse", "auc")}
    keys = [(measure, wrong) for measure, of in found.items() for wrong in dict.fromkeys(w for w, _ in of)]
    methods = dict.fromkeys(method for of in found.values() for _, method in of)
    lines = tuple(
        (method, tuple(_shown_ratio(found[measure][wrong, method]) for measure, wrong in keys))
        for method in methods
    )
    some = [of for measure in found.values() for of in measure.values()]
    splits = " to ".join(
        map(str, dict.fromkeys((min(r.n_splits for r in some), max(r.n_splits for r in some))))
    )
    title = (
        f"{name}: ratio to {reference} ± standard error, geometric mean of "
        f"{some[0].n_datasets} data sets ({splits} splits in all)"
    )
    return Grid(title, tuple(f"{m.upper()}, {shown_percent(w)}" for m, w in keys), lines).draw("markdown")


def uncertainty(rows: Sequence[Row], reference: str) -> str:
    """Likelihood of the clean test labels and coverage of 90 % intervals, without and with the most wrong labels."""
    shares = sorted({row.contamination for row in rows})
    values = {"NLL": columns(rows, "nll"), "coverage": columns(rows, "coverage")}
    keys = [(name, wrong) for name in values for wrong in (shares[0], shares[-1])]

    def shown(method: str, name: str, wrong: float) -> str:
        found = [column for (_, share), column in values[name].items() if share == wrong]
        if name == "coverage":
            mean, error = _over_datasets([[100 * v for v in column[method].values()] for column in found])
            return f"{mean:.1f} ± {error:.1f} %"
        steps = [[v - column[reference][seed] for seed, v in column[method].items()] for column in found]
        mean, error = _over_datasets(steps)
        return f"{mean:+.2f} ± {error:.2f}"

    everywhere = set.intersection(*(set(column) for found in values.values() for column in found.values()))
    lines = tuple(
        (method, tuple((shown(method, *key), False) for key in keys)) for method in in_order(everywhere)
    )
    n_datasets = len({row.dataset for row in rows})
    title = (
        "**Uncertainty, replaced labels**: negative log likelihood (NLL) of a clean test label minus that of "
        f"{reference}, and coverage of 90 % intervals, mean ± standard error over {n_datasets} data sets"
    )
    return Grid(title, tuple(f"{name}, {shown_percent(w)}" for name, w in keys), lines).draw("markdown")


def _over_datasets(values: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean over the splits of each data set, then over the data sets, with its standard error."""
    variances = [statistics.variance(own) / len(own) for own in values]
    return statistics.fmean(map(statistics.fmean, values)), sum(variances) ** 0.5 / len(values)


def _shown_ratio(ratio: Ratio) -> tuple[str, bool]:
    return f"{ratio.mean:.2f} ± {ratio.high - ratio.mean:.2f}", ratio.bold


def cost(source: Path) -> str:
    """Processor time of a fit with three and with four outputs, and the difference of their errors."""
    if not (source / "others.csv").exists():
        return "Not run yet."
    rows = on_shared_splits(
        row
        for row in read_csv(source / "others.csv")
        if row.method in ("GCP (tuned)", "GCP3 (tuned)") and row.kind == repr(Replaced())
    )
    lines = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        lines.append((dataset, tuple((text, False) for text in _three_against_four(own))))
    heads = ("fits", "CPU s, 4", "3", "RMSE, 3 − 4", "AUC, 3 − 4")
    title = "three outputs against four: median CPU seconds of a fit, mean ± standard error of the paired difference"
    return Grid(title, heads, tuple(lines)).draw("markdown")


def _three_against_four(rows: Sequence[Row]) -> list[str]:
    four, three = (
        {(*row[:3], row.seed): row for row in rows if row.method == m}
        for m in ("GCP (tuned)", "GCP3 (tuned)")
    )
    seconds = [statistics.median(row.cpu_seconds or 0.0 for row in one.values()) for one in (four, three)]
    found = [str(len(four)), *(f"{value:.3f}" for value in seconds)]
    for measure in ("rmse", "auc"):
        steps = [getattr(three[key], measure) - getattr(four[key], measure) for key in four]
        mean = sum(steps) / len(steps)
        error = (sum((s - mean) ** 2 for s in steps) / (len(steps) - 1) / len(steps)) ** 0.5
        found.append(f"{mean:+.4f} ± {error:.4f}")
    return found


def figures(source: Path, choices: Sequence[Found]) -> dict[str, Callable[[], Any]]:
    """The figures of the page on other methods."""
    kinds = _all_methods(source, choices)
    if not kinds:
        return {}
    found: dict[str, Callable[[], Any]] = {
        f"others-{measure}": lambda measure=measure: measure_by_kind(kinds, measure)
        for measure in ("rmse", "auc")
    }
    return {"others": lambda: ratios_by_kind(kinds, _REFERENCE), **found}


def beta_bayes(source: Path, table1: Sequence[Row]) -> str:
    """Beta_Bayes on the data sets for which the paper found no setting, beside other methods on the same splits."""
    if not (source / "beta_bayes.csv").exists():
        return "Not run yet."
    searched = read_csv(source / "beta_bayes.csv")
    done = {(row.dataset, row.contamination, row.seed) for row in searched}
    beside = [
        row
        for row in table1
        if (row.dataset, row.contamination, row.seed) in done and row.method in ("GCP", "Gaussian")
    ]
    return table([*beside, *searched], ("rmse", "auc"), "markdown")


def floors(source: Path, table1: Sequence[Row]) -> str:
    """The paper's numbers, ours without and with a floor, on the splits on which the floor was not chosen."""
    if not (source / "floors.csv").exists():
        return "Not run yet: `levelhead study floors --store floors.db`."
    floored = read_csv(source / "floors.csv")
    done = {(r.dataset, r.contamination, r.method.removesuffix(" (floor)"), r.seed) for r in floored}
    plain = [r for r in table1 if (r.dataset, r.contamination, r.method, r.seed) in done]
    named = [r._replace(method=r.method.removesuffix(" (floor)")) for r in floored]
    without, with_floor = ({c[:4]: c for c in compared(rows)} for rows in (plain, named))
    lines = tuple(
        (f"{key[0]}, {shown_percent(key[1])}, {key[2]}, {key[3].upper()}", _floor_line(without[key], cell))
        for key, cell in with_floor.items()
        if key in without
    )
    counts = sorted({cell.n_splits for cell in with_floor.values()})
    splits = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    heads = ("paper", "no floor", "difference", "floor", "difference")
    title = (
        f"with and without a floor of 0.006 clean variances, {splits} splits; differences from the paper in standard "
        "errors of the difference"
    )
    found = {
        name: [key for key in with_floor if key in without and key[0] == name]
        for name in dict.fromkeys(r.dataset for r in floored)
    }
    text = "\n".join(_floor_summary(name, keys, without, with_floor) for name, keys in found.items())
    return f"{text}\n\n{Grid(title, heads, lines).draw('markdown')}"


def _floor_summary(
    dataset: str, keys: Sequence[Any], without: Mapping[Any, Compared], floored: Mapping[Any, Compared]
) -> str:
    shown = [
        f"{sum(abs(cells[key].difference) <= 2 for key in keys)} of {len(keys)} {name} (on average "
        f"{sum(cells[key].difference for key in keys) / len(keys):+.1f})"
        for name, cells in (("with the floor", floored), ("without it", without))
    ]
    return f"- **{dataset}**: within two standard errors of the paper are {', and '.join(shown)}."


def _floor_line(without: Compared, floored: Compared) -> tuple[tuple[str, bool], ...]:
    texts = (
        f"{without.paper:.2f}",
        f"{without.ours:.3f}",
        f"{without.difference:+.1f}",
        f"{floored.ours:.3f}",
        f"{floored.difference:+.1f}",
    )
    return tuple((text, abs(floored.difference) <= 2 and k == 4) for k, text in enumerate(texts))
