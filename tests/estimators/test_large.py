"""Large tables: judged by models of a sample, with final trees of all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, audit, load, save
from levelhead.estimators import _base, _large, _sampling
from levelhead.estimators._sampling import Piece
from levelhead.tables.encoding import frames

pytestmark = pytest.mark.compiled
N, SAMPLE = 6000, 1500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
CLEAN = np.sign(X[:, 0]) * (1 + X[:, 1] ** 2) + np.abs(X[:, 2])
WRONG = RNG.random(N) < 0.05
Y = CLEAN + 0.2 * RNG.normal(size=N) + np.where(WRONG, RNG.choice([-6.0, 6.0], N), 0.0)
SETTINGS = {"max_iter": 120, "random_state": 0, "n_jobs": 1}


@pytest.fixture
def small_limits(monkeypatch):
    """Tables of a few thousand rows are large."""
    monkeypatch.setattr(_large, "LARGE_ROWS", 3000)
    monkeypatch.setattr(_large, "SAMPLE_ROWS", SAMPLE)
    monkeypatch.setattr(_large, "PIECE_ROWS", 1000)


@pytest.fixture(scope="module")
def fitted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_large, "LARGE_ROWS", 3000)
        patch.setattr(_large, "SAMPLE_ROWS", SAMPLE)
        return GCPBoostingRegressor(**SETTINGS).fit(X, Y)


def pieces(rows, X=X, y=Y):
    return list(_sampling.sliced(Piece(X, y), rows))


def frame():
    kinds = np.array(["a", "b", "c", None], dtype=object)[RNG.integers(0, 4, N)]
    return pd.DataFrame({"x": X[:, 0], "kind": kinds, "n": RNG.integers(0, 9, N)})


def test_the_sample_does_not_depend_on_order_and_pieces():
    one = _sampling.draw(pieces(N), SAMPLE, seed=3)
    order = np.random.default_rng(1).permutation(N)
    for other in (
        _sampling.draw(pieces(77), SAMPLE, seed=3),
        _sampling.draw(pieces(500, X[order], Y[order]), SAMPLE, seed=3),
    ):
        np.testing.assert_array_equal(one.key, other.key)
        np.testing.assert_array_equal(one.rows.X, other.rows.X)
        np.testing.assert_array_equal(one.rows.y, other.rows.y)
        assert other.n_rows == N
    assert not np.array_equal(_sampling.draw(pieces(N), SAMPLE, seed=4).rows.y, one.rows.y)


def test_the_sample_of_a_frame_does_not_depend_on_pieces_or_on_the_types_of_a_piece():
    table = frame()
    one = _sampling.draw([Piece(table, Y)], 500, seed=0)
    parts = [Piece(table.iloc[k : k + 700], Y[k : k + 700]) for k in range(0, N, 700)]
    parts[1] = Piece(parts[1].X.astype({"n": float}), parts[1].y)  # as in a piece with a missing cell
    many = _sampling.draw(parts, 500, seed=0)
    np.testing.assert_array_equal(one.key, many.key)
    drawn = [sample.rows.X.reset_index(drop=True) for sample in (one, many)]
    pd.testing.assert_frame_equal(*drawn, check_dtype=False)


def test_polars_and_pandas_frames_have_the_same_hashes():
    polars = pytest.importorskip("polars")
    table = frame()
    np.testing.assert_array_equal(
        _sampling.hashes(table, Y, 0), _sampling.hashes(polars.from_pandas(table), Y, 0)
    )


def test_a_sample_holds_rows_of_all_places():
    drawn = _sampling.draw(pieces(N), SAMPLE, seed=0)
    place = np.searchsorted(np.sort(Y), drawn.rows.y)
    assert abs(place.mean() / N - 0.5) < 5 * np.sqrt(1 / 12 / SAMPLE)


def test_trees_of_all_rows_are_better_than_those_of_the_sample(fitted):
    new = np.random.default_rng(5).normal(size=(4000, 4))
    truth = np.sign(new[:, 0]) * (1 + new[:, 1] ** 2) + np.abs(new[:, 2])
    errors = [np.sqrt(np.mean((model.predict(new) - truth) ** 2)) for model in (fitted, fitted.judge_)]
    assert errors[0] < 0.85 * errors[1]


def test_variances_are_calibrated_on_rows_that_the_trees_have_not_seen(fitted):
    rng = np.random.default_rng(6)
    new = rng.normal(size=(4000, 4))
    labels = np.sign(new[:, 0]) * (1 + new[:, 1] ** 2) + np.abs(new[:, 2]) + 0.2 * rng.normal(size=4000)
    inside = fitted.predict_interval(new, 0.9)
    assert 0.83 < np.mean((inside.lower < labels) & (labels < inside.upper)) < 0.97
    assert len(fitted.oof_prediction_) == round(0.05 * N)


def test_wrong_labels_inside_and_outside_the_sample_are_found(fitted):
    verdict = fitted.audit(X, Y)
    flagged = verdict.is_label_issue
    assert WRONG[flagged].mean() > 0.85
    assert flagged[WRONG].mean() > 0.85
    np.testing.assert_array_equal(verdict.p_outlier, fitted.judge_.audit(X, Y).p_outlier)


def test_labels_that_are_wrong_have_no_weight(fitted):
    weight = _large.learnt(fitted.judge_, fitted.judge_, Piece(X, Y), 0).weight
    assert np.median(weight[WRONG]) < 1e-3
    assert np.median(weight[~WRONG]) > 0.8
    doubled = _large.learnt(fitted.judge_, fitted.judge_, Piece(X, Y, np.full(N, 2.0)), 0).weight
    np.testing.assert_allclose(doubled, 2 * weight)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_trees_of_a_judge_are_its_fold_models(scaled, tmp_path):
    """Of networks and trees together, alone or at the end of a pipeline; the judge is an ordinary model afterwards."""
    auto = AutoRegressor(n_members=2, random_state=0, n_jobs=1)
    judge = make_pipeline(StandardScaler(), auto) if scaled else auto
    assert _large.fit_judge(judge, X[:SAMPLE], Y[:SAMPLE], np.ones(SAMPLE)) is judge
    trees = auto.estimators_[0]
    assert (len(trees.mean_forests_), trees.n_members) == (5, 1)
    assert {forest.n_trees for forest in trees.mean_forests_} == {trees.n_iter_}
    assert 0 < trees.disagreement_ < 0.5
    assert not any("_keeps_fold_models" in vars(part) for part in (auto, *auto.estimators_))
    again = load(save(judge, tmp_path / "judge.levelhead"))
    np.testing.assert_array_equal(again.predict(X[:100]), judge.predict(X[:100]))
    assert len(clone(auto).fit(X[:300], Y[:300]).estimators_[0].mean_forests_) == 1


def test_fold_models_predict_new_rows_as_well_as_members():
    usual = AutoRegressor(n_members=2, random_state=0, n_jobs=1).fit(X[:SAMPLE], Y[:SAMPLE])
    judge = _large.fit_judge(clone(usual), X[:SAMPLE], Y[:SAMPLE])
    errors = [np.sqrt(np.mean((m.predict(X[SAMPLE:]) - CLEAN[SAMPLE:]) ** 2)) for m in (usual, judge)]
    assert errors[1] < 1.1 * errors[0]
    verdict = judge.audit(X, Y).is_label_issue
    assert WRONG[verdict].mean() > 0.85
    assert verdict[WRONG].mean() > 0.8


def test_the_same_seed_gives_the_same_model_for_any_pieces(small_limits, monkeypatch, fitted):
    monkeypatch.setattr(_large, "PIECE_ROWS", 333)
    again = GCPBoostingRegressor(**SETTINGS).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X[:500]), fitted.predict(X[:500]))
    np.testing.assert_array_equal(again.audit(X, Y).p_outlier, fitted.audit(X, Y).p_outlier)


def test_a_smaller_table_is_fitted_as_before(small_limits, fitted):
    small = GCPBoostingRegressor(**SETTINGS).fit(X[:2000], Y[:2000])
    assert not hasattr(small, "judge_")
    refitted = GCPBoostingRegressor(**SETTINGS).fit(X, Y).fit(X[:2000], Y[:2000])
    assert not hasattr(refitted, "judge_")
    np.testing.assert_array_equal(small.predict(X), refitted.predict(X))


def test_folds_that_the_user_gives_are_used(small_limits):
    model = GCPBoostingRegressor(max_iter=10, random_state=0, n_jobs=1)
    assert not hasattr(model.fit(X, Y, groups=np.arange(N) // 3), "judge_")
    assert not hasattr(model.fit(X, Y, cv=3), "judge_")


def test_files_hold_the_judge(fitted, tmp_path):
    again = load(save(fitted, tmp_path / "large"), n_jobs=1)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.judge_.n_features_in_ == 4


def test_a_file_without_out_of_fold_predictions_has_no_judge_and_does_not_audit(fitted, tmp_path):
    path = save(fitted, tmp_path / "small", out_of_fold=False)
    assert path.stat().st_size < 0.6 * save(fitted, tmp_path / "large").stat().st_size
    again = load(path, n_jobs=1)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    with pytest.raises(ValueError, match="without out-of-fold predictions"):
        again.audit(X, Y)


def test_many_rows_are_predicted_and_judged_some_at_a_time(fitted, monkeypatch):
    mean, std = fitted.predict(X, return_std=True)
    interval, verdict = fitted.predict_interval(X), fitted.audit(X, Y)
    quantiles = fitted.predict_quantiles(X, [0.1, 0.9])
    monkeypatch.setattr(_base, "_ROWS_AT_A_TIME", 999)
    sizes, whole = [], GCPBoostingRegressor._predict_table
    monkeypatch.setattr(
        GCPBoostingRegressor,
        "_predict_table",
        lambda model, rows: sizes.append(len(rows)) or whole(model, rows),
    )
    for found, expected in zip(fitted.predict(X, return_std=True), (mean, std), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(fitted.predict_interval(pd.DataFrame(X).to_numpy()), interval)
    np.testing.assert_array_equal(fitted.predict_quantiles(X, [0.1, 0.9]), quantiles)
    np.testing.assert_array_equal(fitted.audit(X, Y).p_outlier, verdict.p_outlier)
    assert max(sizes) <= 999
    with pytest.raises(ValueError, match="row 5500"):  # of the table, not of the part
        fitted.predict(np.where(np.arange(N)[:, None] == 5500, np.inf, X))


def test_a_large_sparse_table_is_dense_in_parts_only(monkeypatch):
    rng = np.random.default_rng(3)
    table = np.where(rng.random((N, 40)) < 0.1, rng.normal(size=(N, 40)), 0.0)
    truth = 3 * table[:, 0] + 2 * np.abs(table[:, 1]) + (table[:, 2] != 0)
    y = truth + 0.1 * rng.normal(size=N) + np.where(WRONG, 5.0, 0.0)
    sparse, sizes, dense = csr_array(table), [], frames.collected
    monkeypatch.setattr(_large, "DENSE_CELLS", 60_000)
    monkeypatch.setattr(_base, "_ROWS_AT_A_TIME", 700)
    monkeypatch.setattr(frames, "collected", lambda X: sizes.append(getattr(X, "shape", (0,))[0]) or dense(X))
    model = GCPBoostingRegressor(**SETTINGS).fit(sparse, y)
    assert model.judge_.oof_prediction_.mean.shape == (1500,)
    assert np.sqrt(np.mean((model.predict(sparse) - truth) ** 2)) < 0.3
    assert WRONG[model.audit(sparse, y).is_label_issue].mean() > 0.85
    assert max(sizes) <= 1500
    with pytest.raises(ValueError, match="NaN or infinite labels, the first at row 7"):
        GCPBoostingRegressor(**SETTINGS).fit(sparse, np.where(np.arange(N) == 7, np.nan, y))


def test_a_frame_with_categories_and_weights(small_limits):
    table = frame().assign(y=Y)
    labels = Y + np.where(table["kind"] == "a", 3.0, 0.0)
    weight = np.where(RNG.random(N) < 0.5, 2.0, 1.0)
    model = GCPBoostingRegressor(**SETTINGS).fit(table[["x", "kind", "n"]], labels, weight)
    table["kind"] = "a"
    high = model.predict(table[["x", "kind", "n"]])
    table["kind"] = "b"
    assert 2.5 < np.median(high - model.predict(table[["x", "kind", "n"]])) < 3.5


@pytest.mark.slow
def test_networks_and_trees_are_combined_on_held_out_rows(small_limits, monkeypatch, tmp_path):
    networks = [GCPRegressor(layers, max_iter=30, random_state=0, n_jobs=1) for layers in ((16,), (8,), ())]
    kinds = [GCPBoostingRegressor(**SETTINGS), *networks]
    monkeypatch.setattr(AutoRegressor, "_kinds", lambda *_: [clone(kind) for kind in kinds])
    steps = 2 * np.sign(X[:, 0]) + np.sign(X[:, 1]) + Y - CLEAN
    model = AutoRegressor(n_members=1, random_state=0, n_jobs=1).fit(X, steps)
    assert model.chosen_ in ("trees", "both")
    assert len(model.oof_prediction_) == round(0.05 * N)
    again = load(save(model, tmp_path / "large"), n_jobs=1)
    np.testing.assert_array_equal(again.predict(X[:200]), model.predict(X[:200]))
    np.testing.assert_array_equal(again.audit(X, steps).p_outlier, model.audit(X, steps).p_outlier)
    verdict = audit(X, steps, AutoRegressor(n_members=1, random_state=0, n_jobs=1))
    assert WRONG[verdict.is_label_issue].mean() > 0.85
