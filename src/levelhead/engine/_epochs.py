"""The kernel that trains one network for a block of epochs, and its parts."""

from typing import Any

import numpy as np

from levelhead.engine import _random
from levelhead.engine._instructions import as_float, as_int
from levelhead.engine._jit import inline, kernel, leaf, part
from levelhead.engine._layout import LD_IN, Buffers, Net
from levelhead.engine._records import (
    BAD,
    BEST_EPOCH,
    DIVERGED,
    END,
    EPOCHS,
    RUNNING,
    STEPS,
    STOPPED,
    Data,
    Keys,
    Settings,
    State,
    Workspace,
)
from levelhead.engine._simd import BLOCK, LANES, lane_sum
from levelhead.engine._team import Team, barrier
from levelhead.engine._types import Float32, Float64, Rows
from levelhead.engine.networks import backward_block, forward_block, whole_vectors
from levelhead.engine.objectives import sample_losses
from levelhead.engine.optimizers import step_size, update
from levelhead.engine.variational import add_divergence, add_sample, sample_weights

F = np.float32
_ZERO, _ONE = F(0), F(1)
_INFINITE = np.int32(0x7F800000)  # the bits of the exponent: all set in ∞ and NaN
_TINY = F(1e-35)


@part
def _load(net: Net, data: Data, rows: Rows, start: int, n: int, work: Buffers) -> None:
    """Copy the inputs of n rows, named by rows[start:], to the workspace."""
    ld = net.table[0, LD_IN]
    for i in range(n):
        row = rows[start + i]
        for k in range(data.X.shape[1]):
            work.acts[i * ld + k] = data.X[row, k]


@inline
def _per_target(net: Net, data: Data) -> int:
    """Outputs of one target; those of the first target come first."""
    return net.n_trunks * net.per_trunk // data.n_targets


@part
def _losses(
    net: Net, settings: Settings, data: Data, rows: Rows, start: int, n: int, target: int, work: Buffers
) -> None:
    """Losses of the labels of one target, and the gradient of its outputs."""
    for i in range(n):
        work.labels[i] = data.y[rows[start + i] * data.n_targets + target]
    size = _per_target(net, data) * BLOCK
    first, last = target * size, (target + 1) * size
    # Whole vectors of samples; results beyond n are not used.
    code, constants, n_full = settings.objective, settings.constants, whole_vectors(n)
    sample_losses(
        code, constants, work.labels, n_full, work.out[first:last], work.values, work.grad[first:last]
    )


@part
def _weigh(
    net: Net, data: Data, rows: Rows, start: int, n: int, batch: int, target: int, work: Buffers
) -> float:
    """Sum of weight times loss; the gradients become those of the mean over the minibatch, and 0 beyond it."""
    n_full, n_outputs = whole_vectors(n), _per_target(net, data)
    first = target * n_outputs
    for i in range(n):
        share = _ONE
        if len(data.weight) > 0:
            share = data.weight[rows[start + i] * data.n_targets + target]
        work.values[i] *= share
        for q in range(first, first + n_outputs):
            work.grad[q * BLOCK + i] *= share / F(batch)
    for i in range(n, n_full):
        work.values[i] = _ZERO
        for q in range(first, first + n_outputs):
            work.grad[q * BLOCK + i] = _ZERO
    lane_sum(work.values, 0, work.values, 0, n_full)
    return np.float64(work.values[0])


@leaf
def _add_blocks(g: Float32, size: int, n_blocks: int, start: int, end: int) -> None:
    for block in range(1, n_blocks):
        offset = block * size
        for i in range(end - start):
            g[np.uint64(start + i)] += g[np.uint64(offset + start + i)]


@part
def batch_gradient(
    net: Net,
    settings: Settings,
    data: Data,
    rows: Rows,
    start: int,
    n: int,
    w: Float32,
    key: np.uint64,
    work: Buffers,
    g: Float32,
    team: Team,
) -> float:
    """Sum of the losses of a minibatch; g gets the gradient of its mean plus penalty, in the team's share."""
    size = net.n_trunks * net.trunk_size
    scale = F(65536 / (65536 - settings.threshold))
    n_blocks = (n + BLOCK - 1) // BLOCK
    for block in range(team.rank, n_blocks, team.size):
        first = start + block * BLOCK
        n_here = min(BLOCK, start + n - first)
        _load(net, data, rows, first, n_here, work)
        block_key = _random.at(key, np.uint64(block))
        forward_block(net, w, n_here, work, np.uint32(settings.threshold), scale, block_key)
        team.sums[block] = 0.0
        for target in range(data.n_targets):
            _losses(net, settings, data, rows, first, n_here, target, work)
            team.sums[block] += _weigh(net, data, rows, first, n_here, n, target, work)
        decay = F(2 * settings.penalty) if block == 0 else _ZERO
        backward_block(net, w, n_here, work, g, block * size, decay)
    barrier(team.gate, team.size)
    _add_blocks(g, size, n_blocks, _share(size, team.rank, team.size), _share(size, team.rank + 1, team.size))
    total = 0.0
    for block in range(n_blocks):
        total += team.sums[block]
    return total


