"""Labels that are multiples of a unit: which lattices are found, and the distributions on them."""

import doctest
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special

from levelhead import AutoRegressor, load, metrics, save
from levelhead.prediction import LogTransform, Prediction, TransformedPrediction, lattice, lattice_prediction
from levelhead.prediction.lattice import COVERAGES, Lattice, find_lattice, find_step
from levelhead.prediction.lattice_prediction import LatticePrediction, learn_levels

GRADES = Lattice(3.0, 1.0, 7)
MEANS, VARIANCES = np.array([5.2, 3.0, 8.9, 6.4]), np.array([0.5, 0.2, 1.5, 1e-6])


@pytest.fixture
def prediction():
    return LatticePrediction(Prediction(MEANS, VARIANCES), GRADES)


def test_the_example():
    assert doctest.testmod(lattice).failed == 0
    assert doctest.testmod(lattice_prediction).failed == 0


@pytest.mark.parametrize("unit", [1.0, 0.1, 5.0, 1e6])
@pytest.mark.parametrize("start", [0.0, -3.0, 0.05])
def test_steps_are_found(unit, start):
    place = np.random.default_rng(0).integers(12, size=600)
    found = find_lattice(start + unit * np.where(place == 5, 4, place), np.ones(600))
    np.testing.assert_allclose(found.values, start + unit * np.arange(12), rtol=1e-9)


def test_labels_that_are_probably_wrong_do_not_count():
    rng = np.random.default_rng(1)
    y, wrong = rng.integers(3, 10, size=500).astype(float), np.arange(500) % 5 == 0
    y[wrong] = 100 * rng.normal(size=100)
    assert find_lattice(y, np.where(wrong, 0.1, 1.0)) == GRADES
    assert find_lattice(y, np.ones(500)) is None
    few = np.where(wrong & (np.cumsum(wrong) > 40), 5.0, y)
    assert find_lattice(few, np.ones(500)) == GRADES  # nobody has found them, but they are few


def test_rare_values_at_the_ends_belong_to_it():
    y = np.repeat([3.0, 4.0, 5.0, 6.0, 7.0, 9.0], [1, 200, 200, 200, 1, 1])
    assert find_lattice(y, np.ones(603)) == Lattice(3.0, 1.0, 5)


@pytest.mark.parametrize(
    "y",
    [
        np.random.default_rng(2).normal(size=500),
        np.arange(500) % 60,  # too few labels for each value
        np.arange(5000) % 150,  # too many values
        np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])[np.arange(500) % 6],  # most values never occur
        np.array([0.0, 1.0, 2.3])[np.arange(500) % 3],
        np.ones(500),
        np.empty(0),
    ],
)
def test_other_labels_have_no_lattice(y):
    assert find_lattice(y, np.ones(len(y))) is None


def test_quantiles_are_the_smallest_values_that_reach_their_level(prediction):
    for q in (0.01, 0.3, 0.5, 0.77, 0.99):
        value = prediction.ppf(q)
        assert np.isin(value, GRADES.values).all()
        assert (prediction.cdf(value) >= q).all()
        assert (prediction.cdf(value - 0.5) < q).all()


def test_a_value_has_the_probability_of_its_cell(prediction):
    mass = np.exp([prediction.logpdf(np.full(4, value)) for value in GRADES.values])
    np.testing.assert_allclose(mass.sum(axis=0), 1)
    std = np.sqrt(VARIANCES[0])
    expected = special.ndtr((5.5 - MEANS[0]) / std) - special.ndtr((4.5 - MEANS[0]) / std)
    assert mass[2, 0] == pytest.approx(expected)
    drawn = prediction.sample(20_000, random_state=0)[:, 0]
    assert np.mean(drawn == 5) == pytest.approx(expected, abs=0.02)
    assert set(drawn) <= set(GRADES.values)


@pytest.mark.parametrize("y", [1.5, 3.0, 5.0, 5.3, 9.0, 11.0])
def test_the_crps_is_its_integral(prediction, y):
    def square(t, k):
        return (float(prediction.cdf(np.full(4, t))[k]) - (t >= y)) ** 2

    points = np.unique([*GRADES.values, y])
    for k in range(4):
        pieces = [integrate.quad(square, a, b, args=(k,))[0] for a, b in pairwise(points)]
        assert prediction.crps(np.full(4, y))[k] == pytest.approx(sum(pieces), abs=1e-9)


