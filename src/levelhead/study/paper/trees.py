"""Boosted trees next to the methods of the paper: GCPBoost, one model, and EnsGCPBoost, an ensemble of five.

Their specs share splits and wrong labels with those of `table1_specs`, so that they can be stored, tabulated and
compared together. They have no hyperparameters to choose: every data set gets the defaults.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from levelhead import estimators
from levelhead._deprecated import percentages
from levelhead.contamination import Contamination, Replaced
from levelhead.study.paper.table1 import CONTAMINATIONS, DATASETS, N_MEMBERS, SEEDS, TEST_SIZE, table1_specs
from levelhead.study.specs import Spec

METHODS = ("GCPBoost", "EnsGCPBoost")


def specs_of(
    datasets: Sequence[str],
    contamination: Sequence[float],
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    kind: Contamination | None = None,
    **others: Any,
) -> Iterator[Spec]:
    """Create the specs of methods of the paper and of boosted trees.

    Parameters
    ----------
    datasets : sequence of str
        Data sets.
    contamination : sequence of float
        Shares of wrong labels, fractions.
    methods : sequence of str
        Methods.
    seeds : sequence of int
        Seeds of the splits.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper.
    **others
        Hyperparameters and label for `table1_specs`; not allowed for trees.

    Yields
    ------
    Spec
        One run.
    """
    paper = [name for name in methods if name not in METHODS]
    trees = [name for name in methods if name in METHODS]
    if trees and others:
        raise ValueError(f"{trees[0]} has no hyperparameters to choose; run it without them")
    if paper:
        yield from table1_specs(datasets, contamination, paper, seeds, kind=kind, **others)
    if trees:
        yield from boosting_specs(datasets, contamination, trees, seeds, kind=kind)


@percentages("shares")
def boosting_specs(
    datasets: Sequence[str] = DATASETS,
    contamination: Sequence[float] = CONTAMINATIONS,
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] = SEEDS,
    *,
    kind: Contamination | None = None,
) -> Iterator[Spec]:
    """Create the specs of boosted trees, data set by data set, all methods of a split together.

    Parameters
    ----------
    datasets : sequence of str, default=DATASETS
        Data sets.
    contamination : sequence of float, default=CONTAMINATIONS
        Shares of wrong labels, fractions.
    methods : sequence of str, default=METHODS
        "GCPBoost", "EnsGCPBoost" or both.
    seeds : sequence of int, default=SEEDS
        Seeds of the splits.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper.

    Yields
    ------
    Spec
        One run.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} of trees; choose from {', '.join(METHODS)}")
    kind = Replaced() if kind is None else kind
    built = {name: recipe(name) for name in methods}
    for dataset in datasets:
        for seed in seeds:
            for wrong in contamination:
                for name, estimator in built.items():
                    yield Spec(dataset, wrong, name, seed, estimator, kind=kind, test_size=TEST_SIZE)


def recipe(method: str) -> Any:
    """Create the estimator of a method."""
    return estimators.GCPBoostingRegressor(n_members=N_MEMBERS if method.startswith("Ens") else 1)
