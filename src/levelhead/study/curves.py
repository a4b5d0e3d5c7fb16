"""Mean curves RMSE(n) in a small file, to draw Figure 5 without the store."""

import csv
import os
from collections.abc import Collection, Iterable
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from levelhead._deprecated import percentage
from levelhead.study.specs import Spec, shown_percent
from levelhead.study.store import Store, old_columns

_DIGITS = 5


class Curve(NamedTuple):
    """RMSE(n) without the n most uncertain test rows, mean over the splits of one data set, contamination and method.

    Attributes
    ----------
    dataset : str
        Name of the table.
    contamination : float
        Share of wrong labels, a fraction.
    kind : str
        Kind of wrong labels.
    method : str
        Name of the method.
    n_splits : int
        Number of splits.
    rmse : tuple of float
        RMSE(n), n = 0, 1, ….
    """

    dataset: str
    contamination: float
    kind: str
    method: str
    n_splits: int
    rmse: tuple[float, ...]

    @property
    def share(self) -> float:
        """Old name of `contamination`, in percent."""
        return percentage(self)


def mean_curves(
    store: Store, specs: Iterable[Spec] | None = None, *, seeds: Collection[int] | None = None
) -> list[Curve]:
    """Average the curves RMSE(n) over the splits.

    Parameters
    ----------
    store : Store
        Results.
    specs : iterable of Spec or None, default=None
        Only runs of these specs; by default all.
    seeds : collection of int or None, default=None
        Only splits with these seeds; by default all.

    Returns
    -------
    list of Curve
        One curve per data set, contamination, kind and method; methods without a variance have none.
    """
    found = []
    chosen = (one for one in store.each_curve(specs) if (seeds is None or one[4] in seeds) and len(one[5]))
    for cell, of_cell in groupby(chosen, key=lambda one: (one[0], one[1], one[2], one[3])):
        by_seed: dict[int, object] = {}
        for *_, seed, values in of_cell:
            if seed in by_seed:
                raise ValueError(
                    f"{cell[0]}, {shown_percent(cell[1])}, {cell[3]} has split {seed} twice (with another "
                    "estimator?); choose the runs of one study: mean_curves(store, specs)"
                )
            by_seed[seed] = values
        mean = np.mean(list(by_seed.values()), axis=0)  # type: ignore[arg-type]
        found.append(Curve(*cell, len(by_seed), tuple(mean.tolist())))
    return found


def write_curves(curves: Iterable[Curve], path: str | os.PathLike[str]) -> None:
    """Write curves to a CSV file, one line per curve, with five significant digits.

    Parameters
    ----------
    curves : iterable of Curve
        Curves.
    path : path-like
        File to write.
    """
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Curve._fields)
        for curve in curves:
            writer.writerow([*curve[:-1], " ".join(f"{value:.{_DIGITS}g}" for value in curve.rmse)])


def read_curves(path: str | os.PathLike[str]) -> list[Curve]:
    """Read a file written by `write_curves`, of this version or of version 0.1.

    Parameters
    ----------
    path : path-like
        CSV file.

    Returns
    -------
    list of Curve
        Curves.
    """
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        given = tuple(next(reader, ()))
        if given not in (Curve._fields, old_columns(Curve._fields)):
            raise ValueError(f"{path} contains no curves; its columns must be {', '.join(Curve._fields)}")
        unit = 100 if "share" in given else 1
        return [
            Curve(dataset, float(wrong) / unit, kind, method, int(n), tuple(map(float, values.split())))
            for dataset, wrong, kind, method, n, values in reader
        ]
