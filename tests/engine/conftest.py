import numpy as np
import pytest

from levelhead.engine import Architecture, Recipe, gcp


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def data(rng):
    """60 rows of 3 features, with a clear signal and a few wild labels."""
    X = rng.normal(size=(60, 3)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)).astype(np.float32)
    y[::15] += 8
    return {"X": X, "y": y}


@pytest.fixture
def small():
    """The paper's kind of network, small enough to run without the compiler."""
    return Architecture(n_features=3, hidden=(5,), n_outputs=4)


@pytest.fixture
def quick():
    return Recipe(objective=gcp(), batch_size=20, epochs=3, learning_rate=1e-2)
