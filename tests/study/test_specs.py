"""A digest covers what decides numbers and nothing else."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from levelhead import GCPRegressor
from levelhead.contamination import Cluster, Replaced
from levelhead.study import Data, Spec
from levelhead.study.specs import describe


@pytest.fixture
def spec(data):
    return Spec(data, 0.05, "GCP", 1, GCPRegressor(max_iter=3))


class Fixed(BaseEstimator):
    """An estimator whose parameters no other package changes."""

    __module__ = "fixed"

    def __init__(self, scale=1.0, layers=(3, 2), kernel=None):
        self.scale, self.layers, self.kernel = scale, layers, kernel


def test_the_digest_is_the_same_everywhere_and_for_ever():
    """Stored results are found by it: a change of this value throws all of them away, so it must be meant."""
    spec = Spec("boston", 0.05, "fixed", 1, Fixed())
    assert spec.digest == "51653cc613c414c7275fa1a5c72cdd40d074197866c4394c97717d06c8b43e18"


def test_equal_numbers_are_equal_whatever_their_type():
    one = Spec("boston", 0.05, "GP", 1, GaussianProcessRegressor(RBF(2.0) + WhiteKernel()))
    other = Spec(
        "boston",
        np.float64(5) / 100,
        "GP",
        np.int64(1),
        GaussianProcessRegressor(RBF(np.float64(2)) + WhiteKernel()),
    )
    assert one == other
    assert one != replace(one, estimator=GaussianProcessRegressor(RBF(2.5) + WhiteKernel()))


@pytest.mark.parametrize(
    "change",
    [
        {"contamination": 0.1},
        {"seed": 2},
        {"method": "other"},
        {"student": "GCP_St"},
        {"kind": Replaced(spread=9.0)},
        {"kind": Cluster()},
        {"estimator": GCPRegressor(max_iter=4)},
        {"test_size": 0.1},
        {"validation_size": 0.2},
        {"dataset": "boston"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_decides_numbers_changes_the_digest(spec, change):
    assert replace(spec, **change) != spec
    assert replace(spec) == spec


def test_one_changed_label_changes_the_digest(spec, data):
    y = data.y.copy()
    y[7] = np.nextafter(y[7], np.inf)
    assert replace(spec, dataset=Data("toy", data.X, y)) != spec


@pytest.mark.parametrize("change", [{"n_jobs": 2}, {"verbose": True}, {"random_state": 5}])
def test_what_the_run_sets_itself_does_not_matter(spec, change):
    assert replace(spec, estimator=GCPRegressor(max_iter=3, **change)) == spec


def test_later_changes_of_the_given_estimator_do_not_reach_the_spec(data):
    estimator = GCPRegressor(max_iter=3)
    spec = Spec(data, 0.05, "GCP", 1, estimator)
    estimator.set_params(max_iter=9)
    assert spec.estimator.max_iter == 3
    with pytest.raises(FrozenInstanceError):
        spec.contamination = 0.1


def test_nested_estimators_are_looked_into():
    scaled = lambda mean: make_pipeline(StandardScaler(with_mean=mean), GCPRegressor())
    assert describe(scaled(True)) != describe(scaled(False))
    assert describe(FunctionTransformer(np.log1p)) != describe(FunctionTransformer(np.expm1))


def test_streams(spec):
    """Wrong labels are common to methods and recipes; fits have their own stream for every method."""
    other = replace(spec, method="Beta", estimator=GCPRegressor(max_iter=9))
    assert other.stream("contamination") == spec.stream("contamination")
    assert other.stream("random_state") != spec.stream("random_state")
    assert replace(spec, estimator=GCPRegressor(max_iter=9)).stream("random_state") == spec.stream(
        "random_state"
    )
    for change in ({"contamination": 0.1}, {"seed": 2}, {"kind": Cluster()}):
        assert replace(spec, **change).stream("contamination") != spec.stream("contamination")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "bostn"}, "choose one of boston"),
        ({"contamination": 5}, "0.05 for 5 %"),
        ({"test_size": 1.0}, "test_size is 1.0"),
        ({"validation_size": 2.0}, "validation_size is 2.0"),
    ],
)
def test_errors_say_what_to_do(spec, change, message):
    with pytest.raises(ValueError, match=message):
        replace(spec, **change)


def test_data_and_content_are_checked(data):
    with pytest.raises(ValueError, match="one row per label"):
        Data("toy", data.X[:-1], data.y)
    with pytest.raises(ValueError, match="public data sets"):
        Data("boston", data.X, data.y)
    with pytest.raises(TypeError, match="top level of a module"):
        describe(FunctionTransformer(lambda x: x))
    with pytest.raises(TypeError, match="cannot be part of a spec"):
        describe(object())
