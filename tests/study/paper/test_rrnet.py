"""rRNet: its scale is the minimum of the divergence, and neither mean nor scale follows wrong labels."""

import numpy as np
import pytest
from sklearn.base import clone

from levelhead.contamination import Replaced
from levelhead.metrics import rmse
from levelhead.study.paper.rrnet import RRNet, scale_of
from levelhead.study.paper.table1 import Hyperparameters, paper_network


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_the_scale_is_where_the_divergence_is_smallest(beta: float) -> None:
    residuals = 0.3 * np.random.default_rng(0).normal(size=500)
    residuals[:50] += 4
    scales = np.geomspace(0.05, 5, 4001)
    kept = np.exp(-0.5 * beta * (residuals / scales[:, None]) ** 2).mean(axis=1)
    divergence = scales**-beta * ((1 + beta) ** -0.5 - (1 + 1 / beta) * kept)
    assert scale_of(residuals, beta) == pytest.approx(scales[divergence.argmin()], rel=2e-3)


@pytest.mark.compiled
def test_mean_and_scale_resist_wrong_labels() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 1))
    truth = np.sin(3 * X[:, 0])
    spoilt = Replaced()(X, truth + 0.2 * rng.normal(size=500), contamination=0.2, random_state=0)
    settings = Hyperparameters(1e-3, 0.0, 300, 0.5)
    model = paper_network("RRNet", settings, 5).set_params(random_state=0, n_jobs=1).fit(X, spoilt.y)
    assert isinstance(model, RRNet)
    gaussian = paper_network("Gaussian", settings, 5).set_params(random_state=0, n_jobs=1).fit(X, spoilt.y)
    assert rmse(truth, model.predict(X)) < 0.5 * rmse(truth, gaussian.predict(X))
    std = model.predict_dist(X).std
    assert np.ptp(std) == 0  # one scale for all rows
    assert 0.15 < std[0] < 0.3
    again = clone(model).fit(X, spoilt.y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
