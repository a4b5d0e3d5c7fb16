"""Tables with very many columns, and with many columns of many categories."""

import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor

pytestmark = pytest.mark.compiled


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.slow
def test_five_thousand_columns(rng):
    n = 200
    X = np.where(rng.random((n, 5000)) < 0.3, rng.normal(size=(n, 5000)), 0.0).astype(np.float32)
    X[:, 17] = rng.normal(size=n)
    y = 10 * X[:, 17] + 0.1 * rng.normal(size=n)
    trees = GCPBoostingRegressor(max_iter=30, random_state=0, n_jobs=1).fit(csr_array(X), y)
    assert np.argmax(trees.feature_importances_) == 17
    network = GCPRegressor(max_iter=3, input_scaling="piecewise", random_state=0, n_jobs=1).fit(X, y)
    assert network.input_scale_.n_inputs == 5000  # one per column, and no pieces
    assert len(network.audit(csr_array(X), y)) == n


def test_many_columns_of_many_categories_become_few_inputs(rng):
    pandas = pytest.importorskip("pandas")
    n, n_columns, n_levels = 1500, 100, 200
    codes = rng.integers(0, n_levels, size=(n, n_columns))
    frame = pandas.DataFrame({f"c{k}": pandas.Categorical(codes[:, k].astype(str)) for k in range(n_columns)})
    y = 3.0 * (codes[:, 5] < 100) + 0.2 * rng.normal(size=n)
    network = GCPRegressor(max_iter=3, random_state=0, n_jobs=1).fit(frame, y)
    assert len(network.encoding_) <= 4 * n_columns
    trees = GCPBoostingRegressor(max_iter=30, random_state=0, n_jobs=1).fit(frame, y)
    assert np.argmax(trees.feature_importances_) == 5


def test_networks_and_trees_together_take_sparse_tables(rng):
    X = csr_array(np.where(rng.random((150, 30)) < 0.5, rng.normal(size=(150, 30)), 0.0))
    y = X.toarray()[:, :3].sum(axis=1) + 0.1 * rng.normal(size=150)
    model = AutoRegressor(n_members=1, random_state=0, n_jobs=1).fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_array_equal(model.predict(X), model.predict(X.toarray()))
    assert len(model.audit(X, y)) == 150
