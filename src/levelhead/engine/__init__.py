"""Trains many small robust networks at once, in compiled code.

>>> import numpy as np
>>> from levelhead.engine import Architecture, Job, Recipe, forward, gcp, train
>>> X = np.linspace(-1, 1, 200, dtype=np.float32)[:, None]
>>> y = np.sin(3 * X[:, 0])
>>> architecture = Architecture(n_features=1, hidden=(16,), n_outputs=4)
>>> recipe = Recipe(objective=gcp(), batch_size=20, epochs=2)
>>> networks = train(architecture, recipe, [Job(seed=1, network=k) for k in range(5)], X=X, y=y)
>>> forward(networks, X).shape  # networks × rows × (m, ν, α, β before their links)
(5, 200, 4)
"""

from levelhead.engine import baselines
from levelhead.engine.descriptions import (
    Architecture,
    Job,
    Network,
    OptimizerState,
    Recipe,
    Schedule,
    Stopping,
    Variational,
)
from levelhead.engine.networks import Ensemble, forward
from levelhead.engine.objectives import (
    Objective,
    beta,
    beta_location,
    gamma,
    gaussian,
    gcp,
    gcp_direct,
)
from levelhead.engine.sharing import join, split
from levelhead.engine.training import Diverged, Interrupted, Progress, loss_and_gradient, train
from levelhead.engine.variational import draw

__all__ = [
    "Architecture",
    "Diverged",
    "Ensemble",
    "Interrupted",
    "Job",
    "Network",
    "Objective",
    "OptimizerState",
    "Progress",
    "Recipe",
    "Schedule",
    "Stopping",
    "Variational",
    "baselines",
    "beta",
    "beta_location",
    "draw",
    "forward",
    "gamma",
    "gaussian",
    "gcp",
    "gcp_direct",
    "join",
    "loss_and_gradient",
    "split",
    "train",
]
