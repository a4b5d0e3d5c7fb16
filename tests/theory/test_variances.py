"""Variances of the clean labels and the probability of a wrong one, on known truths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq
from scipy.special import erfcx

from levelhead.theory import student as student_t
from levelhead.theory.special import A, b

ALPHA = np.geomspace(0.05, 50, 31)


def quadratic_share(s):
    """E[y²/(2s² + y²)] for y ~ N(0, 1)."""
    return 1 - np.sqrt(np.pi) * s * erfcx(s)


def test_prognostic_variance_recovers_a_gaussian():
    """σ solves H = 0 on clean labels of variance 2.5 for a given α; the variance must come back."""
    for alpha in (0.3, 1.0, 7.0):
        root = brentq(lambda s, a=alpha: (2 * a + 1) * quadratic_share(s) - 1, 1e-6, 100, xtol=1e-15)
        assert_allclose(student_t.prognostic_variance(alpha, 2.5 * root**2), 2.5, rtol=1e-10)


def test_far_variance_is_exact_for_far_outliers():
    """H = 0 with a share ε of outliers at infinity: (1−ε)E[αz²−σ)/(2σ+z²)] + εα = 0."""
    epsilon, variance = 0.1, 1.7
    for alpha in (0.3, 1.0, 3.0):
        h = lambda s, a=alpha: (1 - epsilon) * ((a + 0.5) * quadratic_share(s) - 0.5) + epsilon * a
        root = brentq(h, 1e-6, 100, xtol=1e-15)
        assert_allclose(student_t.far_variance(alpha, variance * root**2, epsilon), variance, rtol=1e-10)


def test_corrections_share_their_expansion():
    sigma = np.ones_like(ALPHA)
    v = student_t.prognostic_variance(ALPHA, sigma)
    gaps = []
    for epsilon in (1e-5, 1e-6):
        far = student_t.far_variance(ALPHA, sigma, epsilon)
        first = student_t.first_order_variance(ALPHA, sigma, epsilon)
        assert_allclose(first, v * (1 - 2 * ALPHA / A(ALPHA) * epsilon), rtol=1e-12)
        gaps.append(np.abs(far - first) / v)
    assert_allclose(np.log10(gaps[0] / gaps[1]), 2, atol=0.05)  # they differ by O(ε²)
    assert_allclose(student_t.far_variance(ALPHA, sigma, 0.0), v, rtol=0)


def test_order_of_the_variances():
    sigma = np.ones_like(ALPHA)
    student = student_t.student_variance(ALPHA, sigma)
    prognostic = student_t.prognostic_variance(ALPHA, sigma)
    assert (student > prognostic).all()
    assert (student[ALPHA <= 1] == np.inf).all()
    finite = student_t.student_variance(ALPHA, sigma, finite=True)
    assert np.isfinite(finite).all()
    assert_allclose(finite[ALPHA > 1.1], student[ALPHA > 1.1], rtol=0)
    assert (student_t.far_variance(ALPHA, sigma, 0.005) < prognostic).all()


@pytest.mark.parametrize("function", [student_t.first_order_variance, student_t.far_variance])
def test_no_solution_is_an_error_that_says_where(function):
    with pytest.raises(ValueError, match=r"1 of 2 values; first at position 1: alpha 9, epsilon 0\.2"):
        function([0.5, 9.0], [1.0, 1.0], 0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], 1.0, 0.1), "alpha must be positive"),
        ((1.0, -1.0, 0.1), "sigma must be positive"),
        ((1.0, 1.0, 1.0), r"epsilon must lie in \[0, 1\)"),
        ((1.0, 1.0, np.nan), r"epsilon must lie in \[0, 1\)"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        student_t.far_variance(*arguments)


def test_outlier_probability_starts_where_the_densities_cross():
    z = np.linspace(0, 12, 4801)
    for alpha in (0.1, 0.5, 2.0, 1e3):
        sigma = A(alpha) * 0 + (alpha - A(alpha))  # so that V_p = 1
        p = student_t.outlier_probability(z, np.full_like(z, alpha), np.full_like(z, sigma))
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p) >= 0).all()
        assert 2.14 < z[np.argmax(p > 0)] < 2.44
        density = stats.t.pdf(5.0, 2 * alpha, scale=np.sqrt(sigma / alpha))
        at_5 = student_t.outlier_probability(5.0, alpha, sigma)
        assert at_5 == pytest.approx(1 - stats.norm.pdf(5.0) / density, abs=1e-9)
        np.testing.assert_allclose(student_t.outlier_probability(100 * z, alpha, 1e4 * sigma), p, atol=1e-12)
    assert student_t.outlier_probability([1e300, -1e300], 0.5, 1.0).tolist() == [1, 1]


def test_first_order_coefficient_is_the_papers():
    assert_allclose(
        student_t.first_order_variance(1.0, 1.0, 0.1) / student_t.prognostic_variance(1.0, 1.0),
        1 - 0.1 * b(1.0),
        rtol=1e-14,
    )
