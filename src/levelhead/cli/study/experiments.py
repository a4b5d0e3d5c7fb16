"""`levelhead study beyond`, `search` and `corrections`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from levelhead.cli import options, output, screen
from levelhead.cli.study import options as study_options
from levelhead.cli.study import selection
from levelhead.cli.study.running import print_summary, resumable, run_missing


@screen.command
def beyond(
    datasets: study_options.Datasets = None,
    methods: study_options.PaperMethods = None,
    splits: study_options.Splits = 50,
    store: study_options.StoreFile = Path("beyond.db"),
    backend: study_options.Backend = "processes",
    dask: study_options.Dask = None,
    jobs: study_options.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Run experiments beyond the paper: more wrong labels (30 and 40 %), a one-sided cluster, and swapped labels."""
    from levelhead.study.paper.beyond import beyond_specs
    from levelhead.study.paper.table1 import DATASETS, SEEDS

    chosen = selection.select(datasets, None, methods)
    specs = list(beyond_specs(chosen.datasets or DATASETS, chosen.known_methods(), SEEDS[:splits]))
    print_summary(run_missing(specs, store, dask or backend, jobs), store, as_json)


@screen.command
def search(
    choices: study_options.Choices = Path("grid_search.csv"),
    datasets: study_options.Datasets = None,
    methods: study_options.SearchedMethods = None,
    splits: study_options.Splits = 50,
    on_test_rows: study_options.OnTestRows = False,
    epochs: study_options.Epochs = None,
    store: study_options.StoreFile = Path("grid.db"),
    backend: study_options.Backend = "processes",
    dask: study_options.Dask = None,
    jobs: study_options.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Search the hyperparameters of the baselines over the paper's grid, with 5 % wrong labels.

    An interrupted search continues where it stopped. The file given by --choices gets one line per method and data
    set; other lines in it are kept. Pass this file to `study run --hyperparameters`.
    """
    from levelhead.study.paper import grid_search

    output.refuse(choices, force=True)
    chosen = selection.select(datasets, None, methods)
    names = selection.check_names(
        "--methods", chosen.methods or ("Beta", "Gamma", "Beta_Bayes"), grid_search.SEARCHED
    )
    before = grid_search.read_choices(choices) if choices.exists() else []
    lines = {line[:3]: line for line in before}
    for dataset, method in _searches(chosen.datasets, names):
        line = _searched(method, dataset, splits, not on_test_rows, epochs, store, dask or backend, jobs)
        lines[line[:3]] = line
        with output.whole(choices, force=True) as (partial,):
            grid_search.write_choices(lines.values(), partial)
        if not as_json:
            screen.print_line(f"{method} on {dataset}: {line.settings}")
    if as_json:
        screen.print_json({"choices": [line._asdict() for line in lines.values()], "files": [str(choices)]})
    else:
        screen.print_line(f"Wrote {choices}. Next: levelhead study run --hyperparameters {choices}")


@screen.command
def floors(
    datasets: study_options.Datasets = None,
    contamination: study_options.Contamination = None,
    methods: study_options.ShownMethods = None,
    splits: study_options.FloorSplits = 30,
    floor: study_options.Floor = 0.006,
    store: study_options.StoreFile = Path("floors.db"),
    backend: study_options.Backend = "processes",
    dask: study_options.Dask = None,
    jobs: study_options.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Run Beta and Gamma with the paper's settings and a floor under their variance.

    The floor was found by looking at the paper's results on Yacht. It is judged on the last 30 of the 50 splits, on
    which it was not chosen, and on other data sets.
    """
    from levelhead.study.paper import floors as study
    from levelhead.study.paper.table1 import CONTAMINATIONS

    chosen = selection.select(datasets, contamination, methods)
    specs = study.floor_specs(
        chosen.datasets or study.DATASETS,
        CONTAMINATIONS if chosen.contamination is None else chosen.contamination,
        chosen.methods or study.METHODS,
        study.JUDGED[:splits],
        floor,
    )
    print_summary(run_missing(list(specs), store, dask or backend, jobs), store, as_json)


@screen.command
def corrections(
    out: study_options.OutFile,
    draws: study_options.Draws = 50,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure predicted / true variance on the synthetic data, with and without the variance corrections.

    Compares no correction, corrections with known contamination ε, and with estimated ε.
    """
    from levelhead.study.paper import variance_corrections as study

    output.refuse(out, force=force)
    total = draws * len(study.CONTAMINATIONS) * len(study.READINGS)
    lines = []
    with screen.bar("fitting") as progress:
        for line in study.ratios(draws=draws):
            lines.append(line)
            progress(len(lines) / total)
    with output.whole(out, force=force) as (partial,):
        study.write(lines, partial)
    if as_json:
        screen.print_json({"ratios": [line._asdict() for line in lines], "files": [str(out)]})
        return
    screen.print_line(study.summary(lines, "text"))
    screen.print_line(f"\nWrote {out}.")


def _searches(datasets: Sequence[str] | None, methods: Sequence[str]) -> list[tuple[str, str]]:
    """Data sets and methods; by default Beta_Bayes only where the paper has settings for it."""
    from levelhead.study.paper.table1 import DATASETS, PAPER

    return [
        (dataset, method)
        for dataset in datasets or DATASETS
        for method in methods
        if datasets is not None or method != "Beta_Bayes" or (method, dataset) in PAPER
    ]


def _searched(
    method: str,
    dataset: str,
    splits: int,
    held_out: bool,
    epochs: int | None,
    store: Path,
    backend: str,
    jobs: int,
) -> Any:
    from levelhead.study.paper import grid_search
    from levelhead.study.paper.table1 import SEEDS

    with resumable(store):
        choice = grid_search.search(
            method,
            dataset,
            store,
            backend,
            seeds=SEEDS[:splits],
            held_out=held_out,
            epochs=epochs,
            n_jobs=jobs,
        )
    return grid_search.found(method, dataset, choice, held_out=held_out, n_splits=splits)
