"""`levelhead study beyond`, `search`, `corrections` and `pages`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from levelhead.cli import options, output, screen
from levelhead.cli.study import options as own
from levelhead.cli.study import selection
from levelhead.cli.study.running import computed, tell, unfinished


@screen.command
def beyond(
    datasets: own.Datasets = None,
    methods: own.Methods = None,
    splits: own.Splits = 50,
    store: own.StoreFile = Path("beyond.db"),
    backend: own.Backend = "processes",
    dask: own.Dask = None,
    jobs: own.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Run experiments beyond the paper: λ = 30 and 40, a one-sided cluster of wrong labels, and swapped labels."""
    from levelhead.study.paper.beyond import beyond_specs
    from levelhead.study.paper.table1 import DATASETS, SEEDS

    chosen = selection.part(datasets, None, methods)
    specs = list(beyond_specs(chosen.datasets or DATASETS, chosen.known_methods(), SEEDS[:splits]))
    tell(computed(specs, store, dask or backend, jobs), store, as_json)


@screen.command
def search(
    choices: own.Choices = Path("grid_search.csv"),
    datasets: own.Datasets = None,
    methods: own.ShownMethods = None,
    splits: own.Splits = 50,
    on_test_rows: own.OnTestRows = False,
    epochs: own.Epochs = None,
    store: own.StoreFile = Path("grid.db"),
    backend: own.Backend = "processes",
    dask: own.Dask = None,
    jobs: own.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Search the hyperparameters of the baselines over the paper's grid, at λ = 5.

    An interrupted search continues where it stopped. The file given by --choices gets one line per method and data
    set; other lines in it are kept. Pass this file to `study run --hyperparameters`.
    """
    from levelhead.study.paper import grid_search

    output.refuse(choices, force=True)
    chosen = selection.part(datasets, None, methods)
    names = selection.known(
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
            screen.say(f"{method} on {dataset}: {line.settings}")
    if as_json:
        screen.machine({"choices": [line._asdict() for line in lines.values()], "files": [str(choices)]})
    else:
        screen.say(f"Wrote {choices}. Next: levelhead study run --hyperparameters {choices}")


@screen.command
def corrections(
    out: own.OutFile,
    draws: own.Draws = 50,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure predicted / true variance on the synthetic data, with and without the variance corrections.

    Compares no correction, corrections with known contamination ε, and with estimated ε.
    """
    from levelhead.study.paper import variance_corrections as study

    output.refuse(out, force=force)
    total = draws * len(study.SHARES) * len(study.READINGS)
    lines = []
    with screen.bar("fitting") as progress:
        for line in study.ratios(draws=draws):
            lines.append(line)
            progress(len(lines) / total)
    with output.whole(out, force=force) as (partial,):
        study.write(lines, partial)
    if as_json:
        screen.machine({"ratios": [line._asdict() for line in lines], "files": [str(out)]})
        return
    screen.say(study.summary(lines, "text"))
    screen.say(f"\nWrote {out}.")


@screen.command
def pages(
    results: own.Results,
    out: own.Manual = Path("docs"),
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the tables and figures of the manual from the CSV files in a folder."""
    from levelhead.study.paper.pages import write_pages

    output.refuse(out / "tables" / "table1.md", force=force)
    folder = results if results.is_dir() else results.parent
    if not (folder / "table1.csv").exists():
        raise FileNotFoundError(
            f"{folder / 'table1.csv'} does not exist; create it with "
            f"levelhead study export --out {folder / 'table1.csv'}"
        )
    with screen.busy("writing tables and figures"):
        written = write_pages(folder, out)
    if as_json:
        screen.machine({"files": [str(path) for path in written]})
        return
    for path in written:
        screen.say(f"Wrote {path}.")


def _searches(datasets: Sequence[str] | None, methods: Sequence[str]) -> list[tuple[str, str]]:
    """Data sets and methods; Beta_Bayes only where the paper could use it, unless a data set is named."""
    from levelhead.study.paper.table1 import DATASETS, PAPER

    return [
        (dataset, method)
        for dataset in datasets or DATASETS
        for method in methods
        if datasets is not None or (method, dataset) in PAPER
    ]


def _searched(
    method: str,
    dataset: str,
    splits: int,
    honest: bool,
    epochs: int | None,
    store: Path,
    backend: str,
    jobs: int,
) -> Any:
    from levelhead.study.paper import grid_search
    from levelhead.study.paper.table1 import SEEDS

    with unfinished(store):
        choice = grid_search.search(
            method,
            dataset,
            store,
            backend,
            seeds=SEEDS[:splits],
            honest=honest,
            epochs=epochs,
            n_jobs=jobs,
        )
    return grid_search.found(method, dataset, choice, honest=honest, n_splits=splits)
