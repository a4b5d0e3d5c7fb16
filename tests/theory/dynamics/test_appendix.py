"""What the paper's appendices claim beyond the theorems, and their misprints, each shown by numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, root

from levelhead.theory.dynamics import (
    ContaminatedPopulation,
    Gaussian,
    Mixture,
    Point,
    Uniform,
    equilibrium,
    field,
)
from levelhead.theory.dynamics.expansions import b_0, b_1
from levelhead.theory.special import alpha_minus_A, b

TRUTH = Gaussian(0.5, 2.0)
_X, _W = np.polynomial.legendre.leggauss(400)
_HERMITE, _WEIGHT = np.polynomial.hermite_e.hermegauss(120)
_WEIGHT = _WEIGHT / _WEIGHT.sum()


# ---------------------------------------------------------------------- Lemma C.1, item 2: wide outliers


def uneven(s: float) -> Mixture:
    """Mean 0, not symmetric, density bounded: width s."""
    return Mixture((0.75, 0.25), (Uniform(-1.75 * s, 0.25 * s), Uniform(0.25 * s, 4.25 * s)))


def shift_of_the_mean(outliers, alpha: float = 0.7, sigma: float = 0.8, epsilon: float = 0.2) -> float:
    p_c = ContaminatedPopulation(epsilon, TRUTH, outliers)
    low, high = TRUTH.mean - 1, TRUTH.mean + 1
    return brentq(lambda m: float(field(p_c, m, alpha, sigma).F), low, high, xtol=1e-15) - TRUTH.mean


@pytest.mark.parametrize(
    ("outliers", "exponent"),
    [(uneven, 0.5), (lambda s: Gaussian(3.0, s * s), 1.0), (lambda s: Uniform(3 - s, 3 + s), 1.0)],
    ids=["uneven", "gaussian", "uniform"],
)
def test_wide_outliers_move_the_mean_by_at_most_the_root_of_their_variance(outliers, exponent) -> None:
    """m_p − m_g = O(V_o^(−½)): the rate ½ is reached, and symmetric outliers have the rate 1."""
    near, far = (abs(shift_of_the_mean(outliers(s))) for s in (1e4, 1e5))
    assert np.log(near / far) / np.log(1e2) == pytest.approx(exponent, abs=0.05)  # V_o grows by 100


def test_item_2_needs_a_density_that_is_bounded_near_0() -> None:
    """Half of the outliers at one place, the rest wide: V_o → ∞, but the mean stays where it is."""
    shifts = [shift_of_the_mean(Mixture((0.5, 0.5), (Point(2.5), Gaussian(2.5, s * s)))) for s in (1e3, 1e5)]
    assert shifts[1] > 0.05
    assert_allclose(*shifts, rtol=1e-2)


# ---------------------------------------------------------------------- every (α, σ) is an equilibrium of some labels


def realised(alpha: float, sigma: float) -> ContaminatedPopulation:
    """Labels with this equilibrium: outliers at ±d, and the variance of the truth from H = 0."""
    epsilon = 0.2 / (2 * alpha + 1)

    def at(log_d: float) -> ContaminatedPopulation:
        d = np.exp(log_d)

        def of(log_v: float) -> ContaminatedPopulation:
            outliers = Mixture((0.5, 0.5), (Point(-d), Point(d)))
            return ContaminatedPopulation(epsilon, Gaussian(0.0, float(np.exp(log_v))), outliers)

        middle = np.log(sigma / alpha_minus_A(alpha))
        return of(brentq(lambda v: float(field(of(v), 0.0, alpha, sigma).H), middle - 40, middle + 40))

    def gap(log_d: float) -> float:
        return float(field(at(log_d), 0.0, alpha, sigma).G)

    distances = np.log(sigma) / 2 + np.linspace(0.5, 40, 80)
    first = next(k for k, d in enumerate(distances) if gap(d) > 0)
    return at(brentq(gap, distances[first] - 0.5, distances[first], xtol=1e-12))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e4])
def test_any_alpha_and_sigma_are_the_equilibrium_of_some_labels(alpha: float, sigma: float) -> None:
    p_c = realised(alpha, sigma)
    assert 0 < p_c.epsilon < 0.5
    found = equilibrium(p_c)
    assert_allclose([found.alpha, found.sigma], [alpha, sigma], rtol=1e-7)
    assert abs(found.m) < 1e-6 * np.sqrt(sigma)


# ---------------------------------------------------------------------- Theorem 3.1: only one equilibrium


def sign_changes(p_c: ContaminatedPopulation, alphas: np.ndarray) -> list[float]:
    """α where G changes its sign on the curve H = 0; with symmetric outliers m is the mean of the truth."""
    m = p_c.truth.mean

    def slope(alpha: float) -> float:
        log_sigma = brentq(lambda s: float(field(p_c, m, alpha, np.exp(s)).H), -15, 15 + np.log(alpha + 1))
        return float(field(p_c, m, alpha, np.exp(log_sigma)).G)

    slopes = np.array([slope(alpha) for alpha in alphas])
    return [float(alphas[k]) for k in np.flatnonzero(np.diff(np.sign(slopes)))]


@pytest.mark.parametrize("outliers", [Gaussian(0.5, 20.0), Uniform(-4.5, 5.5)], ids=["gaussian", "uniform"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-2])
def test_a_scan_finds_one_equilibrium(outliers, epsilon: float) -> None:
    p_c = ContaminatedPopulation(epsilon, TRUTH, outliers)
    alphas = np.geomspace(0.05, 3e3, 40)
    [found] = sign_changes(p_c, alphas)
    assert found <= equilibrium(p_c).alpha <= found * (alphas[1] / alphas[0])


@pytest.mark.slow
def test_searches_from_random_points_find_one_equilibrium() -> None:
    p_c = ContaminatedPopulation(0.02, TRUTH, Gaussian(3.0, 4.0))
    rest = np.array(equilibrium(p_c))
    rng, found = np.random.default_rng(0), []
    for _ in range(10):
        start = [rng.normal(0.5, 2), *rng.uniform(-2, 5, size=2)]
        solved = root(
            lambda v: [float(part) for part in field(p_c, v[0], *np.exp(np.clip(v[1:], -20, 20)))],
            start,
            tol=1e-13,
        )
        if max(abs(solved.fun)) < 1e-11 and np.all(np.abs(solved.x[1:]) < 10):
            found.append([solved.x[0], *np.exp(solved.x[1:])])
    assert len(found) >= 3
    assert_allclose(found, np.tile(rest, (len(found), 1)), rtol=1e-2)


# ---------------------------------------------------------------------- misprints of Appendix D

ALPHA, SIGMA, V_O, EPSILON, MU = 0.8, 0.9, 4.0, 0.3, 0.1
V_P = float(SIGMA / alpha_minus_A(ALPHA))


def outlier_mean(f) -> float:
    """E f(y) for a uniform density of mean 0 and variance 1, the paper's p̃_o."""
    y = np.sqrt(3) * _X
    return float(np.sum(_W * f(y)) / 2)


