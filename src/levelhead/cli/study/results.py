"""`levelhead study table`, `compare`, `figure`, `export` and `page`, from stored results; `verify` runs some again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from levelhead.cli import options, output, screen
from levelhead.cli.study import options as study_options
from levelhead.cli.study import selection

_FORMATS = (".svg", ".png", ".pdf")


@screen.command
def table(
    measure: study_options.Measure = None,
    style: study_options.TableStyle = "text",
    bold: study_options.BoldRule = "holm",
    source: study_options.From = None,
    store: study_options.StoreFile = selection.STORE,
    datasets: study_options.Datasets = None,
    contamination: study_options.ShownContamination = None,
    methods: study_options.ShownMethods = None,
    kind: study_options.Kind = "replaced",
    shares: study_options.OldShares = None,
    as_json: options.Json = False,
) -> None:
    """Print results in the layout of Table 1: mean ± standard deviation over the splits.

    Bold marks the methods that no other method beats significantly (paired t-tests, corrected for their number).
    """
    from levelhead.study.tables import cells
    from levelhead.study.tables import table as drawn

    rows = selection.stored_rows(
        selection.select(datasets, contamination, methods, kind, shares), store, source
    )
    measures = selection.split_names(measure) or ("rmse", "auc")
    if as_json:
        found = {name: cells(rows, name, bold=bold) for name in measures}  # type: ignore[arg-type]
        result = [
            _cell(name, key, cell) for name, of_measure in found.items() for key, cell in of_measure.items()
        ]
        screen.print_json({"cells": result})
        return
    screen.print_line(drawn(rows, measures, style, bold=bold))  # type: ignore[arg-type]  # refused by `table` itself


@screen.command
def compare(
    style: study_options.TableStyle = "text",
    source: study_options.From = None,
    store: study_options.StoreFile = selection.STORE,
    datasets: study_options.Datasets = None,
    contamination: study_options.ShownContamination = None,
    methods: study_options.ShownMethods = None,
    shares: study_options.OldShares = None,
    as_json: options.Json = False,
) -> None:
    """Compare our results with the paper: the difference in every cell, in standard errors.

    Differences of more than two standard errors are bold.
    """
    from levelhead.study.paper.comparison import agreement, agreement_table, compared
    from levelhead.study.paper.comparison import compare as drawn

    rows = selection.stored_rows(
        selection.select(datasets, contamination, methods, old_shares=shares), store, source
    )
    found = compared(rows)
    if not found:
        raise ValueError("none of these results is in Table 1 of the paper")
    if as_json:
        result = [{**cell._asdict(), "difference": cell.difference} for cell in found]
        screen.print_json({"cells": result, "agreement": [line._asdict() for line in agreement(found)]})
        return
    screen.print_line(drawn(rows, style))  # type: ignore[arg-type]  # refused by `compare` itself
    screen.print_line("\n" + agreement_table(found, style))  # type: ignore[arg-type]


@screen.command
def figure(
    number: study_options.FigureNumber,
    out: study_options.OutFile,
    source: study_options.From = None,
    store: study_options.StoreFile = selection.STORE,
    datasets: study_options.Datasets = None,
    contamination: study_options.ShownContamination = None,
    methods: study_options.ShownMethods = None,
    kind: study_options.Kind = "replaced",
    shares: study_options.OldShares = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw a figure of the paper.

    1: training dynamics without and with outliers. 2: fits to synthetic data. 3: AUC against the share of wrong
    labels. 4: A(α). 5: RMSE(n).
    Figures 3 and 5 need stored results. The fits of Figure 2 are stored, and computed if they are missing.
    """
    from levelhead.study import figures
    from levelhead.study.paper import theory_figures

    output.refuse(out, force=force)
    if out.suffix.lower() not in _FORMATS:
        raise ValueError(f"{out} has an unknown file type; the name must end in one of {', '.join(_FORMATS)}")
    chosen = selection.select(datasets, contamination, methods, kind, shares)
    drawings: dict[int, Callable[[], Any]] = {
        1: theory_figures.phase_portraits,
        2: lambda: _fits(source, store),
        3: lambda: figures.measure_against_contamination(selection.stored_rows(chosen, store, source)),
        4: theory_figures.a_of_alpha,
        5: lambda: _retention(chosen, store, source),
    }
    with screen.busy("drawing"):
        drawn = drawings[number]()
    with output.whole(out, force=force) as (partial,):
        figures.save(drawn, partial)
    _wrote(out, as_json)


