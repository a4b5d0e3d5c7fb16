"""The search finds what is planted, goes on where it was, and never looks at test rows if it is honest."""

import os
from collections import Counter

import pytest

from levelhead.datasets import ENVIRONMENT
from levelhead.study import Hyperparameters, Store
from levelhead.study.paper import grid_search
from levelhead.study.paper.grid_search import (
    DROPOUTS,
    LEARNING_RATES,
    candidate_specs,
    first_stage,
    search,
    second_stage,
)


def test_the_papers_grid():
    first = first_stage("Beta", "yacht")
    assert len(set(first)) == 7 * 5
    assert {(c.epochs, c.robustness) for c in first} == {(2500, 1.0)}
    second = second_stage("Beta", first[3])
    assert [c.robustness for c in second] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert {(c.learning_rate, c.dropout) for c in second} == {(first[3].learning_rate, first[3].dropout)}
    assert second_stage("GCP", first[0]) == [first[0]]


def test_candidates_are_compared_on_common_ground():
    """The same splits, wrong labels and random streams; only the settings differ."""
    candidates = first_stage("GCP", "boston")
    specs = candidate_specs("GCP", "boston", candidates, [1, 2])
    assert Counter(specs.values()) == dict.fromkeys(candidates, 2)
    assert len({spec.stream("contamination") for spec in specs}) == 2
    assert len({spec.stream("random_state") for spec in specs}) == 2
    assert {(s.share, s.validation_size) for s in specs} == {(5, 0.2)}
    seen = candidate_specs("GCP", "boston", candidates, [1], honest=False)
    assert {s.validation_size for s in seen} == {0.0}


@pytest.mark.compiled
@pytest.mark.skipif(not os.environ.get(ENVIRONMENT), reason="needs the public data sets")
@pytest.mark.parametrize("honest", [True, False])
def test_too_small_steps_lose_and_the_search_goes_on(tmp_path, monkeypatch, honest):
    """With few epochs the smallest step size cannot win, whoever judges."""
    monkeypatch.setattr(grid_search, "LEARNING_RATES", (LEARNING_RATES[0], 1e-3))
    monkeypatch.setattr(grid_search, "DROPOUTS", DROPOUTS[:2])
    monkeypatch.setattr(grid_search, "ROBUSTNESS", (0.4, 1.0))
    options = {"seeds": [1, 2], "honest": honest, "epochs": 40, "show_progress": False}
    choice = search("Beta", "yacht", tmp_path / "grid.db", **options)
    assert choice.best.learning_rate == 1e-3
    assert choice.best.epochs == 40
    assert len(choice.scores) == 2 * 2 + 1  # one of the second stage was in the first
    assert choice.scores[choice.best] == min(choice.scores.values())
    with Store(tmp_path / "grid.db") as store:
        before = store.done()
        assert len(before) == 2 * 5
    assert search("Beta", "yacht", tmp_path / "grid.db", **options) == choice
    with Store(tmp_path / "grid.db") as store:
        assert store.done() == before


def test_a_candidate_that_fails_cannot_win(tmp_path):
    specs = candidate_specs("GCP", "yacht", [Hyperparameters(1e-3, 0.0, 1)], [1])
    with Store(tmp_path / "grid.db") as store:
        score = grid_search._score(store, specs, Hyperparameters(1e-3, 0.0, 1), honest=True)
    assert score == float("inf")


def test_only_methods_with_a_grid():
    with pytest.raises(ValueError, match="no search for 'Gaussian'"):
        search("Gaussian", "yacht", "never-made.db")


def test_beta_bayes_has_a_grid_of_its_own():
    candidates = first_stage("Beta_Bayes", "yacht")
    assert {type(c).__name__ for c in candidates} == {"BayesHyperparameters"}
    assert {(c.beta, c.noise_std) for c in candidates} >= {(0.1, 0.5), (0.1, 1.0), (0.1, 4.0)}  # the paper's
    assert second_stage("Beta_Bayes", candidates[0]) == [candidates[0]]
    [spec] = candidate_specs("Beta_Bayes", "yacht", candidates[:1], [1])
    assert (spec.estimator.noise_std, spec.validation_size) == (candidates[0].noise_std, 0.2)
