"""Networks that are trained together end where they would have ended alone."""

import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead import torch as robust


def networks(n):
    torch.manual_seed(0)
    return [torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), robust.GCPHead(8)) for _ in range(n)]


@pytest.fixture
def data():
    torch.manual_seed(1)
    x = torch.randn(64, 3)
    return x, x[:, :1] + 0.1 * torch.randn(64, 1)


def steps(module, loss, n=15):
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(n):
        optimizer.zero_grad()
        loss(module).backward()
        optimizer.step()


def test_members_in_one_call_equal_members_alone(data):
    x, y = data
    members = networks(4)
    y = y.clone()
    stacked = robust.stack_heads(members)
    for member in members:
        steps(member, lambda net: robust.gcp_loss(net(x), y))
    target = y.expand(4, *y.shape)
    steps(stacked, lambda net: robust.gcp_loss(net(x), target, reduction="none").mean((1, 2)).sum())
    together = stacked(x)
    for k, (member, copy) in enumerate(zip(members, stacked.unstack(), strict=True)):
        for got, alone, unstacked in zip(together, member(x), copy(x), strict=True):
            assert_allclose(got[k].detach(), alone.detach(), rtol=1e-4, atol=1e-5)
            assert_allclose(unstacked.detach(), got[k].detach(), rtol=1e-5, atol=1e-6)


def test_each_member_may_have_its_own_rows(data):
    x, _ = data
    members = networks(2)
    stacked = robust.stack_heads(members)
    own = torch.stack([x[:32], x[32:]])
    parameters = stacked(own, each=True)
    for k, member in enumerate(members):
        assert_allclose(parameters.m[k].detach(), member(own[k]).m.detach(), rtol=1e-5, atol=1e-6)


def test_dropout_differs_between_members_and_rests_in_evaluation():
    member = torch.nn.Sequential(torch.nn.Linear(3, 50), torch.nn.Dropout(0.5), robust.GCPHead(50))
    stacked = robust.stack_heads([member, member])
    x = torch.randn(10, 3)
    assert not torch.equal(*stacked(x).m)
    assert torch.equal(*stacked.eval()(x).m)


def test_state_survives_saving(data, tmp_path):
    x, _ = data
    stacked, other = robust.stack_heads(networks(3)), robust.stack_heads(networks(4)[1:])
    torch.save(stacked.state_dict(), tmp_path / "members.pt")
    other.load_state_dict(torch.load(tmp_path / "members.pt"))
    assert_allclose(other(x).m.detach(), stacked(x).m.detach())


def test_mixture_of_the_members(data):
    x, _ = data
    whole = robust.mixture(robust.stack_heads(networks(3))(x).clean())
    assert whole.mean.shape == (64, 1)


def test_refuses_what_cannot_be_stacked():
    with pytest.raises(ValueError, match="at least one"):
        robust.stack_heads([])
    with pytest.raises(ValueError, match="module 1 differs"):
        robust.stack_heads([robust.GCPHead(3), robust.GCPHead(4)])
