"""The Python loop around the training kernel: threads, progress, early stopping, interruption, errors."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from time import perf_counter
from typing import NamedTuple

import numpy as np

from levelhead.engine._epochs import whole_gradient
from levelhead.engine._jit import JIT
from levelhead.engine._layout import layout
from levelhead.engine._records import STEPS, settings_of, workspace
from levelhead.engine._runs import Common, Run, Space, count_targets, data_of
from levelhead.engine._simd import n_blocks
from levelhead.engine._team import team
from levelhead.engine._types import Float32
from levelhead.engine.descriptions import Architecture, Job, Network, Recipe, Stopping
from levelhead.engine.networks import cores
from levelhead.engine.objectives import Objective

_BLOCK_SECONDS = 0.2  # a block of epochs takes about this long; progress and interruption work block by block


class Progress(NamedTuple):
    """The argument of a callback, which is called after every block of epochs.

    Attributes
    ----------
    network : int
        Position of the job in the list of jobs.
    epoch : int
        Epochs done.
    loss : float
        Mean training loss of the last epoch.
    """

    network: int
    epoch: int
    loss: float


class Diverged(ArithmeticError):
    """Raised when the loss, the weights or the optimiser state of a network are no longer finite.

    Parameters
    ----------
    network : int
        Position of the job in the list of jobs.
    epoch : int
        The epoch in which it happened.
    hint : str
        The probable cause, and what to do.
    """

    def __init__(self, network: int, epoch: int, hint: str) -> None:
        super().__init__(f"network {network} is no longer finite in epoch {epoch}: {hint}")
        self.network, self.epoch = network, epoch


class Interrupted(KeyboardInterrupt):
    """Raised by Ctrl-C during training.

    Parameters
    ----------
    networks : list of Network
        Every network as at the end of its last finished block of epochs.
    """

    def __init__(self, networks: list[Network]) -> None:
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
    """Train one network for each job.

    The result of a job depends only on its own description, data and recipe. It is the same to the last bit for any
    number of threads, any order of the jobs, and any other jobs trained with it.

    Parameters
    ----------
    architecture : Architecture
        Sizes of the networks.
    recipe : Recipe
        How they are trained; `recipe.epochs` counts from each network's first epoch.
    jobs : sequence of Job
        The networks to train, each with its random stream, rows and perhaps its own data.
    X : ndarray of float32, of shape (n_samples, n_features), default=None
        Inputs of the jobs that have none. float32 in C order is used without a copy.
    y : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets), default=None
        Labels of the jobs that have none. With several targets, the network has the outputs of the first target, then
        those of the second, and so on, and the loss of a row is the sum over its targets.
    sample_weight : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets), default=None
        Weights of the jobs that have none. The loss of a minibatch is the mean over its rows of weight times loss.
    stopping : Stopping, default=None
        Early stopping, for which every job needs held-out rows.
    callback : callable, default=None
        Called with a `Progress`, in this thread, after every block of epochs of a network.
    n_threads : int, default=None
        Number of threads; all cores by default.

    Returns
    -------
    list of Network
        The networks, in the order of the jobs.

    Raises
    ------
    ValueError
        If architecture, recipe, jobs and data do not fit together.
    Diverged
        If the loss, the weights or the optimiser state of a network are no longer finite.
    Interrupted
        After Ctrl-C; it carries the networks as at the end of their last finished block.
    """
    plan, n_targets = layout(architecture), count_targets(architecture, recipe.objective)
    shared = None if X is None else data_of(X, y, sample_weight, architecture, n_targets, "train")
    every_row = np.arange(0 if shared is None else len(shared.X))
    common = Common(architecture, plan, recipe, stopping, n_targets, shared, every_row)
    runs = {place: Run(common, job, place) for place, job in enumerate(jobs)}
    return _run_all(runs, callback, cores(n_threads))


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
    """Mean loss of all rows plus penalty, without dropout, and its gradient.

    Parameters
    ----------
    architecture : Architecture
        Sizes of the network.
    objective : Objective
        The loss.
    weights : ndarray of float32, of shape (n_weights,)
        Flat weight vector.
    X : ndarray of float32, of shape (n_samples, n_features)
        Inputs.
    y : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets)
        Labels.
    sample_weight : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets), default=None
        Weights of the rows, or of the labels.
    weight_decay : float, default=0.0
        λ of the penalty λ·Σw².

    Returns
    -------
    loss : float
        Mean loss plus penalty.
    gradient : ndarray of float32, of shape (n_weights,)
        Its derivative by each weight.
    """
    plan = layout(architecture)
    settings = settings_of(Recipe(objective=objective, weight_decay=weight_decay), None)
    n_targets = count_targets(architecture, objective)
    data = data_of(X, y, sample_weight, architecture, n_targets, "loss_and_gradient")
    rows = np.arange(len(data.X))
    g = workspace(plan, len(rows), n_held=0, variational=False).g
    (alone,) = team(1, n_blocks(len(rows)))
    with np.errstate(all="ignore"):
        total = whole_gradient(plan.net, settings, data, rows, plan.pack(weights), plan.buffers(), g, alone)
    squares = 0.0
    for trunk in architecture.unpack(weights):
        squares += sum(float(np.sum(np.square(W, dtype=np.float64))) for W, _ in trunk)
    return total / len(rows) + weight_decay * squares, g[plan.place]


def _teams(runs: list[Run], n_threads: int) -> list[list[Space]]:
    """Threads: one network each if there are enough networks, several on one network otherwise."""
    plan, recipe = runs[0].common.plan, runs[0].common.recipe
    n_rows, n_held = max(len(run.rows) for run in runs), max(len(run.held) for run in runs)
    size = 1
    if JIT and recipe.variational is None:
        size = max(1, min(n_threads // len(runs), n_blocks(min(recipe.batch_size, n_rows))))
    teams = []
    for _ in range(max(1, min(n_threads // size, len(runs)))):
        first = Space(plan, recipe, n_rows, n_held, None)
        others = [Space(plan, recipe, n_rows, n_held, first.rest) for _ in range(size - 1)]
        teams.append([first, *others])
    return teams


def _run_all(
    runs: dict[int, Run], callback: Callable[[Progress], None] | None, n_threads: int
) -> list[Network]:
    """Advance every run to its end, block by block; `runs` holds only unfinished runs, each after its last block."""
    networks = {k: runs.pop(k).network() for k in list(runs) if runs[k].left <= 0}
    waiting, pace = list(reversed(runs)), _Pace()
    free = _teams(list(runs.values()), n_threads) if runs else []
    active: dict[Future[Run], tuple[int, list[Space]]] = {}
    with ThreadPoolExecutor(max(1, sum(map(len, free)))) as pool:
        try:
            while waiting or active:
                while waiting and free:
                    k, spaces = waiting.pop(), free.pop()
                    active[pool.submit(pace.advance, runs[k], spaces, pool)] = (k, spaces)
                for future in wait(active, return_when=FIRST_COMPLETED).done:
                    k, spaces = active.pop(future)
                    free.append(spaces)
                    runs[k] = _checked(future.result())
                    if callback is not None:
                        callback(Progress(k, runs[k].epochs, float(runs[k].loss_curve[-1][-1])))
                    if runs[k].left > 0:
                        waiting.append(k)
                    else:
                        networks[k] = runs.pop(k).network()
        except KeyboardInterrupt:
            pool.shutdown(wait=True)
            for future, (k, _) in active.items():
                if future.exception() is None and not future.result().diverged:
                    runs[k] = future.result()
            networks |= {k: run.network() for k, run in runs.items()}
            raise Interrupted([networks[k] for k in sorted(networks)]) from None
    return [networks[k] for k in sorted(networks)]


def _checked(run: Run) -> Run:
    if run.diverged:
        raise Diverged(run.place, run.epochs, run.reason())
    return run


class _Pace:
    """Chooses how many epochs make a block that lasts about `_BLOCK_SECONDS`; this does not change the result."""

    def __init__(self) -> None:
        self.seconds_per_step: float | None = None

    def advance(self, run: Run, spaces: list[Space], pool: ThreadPoolExecutor) -> Run:
        n_epochs = 1
        if self.seconds_per_step is not None:
            epoch_seconds = max(self.seconds_per_step * run.steps_per_epoch, 1e-9)
            n_epochs = max(1, min(run.left, int(_BLOCK_SECONDS / epoch_seconds)))
        began = perf_counter()
        ahead = run.advance(n_epochs, spaces, pool)
        steps = int(ahead.state.status[STEPS] - run.state.status[STEPS])
        self.seconds_per_step = (perf_counter() - began) / max(steps, 1)
        return ahead
