"""A head that returns one tensor trains in lightning-uq-box, as the manual shows it."""

from functools import partial

import torch
from lightning import Trainer
from lightning_uq_box.uq_methods import DeterministicRegression
from torch.utils.data import DataLoader, Dataset

from levelhead.torch import GCPHead, GCPLoss, label_audit, prognosis


class Rows(Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.x = torch.rand(600, 1, generator=g)
        self.truth = torch.sin(3 * self.x)
        self.y = self.truth + 0.1 * torch.randn(600, 1, generator=g)
        self.y[::10] = 8.0

    def __len__(self):
        return 600

    def __getitem__(self, k):
        return {"input": self.x[k], "target": self.y[k]}


def test_it_trains_with_the_head_as_one_tensor(tmp_path):
    torch.manual_seed(0)
    rows = Rows()
    head = GCPHead(32, as_tensor=True).start_from(rows.y)
    network = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), head)
    method = DeterministicRegression(network, GCPLoss(), optimizer=partial(torch.optim.Adam, lr=1e-2))
    trainer = Trainer(
        max_epochs=30,
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(method, DataLoader(rows, batch_size=60, shuffle=True))
    with torch.no_grad():
        mean = prognosis(network(rows.x)).mean
        assert torch.equal(mean, method.predict_step(rows.x)["pred"])
    assert (mean - rows.truth).square().mean().sqrt() < 0.1
    audit = label_audit([(rows.x, rows.y)], network)
    assert audit.is_label_issue[::10].all()
