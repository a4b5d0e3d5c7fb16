"""The package as a whole: its examples, its devices, and what it says when PyTorch is missing."""

import doctest
import importlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from levelhead import torch as robust
from levelhead.torch import _student

MODULES = ("auditing", "distributions", "ensembles", "heads", "losses", "parameters", "special")


@pytest.mark.parametrize("name", ["levelhead.torch", *(f"levelhead.torch.{module}" for module in MODULES)])
def test_examples_in_docstrings(name):
    torch.manual_seed(0)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_nothing_is_tied_to_a_device():
    """The meta device computes shapes only, and refuses every tensor of another device."""
    with torch.device("meta"):
        head, baseline = robust.GCPHead(4, 2), robust.NormalHead(4, 2)
        x, y = torch.zeros(5, 4), torch.zeros(5, 2)
    for form in ("student", "kl"):
        robust.gcp_loss(head(x), y, form=form).backward()
    robust.beta_divergence_loss(baseline(x), y, beta=0.3).backward()
    robust.gamma_divergence_loss(baseline(x), y, gamma=0.3).backward()
    parameters = head(x)
    students = [
        f(y, parameters.alpha) for f in (_student.log_density, _student.distribution, _student.quantile)
    ]
    for answer in (robust.prognosis(parameters).variance, *students):
        assert answer.device.type == "meta"
        assert answer.shape == (5, 2)


def test_a_missing_extra_is_named():
    block = "import sys; sys.modules['torch'] = None; import levelhead.torch"
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert "pip install '.[torch]'" in done.stderr.splitlines()[-1]


def test_levelhead_itself_does_not_import_torch():
    block = "import sys, levelhead; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", block], check=True)


class Traffic(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes every operation that moves values between host and device, or asks a device for a value."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        answer = function(*args, **(kwargs or {}))
        tensors = [t for t in torch.utils._pytree.tree_leaves((args, answer)) if isinstance(t, torch.Tensor)]
        asks = {"aten::_local_scalar_dense", "aten::lift_fresh", "aten::nonzero", "aten::is_nonzero"}
        if function.name().partition(".")[0] in asks or any(t.device.type != "meta" for t in tensors):
            self.seen.append(function.name())
        return answer


class Made(torch.overrides.TorchFunctionMode):
    """Notes tensors that are made from values of the host, in the same list."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.tensor, torch.as_tensor, torch.from_numpy):
            self.seen.append(function.__name__)
        return function(*args, **(kwargs or {}))


def test_losses_and_quantiles_move_nothing_between_host_and_device():
    with torch.device("meta"):
        head, other = robust.GCPHead(4, 2), robust.NormalHead(4, 2)
        x, y, weight = torch.zeros(5, 4), torch.zeros(5, 2), torch.zeros(5, 2)
    with Traffic() as traffic, Made(traffic.seen):
        for options in ({}, {"weight": weight}, {"nan_policy": "omit"}):
            for form in ("student", "kl"):
                robust.gcp_loss(head(x), y, form=form, **options).backward()
            robust.beta_divergence_loss(other(x), y, beta=0.3, **options).backward()
            robust.gamma_divergence_loss(other(x), y, gamma=0.3, **options).backward()
        parameters = head(x)
        _student.distribution(y, parameters.alpha)
        _student.quantile(y, parameters.alpha)
    assert traffic.seen == []


def test_the_record_of_traffic_sees_a_copy():
    with Traffic() as traffic, Made(traffic.seen):
        torch.tensor([1.0, 2.0], device="meta")
        assert "tensor" in traffic.seen
        traffic.seen.clear()
        torch.zeros(3, device="cpu").to("meta")
        assert "aten::_to_copy" in traffic.seen
