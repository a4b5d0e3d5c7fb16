"""The arguments of the training kernel, as named tuples of plain numbers and arrays.

Their types never change (whole numbers are int, others float, arrays one type each), so that a kernel is compiled once.
"""

from typing import NamedTuple

import numpy as np

from levelhead.engine._layout import Layout
from levelhead.engine._simd import n_blocks, room
from levelhead.engine.descriptions import OPTIMIZERS, SCHEDULES, Recipe, Stopping


class Data(NamedTuple):
    """Rows that networks train on; labels and weights of target t of row i are at i·n_targets + t."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # empty: all 1
    n_targets: int


class Settings(NamedTuple):
    """A recipe as the kernels read it."""

    objective: int
    constants: np.ndarray
    optimizer: int
    learning_rate: float
    schedule: int
    rate: float
    every: int
    beta1: float
    beta2: float
    epsilon: float
    momentum: float
    batch: int
    drop_last: int
    threshold: int  # an entry is dropped if its 16 random bits are below
    penalty: float
    clip: float  # 0: none
    patience: int
    tol: float
    n_samples: int  # 0: point weights
    prior_std: float


class Keys(NamedTuple):
    """Random streams of a network."""

    shuffle: np.uint64
    dropout: np.uint64
    posterior: np.uint64


class State(NamedTuple):
    """What training changes; the weights of a variational network are its locations followed by ρ."""

    w: np.ndarray
    first: np.ndarray
    second: np.ndarray
    best: np.ndarray
    best_score: np.ndarray
    status: np.ndarray


class Workspace(NamedTuple):
    """What a thread needs beyond `Buffers`; the fields of variational networks are empty for others."""

    g: np.ndarray  # gradients of the blocks of a minibatch
    losses: np.ndarray  # of the held-out rows, one target after the other
    live: np.ndarray  # 1 at weights, 0 at padding
    noise: np.ndarray
    drawn: np.ndarray
    total: np.ndarray


# Entries of State.status: steps and epochs done, epochs without improvement, the best epoch, how it ended.
STEPS, EPOCHS, BAD, BEST_EPOCH, END, N_STATUS = range(6)
RUNNING, STOPPED, DIVERGED = range(3)


def workspace(plan: Layout, batch: int, n_held: int, variational: bool) -> Workspace:
    """Room for minibatches of a size, losses of held-out labels, and samples of a variational network."""
    n_gradients = max(n_blocks(batch), 2 if variational else 1)
    own = plan.size if variational else 0
    sizes = (n_gradients * plan.size, n_held, own, own, own, 2 * own)
    space = Workspace._make(room(*sizes))
    if variational:
        space.live[plan.place] = 1
    return space


def settings_of(recipe: Recipe, stopping: Stopping | None) -> Settings:
    """The recipe as the kernel reads it."""
    variational = recipe.variational
    return Settings(
        objective=recipe.objective.code,
        constants=recipe.objective.packed(),
        optimizer=OPTIMIZERS.index(recipe.optimizer),
        learning_rate=float(recipe.learning_rate),
        schedule=SCHEDULES.index(recipe.schedule.kind),
        rate=float(recipe.schedule.rate),
        every=int(recipe.schedule.every),
        beta1=float(recipe.betas[0]),
        beta2=float(recipe.betas[1]),
        epsilon=float(recipe.epsilon),
        momentum=float(recipe.momentum),
        batch=int(recipe.batch_size),
        drop_last=int(recipe.drop_last),
        threshold=min(round(recipe.dropout * 65536), 65535),
        penalty=float(recipe.weight_decay),
        clip=float(recipe.clip or 0),
        patience=int(stopping.patience) if stopping else 2**62,
        tol=float(stopping.tol) if stopping else 0.0,
        n_samples=int(variational.n_samples) if variational else 0,
        prior_std=float(variational.prior_std) if variational else 1.0,
    )
