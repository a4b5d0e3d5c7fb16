"""The losses against `levelhead.losses`, in every precision, for absurd residuals, and both forms of GCP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead import losses as reference
from levelhead import torch as robust

LOSSES = {
    "student": (lambda p, y, **k: robust.gcp_loss(p, y, form="student", **k), reference.gcp("student")),
    "kl": (lambda p, y, **k: robust.gcp_loss(p, y, form="kl", **k), reference.gcp("kl")),
    "beta 0.2": (
        lambda p, y, **k: robust.beta_divergence_loss(p, y, beta=0.2, **k),
        reference.beta_normal(0.2),
    ),
    "beta 1": (
        lambda p, y, **k: robust.beta_divergence_loss(p, y, beta=1.0, **k),
        reference.beta_normal(1.0),
    ),
    "gamma 0.4": (
        lambda p, y, **k: robust.gamma_divergence_loss(p, y, gamma=0.4, **k),
        reference.gamma_normal(0.4),
    ),
    "gamma 1": (
        lambda p, y, **k: robust.gamma_divergence_loss(p, y, gamma=1.0, **k),
        reference.gamma_normal(1.0),
    ),
}
MODULES = {
    "student": robust.GCPLoss,
    "beta 0.2": lambda **k: robust.BetaDivergenceLoss(0.2, **k),
    "gamma 0.4": lambda **k: robust.GammaDivergenceLoss(0.4, **k),
}


@pytest.fixture(params=LOSSES)
def named(request):
    return request.param, *LOSSES[request.param]


@pytest.fixture
def draws():
    """Labels and raw network outputs over a wide range of residuals and parameters."""
    rng = np.random.default_rng(7)
    y = rng.normal(size=200) * np.geomspace(1e-3, 1e3, 200)
    return y, rng.normal(scale=2, size=(200, 4))


def leaves(arrays, dtype=torch.float64):
    return [torch.tensor(np.asarray(a), dtype=dtype, requires_grad=True) for a in arrays]


def test_values_and_gradients_are_the_references(named, draws):
    _, loss, expected = named
    y, outputs = draws
    theta = leaves(expected.link(outputs[:, : len(expected.parameters)]))
    value = loss(theta, torch.tensor(y), reduction="none")
    exact = expected(y, *(t.detach().numpy() for t in theta))
    assert_allclose(value.detach(), exact.value, rtol=1e-11, atol=1e-13)
    for got, gradient in zip(torch.autograd.grad(value.sum(), theta), exact.gradient, strict=True):
        assert_allclose(got, gradient, rtol=1e-10, atol=1e-13)


def test_single_precision_agrees_to_its_rounding(named, draws):
    _, loss, expected = named
    y, outputs = draws
    theta = leaves(expected.link(outputs[:, : len(expected.parameters)]), torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    value = loss(theta, y, reduction="none")
    exact = expected(y.double().numpy(), *(t.detach().double().numpy() for t in theta))
    assert_allclose(value.detach(), exact.value, rtol=2e-5, atol=2e-5)
    # A sum of terms that cancel is as good as its largest term; z = y − m itself is only known to rounding.
    for k, gradient in enumerate(exact.gradient):
        (got,) = torch.autograd.grad(value.sum(), theta[k], retain_graph=True)
        bound = 1e-5 * (np.abs(exact.gradient[k]) + np.abs(exact.value) / theta[k].detach().abs().numpy() + 1)
        assert (np.abs(got.numpy() - gradient) <= bound).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("residual", [0.0, 1e-30, 1.0, 1e6, 1e15, -1e15, 1e30, np.inf])
def test_nothing_ever_overflows(named, residual, dtype):
    _, loss, expected = named
    positive = [0.0, 1e-30, 1e-8, 1.0, 1e8]
    grid = np.meshgrid(*([positive] * (len(expected.parameters) - 1)), indexing="ij")
    theta = leaves([np.zeros(grid[0].size), *(g.ravel() for g in grid)], dtype)
    y = torch.full_like(theta[0], residual, requires_grad=False)
    value = loss(theta, y, reduction="none")
    assert value.isfinite().all()
    for gradient in torch.autograd.grad(value.sum(), theta):
        assert gradient.isfinite().all()


def test_both_forms_have_the_same_gradient_for_huge_residuals_too():
    for residual in (1e-6, 1.0, 1e15):
        gradients = []
        for form in ("student", "kl"):
            theta = leaves([[0.3] * 4, [0.5, 1, 2, 3], [0.1, 1, 5, 50], [1e-3, 1, 10, 100]], torch.float32)
            y = torch.full((4,), 0.3 + residual)
            gradients.append(torch.autograd.grad(robust.gcp_loss(theta, y, form=form), theta))
        for one, other in zip(*gradients, strict=True):
            assert_allclose(one, other, rtol=2e-5, atol=1e-30)


def test_student_has_a_hessian_and_kl_no_graph_to_the_posterior(draws):
    y, outputs = draws
    theta = [t[80:90] for t in leaves(reference.gcp().link(outputs))]
    target = torch.tensor(y[80:90])
    student = lambda *p: robust.gcp_loss(p, target, reduction="none")
    assert torch.autograd.gradgradcheck(student, [t.detach().requires_grad_() for t in theta])
    # K is convex in m around the posterior mean: α′ν/β′, whatever the label says
    m, nu, alpha, beta = (t.detach().requires_grad_() for t in theta)
    (slope,) = torch.autograd.grad(
        robust.gcp_loss((m, nu, alpha, beta), target, form="kl", reduction="sum"), m, create_graph=True
    )
    (curvature,) = torch.autograd.grad(slope.sum(), m)
    beta_post = beta + nu / (nu + 1) * (target - m) ** 2 / 2
    assert_allclose(curvature, ((alpha + 0.5) * nu / beta_post).detach(), rtol=1e-10)


def test_bfloat16_autocast_trains():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.ReLU(), robust.GCPHead(32))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    x = torch.randn(256, 3)
    y = x[:, :1] + 0.1 * torch.randn(256, 1)
    y[::10] = 1e15
    history = []
    for _ in range(60):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            parameters = network(x)
            loss = robust.GCPLoss()(parameters, y)
        assert loss.dtype == torch.float32
        loss.backward()
        assert all(p.grad.isfinite().all() for p in network.parameters())
        optimizer.step()
        history.append(loss.item())
    assert history[-1] < history[0] - 1
    clean = torch.ones(256, dtype=bool)
    clean[::10] = False
    assert (parameters.m - y)[clean].square().mean().sqrt() < 0.4


def test_half_precision_parameters_are_computed_in_single(named):
    _, loss, expected = named
    theta = [torch.full((3,), 0.5, dtype=torch.bfloat16) for _ in expected.parameters]
    assert loss(theta, torch.ones(3)).dtype == torch.float32


@pytest.mark.parametrize("name", MODULES)
def test_modules_reduce_as_pytorchs_do(name, draws):
    y, outputs = draws
    theta = leaves(LOSSES[name][1].link(outputs[:, : len(LOSSES[name][1].parameters)]))
    each, mean, total = (MODULES[name](reduction=r)(theta, torch.tensor(y)) for r in ("none", "mean", "sum"))
    assert each.shape == (200,)
    assert_allclose(each.mean().item(), mean.item(), rtol=1e-14)
    assert_allclose(each.sum().item(), total.item(), rtol=1e-14)


def test_vmap_and_compile(draws):
    y, outputs = draws
    theta = [t.detach() for t in leaves(reference.gcp().link(outputs))]
    target = torch.tensor(y)
    one = lambda target, *p: robust.gcp_loss(p, target)
    by_row = torch.vmap(torch.func.grad(one, argnums=(1, 2, 3, 4)))(target, *theta)
    exact = reference.student(y, *(t.numpy() for t in theta)).gradient
    for got, gradient in zip(by_row, exact, strict=True):
        assert_allclose(got, gradient, rtol=1e-10, atol=1e-13)
    for form in ("student", "kl"):
        loss = robust.GCPLoss(form)
        compiled = torch.compile(loss, fullgraph=True, backend="eager")
        assert_allclose(compiled(theta, target), loss(theta, target), rtol=1e-12)


def test_meaningless_arguments_are_refused():
    four = [torch.ones(3, 1)] * 4
    with pytest.raises(ValueError, match=r"target has shape \(3,\) but m has \(3, 1\).*unsqueeze"):
        robust.gcp_loss(four, torch.ones(3))
    with pytest.raises(ValueError, match=r"needs the tensors mean, variance.*got 4 tensors"):
        robust.beta_divergence_loss(four, torch.ones(3, 1), beta=0.5)
    with pytest.raises(ValueError, match="got one tensor"):
        robust.gcp_loss(torch.ones(4, 3), torch.ones(3))
    with pytest.raises(ValueError, match="form is 'wasserstein'"):
        robust.GCPLoss("wasserstein")
    with pytest.raises(ValueError, match="reduction is 'median'"):
        robust.GCPLoss(reduction="median")
    with pytest.raises(ValueError, match="beta is 0"):
        robust.BetaDivergenceLoss(0)
    with pytest.raises(ValueError, match="gamma is -1"):
        robust.GammaDivergenceLoss(-1)


def test_weights_count_as_repeated_labels(named, draws):
    _, loss, expected = named
    y, outputs = draws
    theta = leaves(expected.link(outputs[:, : len(expected.parameters)]))
    times = np.random.default_rng(0).integers(0, 4, size=200)
    repeated = [t.detach().repeat_interleave(torch.tensor(times)).requires_grad_() for t in theta]
    target, many = torch.tensor(y), torch.tensor(np.repeat(y, times))
    weight = torch.tensor(times, dtype=torch.float64)
    for reduction in ("mean", "sum"):
        weighted = loss(theta, target, weight=weight, reduction=reduction)
        assert_allclose(weighted.item(), loss(repeated, many, reduction=reduction).item(), rtol=1e-12)
    each = loss(theta, target, weight=weight, reduction="none")
    assert_allclose(each.detach(), times * loss(theta, target, reduction="none").detach().numpy())
    (slope,) = torch.autograd.grad(each.sum(), theta[0])
    assert (slope[times == 0] == 0).all()


def test_a_missing_label_is_refused_or_left_out(named, draws):
    name, loss, expected = named
    y, outputs = draws
    theta = leaves(expected.link(outputs[:, : len(expected.parameters)]))
    target = torch.tensor(y)
    missing = torch.arange(200) % 7 == 3
    holes = torch.where(missing, np.nan, target)
    with pytest.raises(
        ValueError, match=r"target has 29 labels that are NaN, the first at \(3,\); .*nan_policy"
    ):
        loss(theta, holes)
    kept = [t.detach()[~missing].requires_grad_() for t in theta]
    got, exact = loss(theta, holes, nan_policy="omit"), loss(kept, target[~missing])
    assert_allclose(got.item(), exact.item(), rtol=1e-13)
    for one, other in zip(torch.autograd.grad(got, theta), torch.autograd.grad(exact, kept), strict=True):
        assert_allclose(one[~missing], other, rtol=1e-12)
        assert (one[missing] == 0).all()
    each = loss(theta, holes, nan_policy="omit", reduction="none")
    assert (each[missing] == 0).all()
    if name in MODULES:
        assert_allclose(MODULES[name](nan_policy="omit")(theta, holes).item(), exact.item(), rtol=1e-13)


def test_a_batch_without_any_label_has_the_loss_0():
    theta = leaves([[0.3] * 4, [1.0] * 4, [2.0] * 4, [1.0] * 4])
    nothing = torch.full((4,), np.nan, dtype=torch.float64)
    loss = robust.gcp_loss(theta, nothing, nan_policy="omit")
    assert loss.item() == 0
    assert all((g == 0).all() for g in torch.autograd.grad(loss, theta))


def test_a_compiled_loss_refuses_missing_labels_too():
    theta = [torch.ones(3)] * 4
    compiled = torch.compile(robust.GCPLoss(), fullgraph=True, backend="eager")
    assert compiled(theta, torch.ones(3)).isfinite()
    with pytest.raises(RuntimeError, match="target has labels that are NaN"):
        compiled(theta, torch.tensor([1.0, np.nan, 1.0]))


def test_parameters_may_be_one_tensor(named, draws):
    _, loss, expected = named
    y, outputs = draws
    theta = [
        t.detach().reshape(100, 2) for t in leaves(expected.link(outputs[:, : len(expected.parameters)]))
    ]
    target = torch.tensor(y).reshape(100, 2)
    assert_allclose(loss(torch.cat(theta, dim=-1), target), loss(theta, target), rtol=1e-14)


def test_weights_that_mean_nothing_are_refused():
    theta = [torch.ones(3, 1)] * 4
    target = torch.ones(3, 1)
    with pytest.raises(ValueError, match=r"weight has shape \(3,\) but target has \(3, 1\).*expand_as"):
        robust.gcp_loss(theta, target, weight=torch.ones(3))
    for bad in (-1.0, np.nan):
        with pytest.raises(ValueError, match=r"weight has 1 entries that are negative or NaN.*at \(1, 0\)"):
            robust.gcp_loss(theta, target, weight=torch.tensor([[1.0], [bad], [1.0]]))
    with pytest.raises(ValueError, match="nan_policy is 'propagate'"):
        robust.GCPLoss(nan_policy="propagate")
