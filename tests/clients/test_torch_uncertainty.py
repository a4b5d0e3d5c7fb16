"""The head trains in torch-uncertainty's routine, as the manual shows it."""

import pytest
import torch
from lightning.pytorch import Trainer
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty.losses import DistributionNLLLoss
from torch_uncertainty.routines import RegressionRoutine

from levelhead.torch import GCPHead, gcp_loss, prognosis


class AsStudent(torch.nn.Module):
    def forward(self, parameters):
        t = parameters.contaminated()
        return {"df": t.df, "loc": t.loc, "scale": t.scale}


def test_its_likelihood_is_the_gcp_loss_and_trains(tmp_path):
    torch.manual_seed(0)
    x = torch.rand(600, 1)
    truth = torch.sin(3 * x)
    y = truth + 0.1 * torch.randn(600, 1)
    y[::10] = 8.0
    network = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), GCPHead(32).start_from(y))
    model = torch.nn.Sequential(network, AsStudent())
    routine = RegressionRoutine(
        model,
        output_dim=1,
        loss=DistributionNLLLoss(),
        dist_family="student",
        optim_recipe=torch.optim.Adam(model.parameters(), lr=1e-2),
    )
    routine.log = lambda *args, **kwargs: None
    assert routine.training_step((x, y[:, 0])).item() == pytest.approx(
        gcp_loss(network(x), y).item(), rel=1e-5
    )
    del routine.log
    trainer = Trainer(
        max_epochs=30,
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    loader = DataLoader(TensorDataset(x, y[:, 0]), batch_size=60, shuffle=True)
    trainer.fit(routine, loader, loader)
    assert (prognosis(network(x)).mean - truth).square().mean().sqrt() < 0.1
