"""Labels of training rows with equal inputs, and what they say about new rows with these inputs."""

import doctest

import numpy as np
import pytest

from levelhead import AutoRegressor, load, save
from levelhead.estimators import repeats
from levelhead.estimators.repeats import Labels, Repeats, learn
from levelhead.prediction.conformal import ShapedPrediction

N = 400


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pairs(rng, correlation, clean=None):
    """Keys of rows that occur twice, and their labels, predicted as 0 ± 1."""
    effect = rng.normal(size=N).repeat(2)
    y = np.sqrt(correlation) * effect + np.sqrt(1 - correlation) * rng.normal(size=2 * N)
    clean = np.ones(2 * N) if clean is None else clean
    return np.arange(N, dtype=np.uint64).repeat(2), Labels(y, np.zeros(2 * N), np.ones(2 * N), clean)


def part(key, labels, n):
    return key[:n], Labels(*(values[:n] for values in labels))


def test_the_example_in_the_docstring():
    assert doctest.testmod(repeats).failed == 0


@pytest.mark.parametrize("correlation", [0.7, 0.9, 1.0])
def test_the_correlation_is_found(rng, correlation):
    assert learn(*pairs(rng, correlation)).correlation == pytest.approx(correlation, abs=0.1)


def test_little_correlation_and_few_repeats_teach_nothing(rng):
    assert learn(*pairs(rng, 0.0)) is None
    assert learn(*pairs(rng, 0.3)) is None
    key, labels = pairs(rng, 0.9)
    assert learn(*part(key, labels, 18)) is None
    assert learn(np.arange(2 * N, dtype=np.uint64), labels) is None


def test_wrong_labels_do_not_hide_it_and_are_forgotten(rng):
    clean = np.ones(2 * N)
    clean[::10] = 0.0
    key, labels = pairs(rng, 0.9, clean)
    labels.y[::10] = 5 * rng.normal(size=len(labels.y[::10]))
    clean[1] = 0.0  # no label with the first inputs is right
    found = learn(key, labels)
    assert found.correlation == pytest.approx(0.9, abs=0.1)
    assert 0 not in found.key
    place = np.searchsorted(found.key, 5)  # the first of two labels is wrong
    assert found.mean[place] == pytest.approx(found.correlation * labels.y[11])


def test_several_labels_say_more_than_one(rng):
    key, labels = pairs(rng, 0.9)
    key = np.append(key, np.uint64(N))  # an input that occurs once
    found = learn(key, Labels(*(np.append(part, part[0]) for part in labels)))
    rho, mean = found.correlation, labels.y[:2].mean()
    np.testing.assert_allclose(found.mean[[0, -1]], [2 * rho / (1 + rho) * mean, rho * labels.y[0]])
    np.testing.assert_allclose(found.variance[[0, -1]], [1 - 2 * rho**2 / (1 + rho), 1 - rho**2])


def test_predictions_of_known_inputs_change():
    known = Repeats(np.array([7], dtype=np.uint64), np.array([5.0]), np.array([0.5]), 0.6)
    mean, var = np.array([[0.0, 0.0], [2.0, 2.0]]), np.full((2, 2), 3.0)
    before = ShapedPrediction(mean, var, alpha=var, sigma=var)
    after = known.update(before, np.array([7, 8], dtype=np.uint64))
    np.testing.assert_allclose(after.mean, [5, 1])
    np.testing.assert_allclose(after.var, [0.5, 4])


@pytest.mark.compiled
@pytest.mark.slow
def test_a_listed_row_is_predicted_by_its_label(rng, tmp_path):
    X = rng.uniform(-1, 1, size=(300, 3)).repeat(2, axis=0)
    y = X[:, 0] + rng.normal(size=300).repeat(2)
    model = AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(X, y)
    assert model.repeats_.correlation > 0.9
    assert np.abs(model.predict(X) - y).mean() < 0.2
    new = X + 0.01
    assert np.abs(model.predict(new) - y).mean() > 0.3
    assert np.median(model.predict_dist(X).std / model.predict_dist(new).std) < 0.5
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    apart = rng.uniform(-1, 1, size=(300, 3))
    assert AutoRegressor(n_members=1, random_state=0).fit(apart, apart[:, 0]).repeats_ is None
