r"""Trains a robust head on as many processes as `torchrun` starts, with PyTorch's own engine.

    python examples/distributed_training.py                                       # one process
    torchrun --standalone --nproc_per_node=2 examples/distributed_training.py     # two on this machine
    torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=HOST \
        examples/distributed_training.py                                          # on each of four machines

Nothing in `levelhead.torch` knows of the other processes: `DistributedDataParallel` averages the gradients.
Every process takes its share of the rows of each batch, so that the weights are the same, up to rounding, as
those of one process that sees the whole batch.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from levelhead.torch import GCPHead, GCPLoss, prognosis


def make_data(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Y = sin 3x with noise of standard deviation 0.1 + 0.2x; one label in ten is wrong."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, generator=generator)
    y = torch.sin(3 * x) + (0.1 + 0.2 * x) * torch.randn(n, 1, generator=generator)
    wrong = torch.rand(n, 1, generator=generator) < 0.1
    return x, torch.where(wrong, 4 + 8 * torch.rand(n, 1, generator=generator), y)


def train(
    network: nn.Module, x: Tensor, y: Tensor, *, epochs: int, batch: int, rank: int, world: int
) -> None:
    """The usual loop; process `rank` of `world` takes every `world`-th row of each batch."""
    if batch % world:
        raise ValueError(f"a batch of {batch} rows cannot be shared equally by {world} processes")
    loss = GCPLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    order = torch.Generator().manual_seed(0)  # the same on every process
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=order).split(batch):
            if len(rows) < batch:
                break
            mine = rows[rank::world]
            optimizer.zero_grad()
            loss(network(x[mine]), y[mine]).backward()
            optimizer.step()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--save", type=Path, help="write the weights here")
    chosen = parser.parse_args(arguments)
    world, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    torch.set_num_threads(1)
    torch.manual_seed(0)  # the same first weights on every process
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    x, y = (tensor.to(device) for tensor in make_data(chosen.rows, seed=1))
    trunk = (nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
    network = nn.Sequential(*trunk, GCPHead(32).start_from(y)).to(device)
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    wrapped = DistributedDataParallel(network) if world > 1 else network
    train(wrapped, x, y, epochs=chosen.epochs, batch=chosen.batch, rank=rank, world=world)
    if rank == 0:
        at = torch.tensor([[0.1], [0.5], [0.9]], device=device)
        mean, variance, _ = prognosis(network(at))
        for place, m, v in zip(at, mean, variance, strict=True):
            print(f"x = {place.item():.1f}: {m.item():.3f} ± {v.sqrt().item():.3f}")
        if chosen.save:
            torch.save(network.state_dict(), chosen.save)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
