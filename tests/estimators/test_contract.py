"""scikit-learn's own checks, none of them expected to fail."""

import doctest
import inspect
import pickle

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import levelhead
from levelhead import AutoRegressor, GaussianRegressor, GCPRegressor, estimators
from levelhead._extras import available
from levelhead.estimators.networks import gcp
from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.estimators.registry import REGISTRY

pytestmark = pytest.mark.compiled
NETWORKS = [entry.cls for entry in REGISTRY if issubclass(entry.cls, NetworkRegressor)]
QUICK = {"hidden_layer_sizes": (8,), "max_iter": 3, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] - X[:, 1] + 0.1 * RNG.normal(size=60)


def checks():
    for entry in REGISTRY:
        marks = [pytest.mark.slow] if entry.slow else []
        if entry.extra and not available(entry.extra):
            marks.append(pytest.mark.skip(reason=f"needs {entry.extra}"))
        for estimator, check in estimator_checks_generator(entry.cls(**entry.small)):
            name = getattr(check, "func", check).__name__
            yield pytest.param(estimator, check, id=f"{entry.name}-{name}", marks=marks)


def with_less_training(self, seed, kinds=AutoRegressor._kinds):
    """AutoRegressor has no settings of its own for less training."""
    trees, *networks = kinds(self, seed)
    return [
        trees.set_params(max_iter=40),
        *(net.set_params(hidden_layer_sizes=(8,), max_iter=10) for net in networks),
    ]


@pytest.mark.filterwarnings("default")  # some checks provoke warnings of scikit-learn on purpose
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setattr(AutoRegressor, "_kinds", with_less_training)
    check(estimator)


def test_every_estimator_is_in_the_registry():
    public = {name for name in dir(levelhead) if name.endswith("Regressor")}
    assert {entry.name for entry in REGISTRY} == public
    assert estimators.__all__ == sorted([*public, "tabular_pipeline"])
    assert all(getattr(levelhead, entry.name) is entry.cls for entry in REGISTRY)


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_every_parameter_has_its_constraint(entry):
    assert set(entry.cls._parameter_constraints) == set(inspect.signature(entry.cls).parameters)


def test_the_example_in_the_docstring():
    assert doctest.testmod(gcp).failed == 0


@pytest.mark.parametrize("cls", NETWORKS)
def test_parameters_have_the_names_that_mlp_regressor_gives_them(cls):
    named = (
        "hidden_layer_sizes activation solver learning_rate_init batch_size max_iter early_stopping "
        "validation_fraction n_iter_no_change tol warm_start random_state verbose dropout weight_decay n_members "
        "n_jobs shared_trunk target_scaling contamination"
    )
    assert set(named.split()) <= set(cls().get_params())


@pytest.mark.parametrize("cls", NETWORKS)
def test_every_parameter_survives_cloning_and_repr(cls):
    model = cls(dropout=0.2, n_members=2)
    assert clone(model).get_params() == model.get_params()
    assert "dropout=0.2" in repr(model)
    assert "n_members=2" in repr(model)


@pytest.mark.parametrize("cls", NETWORKS)
def test_pickles_give_the_same_predictions(cls):
    model = cls(**QUICK).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_dist(X).member_var, model.predict_dist(X).member_var)


def test_grid_search_over_a_pipeline_finds_the_step_size_that_learns():
    pipeline = make_pipeline(StandardScaler(), GaussianRegressor(**QUICK | {"max_iter": 60}))
    search = GridSearchCV(pipeline, {"gaussianregressor__learning_rate_init": [1e-6, 1e-2]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"gaussianregressor__learning_rate_init": 1e-2}
    assert search.best_score_ > 0.5


def test_models_fitted_side_by_side_do_not_disturb_each_other():
    model = GCPRegressor(**QUICK)
    alone = cross_val_predict(model, X, Y, cv=3)
    with parallel_config("threading", n_jobs=3):
        together = cross_val_predict(model, X, Y, cv=3)
    np.testing.assert_array_equal(together, alone)


def test_weights_are_routed_to_fit_and_score():
    weight = np.where(np.arange(60) < 30, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            GaussianRegressor(**QUICK)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        routed = pipeline.fit(X, Y, sample_weight=weight)
        result = cross_validate(pipeline, X, Y, params={"sample_weight": weight + 1}, cv=2)
    scaled = StandardScaler().fit_transform(X)
    by_hand = GaussianRegressor(**QUICK).fit(scaled, Y, sample_weight=weight)
    np.testing.assert_array_equal(routed.predict(X), by_hand.predict(scaled))
    assert np.isfinite(result["test_score"]).all()


def test_the_score_is_robust_against_wrong_labels():
    model = GaussianRegressor(**QUICK | {"max_iter": 100}).fit(X, Y)
    spoilt = Y.copy()
    spoilt[::15] += 1e6
    assert model.score(X, spoilt) == pytest.approx(model.score(X, Y), abs=0.05)
    assert Ridge().fit(X, Y).score(X, spoilt) < 0.01
    assert get_scorer("neg_mean_absolute_error")(model, X, Y) < 0


def test_public_names_are_found_lazily_and_listed():
    for name in dir(levelhead):
        assert getattr(levelhead, name) is not None
    assert {*levelhead.__all__, "contamination", "datasets", "metrics", "plots"} == set(dir(levelhead))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        levelhead.nothing  # noqa: B018
