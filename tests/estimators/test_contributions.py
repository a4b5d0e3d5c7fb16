"""Which columns matter, and by how much each of them moves the prediction of a row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LinearRegression

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, CleanedRegressor, GCPBoostingRegressor, GCPRegressor, load, save
from levelhead.estimators.trees.forest import Forest
from levelhead.persistence import ModelFileError

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 400
CITIES = np.array(["Rome", "Oslo", "Lima", "Bonn"])
X = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "noise": RNG.normal(size=N),
        "age": RNG.normal(size=N),
        "city": RNG.choice(CITIES, N),
    }
)
Y = 3 * X["size"].to_numpy() + 0.3 * np.exp(X["age"].to_numpy()) * RNG.normal(size=N)
Y[::20] += 30
NUMBERS = X[["size", "noise", "age"]].to_numpy()
MODELS = {
    "trees": GCPBoostingRegressor(n_members=2, max_iter=100, random_state=0),
    "network": GCPRegressor((16,), max_iter=30, n_members=2, random_state=0),
    "auto": AutoRegressor(n_members=1, target_transform=None, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param].fit(X, Y)


def assert_additive(model, rows):
    parts = model.contributions(rows, X)
    latent = model.predict_dist(rows).latent
    np.testing.assert_allclose(parts.base_mean + parts.mean.sum(axis=1), latent.mean, rtol=1e-6, atol=1e-6)
    spread = parts.base_log_std + parts.log_std.sum(axis=1)
    np.testing.assert_allclose(spread, 0.5 * np.log(latent.aleatoric_var), rtol=1e-6, atol=1e-6)
    return parts


def test_the_column_that_moves_the_labels_is_the_most_important(fitted):
    importances = fitted.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert importances[0] > 0.8


def test_contributions_add_up_to_the_mean_and_the_spread(fitted):
    parts = assert_additive(fitted, X.head(30))
    assert parts.names == tuple(X.columns)
    size = np.abs(parts.mean).mean(axis=0)
    assert size[0] > 5 * size[1:].max()
    frame = parts.to_frame("mean")
    np.testing.assert_array_equal(frame["age"], parts.mean[:, 2])
    assert "4 columns to 30 rows; mean size: size (" in repr(parts)


def test_the_spread_is_explained_by_the_column_that_widens_it():
    model = GCPBoostingRegressor(random_state=0).fit(NUMBERS, Y)
    parts = model.contributions(NUMBERS)
    assert np.abs(parts.log_std).mean(axis=0).argmax() == 2
    assert parts.names == ("column 1", "column 2", "column 3")


def test_saved_models_explain_the_same(fitted, tmp_path):
    again = load(save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(again.feature_importances_, fitted.feature_importances_)
    np.testing.assert_array_equal(
        again.contributions(X.head(5), X).mean, fitted.contributions(X.head(5), X).mean
    )


def test_the_order_of_the_rows_does_not_change_importances():
    model = GCPRegressor((8,), max_iter=5, random_state=0)
    order = RNG.permutation(N)
    there = model.fit(NUMBERS[order], Y[order]).feature_importances_
    np.testing.assert_array_equal(model.fit(NUMBERS, Y).feature_importances_, there)


@pytest.mark.parametrize("model", [MODELS["trees"], MODELS["network"]], ids=["trees", "network"])
def test_an_offset_belongs_to_its_category(model):
    shifted = Y + 100 * (X["city"] == "Rome") + 300 * (X["city"] == "Oslo") - 200 * (X["city"] == "Lima")
    model.fit(X, shifted)
    assert model.encoding_.offset is not None
    assert model.feature_importances_.argmax() == 3
    unknown = X.head(20).assign(city=["Rome", "Quito"] * 10)
    parts = assert_additive(model, unknown)
    assert np.abs(parts.mean[::2, 3]).min() > 10 * np.abs(parts.mean[::2, 2]).max()


def test_contributions_stand_on_the_scale_of_the_labels():
    model = GCPBoostingRegressor(max_iter=40, target_transform="log", random_state=0)
    model.fit(NUMBERS, np.exp(NUMBERS[:, 0] + 0.1 * RNG.normal(size=N)))
    parts = model.contributions(NUMBERS[:3])
    assert parts.scale == "log"
    latent = model.predict_dist(NUMBERS[:3]).latent
    np.testing.assert_allclose(parts.base_mean + parts.mean.sum(axis=1), latent.mean, atol=1e-6)


def test_one_row_needs_a_background():
    model = MODELS["network"].fit(NUMBERS, Y)
    with pytest.raises(ValueError, match="X has one row; give several rows"):
        model.contributions(NUMBERS[:1])
    assert len(model.contributions(NUMBERS[:1], NUMBERS)) == 1


def test_recursive_feature_elimination_keeps_what_matters():
    model = GCPBoostingRegressor(max_iter=30, random_state=0)
    assert RFECV(model, cv=3, min_features_to_select=1).fit(NUMBERS, Y).support_[0]
    network = GCPRegressor((8,), max_iter=10, random_state=0)
    assert RFECV(network, cv=2, min_features_to_select=1).fit(NUMBERS, Y).support_[0]


def test_a_cleaned_regressor_has_the_importances_of_its_regressor():
    trees = GCPBoostingRegressor(max_iter=20, random_state=0)
    auditor = GCPRegressor((8,), max_iter=5, random_state=0)
    model = CleanedRegressor(trees, auditor=auditor, random_state=0).fit(NUMBERS, Y)
    np.testing.assert_array_equal(model.feature_importances_, model.regressor_.feature_importances_)
    linear = CleanedRegressor(LinearRegression(), auditor=auditor, random_state=0).fit(NUMBERS, Y)
    assert not hasattr(linear, "feature_importances_")


# ---------------------------------------------------------------------- the trees behind it


@pytest.fixture(scope="module")
def forest():
    return GCPBoostingRegressor(max_iter=20, random_state=0).fit(NUMBERS, Y).mean_forests_[0]


def test_statistics_survive_the_check_of_the_text(forest):
    again = Forest(forest.n_features, forest.text)
    np.testing.assert_allclose(again.gains, forest.gains, rtol=1e-5)
    np.testing.assert_array_equal(again.contributions(NUMBERS), forest.contributions(NUMBERS))


def test_shap_explains_the_booster(forest):
    shap = pytest.importorskip("shap")
    values = shap.TreeExplainer(forest.to_booster()).shap_values(NUMBERS[:5])
    np.testing.assert_allclose(values, forest.contributions(NUMBERS[:5])[:, :-1], atol=1e-12)


def test_trees_of_older_files_predict_but_explain_nothing(forest):
    lines = [
        line
        for line in forest.text.split("\n")
        if not line.startswith(("split_gain", "internal_count", "leaf_count"))
    ]
    old = Forest(forest.n_features, "\n".join(lines))
    np.testing.assert_array_equal(old.predict(NUMBERS), forest.predict(NUMBERS))
    assert (old.gains == 0).all()
    with pytest.raises(ValueError, match="did not keep their numbers of rows"):
        old.contributions(NUMBERS)


@pytest.mark.parametrize(
    ("line", "entries", "problem"),
    [
        ("internal_count", "-5", "impossible number of rows"),
        ("leaf_count", "99999999999", "impossible number of rows"),
        ("split_gain", "inf", "gain is negative or not finite"),
        ("internal_count", "", "entries; needed"),
    ],
)
def test_impossible_statistics_are_refused(forest, line, entries, problem):
    blocks = [
        f"{line}={entries} {row.split(' ', 1)[-1]}" if row.startswith(f"{line}=") and " " in row else row
        for row in forest.text.split("\n")
    ]
    text = "\n".join(blocks).replace(f"{line}= ", f"{line}=")
    with pytest.raises(ValueError, match=problem):
        Forest(forest.n_features, text)


def test_counts_of_zero_and_very_deep_trees_are_no_danger():
    n = 600  # a chain of splits
    nodes = range(n)
    chain = {
        "num_leaves": [n + 1],
        "num_cat": [0],
        "split_feature": [0] * n,
        "threshold": list(nodes),
        "decision_type": [2] * n,
        "left_child": [-k - 1 for k in nodes],
        "right_child": [*range(1, n), -n - 1],
        "leaf_value": [1.0] * (n + 1),
        "split_gain": [1] * n,
        "internal_count": [0] * n,
        "leaf_count": [0] * (n + 1),
    }

    def forest(depth):
        cut = {name: entries[: depth + 1] for name, entries in chain.items()}
        cut |= {name: chain[name][:depth] for name in chain if len(chain[name]) == n}
        cut |= {"num_leaves": [depth + 1], "right_child": [*range(1, depth), -depth - 1]}
        return Forest(1, "\n".join(f"{name}={' '.join(map(str, entries))}" for name, entries in cut.items()))

    with pytest.raises(ValueError, match="600 splits deep"):
        forest(600).contributions(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="nodes without rows"):
        forest(3).contributions(np.zeros((2, 1)))


def test_importances_of_another_table_are_refused(tmp_path):
    model = GCPBoostingRegressor(max_iter=5, random_state=0).fit(NUMBERS, Y)
    model.feature_importances_ = np.ones(7)
    with pytest.raises(ModelFileError, match="feature_importances_ does not have one entry"):
        save(model, tmp_path / "model")


# ---------------------------------------------------------------------- monotone effects


def along(column, model, n=60):
    rows = np.repeat(NUMBERS[:20], n, axis=0)
    rows[:, column] = np.tile(np.linspace(-3, 3, n), 20)
    return np.diff(model.predict_dist(rows).member_mean.reshape(-1, 20, n), axis=2)


@pytest.mark.parametrize("cst", [[-1, 0, 1], np.array([-1, 0, 1])], ids=["list", "array"])
def test_every_member_keeps_the_signs(cst):
    model = GCPBoostingRegressor(monotonic_cst=cst, n_members=2, max_iter=60, random_state=0).fit(NUMBERS, Y)
    assert (along(0, model) <= 1e-12).all()
    assert (along(2, model) >= -1e-12).all()
    free = GCPBoostingRegressor(max_iter=60, random_state=0).fit(NUMBERS, Y)
    assert (along(0, free) > 0).any()
    assert (along(2, free) < 0).any()


def test_signs_by_name_beside_categories(tmp_path):
    model = GCPBoostingRegressor(monotonic_cst={"noise": 1}, max_iter=60, random_state=0).fit(X, Y)
    rows = X.head(1).loc[[0] * 50].assign(noise=np.linspace(-3, 3, 50))
    assert (np.diff(model.predict(rows)) >= 0).all()
    assert load(save(model, tmp_path / "model")).monotonic_cst == {"noise": 1}


def test_a_category_has_no_sign():
    with pytest.raises(
        ValueError, match=r"a sign for column 'city', which holds no numbers \(kind: category\)"
    ):
        GCPBoostingRegressor(monotonic_cst={"city": 1}).fit(X, Y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        GCPBoostingRegressor(monotonic_cst=[1, 2, 0]).fit(NUMBERS, Y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        GCPBoostingRegressor(monotonic_cst=[1]).fit(NUMBERS, Y)


def test_auto_uses_only_trees_with_signs():
    model = AutoRegressor(n_members=2, monotonic_cst=[-1, 0, 0], target_transform=None, random_state=0)
    model.fit(NUMBERS, Y)
    assert model.chosen_ == "trees"
    assert "networks cannot keep the signs" in model.reason_
    assert (along(0, model) <= 1e-9).all()
    no_signs = AutoRegressor(n_members=1, monotonic_cst=[0, 0, 0], random_state=0).fit(NUMBERS[:70], Y[:70])
    assert "monotonic_cst" not in no_signs.reason_
