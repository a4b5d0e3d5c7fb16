"""A measure of all methods as a ratio to one of them, averaged over data sets of different units."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from levelhead.study.significance import LEVEL, Column, holm
from levelhead.study.store import Row
from levelhead.study.tables import columns, in_order


class Ratio(NamedTuple):
    """Geometric mean over splits and data sets of a measure divided by that of the reference.

    Attributes
    ----------
    mean : float
        Geometric mean; 1 for the reference itself.
    low, high : float
        One standard error below and above. It covers other splits of the same data sets, not other data sets.
    n_datasets, n_splits : int
        Number of data sets, and of splits over all of them.
    bold : bool
        Whether no other method is significantly better: two-sided paired tests of the logarithms at p = 0.05 over all
        data sets, all pairs of methods corrected together (Holm).
    """

    mean: float
    low: float
    high: float
    n_datasets: int
    n_splits: int
    bold: bool


def ratios(rows: Iterable[Row], measure: str, reference: str) -> dict[tuple[float, str], Ratio]:
    """Divide a measure of every method by that of a reference on the same split, and average the logarithms.

    Every data set has the same weight, whatever its unit and number of splits.

    Parameters
    ----------
    rows : iterable of Row
        Results, from `Store.rows` or `read_csv`, all with the same kind of wrong labels. Only splits that all methods
        of a data set have are used.
    measure : str
        Name of a measure that is positive and better when it is lower, such as "rmse" or "auc".
    reference : str
        Name of the method to divide by.

    Returns
    -------
    dict
        A `Ratio` for each (contamination, method), over the data sets on which all methods of this contamination were
        run on two splits or more.

    Raises
    ------
    ValueError
        If a contamination has no results of the reference.
    """
    by_contamination: dict[float, list[Column]] = {}
    for (_, contamination), column in sorted(columns(rows, measure).items()):
        by_contamination.setdefault(contamination, []).append(column)
    found = {}
    for contamination, of_datasets in sorted(by_contamination.items()):
        methods = in_order({method for column in of_datasets for method in column})
        if reference not in methods:
            raise ValueError(f"there are no results of {reference!r}, by which to divide")
        logs = [values for column in of_datasets if (values := _logs(column, methods)) is not None]
        best = _best(logs, methods) if logs else set()
        for method in methods if logs else ():
            mean, error, _ = _difference(logs, method, reference)
            found[contamination, method] = Ratio(
                math.exp(mean),
                math.exp(mean - error),
                math.exp(mean + error),
                n_datasets=len(logs),
                n_splits=sum(values[reference].size for values in logs),
                bold=method in best,
            )
    return found


_Logs = Mapping[str, NDArray[np.float64]]  # of a measure, for each method, by split


def _logs(column: Column, methods: Sequence[str]) -> _Logs | None:
    """Logarithms on the splits that all methods have; None with fewer than two."""
    shared = sorted(set.intersection(*(set(column.get(method, ())) for method in methods)))
    if len(shared) < 2:
        return None
    return {method: np.log([column[method][seed] for seed in shared]) for method in methods}


def _difference(logs: Sequence[_Logs], one: str, other: str) -> tuple[float, float, int]:
    """Mean difference over the data sets, its standard error and the degrees of freedom."""
    steps = [values[one] - values[other] for values in logs]
    error = math.sqrt(sum(step.var(ddof=1) / step.size for step in steps)) / len(steps)
    return float(np.mean([step.mean() for step in steps])), error, sum(step.size - 1 for step in steps)


def _best(logs: Sequence[_Logs], methods: Sequence[str]) -> set[str]:
    pairs = list(combinations(methods, 2))
    found = [_difference(logs, *pair) for pair in pairs]
    p_values = [
        float(2 * stdtr(freedom, -abs(mean) / error)) if error else float(mean == 0)
        for mean, error, freedom in found
    ]
    return set(methods) - {
        other if mean < 0 else one
        for (one, other), (mean, _, _), p in zip(pairs, found, holm(p_values), strict=True)
        if p < LEVEL
    }
