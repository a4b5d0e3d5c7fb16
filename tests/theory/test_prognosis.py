"""Variances of the clean labels, the probability of a wrong one, and the share of them, on known truths."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq
from scipy.special import erfcx

from levelhead.theory import prognosis
from levelhead.theory.special import A, b

SCRIPT = Path(__file__).parents[2] / "docs/tables/estimation_bias.py"
ALPHA = np.geomspace(0.05, 50, 31)


@pytest.fixture(scope="module")
def simulation():
    """The script that measures the biases for the manual, as a module."""
    spec = importlib.util.spec_from_file_location("estimation_bias", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quadratic_share(s):
    """E[y²/(2s² + y²)] for y ~ N(0, 1)."""
    return 1 - np.sqrt(np.pi) * s * erfcx(s)


def test_prognostic_variance_recovers_a_gaussian():
    """σ solves H = 0 on clean labels of variance 2.5 for a given α; the variance must come back."""
    for alpha in (0.3, 1.0, 7.0):
        root = brentq(lambda s, a=alpha: (2 * a + 1) * quadratic_share(s) - 1, 1e-6, 100, xtol=1e-15)
        assert_allclose(prognosis.prognostic_variance(alpha, 2.5 * root**2), 2.5, rtol=1e-10)


def test_far_variance_is_exact_for_far_outliers():
    """H = 0 with a share ε of outliers at infinity: (1−ε)E[αz²−σ)/(2σ+z²)] + εα = 0."""
    epsilon, variance = 0.1, 1.7
    for alpha in (0.3, 1.0, 3.0):
        h = lambda s, a=alpha: (1 - epsilon) * ((a + 0.5) * quadratic_share(s) - 0.5) + epsilon * a
        root = brentq(h, 1e-6, 100, xtol=1e-15)
        assert_allclose(prognosis.far_variance(alpha, variance * root**2, epsilon), variance, rtol=1e-10)


def test_corrections_share_their_expansion():
    sigma = np.ones_like(ALPHA)
    v = prognosis.prognostic_variance(ALPHA, sigma)
    gaps = []
    for epsilon in (1e-5, 1e-6):
        far = prognosis.far_variance(ALPHA, sigma, epsilon)
        first = prognosis.first_order_variance(ALPHA, sigma, epsilon)
        assert_allclose(first, v * (1 - 2 * ALPHA / A(ALPHA) * epsilon), rtol=1e-12)
        gaps.append(np.abs(far - first) / v)
    assert_allclose(np.log10(gaps[0] / gaps[1]), 2, atol=0.05)  # they differ by O(ε²)
    assert_allclose(prognosis.far_variance(ALPHA, sigma, 0.0), v, rtol=0)


def test_order_of_the_variances():
    sigma = np.ones_like(ALPHA)
    student = prognosis.student_variance(ALPHA, sigma)
    prognostic = prognosis.prognostic_variance(ALPHA, sigma)
    assert (student > prognostic).all()
    assert (student[ALPHA <= 1] == np.inf).all()
    finite = prognosis.student_variance(ALPHA, sigma, finite=True)
    assert np.isfinite(finite).all()
    assert_allclose(finite[ALPHA > 1.1], student[ALPHA > 1.1], rtol=0)
    assert (prognosis.far_variance(ALPHA, sigma, 0.005) < prognostic).all()


@pytest.mark.parametrize("function", [prognosis.first_order_variance, prognosis.far_variance])
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
        prognosis.far_variance(*arguments)


def test_outlier_probability_starts_where_the_densities_cross():
    z = np.linspace(0, 12, 4801)
    for alpha in (0.1, 0.5, 2.0, 1e3):
        sigma = A(alpha) * 0 + (alpha - A(alpha))  # so that V_p = 1
        p = prognosis.outlier_probability(z, np.full_like(z, alpha), np.full_like(z, sigma))
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p) >= 0).all()
        assert 2.14 < z[np.argmax(p > 0)] < 2.44
        density = stats.t.pdf(5.0, 2 * alpha, scale=np.sqrt(sigma / alpha))
        at_5 = prognosis.outlier_probability(5.0, alpha, sigma)
        assert at_5 == pytest.approx(1 - stats.norm.pdf(5.0) / density, abs=1e-9)
    assert prognosis.outlier_probability([1e300, -1e300], 0.5, 1.0).tolist() == [1, 1]


MEASURED = {  # largest bias of the fitted variance, and of ε̂, that is granted at ε = 0, 0.01, 0.05, 0.2
    "Gaussian, sd 10": (0.05, (0.004, 0.004, 0.006, 0.02)),
    "uniform, −8 to 32": (0.05, (0.004, 0.004, 0.006, 0.02)),
    "Student, 2 dof, scale 5": (0.10, (0.004, 0.006, 0.015, 0.05)),
    "cluster at 8, sd 0.5": (0.05, (0.004, 0.004, 0.004, 0.004)),
    "near cluster at 5, sd 1": (0.12, (0.004, 0.015, 0.045, 0.09)),
}


@pytest.mark.parametrize("n", [200, 1000, 10_000])
@pytest.mark.parametrize("kind", MEASURED)
def test_biases_by_simulation(simulation, kind, n):
    of_variance, of_epsilon = MEASURED[kind]
    draws = {200: 12, 1000: 8, 10_000: 4}[n]
    for share, granted in zip(simulation.SHARES, of_epsilon, strict=True):
        row = simulation.measure(kind, n, share, draws)
        noise = 3 / np.sqrt(draws)
        assert abs(row["ε̂ − ε"]) < granted + noise * row["sd of ε̂ − ε"], (share, row)
        assert abs(row["fitted"]) < of_variance + noise * 1.6 / np.sqrt(n), (share, row)
        if share == 0:
            assert row["ε̂ − ε"] < 0.01


def test_clean_labels_stay_clean():
    """At ε = 0 and n = 1,000 no draw may invent more than one per cent of outliers."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        estimate = prognosis.estimate_contamination(rng.normal(size=1000), 1e4, 1e4)
        assert estimate.epsilon <= 0.01


