"""The elementary functions against mpmath's digits, over the whole range, and at its ends."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from levelhead.theory import elementary

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(0)
NEAR_ONE = 1 + 1e-4 * RNG.normal(size=200)
ANY_SIZE = 10 ** RNG.uniform(-300, 300, 400)
CASES = {
    "exp": (np.concatenate([RNG.uniform(-700, 709, 400), RNG.normal(size=200), [0.0]]), mpmath.exp),
    "log": (np.concatenate([ANY_SIZE, NEAR_ONE, [5e-324, 1.7e308]]), mpmath.log),
    "log1p": (np.concatenate([ANY_SIZE, -RNG.uniform(0, 1, 200)]), mpmath.log1p),
    "softplus": (RNG.uniform(-700, 700, 400), lambda x: mpmath.log1p(mpmath.exp(x))),
    "sin": (RNG.uniform(-10, 10, 400), mpmath.sin),
    "cos_turns": (RNG.uniform(0, 1, 400), lambda t: mpmath.cos(2 * mpmath.pi * t)),
}


@pytest.mark.parametrize("name", CASES)
def test_error_of_at_most_two_units_in_the_last_place(name):
    points, exact = CASES[name]
    got = getattr(elementary, name)(points)
    with mpmath.workdps(40):
        for x, value in zip(points.tolist(), got.tolist(), strict=True):
            true = exact(mpmath.mpf(x))
            size = max(abs(true), (4 + 2 * abs(x)) * (name == "sin"), name in ("sin", "cos_turns"))
            assert abs(value - true) <= 2 * EPS * size, x


@pytest.mark.parametrize(
    ("name", "points", "values"),
    [
        ("exp", [-np.inf, -1000, 1000, np.inf, np.nan], [0, 0, np.inf, np.inf, np.nan]),
        ("log", [0, 1, np.inf, -1, np.nan], [-np.inf, 0, np.inf, np.nan, np.nan]),
        ("log1p", [-1, 0, np.inf, -2, np.nan], [-np.inf, 0, np.inf, np.nan, np.nan]),
        ("softplus", [-np.inf, np.inf, np.nan], [0, np.inf, np.nan]),
    ],
)
def test_ends_of_the_range(name, points, values):
    assert_array_equal(getattr(elementary, name)(points), values)


def test_powers():
    assert_array_equal(elementary.power([0.0, 0.0, 2.0, np.inf], [0.0, 1.5, 0.0, 2.0]), [1, 0, 1, np.inf])
    x, y = RNG.uniform(0.01, 100, 200), RNG.uniform(-3, 3, 200)
    np.testing.assert_allclose(elementary.power(x, y), x**y, rtol=1e-14)


def test_any_shape_and_more_than_one_block():
    x = RNG.normal(size=(3, 5000))
    assert_array_equal(elementary.exp(x)[1], elementary.exp(x[1]))
    assert elementary.exp(np.empty((0, 2))).shape == (0, 2)
    assert isinstance(elementary.exp(0.5), float)
