"""Calibration recovers how residuals grow with a told variance, also among wrong labels."""

import numpy as np
import pytest

from levelhead.theory.calibration import IDENTITY, calibrate


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
    told = truth**2 / 4
    calibrated = calibrate(residuals(truth, share), told)(told)
    error = np.log(calibrated / truth)
    assert np.median(error) == pytest.approx(0, abs=0.1 if share == 0 else 0.45)  # V_p is O(ε) too large
    assert error.std() < 0.1


def test_an_honest_model_is_left_alone(truth):
    calibration = calibrate(residuals(truth), truth)
    assert calibration.power == pytest.approx(1, abs=0.05)
    assert np.median(calibration(truth) / truth) == pytest.approx(1, abs=0.08)


def test_meaningless_variances_become_one_number(truth):
    told = np.exp(np.random.default_rng(2).normal(size=truth.size))
    assert calibrate(residuals(np.ones_like(truth)), told).power < 0.05


def test_units_do_not_matter(truth):
    z = residuals(truth)
    one, other = calibrate(z, truth), calibrate(1e5 * z, 1e-8 * truth)
    assert other(1e-8 * truth) == pytest.approx(1e10 * one(truth), rel=1e-3)


def test_absurd_labels_do_no_harm(truth):
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
def test_hopeless_input_is_refused(z, variance, message):
    with pytest.raises(ValueError, match=message):
        calibrate(z, variance)
