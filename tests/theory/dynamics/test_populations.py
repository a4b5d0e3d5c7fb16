"""Populations integrate to rounding, whatever the width of the peak, and know their moments."""

import doctest

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import wofz

from levelhead.theory.dynamics import populations
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation, Mixture
from levelhead.theory.dynamics.populations import (
    Gaussian,
    Point,
    Population,
    Sample,
    Student,
    Uniform,
    expect,
)

KINDS: dict[str, Population] = {
    "gaussian": Gaussian(0.5, 4.0),
    "uniform": Uniform(-4.0, 16.0),
    "student": Student(9.0, -1.0, 2.0),
    "point": Point(8.0),
    "sample": Sample((1.0, 2.5, -7.0, 30.0)),
    "mixture": Mixture((0.2, 0.3, 0.5), (Gaussian(3.0, 1.0), Uniform(0.0, 9.0), Student(12.0, -4.0, 1.0))),
}
WIDTHS = [1e-9, 1e-4, 0.1, 1.0, 3.0, 30.0, 1e5]


def test_the_example_of_the_module() -> None:
    assert doctest.testmod(populations).failed == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shift", [0.0, 0.3, 2.0, 9.0, 50.0, 1e6])
def test_gaussian_integrals_agree_with_the_faddeeva_function(width: float, shift: float) -> None:
    w = wofz((-shift + 1j * width) / np.sqrt(2))
    near = np.sqrt(np.pi / 2) * width * w.real
    pull = -np.sqrt(np.pi / 2) * width * w.imag
    outliers = Gaussian(shift, 1.0)
    assert_allclose(expect(outliers, lambda z: 1 / (1 + (z / width) ** 2), 0.0, width), near, rtol=1e-14)
    assert_allclose(
        expect(outliers, lambda z: z / width / (1 + (z / width) ** 2), 0.0, width),
        pull,
        rtol=1e-13,
        atol=1e-16,
    )


@pytest.mark.parametrize("width", [1e-6, 0.1, 30.0])
@pytest.mark.parametrize("shift", [0.0, 2.0, 50.0])
def test_gaussian_logarithm_agrees_with_mpmath(width: float, shift: float) -> None:
    marks = np.concatenate([shift + np.arange(-12, 13), width * np.array([-100, -10, -1, 0, 1, 10, 100])])
    marks = np.unique(np.clip(marks, shift - 12, shift + 12)).tolist()
    with mpmath.workdps(30):
        reference = mpmath.quad(
            lambda y: mpmath.log1p((y / mpmath.mpf(width)) ** 2) * mpmath.npdf(y, shift, 1), marks
        )
    got = expect(Gaussian(shift, 1.0), lambda z: np.log1p((z / width) ** 2), 0.0, width)
    assert_allclose(got, float(reference), rtol=1e-14)


@pytest.mark.parametrize("dof", [0.3, 1.0, 3.0, 50.0, 300.0])
@pytest.mark.parametrize("width", [0.1, 5.0])
def test_student_logarithm_agrees_with_mpmath(dof: float, width: float) -> None:
    def integrand(u: mpmath.mpf) -> mpmath.mpf:
        y = mpmath.sinh(u)  # takes the polynomial tails to infinity
        density = (1 + (y - 1) ** 2 / (4 * mpmath.mpf(dof))) ** (-(dof + 1) / 2)
        return mpmath.log1p((y / mpmath.mpf(width)) ** 2) * density * mpmath.cosh(u)

    right = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 300]
    with mpmath.workdps(25):
        total = mpmath.quad(integrand, [-u for u in reversed(right)] + [0, *right])
        norm = mpmath.gamma((dof + 1) / 2) / mpmath.gamma(dof / 2) / mpmath.sqrt(mpmath.pi * dof) / 2
        reference = float(total * norm)
    got = expect(Student(dof, 1.0, 2.0), lambda z: np.log1p((z / width) ** 2), 0.0, width)
    assert_allclose(got, reference, rtol=2e-14)


