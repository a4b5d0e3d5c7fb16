"""The optimisers: one pass over a range of the flat weight vector, in place.

`first` and `second` are running means of the gradient and of its square; Nesterov's method keeps its velocity
in `first`.
"""

import numpy as np

from levelhead.engine._instructions import fma
from levelhead.engine._jit import leaf, part
from levelhead.engine._math import cos_half_turns, power
from levelhead.engine._records import Settings
from levelhead.engine._types import Float32

F = np.float32
ADAM, RMSPROP, NESTEROV = range(3)
CONSTANT, EXPONENTIAL, COSINE = range(3)


@part
def step_size(settings: Settings, step: int) -> float:
    """The step size of step number `step`, counted from 0."""
    kind, learning_rate = settings.schedule, settings.learning_rate
    rate, every = settings.rate, settings.every
    if kind == EXPONENTIAL:
        return learning_rate * power(rate, step // every)
    if kind == COSINE:
        share = min(step / every, 1.0)
        return learning_rate * (rate + (1 - rate) * 0.5 * (1 + cos_half_turns(share)))
    return learning_rate


@leaf
def _adam(
    w: Float32,
    g: Float32,
    first: Float32,
    second: Float32,
    start: int,
    end: int,
    size: float,
    b1: float,
    b2: float,
    epsilon: float,
    step: int,
) -> None:
    c1, c2 = 1 - power(b1, step + 1), 1 - power(b2, step + 1)
    size32, epsilon32 = F(size * np.sqrt(c2) / c1), F(epsilon * np.sqrt(c2))
    keep1, keep2, new1, new2 = F(b1), F(b2), F(1 - b1), F(1 - b2)
    for k in range(end - start):
        i = np.uint64(start + k)
        m = fma(keep1, first[i], new1 * g[i])
        v = fma(keep2, second[i], new2 * (g[i] * g[i]))
        first[i] = m
        second[i] = v
        w[i] -= size32 * m / (F(np.sqrt(v)) + epsilon32)


@leaf
def _rmsprop(
    w: Float32, g: Float32, second: Float32, start: int, end: int, size: float, b2: float, epsilon: float
) -> None:
    size32, epsilon32, keep, new = F(size), F(epsilon), F(b2), F(1 - b2)
    for k in range(end - start):
        i = np.uint64(start + k)
        v = fma(keep, second[i], new * (g[i] * g[i]))
        second[i] = v
        w[i] -= size32 * g[i] / (F(np.sqrt(v)) + epsilon32)


@leaf
def _nesterov(
    w: Float32, g: Float32, first: Float32, start: int, end: int, size: float, momentum: float
) -> None:
    size32, momentum32 = F(size), F(momentum)
    for k in range(end - start):
        i = np.uint64(start + k)
        move = -size32 * g[i]
        velocity = fma(momentum32, first[i], move)
        first[i] = velocity
        w[i] += fma(momentum32, velocity, move)


@part
def update(
    settings: Settings,
    w: Float32,
    g: Float32,
    first: Float32,
    second: Float32,
    start: int,
    end: int,
    size: float,
    step: int,
) -> None:
    """Move w[start:end] against its gradient."""
    b1, b2, epsilon = settings.beta1, settings.beta2, settings.epsilon
    if settings.optimizer == ADAM:
        _adam(w, g, first, second, start, end, size, b1, b2, epsilon, step)
    elif settings.optimizer == RMSPROP:
        _rmsprop(w, g, second, start, end, size, b2, epsilon)
    else:
        _nesterov(w, g, first, start, end, size, settings.momentum)
