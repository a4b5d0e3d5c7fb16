"""The paper's theorems, shown by the rates at which their remainders vanish."""

import doctest

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, root
from scipy.special import expit

from levelhead.theory.dynamics import expansions, field
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation, Mixture
from levelhead.theory.dynamics.equilibria import equilibrium
from levelhead.theory.dynamics.expansions import (
    C_go,
    D_go,
    b_0,
    b_1,
    bifurcating_equilibrium,
    c_1,
    mean_error,
    mean_with_far_outliers,
    variance_ratio,
)
from levelhead.theory.dynamics.populations import Gaussian, Point, Population, Student, Uniform
from levelhead.theory.special import A, alpha_minus_A, b, delta_psi

TRUTH = Gaussian(0.5, 2.0)


def _slope(x, y) -> float:
    """The exponent p of y ~ xᵖ by the last points of a sequence."""
    return float(np.log(y[-1] / y[-2]) / np.log(x[-1] / x[-2]))


def test_the_example_of_the_module() -> None:
    assert doctest.testmod(expansions).failed == 0


SKEW: dict[str, Population] = {
    "gaussian": Gaussian(4.0, 1.5),
    "uniform": Uniform(-1.0, 6.0),
    "point": Point(5.0),
    "student": Student(12.0, 2.0, 1.5),
    "mixture": Mixture((0.4, 0.6), (Point(-3.0), Gaussian(4.0, 1.0))),
}


@pytest.mark.parametrize("kind", SKEW)
def test_C_go_and_D_go_are_slopes_of_cumulants(kind: str) -> None:
    h = 1e-6

    def cumulants(epsilon: float) -> tuple[float, float]:
        whole = ContaminatedPopulation(epsilon, TRUTH, SKEW[kind]).whole
        return whole.mu3, whole.mu4 - 3 * whole.variance**2

    third, fourth = cumulants(h)
    p_c = ContaminatedPopulation(h, TRUTH, SKEW[kind])
    assert_allclose(D_go(p_c), third / h, rtol=1e-3)
    assert_allclose(C_go(p_c), fourth / h, rtol=1e-3)


@pytest.mark.parametrize("kind", SKEW)
def test_theorem_3_1_by_its_rates(kind: str) -> None:
    epsilon = np.array([4e-5, 2e-5, 1e-5])
    cases = [ContaminatedPopulation(e, TRUTH, SKEW[kind]) for e in epsilon]
    exact = np.array([equilibrium(p_c) for p_c in cases])
    rough = np.array([bifurcating_equilibrium(p_c) for p_c in cases])
    error = np.abs(exact - rough)
    assert_allclose(rough[:, 1:] / exact[:, 1:], 1, atol=0.02)
    assert _slope(epsilon, error[:, 1]) == pytest.approx(0, abs=0.02)  # (22): the remainders stay bounded
    assert _slope(epsilon, error[:, 2]) == pytest.approx(0, abs=0.02)
    assert _slope(epsilon, error[:, 0]) == pytest.approx(3, abs=0.1)  # (21)


def test_theorem_3_1_without_its_second_order_term_has_rate_two() -> None:
    epsilon = np.array([2e-4, 1e-4])
    m = np.array([equilibrium(ContaminatedPopulation(e, TRUTH, SKEW["gaussian"])).m for e in epsilon])
    assert _slope(epsilon, np.abs(m - TRUTH.mean - 3.5 * epsilon)) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("function", [C_go, bifurcating_equilibrium])
def test_a_missing_fourth_moment_is_an_error(function) -> None:
    p_c = ContaminatedPopulation(0.01, TRUTH, Student(3.0, 0.0, 3.0))
    with pytest.raises(ValueError, match=r"moments of the outliers up to order 4, and Student\(dof=3\.0"):
        function(p_c)
    with pytest.raises(ValueError, match="D_go \\(20\\) needs the moments of the outliers up to order 3"):
        D_go(p_c)


def test_theorem_3_1_needs_C_go_positive() -> None:
    with pytest.raises(ValueError, match="needs C_go > 0"):
        bifurcating_equilibrium(ContaminatedPopulation(0.01, TRUTH, Point(2.5)))


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_lemma_C_1_by_its_rate(spread: float) -> None:
    sigma, distance = 0.7, np.array([1e2, 2e2, 4e2])
    error = []
    for d in distance:
        outliers = Gaussian(TRUTH.mean + d, spread) if spread else Point(TRUTH.mean + d)
        p_c = ContaminatedPopulation(0.3, TRUTH, outliers)
        m = brentq(lambda m, p=p_c: float(field(p, m, 1.0, sigma).F), 0.4, 0.7, xtol=1e-16)
        error.append(abs(m - mean_with_far_outliers(p_c, sigma)))
        assert error[-1] < 0.05 * (m - TRUTH.mean)
    assert _slope(distance, error) < -1.95


def test_c_1_at_the_prognostic_variance_has_a_closed_form() -> None:
    alpha, sigma = np.geomspace(1e-2, 1e2, 9), 1.3
    V_p = sigma / alpha_minus_A(alpha)
    assert_allclose(c_1(sigma, V_p), 1 / ((2 * alpha + 1) * V_p), rtol=1e-12)  # eq. (7)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0, 30.0])