@pytest.mark.parametrize("width", WIDTHS)
def test_uniform_logarithm_has_a_closed_form(width: float) -> None:
    def primitive(z: float) -> float:
        return z * np.log1p((z / width) ** 2) - 2 * z + 2 * width * np.arctan(z / width)

    got = expect(Uniform(-1.0, 4.0), lambda z: np.log1p((z / width) ** 2), 0.5, width)
    # The primitive cancels for large width, the quadrature does not.
    cancelled = 1e-15 * 10 / (5 * abs(float(got)))
    assert_allclose(got, (primitive(3.5) - primitive(-1.5)) / 5, rtol=1e-14 + cancelled)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_integrate_polynomials_to_the_moments(kind: str) -> None:
    population = KINDS[kind]
    central = [float(expect(population, lambda z, k=k: z**k, population.mean, 1.0)) for k in range(5)]
    scale = population.mu4**0.25 or 1.0
    expected = [1, 0, population.variance, population.mu3, population.mu4]
    for k in range(5):
        assert_allclose(central[k] / scale**k, expected[k] / scale**k, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_population(kind: str) -> None:
    population = KINDS[kind]
    y = population.sample(100_000, np.random.default_rng(3))
    se = np.sqrt(population.variance / y.size)
    assert abs(y.mean() - population.mean) <= 5 * se
    se_variance = np.sqrt((population.mu4 - population.variance**2) / y.size)
    assert abs(y.var() - population.variance) <= 5 * se_variance + 1e-9
    assert_allclose(y, population.sample(100_000, np.random.default_rng(3)), rtol=0)


def test_student_agrees_with_scipy_where_moments_exist_and_is_infinite_or_nan_elsewhere() -> None:
    t = Student(5.0, 1.0, 2.0)
    reference = stats.t(5, loc=1, scale=2)
    assert_allclose([t.mean, t.variance], reference.stats("mv"))
    assert_allclose(t.mu4 / t.variance**2 - 3, reference.stats("k"))
    assert Student(3.0, 0.0, 1.0).variance == pytest.approx(3)
    assert np.isnan(Student(3.0, 0.0, 1.0).mu3)
    assert Student(3.0, 0.0, 1.0).mu4 == np.inf
    assert Student(2.0, 0.0, 1.0).variance == np.inf
    assert np.isnan(Student(1.0, 0.0, 1.0).mean)
    heavy = Mixture((0.5, 0.5), (Gaussian(1.0, 1.0), Student(3.0, 0.0, 1.0)))
    assert heavy.mu4 == np.inf
    assert np.isnan(heavy.mu3)
    assert ContaminatedPopulation(0.1, Gaussian(0.0, 1.0), Student(3.0, 0.0, 1.0)).kurtosis == np.inf


def test_contaminated_samples_mark_the_outliers() -> None:
    p_c = ContaminatedPopulation(0.2, Gaussian(0.0, 1.0), Point(50.0))
    labels = p_c.sample(20_000, np.random.default_rng(0))
    assert np.array_equal(labels.y == 50.0, labels.is_outlier)
    assert labels.is_outlier.mean() == pytest.approx(0.2, abs=0.015)


def test_contamination_without_outliers_is_the_truth() -> None:
    truth = Gaussian(2.0, 3.0)
    p_c = ContaminatedPopulation(0.0, truth, Point(8.0))
    assert p_c.whole == truth
    assert p_c.kurtosis == pytest.approx(3)


def test_populations_are_values() -> None:
    assert Sample([1, 2]) == Sample((1.0, 2.0))  # type: ignore[arg-type]
    assert hash(Point(8.0)) == hash(Point(8.0))
    with pytest.raises(AttributeError):
        Point(8.0).values = (9.0,)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0, 0.0), "variance must be positive and finite, given 0"),
        (lambda: Gaussian(np.nan, 1.0), "mean must be finite"),
        (lambda: Uniform(2.0, 2.0), "high − low must be positive"),
        (lambda: Student(0.1, 0.0, 1.0), "dof ≥ 0.3"),
        (lambda: Sample(()), "at least one"),
        (lambda: Sample((1.0, np.inf, np.nan)), "2 labels that are not finite \\(first at 1\\)"),
        (lambda: Mixture((0.5, 0.6), (Point(0.0), Point(1.0))), "sum to 1"),
        (lambda: Mixture((1.0,), (Point(0.0), Point(1.0))), "1 shares for 2 components"),
        (lambda: ContaminatedPopulation(1.0, Gaussian(0.0, 1.0), Point(1.0)), "in \\[0, 1\\), given 1"),
    ],
)
def test_nonsense_is_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
