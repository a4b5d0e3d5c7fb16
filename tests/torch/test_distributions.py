"""Student's t with cdf and icdf against scipy, their derivatives, and mixtures."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import stdtr

torch = pytest.importorskip("torch")

from levelhead.torch import GCPParameters, NormalParameters, StudentT, mixture

DOF = [0.2, 0.5, 1, 2, 3, 5, 10, 30, 100, 1e3, 1e4, 1e6]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}
SMALLEST = {torch.float32: 1e-36, torch.float64: 1e-290}


@pytest.fixture(params=TOLERANCE, ids=str)
def dtype(request):
    return request.param


def grid(dtype, values):
    dof, at = np.meshgrid(DOF, values)
    return torch.tensor(dof, dtype=dtype), torch.tensor(at, dtype=dtype)


def test_cdf_keeps_its_relative_precision_in_the_tail(dtype):
    dof, t = grid(dtype, np.r_[0, -np.geomspace(1e-4, 1e3, 70)])
    exact = stdtr(dof.double().numpy(), t.double().numpy())
    seen = exact > SMALLEST[dtype]
    got = StudentT(dof).cdf(t).double().numpy()
    assert seen.sum() > 600
    assert_allclose(got[seen], exact[seen], rtol=TOLERANCE[dtype])
    assert_allclose(StudentT(dof).cdf(-t).double().numpy(), 1 - exact, atol=TOLERANCE[dtype] / 10)


def test_icdf_inverts_scipys_cdf(dtype):
    dof, p = grid(dtype, np.r_[np.geomspace(SMALLEST[dtype] * 1e5, 0.5, 60), np.linspace(0.5, 0.999, 9)])
    t = StudentT(dof).icdf(p).double().numpy()
    reach = np.abs(t) < 1e100  # scipy squares it
    back = stdtr(dof.double().numpy(), np.where(reach, t, 0))
    assert not np.isnan(t).any()
    assert reach.sum() > 500
    assert_allclose(back[reach], p.double().numpy()[reach], rtol=2 * TOLERANCE[dtype])


def test_quantiles_beyond_what_scipy_can_square():
    p, dof = 1e-40, 0.3
    t = StudentT(torch.tensor(dof, dtype=torch.float64)).icdf(torch.tensor(p, dtype=torch.float64)).item()
    with mpmath.workdps(40):
        share = mpmath.betainc(
            dof / 2, mpmath.mpf(1) / 2, 0, dof / (dof + mpmath.mpf(t) ** 2), regularized=True
        )
        assert float(share / 2) == pytest.approx(p, rel=1e-12)
    assert t < -1e130


def test_ends_of_both_functions(dtype):
    t = StudentT(torch.tensor([0.2, 1.0, 50.0, 1e9], dtype=dtype))
    infinity = torch.tensor(float("inf"), dtype=dtype)
    assert_allclose(t.cdf(-infinity), 0)
    assert_allclose(t.cdf(infinity), 1)
    assert (t.icdf(torch.tensor(0.0)) == -infinity).all()
    assert (t.icdf(torch.tensor(1.0)) == infinity).all()
    assert_allclose(t.icdf(torch.tensor(0.5)), 0, atol=1e-6)
    assert t.icdf(torch.tensor([-0.1, 1.1, float("nan"), 2.0])).isnan().all()


@pytest.mark.slow
def test_derivatives_by_argument_and_degrees_of_freedom():
    dof = torch.tensor([0.3, 1.0, 4.0, 60.0], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([-2.0, 0.7, -0.01, 3.0], dtype=torch.float64, requires_grad=True)
    p = torch.tensor([0.02, 0.3, 0.6, 0.999], dtype=torch.float64, requires_grad=True)
    cdf = lambda dof, t: StudentT(dof).cdf(t)
    icdf = lambda dof, p: StudentT(dof).icdf(p)
    for f, inputs in ((cdf, (dof, t)), (icdf, (dof, p))):
        assert torch.autograd.gradcheck(f, inputs)
        assert torch.autograd.gradgradcheck(f, inputs, fast_mode=True)


@pytest.mark.parametrize("t", [-50.0, -1.0, -1e-6, 0.0, 1e-9, 2.0])
def test_the_derivative_by_t_is_the_density_everywhere(t):
    at = torch.full((len(DOF),), t, dtype=torch.float64, requires_grad=True)
    dof = torch.tensor(DOF, dtype=torch.float64)
    (slope,) = torch.autograd.grad(StudentT(dof).cdf(at).sum(), at)
    assert_allclose(slope, stats.t.pdf(t, DOF), rtol=1e-11)


def test_single_precision_derivatives():
    dof = torch.tensor([0.5, 2.0, 20.0, 2e3], requires_grad=True)
    p = torch.tensor([0.001, 0.2, 0.5, 0.99])
    double = dof.detach().double().requires_grad_()
    (one,) = torch.autograd.grad(StudentT(dof).icdf(p).sum(), dof)
    (other,) = torch.autograd.grad(StudentT(double).icdf(p.double()).sum(), double)
    assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_log_prob_for_many_degrees_of_freedom_and_huge_labels():
    dof = torch.tensor([0.2, 3.0, 1e5, 1e7])
    y = torch.tensor([1e15, -2.0, 1.5, 0.3])
    exact = stats.t.logpdf(y.double().numpy(), dof.double().numpy(), 0.25, 2.0)
    got = StudentT(dof, torch.tensor(0.25), torch.tensor(2.0)).log_prob(y)
    assert_allclose(got, exact, rtol=1e-5)
    plain = torch.distributions.StudentT(dof, 0.25, 2.0).log_prob(y)
    assert (plain[3] - exact[3]).abs() > 1e-2  # why log_prob is ours


@pytest.mark.slow
def test_runs_under_vmap_and_compile():
    dof, t = torch.tensor([0.5, 2.0, 20.0]), torch.tensor([-1.0, 0.5, 3.0])
    both = lambda dof, t: StudentT(dof, validate_args=False).icdf(StudentT(dof, validate_args=False).cdf(t))
    assert_allclose(torch.vmap(both)(dof, t), t, rtol=1e-4)
    assert_allclose(torch.vmap(torch.func.grad(both, argnums=1))(dof, t), 1, rtol=1e-4)
    compiled = torch.compile(both, fullgraph=True, backend="eager")
    assert_allclose(compiled(dof, t), t, rtol=1e-4)


def test_samples_follow_the_cdf():
    torch.manual_seed(0)
    t = StudentT(torch.tensor(3.0), torch.tensor(1.0), torch.tensor(2.0))
    shares = t.cdf(t.sample((4000,))).double().numpy()
    assert stats.kstest(shares, "uniform").pvalue > 0.01


def test_expands_as_itself():
    wide = StudentT(torch.tensor(3.0)).expand((4, 2))
    assert isinstance(wide, StudentT)
    assert_allclose(wide.cdf(torch.zeros(4, 2)), 0.5)


def test_mixture_of_members():
    torch.manual_seed(0)
    members = NormalParameters(torch.randn(5, 7, 1), torch.rand(5, 7, 1) + 0.1)
    whole = mixture(members.clean())
    m, v = members.mean.numpy(), members.variance.numpy()
    assert whole.mean.shape == (7, 1)
    assert_allclose(whole.variance, (v + m**2).mean(0) - m.mean(0) ** 2, rtol=1e-5)
    density = stats.norm.pdf(0.3, m, np.sqrt(v)).mean(0)
    assert_allclose(whole.log_prob(torch.full((7, 1), 0.3)).exp(), density, rtol=1e-5)


def test_mixture_of_student_members():
    torch.manual_seed(0)
    members = GCPParameters(torch.randn(5, 7, 1), *torch.rand(3, 5, 7, 1) + 0.5)
    t = members.contaminated()
    shares = mixture(t).cdf(torch.zeros(7, 1))
    exact = stats.t.cdf(0, *(a.numpy() for a in (t.df, t.loc, t.scale))).mean(0)
    assert_allclose(shares, exact, rtol=1e-5)


@pytest.mark.parametrize("kind", ["normal", "student"])
def test_icdf_of_a_mixture_inverts_its_cdf(kind, dtype):
    torch.manual_seed(0)
    m, positive = 10 * torch.randn(5, 40, dtype=dtype), 2 * torch.rand(3, 5, 40, dtype=dtype) + 0.1
    members = (
        NormalParameters(m, positive[0] ** 4).clean()
        if kind == "normal"
        else GCPParameters(m, *positive).contaminated()
    )
    p = torch.tensor([[1e-3], [0.05], [0.5], [0.9], [0.999]], dtype=dtype)
    quantiles = mixture(members).icdf(p)
    assert quantiles.shape == (5, 40)
    assert (quantiles.diff(dim=0) > 0).all()
    assert_allclose(mixture(members).cdf(quantiles), p.expand(5, 40), atol=TOLERANCE[dtype])


def test_icdf_of_a_mixture_has_ends_and_crosses_gaps():
    apart = mixture(torch.distributions.Normal(torch.tensor([0.0, 1e4]), torch.tensor([1.0, 1.0])))
    levels = torch.tensor([0.0, 0.25, 0.75, 1.0, 1.5, -0.1, float("nan")])
    found = apart.icdf(levels)
    assert_allclose(found[:4], [-np.inf, 0, 1e4, np.inf], atol=1e-5)
    assert found[4:].isnan().all()


def test_icdf_of_a_mixture_of_equal_members_is_the_members():
    alone = StudentT(torch.full((3, 7), 3.0, dtype=torch.float64))
    p = torch.linspace(0.01, 0.99, 7, dtype=torch.float64)
    assert_allclose(mixture(alone).icdf(p), StudentT(torch.full((7,), 3.0, dtype=torch.float64)).icdf(p))


def test_derivatives_of_the_icdf_of_a_mixture():
    torch.manual_seed(0)
    mean = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    std = (torch.rand(3, 4, dtype=torch.float64) + 0.3).requires_grad_()
    p = torch.tensor([0.1, 0.3, 0.6, 0.97], dtype=torch.float64, requires_grad=True)
    icdf = lambda mean, std, p: mixture(torch.distributions.Normal(mean, std, validate_args=False)).icdf(p)
    assert torch.autograd.gradcheck(icdf, (mean, std, p))
    assert torch.autograd.gradgradcheck(icdf, (mean, std, p))


def test_a_quantile_at_an_end_leaves_the_gradients_of_the_others_finite():
    mean = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
    found = mixture(torch.distributions.Normal(mean, torch.ones(2, 2))).icdf(torch.tensor([0.0, 0.3]))
    (slope,) = torch.autograd.grad(found[1], mean)
    assert slope[:, 1].sum() == pytest.approx(1, abs=1e-5)
    assert (slope[:, 0] == 0).all()
