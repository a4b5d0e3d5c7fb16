"""The search finds what is planted, goes on where it was, and does not use test rows if it scores on held-out rows."""

import os
from collections import Counter

import pytest

from levelhead.datasets import ENVIRONMENT
from levelhead.study import Hyperparameters, Store, table1_specs
from levelhead.study.paper import grid_search
from levelhead.study.paper.grid_search import (
    DROPOUTS,
    LEARNING_RATES,
    Choice,
    candidate_specs,
    chosen,
    first_stage,
    found,
    read_choices,
    search,
    second_stage,
    write_choices,
)
from levelhead.study.paper.table1 import BayesHyperparameters


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
    assert {(s.contamination, s.validation_size) for s in specs} == {(0.05, 0.2)}
    seen = candidate_specs("GCP", "boston", candidates, [1], held_out=False)
    assert {s.validation_size for s in seen} == {0.0}


@pytest.mark.compiled
@pytest.mark.skipif(not os.environ.get(ENVIRONMENT), reason="needs the public data sets")
@pytest.mark.parametrize("held_out", [True, False])
def test_too_small_steps_lose_and_the_search_goes_on(tmp_path, monkeypatch, held_out):
    """With few epochs the smallest step size cannot win, whoever judges."""
    monkeypatch.setattr(grid_search, "LEARNING_RATES", (LEARNING_RATES[0], 1e-3))
    monkeypatch.setattr(grid_search, "DROPOUTS", DROPOUTS[:2])
    monkeypatch.setattr(grid_search, "ROBUSTNESS", (0.4, 1.0))
    options = {"seeds": [1, 2], "held_out": held_out, "epochs": 40, "show_progress": False}
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
        score = grid_search._score(store, specs, Hyperparameters(1e-3, 0.0, 1), held_out=True)
    assert score == float("inf")


def test_only_methods_with_a_grid():
    with pytest.raises(ValueError, match="no search for 'EnsGCP'"):
        search("EnsGCP", "yacht", "never-made.db")


def test_beta_bayes_has_a_grid_of_its_own():
    candidates = first_stage("Beta_Bayes", "yacht")
    assert {type(c).__name__ for c in candidates} == {"BayesHyperparameters"}
    assert {(c.beta, c.noise_std) for c in candidates} >= {(0.1, 0.5), (0.1, 1.0), (0.1, 4.0)}  # the paper's
    assert second_stage("Beta_Bayes", candidates[0]) == [candidates[0]]
    [spec] = candidate_specs("Beta_Bayes", "yacht", candidates[:1], [1])
    assert (spec.estimator.noise_std, spec.validation_size) == (candidates[0].noise_std, 0.2)


def test_choices_survive_the_file_and_make_specs(tmp_path):
    networks, bayes = Hyperparameters(2e-4, 0.0, 400, 0.7), BayesHyperparameters(0.2, 2.0)
    lines = [
        found("Gamma", "power", Choice(networks, {networks: 0.1}), held_out=True, n_splits=3),
        found("Beta_Bayes", "power", Choice(bayes, {bayes: 0.1}), held_out=True, n_splits=3),
        found("Gamma", "kin8nm", Choice(networks, {networks: 0.1}), held_out=False, n_splits=3),
    ]
    write_choices(lines, tmp_path / "c.csv")
    again = read_choices(tmp_path / "c.csv")
    assert sorted(again) == sorted(lines)
    text = (tmp_path / "c.csv").read_text().replace("scored_on", "judged_by")
    (tmp_path / "old.csv").write_text(text)  # as version 0.1 wrote it
    assert read_choices(tmp_path / "old.csv") == again
    settings = chosen(again)
    assert settings == {("Gamma", "power"): networks, ("Beta_Bayes", "power"): bayes}
    assert chosen(again, held_out=False) == {("Gamma", "kin8nm"): networks}
    # with settings found, Beta_Bayes can run where the paper had none
    [spec] = table1_specs(["power"], [0.05], ["Beta_Bayes"], [1], hyperparameters=settings)
    assert (spec.estimator.beta, spec.estimator.noise_std) == (0.2, 2.0)
    (tmp_path / "x.csv").write_text("a\n")
    with pytest.raises(ValueError, match="contains no choices"):
        read_choices(tmp_path / "x.csv")
