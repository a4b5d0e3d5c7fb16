"""The image example runs, and the manual shows what it measured."""

import csv
import importlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("image_regression")


@pytest.fixture
def stored():
    """Measures of every method and seed, as the example wrote them."""
    results = defaultdict(lambda: defaultdict(dict))
    with (ROOT / "docs/tables/image_regression.csv").open() as file:
        for row in csv.DictReader(file):
            results[int(row["seed"])][row["method"]][row["measure"]] = float(row["value"])
    return [results[seed] for seed in sorted(results)]


def test_labels_are_as_described(example):
    drawn = example.bars(np.random.default_rng(0), 4000, wrong=0.1)
    z = (drawn.labels[:, 0].numpy() - drawn.length) / example.reading_error(drawn.contrast)
    clean = np.abs(z) < 4
    assert drawn.images.shape == (4000, 1, 24, 24)
    assert 0.07 < 1 - clean.mean() < 0.1  # some wrong labels happen to be right
    assert z[np.abs(z) < 3].std() == pytest.approx(1, abs=0.05)


def test_the_bar_in_the_image_has_its_length(example):
    drawn = example.bars(np.random.default_rng(0), 300, wrong=0.0)
    area = drawn.images[:, 0].sum((1, 2)).numpy() / drawn.contrast
    assert np.corrcoef(area, drawn.length)[0, 1] > 0.95


def test_every_method_predicts(example, capsys):
    test, answers = example.one_seed(0, example.Setting(train=256, held_out=300, test=100, epochs=1))
    assert list(answers) == [
        "GCP", "GCP, corrected", "Gaussian likelihood", "Huber, δ = 1", "Huber, δ = 0.1"
    ]  # fmt: skip
    results = [{name: example.measures(answer, test) for name, answer in answers.items()}]
    assert all(np.isfinite(list(measured.values())).all() for measured in results[0].values())
    assert example.table(results).count("\n") == 6


def test_a_perfect_prediction_has_perfect_scores(example):
    test = example.bars(np.random.default_rng(0), 20_000, wrong=0.0)
    perfect = example.Answer(test.length, example.reading_error(test.contrast) ** 2)
    measured = example.measures(perfect, test)
    assert measured["error of the mean"] == 0
    assert_allclose([measured["z²/V"], measured["V off by"], measured["coverage"]], [1, 1, 0.9], atol=0.05)


def test_the_manual_shows_what_was_measured(example, stored):
    assert len(stored) == 5
    assert example.table(stored) in (ROOT / "docs/robust-head.md").read_text()


def off(measured):
    """By how much the variance is off in the groups, on the scale on which 0 is right."""
    return np.log(measured["V off by"])


@pytest.mark.parametrize("ours", ["GCP", "GCP, corrected"])
@pytest.mark.parametrize("baseline", ["Gaussian likelihood", "Huber, δ = 1"])
def test_gcp_won_on_every_seed(stored, ours, baseline):
    for result in stored:
        gcp, theirs = result[ours], result[baseline]
        assert gcp["rmse"] < 0.9 * theirs["rmse"]
        assert gcp["error of the mean"] < 0.75 * theirs["error of the mean"]
        assert off(gcp) < 0.5 * off(theirs)
        assert gcp["nll"] < theirs["nll"] - 0.2


@pytest.mark.parametrize("ours", ["GCP", "GCP, corrected"])
def test_a_huber_loss_that_knows_the_noise_still_has_the_worse_variance(stored, ours):
    for result in stored:
        gcp, theirs = result[ours], result["Huber, δ = 0.1"]
        assert gcp["rmse"] < 1.02 * theirs["rmse"]  # a tie, as the manual says
        assert off(gcp) < 0.5 * off(theirs)
        assert gcp["nll"] < theirs["nll"] - 0.05
