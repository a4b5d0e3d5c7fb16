"""Inputs of networks: bounds, pieces, weights, and what they are worth."""

import numpy as np
import pytest

from levelhead import GCPRegressor
from levelhead.estimators._preparation import arrange
from levelhead.estimators.networks import embeddings

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=200), RNG.exponential(size=200), RNG.integers(0, 2, 200), np.zeros(200)])
Y = RNG.normal(size=200)


def learnt(X, how, weight=None):
    return embeddings.learn(X, arrange(X, np.arange(len(X), dtype=float), weight, seed=0), how)


@pytest.mark.parametrize("how", ["robust", "piecewise"])
@pytest.mark.parametrize("extreme", [1e3, 1e150, 1e308, -1e308])
def test_inputs_are_bounded_for_any_value(how, extreme):
    inputs = learnt(X, how).apply(np.full((1, 4), extreme))
    assert np.isfinite(inputs).all()
    assert np.abs(inputs).max() <= 3
    with_extreme = X.copy()
    with_extreme[0, 0] = extreme
    bulk = learnt(with_extreme, how).apply(with_extreme)[1:, :4]
    np.testing.assert_allclose(bulk, learnt(X, how).apply(X)[1:, :4], atol=0.05)


def test_pieces_rise_one_after_the_other_and_are_constant_elsewhere():
    column = np.linspace(0, 1, 1000)[:, None]
    pieces = learnt(column, "piecewise").apply(column)[:, 1:]
    assert pieces.shape[1] == 16
    rises = np.diff(pieces, axis=0)
    assert (rises >= 0).all()
    assert (np.count_nonzero(rises > 1e-6, axis=1) <= 2).all()
    np.testing.assert_allclose(pieces[[0, -1]], [[-0.5] * 16, [0.5] * 16])


def test_columns_with_two_values_have_no_pieces():
    assert set(learnt(X, "piecewise").column) == {0, 1}


def test_pieces_of_a_wide_table_are_limited():
    wide = np.random.default_rng(0).normal(size=(60, 200))
    assert learnt(wide, "piecewise").n_inputs == 200 + 2 * 200
    assert learnt(np.tile(wide, 3), "piecewise").n_inputs == 600


def test_a_row_of_weight_three_counts_like_three_copies():
    weight = np.arange(200) % 4
    copies = learnt(np.repeat(X, weight, axis=0), "piecewise")
    for one, other in zip(vars(learnt(X, "piecewise", weight)).values(), vars(copies).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_fractional_weights_move_the_pieces():
    heavy = np.where(X[:, 0] > 0, 9.5, 0.5)
    assert learnt(X, "piecewise", heavy).start[1] > learnt(X, "piecewise").start[1]


@pytest.mark.compiled
def test_predictions_beyond_the_table_stay_near_its_labels():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 3))
    labels = table[:, 0] + 0.1 * rng.normal(size=300)
    far = np.array([[1e6, -1e6, 1e6]])
    by_how = {
        how: GCPRegressor(input_scaling=how, max_iter=60, random_state=0).fit(table, labels).predict(far)[0]
        for how in ("standard", "robust", "piecewise")
    }
    assert abs(by_how["standard"]) > 100
    assert abs(by_how["robust"]) < 12
    assert abs(by_how["piecewise"]) < 12


@pytest.mark.compiled
@pytest.mark.slow
def test_pieces_follow_a_sharp_function():
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, size=(1500, 4))
    truth = lambda X: np.sign(np.sin(12 * X[:, 0])) + np.abs(X[:, 1])
    labels = truth(table) + 0.1 * rng.normal(size=1500)
    new = rng.uniform(-1, 1, size=(1000, 4))
    error = {
        how: np.sqrt(
            np.mean(
                (GCPRegressor(input_scaling=how, random_state=0).fit(table, labels).predict(new) - truth(new))
                ** 2
            )
        )
        for how in ("standard", "piecewise")
    }
    assert error["piecewise"] < 0.8 * error["standard"]
