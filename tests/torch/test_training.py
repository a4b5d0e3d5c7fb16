"""The head works unchanged in Lightning, in skorch, and on two processes."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead import torch as robust

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def data():
    """y = 2x with noise of standard deviation 0.2; one label in ten is 20."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1000, 1, generator=generator)
    y = 2 * x + 0.2 * torch.randn(1000, 1, generator=generator)
    y[::10] = 20
    return x, y


def network(y):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), robust.GCPHead(16).start_from(y))


def assert_recovered(net):
    at = torch.tensor([[-1.0], [0.0], [1.0]])
    mean, variance, _ = robust.prognosis(net(at))
    assert_allclose(mean.detach(), 2 * at, atol=0.25)
    assert (variance < 0.15).all()


def run(*command):
    """What a process of its own prints; its errors are shown if it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


# Lightning speaks of workers and of its own deprecated imports; our code has no part in it.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_lightning(data, tmp_path):
    lightning = pytest.importorskip("pytorch_lightning")

    class Robust(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network(data[1])
            self.loss = robust.GCPLoss()

        def training_step(self, batch, _):
            x, y = batch
            return self.loss(self.network(x), y)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 2e-2)

    module = Robust()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data), 100, shuffle=True)
    trainer = lightning.Trainer(
        max_epochs=25,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(module, loader)
    assert_recovered(module.network)


@pytest.mark.slow
def test_skorch(data):
    skorch = pytest.importorskip("skorch")
    x, y = (array.numpy() for array in data)
    net = skorch.NeuralNetRegressor(
        network(data[1]),
        criterion=robust.GCPLoss,
        criterion__form="kl",
        optimizer=torch.optim.Adam,
        lr=2e-2,
        max_epochs=25,
        batch_size=100,
        train_split=None,
        verbose=0,
    )
    net.fit(x, y)
    assert_recovered(net.module_)
    assert_allclose(net.predict(np.array([[1.0]], dtype=np.float32)), [[2.0]], atol=0.25)  # m comes first


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    options = ("--rows", "2000", "--epochs", "2", "--batch", "100", "--save")
    importlib.import_module("distributed_training").main([*options, str(tmp_path / "one.pt")])
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    both = run(*torchrun, str(EXAMPLES / "distributed_training.py"), *options, str(tmp_path / "two.pt"))
    assert capsys.readouterr().out == both
    one, two = torch.load(tmp_path / "one.pt"), torch.load(tmp_path / "two.pt")
    assert one.keys() == two.keys()
    for name, weight in one.items():
        assert_allclose(weight, two[name], rtol=1e-3, atol=1e-5, err_msg=name)
    torch.manual_seed(0)
    assert not torch.allclose(one["0.weight"], torch.nn.Linear(1, 32).weight, atol=1e-2)  # it has moved
