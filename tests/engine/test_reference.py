"""Training, step by step, against the same network in plain numpy with the same random streams."""

import numpy as np
import pytest

from levelhead import engine, losses
from levelhead.engine import Architecture, Job, Recipe, Schedule, _random, train
from levelhead.engine._simd import padded

LOSSES = {
    "gcp": losses.gcp(),
    "gaussian": losses.normal(),
    "beta": losses.beta_normal(0.3),
    "gamma": losses.gamma_normal(0.3),
}


def bits(key, counter):
    return _random.at_array(key, np.array([counter], dtype=np.uint64))[0]


def dropout_mask(n, width, key, rate):
    """Which entries of an n × width matrix stay, from the definition of the stream."""
    low, high = np.uint32(key & np.uint64(2**32 - 1)), np.uint32(key >> np.uint64(32))
    x = np.arange(n * padded(width) // 2, dtype=np.uint32) ^ low
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = x + high
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    x = x ^ (x >> np.uint32(16))
    halves = np.concatenate([x & np.uint32(0xFFFF), x >> np.uint32(16)])
    return (halves >= round(rate * 65536)).reshape(n, -1)[:, :width]


def shuffled(n, key):
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = (int(bits(key, i)) >> 32) * (i + 1) >> 32
        order[i], order[j] = order[j], order[i]
    return order


class Reference:
    """A network in float64 whose every step is written out."""

    def __init__(self, architecture, recipe, weights, job):
        self.architecture, self.recipe = architecture, recipe
        self.w = weights.astype(np.float64)
        self.first, self.second = np.zeros_like(self.w), np.zeros_like(self.w)
        self.steps = 0
        purposes = (_random.SHUFFLE, _random.DROPOUT)
        self.shuffle_key, self.dropout_key = (_random.stream(job.seed, job.network, p) for p in purposes)

    def epoch(self, number, X, y, weight):
        order = shuffled(len(y), bits(self.shuffle_key, number))
        size = self.recipe.batch_size
        last = len(y) // size * size if self.recipe.drop_last else len(y)
        sums = [
            self.step(*(a[order[k : min(k + size, last)]] for a in (X, y, weight)))
            for k in range(0, last, size)
        ]
        return sum(sums) / last

    def step(self, X, y, weight):
        key = bits(bits(self.dropout_key, self.steps), 0)
        total, gradient = self.gradient(X, y, weight, key)
        norm = np.sqrt(np.sum(gradient**2))
        if self.recipe.clip is not None and norm > self.recipe.clip:
            gradient *= self.recipe.clip / norm
        self.move(gradient)
        self.steps += 1
        return total

    def gradient(self, X, y, weight, key):
        rate, n = self.recipe.dropout, len(y)
        trunks = self.architecture.unpack(self.w)
        keep = 65536 / (65536 - round(rate * 65536))
        layers, columns = [], []
        for t, trunk in enumerate(trunks):
            h, passes = X.astype(np.float64), []
            for k, (W, b) in enumerate(trunk[:-1]):
                z = h @ W + b
                mask = 1.0
                if rate > 0:
                    mask = keep * dropout_mask(n, W.shape[1], bits(key, t * (len(trunk) - 1) + k), rate)
                passes.append((h, (z > 0) * mask))
                h = np.maximum(z, 0) * mask
            layers.append((passes, h))
            columns.append(h @ trunk[-1][0] + trunk[-1][1])
        value, by_output = LOSSES[self.recipe.objective.name].of_outputs(y, np.concatenate(columns, axis=1))
        by_output *= weight[:, None] / n
        gradient, place = np.zeros_like(self.w), 0
        for trunk, slots, (passes, h) in zip(trunks, self.architecture.unpack(gradient), layers, strict=True):
            width = trunk[-1][0].shape[1]
            delta = by_output[:, place : place + width]
            place += width
            for k in range(len(trunk) - 1, -1, -1):
                source = h if k == len(passes) else passes[k][0]
                slots[k][0][...] = source.T @ delta + 2 * self.recipe.weight_decay * trunk[k][0]
                slots[k][1][...] = delta.sum(axis=0)
                if k > 0:
                    delta = delta @ trunk[k][0].T * passes[k - 1][1]
        return np.sum(weight * value), gradient

    def move(self, g):
        recipe, t = self.recipe, self.steps
        schedule = recipe.schedule
        size = recipe.learning_rate
        if schedule.kind == "exponential":
            size *= schedule.rate ** (t // schedule.every)
        elif schedule.kind == "cosine":
            share = min(t / schedule.every, 1)
            size *= schedule.rate + (1 - schedule.rate) * (1 + np.cos(np.pi * share)) / 2
        b1, b2 = recipe.betas
        if recipe.optimizer == "adam":
            self.first = b1 * self.first + (1 - b1) * g
            self.second = b2 * self.second + (1 - b2) * g**2
            m, v = self.first / (1 - b1 ** (t + 1)), self.second / (1 - b2 ** (t + 1))
            self.w -= size * m / (np.sqrt(v) + recipe.epsilon)
        elif recipe.optimizer == "rmsprop":
            self.second = b2 * self.second + (1 - b2) * g**2
            self.w -= size * g / (np.sqrt(self.second) + recipe.epsilon)
        else:
            self.first = recipe.momentum * self.first - size * g
            self.w += recipe.momentum * self.first - size * g


# A large epsilon keeps Adam from turning the rounding of a vanishing gradient into a whole step.
ADAM = {"optimizer": "adam", "epsilon": 1e-3}
CASES = {
    "the paper's": (((6,), False), {**ADAM, "dropout": 0.3, "weight_decay": 1e-3, "drop_last": True}),
    "two layers": (((6, 17), False), {**ADAM, "dropout": 0.2}),
    "shared trunk": (((6, 4), True), {**ADAM, "weight_decay": 1e-2}),
    "linear": (((), False), ADAM),
    "gaussian": (((6,), False), {**ADAM, "objective": engine.gaussian()}),
    "beta": (((6,), True), {**ADAM, "objective": engine.beta(0.3), "dropout": 0.5}),
    "gamma": (((6,), False), {**ADAM, "objective": engine.gamma(0.3)}),
    "rmsprop": (((6,), False), {"optimizer": "rmsprop", "epsilon": 1e-3}),
    "nesterov": (((6,), False), {"optimizer": "nesterov", "clip": 0.5, "dropout": 0.1}),
    "stairs": (((6,), False), {**ADAM, "schedule": Schedule("exponential", 0.5, 7)}),
    "cosine": (((6,), False), {**ADAM, "schedule": Schedule("cosine", 0.1, 20)}),
}


@pytest.mark.parametrize("case", CASES)
def test_fifty_steps(rng, case):
    (hidden, shared), options = CASES[case]
    recipe = Recipe(**{"batch_size": 5, "epochs": 5, "learning_rate": 5e-3} | options)
    X, y = rng.normal(size=(52, 3)).astype(np.float32), rng.normal(size=52).astype(np.float32)
    weight = rng.uniform(0, 2, size=52).astype(np.float32)
    architecture = Architecture(3, hidden, recipe.objective.n_outputs, shared)
    job = Job(seed=11, network=4, initial_outputs=(0.1, 0.2, 0.3, 0.4)[: recipe.objective.n_outputs])
    (start,) = train(architecture, Recipe(objective=recipe.objective, epochs=0), [job], X=X, y=y)
    reference = Reference(architecture, recipe, start.weights, job)
    curve = [reference.epoch(k, X, y, weight) for k in range(recipe.epochs)]
    (network,) = train(architecture, recipe, [job], X=X, y=y, sample_weight=weight)
    assert network.state.steps == reference.steps >= 50
    assert np.abs(reference.w - start.weights).max() > 0.01
    np.testing.assert_allclose(network.loss_curve, curve, rtol=1e-5)
    np.testing.assert_allclose(network.weights, reference.w, atol=2e-5)
