"""Equilibria are found without a starting value, are minima of the risk, and behave as the paper says."""

import doctest

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from levelhead.theory.dynamics import equilibria, field, risk
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation, Mixture
from levelhead.theory.dynamics.equilibria import equilibrium
from levelhead.theory.dynamics.populations import Gaussian, Point, Population, Sample, Student, Uniform
from levelhead.theory.special import alpha_minus_A

TRUTH = Gaussian(0.0, 1.0)
OUTLIERS: dict[str, Population] = {
    "sd 10": Gaussian(0.0, 100.0),
    "sd 2": Gaussian(0.0, 4.0),
    "sd a million": Gaussian(0.0, 1e12),
    "cluster": Gaussian(30.0, 0.01),
    "uniform": Uniform(-4.0, 16.0),
    "student 3": Student(3.0, 0.0, 3.0),
    "cauchy": Student(1.0, 0.0, 1.0),
    "no mean": Student(0.5, 2.0, 3.0),
    "far point": Point(1e6),
    "mixture": Mixture((0.3, 0.7), (Point(-6.0), Uniform(2.0, 20.0))),
    "sample": Sample(tuple(np.random.default_rng(0).normal(5, 5, 50))),
}
SHARES = [1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4]


def test_the_example_of_the_module() -> None:
    assert doctest.testmod(equilibria).failed == 0


@pytest.mark.parametrize("epsilon", SHARES)
@pytest.mark.parametrize("kind", OUTLIERS)
def test_equilibrium_is_a_minimum_of_the_risk_where_the_field_vanishes(kind: str, epsilon: float) -> None:
    p_c = ContaminatedPopulation(epsilon, TRUTH, OUTLIERS[kind])
    rest = equilibrium(p_c)
    F, G, H = field(p_c, *rest)
    assert abs(F) * np.sqrt(2 * rest.sigma) < 1e-13
    assert abs(G) < 1e-13 * (1 + 1 / rest.alpha)
    assert abs(H) < 1e-13
    assert abs(rest.m) < 0.5  # near the truth, not between truth and outliers
    here = risk(p_c, *rest)
    for direction in np.random.default_rng(2).normal(size=(8, 3)):
        step = 1e-2 * direction / np.linalg.norm(direction)
        moved = (rest.m + step[0] * np.sqrt(2 * rest.sigma), *np.exp(step[1:]) * rest[1:])
        assert risk(p_c, *moved) > here


@pytest.mark.parametrize(("epsilon", "outliers"), [(0.05, Gaussian(0.0, 100.0)), (0.2, Uniform(-4.0, 16.0))])
def test_a_general_minimiser_finds_the_same(epsilon: float, outliers: Population) -> None:
    p_c = ContaminatedPopulation(epsilon, TRUTH, outliers)
    found = minimize(
        lambda x: risk(p_c, x[0], *np.exp(x[1:])),
        [0.5, -0.5, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000},
    )
    rest = equilibrium(p_c)
    assert_allclose([found.x[0], *np.exp(found.x[1:])], rest[:3], rtol=2e-6, atol=2e-7)


def test_equilibrium_moves_and_stretches_with_the_labels() -> None:
    rest = equilibrium(ContaminatedPopulation(0.1, Gaussian(0.0, 1.0), Uniform(-4.0, 16.0)))
    c, k = 1e6, 1e-3
    moved = equilibrium(ContaminatedPopulation(0.1, Gaussian(c, k**2), Uniform(c - 4 * k, c + 16 * k)))
    # A label near 1e6 is known to 1e-10, which is 1e-7 of the noise.
    assert_allclose([(moved.m - c) / k, moved.alpha, moved.sigma / k**2], rest[:3], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "V_p", "V_far", "first_order"), [(0.05, 0.21, -0.05, -0.06), (0.2, 0.94, -0.16, -0.36)]
)
def test_population_errors_of_the_variances(epsilon, V_p, V_far, first_order) -> None:
    rest = equilibrium(ContaminatedPopulation(epsilon, TRUTH, OUTLIERS["sd 10"]))
    assert rest.V_p - 1 == pytest.approx(V_p, abs=0.005)
    alpha_far = rest.alpha / (1 - epsilon * (2 * rest.alpha + 1))
    assert rest.sigma / alpha_minus_A(alpha_far) - 1 == pytest.approx(V_far, abs=0.005)
    A = rest.alpha - alpha_minus_A(rest.alpha)
    assert (1 - 2 * rest.alpha / A * epsilon) * rest.V_p - 1 == pytest.approx(first_order, abs=0.005)