@inline
def _share(size: int, rank: int, team_size: int) -> int:
    """Where the share of a member of a team of threads begins: on a cache line of its own."""
    if rank == team_size:
        return size
    return size // LANES * rank // team_size * LANES


@part
def _gradient(
    net: Net,
    settings: Settings,
    data: Data,
    rows: Rows,
    start: int,
    n: int,
    w: Float32,
    key: np.uint64,
    sample_key: np.uint64,
    work: Buffers,
    space: Workspace,
    team: Team,
) -> float:
    """Like `batch_gradient`; if variational, for locations and ρ, as the mean over weight samples."""
    size, samples = net.n_trunks * net.trunk_size, settings.n_samples
    for i in range(len(space.total)):
        space.total[i] = _ZERO
    total = 0.0
    for sample in range(max(samples, 1)):
        own_key, drawn = key, w
        if samples > 0:
            own_key = _random.at(key, np.uint64(sample))
            draw_key = _random.at(sample_key, np.uint64(sample))
            sample_weights(w, space.live, size, draw_key, space.noise, space.drawn)
            drawn = space.drawn
        total += batch_gradient(net, settings, data, rows, start, n, drawn, own_key, work, space.g, team)
        if samples > 0:
            add_sample(w, size, space.noise, space.g, F(1 / samples), space.total)
    if samples > 0:
        add_divergence(w, space.live, size, F(settings.prior_std), F(1 / len(rows)), space.total)
        for i in range(2 * size):
            space.g[i] = space.total[i]
    return total / max(samples, 1)


@leaf
def _norm(g: Float32, size: int) -> float:
    squares = np.zeros(LANES)
    for i in range(0, size, LANES):
        for j in range(LANES):
            x = np.float64(g[np.uint64(i + j)])
            squares[j] += x * x
    total = 0.0
    for j in range(LANES):
        total += squares[j]
    norm: float = np.sqrt(total)
    return norm


@leaf
def _scale(g: Float32, start: int, end: int, factor: F) -> None:
    for i in range(end - start):
        g[np.uint64(start + i)] *= factor


@part
def _step(
    net: Net,
    settings: Settings,
    data: Data,
    rows: Rows,
    start: int,
    n: int,
    keys: Keys,
    step: int,
    state: State,
    work: Buffers,
    space: Workspace,
    team: Team,
) -> float:
    """One step of the optimiser; returns the sum of the losses of its minibatch."""
    w, g = state.w, space.g
    key = _random.at(keys.dropout, np.uint64(step))
    sample_key = _random.at(keys.posterior, np.uint64(step))
    total = _gradient(net, settings, data, rows, start, n, w, key, sample_key, work, space, team)
    begin, end = _share(len(w), team.rank, team.size), _share(len(w), team.rank + 1, team.size)
    if settings.clip > 0:
        barrier(team.gate, team.size)
        norm = _norm(g, len(w))
        barrier(team.gate, team.size)
        if norm > settings.clip:
            _scale(g, begin, end, F(settings.clip / norm))
    update(settings, w, g, state.first, state.second, begin, end, step_size(settings, step), step)
    barrier(team.gate, team.size)
    return total


@leaf
def _order_statistic(values: Float32, n: int, k: int) -> F:
    """The k-th smallest of n numbers, k from 0, by bisection on the bits of float32, which are in order."""
    low, high = np.int64(-(2**31)), np.int64(2**31 - 1)
    while low < high:
        middle = (low + high) >> 1
        count: Any = 0
        for i in range(n):
            count += _ordered(values[i]) <= middle
        if count > k:
            high = middle
        else:
            low = middle + 1
    return as_float(np.int32(low if low >= 0 else low ^ 0x7FFFFFFF))


@inline
def _ordered(x: F) -> np.int64:
    """An integer that is in the order of the float."""
    bits = np.int64(as_int(x))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


