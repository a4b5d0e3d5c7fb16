"""The information matrix of Student's t, against quadrature and against a longer arithmetic."""

import doctest

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as scipy_t

from levelhead.theory import student
from levelhead.theory.special import delta_psi
from levelhead.theory.student import of_log_alpha, of_log_scale, student_information


def scores(z, alpha, s):
    """Derivatives of ln t by m, ln s and ln α, from Algorithm 2 with σ = αs²."""
    u = z * z / (2 * alpha * s * s)
    far = u / (1 + u)
    of_alpha = alpha * (delta_psi(alpha) + np.log1p(u)) + 0.5 - (alpha + 0.5) * far
    return (2 * alpha + 1) * z / (2 * alpha * s * s + z * z), (2 * alpha + 1) * far - 1, -of_alpha


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0, 12.9, 13.1, 60.0])
def test_it_is_the_expected_square_of_the_scores(alpha):
    s = 0.7
    v = np.linspace(
        -70, 70, 28_001
    )  # z = sinh v makes tails of any weight short; the trapezoidal rule is then exact
    z = np.sinh(v)
    mass = scipy_t(2 * alpha, scale=s).pdf(z) * np.cosh(v) * (v[1] - v[0])
    at = np.array(scores(z, alpha, s))
    expected = (at * mass) @ at.T
    assert_allclose(student_information(alpha, s), expected, rtol=1e-9, atol=1e-12)


def test_the_tail_part_is_accurate_where_its_terms_cancel():
    alpha = np.geomspace(1e-6, 1e8, 57)
    with mpmath.workdps(60):
        exact = []
        for value in map(mpmath.mpf, alpha.tolist()):
            trigammas = mpmath.zeta(2, value) - mpmath.zeta(2, value + mpmath.mpf(1) / 2)
            exact.append(
                float(value**2 * trigammas - value * (2 * value + 5) / ((2 * value + 1) * (2 * value + 3)))
            )
    assert_allclose(of_log_alpha(alpha), exact, rtol=5e-12)


def test_limits():
    assert_allclose(student_information(1e12, 2.0)[0, 0], 0.25)  # a Gaussian's 1/s² …
    assert_allclose(of_log_scale(1e12), 2.0)  # … and 2
    assert_allclose(of_log_alpha([1e-12, 1e6]), [1.0, 7 / 8e12], rtol=1e-5)


def test_it_is_positive_definite_for_arrays():
    matrices = student_information(np.geomspace(1e-3, 1e4, 40)[:, None], np.array([1e-3, 1.0, 1e3]))
    assert matrices.shape == (40, 3, 3, 3)
    assert_allclose(matrices, np.swapaxes(matrices, -1, -2))
    assert (np.linalg.det(matrices[..., 1:, 1:]) > 0).all()


@pytest.mark.parametrize(("alpha", "scale"), [(0.0, 1.0), (1.0, -1.0), (np.nan, 1.0)])
def test_what_is_no_distribution_is_refused(alpha, scale):
    with pytest.raises(ValueError, match="must be positive"):
        student_information(alpha, scale)


def test_the_example_in_the_docstring():
    assert doctest.testmod(student).failed == 0
