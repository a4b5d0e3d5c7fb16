"""Distributions, intervals and audits through scikit-learn's own estimators."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_selection import RFE
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import levelhead
from levelhead import AutoRegressor, CleanedRegressor, GCPRegressor, load, metrics, save, tabular_pipeline
from levelhead.prediction import LogTransform, TransformedPrediction

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 150
X = pd.DataFrame({"a": RNG.uniform(size=N), "b": RNG.uniform(size=N)})
PRICE = np.exp(1 + X["a"].to_numpy() + 0.1 * RNG.normal(size=N))
WRONG = np.arange(0, N, 25)
PRICE[WRONG] *= 20
QUICK = GCPRegressor((16,), max_iter=60, learning_rate_init=0.01, random_state=0)
ON_LOG = GCPRegressor((16,), max_iter=60, learning_rate_init=0.01, target_transform="log", random_state=0)


def transformed(func, inverse, regressor=QUICK):
    return TransformedTargetRegressor(regressor, func=func, inverse_func=inverse)


def minus_log(y):
    return -np.log(y)


def exp_minus(z):
    return np.exp(-z)


def test_a_transformed_target_gives_the_distribution_in_the_units_of_y():
    theirs = transformed(np.log, np.exp).fit(X, PRICE)
    exact = TransformedPrediction(theirs.regressor_.predict_dist(X), LogTransform(1e-3))
    prediction = levelhead.predict_dist(theirs, X)
    np.testing.assert_allclose(prediction.mean, exact.mean, rtol=1e-4)
    np.testing.assert_allclose(prediction.ppf(0.5), theirs.predict(X), rtol=1e-6)
    lower, upper = levelhead.predict_interval(theirs, X, 0.8)
    np.testing.assert_allclose(upper, exact.interval(0.8).upper, rtol=1e-6)
    assert (lower > 0).all()


def test_a_decreasing_transform_is_mirrored():
    up = levelhead.predict_dist(transformed(np.log, np.exp).fit(X, PRICE), X)
    down = levelhead.predict_dist(transformed(minus_log, exp_minus).fit(X, PRICE), X)
    assert np.corrcoef(up.mean, down.mean)[0, 1] > 0.9
    assert (down.ppf(0.9) > down.ppf(0.1)).all()
    shaped = AutoRegressor(n_members=1, target_transform=None, random_state=0)
    model = transformed(minus_log, exp_minus, shaped).fit(X, PRICE)
    prediction = levelhead.predict_dist(model, X)
    latent = model.regressor_.predict_dist(X)
    np.testing.assert_allclose(prediction.ppf(0.9), np.exp(-latent.ppf(0.1)), rtol=1e-6)


def test_labels_are_not_transformed_twice():
    model = transformed(np.log, np.exp, ON_LOG).fit(X, PRICE)
    with pytest.raises(TypeError, match="transformed twice"):
        levelhead.predict_dist(model, X)


@pytest.mark.parametrize(
    "model",
    [
        transformed(np.log, np.exp),
        transformed(minus_log, exp_minus),
        GridSearchCV(make_pipeline(StandardScaler(), ON_LOG), {"gcpregressor__dropout": [0.0, 0.1]}, cv=2),
        GridSearchCV(transformed(np.log, np.exp), {"regressor__dropout": [0.0]}, cv=2),
        RFE(ON_LOG, n_features_to_select=1),
        tabular_pipeline(ON_LOG),
        tabular_pipeline(CleanedRegressor(Ridge(), auditor=QUICK, target_transform="log", random_state=0)),
    ],
    ids=["log", "minus log", "search of a pipeline", "search of a log", "elimination", "table", "cleaned"],
)
def test_an_audit_reaches_the_estimator_inside(model):
    weight = np.ones(N)
    weights = {} if isinstance(model, RFE) else {"sample_weight": weight}
    result = levelhead.audit(X, PRICE, model, **weights)
    assert set(WRONG) <= set(result.issues)
    assert result.is_label_issue.sum() <= len(WRONG) + 3
    assert result.scale is not None
    assert "Labels were judged on a " in result.summary()
    np.testing.assert_array_equal(result.given_label, PRICE)
    assert np.corrcoef(np.log(result.predicted_label), X["a"])[0, 1] > 0.9


def test_searches_score_by_the_names_of_our_scorers():
    model = GCPRegressor((8,), max_iter=3, random_state=0)
    search = GridSearchCV(
        model, {"dropout": [0.0, 0.1]}, cv=2, scoring=dict(metrics.SCORERS), refit="neg_crps"
    )
    search.fit(X, PRICE)
    assert np.isfinite(search.cv_results_["mean_test_neg_nll"]).all()
    assert search.best_score_ == search.cv_results_["mean_test_neg_crps"].max()


# ---------------------------------------------------------------------- tabular_pipeline


@pytest.fixture(scope="module")
def table():
    frame = X.assign(city=RNG.choice(["Rome", "Oslo"], N))
    frame.loc[::11, "b"] = np.nan
    return frame


@pytest.fixture(scope="module")
def fitted(table):
    return tabular_pipeline(ON_LOG).fit(table, PRICE)


def test_a_tabular_pipeline_has_what_our_estimators_have(table, fitted):
    prediction = fitted.predict_dist(table)
    mean, std = fitted.predict(table, return_std=True)
    np.testing.assert_array_equal(mean, prediction.mean)
    np.testing.assert_array_equal(std, prediction.std)
    np.testing.assert_array_equal(fitted.predict_interval(table, 0.5).lower, prediction.interval(0.5).lower)
    np.testing.assert_array_equal(fitted.predict_quantiles(table, 0.3), prediction.ppf(0.3))
    np.testing.assert_array_equal(fitted.log_prob(table, PRICE), prediction.logpdf(PRICE))
    assert fitted.score(table, PRICE) == metrics.robust_r2(PRICE, mean)
    assert fitted.contamination_ == fitted[-1].contamination_ == fitted.separation_.contamination
    assert len(fitted.oof_prediction_) == N
    assert set(WRONG) <= set(fitted.audit(table, PRICE).issues)


def test_the_regressor_that_was_given_is_not_changed():
    regressor = GCPRegressor((8,), max_iter=2, random_state=0)
    model = tabular_pipeline(regressor)
    assert model[-1] is regressor
    model.fit(X, PRICE)
    assert not hasattr(regressor, "networks_")
    assert hasattr(model[-1], "networks_")


@pytest.mark.filterwarnings("ignore:Downcasting behavior:FutureWarning")  # skrub with pandas 2.2, on objects
@pytest.mark.parametrize(
    "to", [lambda f: pa.Table.from_pandas(f), lambda f: f.to_numpy(), lambda f: f.to_numpy().tolist()]
)
def test_tables_arrays_and_lists_are_taken(table, to):
    model = tabular_pipeline(GCPRegressor((8,), max_iter=5, random_state=0))
    given = to(table)
    mean = model.fit(given, PRICE.tolist()).predict(given)
    np.testing.assert_allclose(mean, model.fit(table, PRICE).predict(table), rtol=1e-6)


def test_weights_and_groups_reach_the_regressor(table):
    model = tabular_pipeline(GCPRegressor((8,), max_iter=5, random_state=0))
    weight = np.where(np.arange(N) < 100, 1.0, 0.0)
    plain, named = (
        model.fit(table, PRICE, sample_weight=weight, groups=np.arange(N) // 2).predict(table),
        model.fit(table, PRICE, regressor__sample_weight=weight, regressor__groups=np.arange(N) // 2).predict(
            table
        ),
    )
    np.testing.assert_array_equal(plain, named)
    assert np.abs(plain - model.fit(table, PRICE).predict(table)).max() > 0


def test_other_columns_are_refused(table, fitted):
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="requires y to be passed"):
        tabular_pipeline(QUICK).fit(table, None)
    with pytest.raises(TypeError, match="Ridge cannot audit"):
        tabular_pipeline(Ridge()).fit(table, PRICE).audit(table, PRICE)
    with pytest.raises(TypeError, match="Ridge does not predict a distribution"):
        tabular_pipeline(Ridge()).fit(table, PRICE).predict_dist(table)


def test_a_tabular_pipeline_is_saved(table, fitted, tmp_path):
    again = load(save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(table), fitted.predict(table))
    unfitted = load(save(tabular_pipeline(QUICK), tmp_path / "unfitted"))
    assert unfitted.regressor.max_iter == 60


# ---------------------------------------------------------------------- short representations


def test_data_sets_describe_themselves_in_one_line():
    assert repr(levelhead.datasets.heteroscedastic(50, random_state=0)) == (
        "Synthetic data of 50 rows and 5 features; 0 labels are wrong"
    )
    assert (
        repr(levelhead.datasets.Dataset(np.ones((2, 1)), np.ones(2), ("x",), "y"))
        == "Dataset of 2 rows: y by x"
    )