def test_a_cluster_has_two_minima_and_the_one_near_the_truth_is_found() -> None:
    p_c = ContaminatedPopulation(0.2, TRUTH, Point(8.0))
    assert p_c.kurtosis < 3  # so that the Gaussian fit at α = ∞ is a minimum too
    rest = equilibrium(p_c)
    assert rest.m < 0.1
    assert rest.alpha < 0.6
    whole = p_c.whole
    gaussian = risk(p_c, whole.mean, 1e7, 1e7 * whole.variance)
    less = risk(p_c, whole.mean, 1e3, 1e3 * whole.variance)
    assert gaussian < less
    assert risk(p_c, *rest) < gaussian


def test_a_pocket_below_one_half_is_not_missed() -> None:
    # The minimum and the ridge behind it both lie below or near α = ½ for this share.
    epsilons = np.linspace(0.30, 0.39, 10)
    alphas = []
    for epsilon in epsilons:
        try:
            alphas.append(equilibrium(ContaminatedPopulation(epsilon, TRUTH, Point(8.0))).alpha)
        except ValueError:
            break
    assert len(alphas) >= 5
    assert np.all(np.array(alphas) < 0.55)
    # Once lost with growing share, it does not come back.
    for epsilon in epsilons[len(alphas) :]:
        with pytest.raises(ValueError, match="no finite equilibrium"):
            equilibrium(ContaminatedPopulation(epsilon, TRUTH, Point(8.0)))


@pytest.mark.parametrize(
    ("epsilon", "outliers", "kurtosis"),
    [
        (0.4, Point(8.0), 1.23),
        (0.2, Point(3.0), 2.17),
        (0.4, Uniform(-4.0, 4.0), 2.98),
        (1e-3, Point(2.3), 3.0),
    ],
)
def test_no_finite_equilibrium_is_an_error(epsilon: float, outliers: Population, kurtosis: float) -> None:
    p_c = ContaminatedPopulation(epsilon, TRUTH, outliers)
    assert p_c.kurtosis == pytest.approx(kurtosis, abs=0.01)
    with pytest.raises(ValueError, match="no finite equilibrium up to α = 1e\\+08: the labels have kurtosis"):
        equilibrium(p_c)


def test_a_heavy_label_amid_the_truth_makes_the_fit_contract() -> None:
    p_c = ContaminatedPopulation(0.33, TRUTH, Point(0.1))
    assert p_c.kurtosis > 3
    with pytest.raises(ValueError, match="the fit contracts to σ = 0 onto a single label near 0"):
        equilibrium(p_c)
    assert equilibrium(ContaminatedPopulation(0.05, TRUTH, Point(0.1))).alpha > 1  # a light one does no harm


def test_narrow_outliers_far_away_are_resolved() -> None:
    # Their width is 1e-9 of their distance from the truth.
    narrow = equilibrium(ContaminatedPopulation(0.05, Gaussian(1000.0, 0.03), Student(9.0, 47.0, 1e-6)))
    point = equilibrium(ContaminatedPopulation(0.05, Gaussian(1000.0, 0.03), Point(47.0)))
    assert_allclose(narrow[:3], point[:3], rtol=1e-9)


def test_without_outliers_there_is_none() -> None:
    with pytest.raises(ValueError, match="ε = 0: without outliers"):
        equilibrium(ContaminatedPopulation(0.0, TRUTH, Point(8.0)))


def test_a_rare_point_is_seen_from_the_root_of_C_go_on() -> None:
    edge = np.sqrt(3 + np.sqrt(6))  # 2.33 standard deviations: d⁴ − 6d² + 3 = 0
    assert equilibrium(ContaminatedPopulation(1e-4, TRUTH, Point(edge + 0.02))).alpha > 1e4
    with pytest.raises(ValueError, match="no finite equilibrium"):
        equilibrium(ContaminatedPopulation(1e-4, TRUTH, Point(edge - 0.02)))
