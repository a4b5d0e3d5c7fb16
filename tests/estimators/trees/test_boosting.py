"""Boosted trees that wrong labels do not fool."""

import doctest

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("lightgbm")

from levelhead import GCPBoostingRegressor, load, metrics, save
from levelhead.contamination import Replaced
from levelhead.datasets import heteroscedastic
from levelhead.estimators._out_of_fold import Folds
from levelhead.estimators.trees import boosting, growing
from levelhead.estimators.trees.growing import Shape, fisher_step
from levelhead.persistence import ModelFileError

QUICK = {"max_iter": 60, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.sign(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=150)
Y[::15] += 8


def test_the_example_in_the_docstring():
    assert doctest.testmod(boosting).failed == 0


# ---------------------------------------------------------------------- the mathematics


def test_fisher_scoring_finds_offset_slope_and_alpha():
    rng = np.random.default_rng(1)
    trees = rng.normal(3, 0.5, 40_000)
    z = np.exp(-2 + 0.8 * trees) * rng.standard_t(3.0, trees.size)
    shape = Shape(0.0, 1.0, 0.0)
    for _ in range(60):
        shape = fisher_step(shape, z, trees, np.ones(trees.size), warm=True)
    assert shape.offset == pytest.approx(-2, abs=0.06)
    assert shape.slope == pytest.approx(0.8, abs=0.02)
    assert shape.alpha == pytest.approx(1.5, rel=0.05)  # half the degrees of freedom


# ---------------------------------------------------------------------- robustness


@pytest.fixture(scope="module")
def data():
    clean = heteroscedastic(1500, random_state=0)
    return clean, Replaced()(clean.X, clean.y_clean, contamination=0.1, random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    clean, spoilt = data
    return GCPBoostingRegressor(random_state=0).fit(clean.X, spoilt.y)


def test_wrong_labels_hardly_matter(data, fitted):
    clean, _ = data
    untouched = GCPBoostingRegressor(random_state=0).fit(clean.X, clean.y_clean)
    with_wrong, without = (metrics.rmse(clean.mean, m.predict(clean.X)) for m in (fitted, untouched))
    assert with_wrong < 1.6 * without  # four seeds gave ratios of 1.01 to 1.30


def test_the_variance_is_that_of_the_clean_labels(data, fitted):
    clean, _ = data
    answer = fitted.predict_dist(clean.X)
    assert 0.85 < np.median(answer.std / clean.std) < 1.4  # the error of the mean is part of it
    assert np.corrcoef(np.log(answer.std), np.log(clean.std))[0, 1] > 0.7
    fresh = clean.mean + clean.std * np.random.default_rng(5).normal(size=len(clean.std))
    assert metrics.coverage(fresh, *answer.interval(0.9)) == pytest.approx(0.9, abs=0.04)


def test_the_audit_finds_the_wrong_ones(data, fitted):
    clean, spoilt = data
    assert fitted.contamination_ == pytest.approx(0.1, abs=0.03)
    verdict = fitted.audit(clean.X, spoilt.y)
    called = verdict.is_label_issue
    assert spoilt.mask[called].mean() > 0.9
    assert called[spoilt.mask].mean() > 0.7
    assert (verdict.alpha < 1).all()  # α of all rows
    np.testing.assert_array_equal(verdict.predicted_label, fitted.oof_prediction_.mean)


def test_a_huge_label_is_like_a_merely_large_one():
    far, further = Y.copy(), Y.copy()
    far[3], further[3] = 1e8, 1e200
    one, two, plain = (GCPBoostingRegressor(**QUICK).fit(X, y).predict(X) for y in (far, further, Y))
    assert np.median(np.abs(one - plain)) < 0.1
    assert np.median(np.abs(two - plain)) < 0.1


def test_no_leaf_of_the_scale_stands_on_few_labels():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 12, 300), rng.random(300) < 0.1])
    y = X[:, 0] + rng.standard_t(2, size=300)
    fold = rng.integers(0, 5, 300)
    growth = GCPBoostingRegressor(max_iter=400, n_jobs=1).fit(X, y)._growth(300)
    grown = growing.grow(X, y, np.ones(300), Folds(fold, fold[:, None] != np.arange(5)), growth, seed=0)
    for k, forest in enumerate(grown.scale_forests):
        leaves = forest._booster.predict(X[fold != k][:, forest._features], pred_leaf=True)
        assert min(np.unique(tree, return_counts=True)[1].min() for tree in leaves.T) >= 20


