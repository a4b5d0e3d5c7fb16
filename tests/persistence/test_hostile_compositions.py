"""Models made of several models: refused by `load` if these do not fit together."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from levelhead import (
    AutoRegressor,
    CleanedRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    MultiTargetRegressor,
    load,
    save,
    tabular_pipeline,
)
from levelhead.estimators.repeats import Repeats
from levelhead.persistence import ModelFileError

pytestmark = pytest.mark.compiled
N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.column_stack([X[:, 0], X[:, 1]]) + 0.1 * RNG.normal(size=(N, 2))
FRAME = pd.DataFrame({"area": X[:, 0], "heating": RNG.choice(["gas", "oil", "coal"], N)})
RIDGE = {"instance": "sklearn.linear_model.Ridge", "number": 777, "attributes": Ridge().__getstate__()}


def network(**settings):
    return GCPRegressor((4,), max_iter=2, n_members=2, random_state=0, n_jobs=1, **settings)


def trees():
    return GCPBoostingRegressor(max_iter=4, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def auto():
    """Networks and trees together, with labels of known inputs."""
    pytest.importorskip("lightgbm")
    model = AutoRegressor(n_members=1, target_transform="yeo-johnson", random_state=0, n_jobs=1)
    model.reason_, model.n_features_in_ = "both", 3
    model.estimators_ = [
        each.set_params(target_transform="yeo-johnson").fit(X, Y[:, 0]) for each in (trees(), network())
    ]
    model.target_transform_ = model.estimators_[0].target_transform_
    model.target_transform_reason_ = "yeo-johnson scale, as given"
    model._combine(X, Y[:, 0], None)
    key = np.unique(model._keys(X))
    model.repeats_ = Repeats(key, np.zeros(len(key)), np.ones(len(key)), 0.6)
    return model


def renumbered(node, by=1000):
    """A copy of a part under other numbers, so that it is another instance."""
    if isinstance(node, list):
        return [renumbered(item, by) for item in node]
    if not isinstance(node, dict):
        return node
    return {k: v + by if k in ("number", "same") else renumbered(v, by) for k, v in node.items()}


def unfit(part):
    part["attributes"] = {
        k: v
        for k, v in part["attributes"].items()
        if not k.endswith("_") and k not in ("_row_keys", "_stream")
    }


def refused(path, match="not valid|contradict|features|one number for each row"):
    with pytest.raises(ModelFileError, match=match):
        load(path)


def attributes(**changes):
    return lambda description, _: description["attributes"].update(changes)


# ------------------------------------------------------------------ networks and trees


@pytest.mark.parametrize(
    "changes",
    [
        {"_only_column": 5},  # there are no categories
        {"target_transform_": {"record": "levelhead.prediction.LogTransform", "fields": {"floor": 1e-3}}},
    ],
)
def test_what_only_an_audit_would_notice(forged, changes):
    def forge(description, _):
        description["attributes"].pop("target_transform_reason_")
        description["attributes"].update(changes)

    refused(forged(network().fit(X, Y[:, 0]), forge))


def test_the_only_column_is_one_of_the_table(forged):
    refused(forged(network().fit(FRAME, Y[:, 0]), attributes(_only_column=2)))


@pytest.mark.parametrize("changes", [{"spread": 1e160}, {"spread": 1e-160}, {"center": 1e308}])
def test_labels_whose_squares_are_no_floats(forged, changes):
    forge = lambda description, _: description["attributes"]["target_scale_"]["fields"].update(changes)
    refused(forged(network().fit(X, Y[:, 0]), forge), "target_scale_")


def test_a_judge_of_other_columns(forged):
    pytest.importorskip("lightgbm")
    model = trees().fit(FRAME, Y[:, 0])

    def forge(description, _):
        judge = renumbered(copy.deepcopy(description))
        judge["attributes"]["feature_names_in_"] = {"objects": [[2], ["area", "colour"]]}
        description["attributes"]["judge_"] = judge

    refused(forged(model, forge))


# ------------------------------------------------------------------ AutoRegressor


def without_reason(description, _):
    description["attributes"].pop("target_transform_reason_")


def of_other_names(description, _):
    for part in description["attributes"]["estimators_"][1:]:
        part["attributes"]["feature_names_in_"] = {"objects": [[3], list("abc")]}


def of_no_range(description, _):
    description["attributes"]["combination_"]["fields"].update(lowest=1.0, highest=-1.0)


@pytest.mark.parametrize("forge", [without_reason, of_other_names, of_no_range])
def test_models_that_were_not_fitted_together(auto, forged, forge):
    refused(forged(auto, forge))


def test_models_of_different_rows(auto, forged, npy):
    def forge(description, members):
        part = description["attributes"]["estimators_"][0]["attributes"]
        latent = part["oof_prediction_"]["fields"]["latent"]["fields"]
        for stored in [part["_row_keys"], *filter(None, latent.values())]:
            kind = np.uint64 if stored is part["_row_keys"] else np.float64
            members[f"arrays/{stored['array']}.npy"] = npy(np.arange(1, 6).astype(kind))

    refused(forged(auto, forge))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mean", 1.7e308),
        ("mean", np.nan),
        ("variance", 5e-324),
        ("variance", 1.7e308),
        ("key", 1.0),
    ],
)
def test_labels_of_known_inputs_that_cannot_be(auto, forged, npy, field, value):
    def forge(description, members):
        stored = description["attributes"]["repeats_"]["fields"][field]["array"]
        members[f"arrays/{stored}.npy"] = npy(np.full(N, value))

    refused(forged(auto, forge), f"Repeats.{field}")


# ------------------------------------------------------------------ several targets


@pytest.fixture(scope="module")
def several():
    return MultiTargetRegressor(network()).fit(X, Y)


def with_an_unfitted_part(description, _):
    unfit(description["attributes"]["estimators_"][1])


def with_an_unfitted_stranger(description, _):
    description["attributes"]["estimators_"][1] = RIDGE


def with_several_targets_in_one(description, _):
    inner = renumbered(copy.deepcopy(description))
    description["attributes"].update(estimators_=[inner], targets_=["a"])


@pytest.mark.parametrize(
    "forge",
    [
        with_an_unfitted_part,
        with_an_unfitted_stranger,
        with_several_targets_in_one,
        attributes(n_features_in_=7),
        attributes(targets_=["a"]),
    ],
)
def test_targets_without_a_model_of_their_own(several, forged, forge):
    refused(forged(several, forge))


def test_pipelines_of_several_targets_can_be_saved(tmp_path):
    model = MultiTargetRegressor(make_pipeline(StandardScaler(), network())).fit(X, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(TypeError, match="Pipeline cannot audit"):
        again.audit(X, Y)


# ------------------------------------------------------------------ pipelines for raw tables


@pytest.fixture(scope="module")
def tabular():
    pytest.importorskip("skrub")
    return tabular_pipeline(network()).fit(FRAME, Y[:, 0])


def with_steps(change):
    return lambda description, _: change(description["attributes"]["pipeline_"]["attributes"]["steps"])


def nested(description, _):
    steps = description["attributes"]["pipeline_"]["attributes"]["steps"]
    steps[-1] = {"tuple": ["regressor", renumbered(copy.deepcopy(description))]}


@pytest.mark.parametrize(
    "forge",
    [
        with_steps(lambda steps: steps.pop()),
        with_steps(lambda steps: steps.__delitem__(slice(2))),
        with_steps(lambda steps: unfit(steps[-1]["tuple"][1])),
        with_steps(lambda steps: steps[-1]["tuple"].__setitem__(1, RIDGE)),
        with_steps(lambda steps: steps.append({"tuple": ["last", "passthrough"]})),
        nested,
    ],
    ids=["no regressor", "no table", "unfitted", "unfitted stranger", "passthrough", "nested"],
)
def test_pipelines_that_cannot_predict(tabular, forged, forge):
    refused(forged(tabular, forge))


# ------------------------------------------------------------------ CleanedRegressor


def test_a_regressor_that_is_not_fitted(forged):
    model = CleanedRegressor(Ridge(), auditor=network(), random_state=0).fit(X, Y[:, 0])
    refused(forged(model, attributes(regressor_=RIDGE)), "regressor_")


@pytest.mark.parametrize("coefficients", [np.ones((2, 3)), np.full(3, np.nan), np.full(3, 1j)])
def test_a_regressor_without_one_number_for_each_row(forged, npy, coefficients):
    model = CleanedRegressor(Ridge(), auditor=network(), random_state=0).fit(X, Y[:, 0])

    def forge(description, members):
        stored = description["attributes"]["regressor_"]["attributes"]["coef_"]["array"]
        members[f"arrays/{stored}.npy"] = npy(coefficients)

    refused(forged(model, forge))
