"""Calibration recovers how residuals grow with a stated variance, also among wrong labels."""

import numpy as np
import pytest

from levelhead.prediction import calibration
from levelhead.prediction.calibration import IDENTITY, added_variance, calibrate


@pytest.fixture
def truth():
    return np.exp(np.random.default_rng(0).normal(size=3000))


def residuals(truth, share=0.0):
    rng = np.random.default_rng(1)
    z = np.sqrt(truth) * rng.normal(size=truth.size)
    wrong = rng.random(truth.size) < share
    z[wrong] = rng.normal(0, 100, wrong.sum())
    return z


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_an_overconfident_model_is_set_right(truth, share):
    """Variances four times too small and twice too spread out (on the log scale)."""
    stated = truth**2 / 4
    calibrated = calibrate(residuals(truth, share), stated)(stated)
    error = np.log(calibrated / truth)
    assert np.median(error) == pytest.approx(0, abs=0.1 if share == 0 else 0.45)  # V_p is O(ε) too large
    assert error.std() < 0.1


def test_a_calibrated_model_is_not_changed(truth):
    calibration = calibrate(residuals(truth), truth)
    assert calibration.power == pytest.approx(1, abs=0.05)
    assert np.median(calibration(truth) / truth) == pytest.approx(1, abs=0.08)


def test_meaningless_variances_become_one_number(truth):
    stated = np.exp(np.random.default_rng(2).normal(size=truth.size))
    assert calibrate(residuals(np.ones_like(truth)), stated).power < 0.05


def test_units_do_not_matter(truth):
    z = residuals(truth)
    one, other = calibrate(z, truth), calibrate(1e5 * z, 1e-8 * truth)
    assert other(1e-8 * truth) == pytest.approx(1e10 * one(truth), rel=1e-3)


def test_huge_labels_do_no_harm(truth):
    z = residuals(truth)
    z[:30] = 1e200
    assert calibrate(z, truth).power == pytest.approx(1, abs=0.1)


def test_a_common_change_can_be_undone(truth):
    calibration = calibrate(residuals(truth), truth**2)
    assert calibration.after(0.6)(0.6 * truth**2) == pytest.approx(calibration(truth**2), rel=1e-12)


def test_identity_changes_nothing(truth):
    assert IDENTITY(truth) == pytest.approx(truth, rel=1e-15)


@pytest.mark.parametrize(
    ("z", "variance", "message"),
    [
        (np.ones(5), np.ones(5), "at least 10"),
        (np.ones(20), np.ones(10), "one shape"),
        (np.zeros(20), np.ones(20), "exactly 0"),
    ],
)
def test_input_without_information_is_refused(z, variance, message):
    with pytest.raises(ValueError, match=message):
        calibrate(z, variance)


def marked(n, rng, shares=(0.1, 0.1)):
    gaps = rng.random((n, len(shares))) < shares
    return gaps, np.exp(rng.normal(size=n))


def test_what_a_gap_adds_is_found_although_labels_are_wrong():
    rng = np.random.default_rng(0)
    gaps, variance = marked(4000, rng)
    z = np.sqrt(variance + 25 * gaps[:, 0]) * rng.normal(size=4000)
    z[rng.random(4000) < 0.05] += 200
    added = added_variance(z, variance, gaps)
    assert (added[~gaps.any(axis=1)] == 0).all()
    only = gaps[:, 0] & ~gaps[:, 1]
    assert added[only] == pytest.approx(25, rel=0.3)
    assert (added[gaps[:, 1] & ~gaps[:, 0]] < 0.5).all()  # a column that does not matter


def test_no_label_is_excused_by_a_gap_of_its_own():
    rng = np.random.default_rng(1)
    z = rng.normal(size=500)
    z[7] = 30
    gaps = np.arange(500)[:, None] == [[7, 8, 9]]
    assert (added_variance(z, np.ones(500), gaps) == 0).all()
    many = np.arange(500)[:, None] == np.arange(20)  # rare columns, together in twenty rows
    assert 0 < added_variance(z, np.ones(500), many)[7] < 10


def test_added_variance_scales_with_the_units():
    rng = np.random.default_rng(2)
    gaps, variance = marked(800, rng)
    z = np.sqrt(variance + 9 * gaps.sum(axis=1)) * rng.normal(size=800)
    one, other = added_variance(z, variance, gaps), added_variance(1e6 * z, 1e12 * variance, gaps)
    np.testing.assert_allclose(other, 1e12 * one, rtol=1e-3)


def test_the_loss_of_added_variance_has_the_right_gradient():
    rng = np.random.default_rng(3)
    gaps, variance = marked(300, rng)
    z = 3 * rng.normal(size=300)
    at = np.array([0.3, 0.5, 1.2, -0.7])
    loss = lambda x: calibration._gap_loss(x, z, variance, gaps.astype(float))
    slopes = [(loss(at + h)[0] - loss(at - h)[0]) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(loss(at)[1], slopes, rtol=1e-6)


def test_gaps_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a row of gaps for each residual"):
        added_variance(np.ones(3), np.ones(3), np.ones((2, 1)))
    with pytest.raises(ValueError, match="no width"):
        added_variance(np.zeros(3), np.ones(3), np.ones((3, 1)))
