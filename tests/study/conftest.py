"""Small studies whose runs take milliseconds, or long enough to be interrupted."""

import pytest
from sklearn.linear_model import BayesianRidge

from levelhead import GCPRegressor
from levelhead.datasets import heteroscedastic
from levelhead.study import Data, Spec


@pytest.fixture(scope="session")
def data():
    clean = heteroscedastic(160, n_features=3, random_state=0)
    return Data("toy", clean.X, clean.y_clean)


@pytest.fixture(scope="session")
def make_specs(data):
    """Specs of two methods; the number of epochs decides how long GCP takes."""

    def make(n_splits, epochs=20, contamination=(0, 0.1)):
        gcp = GCPRegressor((16,), max_iter=epochs, batch_size=5, out_of_fold=False, contamination=None)
        methods = {"GCP": (gcp, "GCP_St"), "ridge": (BayesianRidge(), None)}
        return [
            Spec(data, wrong, method, seed, estimator, student=student, test_size=0.2)
            for seed in range(n_splits)
            for wrong in contamination
            for method, (estimator, student) in methods.items()
        ]

    return make


@pytest.fixture(scope="session")
def numbers():
    """All stored numbers that must not depend on how they were computed."""
    return lambda store: [row._replace(fit_seconds=0.0, cpu_seconds=0.0) for row in store.rows()]
