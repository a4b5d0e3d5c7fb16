"""The search behind the paper's hyperparameters (appendix F), as a study, and an honest variant.

First the learning rate and the dropout rate at β = γ = 1, then β or γ at the best of them; at λ = 5. As in the paper,
`honest=False` judges by the RMSE on the clean test rows, the very rows that Table 1 reports: optimistic, and no one
has clean labels to choose by. `honest=True` never looks at them: it holds out a fifth of the training rows, wrong
labels and all, and judges by `robust_r2`, which wrong labels cannot fool.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from levelhead.study.running import run_study
from levelhead.study.specs import Spec
from levelhead.study.store import Row, Store
from levelhead.study.table1 import BATCH_SIZE, PAPER, SEEDS, TEST_SIZE, Hyperparameters, paper_network

LEARNING_RATES = (2e-5, 5e-5, 1e-4, 2e-4, 7e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.1, 0.2, 0.3, 0.4)
ROBUSTNESS = tuple(k / 10 for k in range(1, 11))
SHARE = 5
HELD_OUT = 0.2
_SEARCHED = ("GCP", "Beta", "Gamma")


@dataclass(frozen=True)
class Choice:
    """What a search chose, and the mean score of every candidate it tried; lower is better."""

    best: Hyperparameters
    scores: Mapping[Hyperparameters, float]


def first_stage(method: str, dataset: str) -> list[Hyperparameters]:
    """Learning rate × dropout, with the paper's epochs and β = γ = 1."""
    start = replace(_start(method, dataset), robustness=None if method == "GCP" else 1.0)
    return [
        replace(start, learning_rate=rate, dropout=dropout) for rate in LEARNING_RATES for dropout in DROPOUTS
    ]


def second_stage(method: str, best: Hyperparameters) -> list[Hyperparameters]:
    """Values of β or γ at the best learning rate and dropout; GCP has neither."""
    return [best] if method == "GCP" else [replace(best, robustness=value) for value in ROBUSTNESS]


def candidate_specs(
    method: str,
    dataset: str,
    candidates: Iterable[Hyperparameters],
    seeds: Sequence[int] = SEEDS,
    *,
    honest: bool = True,
) -> dict[Spec, Hyperparameters]:
    """The runs that compare candidates: all on the same splits, wrong labels and random streams."""
    return {
        Spec(
            dataset,
            SHARE,
            method,
            seed,
            paper_network(method, candidate, BATCH_SIZE[dataset]),
            test_size=TEST_SIZE,
            validation_size=HELD_OUT if honest else 0.0,
        ): candidate
        for candidate in candidates
        for seed in seeds
    }


def search(
    method: str,
    dataset: str,
    store_path: str | os.PathLike[str],
    backend: Any = "serial",
    *,
    seeds: Sequence[int] = SEEDS,
    honest: bool = True,
    epochs: int | None = None,
    n_jobs: int = 1,
    show_progress: bool = True,
) -> Choice:
    """Both stages; runs are stored, so that a search that was stopped goes on.

    Parameters
    ----------
    method : "GCP", "Beta" or "Gamma".
    dataset : one of the public data sets.
    store_path, backend, n_jobs, show_progress : as for `run_study`.
    seeds : of the splits to average over.
    honest : judge by held-out training rows and a robust score, or by the RMSE on the clean test rows.
    epochs : instead of the paper's.
    """
    if method not in _SEARCHED:
        raise ValueError(f"there is no search for {method!r}; choose one of {', '.join(_SEARCHED)}")
    scores: dict[Hyperparameters, float] = {}
    candidates = first_stage(method, dataset)
    if epochs is not None:
        candidates = [replace(candidate, epochs=epochs) for candidate in candidates]
    for stage in range(2):
        specs = candidate_specs(method, dataset, candidates, seeds, honest=honest)
        run_study(specs, store_path, backend, n_jobs=n_jobs, show_progress=show_progress)
        with Store(store_path) as store:
            scores |= {c: _score(store, specs, c, honest) for c in candidates}
        best = min(candidates, key=lambda c: (scores[c], candidates.index(c)))
        if stage == 0:
            candidates = second_stage(method, best)
    return Choice(best, scores)


def _score(
    store: Store, specs: Mapping[Spec, Hyperparameters], chosen: Hyperparameters, honest: bool
) -> float:
    """Mean over the splits; infinite if a run failed, for instance because it diverged."""
    own = [spec for spec, candidate in specs.items() if candidate == chosen]
    rows = store.rows(own)
    return float(np.mean([_loss(row, honest) for row in rows])) if len(rows) == len(own) else float("inf")


def _loss(row: Row, honest: bool) -> float:
    return 1 - row.robust_r2 if honest else row.rmse


def _start(method: str, dataset: str) -> Hyperparameters:
    start = PAPER[method, dataset]
    assert isinstance(start, Hyperparameters)
    return start
