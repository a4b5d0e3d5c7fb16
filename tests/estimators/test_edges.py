"""Settings and labels at the edge: refused with a sentence that says what to do, or taken at their word."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from levelhead import (
    AutoRegressor,
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    CleanedRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    audit,
)

pytestmark = pytest.mark.compiled
N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
NETWORKS = [
    GCPRegressor,
    GaussianRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    BayesianBetaRegressor,
]


@pytest.fixture
def trees():
    pytest.importorskip("lightgbm")
    return GCPBoostingRegressor(max_iter=20, random_state=0)


@pytest.mark.parametrize("epochs", [1, 2, 3])
@pytest.mark.parametrize("members", [1, 7])
def test_networks_train_for_max_iter_epochs(epochs, members):
    model = GCPRegressor((8,), max_iter=epochs, n_members=members, random_state=0).fit(X, Y)
    assert model.n_iter_ == len(model.loss_curve_) == epochs
    assert {network.best_epoch for network in model.networks_} == {epochs}
    assert len(model.networks_) == members
    assert np.isfinite(model.audit(X, Y).p_outlier).all()


@pytest.mark.parametrize(
    "name", ["early_stopping", "shared_trunk", "out_of_fold", "drop_last", "warm_start", "verbose"]
)
@pytest.mark.parametrize("value", ["False", "no", None])
def test_switches_are_true_or_false(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of GCPRegressor .* Got {value!r} instead"):
        GCPRegressor((8,), max_iter=1, **{name: value}).fit(X, Y)


def test_truth_values_of_numpy_are_truth_values():
    settings = {"early_stopping": np.True_, "verbose": 0, "n_jobs": np.int64(1)}
    assert GCPRegressor((8,), max_iter=2, **settings).fit(X, Y).n_iter_ <= 2


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_layer_sizes": 8},
        {"hidden_layer_sizes": [8, np.int64(4)]},
        {"hidden_layer_sizes": np.array([8, 4])},
        {"hidden_layer_sizes": ()},
        {"dropout": 0, "weight_decay": np.float32(0), "tol": np.inf},
        {"max_iter": np.int32(2), "batch_size": np.uint8(8), "n_members": np.int64(2)},
        {"contamination": np.float64(0.1), "n_jobs": None, "verbose": np.int64(0)},
        {"contamination": 0, "n_jobs": -2, "random_state": np.int64(3)},
    ],
)
def test_settings_of_any_numeric_type_are_accepted(settings):
    model = GCPRegressor(**{"hidden_layer_sizes": (8,), "max_iter": 2, "random_state": 0} | settings)
    assert np.isfinite(model.fit(X, Y).predict(X)).all()


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (BetaDivergenceRegressor, "beta", 0),
        (GammaDivergenceRegressor, "gamma", -1.0),
        (BayesianBetaRegressor, "beta", np.inf),
        (BayesianBetaRegressor, "noise_std", 0),
        (BayesianBetaRegressor, "prior_std", "wide"),
        (BayesianBetaRegressor, "n_samples", 0),
        (BayesianBetaRegressor, "n_posterior", 1.5),
        (AutoRegressor, "n_members", 0),
        (GCPBoostingRegressor, "min_samples_leaf", 0),
    ],
)
def test_settings_of_every_class_are_checked(cls, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {cls.__name__} .* Got {value!r} instead"):
        cls(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("name", ["max_iter", "batch_size"])
def test_truth_values_are_no_numbers(name):
    with pytest.raises(
        ValueError, match=f"'{name}' parameter of GCPRegressor must be an int .* Got True instead"
    ):
        GCPRegressor((8,), **{name: True}).fit(X, Y)


@pytest.mark.parametrize("n_jobs", ["two", 2.5, 0, True])
@pytest.mark.parametrize("cls", [*NETWORKS, GCPBoostingRegressor, AutoRegressor])
def test_numbers_of_threads_are_checked(cls, n_jobs):
    if cls in (GCPBoostingRegressor, AutoRegressor):
        pytest.importorskip("lightgbm")
    wanted = rf"'n_jobs' parameter of {cls.__name__} must be an int in the range \[1, inf\).* Got {n_jobs!r}"
    with pytest.raises(ValueError, match=wanted):
        cls(n_jobs=n_jobs).fit(X, Y)
    with pytest.raises(ValueError, match=wanted):
        audit(X, Y, cls(n_jobs=n_jobs))


def test_threads_are_checked_in_a_prediction_too():
    model = GCPRegressor((8,), max_iter=1).fit(X, Y)
    with pytest.raises(ValueError, match=r"'n_jobs' parameter of GCPRegressor .* Got 'two'"):
        model.set_params(n_jobs="two").predict(X)


DAYS = np.datetime64("2020-01-01") + np.arange(N)
DATES = {
    "datetime64": DAYS,
    "timedelta64": DAYS - DAYS[0],
    "pandas": pd.Series(DAYS),
    "pandas with a time zone": pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"),
    "polars": pl.Series(DAYS),
    "objects": [datetime.date(2020, 1, 1)] * N,
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_no_labels(name, trees):
    wanted = r"y holds dates or durations .* labels must be numbers; give, for example, \(y - y.min\(\)\)"
    for model in (GCPRegressor((8,), max_iter=1), trees, CleanedRegressor(LinearRegression())):
        with pytest.raises(ValueError, match=wanted):
            model.fit(X, DATES[name])
    with pytest.raises(ValueError, match=wanted):
        audit(X, DATES[name])


def test_labels_that_no_float_can_be_made_of():
    with pytest.raises(ValueError, match="labels must be real numbers"):
        GCPRegressor().fit(X, [object()] * N)


def test_an_audit_after_few_rows_advises_what_the_model_has(trees):
    with pytest.raises(ValueError, match="judge labels by: fit it to at least 30 different rows"):
        trees.fit(X[:29], Y[:29]).audit(X[:29], Y[:29])
    few = GCPRegressor((8,), max_iter=1).fit(X[:29], Y[:29])
    with pytest.raises(ValueError, match="judge labels by: fit it to at least 30 different rows"):
        few.audit(X[:29], Y[:29])
    without = GCPRegressor((8,), max_iter=1, out_of_fold=False, contamination=None).fit(X, Y)
    with pytest.raises(ValueError, match="fit it with out_of_fold=True, to at least 30 different rows"):
        without.audit(X, Y)


@pytest.mark.parametrize("kind", ["trees", "network", "auto", "cleaned"])
def test_a_constant_target_is_called_constant(trees, kind):
    constant = np.full(N, 7.0)
    network = GCPRegressor((8,), max_iter=20, random_state=0)
    model = {
        "trees": trees,
        "network": network,
        "auto": AutoRegressor(n_members=1, random_state=0),
        "cleaned": CleanedRegressor(network, auditor=network, random_state=0),
    }[kind].fit(X, constant)
    with pytest.raises(
        ValueError, match="all labels are 7: a constant target has no noise to judge labels by"
    ):
        model.audit(X, constant)
    assert np.isnan(model.contamination_)
    np.testing.assert_allclose(np.median(model.predict(X)), 7, atol=1)


def test_a_regressor_that_meets_every_label_exactly():
    model = CleanedRegressor(LinearRegression(), auditor=GCPRegressor((8,), max_iter=2), random_state=0)
    mean, std = model.fit(X, np.zeros(N)).predict(X, return_std=True)
    np.testing.assert_array_equal(mean, 0)
    assert (np.isfinite(std) & (std > 0)).all()
