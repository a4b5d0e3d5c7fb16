"""Heads start well, speak the units of the targets, and give what is read off them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead import losses as reference
from levelhead import torch as robust
from levelhead.theory import student as theory


def test_links_are_the_references():
    torch.manual_seed(0)
    head = robust.GCPHead(5, 3, beta_floor=0.0, nu_floor=0.0, dtype=torch.float64)
    features = 20 * torch.randn(40, 5, dtype=torch.float64)
    raw = head.linear(features).detach().numpy().reshape(40, 4, 3)
    exact = reference.gcp().link(np.moveaxis(raw, 1, 2))
    for name, got, expected in zip(("m", "nu", "alpha", "beta"), head(features), exact, strict=True):
        assert got.shape == (40, 3), name
        assert_allclose(got.detach(), expected, rtol=1e-13)


def test_starts_at_unit_prognostic_variance_and_small_alpha():
    torch.manual_seed(0)
    parameters = robust.GCPHead(64, 2)(torch.randn(2000, 64))
    prognosis = robust.prognosis(parameters)
    assert parameters.m.mean().abs() < 0.1
    assert 0.1 < parameters.m.std() < 1
    assert_allclose(parameters.alpha.detach().mean(), 1, atol=0.05)
    assert_allclose(prognosis.variance.detach().log().mean(), 0, atol=0.1)
    assert prognosis.variance.detach().log().std() < 0.3


def test_floors_hold_for_any_weights():
    head = robust.GCPHead(1, alpha_floor=0.3, beta_floor=1e-3, nu_floor=1e-2)
    head.linear.weight.data.fill_(-1e4)
    _, nu, alpha, beta = head(torch.ones(1, 1))
    assert_allclose([nu.item(), alpha.item(), beta.item()], [1e-2, 0.3, 1e-3], rtol=1e-6)
    assert robust.GCPHead(4, alpha_floor=7.0)(torch.zeros(1, 4)).alpha.item() == pytest.approx(14)


def test_units_change_nothing_but_the_units():
    """The same raw outputs, targets y and 50y + 300: same ν, α; scaled m, V; same gradient."""
    torch.manual_seed(0)
    y = torch.randn(501, 1, dtype=torch.float64)
    gradients, answers = [], []
    for shift, factor in ((0.0, 1.0), (300.0, 50.0)):
        torch.manual_seed(1)
        head = robust.GCPHead(4, dtype=torch.float64).start_from(factor * y + shift)
        x = torch.randn(501, 4, dtype=torch.float64)
        parameters = head(x)
        robust.GCPLoss()(parameters, factor * y + shift).backward()
        gradients.append(head.linear.weight.grad)
        mean, variance, _ = robust.prognosis(parameters)
        answers.append(((mean - shift) / factor, variance / factor**2))
    assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-14)
    for one, other in zip(*answers, strict=True):
        assert_allclose(one.detach(), other.detach(), rtol=1e-9, atol=1e-12)


def test_start_is_blind_to_wrong_labels():
    rng = np.random.default_rng(0)
    y = rng.normal([300, -2], [50, 0.1], size=(2000, 2))
    y[:300] = 1e9
    head = robust.GCPHead(8, 2).start_from(torch.tensor(y))
    assert_allclose(head.location, [300, -2], rtol=0.06)
    assert_allclose(head.scale, [50, 0.1], rtol=0.35)
    assert set(head.state_dict()) == {"linear.weight", "linear.bias", "location", "scale"}


def test_start_from_counts_and_from_constants():
    counts = torch.tensor([0.0] * 70 + [1.0] * 30)
    assert robust.NormalHead(3).start_from(counts).scale.item() == pytest.approx(0.3 * np.sqrt(np.pi / 2))
    with pytest.raises(ValueError, match="output 0 are all equal"):
        robust.GCPHead(3).start_from(torch.ones(10))
    with pytest.raises(ValueError, match="NaN or infinite"):
        robust.GCPHead(3).start_from(torch.tensor([1.0, float("nan")]))


def test_refuses_impossible_sizes_and_floors():
    with pytest.raises(ValueError, match="out_features is 0"):
        robust.GCPHead(3, 0)
    with pytest.raises(ValueError, match="beta_floor is -1"):
        robust.GCPHead(3, beta_floor=-1)
    with pytest.raises(ValueError, match="variance_floor is nan"):
        robust.NormalHead(3, variance_floor=float("nan"))


def test_prognosis_is_the_theorys():
    alpha = torch.tensor([0.1, 0.8, 1.0, 3.0, 1e3], dtype=torch.float64)
    nu, beta = torch.rand(2, 5, dtype=torch.float64) + 0.1
    parameters = robust.GCPParameters(torch.arange(5.0), nu, alpha, beta)
    mean, variance, student = robust.prognosis(parameters)
    sigma = parameters.sigma.numpy()
    assert_allclose(mean, np.arange(5))
    assert_allclose(variance, theory.prognostic_variance(alpha.numpy(), sigma), rtol=1e-12)
    assert_allclose(student, theory.student_variance(alpha.numpy(), sigma), rtol=1e-12)


def test_gradients_of_the_prognosis_are_finite_where_the_student_variance_is_not():
    alpha = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    one = torch.ones(3)
    _, variance, student = robust.prognosis(robust.GCPParameters(one, one, alpha, one))
    (slope,) = torch.autograd.grad((variance + torch.where(student.isinf(), 0.0, student)).sum(), alpha)
    assert slope.isfinite().all()


def test_clean_and_contaminated_are_distributions():
    parameters = robust.GCPHead(4, dtype=torch.float64)(torch.randn(6, 4, dtype=torch.float64))
    clean, given = parameters.clean(), parameters.contaminated()
    assert_allclose(clean.variance.detach(), robust.prognosis(parameters).variance.detach())
    y = torch.randn(6, 1, dtype=torch.float64)
    loss = robust.gcp_loss(parameters, y, reduction="none")
    assert_allclose(-given.log_prob(y).detach(), loss.detach(), rtol=1e-12)
    assert_allclose(given.icdf(given.cdf(y)).detach(), y, rtol=1e-10)


def test_a_wrong_minority_is_ignored():
    """Recovery of a known truth: N(x, (0.2 + 0.1x)²) for x in (0, 1), with one label in ten at 8."""
    torch.manual_seed(0)
    x = torch.rand(4000, 1)
    spread = 0.2 + 0.1 * x
    y = x + spread * torch.randn_like(x)
    y[::10] = 8.0
    network = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.Tanh(), robust.GCPHead(20).start_from(y))
    optimizer = torch.optim.Adam(network.parameters(), 2e-2)
    for _ in range(300):
        optimizer.zero_grad()
        robust.GCPLoss()(network(x), y).backward()
        optimizer.step()
    mean, variance, _ = robust.prognosis(network(x))
    assert (mean - x).square().mean().sqrt() < 0.05
    ratio = (variance / spread**2).detach()
    assert 0.9 < ratio.mean() < 1.6  # V_p is high by about ε·b, equation (8)
    assert y.var() / (spread**2).mean() > 70


def test_normal_head():
    head = robust.NormalHead(6, 2)
    mean, variance = head(torch.zeros(3, 6))
    assert mean.shape == (3, 2)
    assert_allclose(variance.detach(), 1, rtol=1e-5)
    assert_allclose(mean.detach(), 0)


def test_parameters_are_built_by_name_and_as_tuples_are():
    four = tuple(torch.rand(4, 3))
    by_name = robust.GCPParameters(m=four[0], nu=four[1], alpha=four[2], beta=four[3])
    for again in (robust.GCPParameters(iter(four)), pickle.loads(pickle.dumps(by_name)), by_name._replace()):
        assert isinstance(again, robust.GCPParameters)
        assert all(torch.equal(one, other) for one, other in zip(again, four, strict=True))
    with pytest.raises(TypeError, match="missing 2 required"):
        robust.GCPParameters(four[0], four[1])


@pytest.mark.parametrize("kind", [robust.GCPHead, robust.NormalHead])
def test_one_tensor_holds_what_the_names_hold(kind):
    torch.manual_seed(0)
    head = kind(6, 3)
    x = torch.randn(5, 6)
    named = head(x)
    head.as_tensor = True
    joined = head(x)
    assert joined.shape == (5, 3 * len(named))
    assert torch.equal(joined[:, :3], named[0])  # libraries read the mean from the first columns
    for one, other in zip(type(named).from_tensor(joined), named, strict=True):
        assert torch.equal(one, other)
    assert kind(6, 3, as_tensor=True)(x).shape == joined.shape
    if kind is robust.GCPHead:
        assert torch.equal(robust.prognosis(joined).variance, robust.prognosis(named).variance)
    with pytest.raises(ValueError, match=r"shape \(5, 7\); its last axis must hold"):
        type(named).from_tensor(torch.zeros(5, 7))


def test_three_outputs_are_the_same_distributions_with_fewer_weights():
    torch.manual_seed(0)
    head = robust.GCPHead(5, 2, n_outputs=3, dtype=torch.float64)
    assert head.linear.out_features == 6
    features, y = torch.randn(30, 5, dtype=torch.float64), torch.randn(30, 2, dtype=torch.float64)
    raw = head.linear(features).detach().numpy().reshape(30, 3, 2)
    parameters = head(features)
    assert_allclose(parameters.nu.detach(), 1)
    m, alpha, half_sigma = reference.gcp_direct(sigma_floor=head.beta_floor).link(np.moveaxis(raw, 1, 2))
    exact = reference.student_direct(y.numpy(), m, alpha, 2 * half_sigma)
    value = robust.gcp_loss(parameters, y, reduction="none")
    assert_allclose(value.detach(), exact.value, rtol=1e-12)
    prognosis = robust.prognosis(parameters)
    assert_allclose(
        prognosis.variance.detach(), theory.prognostic_variance(alpha, 2 * half_sigma), rtol=1e-12
    )
    start = robust.prognosis(robust.GCPHead(64, n_outputs=3)(torch.randn(500, 64)))
    assert_allclose(start.variance.detach().log().mean(), 0, atol=0.1)
    assert robust.GCPHead(5, n_outputs=3, as_tensor=True)(features.float()).shape == (30, 4)
    with pytest.raises(ValueError, match="n_outputs is 2"):
        robust.GCPHead(5, n_outputs=2)


def test_three_outputs_ignore_wrong_labels_too():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 400)[:, None]
    y = 2 * x[:, 0] + 0.1 * torch.randn(400)
    y[::10] += 5
    model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), robust.GCPHead(16, n_outputs=3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(500):
        optimizer.zero_grad()
        robust.gcp_loss(model(x), y[:, None]).backward()
        optimizer.step()
    found = robust.prognosis(model(x))
    assert (found.mean[:, 0] - 2 * x[:, 0]).abs().mean() < 0.05
    assert 0.07 < found.variance.median().sqrt() < 0.16
