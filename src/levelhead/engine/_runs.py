"""The training of one network, seen from Python."""

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelhead.engine import _random
from levelhead.engine._epochs import train_epochs
from levelhead.engine._layout import Layout, initial_weights
from levelhead.engine._records import (
    BEST_EPOCH,
    DIVERGED,
    END,
    EPOCHS,
    N_STATUS,
    RUNNING,
    STEPS,
    STOPPED,
    Data,
    Keys,
    State,
    Workspace,
    settings_of,
    workspace,
)
from levelhead.engine._simd import BLOCK, n_blocks, room
from levelhead.engine._team import Team, team
from levelhead.engine._types import Rows
from levelhead.engine.descriptions import Architecture, Job, Network, OptimizerState, Recipe, Stopping
from levelhead.engine.networks import as_matrix, one_type
from levelhead.engine.objectives import Objective


class Space:
    """Buffers of one thread, allocated once; the members of a team share `rest`."""

    def __init__(
        self, plan: Layout, recipe: Recipe, n_rows: int, n_held: int, shared: Workspace | None
    ) -> None:
        batch = min(recipe.batch_size, n_rows)
        self.buffers = plan.buffers(batch if n_held == 0 else BLOCK)
        n_labels = n_held * plan.n_outputs // recipe.objective.n_outputs
        self.rest = shared or workspace(plan, batch, n_labels, recipe.variational is not None)
        self.mixed = np.empty(n_rows, dtype=np.int64)


def count_targets(architecture: Architecture, objective: Objective) -> int:
    """How many targets the outputs of a network describe; refuse an architecture that does not fit the loss."""
    n_targets, left = divmod(architecture.n_outputs, objective.n_outputs)
    if left or not n_targets:
        raise ValueError(
            f"{objective.name} needs {objective.n_outputs} outputs for each target, the architecture has "
            f"{architecture.n_outputs}"
        )
    return n_targets


def data_of(
    X: ArrayLike | None,
    y: ArrayLike | None,
    weight: ArrayLike | None,
    architecture: Architecture,
    n_targets: int,
    whose: str,
) -> Data:
    """Check data and bring them into the form that the kernels read."""
    if X is None or y is None:
        raise ValueError(f"{whose}: give X and y, in the job or in the call")
    X = as_matrix(X, architecture.n_features)
    y = np.ascontiguousarray(y, dtype=np.float32)
    weight = np.empty(0, np.float32) if weight is None else np.ascontiguousarray(weight, dtype=np.float32)
    of_rows, of_labels = (len(X),), (len(X), n_targets)
    if y.shape != of_labels and (n_targets > 1 or y.shape != of_rows):
        needed = f"; the outputs are those of {n_targets} targets" if n_targets > 1 else ""
        raise ValueError(f"{whose}: X has {len(X)} rows, y has shape {y.shape}{needed}")
    if weight.shape not in ((0,), of_rows, of_labels):
        raise ValueError(f"{whose}: X has {len(X)} rows, sample_weight has shape {weight.shape}")
    if weight.shape == of_rows:
        weight = np.repeat(weight, n_targets)
    return Data(X, one_type(y.ravel()), one_type(weight.ravel()), n_targets)


class Common(NamedTuple):
    """What the runs of one call share."""

    architecture: Architecture
    plan: Layout
    recipe: Recipe
    stopping: Stopping | None
    n_targets: int
    data: Data | None
    every_row: np.ndarray