@leaf
def _fenced_mean(losses: Float32, held: Rows, weight: Float32, target: int, n_targets: int) -> float:
    """Weighted mean of losses, each capped at q₇₅ + 1.5 (q₇₅ − q₂₅), so that wrong labels cannot dominate it."""
    n = len(held)
    low = _order_statistic(losses, n, (n - 1) // 4)
    high = _order_statistic(losses, n, (3 * n) // 4)
    fence = high + F(1.5) * (high - low)
    total, whole = np.float64(0), np.float64(0)
    for i in range(n):
        share = weight[held[i] * n_targets + target] if len(weight) > 0 else _ONE
        total += share * (fence if losses[i] > fence else losses[i])
        whole += share
    return total / whole


@part
def _score(
    net: Net, settings: Settings, data: Data, held: Rows, w: Float32, work: Buffers, space: Workspace
) -> float:
    """The robust score of the held-out rows, see `Stopping`."""
    n_held, n_targets, total = len(held), data.n_targets, 0.0
    for start in range(0, n_held, BLOCK):
        n = min(BLOCK, n_held - start)
        _load(net, data, held, start, n, work)
        forward_block(net, w, n, work, np.uint32(0), _ONE, np.uint64(0))
        for target in range(n_targets):
            _losses(net, settings, data, held, start, n, target, work)
            for i in range(n):
                space.losses[target * n_held + start + i] = work.values[i]
    for target in range(n_targets):
        own = space.losses[target * n_held : (target + 1) * n_held]
        total += _fenced_mean(own, held, data.weight, target, n_targets)
    return total


@leaf
def _all_finite(array: Float32) -> bool:
    # A count runs in vectors, unlike a search with an early exit.
    count = 0
    for i in range(len(array)):
        count += np.int32(as_int(array[i]) & _INFINITE) == _INFINITE
    return count == 0


@leaf
def _flush(array: Float32) -> None:
    # The running means of a unit that no longer gets a gradient decay into the numbers below the normal
    # range, where rounding stops their decay and some processors are a hundred times slower.
    for i in range(len(array)):
        x = array[i]
        array[i] = _ZERO if abs(x) < _TINY else x


@part
def _patience_gone(score: float, settings: Settings, state: State) -> bool:
    """Keep the best weights; return whether patience has run out."""
    status = state.status
    status[BAD] = 0 if score < state.best_score[0] - settings.tol else status[BAD] + 1
    if score < state.best_score[0]:
        state.best_score[0] = score
        status[BEST_EPOCH] = status[EPOCHS]
        for i in range(len(state.w)):
            state.best[i] = state.w[i]
    gone: bool = status[BAD] >= settings.patience
    return gone


@part
def _close_epoch(
    net: Net,
    settings: Settings,
    data: Data,
    held: Rows,
    state: State,
    place: int,
    total: float,
    n_used: int,
    curve: Float64,
    scores: Float64,
    work: Buffers,
    space: Workspace,
) -> None:
    """Record the loss, the score and the best weights of an epoch, and whether training ends."""
    status, score = state.status, 0.0
    curve[place] = total / n_used
    status[EPOCHS] += 1
    if len(held) > 0:
        score = _score(net, settings, data, held, state.w, work, space)
        scores[place] = score
    _flush(state.first)
    _flush(state.second)
    weights_finite = _all_finite(state.w) and _all_finite(state.first) and _all_finite(state.second)
    if not (np.isfinite(total) and np.isfinite(score) and weights_finite):
        status[END] = DIVERGED
    elif len(held) > 0 and _patience_gone(score, settings, state):
        status[END] = STOPPED


@kernel
def train_epochs(
    net: Net,
    settings: Settings,
    data: Data,
    rows: Rows,
    held: Rows,
    keys: Keys,
    state: State,
    n_epochs: int,
    curve: Float64,
    scores: Float64,
    mixed: Rows,
    work: Buffers,
    space: Workspace,
    team: Team,
) -> None:
    """Train one network for up to n_epochs; all that it changes is passed in."""
    n_rows, status = len(rows), state.status
    step, epochs = status[STEPS], status[EPOCHS]
    batch = min(settings.batch, n_rows)
    n_used = n_rows - n_rows % batch if settings.drop_last else n_rows
    barrier(team.gate, team.size)
    for epoch in range(n_epochs):
        _random.shuffle(rows, mixed, _random.at(keys.shuffle, np.uint64(epochs + epoch)))
        total = 0.0
        for start in range(0, n_used, batch):
            n = min(batch, n_used - start)
            total += _step(net, settings, data, mixed, start, n, keys, step, state, work, space, team)
            step += 1
        if team.rank == 0:
            status[STEPS] = step
            _close_epoch(net, settings, data, held, state, epoch, total, n_used, curve, scores, work, space)
        barrier(team.gate, team.size)
        if status[END] != RUNNING:
            return


@kernel
def whole_gradient(
    net: Net, settings: Settings, data: Data, rows: Rows, w: Float32, work: Buffers, g: Float32, team: Team
) -> float:
    """Sum of the losses of all rows, and the gradient of their mean plus penalty in g."""
    return batch_gradient(net, settings, data, rows, 0, len(rows), w, np.uint64(0), work, g, team)
