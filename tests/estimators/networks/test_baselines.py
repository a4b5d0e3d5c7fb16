"""Every loss of the baselines learns mean and spread of clean labels, and only the robust ones ignore wrong labels."""

import numpy as np
import pytest

import levelhead
from levelhead import BaselineRegressor, GCPRegressor

LOSSES = ("beta-nll", "faithful", "natural", "evidential", "huber", "student")
SPREAD = 0.2


def line(n: int = 400, wrong: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with noise of 0.2 around a line, the first of which are 10 too large."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    mean = 2 * X[:, 0] - X[:, 1]
    y = mean + SPREAD * rng.normal(size=n)
    y[:wrong] += 10
    return X, y, mean


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_clean_labels_and_survives_a_file(loss, tmp_path) -> None:
    X, y, mean = line()
    model = BaselineRegressor(loss=loss, max_iter=60, random_state=0).fit(X, y)
    prediction = model.predict_dist(X)
    assert np.sqrt(np.mean((prediction.mean - mean) ** 2)) < 0.5 * SPREAD
    assert 0.5 * SPREAD < np.median(prediction.std) < 2 * SPREAD
    levelhead.save(model, tmp_path / "model.levelhead")
    again = levelhead.load(tmp_path / "model.levelhead").predict_dist(X)
    np.testing.assert_array_equal(again.mean, prediction.mean)
    np.testing.assert_array_equal(again.std, prediction.std)


@pytest.mark.parametrize(("loss", "robust"), [("faithful", False), ("huber", True), ("student", True)])
def test_only_robust_losses_ignore_wrong_labels(loss, robust) -> None:
    X, y, mean = line(wrong=40)
    model = BaselineRegressor(loss=loss, max_iter=60, random_state=0).fit(X, y)
    off = np.median(model.predict(X) - mean)
    assert (abs(off) < 2 * SPREAD) == robust


def test_three_outputs_learn_what_four_learn(tmp_path) -> None:
    X, y, mean = line(wrong=40)
    three, four = (
        GCPRegressor(n_outputs=n, max_iter=60, random_state=0).fit(X, y).predict_dist(X) for n in (3, 4)
    )
    for prediction in (three, four):
        assert np.sqrt(np.mean((prediction.mean - mean) ** 2)) < SPREAD
        assert 0.5 * SPREAD < np.median(prediction.std) < 2 * SPREAD
    assert not np.array_equal(three.mean, four.mean)
    model = GCPRegressor(n_outputs=3, max_iter=20, random_state=0).fit(X, y)
    levelhead.save(model, tmp_path / "model.levelhead")
    again = levelhead.load(tmp_path / "model.levelhead")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_another_number_of_outputs_is_refused() -> None:
    X, y, _ = line(60)
    with pytest.raises(ValueError, match="n_outputs"):
        GCPRegressor(n_outputs=5).fit(X, y)
