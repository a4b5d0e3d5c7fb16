import numpy as np
import pytest
from scipy import special

from levelhead.engine import _math
from levelhead.theory import special as theory

POSITIVE = np.geomspace(1e-30, 1e30, 301).astype(np.float32)
SIGNED = np.concatenate([-np.geomspace(1e-6, 85, 150), [0], np.geomspace(1e-6, 85, 150)]).astype(np.float32)
MODERATE = np.geomspace(1e-6, 1e6, 201).astype(np.float32)

CASES = [
    ("exp", np.exp, SIGNED),
    ("log", np.log, POSITIVE),
    ("log1p", np.log1p, np.geomspace(1e-30, 1e18, 301).astype(np.float32)),
    (
        "log1p_square",
        lambda r: np.logaddexp(0, 2 * np.log(r)),
        np.geomspace(1e-15, 1e30, 301).astype(np.float32),
    ),
    ("softplus", lambda x: np.logaddexp(0, x), SIGNED),
    ("sigmoid", special.expit, SIGNED),
    ("tanh", np.tanh, SIGNED),
    ("delta_psi", theory.delta_psi, MODERATE),
]


@pytest.mark.parametrize(("name", "reference", "x"), CASES, ids=[case[0] for case in CASES])
def test_against_double_precision(name, reference, x):
    function = getattr(_math, name)
    with np.errstate(over="ignore", invalid="ignore"):
        got = np.array([function(value) for value in x])
    np.testing.assert_allclose(
        got, reference(x.astype(np.float64)), rtol=1e-6, atol=3e-7 if name == "log" else 0
    )


@pytest.mark.compiled
@pytest.mark.parametrize("name", [case[0] for case in CASES] + ["log_gamma_ratio"])
def test_nothing_is_promoted_to_double(name):
    function = getattr(_math, name)
    function(np.float32(0.5))
    assert [str(result.signature) for result in function.overloads.values()] == ["(float32,) -> float32"]


def test_log_gamma_ratio_against_double_precision():
    got = np.array([_math.log_gamma_ratio(value) for value in MODERATE])
    np.testing.assert_allclose(got, theory.log_gamma_ratio(MODERATE), rtol=5e-7, atol=1e-6)


@pytest.mark.parametrize("name", [case[0] for case in CASES] + ["log_gamma_ratio"])
def test_nan_is_never_hidden(name):
    with np.errstate(invalid="ignore"):
        assert np.isnan(getattr(_math, name)(np.float32(np.nan)))


def test_an_infinite_argument_of_a_logarithm_is_not_taken_for_a_number():
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(_math.log(np.float32(np.inf)))
        assert not np.isfinite(_math.log1p_square(np.float32(np.inf)))
