"""The special functions against the fifty-digit table, their derivatives, and every way PyTorch runs them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead.theory import special as reference
from levelhead.torch import special

TABLE = np.genfromtxt(Path(__file__).parents[1] / "data/special.csv", delimiter=",", names=True)
TABLE = TABLE[(TABLE["alpha"] >= 1e-6) & (TABLE["alpha"] <= 1e6)]
NAMES = ("A", "alpha_minus_A", "b", "delta_psi")
PRECISION = {torch.float32: 1e-6, torch.float64: 1e-12}


@pytest.fixture(params=PRECISION, ids=str)
def dtype(request):
    return request.param


@pytest.fixture(params=["minibatch", "large"])
def layout(request, monkeypatch):
    """Both ways of summing the series."""
    if request.param == "large":
        monkeypatch.setattr(special, "_MINIBATCH", 0)


def derivatives(alpha):
    """A′ has a series of its own; the others follow from equation (7)."""
    A, s, dA = reference.A(alpha), reference.alpha_minus_A(alpha), reference.dA(alpha)
    # b′ = 2(A − αA′)/A², where A − αA′ would cancel for small α; there A ≈ α − 4α²/π
    by_b = np.where(alpha > 1e-3, 2 * (A - alpha * dA) / A**2, np.nan)
    return {"A": dA, "alpha_minus_A": 2 * s / ((2 * alpha + 1) * A), "b": by_b}


@pytest.mark.parametrize("name", NAMES)
def test_values_over_twelve_decades(name, dtype, layout):
    alpha = torch.tensor(TABLE["alpha"], dtype=dtype)
    exact = getattr(reference, name)(alpha.double().numpy())  # at the α that was rounded
    assert_allclose(getattr(special, name)(alpha).double().numpy(), exact, rtol=PRECISION[dtype])
    if dtype == torch.float64:
        assert_allclose(getattr(special, name)(alpha).numpy(), TABLE[name], rtol=1e-12)


def test_log_gamma_ratio(dtype, layout):
    alpha = torch.tensor(TABLE["alpha"], dtype=dtype, requires_grad=True)
    value = special.log_gamma_ratio(alpha)
    exact = reference.log_gamma_ratio(alpha.detach().double().numpy())
    assert_allclose(value.detach().double().numpy(), exact, rtol=PRECISION[dtype], atol=PRECISION[dtype])
    (slope,) = torch.autograd.grad(value.sum(), alpha)
    exact = -reference.delta_psi(alpha.detach().double().numpy())
    assert_allclose(slope.double().numpy(), exact, rtol=PRECISION[dtype])


@pytest.mark.parametrize("name", ["A", "alpha_minus_A", "b"])
def test_derivatives_are_the_implicit_ones(name, dtype, layout):
    alpha = torch.tensor(TABLE["alpha"], dtype=dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(getattr(special, name)(alpha).sum(), alpha)
    exact = derivatives(alpha.detach().double().numpy())[name]
    known = np.isfinite(exact)
    assert_allclose(slope.double().numpy()[known], exact[known], rtol=PRECISION[dtype])


@pytest.mark.parametrize("name", [*NAMES, "log_gamma_ratio"])
def test_double_backward(name, layout):
    alpha = torch.tensor([0.1, 0.7, 2.0, 3.0, 40.0], dtype=torch.float64, requires_grad=True)
    f = getattr(special, name)
    slope = lambda alpha: torch.autograd.grad(f(alpha).sum(), alpha, create_graph=True)[0]
    assert torch.autograd.gradcheck(f, alpha)
    assert torch.autograd.gradcheck(slope, alpha)
    assert torch.autograd.gradgradcheck(slope, alpha)  # x = 0 at α = 2


# PyTorch's own forward-mode rules still use what PyTorch deprecates
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_func_transforms_agree_with_the_plain_function(name):
    f = getattr(special, name)
    alpha = torch.tensor([0.2, 1.0, 9.0], dtype=torch.float64)
    assert_allclose(torch.vmap(f)(alpha), f(alpha), rtol=1e-14)
    by_vmap = torch.vmap(torch.func.grad(f))(alpha)
    by_forward = torch.vmap(torch.func.jacfwd(f))(alpha)
    leaf = alpha.clone().requires_grad_()
    (by_autograd,) = torch.autograd.grad(f(leaf).sum(), leaf)
    assert_allclose(by_vmap, by_autograd, rtol=1e-13)
    assert_allclose(by_forward, by_autograd, rtol=1e-13)


@pytest.mark.slow
def test_compiles_into_one_graph():
    def all_of_them(alpha):
        return special.A(alpha) + special.alpha_minus_A(alpha) * special.b(alpha)

    # "aot_eager" traces and differentiates as the default does, without needing a C++ compiler
    compiled = torch.compile(all_of_them, fullgraph=True, backend="aot_eager")
    one, other = (torch.rand(6, dtype=torch.float64).requires_grad_() for _ in range(2))
    other.data.copy_(one.data)
    compiled(one).sum().backward()
    all_of_them(other).sum().backward()
    assert_allclose(compiled(one).detach(), all_of_them(other).detach(), rtol=1e-13)
    assert_allclose(one.grad, other.grad, rtol=1e-12)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_input_gives_single_precision_output(half):
    alpha = torch.tensor([0.5, 4.0], dtype=half)
    assert special.A(alpha).dtype == torch.float32
    assert_allclose(special.A(alpha), reference.A([0.5, 4.0]), rtol=1e-6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_allclose(special.A(alpha.float()), reference.A([0.5, 4.0]), rtol=1e-6)


@pytest.mark.parametrize("r", [0.0, 1e-12, 1e-3, 1.0, -1.0, 7.0, -1e12, 1e200])
def test_log1p_square(r):
    at = torch.tensor(r, dtype=torch.float64, requires_grad=True)
    value = special.log1p_square(at)
    (slope,) = torch.autograd.grad(value, at, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, at)
    exact = 2 * np.log(r) if r > 1e150 else np.log1p(r * r)
    assert_allclose(value.item(), exact, rtol=1e-14)
    assert_allclose(slope.item(), 0 if r == 0 else 2 / (r + 1 / r), rtol=1e-14)
    assert_allclose(
        curvature.item(), 2 * (1 - r * r) / (1 + r * r) ** 2 if abs(r) < 1e100 else 0, rtol=1e-12, atol=1e-15
    )
