"""The adapter passes every check of skpro, and its distributions are those of the estimator."""

import doctest

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from skpro.utils import check_estimator

import levelhead.skpro
from levelhead import GaussianRegressor, GCPRegressor
from levelhead.skpro import SkproRegressor


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"], index=np.arange(120) + 7)
    return X, pd.DataFrame({"rent": X["a"] + 0.1 * rng.normal(size=120)})


def test_every_check_of_skpro_passes():
    results = check_estimator(SkproRegressor, raise_exceptions=False, verbose=False)
    assert len(results) > 50
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


@pytest.mark.parametrize(
    "estimator", [GCPRegressor(n_members=3, max_iter=30), GaussianRegressor(n_members=1, max_iter=30)]
)
def test_distributions_are_those_of_the_estimator(table, estimator):
    X, y = table
    model = SkproRegressor(estimator.set_params(random_state=0)).fit(X, y)
    expected = model.estimator_.predict_dist(X)
    given = model.predict_proba(X)
    assert_allclose(model.predict(X)["rent"], expected.mean)
    assert_allclose(given.mean()["rent"], expected.mean)
    assert_allclose(given.var()["rent"], expected.var)
    assert_allclose(given.log_pdf(y)["rent"], expected.logpdf(y["rent"].to_numpy()))
    interval = model.predict_interval(X, coverage=[0.5, 0.9])
    assert_allclose(interval["rent"][0.9]["upper"], expected.interval(0.9).upper)
    assert list(interval.index) == list(X.index)


def test_examples_in_docstrings():
    assert doctest.testmod(levelhead.skpro).failed == 0