def test_the_more_labels_are_wrong_the_larger_the_leaves_of_the_scale(monkeypatch):
    rows, grow = [], growing.grow
    monkeypatch.setattr(
        growing,
        "grow",
        lambda *given, growth, **more: (
            rows.append(growth.rows_in_scale_leaf) or grow(*given, growth=growth, **more)
        ),
    )
    data = heteroscedastic(600, random_state=0)
    for share, expected in ((0.1, [20]), (0.35, [20, 80])):
        rows.clear()
        spoilt = Replaced()(data.X, data.y_clean, contamination=share, random_state=0)
        model = GCPBoostingRegressor(random_state=0, n_jobs=1).fit(data.X, spoilt.y)
        assert model.contamination_ == pytest.approx(share, abs=0.05)
        assert rows == expected


@pytest.fixture
def finished(monkeypatch):
    """Labels and weights with which members are trained, by the first column of their table."""
    given, finish = {}, growing.finish

    def spy(X, y, weight, *rest):
        order = np.argsort(X[:, 0])
        given["labels"], given["weight"] = y[order], weight[order]
        return finish(X, y, weight, *rest)

    monkeypatch.setattr(growing, "finish", spy)
    return given


@pytest.fixture(scope="module")
def in_order():
    """A table in the order of its first column, one label in ten wrong."""
    rng = np.random.default_rng(7)
    table = np.sort(rng.uniform(-1, 1, size=(400, 2)), axis=0)
    y = np.sign(table[:, 0]) + 0.1 * rng.normal(size=400)
    y[rng.permutation(400)[:40]] += rng.choice([-3.0, 3.0], size=40)
    return table, y


def trust_in(model, table, y, residual):
    """Of labels with these residuals: Student's weight, and the squared probability that a label is right."""
    unseen, audit = model.oof_prediction_, model.audit(table, y)
    far = residual**2 * unseen.member_alpha[0] / unseen.member_sigma[0] / (2 * 20)
    variance = unseen.var / model.separation_.variance_ratio
    wrong = model.separation_.probability(residual, variance)
    np.testing.assert_allclose(wrong[residual != 0], audit.p_outlier[residual != 0], rtol=1e-6)
    return (1 - wrong) ** 2 / (1 + far)


def test_a_label_counts_as_far_as_it_is_trusted(finished, in_order):
    table, y = in_order
    model = GCPBoostingRegressor(**QUICK, n_jobs=1).fit(table, y)
    assert model.shape_.alpha < 20
    residual = y - model.oof_prediction_.mean
    np.testing.assert_allclose(finished["weight"], trust_in(model, table, y, residual), rtol=1e-6, atol=1e-9)


