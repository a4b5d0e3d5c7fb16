"""How several models become one: weights, limits, spread."""

import numpy as np
import pytest

from levelhead.estimators.combination import (
    Combination,
    HeldOut,
    chosen_models,
    learn,
    probably_wrong,
    stacking_weights,
)
from levelhead.prediction import Prediction

N = 1000


def held_out(errors, quality=None, y=None, weight=None, chance=None):
    """Models of the label 0 or y, with these errors."""
    errors = np.asarray(errors)
    y = np.zeros(errors.shape[1]) if y is None else y
    return HeldOut(
        y=y,
        means=y - errors,
        variances=np.ones_like(errors),
        qualities=np.ones(errors.shape) if quality is None else np.tile(quality, (len(errors), 1)),
        weight=np.ones(len(y)) if weight is None else weight,
        chance=np.zeros(len(errors)) if chance is None else np.asarray(chance),
    )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_independent_errors_are_weighed_by_their_precision(rng):
    errors = rng.normal(size=(3, 100_000)) * np.array([[1.0], [2.0], [2.0]])
    # Labels far from all predictions count less, which favours the best model a little.
    np.testing.assert_allclose(stacking_weights(held_out(errors)), [2 / 3, 1 / 6, 1 / 6], atol=0.02)


def test_few_rows_give_nearly_equal_weights(rng):
    errors = rng.normal(size=(2, 40)) * np.array([[1.0], [1.5]])
    few, many = (stacking_weights(held_out(np.tile(errors, copies))) for copies in (1, 100))
    assert 0.5 < few[0] < many[0] - 0.05


def test_a_hopeless_model_is_left_out(rng):
    errors = rng.normal(size=(3, N)) * np.array([[1.0], [1.0], [20.0]])
    assert chosen_models(stacking_weights(held_out(errors))) == [0, 1]


def test_wrong_labels_do_not_decide(rng):
    errors = rng.normal(size=(2, N)) * np.array([[1.0], [2.0]])
    quality = np.ones(N)
    quality[:100], errors[0, :100], errors[1, :100] = (
        0.0,
        100.0,
        0.0,
    )  # only the second model fits wrong labels
    with_wrong = stacking_weights(held_out(errors, quality))
    np.testing.assert_allclose(with_wrong, stacking_weights(held_out(errors[:, 100:])), atol=1e-9)


def test_a_model_that_doubts_no_label_does_not_let_wrong_labels_decide(rng):
    """Its wide spread gives every label quality 1; the labels are far from what all models predict."""
    errors = rng.normal(size=(3, N)) * np.array([[1.0], [1.2], [10.0]])
    errors[:, :200] += 300 * rng.normal(size=200)
    weights = stacking_weights(held_out(errors))
    np.testing.assert_allclose(weights, stacking_weights(held_out(errors[:, 200:])), atol=0.02)
    assert weights[2] < 0.05


def test_a_model_that_is_left_out_makes_no_label_right(rng):
    errors = rng.normal(size=(3, N)) * np.array([[1.0], [1.0], [50.0]])
    errors[:2, :50] += 30
    qualities = np.ones((3, N))
    qualities[:2, :50] = 0.0
    given = held_out(errors, y=100 * rng.normal(size=N))._replace(qualities=qualities)
    np.testing.assert_array_equal(given.only([0, 1]).quality, qualities[0])
    assert probably_wrong(given)[:50].min() > 0.9


def test_a_bad_model_does_not_strengthen_the_prior(rng):
    errors = rng.normal(size=(2, 200)) * np.array([[1.0], [3.0]])
    worse = np.vstack([errors, 100 * rng.normal(size=200)])
    assert stacking_weights(held_out(worse))[1] == pytest.approx(
        stacking_weights(held_out(errors))[1], abs=0.02
    )


def test_one_wide_or_narrow_spread_does_not_decide():
    even = Combination(np.full(3, 1 / 3))
    for far, factor in ((1e6, 4), (2.0, 2), (1e-6, 1 / 4)):
        _, variance = even.pooled(np.zeros((3, 1)), np.array([[9.0], [9.0], [9.0 * far]]))
        assert variance[0] == pytest.approx(9 * factor ** (1 / 3))


def test_sample_weights_count(rng):
    errors = np.abs(rng.normal(size=(2, N)))
    errors[0, ::2] *= 3
    errors[1, 1::2] *= 3
    weight = np.where(np.arange(N) % 2, 1.8, 0.2)
    assert stacking_weights(held_out(errors, weight=weight))[0] > 0.6


