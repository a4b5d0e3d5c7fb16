"""The grid search of the paper for hyperparameters (appendix F), and a variant that uses no test rows.

First the learning rate and the dropout rate at β = γ = 1, then β or γ at the best of them, at 5 % of wrong labels. In
the paper, and with `held_out=False`, the score is the RMSE on the clean test rows, the same rows that Table 1 reports.
This is optimistic, and in practice there are no clean labels to choose by. `held_out=True` does not use them: it holds
out a fifth of the training rows, including wrong labels, and scores by `robust_r2`, which is robust against wrong
labels.

Beta_Bayes has its own grid: β and the standard deviation of its likelihood, in units of the labels.
"""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead._deprecated import renamed_argument, renamed_value
from levelhead.study.paper.table1 import (
    BATCH_SIZE,
    DIRECT,
    OTHERS,
    RRNET,
    SEEDS,
    TEST_SIZE,
    BayesHyperparameters,
    Chosen,
    Hyperparameters,
    paper_network,
    recipe,
    settings_of,
)
from levelhead.study.running import run_study
from levelhead.study.specs import Spec
from levelhead.study.store import Row, Store

LEARNING_RATES = (2e-5, 5e-5, 1e-4, 2e-4, 7e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.1, 0.2, 0.3, 0.4)
ROBUSTNESS = tuple(k / 10 for k in range(1, 11))
BAYES_BETAS = (0.1, 0.2, 0.4, 0.7, 1.0)
NOISE_STDS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # that of Kin8nm's labels is 0.26
CONTAMINATION = 0.05
HELD_OUT_SIZE = 0.2
_OLD_COLUMNS = (  # of the file that version 0.1 wrote
    *("method", "dataset", "judged_by", "n_splits", "score"),
    *("learning_rate", "dropout", "epochs", "robustness", "noise_std"),
)
SEARCHED = ("GCP", "Beta", "Gamma", "Beta_Bayes", "Gaussian", DIRECT, *OTHERS, RRNET)
_WITH_ROBUSTNESS = ("Beta", "Gamma", RRNET)  # the second stage is theirs
Candidate = Hyperparameters | BayesHyperparameters


@dataclass(frozen=True)
class Choice:
    """Result of a search.

    Attributes
    ----------
    best : Hyperparameters or BayesHyperparameters
        The chosen hyperparameters.
    scores : mapping
        Mean score of every candidate; lower is better.
    """

    best: Candidate
    scores: Mapping[Candidate, float]


def first_stage(method: str, dataset: str) -> list[Candidate]:
    """Candidates of the first stage: learning rate × dropout at β = γ = 1; for Beta_Bayes, β × noise std."""
    if method == "Beta_Bayes":
        return [BayesHyperparameters(beta, std) for beta in BAYES_BETAS for std in NOISE_STDS]
    start = replace(settings_of(method, dataset), robustness=1.0 if method in _WITH_ROBUSTNESS else None)
    return [
        replace(start, learning_rate=rate, dropout=dropout) for rate in LEARNING_RATES for dropout in DROPOUTS
    ]


def second_stage(method: str, best: Candidate) -> list[Candidate]:
    """Candidates of the second stage: values of β or γ; other methods have none."""
    if isinstance(best, BayesHyperparameters) or method not in _WITH_ROBUSTNESS:
        return [best]
    return [replace(best, robustness=value) for value in ROBUSTNESS]


@renamed_argument("honest", "held_out")
def candidate_specs(
    method: str,
    dataset: str,
    candidates: Iterable[Candidate],
    seeds: Sequence[int] = SEEDS,
    *,
    held_out: bool = True,
) -> dict[Spec, Candidate]:
    """Create the runs that compare candidates, all with the same splits, wrong labels and random streams."""
    return {
        Spec(
            dataset,
            CONTAMINATION,
            method,
            seed,
            _estimator(method, dataset, candidate),
            test_size=TEST_SIZE,
            validation_size=HELD_OUT_SIZE if held_out else 0.0,
        ): candidate
        for candidate in candidates
        for seed in seeds
    }


