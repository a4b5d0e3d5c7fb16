"""One table of losses drives every test: values, gradients, invariances and limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from levelhead import losses
from levelhead.theory.normal_gamma import NormalGamma

LOSSES = {
    "student": losses.gcp("student"),
    "kl": losses.gcp("kl"),
    "gaussian": losses.normal(),
    "beta 0.2": losses.beta_normal(0.2),
    "beta 1": losses.beta_normal(1.0),
    "gamma 0.4": losses.gamma_normal(0.4),
    "gamma 1": losses.gamma_normal(1.0),
    "student_direct": losses.gcp_direct(),
    "beta_nll": losses.beta_nll_normal(0.5),
    "faithful": losses.faithful_normal(),
    "natural": losses.natural_normal(),
    "evidential": losses.evidential_student(0.01),
    "huber": losses.huber_scale(1.345),
    "fixed_student": losses.fixed_student_scale(2.0),
}
LIKELIHOODS = {"student", "gaussian", "student_direct", "huber", "fixed_student"}
STOPPED = {"beta_nll", "faithful"}  # their gradients are not the derivatives of the value
NOT_ROBUST = {"gaussian", "natural", "faithful", "beta_nll"}
BOUNDED = {"huber", "evidential"}  # a far label keeps its influence, which does not grow


@pytest.fixture(params=LOSSES)
def named(request):
    return request.param, LOSSES[request.param]


@pytest.fixture
def draws():
    """Labels and raw network outputs over a wide range of residuals and parameters."""
    rng = np.random.default_rng(7)
    y = rng.normal(size=200) * np.geomspace(1e-3, 1e3, 200)
    return y, rng.normal(scale=2, size=(200, 4))


def parameters(loss, outputs):
    return loss.link(outputs[:, : len(loss.parameters)])


def fixed_posterior_value(y, theta):
    """K as a function of the prior alone, for differences: the posterior stays at `theta`."""
    posterior = NormalGamma(*theta).update(y)
    return lambda *prior: posterior.kl(NormalGamma(*prior))


def difference(f, theta, k):
    """Fourth-order central difference of f in its k-th argument."""
    h = 1e-4 * np.maximum(np.abs(theta[k]), 1e-2)

    def at(steps):
        moved = list(theta)
        moved[k] = theta[k] + steps * h
        return f(*moved)

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def test_gradient_is_the_derivative_of_the_value(named, draws):
    name, loss = named
    if name in STOPPED:
        return
    y, outputs = draws
    theta = parameters(loss, outputs)
    value = fixed_posterior_value(y, theta) if name == "kl" else lambda *t: loss(y, *t).value
    for k, gradient in enumerate(loss(y, *theta).gradient):
        scale = np.abs(gradient) + 1e-3 * np.abs(loss(y, *theta).value) / np.maximum(np.abs(theta[k]), 1e-2)
        scale += 1e-12  # a divergence forgets far labels altogether
        assert_allclose(difference(value, theta, k) / scale, gradient / scale, atol=2e-6)


def test_gradient_in_outputs_is_the_derivative_through_the_links(named, draws):
    name, loss = named
    if name in STOPPED:
        return
    if name == "kl":  # its value moves with the posterior; the next test compares its gradient
        loss = LOSSES["student"]
    y, outputs = draws
    outputs = outputs[:, : len(loss.parameters)]
    columns = [outputs[:, k] for k in range(outputs.shape[1])]
    value = lambda *u: loss.of_outputs(y, np.stack(u, axis=-1))[0]
    gradient = LOSSES[name].of_outputs(y, outputs)[1]
    for k in range(outputs.shape[1]):
        scale = np.abs(gradient[:, k]) + 1e-3 * np.abs(value(*columns)) + 1e-12
        assert_allclose(difference(value, columns, k) / scale, gradient[:, k] / scale, atol=2e-6)


def test_both_forms_of_gcp_have_one_gradient(draws):
    y, outputs = draws
    theta = parameters(LOSSES["student"], outputs)
    for one, other in zip(losses.student(y, *theta).gradient, losses.kl(y, *theta).gradient, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-14)


def test_kl_is_the_divergence_from_posterior_to_prior(draws):
    y, outputs = draws
    prior = NormalGamma(*parameters(LOSSES["kl"], outputs))
    value = losses.kl(y, prior.m, prior.nu, prior.alpha, prior.beta).value
    assert_allclose(value, prior.update(y).kl(prior), rtol=1e-9, atol=1e-12)
    assert (value >= -1e-12).all()


def test_likelihoods_agree_with_scipy(draws):
    y, outputs = draws
    m, nu, alpha, beta = parameters(LOSSES["student"], outputs)
    scale = np.sqrt(beta * (nu + 1) / nu / alpha)
    assert_allclose(
        losses.student(y, m, nu, alpha, beta).value, -stats.t.logpdf(y, 2 * alpha, m, scale), rtol=1e-11
    )
    assert_allclose(losses.gaussian(y, m, beta).value, -stats.norm.logpdf(y, m, np.sqrt(beta)), rtol=1e-12)


def test_divergences_agree_with_their_integrals():
    grid = np.linspace(-40, 40, 400_001)
    y, mu, variance, power = 1.3, 0.4, 2.5, 0.6
    p = stats.norm.pdf(grid, mu, np.sqrt(variance))
    at_y = stats.norm.pdf(y, mu, np.sqrt(variance))
    integral = np.trapezoid(p ** (1 + power), grid)
    beta = -(1 + power) / power * at_y**power + integral
    gamma = -(1 + power) / power * at_y**power / integral ** (power / (1 + power))
    assert_allclose(losses.beta_divergence(y, mu, variance, beta=power).value, beta, rtol=1e-10)
    assert_allclose(losses.gamma_divergence(y, mu, variance, gamma=power).value, gamma, rtol=1e-10)


def scaled(loss, theta, shift, factor):
    """The same model after y → factor·y + shift: locations move, scales stretch, ν and α stay."""
    rules = {
        "m": lambda v: factor * v + shift,
        "mu": lambda v: factor * v + shift,
        "beta": lambda v: factor**2 * v,
        "variance": lambda v: factor**2 * v,
        "sigma": lambda v: factor**2 * v,
    }
    return [rules.get(name, lambda v: v)(v) for name, v in zip(loss.parameters, theta, strict=True)]


def test_equivariance_under_shift_and_scale(named, draws):
    name, loss = named
    y, outputs = draws
    theta = parameters(loss, outputs)
    before = loss(y, *theta)
    after = loss(3 * y + 2, *scaled(loss, theta, 2, 3))
    if name in LIKELIHOODS:
        assert_allclose(after.value, before.value + np.log(3), rtol=1e-9, atol=1e-12)
    if name == "kl":
        assert_allclose(after.value, before.value, rtol=1e-9, atol=1e-12)
    if name.startswith("beta "):
        assert_allclose(after.value, before.value * 3 ** -float(name.split()[1]), rtol=1e-9, atol=1e-300)
    if name.startswith("gamma "):
        power = float(name.split()[1])
        assert_allclose(after.value, before.value * 3 ** -(power / (1 + power)), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(("divergence", "constant"), [("beta", 0.0), ("gamma", 1.0)])
def test_divergences_tend_to_the_likelihood(draws, divergence, constant):
    y, outputs = draws
    y = np.clip(y, -5, 5)
    mu, variance = parameters(LOSSES["gaussian"], outputs)
    keep = np.abs(y - mu) < 6 * np.sqrt(variance)
    target = losses.gaussian(y[keep], mu[keep], variance[keep])
    errors = []
    for power in (1e-4, 1e-5):
        f = getattr(losses, f"{divergence}_divergence")
        got = f(y[keep], mu[keep], variance[keep], **{divergence: power})
        errors.append(np.abs(got.value + 1 / power + constant - target.value).max())
        for one, other in zip(got.gradient, target.gradient, strict=True):
            assert_allclose(one, other, rtol=500 * power, atol=500 * power * np.abs(other).max())
    assert errors[1] < 0.2 * errors[0]  # the error is of first order


def test_student_tends_to_the_likelihood(draws):
    y, outputs = draws
    mu, variance = parameters(LOSSES["gaussian"], outputs)
    target = losses.gaussian(y, mu, variance)
    alpha = np.full_like(mu, 1e9)
    nu = np.full_like(mu, 1e9)
    got = losses.student(y, mu, nu, alpha, alpha * variance)
    keep = np.abs(target.gradient[0]) * np.sqrt(variance) < 30
    assert_allclose(got.value[keep], target.value[keep], rtol=1e-5, atol=1e-5)
    assert_allclose(got.gradient[0][keep], target.gradient[0][keep], rtol=1e-5)
    assert_allclose((alpha * got.gradient[3])[keep], target.gradient[1][keep], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("residual", [0.0, 1e-150, 1.0, 1e15, 1e75, 1e150])
def test_everything_stays_finite(named, residual):
    _, loss = named
    positive = [1e-8, 1.0, 1e8]
    grid = np.meshgrid(*([positive] * (len(loss.parameters) - 1)), indexing="ij")
    theta = [g.ravel() for g in grid]
    y = np.full_like(theta[0], residual)
    value, gradient = loss(y, np.zeros_like(y), *theta)
    assert np.isfinite(value).all()
    assert all(np.isfinite(g).all() for g in gradient)


@pytest.mark.parametrize("residual", [1e153, 1e155, 1e200, -1e250, 1e307])
@pytest.mark.parametrize("sigma", [1e-12, 1.0, 1e12])
def test_student_is_right_for_any_residual(residual, sigma):
    """Far out, −ln t is (2α+1) ln|z| plus what does not depend on z, with the derivatives of that."""
    nu, alpha, beta = 1.0, 1.5, sigma / 2
    at = [np.array([value]) for value in (residual, 0.0, nu, alpha, beta)]
    log_growth = 2 * np.log(abs(residual)) - np.log(2 * sigma)
    constant = special.gammaln(alpha) - special.gammaln(alpha + 0.5) + 0.5 * np.log(2 * np.pi * sigma)
    value, gradient = losses.student(*at)
    assert_allclose(value, constant + (alpha + 0.5) * log_growth, rtol=1e-13)
    by_alpha = log_growth + special.digamma(alpha) - special.digamma(alpha + 0.5)
    expected = (-(2 * alpha + 1) / residual, alpha / (nu * (nu + 1)), by_alpha, -alpha / beta)
    assert_allclose(np.ravel(gradient), expected, rtol=1e-13)
    assert_allclose(np.ravel(losses.kl(*at).gradient), expected, rtol=1e-12)
    assert np.isfinite(losses.kl(*at).value)


def test_robust_losses_forget_a_far_label(named):
    name, loss = named
    theta = [np.array([v]) for v in (0.0, 1.0, 1.0, 1.0)[: len(loss.parameters)]]
    pull = [abs(loss(np.array([y]), *theta).gradient[0][0]) for y in (2.0, 1e6)]
    if name in BOUNDED:
        assert 0.01 * pull[0] < pull[1] <= 1.01 * pull[0]
    else:
        assert (pull[1] > pull[0]) if name in NOT_ROBUST else (pull[1] < 1e-5 * pull[0])


def test_the_direct_form_is_the_same_distribution(draws):
    y, outputs = draws
    m, nu, alpha, beta = parameters(LOSSES["student"], outputs)
    sigma = beta * (nu + 1) / nu
    four, three = losses.student(y, m, nu, alpha, beta), losses.student_direct(y, m, alpha, sigma)
    assert_allclose(three.value, four.value, rtol=1e-14)
    by_m, by_nu, by_alpha, by_beta = four.gradient
    assert_allclose(three.gradient[0], by_m)
    assert_allclose(three.gradient[1], by_alpha)
    assert_allclose(three.gradient[2] * (nu + 1) / nu, by_beta, rtol=1e-11)  # ∂σ/∂β
    assert_allclose(-three.gradient[2] * beta / nu**2, by_nu, rtol=1e-11, atol=1e-300)  # ∂σ/∂ν


def test_baselines_are_what_their_papers_say(draws):
    y, outputs = draws
    mu, variance = parameters(LOSSES["gaussian"], outputs)
    plain = losses.gaussian(y, mu, variance)
    assert_allclose(losses.beta_nll(y, mu, variance, beta=0.0).gradient, plain.gradient)
    # β = 1 and the faithful loss pull the mean like least squares, and the latter leaves the variance to the likelihood
    assert_allclose(losses.beta_nll(y, mu, variance, beta=1.0).gradient[0], mu - y, rtol=1e-12)
    assert_allclose(losses.faithful(y, mu, variance).gradient[0], mu - y)
    assert_allclose(losses.faithful(y, mu, variance).gradient[1], plain.gradient[1])
    assert_allclose(losses.natural(y, mu / variance, 1 / variance).value, plain.value, rtol=1e-9)
    four = parameters(LOSSES["evidential"], outputs)
    assert_allclose(losses.evidential(y, *four, penalty=0.0).value, losses.student(y, *four).value)
    near = np.abs(y - mu) < 1.345 * np.sqrt(variance)
    huber = losses.huber(y, mu, variance, k=1.345)
    assert_allclose(huber.gradient[1][near], plain.gradient[1][near], rtol=1e-9)
    assert_allclose(np.abs(huber.gradient[0][~near]), 1.345 / np.sqrt(variance[~near]))
    t = losses.fixed_student(y, mu, variance, alpha=2.0)
    assert_allclose(t.value, -stats.t.logpdf(y, 4, mu, np.sqrt(variance / 2)), rtol=1e-11)


def test_links_are_the_papers():
    m, nu, alpha, beta = losses.gcp().link(np.array([-3.0, 0.0, -50.0, 40.0]))
    assert m == -3
    assert nu == pytest.approx(np.log(2))
    assert alpha == pytest.approx(0.1)
    assert beta == pytest.approx(40)
    assert losses.gcp(beta_floor=0.5).link(np.full(4, -800.0))[3] == 0.5


def test_nothing_is_broadcast(named):
    _, loss = named
    column = np.ones((3, 1))
    with pytest.raises(ValueError, match=r"one shape.*\(3,\).*\(3, 1\)"):
        loss(np.ones(3), *[column] * len(loss.parameters))
    with pytest.raises(ValueError, match="last axis of"):
        loss.of_outputs(np.ones(3), np.ones((3, 7)))


def test_meaningless_settings_are_refused():
    with pytest.raises(ValueError, match="must be positive"):
        losses.beta_divergence(0.0, 0.0, 1.0, beta=0.0)
    with pytest.raises(ValueError, match="choose 'student'"):
        losses.gcp("wasserstein")
    for wrong in (
        lambda: losses.beta_nll(0.0, 0.0, 1.0, beta=2.0),
        lambda: losses.evidential(0.0, 0.0, 1.0, 1.0, 1.0, penalty=-1.0),
        lambda: losses.huber(0.0, 0.0, 1.0, k=0.0),
        lambda: losses.fixed_student(0.0, 0.0, 1.0, alpha=0.0),
    ):
        with pytest.raises(ValueError, match="must"):
            wrong()