def test_b_0_and_b_1_by_their_definitions(alpha: float) -> None:
    with mpmath.workdps(40):
        ratio = 1 / (2 * mpmath.mpf(float(alpha_minus_A(alpha))))  # V_p/(2σ)
        marks = [0, 0.01, 0.1, 0.5, 1, 2, 4, 8, 15]
        density = lambda y: 2 * mpmath.npdf(y)
        log = mpmath.quad(lambda y: mpmath.log1p(ratio * y * y) * density(y), marks)
        share = mpmath.quad(lambda y: ratio * y * y / (1 + ratio * y * y) * density(y), marks)
        psi = mpmath.digamma(alpha) - mpmath.digamma(mpmath.mpf(alpha) + 0.5)
        expected = float(-log - psi), float(log + 2 * alpha / float(A(alpha)) * share)
    # α − A enters b_0 only rounded to 1e-16, and what is left of it falls like α⁻³.
    assert_allclose(b_0(alpha), expected[0], rtol=1e-13 * (1 + alpha**2))
    assert_allclose(b_1(alpha), expected[1], rtol=1e-12)


def _outliers_for(alpha: float, sigma: float, epsilon: float) -> tuple[float, float]:
    """V_g/V_p and ln|m_g − m| for which (m, α, σ) is an equilibrium, with the outliers in one far point.

    Their distance d overflows for small ε, so the unknown is ln d, and F = 0 is solved by mpmath.
    """
    V_p = sigma / float(alpha_minus_A(alpha))
    log_error = np.nan

    def shift(V: float, log_d: float) -> mpmath.mpf:
        d = mpmath.exp(log_d)
        pull = epsilon * d / (2 * sigma + d * d)

        def F(k: mpmath.mpf) -> mpmath.mpf:
            zeta = (k / d + 1j * mpmath.sqrt(2 * sigma)) / mpmath.sqrt(2 * V)
            w = mpmath.exp(-(zeta**2)) * mpmath.erfc(-1j * zeta)
            return ((1 - epsilon) * mpmath.sqrt(mpmath.pi / (2 * V)) * w.imag + pull) * d

        return mpmath.findroot(F, (-epsilon, -10 * epsilon)) / d

    def residual(x: np.ndarray) -> list[float]:
        nonlocal log_error
        V, log_d = float(V_p * np.exp(x[0])), x[1] / (2 * epsilon)
        m_g = shift(V, log_d)
        log_error = float(mpmath.log(abs(m_g)))
        clean = field(ContaminatedPopulation(0.0, Gaussian(float(m_g), V), Point(0.0)), 0.0, alpha, sigma)
        log_far = 2 * log_d - np.log(2 * sigma)  # ln d²/(2σ)
        G = (1 - epsilon) * (clean.G - delta_psi(alpha)) + epsilon * np.logaddexp(0, log_far)
        H = (1 - epsilon) * clean.H + epsilon * ((alpha + 0.5) * expit(log_far) - 0.5)
        return [float(G + delta_psi(alpha)), float(H)]

    start = [np.log1p(-float(b(alpha)) * epsilon), float(b_0(alpha) + epsilon * b_1(alpha))]
    solved = root(residual, start, tol=1e-15)
    assert np.max(np.abs(residual(solved.x))) < 1e-14
    return float(np.exp(solved.x[0])), log_error


@pytest.mark.parametrize(("alpha", "sigma"), [(0.3, 1.0), (0.5, 1.3), (1.0, 0.2)])
def test_theorems_4_1_and_4_2_by_their_rates(alpha: float, sigma: float) -> None:
    epsilon = 0.02 * 2.0 ** -np.arange(5)
    with mpmath.workdps(400):
        ratio, log_error = np.array([_outliers_for(alpha, sigma, float(e)) for e in epsilon]).T
    # 4.1: exponentially close, at the rate b_0/2 and with the stated constant in front
    rate = np.diff(log_error - np.log(epsilon)) / np.diff(1 / epsilon)
    assert_allclose(rate[-1], -b_0(alpha) / 2, rtol=0.02)
    log_expected = (
        np.log(mean_error(alpha, sigma, 1.0)) + b_0(alpha) / 2 * (1 - 1 / epsilon) + np.log(epsilon)
    )
    off = np.abs(log_error - log_expected)
    assert _slope(epsilon, off) == pytest.approx(1, abs=0.1)
    assert off[-1] < 0.05
    # 4.2: first order to O(ε²), with the next term to O(ε³)
    first = np.abs(ratio - (1 - b(alpha) * epsilon))
    assert _slope(epsilon, first) == pytest.approx(2, abs=0.05)
    assert _slope(epsilon, np.abs(ratio - variance_ratio(alpha, epsilon))) == pytest.approx(3, abs=0.1)


def test_the_far_outlier_correction_is_exact_in_the_limit_of_theorem_4_2() -> None:
    alpha, sigma, epsilon = 0.5, 1.3, 0.01
    with mpmath.workdps(100):
        ratio, _ = _outliers_for(alpha, sigma, epsilon)
    alpha_far = alpha / (1 - epsilon * (2 * alpha + 1))
    assert_allclose(alpha_minus_A(alpha) / alpha_minus_A(alpha_far), ratio, rtol=1e-12)