def test_growing_stops_when_patience_is_over_and_keeps_the_best_trees():
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, size=(300, 2))
    y = table[:, 0] + rng.normal(size=300)
    passes = {}
    for patience in (3, 12, 10_000):
        model = GCPBoostingRegressor(max_iter=900, n_iter_no_change=patience, random_state=0, n_jobs=1).fit(
            table, y
        )
        best = 1
        for k, score in enumerate(model.loss_curve_, start=1):
            best = k if score < model.loss_curve_[best - 1] - 1e-4 else best
        passes[patience] = len(model.loss_curve_)
        assert passes[patience] == min(best + patience // 3, 100)  # three trees in a pass
        assert [forest.n_trees for forest in model.scale_forests_] == [best] * 5
        assert model.n_iter_ == 9 * best  # at a third of the step size
    assert passes[3] < passes[12] < passes[10_000] == 100


def test_fold_models_of_many_rows_take_half_the_passes_and_members_stay_as_long(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, size=(3000, 2))
    truth = np.sin(4 * table[:, 0]) * table[:, 1]
    y = truth + 0.1 * rng.normal(size=3000)
    errors = []
    for many in (20_000, 3000):
        monkeypatch.setattr(growing, "_MANY_ROWS", many)
        model = GCPBoostingRegressor(max_iter=180, n_iter_no_change=10_000, random_state=0, n_jobs=1).fit(
            table, y
        )
        assert len(model.loss_curve_) == (20 if many == 20_000 else 10)  # three trees in a pass
        assert model.n_iter_ > 90
        errors.append(np.sqrt(np.mean((model.oof_prediction_.mean - truth) ** 2)))
    assert errors[1] < 1.3 * errors[0] < 0.13


def test_large_tables_get_larger_trees():
    X = np.random.default_rng(0).uniform(-1, 1, size=(5000, 3))
    y = np.sin(5 * X).sum(axis=1)
    most = {}
    for n in (4000, 5000):
        forest = GCPBoostingRegressor(max_iter=9, random_state=0).fit(X[:n], y[:n]).mean_forests_[0]
        most[n] = max(int(line[11:]) for line in forest.text.split("\n") if line.startswith("num_leaves="))
        assert forest.n_trees <= 9
    assert most == {4000: 15, 5000: 31}


def test_the_scale_is_finer_the_more_rows_there_are():
    growth = GCPBoostingRegressor(max_iter=9).fit(X, Y)._growth(100)
    leaves = [growth.scale_parameters(0, n)["num_leaves"] for n in (100, 1000, 2500, 100_000)]
    assert leaves == [4, 4, 10, 31]


def test_members_are_mixed():
    answer = GCPBoostingRegressor(**QUICK, n_members=3).fit(X, Y).predict_dist(X)
    assert answer.n_members == 3
    assert len(np.unique(answer.member_mean, axis=0)) == 3


def test_the_variance_of_a_member_leaves_room_for_their_disagreement():
    one, three = (GCPBoostingRegressor(**QUICK, n_members=n).fit(X, Y) for n in (1, 3))
    answer = three.predict_dist(X)
    share = np.median(answer.epistemic_var / three.oof_prediction_.var)
    assert 0.001 < share < 0.5
    expected = (1 - share) * one.predict_dist(X).member_var[0]
    np.testing.assert_allclose(answer.member_var, np.tile(expected, (3, 1)))


def test_copies_of_a_row_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    table, noise = rng.normal(size=(150, 1)), rng.normal(size=150)
    twice, labels = np.repeat(table, 2, axis=0), np.repeat(noise, 2)
    model = GCPBoostingRegressor(random_state=0, min_samples_leaf=1).fit(twice, labels)
    assert abs(np.corrcoef(model.oof_prediction_.mean, labels)[0, 1]) < 0.3


def test_a_known_share_is_taken_and_none_leaves_the_prognostic_variance():
    assert GCPBoostingRegressor(**QUICK, contamination=0.07).fit(X, Y).contamination_ == 0.07
    plain = GCPBoostingRegressor(**QUICK, contamination=None).fit(X, Y)
    answer = plain.predict_dist(X)
    assert np.isnan(plain.contamination_)
    expected = type(answer).from_student(answer.member_mean, answer.member_alpha, answer.member_sigma)
    np.testing.assert_allclose(answer.var, expected.var)


# ---------------------------------------------------------------------- what must not change a model


def same(one, two):
    np.testing.assert_array_equal(one.predict_dist(X).member_mean, two.predict_dist(X).member_mean)
    np.testing.assert_array_equal(one.predict_dist(X).member_var, two.predict_dist(X).member_var)


def test_order_of_rows_and_number_of_threads(monkeypatch):
    model = GCPBoostingRegressor(**QUICK, n_members=2, n_jobs=1).fit(X, Y)
    order = np.random.default_rng(2).permutation(len(Y))
    same(model, GCPBoostingRegressor(**QUICK, n_members=2, n_jobs=2).fit(X[order], Y[order]))
    monkeypatch.setattr(boosting, "_THREADED_ROWS", 10)  # threads inside LightGBM, too
    same(model, GCPBoostingRegressor(**QUICK, n_members=2, n_jobs=3).fit(X, Y))


def test_weights_are_copies():
    weight = np.random.default_rng(3).integers(0, 3, len(Y))
    weighted = GCPBoostingRegressor(**QUICK).fit(X, Y, sample_weight=weight)
    same(weighted, GCPBoostingRegressor(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight)))
    assert np.isfinite(weighted.audit(X, Y).z).all()  # rows of weight 0 are judged, too


def test_another_seed_is_another_model():
    one, two = (GCPBoostingRegressor(max_iter=60, random_state=s).fit(X, Y).predict(X) for s in (0, 1))
    assert not np.array_equal(one, two)