def test_what_an_ensemble_averages_out_is_no_argument_against_it(rng):
    noise = rng.normal(size=N)
    errors = np.stack([noise, rng.normal(size=N)]) + 1.5 * rng.normal(size=N)
    errors[1] += rng.normal(size=N)
    plain, corrected = (stacking_weights(held_out(errors, chance=c)) for c in ([0, 0], [0, 0.9]))
    assert corrected[1] > plain[1] + 0.05


def test_a_model_whose_members_explode_is_not_excused(rng):
    errors = rng.normal(size=(2, N)) * np.array([[1.0], [10.0]])
    assert stacking_weights(held_out(errors, chance=[0, 99.0]))[1] < 0.1


def test_a_label_is_wrong_if_the_models_together_say_so(rng):
    errors = rng.normal(size=(2, N))
    errors[:, :50] += 30
    errors[1, 50:100] -= 8  # errors of one model alone
    wrong = probably_wrong(held_out(errors, y=100 * rng.normal(size=N)))
    assert wrong[:50].min() > 0.9
    assert wrong[100:].mean() < 0.05
    assert probably_wrong(held_out(np.zeros((2, N)))) is None


def test_the_range_of_trusted_labels_limits_predictions(rng):
    y = rng.uniform(0, 10, N)
    y[:20] = 1000.0
    quality = np.where(y > 10, 0.0, 1.0)
    learnt, separation = learn(held_out(0.1 * rng.normal(size=(2, N)), quality, y))
    assert separation is not None
    assert learnt.lowest == pytest.approx(-2, abs=0.1)
    assert learnt.highest == pytest.approx(12, abs=0.1)
    mean, _ = learnt.pooled(np.full((2, 1), 5000.0), np.ones((2, 1)))
    assert mean[0] == learnt.highest


def test_on_another_scale_no_prediction_is_much_wider_than_the_trusted_labels(rng):
    """In the units of y, the mean of a very wide prediction on a log scale is that of a tail that no label has."""
    y = rng.normal(size=N)
    y[:20] = 1000.0
    scales = np.exp(rng.normal(size=N) - 2)
    errors, quality = scales * rng.normal(size=(2, N)), np.where(y > 100, 0.0, 1.0)
    given = held_out(errors, quality, y)._replace(variances=np.stack([scales**2, scales**2]))
    apart = np.array([[-50.0], [50.0]]), np.full((2, 1), 0.01)
    plain, _ = learn(given)
    assert plain.pooled(*apart).variance[0] > 100
    limited, separation = learn(given, transformed=True)
    assert limited.pooled(*apart).variance[0] * separation.variance_ratio == pytest.approx(2, rel=0.15)
    usual = np.zeros((2, 1)), np.full((2, 1), 0.01)
    assert limited.pooled(*usual).variance[0] == plain.pooled(*usual).variance[0]


def test_wrong_labels_do_not_widen_the_shape(rng):
    z = rng.normal(size=N)
    z[:150] = 40 * rng.choice([-1, 1], 150)
    learnt, _ = learn(held_out(np.stack([z, z]), y=rng.uniform(-50, 50, N)))
    np.testing.assert_allclose(learnt.shape.inverse([-1.645, 1.645]), [-1.645, 1.645], rtol=0.2)


def test_variance_is_calibrated_and_grows_where_models_disagree(rng):
    z = 3 * rng.normal(size=N)
    learnt, separation = learn(held_out(np.stack([z, z]), y=rng.uniform(-50, 50, N)))
    _, variance = learnt.pooled(np.zeros((2, 1)), np.ones((2, 1)))
    assert variance[0] * separation.variance_ratio == pytest.approx(9, rel=0.15)
    even = Combination(np.array([0.5, 0.5]))
    _, apart = even.pooled(np.array([[0.0], [2.0]]), np.ones((2, 1)))
    assert apart[0] == pytest.approx(1 + 2 * 1)


def test_members_are_limited_and_get_back_the_variance_of_their_disagreement():
    ones = np.ones((2, 1))
    parts = [Prediction(mean * ones, ones, alpha=ones, sigma=ones) for mean in (90.0, 110.0)]
    limited = Combination(np.array([0.5, 0.5]), lowest=-1.0, highest=7.0).predict(parts, [1.0, 1.0], 1.0)
    np.testing.assert_array_equal(limited.member_mean, 7 * ones)
    same = Combination(np.array([0.5, 0.5])).predict([parts[0]] * 2, [0.5, 0.5], ratio=3.0)
    np.testing.assert_allclose(same.var, 1 / 0.5 * 3)


def test_labels_that_are_predicted_exactly_allow_no_calibration():
    learnt, separation = learn(held_out(np.zeros((2, N)), y=np.arange(float(N))))
    assert separation is None
    np.testing.assert_allclose(learnt.weights, 0.5)
