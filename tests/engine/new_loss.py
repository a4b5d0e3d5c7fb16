"""All that is needed to train networks with a new loss: the logistic likelihood, as an example.

With z = (y − μ)/s the loss is −ln p(y) = z + 2 ln(1 + e⁻ᶻ) + ln s; outputs are μ and s.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from levelhead.engine import Architecture, Job, Recipe, forward, train
from levelhead.engine._math import log, sigmoid, softplus
from levelhead.engine.objectives import register
from levelhead.losses import Loss, LossAndGradient

F = np.float32
_ZERO, _ONE, _TWO = F(0), F(1), F(2)


def reference(y: NDArray[np.float64], mu: NDArray[np.float64], s: NDArray[np.float64]) -> LossAndGradient:
    """The loss in numpy, for tests and comparison."""
    z = (y - mu) / s
    by_z = 1 - 2 * expit(-z)
    return LossAndGradient(z + 2 * np.logaddexp(0, -z) + np.log(s), (-by_z / s, (1 - z * by_z) / s))


def sample(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> tuple[F, F, F, F, F]:
    """The same for one sample and raw outputs, in float32, as the engine trains on it."""
    s = softplus(o1) + c[0]
    z = (y - o0) / s
    by_z = _ONE - _TWO * sigmoid(-z)
    return z + _TWO * softplus(-z) + log(s), -by_z / s, (_ONE - z * by_z) / s * sigmoid(o1), _ZERO, _ZERO


logistic = Loss("logistic", reference, ("mu", "s"), (None, 0.01))
logistic_objective = register("logistic", sample, n_outputs=2)(0.01)


def main() -> None:
    """Fit noise from the logistic distribution, and compare engine and reference."""
    from levelhead.engine import gaussian, loss_and_gradient

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 1)).astype(np.float32)
    y = (2 * X[:, 0] + rng.logistic(0, 0.3, size=2000)).astype(np.float32)
    architecture = Architecture(n_features=1, hidden=(8,), n_outputs=2)
    recipe = Recipe(objective=logistic_objective, epochs=int(sys.argv[1]), batch_size=50, learning_rate=0.01)
    (network,) = train(architecture, recipe, [Job(seed=1)], X=X, y=y)
    (outputs,) = forward([network], X)
    value, _ = logistic.of_outputs(y, outputs)
    loss, _ = loss_and_gradient(architecture, logistic_objective, network.weights, X, y)
    other, _ = loss_and_gradient(architecture, gaussian(), network.weights, X, y)
    mu, s = logistic.link(outputs)
    print(
        f"{value.mean():.5f} {loss:.5f} {other:.5f} {np.abs(mu - 2 * X[:, 0]).mean():.3f} {np.median(s):.3f}"
    )


if __name__ == "__main__":
    main()
