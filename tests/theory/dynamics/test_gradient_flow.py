"""The field against brute force, the flow against its invariant, its symmetries and its resting point."""

import doctest
import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from levelhead import losses
from levelhead.theory.dynamics import contaminated, field, flow, gradient_flow, risk
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation, Mixture
from levelhead.theory.dynamics.equilibria import equilibrium
from levelhead.theory.dynamics.populations import Gaussian, Point, Sample, Student, Uniform
from levelhead.theory.special import delta_psi

TRUTH = Gaussian(0.3, 1.7)
WIDE = ContaminatedPopulation(0.05, TRUTH, Gaussian(0.0, 100.0))


@pytest.mark.parametrize("module", [contaminated, gradient_flow])
def test_the_example_of_the_module(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def _brute_force(density, low, high, marks, m, alpha, sigma):
    """F, G, H by adaptive quadrature between many marks."""
    marks = np.unique(np.clip(np.concatenate([marks, m + np.sqrt(2 * sigma) * MARKS]), low, high))

    def integral(f):
        return sum(
            integrate.quad(lambda y: f(y - m) * density(y), a, b, epsabs=1e-14, epsrel=1e-13)[0]
            for a, b in pairwise(marks)
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        return (
            integral(lambda z: z / (2 * sigma + z * z)),
            integral(lambda z: np.log1p(z * z / (2 * sigma))),
            integral(lambda z: (alpha * z * z - sigma) / (2 * sigma + z * z)),
        )


MARKS = np.array([-1e4, -1e3, -100, -10, -3, -1, 0, 1, 3, 10, 100, 1e3, 1e4])
CASES = [
    (0.05, Gaussian(0.0, 100.0), stats.norm(0, 10).pdf, np.linspace(-100, 100, 41)),
    (0.20, Uniform(-4.0, 16.0), stats.uniform(-4, 20).pdf, np.array([-4.0, 16.0])),
    (0.40, Gaussian(1e6, 1.0), stats.norm(1e6, 1).pdf, 1e6 + np.linspace(-12, 12, 25)),
    (0.10, Student(3.0, 2.0, 5.0), stats.t(3, 2, 5).pdf, 2 + 5 * np.sinh(np.linspace(-16, 16, 65))),
]


@pytest.mark.parametrize(("epsilon", "outliers", "density", "marks"), CASES)
@pytest.mark.parametrize(("m", "alpha", "sigma"), [(0.0, 0.1, 1e-6), (1.1, 0.8, 0.4), (-0.5, 20.0, 40.0)])
def test_field_agrees_with_brute_force(epsilon, outliers, density, marks, m, alpha, sigma) -> None:
    truth = stats.norm(TRUTH.mean, np.sqrt(TRUTH.variance)).pdf
    clean_marks = TRUTH.mean + np.sqrt(TRUTH.variance) * np.linspace(-10, 10, 21)
    clean = _brute_force(truth, clean_marks[0], clean_marks[-1], clean_marks, m, alpha, sigma)
    wrong = _brute_force(density, marks[0], marks[-1], marks, m, alpha, sigma)
    F, G, H = ((1 - epsilon) * c + epsilon * w for c, w in zip(clean, wrong, strict=True))
    got = field(ContaminatedPopulation(epsilon, TRUTH, outliers), m, alpha, sigma)
    assert_allclose(got.F * np.sqrt(2 * sigma), F * np.sqrt(2 * sigma), rtol=0, atol=1e-11)
    assert_allclose(got.G, G + delta_psi(alpha), rtol=1e-11, atol=1e-11)
    assert_allclose(got.H, H, rtol=0, atol=1e-11 * max(1, alpha))


def test_field_of_a_sample_is_the_mean_gradient_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(3, 5, 200)
    p_c = ContaminatedPopulation(0.3, TRUTH, Sample(tuple(y)))
    m, nu, alpha, beta = 0.2, 0.7, 1.3, 0.9
    full = np.broadcast_to
    _, gradient = losses.student(y, *(full(v, y.shape) for v in (m, nu, alpha, beta)))
    clean = field(ContaminatedPopulation(0.0, TRUTH, Point(0.0)), m, alpha, beta * (nu + 1) / nu)
    both = field(p_c, m, alpha, beta * (nu + 1) / nu)
    wrong = [(w - 0.7 * c) / 0.3 for w, c in zip(both, clean, strict=True)]
    by_m, by_nu, by_alpha, by_beta = (g.mean() for g in gradient)
    assert_allclose(by_m, -(2 * alpha + 1) * wrong[0], rtol=1e-12)  # eq. (12)
    assert_allclose(by_alpha, wrong[1], rtol=1e-12)  # eq. (13)
    assert_allclose([by_beta, by_nu], [-wrong[2] / beta, wrong[2] / (nu * (nu + 1))], rtol=1e-12)  # eq. (14)


def test_field_is_the_slope_of_the_risk() -> None:
    at, h = {"m": 0.4, "alpha": 0.9, "sigma": 1.2}, 1e-3

    def slope(name: str) -> float:
        r = [risk(WIDE, **{**at, name: at[name] + k * h}) for k in (-2, -1, 1, 2)]
        return (r[0] - 8 * r[1] + 8 * r[2] - r[3]) / (12 * h)

    F, G, H = field(WIDE, **at)
    assert_allclose(slope("m"), -(2 * at["alpha"] + 1) * F, rtol=1e-9)
    assert_allclose(slope("alpha"), G, rtol=1e-9)
    assert_allclose(slope("sigma"), -H / at["sigma"], rtol=1e-9)


def test_field_broadcasts_like_numpy() -> None:
    alpha, sigma = np.geomspace(0.1, 10, 7)[:, None], np.geomspace(1e-3, 1e3, 50)
    got = field(WIDE, 0.1, alpha, sigma)
    assert got.G.shape == (7, 50)
    one = field(WIDE, 0.1, alpha[4, 0], sigma[9])
    assert_allclose([got.F[4, 9], got.G[4, 9], got.H[4, 9]], one, rtol=1e-13)


@pytest.mark.parametrize("sigma", [1e-20, 1e-8, 1e8, 1e20])
def test_field_has_its_limits_for_tiny_and_huge_sigma(sigma: float) -> None:
    got = field(WIDE, 0.2, 2.0, sigma)
    if sigma < 1:  # every label is far: H → α, and G grows like −ln 2σ
        assert_allclose(got.H, 2.0, atol=4 * np.sqrt(sigma))
        expected = field(WIDE, 0.2, 2.0, sigma * 4).G + np.log(4)
        assert_allclose(got.G, expected, atol=4 * np.sqrt(sigma))
    else:  # every label is near, and the first moments of z are left
        V = WIDE.whole.variance + (WIDE.whole.mean - 0.2) ** 2
        assert_allclose(got.F * 2 * sigma, WIDE.whole.mean - 0.2, rtol=1e-5)
        assert_allclose(got.H, -0.5 + 2.5 * V / (2 * sigma), rtol=1e-12)


def test_flow_keeps_its_invariant_and_comes_to_rest_at_the_equilibrium() -> None:
    p_c = ContaminatedPopulation(0.2, TRUTH, Mixture((0.5, 0.5), (Point(9.0), Uniform(-20.0, 5.0))))
    path = flow(p_c, m=4.0, nu=1.0, alpha=0.3, beta=2.0, times=np.linspace(0, 400, 30))
    invariant = path.beta**2 / 2 + path.nu**3 / 3 + path.nu**2 / 2  # (14): ββ̇ + ν(ν+1)ν̇ = 0
    assert_allclose(invariant, invariant[0], rtol=1e-7)
    rest = equilibrium(p_c)
    assert_allclose([path.m[-1], path.alpha[-1], path.sigma[-1]], rest[:3], rtol=1e-6)
    falling = [risk(p_c, m, a, s) for m, a, s in zip(path.m, path.alpha, path.sigma, strict=True)]
    assert np.all(np.diff(falling) < 1e-9)


def test_sigma_moves_by_equation_18() -> None:
    path = flow(WIDE, m=0.0, nu=0.8, alpha=1.0, beta=0.5, times=np.linspace(0, 1e-3, 5))
    nu, sigma = path.nu[2], path.sigma[2]
    H = field(WIDE, path.m[2], path.alpha[2], sigma).H
    slope = (path.sigma[0] - 8 * path.sigma[1] + 8 * path.sigma[3] - path.sigma[4]) / (12 * 2.5e-4)
    assert_allclose(slope, ((nu + 1) ** 2 / (nu**2 * sigma) + sigma / ((nu + 1) ** 2 * nu**2)) * H, rtol=1e-4)


def test_without_outliers_alpha_grows_without_bound() -> None:
    clean = ContaminatedPopulation(0.0, TRUTH, Point(0.0))
    path = flow(clean, m=1.0, nu=1.0, alpha=1.0, beta=1.0, times=[0, 10, 100, 1000])
    assert np.all(np.diff(path.alpha) > 0)
    assert_allclose(path.m[-1], TRUTH.mean, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: field(WIDE, 0.0, [1.0, -1.0], 1.0), "alpha must be positive and finite; 1 values are not"),
        (lambda: field(WIDE, np.inf, 1.0, 1.0), "m must be finite"),
        (lambda: flow(WIDE, m=0, nu=0, alpha=1, beta=1, times=[0, 1]), "nu must be positive"),
        (lambda: flow(WIDE, m=0, nu=1, alpha=1, beta=1, times=[1, 0]), "increasing"),
    ],
)
def test_nonsense_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
