"""`levelhead study run`, `status` and `slice`."""

from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import typer

from levelhead.cli import ending, options, screen
from levelhead.cli.study import options as own
from levelhead.cli.study import selection

_MEASURES = {"rmse": "RMSE", "auc": "AUC"}


@screen.command
def run(
    datasets: own.Datasets = None,
    shares: own.Shares = None,
    methods: own.Methods = None,
    splits: own.Splits = 50,
    contamination: own.ContaminationName = "replaced",
    hyperparameters: own.ChoicesRead = None,
    label: own.Label = None,
    store: own.StoreFile = selection.STORE,
    backend: own.Backend = "processes",
    dask: own.Dask = None,
    jobs: own.Jobs = -1,
    as_json: options.Json = False,
) -> None:
    """Run Table 1 of the paper, or a selection of it. Runs that are already in the store are skipped.

    You can interrupt it at any time; the same command continues. Exit code 1 if runs failed.
    """
    specs = selection.part(datasets, shares, methods, contamination).specs(
        splits, **selection.settings(hyperparameters, label)
    )
    tell(computed(specs, store, dask or backend, jobs), store, as_json)


@screen.command
def status(
    datasets: own.Datasets = None,
    shares: own.Shares = None,
    methods: own.Methods = None,
    splits: own.Splits = 50,
    contamination: own.ContaminationName = "replaced",
    hyperparameters: own.ChoicesRead = None,
    label: own.Label = None,
    store: own.StoreFile = selection.STORE,
    failures: own.Failures = False,
    as_json: options.Json = False,
) -> None:
    """Show how many runs are done, failed and missing, by data set and method.

    This also works while the study is running.
    """
    from levelhead.study.status import status as stand
    from levelhead.study.store import Store

    chosen = selection.part(datasets, shares, methods, contamination)
    specs = chosen.specs(splits, **selection.settings(hyperparameters, label))
    with Store(selection.existing(store)) as opened:
        lines, failed = stand(specs, opened), opened.failures(specs)
    done, n_failed, missing = (
        sum(getattr(line, name) for line in lines) for name in ("done", "failed", "missing")
    )
    if as_json:
        told = {
            "done": done,
            "failed": n_failed,
            "missing": missing,
            "by_method": [line._asdict() for line in lines],
        }
        screen.machine({**told, "failures": [failure._asdict() for failure in failed]})
        return
    screen.table(str(store), ["data set", "method", "done", "failed", "missing"], lines)
    screen.say(f"\n{done:,} of {len(specs):,} runs are done, {n_failed:,} failed, {missing:,} are missing.")
    if failures:
        _tell_failures(failed)


@screen.command
def slice_(
    store: own.StoreFile = selection.STORE,
    backend: own.Backend = "processes",
    dask: own.Dask = None,
    jobs: own.Jobs = 2,
    as_json: options.Json = False,
) -> None:
    """Check in a few minutes that the paper is reproduced: Boston, λ = 5, GCP and EnsGCP on all 50 splits.

    The targets: RMSE and AUC within 1 standard error of the paper for EnsGCP, within 1.5 for GCP. Exit code 1 if a
    target is missed.
    """
    from levelhead.study.paper.targets import marks, slice_specs
    from levelhead.study.store import Store

    specs = slice_specs()
    summary = computed(specs, store, dask or backend, jobs)
    if summary.failures:
        raise ValueError(str(summary))
    with Store(store) as opened:
        verdicts = marks(opened.rows(specs))
    met = all(mark.met for mark in verdicts)
    if as_json:
        screen.machine(
            {"met": met, "cells": [_told(mark) for mark in verdicts], "seconds": summary.wall_seconds}
        )
    else:
        screen.say(str(summary))
        screen.table(
            "Boston, λ = 5 %, 50 splits; differences in standard errors",
            ["", "ours", "paper", "difference", "allowed", ""],
            [_line(mark) for mark in verdicts],
        )
        screen.say("\nAll targets are met." if met else "\nA target is missed.")
    if not met:
        raise typer.Exit(screen.CANNOT)


def computed(specs: list[Any], store: Any, backend: str, jobs: int) -> Any:
    """Run what is missing."""
    from levelhead.study.running import run_study

    if jobs == 0:
        raise ValueError("--jobs is 0; give the number of workers, or -1 for one per core")
    with unfinished(store):
        return run_study(specs, store, backend, n_jobs=jobs)


def unfinished(store: Any) -> AbstractContextManager[None]:
    """Whoever interrupts the work inside is told that nothing is lost."""
    return ending.outcome(f"finished runs are saved in {store}; the same command continues")


def tell(summary: Any, store: Any, as_json: bool) -> None:
    """What became of the runs; ends with an exit code if some failed."""
    if as_json:
        failures = [failure._asdict() for failure in summary.failures]
        screen.machine({**asdict(summary), "failures": failures, "store": str(store)})
    else:
        screen.say(str(summary))
        if summary.failures:
            screen.say(f"See levelhead study status --store {store} --failures")
    if summary.failures:
        raise typer.Exit(screen.CANNOT)


def _tell_failures(failed: list[Any]) -> None:
    """One traceback, the last, for every data set and method."""
    last = {(failure.dataset, failure.method): failure for failure in failed}
    for failure in last.values():
        where = f" on {failure.host}" if failure.host else ""
        screen.say(
            f"\n{failure.dataset}, λ = {failure.share:g}, {failure.method}, split {failure.seed}{where}:"
        )
        screen.say(failure.error.rstrip())


def _told(mark: Any) -> dict[str, Any]:
    return {
        **mark.cell._asdict(),
        "difference": mark.cell.difference,
        "allowed": mark.allowed,
        "met": mark.met,
    }


def _line(mark: Any) -> tuple[str, ...]:
    cell = mark.cell
    return (
        f"{cell.method} {_MEASURES[cell.measure]}",
        f"{cell.ours:.3f}",
        f"{cell.paper:.2f}",
        f"{cell.difference:+.2f}",
        f"± {mark.allowed:g}",
        "met" if mark.met else "MISSED",
    )
