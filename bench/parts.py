"""Where the time of one step of the paper's network goes: each part of the kernel timed by itself."""

import time

import numpy as np
from numba import njit

from levelhead.engine import Architecture, Recipe, _epochs, _random, networks, objectives, optimizers
from levelhead.engine._layout import layout
from levelhead.engine._records import Data, settings_of
from levelhead.engine._simd import room

_ROWS, _BATCH = 480, 5
_jit = njit(nogil=True, error_model="numpy")


@_jit
def _shuffle(n, rows, mixed):
    for k in range(n):
        _random.shuffle(rows, mixed, np.uint64(k))


@_jit
def _load(n, net, data, rows, work):
    for k in range(n):
        _epochs._load(net, data, rows, k % 96 * 5, 5, work)


@_jit
def _forward(n, net, w, work, threshold):
    for k in range(n):
        networks.forward_block(net, w, 5, work, np.uint32(threshold), np.float32(1.4), np.uint64(k))


@_jit
def _activate(n, net, work):
    for _ in range(n):
        for trunk in range(net.n_trunks):
            start = trunk * work.stride + net.table[0, networks.ACT] * work.rows
            networks._activate(
                net.activation, work.acts, work.slopes, start, 5 * net.table[0, networks.LD_OUT]
            )


@_jit
def _loss(n, net, settings, data, rows, work):
    for _ in range(n):
        objectives.sample_losses(
            settings.objective, settings.constants, work.labels, 16, work.out, work.values, work.grad
        )
        _epochs._weigh(net, data, rows, 0, 5, 5, work)


@_jit
def _backward(n, net, w, work, g):
    for _ in range(n):
        networks.backward_block(net, w, 5, work, g, 0, np.float32(1e-3))


@_jit
def _update(n, settings, w, g, first, second):
    for k in range(n):
        optimizers.update(settings, w, g, first, second, 0, len(w), 1e-9, k)


def _nanoseconds(function, *arguments, calls: int = 5000, repeats: int = 30) -> float:
    function(1, *arguments)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function(calls, *arguments)
        times.append(time.perf_counter() - began)
    return min(times) / calls * 1e9


def parts() -> dict[str, float]:
    """Nanoseconds a step of each part, for 4 × 13–50–1, minibatch 5, dropout 0.3, Adam."""
    rng = np.random.default_rng(0)
    architecture = Architecture(13, (50,), 4)
    plan = layout(architecture)
    net, work = plan.net, plan.buffers(_BATCH)
    settings = settings_of(Recipe(batch_size=_BATCH, dropout=0.3, weight_decay=1e-3), None)
    data = Data(
        rng.normal(size=(_ROWS, 13)).astype(np.float32), rng.normal(size=_ROWS).astype(np.float32), room(0)[0]
    )
    rows, mixed = np.arange(_ROWS), np.arange(_ROWS)
    w = plan.pack((0.2 * rng.normal(size=architecture.n_weights)).astype(np.float32))
    g, first, second = room(plan.size, plan.size, plan.size)
    _load(1, net, data, rows, work)
    plain = _nanoseconds(_forward, net, w, work, 0)
    dropped = _nanoseconds(_forward, net, w, work, settings.threshold)
    activation = _nanoseconds(_activate, net, work)
    _forward(1, net, w, work, settings.threshold)
    return {
        "shuffle": _nanoseconds(_shuffle, rows, mixed, calls=200) / (_ROWS // _BATCH),
        "rows to the workspace": _nanoseconds(_load, net, data, rows, work),
        "forward products": plain - activation,
        "activation": activation,
        "dropout": dropped - plain,
        "loss and its gradient": _nanoseconds(_loss, net, settings, data, rows, work),
        "backward products": _nanoseconds(_backward, net, w, work, g),
        "Adam": _nanoseconds(_update, settings, w, g, first, second),
    }


if __name__ == "__main__":
    for name, nanoseconds in parts().items():
        print(f"{name:<24} {nanoseconds:7.0f} ns")
