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
        head, rival = robust.GCPHead(4, 2), robust.NormalHead(4, 2)
        x, y = torch.zeros(5, 4), torch.zeros(5, 2)
    for form in ("student", "kl"):
        robust.gcp_loss(head(x), y, form=form).backward()
    robust.beta_divergence_loss(rival(x), y, beta=0.3).backward()
    robust.gamma_divergence_loss(rival(x), y, gamma=0.3).backward()
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
