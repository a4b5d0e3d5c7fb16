"""The form with three outputs: the same equilibria and stability, other rates."""

import doctest

import numpy as np
import pytest
from numpy.testing import assert_allclose

from levelhead.theory.dynamics import (
    ContaminatedPopulation,
    Gaussian,
    Point,
    Uniform,
    direct_flow,
    equilibrium,
    field,
    flow,
    rates,
    risk,
    three_outputs,
)
from levelhead.theory.dynamics.three_outputs import risk_hessian, speed_factor

TRUTH = Gaussian(0.0, 1.0)
POPULATIONS = {
    "wide": ContaminatedPopulation(0.05, TRUTH, Gaussian(0.0, 100.0)),
    "many": ContaminatedPopulation(0.2, TRUTH, Gaussian(1.0, 100.0)),
    "one side": ContaminatedPopulation(0.1, TRUTH, Uniform(2.0, 20.0)),
    "cluster": ContaminatedPopulation(0.2, TRUTH, Point(8.0)),
}


def test_the_example_of_the_module() -> None:
    assert doctest.testmod(three_outputs).failed == 0


@pytest.mark.parametrize("name", POPULATIONS)
def test_both_forms_come_to_rest_at_one_point(name: str) -> None:
    p_c = POPULATIONS[name]
    rest = equilibrium(p_c)
    three = direct_flow(p_c, m=1.0, alpha=1.0, sigma=2.0, times=[0, 500])
    four = flow(p_c, m=1.0, nu=1.0, alpha=1.0, beta=1.0, times=[0, 500])
    for path in (three, four):
        assert_allclose([path.m[-1], path.alpha[-1], path.sigma[-1]], rest, rtol=1e-5, atol=1e-6)


def test_the_risk_falls_and_sigma_moves_slower_by_the_factor() -> None:
    p_c = POPULATIONS["one side"]
    path = direct_flow(p_c, m=2.0, alpha=1.0, sigma=3.0, times=np.geomspace(1e-3, 300, 20))
    risks = [risk(p_c, *at) for at in zip(path.m, path.alpha, path.sigma, strict=True)]
    assert (np.diff(risks) < 1e-12).all()
    h, start, nu = 1e-4, {"m": 0.5, "alpha": 0.8}, 1.7
    three = direct_flow(p_c, **start, sigma=2.0, times=[0, h])
    four = flow(p_c, **start, nu=nu, beta=2.0 * nu / (nu + 1), times=[0, h])
    speed = [(p.sigma[1] - p.sigma[0]) / h for p in (three, four)]
    assert_allclose(speed[0], field(p_c, 0.5, 0.8, 2.0).H / 2.0, rtol=1e-3)
    assert_allclose(speed[1] / speed[0], speed_factor(nu, 2.0), rtol=1e-3)


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("nu", [0.3, 1.0, 10.0])
def test_rates_differ_by_at_most_the_factor(name: str, nu: float) -> None:
    """Ostrowski's theorem: each eigenvalue is multiplied by a number from 1 to κ."""
    p_c = POPULATIONS[name]
    rest = equilibrium(p_c)
    ratio = rates(p_c, *rest, nu=nu) / rates(p_c, *rest)
    kappa = speed_factor(nu, rest.sigma)
    assert kappa > 1
    assert (ratio > 1 - 1e-6).all()
    assert (ratio < kappa * (1 + 1e-6)).all()
    assert ratio.max() > 1.01
    assert_allclose(rates(p_c, *rest, nu=1e9), rates(p_c, *rest), rtol=1e-6)


def test_rates_are_those_of_the_flow() -> None:
    p_c = POPULATIONS["wide"]
    rest = equilibrium(p_c)
    slowest = rates(p_c, *rest)[0]
    late = direct_flow(p_c, m=rest.m, alpha=1.1 * rest.alpha, sigma=1.1 * rest.sigma, times=[0, 40, 60])
    left = np.abs(late.alpha[1:] - rest.alpha)
    assert_allclose(np.log(left[0] / left[1]) / 20, slowest, rtol=0.02)


def test_a_point_that_one_form_leaves_is_left_by_the_other() -> None:
    """Between the truth and the Gaussian that covers a cluster lies a saddle, with one negative rate in both forms."""
    signs = []
    for m, alpha, sigma in ((4.0, 1.0, 8.0), (0.0, 0.3, 5.0), (1.0, 3.0, 30.0)):
        second = risk_hessian(POPULATIONS["cluster"], m, alpha, sigma)
        for kappa in (1.0, 4.0, 100.0):
            root = np.sqrt([1.0, 1.0, kappa])
            signs.append(tuple(np.sign(np.linalg.eigvalsh(root[:, None] * second * root))))
        assert len(set(signs[-3:])) == 1
    assert any(-1.0 in sign for sign in signs)


@pytest.mark.slow
def test_without_outliers_both_grow_like_the_fourth_root_of_time() -> None:
    """α̇ = c/α³ on the curve σ̇ = 0 with c = 3/8; with three outputs σ lags behind, which halves the speed."""
    clean = ContaminatedPopulation(0.0, TRUTH, Gaussian(0.0, 100.0))
    times = [0, 1e3, 1e5]
    three = direct_flow(clean, m=0.0, alpha=2.0, sigma=1.5, times=times, rtol=1e-7)
    four = flow(clean, m=0.0, nu=1.0, alpha=2.0, beta=0.75, times=times, rtol=1e-7)
    for path in (three, four):
        exponent = np.log(path.alpha[2] / path.alpha[1]) / np.log(100)
        assert exponent == pytest.approx(0.25, abs=0.04)
    assert three.alpha[2] / four.alpha[2] == pytest.approx(0.5**0.25, rel=0.03)
    assert three.sigma[2] / three.alpha[2] == pytest.approx(1, abs=0.1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="sigma must be positive"):
        direct_flow(POPULATIONS["wide"], m=0.0, alpha=1.0, sigma=0.0, times=[0, 1])
    with pytest.raises(ValueError, match="increasing"):
        direct_flow(POPULATIONS["wide"], m=0.0, alpha=1.0, sigma=1.0, times=[1, 0])