# ---------------------------------------------------------------------- tables as they come


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 300
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["u", "v", "w"], n),
            "place": rng.choice(["x", "y"], n),
        }
    ).astype({"place": "category"})
    y = table["size"].to_numpy() + 3.0 * (table["kind"] == "v").to_numpy() + 0.1 * rng.normal(size=n)
    table.loc[::7, "size"] = np.nan
    table.loc[5, "kind"] = None
    return table, y


def test_gaps_and_categories(frame):
    table, y = frame
    model = GCPBoostingRegressor(max_iter=200, random_state=0).fit(table, y)
    assert model.categories_ == {1: ["u", "v", "w"], 2: ["x", "y"]}
    there = table["size"].notna().to_numpy()
    assert metrics.rmse(y[there], model.predict(table)[there]) < 0.4
    by_kind = model.predict(pd.DataFrame({"size": [0.0] * 3, "kind": ["u", "v", "never seen"], "place": "x"}))
    assert by_kind[1] - by_kind[0] == pytest.approx(3, abs=0.4)
    assert np.isfinite(by_kind).all()
    in_polars = GCPBoostingRegressor(max_iter=200, random_state=0).fit(pl.from_pandas(table), y)
    np.testing.assert_array_equal(in_polars.predict(pl.from_pandas(table)), model.predict(table))


def test_columns_of_numbers_can_be_called_categories():
    table = np.column_stack([np.random.default_rng(0).integers(0, 40, 300), np.zeros(300)])
    y = np.isin(
        table[:, 0], [1, 3, 4, 8, 11, 17, 18, 20, 21, 26, 33, 35, 37]
    ) * 5.0 + 0.1 * np.random.default_rng(1).normal(size=300)
    model = GCPBoostingRegressor(max_iter=100, random_state=0, categorical_features=[0]).fit(table, y)
    assert list(model.categories_) == [0]
    assert metrics.rmse(y, model.predict(table)) < 1.5


def test_models_survive_a_file(frame, tmp_path):
    table, y = frame
    model = GCPBoostingRegressor(**QUICK, n_members=2).fit(table, y)
    again = load(save(model, tmp_path / "trees.levelhead"))
    one, two = model.predict_dist(table), again.predict_dist(table)
    np.testing.assert_array_equal(one.member_mean, two.member_mean)
    np.testing.assert_array_equal(one.member_var, two.member_var)
    np.testing.assert_array_equal(again.audit(table, y).p_outlier, model.audit(table, y).p_outlier)
    assert again.shape_ == model.shape_


def test_a_file_with_a_broken_tree_is_refused(frame, tmp_path):
    import json
    import zipfile

    path = save(GCPBoostingRegressor(**QUICK).fit(*frame), tmp_path / "good")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = members["levelhead.json"].decode()
    assert json.loads(document)["model"]["instance"] == "levelhead.GCPBoostingRegressor"
    members["levelhead.json"] = document.replace("split_feature=", "split_feature=9", 1).encode()
    with zipfile.ZipFile(tmp_path / "bad", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="uses feature"):
        load(tmp_path / "bad")


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0}, r"'learning_rate' parameter .* a float in the range \(0.0?, 1.0?\]. Got 0"),
        ({"max_iter": 0}, r"'max_iter' parameter .* an int in the range \[1, inf\)"),
        ({"max_leaf_nodes": "many"}, r"'max_leaf_nodes' parameter .* \[2, inf\) or None. Got 'many'"),
        ({"max_leaf_nodes": 1}, r"'max_leaf_nodes' parameter .* Got 1"),
        ({"subsample": 1.5}, "'subsample' parameter .* Got 1.5"),
        ({"n_members": True}, "'n_members' parameter .* Got True"),
        ({"contamination": 1.0}, "'contamination' parameter .* {'auto'} or None. Got 1.0"),
        ({"categorical_features": "all"}, "'categorical_features' parameter .* Got 'all'"),
        ({"categorical_features": [7]}, "categorical_features names 7"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        GCPBoostingRegressor(**settings).fit(X, Y)


def test_infinite_inputs_are_named():
    spoilt = X.copy()
    spoilt[4, 1] = np.inf
    with pytest.raises(ValueError, match="first in column 1, row 4"):
        GCPBoostingRegressor(**QUICK).fit(spoilt, Y)
