"""Networks of several targets that share their hidden layers: each target keeps its scale, labels and verdicts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import levelhead
from levelhead import GaussianRegressor, GCPRegressor, MultiTargetRegressor, load, save
from levelhead.estimators.networks import sharing
from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.estimators.registry import REGISTRY

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 160
X = RNG.uniform(-1, 1, size=(N, 2))
CLEAN = np.column_stack([X[:, 0] + X[:, 1], 1000 - 500 * X[:, 1], np.exp(X[:, 0])])
Y = CLEAN + RNG.normal(size=(N, 3)) * [0.05, 25.0, 0.05]
Y[7, 0], Y[11, 1] = 5.0, 4000.0
QUICK = GCPRegressor((16,), max_iter=40, learning_rate_init=0.01, random_state=0)


def shared(estimator=QUICK, **settings):
    return MultiTargetRegressor(estimator, shared_trunk=True, **settings)


@pytest.fixture(scope="module")
def fitted():
    return shared().fit(X, Y)


def same(one, other):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.oof_prediction_.mean, other.oof_prediction_.mean)


def layers(model):
    (trunk,) = model.networks_[0].architecture.unpack(model.networks_[0].weights)
    return trunk


def test_hidden_layers_are_those_of_all_targets(fitted):
    (*first, last), *others = map(layers, fitted.estimators_)
    for *hidden, output in others:
        for (W, bias), (other, its_bias) in zip(first, hidden, strict=True):
            np.testing.assert_array_equal(W, other)
            np.testing.assert_array_equal(bias, its_bias)
        assert (output[0] != last[0]).any()
    scales = [float(model.target_scale_.center) for model in fitted.estimators_]
    assert scales == pytest.approx(np.median(Y, axis=0), rel=1e-6)
    assert (np.abs(fitted.predict(X) - CLEAN).mean(axis=0) < [0.1, 50, 0.1]).all()


def test_a_wrong_label_of_one_target_is_flagged_there_alone(fitted):
    verdict = fitted.audit(X, Y)
    assert {(7, "target 1"), (11, "target 2")} <= set(verdict.issues)
    assert (7, "target 2") not in verdict.issues
    assert verdict.p_outlier[7, 0] > 0.99 > 0.5 > verdict.p_outlier[7, 1]
    # Training rows are judged by networks that have not seen them.
    oof = fitted.estimators_[1].oof_prediction_
    np.testing.assert_array_equal(fitted.estimators_[1]._unseen(X, Y[:, 1]).mean, oof.mean)
    assert (oof.mean != fitted.predict(X)[:, 1]).all()


def test_levelhead_audit_fits_the_targets_together(monkeypatch):
    calls = []
    train = sharing._train
    monkeypatch.setattr(sharing, "_train", lambda *given: calls.append(given) or train(*given))
    coded = Y.copy()
    coded[40:60, 1] = -999.0  # a code for missing labels
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"row {k}" for k in range(N)])
    verdict = levelhead.audit(frame, pd.DataFrame(coded, columns=["low", "high", "power"]), shared())
    assert len(calls) == 2
    (first, _), _ = calls
    assert set(range(40, 60)).isdisjoint(first[1].data.rows.index)
    assert {(7, "low"), (11, "high")} <= set(verdict.issues)
    assert verdict["high"].is_code[40:60].all()
    assert verdict.to_frame()["row"].iloc[0] == "row 0"
    one = levelhead.audit(X, Y[:, 0], shared())
    np.testing.assert_array_equal(one.p_outlier, levelhead.audit(X, Y[:, 0], QUICK).p_outlier)


def test_files(fitted, tmp_path):
    again = load(save(fitted, tmp_path / "model", out_of_fold=True))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.audit(X, Y).issues == fitted.audit(X, Y).issues


def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(fitted):
    order = np.random.default_rng(1).permutation(N)
    other = shared(clone(QUICK).set_params(n_jobs=1)).fit(X[order], Y[order])
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(other.oof_prediction_.mean, fitted.oof_prediction_.mean[order])


def test_networks_without_a_seed_get_one_together():
    model = shared(clone(QUICK).set_params(random_state=None, max_iter=2)).fit(X, Y)
    assert len({part._stream for part in model.estimators_}) == 1


def test_a_weight_of_2_is_a_copy():
    weight = np.where(np.arange(N) < 20, 2, 1)
    copies = np.repeat(np.arange(N), weight)
    small = clone(QUICK).set_params(max_iter=5)
    one = shared(small).fit(X, Y, sample_weight=weight)
    two = shared(small).fit(X[copies], Y[copies])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("shared_trunk", [True, False])
def test_a_missing_label_counts_for_nothing_and_the_rest_of_its_row_counts(shared_trunk):
    weight = np.ones((N, 3))
    weight[:40, 1] = 0
    missing, other = Y.copy(), Y.copy()
    missing[:40, 1], other[:40, 1] = np.nan, -7777.0
    small = MultiTargetRegressor(clone(QUICK).set_params(max_iter=10), shared_trunk=shared_trunk)
    by_weight = clone(small).fit(X, Y, sample_weight=weight)
    by_gap = clone(small).fit(X, missing)
    same(by_gap, by_weight)
    same(by_gap, clone(small).fit(X, pd.DataFrame(missing).convert_dtypes()))
    same(by_gap, clone(small).fit(X, [[None if y != y else y for y in row] for row in missing.tolist()]))
    same(by_gap, clone(small).fit(X, other, sample_weight=weight))
    np.testing.assert_array_equal(by_gap.contamination_, by_weight.contamination_)
    center = float(by_gap.estimators_[1].target_scale_.center)
    assert center == pytest.approx(np.median(Y[40:, 1]), rel=0.01)
    without = clone(small).fit(X, Y, sample_weight=weight[:, 1])
    assert (without.predict(X)[:, 0] != by_gap.predict(X)[:, 0]).any()
    with pytest.raises(
        ValueError, match=r"40 missing labels \(first at row 0 of 'target 2'\).*estimators_\[1\]"
    ):
        by_gap.audit(X, missing)


def test_weights_of_labels_are_used():
    odd = np.arange(N) % 2 == 1
    labels, weight = CLEAN[:, [0, 2]].copy(), np.ones((N, 2))
    labels[odd] += 4.0
    weight[odd, 1] = 1e-6
    model = shared(GaussianRegressor((16,), max_iter=60, learning_rate_init=0.01, random_state=0))
    mean = model.fit(X, labels, sample_weight=weight).predict(X) - CLEAN[:, [0, 2]]
    assert np.median(mean[:, 0]) == pytest.approx(2.0, abs=1.0)  # between both kinds of labels
    assert np.median(mean[:, 1]) == pytest.approx(0.0, abs=0.3)  # the odd labels do not count


@pytest.mark.parametrize(
    "entry", [entry for entry in REGISTRY if issubclass(entry.cls, NetworkRegressor)], ids=lambda e: e.name
)
def test_every_network_can_share(entry):
    small = dict(entry.small) | {"max_iter": 15, "shared_trunk": True, "random_state": 0}
    model = shared(entry.cls(**small)).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    first, second, _ = model.estimators_
    np.testing.assert_array_equal(layers(first)[0][0], layers(second)[0][0])


@pytest.mark.parametrize(
    "settings",
    [
        {"early_stopping": True},
        {"n_members": 7},
        {"out_of_fold": False, "contamination": None},
        {"target_transform": "yeo-johnson"},
        {"n_outputs": 3},
        {"input_scaling": "piecewise"},
    ],
    ids=str,
)
def test_settings_of_networks(settings):
    model = shared(clone(QUICK).set_params(max_iter=8, **settings)).fit(X, Y)
    assert np.isfinite(model.predict_dist(X).std).all()


def test_folds_of_the_user():
    small = shared(clone(QUICK).set_params(max_iter=3))
    groups = np.arange(N) // 8
    by_groups = small.fit(X, Y, groups=groups).oof_prediction_.mean
    cv = KFold(4)
    listed = clone(small).fit(X, Y, cv=list(cv.split(X)))
    same(listed, clone(small).fit(X, Y, cv=cv))
    same(listed, clone(small).fit(X, Y, cv=cv.split(X)))
    assert (by_groups != listed.oof_prediction_.mean).any()


def test_rows_with_equal_inputs_are_held_out_together(monkeypatch):
    seen = []
    train = sharing._train

    def spy(wanted, rows):
        seen.append(wanted[0].folds)
        return train(wanted, rows)

    monkeypatch.setattr(sharing, "_train", spy)
    copies = np.concatenate([X, X[:30]])
    shared(clone(QUICK).set_params(max_iter=2)).fit(copies, np.concatenate([Y, Y[:30, [0, 2, 1]]]))
    first, second = seen
    assert second is None  # the second phase uses all rows
    np.testing.assert_array_equal(first.of_row[N:], first.of_row[:30])
    assert np.bincount(first.of_row).min() > 20


def test_few_rows():
    model = shared().fit(X[:12], Y[:12])
    assert model.predict(X).shape == (N, 3)
    assert np.isnan(model.contamination_).all()


def test_frames_with_gaps_and_few_levels_share():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "city": RNG.choice(["Rome", "Oslo"], N)})
    frame.loc[::9, "a"] = np.nan
    model = shared(clone(QUICK).set_params(max_iter=5)).fit(frame, Y)
    assert model.estimators_[0].encoding_.features[0].kind == "number"
    assert np.isfinite(model.predict(frame)).all()


def test_what_cannot_share_is_refused():
    codes = pd.DataFrame({"a": X[:, 0], "code": RNG.choice([f"c{k}" for k in range(20)], N)})
    small = clone(QUICK).set_params(max_iter=3)
    cases = {
        "needs a network such as GCPRegressor; BayesianRidge is not one": (BayesianRidge(), X),
        "Pipeline is not one": (make_pipeline(StandardScaler(), small), X),
        "of the GCPRegressor, too": (clone(small).set_params(shared_trunk=False), X),
        "set shared_trunk=True and hidden_layer_sizes": (clone(small).set_params(hidden_layer_sizes=()), X),
        "a category with many levels, or one that explains most": (small, codes),
    }
    for reason, (estimator, table) in cases.items():
        with pytest.raises(ValueError, match=reason):
            shared(estimator).fit(table, Y)
    few = np.where(np.arange(N)[:, None] < 20, Y, np.nan)
    few[:, 0] = Y[:, 0]
    with pytest.raises(ValueError, match="labels in 20 different rows, and shared_trunk=True needs 30"):
        shared().fit(X, few)
    assert np.isnan(MultiTargetRegressor(small).fit(X, few).contamination_).tolist() == [False, True, True]


def test_weights_that_cannot_be_used():
    with pytest.raises(ValueError, match=r"sample_weight has shape \(160, 2\); give one weight for each row"):
        shared().fit(X, Y, sample_weight=np.ones((N, 2)))
    with pytest.raises(ValueError, match="every label of 'target 3' is missing or has weight 0"):
        shared().fit(X, np.column_stack([Y[:, :2], np.full(N, np.nan)]))
    with pytest.raises(ValueError, match="Negative values"):
        shared().fit(X, Y, sample_weight=-np.ones((N, 3)))
    with pytest.raises(ValueError, match=r"at least one (non-zero|must count)"):  # of scikit-learn, or ours
        shared().fit(X, Y, sample_weight=np.zeros(N))


SKLEARN = list(estimator_checks_generator(shared(GCPRegressor(max_iter=30, random_state=0))))


@pytest.mark.filterwarnings("default")  # some checks provoke warnings of scikit-learn on purpose
@pytest.mark.parametrize(
    ("estimator", "check"), SKLEARN, ids=[getattr(check, "func", check).__name__ for _, check in SKLEARN]
)
def test_scikit_learn(estimator, check):
    check(estimator)
