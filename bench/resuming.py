"""Runs that are appended to a CSV file as they finish, and never run twice."""

import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def read(path: Path) -> list[dict[str, str]]:
    """Every stored run."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run_missing(
    path: Path,
    columns: Sequence[str],
    specs: Sequence[tuple],
    run: Callable[..., dict],
    minutes: float = float("inf"),
) -> None:
    """Run the specs that are not stored yet; the first columns of the file are the spec's own.

    No run begins after `minutes`.
    """
    began = time.monotonic()
    key = columns[: len(specs[0])] if specs else ()
    done = {tuple(row[name] for name in key) for row in read(path)}
    missing = [spec for spec in specs if tuple(map(str, spec)) not in done]
    path.parent.mkdir(exist_ok=True)
    for k, spec in enumerate(missing):
        if time.monotonic() - began > 60 * minutes:
            break
        row = dict(zip(columns, spec, strict=False)) | run(*spec)
        fresh = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow({c: f"{v:.6g}" if isinstance(v, float) else v for c, v in row.items()})
        print(f"\r{k + 1}/{len(missing)} {spec}          ", end="", flush=True)
    print()