def m_o(epsilon: float, mu: float) -> float:
    return float(np.sqrt(2 * SIGMA) * np.exp(b_1(ALPHA) / 2) * np.exp(b_0(ALPHA) / (2 * epsilon)) * (1 + mu))


def H_tilde(epsilon: float, mu: float, V_g: float = 1.3) -> float:
    def far(z):
        return z**2 / (2 * SIGMA + z**2)

    truth = float(np.sum(_WEIGHT * far(np.sqrt(V_g) * _HERMITE)))
    outliers = outlier_mean(lambda y: far(np.sqrt(V_O) * y + m_o(epsilon, mu)))
    return (2 * ALPHA + 1) * ((1 - epsilon) * truth + epsilon * outliers) - 1


def slope_of_far() -> float:
    """The integral in the paper's ∂_μH̃ and ∂_εH̃."""

    def f(y):
        z = np.sqrt(V_O) * y + m_o(EPSILON, MU)
        return z / SIGMA / (1 + z**2 / (2 * SIGMA)) ** 2

    return outlier_mean(f)


def test_the_derivative_by_mu_has_a_factor_that_the_paper_lacks() -> None:
    h = 1e-6
    measured = (H_tilde(EPSILON, MU + h) - H_tilde(EPSILON, MU - h)) / (2 * h)
    printed = EPSILON / (1 + MU) * slope_of_far()
    assert_allclose(measured, (2 * ALPHA + 1) * m_o(EPSILON, MU) * printed, rtol=1e-6)
    assert abs(measured / printed - 1) > 1


def test_the_derivative_by_epsilon_has_b_0_half() -> None:
    h, V_g = 1e-6, 1.3
    measured = (H_tilde(EPSILON + h, MU) - H_tilde(EPSILON - h, MU)) / (2 * h)
    z = np.sqrt(V_g) * _HERMITE
    truth = float(np.sum(_WEIGHT * z**2 / (2 * SIGMA + z**2)))
    near = outlier_mean(lambda y: 2 * SIGMA / (2 * SIGMA + (np.sqrt(V_O) * y + m_o(EPSILON, MU)) ** 2))
    rest = (2 * ALPHA + 1) * (1 - near - truth)
    last = (2 * ALPHA + 1) * m_o(EPSILON, MU) / EPSILON * slope_of_far()
    assert_allclose(measured, rest - float(b_0(ALPHA)) / 2 * last, rtol=1e-6)
    assert abs(measured - (rest - last)) > 1e-3 * abs(measured)


def test_the_expansion_of_G_g_has_twice_sigma() -> None:
    change = -0.05 * V_P * float(b(ALPHA))
    y2 = _HERMITE**2
    whole = np.sum(_WEIGHT * np.log1p((V_P + change) * y2 / (2 * SIGMA)))
    first = np.sum(_WEIGHT * np.log1p(V_P * y2 / (2 * SIGMA)))

    def second(divisor: float) -> float:
        return float(np.sum(_WEIGHT * np.log1p(change * y2 / divisor / (1 + V_P * y2 / (2 * SIGMA)))))

    assert_allclose(whole, first + second(2 * SIGMA), rtol=1e-12)
    assert abs(whole - first - second(SIGMA)) > 0.01


def test_f_4_has_the_width_and_the_density_of_the_outliers() -> None:
    scale = np.exp(-float(b_1(ALPHA)) / 2 - float(b_0(ALPHA)) / (2 * EPSILON))
    G_o = outlier_mean(lambda y: np.log1p((np.sqrt(V_O) * y + m_o(EPSILON, MU)) ** 2 / (2 * SIGMA)))

    def f_4(width: float):
        return lambda y: np.log(scale**2 + (width * y / np.sqrt(2 * SIGMA) * scale + 1 + MU) ** 2)

    left = float(b_1(ALPHA) + b_0(ALPHA) / EPSILON)
    assert_allclose(G_o, left + outlier_mean(f_4(np.sqrt(V_O))), rtol=1e-12)
    printed = np.sqrt(2 * np.pi) * np.sum(_WEIGHT * f_4(1.0)(_HERMITE))  # e^(−y²/2) dy, without √V_o
    assert abs(G_o - left - printed) > 0.01
