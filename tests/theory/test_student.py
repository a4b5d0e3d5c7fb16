"""−ln t and its derivatives, against scipy and against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.stats import t as scipy_t

from levelhead.theory import student

Z = np.array([0.0, 0.3, -2.0, 50.0])
LOG_S = np.array([0.0, -1.0, 0.5, 1.0])


def loss(z, log_s, log_alpha):
    """−ln t at scale s, where σ = αs²."""
    alpha = np.exp(log_alpha)
    sigma = alpha * np.exp(2 * log_s)
    return student.negative_log(student.ratios(z, sigma), alpha, sigma)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 30.0])
def test_the_loss_is_minus_ln_t(alpha):
    expected = -scipy_t.logpdf(Z, 2 * alpha, scale=np.exp(LOG_S))
    assert_allclose(loss(Z, LOG_S, np.log(alpha)), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("k", range(4))
def test_derivatives(alpha, k):
    sigma = alpha * np.exp(2 * LOG_S[k])
    at = student.ratios(Z[k], sigma)
    of = lambda v: float(loss(Z[k] - v[0], LOG_S[k] + v[1], np.log(alpha) + v[2]))
    by_m, by_log_s, by_log_alpha = approx_fprime(np.zeros(3), of, 1e-7)
    assert_allclose(student.by_location(at, alpha), by_m, atol=1e-5)
    assert_allclose(student.by_log_scale(at, alpha), by_log_s, atol=1e-5)
    assert_allclose(student.by_log_alpha(at, alpha), by_log_alpha, atol=1e-5)


def test_nothing_overflows_for_any_residual():
    z = np.array([0.0, 1e-200, 1e12, -1e200, 1.7e308])
    at = student.ratios(z, 0.5)
    assert (np.abs(at.slope * z) <= 1 + 1e-15).all()
    assert_allclose(at.far + at.near, 1, rtol=1e-15)
    assert np.isfinite(student.negative_log(at, 0.5, 0.5)).all()
    gradient = student.by_log_scale(at, 0.5)
    assert ((gradient >= -1 - 1e-12) & (gradient <= 1)).all()