class Run:
    """The training of one network: its data, its padded weights, and its progress."""

    def __init__(self, common: Common, job: Job, place: int) -> None:
        self.common, self.job, self.place = common, job, place
        name = f"job {place}"
        self.data = _own_data(common, job, name)
        n = len(self.data.X)
        if job.rows is not None:
            self.rows = _indices(job.rows, n, f"{name}: rows")
        else:
            self.rows = common.every_row if job.X is None else np.arange(n)
        self.held = np.empty(0, np.int64)
        if common.stopping is not None:
            self.held = _indices(() if job.held_out is None else job.held_out, n, f"{name}: held_out")
        self.settings = settings_of(common.recipe, common.stopping)
        purposes = (_random.SHUFFLE, _random.DROPOUT, _random.POSTERIOR)
        self.keys = Keys(*(_random.stream(job.seed, job.network, purpose) for purpose in purposes))
        self._check(job.start)
        self.epochs, self.ended = job.start.epochs if job.start else 0, False
        self.loss_curve = [job.start.loss_curve if job.start else np.empty(0)]
        self.score_curve = [job.start.score_curve if job.start else np.empty(0)]

    def _check(self, start: Network | None) -> None:
        common, outputs = self.common, self.job.initial_outputs
        if outputs is not None and len(outputs) != common.architecture.n_outputs:
            raise ValueError(
                f"job {self.place}: initial_outputs has {len(outputs)} numbers for "
                f"{common.architecture.n_outputs} outputs"
            )
        if start is None:
            return
        same_kind = (start.rho is None) == (common.recipe.variational is None)
        if start.architecture != common.architecture or not same_kind:
            raise ValueError(
                f"job {self.place}: the network to continue from has another architecture or kind"
            )

    @cached_property
    def state(self) -> State:
        """Weights, optimiser state and counters: new, or those of the network to continue from.

        Created when the run begins, so that thousands of waiting jobs take no memory.
        """
        start = self.job.start or _new_network(self.common.architecture, self.common.recipe, self.job)
        parts, plan = [start.weights] if start.rho is None else [start.weights, start.rho], self.common.plan
        w, first, second, best = room(*[len(parts) * plan.size] * 4)
        w.reshape(len(parts), -1)[:, plan.place] = parts
        status = np.zeros(N_STATUS, dtype=np.int64)
        if start.state is not None:
            for own, given in ((first, start.state.first), (second, start.state.second)):
                own.reshape(len(parts), -1)[:, plan.place] = given.reshape(len(parts), -1)
            status[STEPS] = start.state.steps
        status[EPOCHS] = status[BEST_EPOCH] = start.epochs
        return State(w, first, second, best, np.array([np.inf]), status)

    @property
    def left(self) -> int:
        """Epochs still to do."""
        return 0 if self.ended else self.common.recipe.epochs - self.epochs

    @property
    def steps_per_epoch(self) -> int:
        """Steps of the optimiser in one epoch."""
        return -(-len(self.rows) // min(self.common.recipe.batch_size, len(self.rows)))

    def advance(self, n_epochs: int, spaces: list[Space], pool: ThreadPoolExecutor) -> "Run":
        """Return a copy of this run that is up to n_epochs further; this one does not change."""
        ahead = copy(self)
        arrays = self.state[:4]
        fresh = room(*(len(array) for array in arrays))
        for new, old in zip(fresh, arrays, strict=True):
            new[:] = old
        ahead.state = State._make([*fresh, self.state.best_score.copy(), self.state.status.copy()])
        curve = np.empty(n_epochs)
        scores = np.empty(n_epochs if len(self.held) else 0)
        what = (self.common.plan.net, self.settings, self.data, self.rows, self.held, self.keys, ahead.state)

        def member(space: Space, place: Team) -> None:
            where = (space.mixed[: len(self.rows)], space.buffers, space.rest, place)
            with np.errstate(all="ignore"):
                train_epochs(*what, n_epochs, curve, scores, *where)

        places = team(len(spaces), n_blocks(min(self.common.recipe.batch_size, len(self.rows))))
        rest = [pool.submit(member, *pair) for pair in zip(spaces[1:], places[1:], strict=True)]
        member(spaces[0], places[0])
        for other in rest:
            other.result()
        ahead.epochs, ahead.ended = int(ahead.state.status[EPOCHS]), ahead.state.status[END] != RUNNING
        done = ahead.epochs - self.epochs
        ahead.loss_curve = [*self.loss_curve, curve[:done]]
        ahead.score_curve = [*self.score_curve, scores[:done]]
        return ahead

    def network(self) -> Network:
        """The network as the caller gets it."""
        state, n_parts, place = self.state, len(self.state.w) // self.common.plan.size, self.common.plan.place
        flat: Any = lambda padded: padded.reshape(n_parts, -1)[:, place].ravel()
        watched = bool(np.isfinite(state.best_score[0]))
        locations, *rho = flat(state.best if watched else state.w).reshape(n_parts, -1)
        return Network(
            self.common.architecture,
            locations,
            rho[0] if rho else None,
            OptimizerState(flat(state.first), flat(state.second), int(self.state.status[STEPS])),
            self.epochs,
            np.concatenate(self.loss_curve),
            np.concatenate(self.score_curve),
            int(self.state.status[BEST_EPOCH]) if watched else self.epochs,
            bool(self.state.status[END] == STOPPED),
        )

    @property
    def diverged(self) -> bool:
        """Whether a number is no longer finite."""
        return bool(self.state.status[END] == DIVERGED)

    def reason(self) -> str:
        """The probable reason for divergence, and what to do."""
        used = np.concatenate([self.rows, self.held])
        labels, weight = (part.reshape(-1, self.data.n_targets) for part in self.data[1:3])
        for name, values in (("X", self.data.X), ("y", labels), ("sample_weight", weight)):
            if len(values) and not np.isfinite(values[used]).all():
                at = used[~np.isfinite(values[used]).all(axis=1)][0]
                return f"{name} is not finite at row {at}; remove or fix it"
        largest = max(float(np.abs(self.data.X[used]).max()), float(np.abs(labels[used]).max()))
        return (
            f"the largest number in its data is {largest:.3g}, "
            f"the learning rate {self.common.recipe.learning_rate:g}; "
            "scale the data, lower the learning rate or clip the gradient"
        )


def _own_data(common: Common, job: Job, name: str) -> Data:
    """The data of a job: a job with its own X shares nothing; otherwise missing parts are those of the call."""
    shared = common.data
    if job.X is not None or shared is None:
        return data_of(job.X, job.y, job.sample_weight, common.architecture, common.n_targets, name)
    if job.y is None and job.sample_weight is None:
        return shared
    y, weight = (part.reshape(-1, common.n_targets) for part in shared[1:3])
    y = y if job.y is None else job.y
    weight = weight if job.sample_weight is None else job.sample_weight
    return data_of(shared.X, y, weight if len(weight) else None, common.architecture, common.n_targets, name)


def _indices(given: ArrayLike, n: int, name: str) -> Rows:
    rows = np.ascontiguousarray(given)
    if rows.dtype == bool:
        raise ValueError(f"{name}: a mask was given; pass indices (np.flatnonzero of it)")
    if rows.size == 0:
        raise ValueError(f"{name}: no rows are given")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"{name}: give a vector of whole numbers, got {rows.dtype} of shape {rows.shape}")
    rows = rows.astype(np.int64)
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"{name}: indices range from {rows.min()} to {rows.max()}, the data has {n} rows")
    return rows


def _new_network(architecture: Architecture, recipe: Recipe, job: Job) -> Network:
    key = _random.stream(job.seed, job.network, _random.INIT)
    rho = None
    if recipe.variational is None:
        weights = initial_weights(architecture, recipe, key)
    else:
        n = architecture.n_weights
        drawn = (recipe.variational.init_std * _random.normals(key, 2 * n)).astype(np.float32)
        weights, rho = drawn[:n], drawn[n:]
    if job.initial_outputs is not None:
        values = np.asarray(job.initial_outputs, dtype=np.float32).reshape(architecture.n_trunks, -1)
        for trunk, value in zip(architecture.unpack(weights), values, strict=True):
            trunk[-1][1][:] = value
    return Network(architecture, weights, rho)
