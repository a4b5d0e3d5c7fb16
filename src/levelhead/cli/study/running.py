"""`levelhead study run`, `status` and `slice`."""

from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import typer

from levelhead.cli import ending, options, screen
from levelhead.cli.study import options as study_options
from levelhead.cli.study import selection

_MEASURES = {"rmse": "RMSE", "auc": "AUC"}


@screen.command
def run(
    datasets: study_options.Datasets = None,
    contamination: study_options.Contamination = None,
    methods: study_options.Methods = None,
    splits: study_options.Splits = 50,
    kind: study_options.Kind = "replaced",
    shares: study_options.OldShares = None,
    data: study_options.DataFile = None,
    target: study_options.TargetColumn = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    hyperparameters: study_options.ChoicesRead = None,
    label: study_options.Label = None,
    store: study_options.StoreFile = selection.STORE,
    backend: study_options.Backend = "processes",
    dask: study_options.Dask = None,
    jobs: study_options.Jobs = -1,
    cost: study_options.OnlyCost = False,
    as_json: options.Json = False,
) -> None:
    """Run Table 1 of the paper or a selection of it, or your own table or methods in the same way.

    Runs that are already in the store are skipped. You can interrupt the command at any time; the same command
    continues. Exit code 1 if runs failed.

    The whole of Table 1 trains 24,500 networks: about 5 hours on one core (`python bench/study_cost.py`), less on
    several. --cost estimates the cost of any selection.

    A method without standard deviations is measured by RMSE and robust R² only.
    """
    own = selection.own_table(data, target, drop, keep)
    specs = selection.select(datasets, contamination, methods, kind, shares, own).specs(
        splits, **selection.settings(hyperparameters, label)
    )
    if cost:
        _print_cost(specs, store, jobs, as_json)
        return
    print_summary(run_missing(specs, store, dask or backend, jobs), store, as_json)


@screen.command
def status(
    datasets: study_options.Datasets = None,
    contamination: study_options.Contamination = None,
    methods: study_options.Methods = None,
    splits: study_options.Splits = 50,
    kind: study_options.Kind = "replaced",
    shares: study_options.OldShares = None,
    data: study_options.DataFile = None,
    target: study_options.TargetColumn = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    hyperparameters: study_options.ChoicesRead = None,
    label: study_options.Label = None,
    store: study_options.StoreFile = selection.STORE,
    failures: study_options.Failures = False,
    as_json: options.Json = False,
) -> None:
    """Show how many runs are done, failed and missing, by data set and method.

    This also works while the study is running.
    """
    from levelhead.study.status import status as study_status
    from levelhead.study.store import Store

    own = selection.own_table(data, target, drop, keep)
    chosen = selection.select(datasets, contamination, methods, kind, shares, own)
    specs = chosen.specs(splits, **selection.settings(hyperparameters, label))
    with Store(selection.existing(store)) as opened:
        lines, failed = study_status(specs, opened), opened.failures(specs)
    done, n_failed, missing = (
        sum(getattr(line, name) for line in lines) for name in ("done", "failed", "missing")
    )
    if as_json:
        result = {
            "done": done,
            "failed": n_failed,
            "missing": missing,
            "by_method": [line._asdict() for line in lines],
        }
        screen.print_json({**result, "failures": [failure._asdict() for failure in failed]})
        return
    screen.table(str(store), ["data set", "method", "done", "failed", "missing"], lines)
    screen.print_line(
        f"\n{done:,} of {len(specs):,} runs are done, {n_failed:,} failed, {missing:,} are missing."
    )
    if failures:
        _print_failures(failed)


@screen.command
def slice_(
    store: study_options.StoreFile = selection.STORE,
    backend: study_options.Backend = "processes",
    dask: study_options.Dask = None,
    jobs: study_options.Jobs = 2,
    as_json: options.Json = False,
) -> None:
    """Compare a small part of Table 1 with the paper, in a few minutes.

    It uses Boston with 5 % wrong labels, GCP and EnsGCP on all 50 splits: four means, each tested for a difference from
    the paper with the standard error of both sides, corrected for four tests. Exit code 1 if a mean is significantly
    worse than the paper's.
    """
    from levelhead.study.paper.targets import check_targets, slice_specs
    from levelhead.study.store import Store

    specs = slice_specs()
    summary = run_missing(specs, store, dask or backend, jobs)
    if summary.failures:
        raise ValueError(str(summary))
    with Store(store) as opened:
        verdicts = check_targets(opened.rows(specs))
    met = all(target.met for target in verdicts)
    if as_json:
        screen.print_json(
            {
                "met": met,
                "cells": [_target_json(target) for target in verdicts],
                "seconds": summary.wall_seconds,
            }
        )
    else:
        screen.print_line(str(summary))
        screen.table(
            "Boston, λ = 5 %, 50 splits; lower is better",
            ["", "ours", "paper", "difference, 95 % interval", "p (corrected)", ""],
            [_line(target) for target in verdicts],
        )
        screen.print_line(_conclusion(verdicts))
    if not met:
        raise typer.Exit(screen.CANNOT)