@renamed_argument("honest", "held_out")
def search(
    method: str,
    dataset: str,
    store_path: str | os.PathLike[str],
    backend: Any = "serial",
    *,
    seeds: Sequence[int] = SEEDS,
    held_out: bool = True,
    epochs: int | None = None,
    n_jobs: int = 1,
    show_progress: bool = True,
) -> Choice:
    """Search the hyperparameters of a method on a data set; an interrupted search continues where it stopped.

    Parameters
    ----------
    method : str
        Name of the method, one of `SEARCHED`.
    dataset : str
        Name of a public data set.
    store_path : path-like
        SQLite file with the results, as for `run_study`.
    backend : str, distributed.Client or concurrent.futures.Executor, default="serial"
        Where to run, as for `run_study`.
    seeds : sequence of int, default=SEEDS
        Seeds of the splits to average over.
    held_out : bool, default=True
        Whether to score on held-out training rows with `robust_r2`; otherwise on the clean test rows with the RMSE, as
        in the paper.
    epochs : int or None, default=None
        Number of epochs; by default that of the paper. Ignored for Beta_Bayes.
    n_jobs : int, default=1
        Number of workers; -1 means one per core.
    show_progress : bool, default=True
        Whether to report the progress on stderr.

    Returns
    -------
    Choice
        The chosen hyperparameters and all scores.

    Raises
    ------
    ValueError
        If there is no search for the method.
    """
    if method not in SEARCHED:
        raise ValueError(f"there is no search for {method!r}; choose one of {', '.join(SEARCHED)}")
    scores: dict[Candidate, float] = {}
    candidates = first_stage(method, dataset)
    if epochs is not None:
        candidates = [
            candidate if isinstance(candidate, BayesHyperparameters) else replace(candidate, epochs=epochs)
            for candidate in candidates
        ]
    for stage in range(2):
        specs = candidate_specs(method, dataset, candidates, seeds, held_out=held_out)
        run_study(specs, store_path, backend, n_jobs=n_jobs, show_progress=show_progress)
        with Store(store_path) as store:
            scores |= {c: _score(store, specs, c, held_out) for c in candidates}
        best = min(candidates, key=lambda c: (scores[c], candidates.index(c)))
        if stage == 0:
            candidates = second_stage(method, best)
    return Choice(best, scores)


def _score(store: Store, specs: Mapping[Spec, Candidate], chosen: Candidate, held_out: bool) -> float:
    """Mean over the splits; infinite if a run failed, for instance because it diverged."""
    own = [spec for spec, candidate in specs.items() if candidate == chosen]
    rows = store.rows(own)
    return float(np.mean([_loss(row, held_out) for row in rows])) if len(rows) == len(own) else float("inf")


def _loss(row: Row, held_out: bool) -> float:
    return 1 - row.robust_r2 if held_out else row.rmse


def _estimator(method: str, dataset: str, candidate: Candidate) -> Any:
    if isinstance(candidate, BayesHyperparameters):
        return recipe(method, dataset, {(method, dataset): candidate})
    return paper_network(method, candidate, BATCH_SIZE[dataset])


class Found(NamedTuple):
    """A line of the file written by `write_choices`: the settings chosen for a method on a data set.

    Attributes
    ----------
    method, dataset : str
        Names.
    scored_on : str
        Rows that the score was computed on.
    n_splits : int
        Number of splits.
    score : float
        Mean score; lower is better.
    learning_rate, dropout, robustness, noise_std : float or None
        Chosen values; None if the method has no such parameter.
    epochs : int or None
        Number of epochs.
    """

    method: str
    dataset: str
    scored_on: str
    n_splits: int
    score: float
    learning_rate: float | None
    dropout: float | None
    epochs: int | None
    robustness: float | None
    noise_std: float | None

    @property
    def judged_by(self) -> str:
        """Old name of `scored_on`."""
        return str(renamed_value(self, "judged_by", "scored_on"))

    @property
    def settings(self) -> Candidate:
        """The chosen hyperparameters."""
        if self.noise_std is not None:
            assert self.robustness is not None
            return BayesHyperparameters(self.robustness, self.noise_std)
        assert self.learning_rate is not None
        assert self.dropout is not None
        assert self.epochs is not None
        return Hyperparameters(self.learning_rate, self.dropout, self.epochs, self.robustness)


_SCORED_ON = {True: "held-out training rows", False: "test rows"}


@renamed_argument("honest", "held_out")
def found(method: str, dataset: str, choice: Choice, *, held_out: bool, n_splits: int) -> Found:
    """Convert a choice to a line of the file."""
    head = method, dataset, _SCORED_ON[held_out], n_splits, choice.scores[choice.best]
    best = choice.best
    if isinstance(best, BayesHyperparameters):
        return Found(*head, None, None, None, best.beta, best.noise_std)
    return Found(*head, best.learning_rate, best.dropout, best.epochs, best.robustness, None)


def write_choices(lines: Iterable[Found], path: str | os.PathLike[str]) -> None:
    """Write choices to a CSV file, one line per method and data set."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Found._fields)
        for line in sorted(lines, key=lambda one: one[:3]):
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in line)


def read_choices(path: str | os.PathLike[str]) -> list[Found]:
    """Read a file written by `write_choices`, of this version or of version 0.1."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        given = tuple(next(reader, ()))
        if given not in (Found._fields, _OLD_COLUMNS):
            raise ValueError(f"{path} contains no choices; its columns must be {', '.join(Found._fields)}")
        return [_parsed(line) for line in reader]


@renamed_argument("honest", "held_out")
def chosen(lines: Iterable[Found], *, held_out: bool = True) -> Chosen:
    """Return the choices that were scored on held-out rows (`held_out`) or on test rows, for `table1_specs`."""
    return {
        (line.method, line.dataset): line.settings for line in lines if line.scored_on == _SCORED_ON[held_out]
    }


def _parsed(line: Sequence[str]) -> Found:
    method, dataset, scored_on, n_splits, *numbers = line
    score, rate, dropout, epochs, robustness, std = (float(text) if text else None for text in numbers)
    n_epochs = None if epochs is None else int(epochs)
    assert score is not None
    return Found(method, dataset, scored_on, int(n_splits), score, rate, dropout, n_epochs, robustness, std)
