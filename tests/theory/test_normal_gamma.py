"""The prior against scipy.stats, direct integration and Bayes' theorem."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from levelhead.theory.normal_gamma import NormalGamma
from levelhead.theory.student import StudentT

PRIORS = [(0.3, 0.7, 1.4, 2.0), (-2.0, 5.0, 0.6, 0.1), (10.0, 0.2, 8.0, 30.0)]
PRIOR = NormalGamma(*np.transpose(PRIORS))


def integral_over(prior, f):
    """∬ f(μ, τ) p(μ, τ) dμ dτ with τ on a log grid and μ in units of its own spread."""
    log_tau = np.linspace(-60, 12, 6001)[:, None]
    u = np.linspace(-12, 12, 1201)[None, :]
    tau = np.exp(log_tau) / prior.beta
    mu = prior.m + u / np.sqrt(prior.nu * tau)
    weight = np.exp(prior.logpdf(mu, tau)) * tau / np.sqrt(prior.nu * tau)
    return np.trapezoid(np.trapezoid(weight * f(mu, tau), u[0], axis=1), log_tau[:, 0])


@pytest.mark.parametrize("parameters", PRIORS)
def test_density_and_marginal_by_direct_integration(parameters):
    prior = NormalGamma(*parameters)
    assert integral_over(prior, lambda mu, tau: 1.0) == pytest.approx(1, abs=1e-8)
    y = prior.m + 1.7
    likelihood = lambda mu, tau: stats.norm.pdf(y, mu, 1 / np.sqrt(tau))
    assert integral_over(prior, likelihood) == pytest.approx(np.exp(prior.marginal.logpdf(y)), rel=1e-8)


@pytest.mark.parametrize("parameters", PRIORS)
def test_kl_by_direct_integration(parameters):
    one, other = NormalGamma(*parameters).update(1.0), NormalGamma(0.1, 1.1, 0.9, 0.8)
    gap = lambda mu, tau: one.logpdf(mu, tau) - other.logpdf(mu, tau)
    assert integral_over(one, gap) == pytest.approx(one.kl(other), rel=1e-7)
    assert_allclose(one.kl(one), 0, atol=1e-13)


def test_update_is_bayes_theorem():
    mu, tau, y = 0.4, 1.3, np.array([2.0, -1.0, 0.5])
    evidence = PRIOR.marginal.logpdf(y)
    expected = PRIOR.logpdf(mu, tau) + stats.norm.logpdf(y, mu, 1 / np.sqrt(tau)) - evidence
    assert_allclose(PRIOR.update(y).logpdf(mu, tau), expected, rtol=1e-12)


def test_many_labels_are_one_after_another():
    labels = np.random.default_rng(0).normal(3, 2, size=(7, 3))
    step = PRIOR
    for y in labels:
        step = step.update(y)
    batch = PRIOR.update_many(labels)
    for name in ("m", "nu", "alpha", "beta"):
        assert_allclose(getattr(batch, name), getattr(step, name), rtol=1e-12)
    assert PRIOR.update_many(np.empty((0, 3))) is PRIOR


def test_student_agrees_with_scipy():
    t = PRIOR.marginal
    frozen = stats.t(2 * t.alpha, t.m, np.sqrt(PRIOR.beta * (PRIOR.nu + 1) / PRIOR.nu / PRIOR.alpha))
    y = t.m + np.array([[-30.0], [-1.0], [0.0], [1e-9], [4.0]])
    q = np.array([[1e-6], [0.2], [0.5], [0.999]])
    assert_allclose(t.logpdf(y), frozen.logpdf(y), rtol=1e-12)
    assert_allclose(t.cdf(y), frozen.cdf(y), rtol=1e-12)
    assert_allclose(t.quantile(q), frozen.ppf(q), rtol=1e-10, atol=1e-10)
    assert_allclose(t.cdf(t.quantile(q)), np.broadcast_to(q, (4, 3)), rtol=1e-10)
    assert_allclose(t.variance, frozen.var(), rtol=1e-12)
    assert t.variance[1] == np.inf


def test_student_density_integrates_to_one():
    t = StudentT(1.0, 0.75, 2.0)
    mass, _ = integrate.quad(lambda y: np.exp(t.logpdf(y)), -np.inf, np.inf)
    assert mass == pytest.approx(1, abs=1e-8)


def test_logpdf_never_overflows():
    t = StudentT(0.0, 2.0, 1e-8)
    far = t.logpdf([1e150, 1e200, 1e300])
    assert np.isfinite(far).all()
    assert_allclose(np.diff(far), -5 * np.log([1e50, 1e100]), rtol=1e-12)  # the tail is |y|^−(2α+1)


def test_samples_follow_their_distributions():
    labels = PRIOR.marginal.sample(20_000, random_state=1)
    assert labels.shape == (20_000, 3)
    for k in range(3):
        t = StudentT(PRIOR.m[k], PRIOR.alpha[k], PRIOR.sigma[k])
        assert stats.kstest(labels[:, k], lambda y, t=t: t.cdf(y)).pvalue > 1e-3
    mu, tau = PRIOR.sample(20_000, random_state=2)
    again = np.random.default_rng(3).normal(mu, 1 / np.sqrt(tau))
    for k in range(3):
        assert stats.ks_2samp(again[:, k], labels[:, k]).pvalue > 1e-3
    assert_allclose(PRIOR.sample(5, random_state=2).mu, PRIOR.sample(5, random_state=2).mu, rtol=0)


def test_it_is_a_value():
    with pytest.raises(FrozenInstanceError):
        PRIOR.m = 1.0
    with pytest.raises(ValueError, match="read-only"):
        PRIOR.alpha[0] = 1.0
    given = np.ones(3)
    prior = NormalGamma(given, given, given, given)
    given[0] = 7
    assert prior.m[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [1.0, -1.0], 1.0, 1.0), "nu must be positive; 1 of 2.*position 1: -1.0"),
        ((0.0, 1.0, np.nan, 1.0), "alpha must be positive"),
        ((0.0, 1.0, 1.0, 0.0), "beta must be positive"),
        ((np.inf, 1.0, 1.0, 1.0), "m must be finite"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        NormalGamma(*arguments)


def test_errors_of_bad_calls_say_what_to_do():
    with pytest.raises(ValueError, match="between 0 and 1"):
        PRIOR.marginal.quantile(1.5)
    with pytest.raises(ValueError, match=r"use update\(y\)"):
        PRIOR.update_many(1.0)