def _print_cost(specs: list[Any], store: Any, jobs: int, as_json: bool) -> None:
    """Do a few runs of each method that has none, one after the other, and print what the other runs will cost."""
    from joblib import cpu_count

    from levelhead.study import cost
    from levelhead.study.progress import duration
    from levelhead.study.store import Store

    with Store(store) as opened:
        first = cost.trials(specs, opened)
    summary = run_missing(first, store, "serial", jobs)
    if summary.failures:
        raise ValueError(str(summary))
    with Store(store) as opened:
        lines = cost.costs(specs, opened)
    seconds, missing = sum(line.left for line in lines), sum(line.missing for line in lines)
    workers = cpu_count() if jobs == -1 else jobs
    if as_json:
        by_method = [line._asdict() for line in lines]
        screen.print_json(
            {
                "missing": missing,
                "seconds": seconds,
                "workers": workers,
                "by_method": by_method,
                "store": str(store),
            }
        )
        return
    shown = [(*line[:4], f"{line.seconds:.2g} s", duration(line.left)) for line in lines]
    screen.table(str(store), ["data set", "method", "runs", "missing", "one run", "all missing runs"], shown)
    screen.print_line(
        f"\n{missing:,} runs are missing: about {duration(seconds)} of computing time, {duration(seconds / workers)} "
        f"with {workers} worker{'s' if workers > 1 else ''}. The same command without --cost runs them."
    )


def run_missing(specs: list[Any], store: Any, backend: str, jobs: int) -> Any:
    """Run the specs that are not in the store yet."""
    from levelhead.study.running import run_study

    if jobs == 0:
        raise ValueError("--jobs is 0; give the number of workers, or -1 for one per core")
    with resumable(store):
        return run_study(specs, store, backend, n_jobs=jobs)


def resumable(store: Any) -> AbstractContextManager[None]:
    """Set the message for an interruption: finished runs are saved."""
    return ending.outcome(f"finished runs are saved in {store}; the same command continues")


def print_summary(summary: Any, store: Any, as_json: bool) -> None:
    """Print what was run; exit with code 1 if some runs failed."""
    if as_json:
        failures = [failure._asdict() for failure in summary.failures]
        screen.print_json({**asdict(summary), "failures": failures, "store": str(store)})
    else:
        screen.print_line(str(summary))
        if summary.failures:
            screen.print_line(f"See levelhead study status --store {store} --failures")
    if summary.failures:
        raise typer.Exit(screen.CANNOT)


def _print_failures(failed: list[Any]) -> None:
    """One traceback, the last, for every data set and method."""
    from levelhead.study.specs import shown_percent

    last = {(failure.dataset, failure.method): failure for failure in failed}
    for failure in last.values():
        where = f" on {failure.host}" if failure.host else ""
        wrong = shown_percent(failure.contamination)
        screen.print_line(f"\n{failure.dataset}, {wrong}, {failure.method}, split {failure.seed}{where}:")
        screen.print_line(failure.error.rstrip())


def _conclusion(verdicts: list[Any]) -> str:
    counts = {
        name: sum(one.verdict == name for one in verdicts)
        for name in dict.fromkeys(v.verdict for v in verdicts)
    }
    worse = not all(one.met for one in verdicts)
    counted = ", ".join(f"{name}: {n}" for name, n in counts.items())
    end = "The paper is not reproduced here." if worse else "Nothing contradicts the paper's results here."
    return f"\nOf {len(verdicts)} means, {counted}. {end}"


def _target_json(target: Any) -> dict[str, Any]:
    return {
        **target.cell._asdict(),
        "difference": target.cell.difference,
        "p_value": target.p_value,
        "interval": list(target.interval),
        "verdict": target.verdict,
        "met": target.met,
    }


def _line(target: Any) -> tuple[str, ...]:
    cell = target.cell
    low, high = target.interval
    return (
        f"{cell.method} {_MEASURES[cell.measure]}",
        f"{cell.ours:.3f}",
        f"{cell.paper:.2f}",
        f"{cell.ours - cell.paper:+.3f} ({low:+.2f} to {high:+.2f})",
        f"{target.p_value:.2f}",
        target.verdict,
    )
