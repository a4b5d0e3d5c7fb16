"""The special functions against fifty-digit values, over twenty-four decades."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import erfcx

from levelhead.theory import special

TABLE = np.genfromtxt(Path(__file__).parents[1] / "data/special.csv", delimiter=",", names=True)
FIVE = ("A", "alpha_minus_A", "dA", "b", "delta_psi")
LIMITS = {  # at α = 0 and at α = ∞
    "A": (0.0, 1.0),
    "alpha_minus_A": (0.0, np.inf),
    "dA": (1.0, 0.0),
    "b": (2.0, np.inf),
    "delta_psi": (-np.inf, 0.0),
    "log_gamma_ratio": (-np.inf, np.inf),
    "A_rough": (0.0, 1.0),
}


@pytest.mark.parametrize("name", FIVE)
def test_relative_error_is_below_1e_13_everywhere(name):
    assert TABLE["alpha"].min() == 1e-12
    assert TABLE["alpha"].max() == 1e12
    assert_allclose(getattr(special, name)(TABLE["alpha"]), TABLE[name], rtol=1e-13, atol=0)


def test_log_gamma_ratio_is_accurate_also_where_it_vanishes():
    got = special.log_gamma_ratio(TABLE["alpha"])
    assert_allclose(got, TABLE["log_gamma_ratio"], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_domain(name):
    f = getattr(special, name)
    assert tuple(f([0.0, np.inf])) == pytest.approx(LIMITS[name], rel=1e-15)
    assert np.isnan(f([np.nan, -1.0, -np.inf])).all()


@pytest.mark.parametrize("name", LIMITS)
def test_any_shape_goes_in_and_comes_out(name):
    f = getattr(special, name)
    grid = np.geomspace(1e-3, 1e3, 24).reshape(2, 3, 4)
    assert f(grid).shape == grid.shape
    assert_allclose(f(grid)[1, 2, 3], f(float(grid[1, 2, 3])), rtol=0)
    assert np.ndim(f(1)) == 0
    assert f(np.empty((0, 3))).shape == (0, 3)
    assert_allclose(f(np.full(10_000, 0.7)), f(0.7), rtol=0)  # blocks change nothing
    assert_allclose(f(np.float32(0.5)), f(0.5), rtol=0)


def test_complex_alpha_is_refused():
    with pytest.raises(TypeError, match="complex"):
        special.A(np.array([1 + 1j]))


def test_A_solves_its_equation():
    alpha = np.geomspace(0.05, 50, 40)
    s = np.sqrt(special.alpha_minus_A(alpha))
    assert_allclose(np.sqrt(np.pi) * s * erfcx(s), 2 * alpha / (2 * alpha + 1), rtol=1e-14)


def test_derivatives_belong_to_their_functions():
    alpha = np.geomspace(0.01, 100, 50)
    h = 1e-3 * alpha
    slope = lambda f: (8 * (f(alpha + h) - f(alpha - h)) - (f(alpha + 2 * h) - f(alpha - 2 * h))) / (12 * h)
    assert_allclose(slope(special.A), special.dA(alpha), rtol=1e-9)
    assert_allclose(slope(special.log_gamma_ratio), -special.delta_psi(alpha), rtol=1e-9)


def test_the_rough_formula_is_as_wrong_as_documented():
    alpha = np.geomspace(1e-3, 1e3, 20_001)
    error = special.A(alpha) - special.A_rough(alpha)
    assert error.min() > 0
    assert error.max() == pytest.approx(0.065, abs=5e-4)
    assert alpha[error.argmax()] == pytest.approx(0.73, abs=0.02)
    ratio = special.alpha_minus_A([0.1, 0.5]) / ([0.1, 0.5] - special.A_rough([0.1, 0.5]))
    assert_allclose(ratio, [0.30, 0.75], atol=0.005)
