"""Shapes of residuals: levels, weights, tails, and the prediction that carries them."""

import doctest

import numpy as np
import pytest
from scipy import integrate, special

from levelhead.prediction import Prediction, conformal
from levelhead.prediction.conformal import NORMAL_SHAPE, ResidualShape, ShapedPrediction, learn_shape


@pytest.fixture(scope="module")
def skewed():
    """A shape that is neither symmetric nor normal."""
    r = np.random.default_rng(0).exponential(size=3000) - 1
    return learn_shape(r, np.ones(3000))


def test_the_example():
    assert doctest.testmod(conformal).failed == 0


@pytest.mark.parametrize("n", [60, 200, 2000])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_new_residuals_are_covered_as_often_as_they_should(n, coverage):
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(300):
        shape = learn_shape(3 * rng.standard_t(4, n), np.ones(n))
        lower, upper = ShapedPrediction([0.0], [1.0], shape=shape).interval(coverage)
        inside.append(
            np.mean(np.abs(3 * rng.standard_t(4, 300) - (lower + upper) / 2) <= (upper - lower) / 2)
        )
    assert np.mean(inside) == pytest.approx(coverage, abs=0.02)


def test_labels_that_are_probably_wrong_do_not_widen_intervals():
    rng = np.random.default_rng(2)
    clean, wrong = rng.normal(size=800), rng.normal(scale=30, size=200)
    weight = np.repeat([1.0, 0.0], [800, 200])
    both = learn_shape(np.concatenate([clean, wrong]), weight)
    np.testing.assert_allclose(both.residual, learn_shape(clean, np.ones(800)).residual, rtol=1e-9)


def test_a_knot_has_the_weighted_share_of_residuals_below_it():
    r = np.random.default_rng(4).normal(size=2000)
    weight = np.where(r > 0.5, 0.2, np.where(r < -1, 0.6, 1.0))
    shape = learn_shape(r, weight)
    below = [np.average(r <= knot, weights=weight) for knot in shape.residual]
    np.testing.assert_allclose(below, special.ndtr(shape.normal), atol=0.005)


def test_a_factor_of_all_weights_changes_nothing():
    r = np.random.default_rng(3).normal(size=300)
    np.testing.assert_allclose(
        learn_shape(r, np.full(300, 7.0)).residual, learn_shape(r, np.ones(300)).residual
    )


@pytest.mark.parametrize(
    ("r", "weight"),
    [
        (np.linspace(-1, 1, 29), np.ones(29)),
        (np.zeros(100), np.ones(100)),
        (np.linspace(1, 2, 100), np.ones(100)),
        (np.linspace(-1, 1, 100), np.zeros(100)),
        (np.linspace(-1, 1, 100), np.where(np.arange(100) % 5 == 0, 1.0, 1e-3)),
    ],
)
def test_without_enough_residuals_on_both_sides_the_shape_is_normal(r, weight):
    assert learn_shape(r, weight) is NORMAL_SHAPE


def test_inverse_and_slope(skewed):
    r = np.linspace(-4, 9, 500)
    np.testing.assert_allclose(skewed.inverse(skewed(r)), r, atol=1e-12)
    h = 1e-7
    off = np.abs(r[:, None] - skewed.residual).min(axis=1) > 2 * h  # from the knots, where slopes change
    np.testing.assert_allclose(
        np.exp(skewed.log_slope(r))[off], ((skewed(r + h) - skewed(r - h)) / (2 * h))[off], rtol=1e-5
    )


def test_density_distribution_and_quantiles_agree(skewed):
    prediction = ShapedPrediction([[10.0, -2.0]], [[4.0, 0.25]], shape=skewed)
    for row in range(2):
        one = prediction[row]
        assert type(one) is ShapedPrediction
        assert integrate.quad(lambda y, one=one: one.pdf(y)[0], -60, 90, limit=500)[0] == pytest.approx(
            1, abs=1e-4
        )
        q = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
        np.testing.assert_allclose(one.cdf(one.ppf(q).ravel()), q, atol=1e-9)
    draws = prediction.sample(20_000, random_state=0)
    np.testing.assert_allclose(
        np.quantile(draws, [0.1, 0.5, 0.9], axis=0), prediction.ppf([0.1, 0.5, 0.9]), atol=0.1
    )


def test_the_normal_shape_is_a_normal_distribution():
    from levelhead.prediction import Prediction

    shaped, normal = (cls([1.0, 2.0], [4.0, 9.0]) for cls in (ShapedPrediction, Prediction))
    at = np.array([[-3.0, 0.0], [5.0, 40.0]])
    np.testing.assert_allclose(shaped.logpdf(at), normal.logpdf(at))
    np.testing.assert_allclose(shaped.cdf(at), normal.cdf(at))
    np.testing.assert_allclose(shaped.ppf(0.9), normal.ppf(0.9))


def test_members_keep_their_meaning(skewed):
    prediction = ShapedPrediction([[0.0, 1.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], shape=skewed)
    np.testing.assert_allclose(prediction.epistemic_var, [1.0, 0.0])
    np.testing.assert_allclose(prediction.var, [2.0, 1.0])
    narrow = ResidualShape(np.array([-0.5, 0.5]), np.array([-1.0, 1.0]))
    lower, upper = ShapedPrediction([0.0], [1.0], shape=narrow).interval(0.9)
    np.testing.assert_allclose(upper, 0.5 * 1.6448536, rtol=1e-6)
    np.testing.assert_allclose(lower, -upper)
    np.testing.assert_allclose(ShapedPrediction([0.0], [1.0], shape=narrow).pdf(0.0), 2 / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("y", [-40.0, -3.0, 0.2, 1.7, 60.0])
def test_crps_agrees_with_its_integral(skewed, y):
    prediction = ShapedPrediction([1.0], [4.0], shape=skewed)
    below, above = np.linspace(-90, y, 200_001), np.linspace(y, 90, 200_001)
    squares = prediction.cdf(below[:, None])[:, 0] ** 2, (1 - prediction.cdf(above[:, None])[:, 0]) ** 2
    integral = integrate.trapezoid(squares[0], below) + integrate.trapezoid(squares[1], above)
    assert prediction.crps([y])[0] == pytest.approx(integral, rel=1e-6)


def test_crps_of_the_normal_shape_is_that_of_a_normal_distribution():
    y = np.array([-5.0, 0.0, 0.3, 4.0])
    mean, var = np.array([0.0, 1.0, -2.0, 3.0]), np.array([1.0, 4.0, 0.25, 9.0])
    shaped = ShapedPrediction(mean, var, shape=NORMAL_SHAPE)
    np.testing.assert_allclose(shaped.crps(y), Prediction(mean, var).crps(y), rtol=1e-12)
