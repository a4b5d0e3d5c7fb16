"""Audits whose predictions are exact."""

from collections.abc import Callable

import numpy as np
import pytest

from levelhead.audits import Audit


@pytest.fixture(scope="session")
def exact() -> Callable[..., Audit]:
    """Labels with known means and standard deviations; a label is suspect beyond four of them."""

    clean = np.random.default_rng(1).normal(size=2000)
    separation = Audit.from_residuals(np.append(clean, [30.0, -30.0]), np.zeros(2002), 1.0).separation

    def make(y: np.ndarray, mean: np.ndarray | float = 0.0, std: np.ndarray | float = 1.0) -> Audit:
        mean, std = np.broadcast_to(mean, y.shape), np.broadcast_to(std, y.shape)
        return Audit.from_residuals(y, mean, std**2, separation=separation)

    return make
