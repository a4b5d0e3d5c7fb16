"""The Python loop around the training kernel: threads, progress, early stopping, interruption, errors."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from copy import copy
from time import perf_counter
from typing import NamedTuple

import numpy as np

from levelhead.engine import _epochs, _random
from levelhead.engine._epochs import Data, Keys, Settings, State, Workspace
from levelhead.engine._jit import JIT
from levelhead.engine._simd import BLOCK, n_blocks, room
from levelhead.engine._team import Team, team
from levelhead.engine.descriptions import (
    OPTIMIZERS,
    SCHEDULES,
    Architecture,
    Float32,
    Job,
    Network,
    OptimizerState,
    Recipe,
    Stopping,
)
from levelhead.engine.networks import Layout, as_matrix, cores, initial_weights, layout, one_type
from levelhead.engine.objectives import Objective

_BLOCK_SECONDS = 0.2  # a block of epochs lasts about this long: the grain of progress and of interruption


class Progress(NamedTuple):
    """What a callback is told after a block of epochs: place of the job, epochs done, last loss."""

    network: int
    epoch: int
    loss: float


class Diverged(ArithmeticError):
    """A network's loss, weights or optimiser state stopped being finite."""

    def __init__(self, network: int, epoch: int, hint: str):
        super().__init__(f"network {network} stopped being finite in epoch {epoch}: {hint}")
        self.network, self.epoch = network, epoch


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; `networks` holds every network as at the end of its last finished block."""

    def __init__(self, networks: list[Network]):
        super().__init__("training was interrupted")
        self.networks = networks


def train(
    architecture: Architecture,
    recipe: Recipe,
    jobs: Sequence[Job],
    *,
    X: Float32 | None = None,
    y: Float32 | None = None,
    sample_weight: Float32 | None = None,
    stopping: Stopping | None = None,
    callback: Callable[[Progress], None] | None = None,
    n_threads: int | None = None,
) -> list[Network]:
    """Train one network for each job and return them in the order of the jobs.

    The result of a job depends on its own description, data and recipe alone: it is the same to the last bit
    whatever the number of threads, the order of the jobs, and the company of other jobs.

    Parameters
    ----------
    architecture, recipe : what is trained, and how; `recipe.epochs` counts from each network's first epoch.
    jobs : the networks, each with its random stream, rows and perhaps its own data.
    X, y, sample_weight : data of the jobs that bring none; float32, C order, is used without a copy. The loss
        of a minibatch is the mean over its rows of weight times loss.
    stopping : early stopping, for which every job needs held-out rows.
    callback : called in this thread after every block of epochs of a network.
    n_threads : threads; None means all cores.

    Raises
    ------
    Diverged : a network's loss, weights or optimiser state stopped being finite.
    Interrupted : Ctrl-C; carries the networks as at the end of their last finished block.
    """
    plan = layout(architecture)
    if recipe.objective.n_outputs != architecture.n_outputs:
        raise ValueError(
            f"{recipe.objective.name} needs {recipe.objective.n_outputs} outputs, the architecture has "
            f"{architecture.n_outputs}"
        )
    shared = _data(X, y, sample_weight, architecture, "train") if X is not None else None
    every_row = np.arange(0 if shared is None else len(shared.y))
    runs = [
        _Run(architecture, plan, recipe, stopping, job, k, shared, every_row) for k, job in enumerate(jobs)
    ]
    _run_all(runs, callback, cores(n_threads))
    return [run.network() for run in runs]


def loss_and_gradient(
    architecture: Architecture,
    objective: Objective,
    weights: Float32,
    X: Float32,
    y: Float32,
    *,
    sample_weight: Float32 | None = None,
    weight_decay: float = 0.0,
) -> tuple[float, Float32]:
    """Mean loss of all rows plus penalty, without dropout, and its gradient by the flat weights."""
    plan = layout(architecture)
    settings = _settings(Recipe(objective=objective, weight_decay=weight_decay), None)
    data = _data(X, y, sample_weight, architecture, "loss_and_gradient")
    rows = np.arange(len(data.y))
    g = _epochs.workspace(plan, len(rows), n_held=0, variational=False).g
    (alone,) = team(1, n_blocks(len(rows)))
    with np.errstate(all="ignore"):
        total = _epochs.whole_gradient(
            plan.net, settings, data, rows, plan.pack(weights), plan.buffers(), g, alone
        )
    squares = 0.0
    for trunk in architecture.unpack(weights):
        squares += sum(float(np.sum(np.square(W, dtype=np.float64))) for W, _ in trunk)
    return total / len(rows) + weight_decay * squares, g[plan.place]


def _data(X, y, weight, architecture: Architecture, whose: str) -> Data:
    if X is None or y is None:
        raise ValueError(f"{whose}: X and y are needed, in the job or in the call")
    X = as_matrix(X, architecture.n_features)
    y = one_type(np.ascontiguousarray(y, dtype=np.float32))
    weight = np.empty(0, np.float32) if weight is None else np.ascontiguousarray(weight, dtype=np.float32)
    if y.shape != (len(X),) or weight.shape not in ((0,), y.shape):
        raise ValueError(f"{whose}: X has {len(X)} rows, y has shape {y.shape}, sample_weight {weight.shape}")
    return Data(X, y, one_type(weight))


def _settings(recipe: Recipe, stopping: Stopping | None) -> Settings:
    """The recipe as the kernel reads it: whole numbers as int, others as float, always."""
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


class _Run:
    """One network on its way: its data, its padded weights, and where it stands."""

    def __init__(
        self, architecture, plan: Layout, recipe: Recipe, stopping, job: Job, place: int, shared, every_row
    ):
        self.architecture, self.plan, self.recipe, self.job, self.place = (
            architecture,
            plan,
            recipe,
            job,
            place,
        )
        name = f"job {place}"
        own = job.X is not None or job.y is not None or job.sample_weight is not None
        self.data = _data(job.X, job.y, job.sample_weight, architecture, name) if own else shared
        if self.data is None:
            raise ValueError(f"{name}: X and y are needed, in the job or in the call")
        n = len(self.data.y)
        if job.rows is not None:
            self.rows = _indices(job.rows, n, f"{name}: rows")
        else:
            self.rows = np.arange(n) if own else every_row
        self.held = np.empty(0, np.int64)
        if stopping is not None:
            self.held = _indices(() if job.held_out is None else job.held_out, n, f"{name}: held_out")
        if len(self.rows) == 0:
            raise ValueError(f"{name} has no training rows")
        self.settings = _settings(recipe, stopping)
        purposes = (_random.SHUFFLE, _random.DROPOUT, _random.POSTERIOR)
        self.keys = Keys(*(_random.stream(job.seed, job.network, purpose) for purpose in purposes))
        self._begin(job.start)

    def _begin(self, start: Network | None) -> None:
        """Weights, optimiser state and counters: new, or those of the network to go on from."""
        if start is None:
            start = _new_network(self.architecture, self.recipe, self.job)
        if start.architecture != self.architecture or (start.rho is None) != (
            self.recipe.variational is None
        ):
            raise ValueError(f"job {self.place}: the network to start from has another architecture or kind")
        parts = [start.weights] if start.rho is None else [start.weights, start.rho]
        size = self.plan.size
        w, first, second, best = room(*[len(parts) * size] * 4)
        w.reshape(len(parts), -1)[:, self.plan.place] = parts
        status = np.zeros(_epochs.N_STATUS, dtype=np.int64)
        if start.state is not None:
            for own, given in ((first, start.state.first), (second, start.state.second)):
                own.reshape(len(parts), -1)[:, self.plan.place] = given.reshape(len(parts), -1)
            status[_epochs.STEPS] = start.state.steps
        status[_epochs.EPOCHS] = status[_epochs.BEST_EPOCH] = start.epochs
        self.state = State(w, first, second, best, np.array([np.inf]), status)
        self.loss_curve, self.score_curve = [start.loss_curve], [start.score_curve]

    @property
    def status(self) -> np.ndarray:
        """Counters, see `_epochs`."""
        return self.state.status

    @property
    def left(self) -> int:
        """Epochs still to be done."""
        return self.recipe.epochs - int(self.status[_epochs.EPOCHS]) if self.status[_epochs.END] == 0 else 0

    @property
    def steps_an_epoch(self) -> int:
        return -(-len(self.rows) // min(self.recipe.batch_size, len(self.rows)))

    def advance(self, n_epochs: int, spaces: list["_Workspace"], pool: ThreadPoolExecutor) -> "_Run":
        """A copy of this run that is up to n_epochs further; this one stays as it is."""
        ahead = copy(self)
        arrays = self.state[:4]
        fresh = room(*(len(array) for array in arrays))
        for new, old in zip(fresh, arrays, strict=True):
            new[:] = old
        ahead.state = State._make([*fresh, self.state.best_score.copy(), self.status.copy()])
        curve = np.empty(n_epochs)
        scores = np.empty(n_epochs if len(self.held) else 0)

        def member(space: "_Workspace", place: Team) -> None:
            with np.errstate(all="ignore"):
                _epochs.train_epochs(
                    *(self.plan.net, self.settings, self.data, self.rows, self.held, self.keys, ahead.state),
                    *(
                        n_epochs,
                        curve,
                        scores,
                        space.mixed[: len(self.rows)],
                        space.buffers,
                        space.rest,
                        place,
                    ),
                )

        places = team(len(spaces), n_blocks(self.recipe.batch_size))
        rest = [pool.submit(member, *pair) for pair in zip(spaces[1:], places[1:], strict=True)]
        member(spaces[0], places[0])
        for other in rest:
            other.result()
        done = int(ahead.status[_epochs.EPOCHS] - self.status[_epochs.EPOCHS])
        ahead.loss_curve = [*self.loss_curve, curve[:done]]
        ahead.score_curve = [*self.score_curve, scores[:done]]
        return ahead

    def network(self) -> Network:
        """What the caller gets."""
        state, n_parts, place = self.state, len(self.state.w) // self.plan.size, self.plan.place
        flat = lambda padded: padded.reshape(n_parts, -1)[:, place].ravel()
        watched = bool(np.isfinite(state.best_score[0]))
        locations, *rho = flat(state.best if watched else state.w).reshape(n_parts, -1)
        epochs = int(self.status[_epochs.EPOCHS])
        return Network(
            self.architecture,
            locations,
            rho[0] if rho else None,
            OptimizerState(flat(state.first), flat(state.second), int(self.status[_epochs.STEPS])),
            epochs,
            np.concatenate(self.loss_curve),
            np.concatenate(self.score_curve),
            int(self.status[_epochs.BEST_EPOCH]) if watched else epochs,
            bool(self.status[_epochs.END] == _epochs.STOPPED),
        )

    def progress(self) -> Progress:
        """What a callback is told."""
        return Progress(self.place, int(self.status[_epochs.EPOCHS]), float(self.loss_curve[-1][-1]))

    def checked(self) -> "_Run":
        """Itself, or an error with the likely reason if the network has diverged."""
        if self.status[_epochs.END] == _epochs.DIVERGED:
            raise Diverged(self.place, int(self.status[_epochs.EPOCHS]), self._reason())
        return self

    def _reason(self) -> str:
        used = np.concatenate([self.rows, self.held])
        for name, values in (("X", self.data.X), ("y", self.data.y), ("sample_weight", self.data.weight)):
            if len(values) and not np.isfinite(values[used]).all():
                at = used[~np.isfinite(values[used]).reshape(len(used), -1).all(axis=1)][0]
                return f"{name} is not finite at row {at}; remove or fix it"
        largest = max(float(np.abs(self.data.X[used]).max()), float(np.abs(self.data.y[used]).max()))
        return (
            f"the largest number in its data is {largest:.3g}, "
            f"the learning rate {self.recipe.learning_rate:g}; "
            "scale the data, lower the learning rate or clip the gradient"
        )


def _indices(given, n: int, name: str) -> np.ndarray:
    rows = np.ascontiguousarray(given)
    if rows.dtype == bool:
        raise ValueError(f"{name}: a mask was given; pass indices (np.flatnonzero of it)")
    rows = rows.astype(np.int64)
    if len(rows) == 0:
        raise ValueError(f"{name}: no rows are named")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"{name}: indices run from {rows.min()} to {rows.max()}, the data has {n} rows")
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
        if len(job.initial_outputs) != architecture.n_outputs:
            given = len(job.initial_outputs)
            raise ValueError(f"initial_outputs has {given} numbers for {architecture.n_outputs} outputs")
        values = np.asarray(job.initial_outputs, dtype=np.float32).reshape(architecture.n_trunks, -1)
        for trunk, value in zip(architecture.unpack(weights), values, strict=True):
            trunk[-1][1][:] = value
    return Network(architecture, weights, rho)


class _Workspace:
    """Buffers of one thread, made once; the members of a team share `rest`."""

    def __init__(self, plan: Layout, recipe: Recipe, n_rows: int, n_held: int, shared: Workspace | None):
        batch = min(recipe.batch_size, n_rows)
        self.buffers = plan.buffers(batch if n_held == 0 else BLOCK)
        self.rest = shared or _epochs.workspace(plan, batch, n_held, recipe.variational is not None)
        self.mixed = np.empty(n_rows, dtype=np.int64)


def _teams(runs: list[_Run], n_threads: int) -> list[list[_Workspace]]:
    """Threads that work apart as long as there are networks enough, together on one where there are not."""
    plan, recipe = runs[0].plan, runs[0].recipe
    n_rows, n_held = max(len(run.rows) for run in runs), max(len(run.held) for run in runs)
    size = 1
    if JIT and recipe.variational is None:
        size = max(1, min(n_threads // len(runs), n_blocks(min(recipe.batch_size, n_rows))))
    teams = []
    for _ in range(max(1, min(n_threads // size, len(runs)))):
        first = _Workspace(plan, recipe, n_rows, n_held, None)
        others = [_Workspace(plan, recipe, n_rows, n_held, first.rest) for _ in range(size - 1)]
        teams.append([first, *others])
    return teams


def _run_all(runs: list[_Run], callback, n_threads: int) -> None:
    """Advance every run to its end, block by block; `runs` always holds finished blocks only."""
    waiting = [k for k, run in enumerate(runs) if run.left > 0]
    if not waiting:
        return
    free = _teams([runs[k] for k in waiting], n_threads)
    pace = _Pace()
    active: dict[Future[_Run], tuple[int, list[_Workspace]]] = {}
    with ThreadPoolExecutor(sum(map(len, free))) as pool:
        try:
            while waiting or active:
                while waiting and free:
                    k, spaces = waiting.pop(0), free.pop()
                    active[pool.submit(pace.advance, runs[k], spaces, pool)] = (k, spaces)
                for future in wait(active, return_when=FIRST_COMPLETED).done:
                    k, spaces = active.pop(future)
                    free.append(spaces)
                    runs[k] = future.result().checked()
                    if runs[k].left > 0:
                        waiting.insert(0, k)
                    if callback is not None:
                        callback(runs[k].progress())
        except KeyboardInterrupt:
            pool.shutdown(wait=True)
            for future, (k, _) in active.items():
                if future.exception() is None:
                    runs[k] = future.result()
            raise Interrupted([run.network() for run in runs]) from None


class _Pace:
    """Chooses how many epochs make a block that lasts about `_BLOCK_SECONDS`; it cannot change the result."""

    def __init__(self):
        self.seconds_a_step = None

    def advance(self, run: _Run, spaces: list[_Workspace], pool: ThreadPoolExecutor) -> _Run:
        n_epochs = 1
        if self.seconds_a_step is not None:
            an_epoch = max(self.seconds_a_step * run.steps_an_epoch, 1e-9)
            n_epochs = max(1, min(run.left, int(_BLOCK_SECONDS / an_epoch)))
        began = perf_counter()
        ahead = run.advance(n_epochs, spaces, pool)
        steps = int(ahead.status[_epochs.STEPS] - run.status[_epochs.STEPS])
        self.seconds_a_step = (perf_counter() - began) / max(steps, 1)
        return ahead