def test_means_and_rows_are_those_of_the_continuous_prediction(prediction):
    scaled = LatticePrediction(
        TransformedPrediction(Prediction(np.log(MEANS), 0.01 * VARIANCES), LogTransform(0.1)), GRADES
    )
    for one in (prediction, scaled):
        assert len(one) == 4
        assert len(one[1:3]) == 2
        np.testing.assert_array_equal(one[1:3].mean, one.mean[1:3])
        np.testing.assert_array_equal(one[[3, 0]].ppf(0.2), one.ppf(0.2)[[3, 0]])
    np.testing.assert_array_equal(prediction.mean, MEANS)
    np.testing.assert_array_equal(prediction.var, VARIANCES)
    assert scaled.transform == LogTransform(0.1)
    np.testing.assert_allclose(scaled.latent.mean, np.log(MEANS))
    np.testing.assert_array_equal(scaled.ppf(0.5), GRADES.nearest(MEANS))


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_steps_are_found_before_labels_are_judged(share):
    rng = np.random.default_rng(2)
    y = 13.0 + rng.binomial(6, 0.5, size=1000)
    wrong = rng.random(1000) < share
    y[wrong] = rng.normal(16, 20, size=wrong.sum())
    y[:60] *= np.resize([10.0, 0.1, 1000.0], 60)
    assert find_step(y) == 1
    assert find_step(y + rng.uniform(-0.5, 0.5, size=1000)) == 0


def _of_grades(n, seed):
    """Predictions that are right, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    means, variances = rng.uniform(4, 8, size=n), rng.uniform(0.2, 0.6, size=n)
    y = GRADES.nearest(means + np.sqrt(variances) * rng.normal(size=n))
    return LatticePrediction(Prediction(means, variances), GRADES), y


def _held(prediction, y, coverage):
    lower, upper = prediction.interval(coverage)
    return np.mean((lower <= y) & (y <= upper))


def test_intervals_cover_on_average_as_often_as_they_say():
    seen, y = _of_grades(4000, 0)
    wrong = np.arange(4000) % 10 == 0
    spoilt = np.where(wrong, 3.0, y)
    learnt = learn_levels(seen, spoilt, np.where(wrong, 0.0, 1.0))
    assert learnt.levels == tuple(sorted(learnt.levels))
    new, labels = _of_grades(4000, 1)
    assert _held(new, labels, 0.9) > 0.93  # each interval holds at least its share
    calibrated = LatticePrediction(Prediction(new.mean, new.var), learnt)
    for coverage in (0.5, 0.77, 0.9, 0.96):
        assert _held(calibrated, labels, coverage) == pytest.approx(coverage, abs=0.04)
    np.testing.assert_array_equal(calibrated.ppf(0.05), new.ppf(0.05))  # quantiles stay what they are
    assert all(calibrated[:9].interval(0.9)[0] == calibrated.interval(0.9)[0][:9])
    inner, outer = calibrated.interval(0.6), calibrated.interval(0.8)
    assert (outer.lower <= inner.lower).all()
    assert (inner.upper <= outer.upper).all()


def test_few_labels_and_narrow_predictions_do_not_widen_intervals():
    seen, y = _of_grades(200, 0)
    assert learn_levels(seen[:20], y[:20], np.ones(20)) == GRADES
    narrow = LatticePrediction(Prediction(seen.mean, 0.01 * seen.var), GRADES)
    assert learn_levels(narrow, y, np.ones(200)).levels[-1] <= COVERAGES[-1]


@pytest.mark.compiled
def test_quantiles_of_whole_numbers_are_whole(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = np.round(5 + 2 * X[:, 0] + 0.6 * rng.normal(size=600))
    y[:400:20] = 97.3
    model = AutoRegressor(n_members=1, random_state=0).fit(X[:400], y[:400])
    assert model.lattice_.step == 1
    assert model.lattice_.values[-1] < 10
    found = model.predict_dist(X[400:])
    np.testing.assert_array_equal(found.ppf(0.3), np.round(found.ppf(0.3)))
    lower, upper = model.predict_interval(X[400:], 0.8)
    assert 0.65 < np.mean((lower <= y[400:]) & (y[400:] <= upper)) < 0.92
    again = load(save(model, tmp_path / "model"))
    assert again.lattice_ == model.lattice_
    np.testing.assert_array_equal(again.predict_interval(X[400:], 0.8), (lower, upper))
    model.lattice_ = None
    assert metrics.crps(y[400:], found) < 0.97 * metrics.crps(y[400:], model.predict_dist(X[400:]))