@screen.command
def export(
    out: study_options.OutFile,
    curves: study_options.CurvesFile = None,
    store: study_options.StoreFile = selection.STORE,
    kind: study_options.Kinds = None,
    contamination: study_options.OldKinds = None,
    splits: study_options.FirstSplits = None,
    update: study_options.Update = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the results to a CSV file, one row per run; with --curves also the mean curves RMSE(n)."""
    from levelhead.study.curves import mean_curves, read_curves, write_curves
    from levelhead.study.paper.table1 import SEEDS
    from levelhead.study.store import Store, read_csv, updated, write_csv

    paths = [out] if curves is None else [out, curves]
    force = force or update
    output.refuse(*paths, force=force)
    before = read_csv(out) if update and out.exists() else []
    kinds = selection.split_names(selection.renamed_kinds(contamination, kind)) or ()
    chosen = {repr(selection.kind_named(name)) for name in kinds}
    with Store(selection.existing(store)) as opened, output.whole(*paths, force=force) as partial:
        seeds = None if splits is None else SEEDS[:splits]
        rows = [
            row
            for row in opened.rows()
            if (not chosen or row.kind in chosen) and (seeds is None or row.seed in seeds)
        ]
        if not rows:
            asked = (" with this kind of wrong labels" if chosen else "") + (
                " on these splits" if seeds else ""
            )
            raise ValueError(f"{store} contains no finished runs{asked}")
        rows = updated(before, rows)
        write_csv(rows, partial[0])
        if curves is not None:
            old = read_curves(curves) if update and curves.exists() else []
            write_curves(updated(old, mean_curves(opened, seeds=seeds)), partial[1])
    if as_json:
        screen.print_json({"rows": len(rows), "files": [str(path) for path in paths]})
        return
    screen.print_line(f"Wrote {len(rows):,} rows to {' and '.join(str(path) for path in paths)}.")


@screen.command
def page(
    out: study_options.OutFile = Path("study.html"),
    source: study_options.From = None,
    curves: study_options.CurvesRead = None,
    store: study_options.StoreFile = selection.STORE,
    datasets: study_options.Datasets = None,
    contamination: study_options.ShownContamination = None,
    methods: study_options.ShownMethods = None,
    kind: study_options.Kind = "replaced",
    shares: study_options.OldShares = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write an HTML page: Table 1 next to the paper, interactive figures, and the distribution over the splits."""
    from levelhead.report import study_report
    from levelhead.study.curves import mean_curves, read_curves
    from levelhead.study.paper.comparison import compared
    from levelhead.study.store import Store

    output.refuse(out, force=force)
    chosen = selection.select(datasets, contamination, methods, kind, shares)
    rows = selection.stored_rows(chosen, store, source)
    if source is not None:
        found = [] if curves is None else read_curves(curves)
    else:
        with Store(store) as opened:
            found = mean_curves(opened)
    with output.whole(out, force=force) as (partial,):
        title = "Reproduction of Table 1" if compared(rows) else "A study"
        study_report(rows, partial, chosen.matching(found) if found else [], title=title)
    _wrote(out, as_json)


@screen.command
def verify(
    results: study_options.ResultsFile,
    sample: study_options.SampleSize = 20,
    seed: study_options.SampleSeed = 0,
    datasets: study_options.Datasets = None,
    contamination: study_options.ShownContamination = None,
    methods: study_options.Methods = None,
    kind: study_options.Kind = "replaced",
    data: study_options.DataFile = None,
    target: study_options.TargetColumn = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    hyperparameters: study_options.ChoicesRead = None,
    label: study_options.Label = None,
    as_json: options.Json = False,
) -> None:
    """Repeat a random sample of stored runs, and report how many agree.

    Runs of the same engine must agree to the seven digits in the file; others are tested for a systematic difference.
    Exit code 1 if the results are not reproduced.
    """
    from levelhead.study import verification
    from levelhead.study.store import read_csv

    own = selection.own_table(data, target, drop, keep)
    chosen = selection.select(datasets, contamination, methods, kind, data=own)
    rows = chosen.matching(read_csv(results))
    specs = selection.reproducing(chosen, rows, selection.settings(hyperparameters, label))
    wanted = verification.sample(rows, specs, sample, seed)
    lines = []
    with screen.bar("running") as progress:
        for line in verification.verify(rows, wanted):
            lines.append(line)
            progress(len(lines) / len(wanted))
    found = verification.Verification(tuple(lines), verification.engine_of_today())
    if as_json:
        screen.print_json(_verification(found))
    else:
        screen.table(
            str(results), ["", "RMSE stored", "today", "AUC stored", "today", "same"], map(_verified, lines)
        )
        screen.print_line(f"\n{found}")
    if not found.sound:
        raise typer.Exit(screen.CANNOT)


def _verified(line: Any) -> tuple[str, ...]:
    row = line.row
    name = f"{row.dataset}, λ = {100 * row.contamination:g} %, {row.method}, {row.seed}"
    given = (row.rmse, line.rmse, row.auc, line.auc)
    numbers = ("–" if value is None else f"{value:.7g}" for value in given)
    return (name, *numbers, "yes" if line.same else "no")


def _verification(found: Any) -> dict[str, Any]:
    lines = [
        {**line.row._asdict(), "rmse_today": line.rmse, "auc_today": line.auc, "same": line.same}
        for line in found.lines
    ]
    counts = {"n_same": found.n_same, "n_broken": found.n_broken, "sound": found.sound}
    return {**counts, "p_values": dict(found.p_values), "engine": found.engine, "runs": lines}


def _wrote(out: Path, as_json: bool) -> None:
    if as_json:
        screen.print_json({"files": [str(out)]})
    else:
        screen.print_line(f"Wrote {out}.")


def _cell(measure: str, key: tuple[str, float, str], cell: Any) -> dict[str, Any]:
    place = dict(zip(("dataset", "contamination", "method"), key, strict=True))
    return {**place, "measure": measure, **cell._asdict()}


def _fits(source: Path | None, store: Path) -> Any:
    """Figure 2 from curves that are stored next to the store, computed if they are missing."""
    from levelhead.study.paper import synthetic_fits

    path = store.with_name("synthetic_fits.csv") if source is None else source
    if source is None and not path.exists():
        with screen.busy("fitting the synthetic data"), output.whole(path, force=False) as (partial,):
            synthetic_fits.write(synthetic_fits.compute(), partial)
        screen.note(f"wrote {path}; the figure is drawn from it")
    return synthetic_fits.figure(synthetic_fits.read(path))


def _retention(chosen: selection.Selection, store: Path, source: Path | None) -> Any:
    from levelhead.study.curves import mean_curves, read_curves
    from levelhead.study.figures import retention
    from levelhead.study.store import Store

    if source is not None:
        found = read_curves(source)
    else:
        with Store(selection.existing(store)) as opened:
            found = mean_curves(opened)
    contamination = 0.05 if chosen.contamination is None else chosen.contamination[0]
    if chosen.contamination is not None and len(chosen.contamination) > 1:
        raise typer.BadParameter(
            "figure 5 shows one share of wrong labels; give one value, such as --contamination 0.05"
        )
    kept = [curve for curve in chosen.matching(found) if curve.contamination == contamination]
    return retention(kept)