def test_standard_error_covers_the_truth(simulation):
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(60):
        y, _ = simulation.draw(rng, "Gaussian, sd 10", 1000, 0.1)
        fitted = simulation.fit(y)
        estimate = prognosis.estimate_contamination(y - fitted.m, fitted.alpha, fitted.sigma)
        errors.append((estimate.epsilon - 0.1) / estimate.standard_error)
    assert 0.6 < np.std(errors) < 1.2


def test_posterior_probability_is_calibrated(simulation):
    """Among labels given a probability near p, a share near p is wrong, also where both overlap."""
    rng = np.random.default_rng(8)
    n, share = 40_000, 0.2
    y, epsilon = simulation.draw(rng, "Gaussian, sd 10", n, share)
    wrong = np.arange(n) < epsilon * n
    fitted = simulation.fit(y)
    z = y - fitted.m
    estimate = prognosis.estimate_contamination(z, fitted.alpha, fitted.sigma)
    p = estimate.probability(z, fitted.alpha, fitted.sigma)
    assert p.sum() / n == pytest.approx(share, abs=0.01)
    for low, high in [(0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)]:
        group = (p >= low) & (p < high)
        assert group.sum() > 100
        assert wrong[group].mean() == pytest.approx(p[group].mean(), abs=0.05)


def test_estimate_uses_the_local_parameters():
    """Noise that depends on x must not look like wrong labels once it is divided out."""
    rng = np.random.default_rng(2)
    scale = np.exp(rng.normal(size=5000))
    z = scale * rng.normal(size=5000)
    alpha = np.full(5000, 1e4)
    told = prognosis.estimate_contamination(z, alpha, 1e4 * scale**2)
    untold = prognosis.estimate_contamination(z, alpha, 1e4 * np.full(5000, scale.mean() ** 2))
    assert told.epsilon < 0.01
    assert told.variance_ratio == pytest.approx(1, abs=0.05)
    assert untold.epsilon > 0.05


def test_estimate_is_equivariant_and_repeatable():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=950), rng.uniform(-20, 40, 50)])
    one = prognosis.estimate_contamination(z, 1.0, 0.6)
    other = prognosis.estimate_contamination(1e6 * z[::-1], 1.0, 0.6e12)
    assert other.epsilon == pytest.approx(one.epsilon, rel=1e-9)
    assert other.variance_ratio == pytest.approx(one.variance_ratio, rel=1e-9)


def test_known_epsilon_is_kept():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=900), rng.normal(0, 10, 100)])
    estimate = prognosis.estimate_contamination(z, 1.0, 0.6, epsilon=0.1)
    assert estimate.epsilon == pytest.approx(0.1)
    assert estimate.standard_error == 0
    assert estimate.clean_variance(1.0, 0.6) == pytest.approx(1, abs=0.12)


def test_absurd_labels_do_no_harm():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=990), np.full(10, 1e300)])
    estimate = prognosis.estimate_contamination(z, 1.0, 0.6)
    assert estimate.epsilon == pytest.approx(0.01, abs=0.004)
    p = estimate.probability(z, 1.0, 0.6)
    assert (p[-10:] == 1).all()
    assert np.isfinite(p).all()


@pytest.mark.parametrize(
    ("z", "options", "message"),
    [
        (np.zeros(5), {}, "5 residuals cannot tell"),
        (np.zeros(50), {}, "exactly 0"),
        ([np.nan] * 2 + [1.0] * 20, {}, "2 residuals are not finite"),
        (np.ones(20), {"epsilon": 1.5}, r"epsilon is 1\.5"),
    ],
)
def test_hopeless_residuals_are_refused(z, options, message):
    with pytest.raises(ValueError, match=message):
        prognosis.estimate_contamination(z, 1.0, 1.0, **options)


def test_first_order_coefficient_is_the_papers():
    assert_allclose(
        prognosis.first_order_variance(1.0, 1.0, 0.1) / prognosis.prognostic_variance(1.0, 1.0),
        1 - 0.1 * b(1.0),
        rtol=1e-14,
    )
