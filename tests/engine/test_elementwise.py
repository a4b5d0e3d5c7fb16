"""The compiled functions have the bits of those of `levelhead.theory`."""

from collections.abc import Callable

import numpy as np
import pytest

from levelhead.engine import elementwise
from levelhead.theory import elementary
from levelhead.theory.special import alpha_minus_A

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    1e-310,
    2.2250738585072014e-308,
    1.7e308,
]
PAIRS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "exp": (elementwise.exp, elementary.exp),
    "softplus": (elementwise.softplus, elementary.softplus),
    **{
        f"power {p}": (lambda x, p=p: elementwise.power(x, p), lambda x, p=p: elementary.power(x, p))
        for p in (0.0, 0.37, 1.0, -2.5)
    },
    "alpha - A": (
        lambda x: elementwise.prognostic_variance(x, np.float64(1)),
        lambda x: 1 / alpha_minus_A(x),
    ),
}


def numbers() -> np.ndarray:
    rng = np.random.default_rng(0)
    anything = rng.integers(0, 2**64, 3_000, dtype=np.uint64).view(np.float64)
    usual = rng.normal(size=3_000)
    return np.concatenate(
        [SPECIAL, [-746, -745.2, 709.8, 710.1], anything, usual, np.abs(usual), 300 * usual]
    )


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore:(invalid|divide|overflow):RuntimeWarning")
def test_the_bits_are_those_of_the_reference(name: str) -> None:
    compiled, reference = PAIRS[name]
    x = numbers()
    found, expected = compiled(x), reference(x)
    known = ~np.isnan(expected)
    assert np.array_equal(np.isnan(found), ~known)
    assert np.array_equal(found[known].view(np.uint64), expected[known].view(np.uint64))


def test_shapes_and_read_only_arrays() -> None:
    x = np.linspace(-1, 1, 12).reshape(3, 4)
    x.flags.writeable = False
    assert elementwise.exp(x[:, ::2]).shape == (3, 2)
    assert isinstance(elementwise.exp(0.0), float)
    assert elementwise.softplus(np.empty((2, 0))).shape == (2, 0)
    assert np.array_equal(x, np.linspace(-1, 1, 12).reshape(3, 4))
