"""Networks or trees: the better one for the table, with its reason."""

import doctest
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, audit, load, save
from levelhead.audits import Audit
from levelhead.estimators import automatic
from levelhead.estimators.automatic import compare
from levelhead.estimators.registry import make

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 2))
STEPS = np.sign(X[:, 0]) + 2 * np.sign(X[:, 1]) + 0.1 * RNG.normal(size=300)
SMOOTH = np.sin(3 * X[:, 0] + 2 * X[:, 1]) + 0.01 * RNG.normal(size=300)


@pytest.fixture
def quick(monkeypatch):
    """Both kinds with less training."""
    monkeypatch.setattr(automatic, "GCPRegressor", lambda **s: GCPRegressor((8,), max_iter=10, **s))
    monkeypatch.setattr(automatic, "GCPBoostingRegressor", lambda **s: GCPBoostingRegressor(max_iter=40, **s))


def stub(predicted, label_quality):
    """What a comparison needs of an audit."""
    return SimpleNamespace(judged=SimpleNamespace(predicted=predicted), label_quality=label_quality)


class Recorder(BaseEstimator):
    """In place of a model: notes what it is fitted to and judged by, and expects 0 everywhere."""

    calls: ClassVar[list] = []
    separation_ = None

    def __init__(self, n_members=1, target_transform=None, random_state=None, n_jobs=None):
        self.n_members, self.random_state, self.n_jobs = n_members, random_state, n_jobs
        self.target_transform = target_transform

    def _chosen_scale(self, *_):
        return None, "linear scale"

    def fit(self, X, y, sample_weight=None, groups=None, cv=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.n_features_in_, self.rows = X.shape[1], X[:, 0]
        self.calls.append(("fit", X[:, 0].tolist(), np.asarray(weight).tolist(), self.random_state))
        return self

    def audit(self, X, y):
        self.calls.append(("audit", X[:, 0].tolist(), self.rows.tolist()))
        return stub(np.zeros(len(y)), np.ones(len(y)))


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(automatic, "GCPRegressor", Recorder)
    monkeypatch.setattr(automatic, "GCPBoostingRegressor", Recorder)
    monkeypatch.setattr(Recorder, "calls", [])
    return Recorder.calls


@pytest.mark.slow
def test_the_example_in_the_docstring():
    assert doctest.testmod(automatic).failed == 0


@pytest.mark.slow
def test_smooth_tables_get_networks_and_says_why(tmp_path):
    wrong = SMOOTH.copy()
    wrong[::15] += 10
    model = AutoRegressor(n_members=1, random_state=0).fit(X, wrong)
    assert model.chosen_ == "network"
    assert [type(part) for part in model.estimators_] == [GCPRegressor]
    assert model.comparison_.network < model.comparison_.trees
    assert model.reason_.startswith("networks, because the error on held-out rows is")
    assert "for trees" in model.reason_
    again = load(save(model, tmp_path / "auto"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.reason_ == model.reason_
    assert set(np.flatnonzero(model.audit(X, wrong).is_label_issue)) >= set(range(0, 300, 15))


def test_wrong_labels_count_for_neither_and_misunderstood_ones_for_both():
    y = np.zeros(40)
    y[0] = 100  # wrong, as both know
    spread = np.ones(40)
    fine = Audit.from_residuals(y, 0.1 * np.resize([1, -1], 40), spread)
    blind = 0.1 * np.resize([1, -1], 40)
    blind[20] = 50  # a clean label that the second model cannot explain, and calls wrong
    other = Audit.from_residuals(y, blind, spread)
    errors = compare(y, [fine], [other])
    assert errors.network == pytest.approx(0.1, rel=0.05)
    assert errors.trees > 5
    assert errors.both == pytest.approx(errors.trees / 2, rel=0.05)


def test_a_far_label_with_a_little_trust_does_not_outweigh_the_others():
    y = 0.1 * np.resize([1.0, -1.0], 100)
    y[0] = 1000
    doubtful = stub(np.zeros(100), np.append(0.01, np.ones(99)))
    assert compare(y, [doubtful], [doubtful]).network == pytest.approx(0.1)


def test_what_is_steps_and_waves_gets_both(tmp_path, monkeypatch, quick):
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-1, 1, size=(400, 3))
    truth = np.sin(4 * inputs[:, 0] + 2 * inputs[:, 1]) + np.sign(inputs[:, 2])
    y = truth + 0.1 * rng.normal(size=400)
    wrong = rng.choice(400, 20, replace=False)
    y[wrong] += rng.choice([-8, 8], size=20)
    monkeypatch.setattr(automatic, "compare", lambda *_, **__: automatic.Comparison(2.0, 3.0, 1.0))
    model = AutoRegressor(n_members=2, random_state=0).fit(inputs, y)
    assert model.chosen_ == "both"
    assert model.reason_.startswith("networks and trees together, because ")
    network, trees = (part.predict_dist(inputs) for part in model.estimators_)
    answer = model.predict_dist(inputs)
    np.testing.assert_allclose(answer.mean, (network.mean + trees.mean) / 2)
    between = (network.mean - trees.mean) ** 2 / 4
    np.testing.assert_allclose(answer.var, (network.var + trees.var) / 2 + between)
    by_network, by_trees = (part.audit(inputs, y) for part in model.estimators_)
    between = (by_network.predicted_label - by_trees.predicted_label) ** 2 / 4
    expected = (by_network.std**2 + by_trees.std**2) / 2 + between
    np.testing.assert_allclose(
        model.audit(inputs, y).std ** 2, model.separation_.variance_ratio * expected, rtol=1e-9
    )
    np.testing.assert_array_equal(model.audit(inputs, y).alpha, np.minimum(by_network.alpha, by_trees.alpha))
    assert model.contamination_ == pytest.approx(0.05, abs=0.02)
    verdict = model.audit(inputs, y)
    assert set(wrong) <= set(verdict.issues)
    assert len(verdict.issues) <= 23
    loose = model.audit(inputs, y, 0.5)
    np.testing.assert_array_equal(loose.is_label_issue, verdict.at(0.5).is_label_issue)
    assert loose.is_label_issue.sum() > verdict.is_label_issue.sum()
    assert set(model.audit(inputs[wrong[:3]], y[wrong[:3]]).issues) == {0, 1, 2}  # a few rows alone
    assert len(model.oof_prediction_) == 400
    again = load(save(model, tmp_path / "both"))
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    assert again.contamination_ == model.contamination_


@pytest.mark.parametrize(
    ("n", "kept", "judged"), [(100, 67, 100), (1000, 667, 1000), (1001, 801, 200), (3500, 2400, 600)]
)
def test_no_model_is_judged_by_rows_that_it_has_seen(recorded, n, kept, judged):
    rows = np.arange(float(n))[:, None]
    AutoRegressor(n_members=1, random_state=0).fit(rows, np.resize([0.0, 1.0], n))
    audits = [call[1:] for call in recorded if call[0] == "audit"]
    assert not any(set(held) & set(seen) for held, seen in audits)
    assert max(len(seen) for _, seen in audits) == kept
    for kind in (audits[::2], audits[1::2]):  # networks and trees take turns
        assert len({row for held, _ in kind for row in held}) == sum(len(held) for held, _ in kind) == judged
    assert recorded[-1][:2] == ("fit", rows[:, 0].tolist())


def test_a_seed_is_handed_on_and_decides_which_rows_are_held_out(recorded):
    held = {}
    for seed in (0, 0, 1):
        recorded.clear()
        AutoRegressor(n_members=1, random_state=seed).fit(
            np.arange(2000.0)[:, None], np.resize([0.0, 1.0], 2000)
        )
        found = next(call[1] for call in recorded if call[0] == "audit"), recorded[-1][-1]
        assert held.setdefault(seed, found) == found
    assert held[0][0] != held[1][0]
    assert held[0][1] != held[1][1]


# ---------------------------------------------------------------------- weights


def test_rows_of_weight_0_do_not_decide_what_is_chosen(quick):
    inputs, labels = np.vstack([X, X + 3]), np.concatenate([STEPS, SMOOTH])
    weight = np.repeat([1.0, 0.0], 300)
    alone = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS)
    weighted = AutoRegressor(n_members=1, random_state=0).fit(inputs, labels, weight)
    assert weighted.comparison_ == alone.comparison_
    assert (weighted.chosen_, weighted.reason_) == (alone.chosen_, alone.reason_)
    np.testing.assert_array_equal(weighted.predict(X), alone.predict(X))


def test_rows_of_weight_0_make_no_table_large_enough(quick):
    weight = np.where(np.arange(300) < 59, 1.0, 0.0)
    model = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS, weight)
    assert model.comparison_ is None
    assert "at least 60 rows" in model.reason_


def test_rows_of_weight_0_are_not_among_the_wrong_labels(monkeypatch, quick):
    monkeypatch.setattr(automatic, "compare", lambda *_, **__: automatic.Comparison(2.0, 3.0, 1.0))
    inputs, labels = np.vstack([X, X[:150] + 1e-3]), np.concatenate([STEPS, np.full(150, 50.0)])
    weight = np.repeat([1.0, 0.0], [300, 150])
    model = AutoRegressor(n_members=1, random_state=0).fit(inputs, labels, weight)
    assert model.chosen_ == "both"
    assert model.contamination_ < 0.1


def test_models_are_compared_with_their_weights(recorded):
    weight = np.linspace(1, 2, 80)
    AutoRegressor(n_members=1, random_state=0).fit(
        np.arange(80.0)[:, None], np.resize([0.0, 1.0], 80), weight
    )
    for call in recorded:
        if call[0] == "fit":
            np.testing.assert_array_equal(call[2], weight[np.array(call[1], dtype=int)])


def test_a_weight_of_three_counts_like_three_copies():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=30), rng.integers(1, 4, 30)
    audits = [stub(rng.normal(size=30), rng.random(30)) for _ in "ab"]
    copies = [
        stub(np.repeat(audit.judged.predicted, weight), np.repeat(audit.label_quality, weight))
        for audit in audits
    ]
    one = compare(y, audits[:1], audits[1:], weight=weight.astype(float))
    assert one == pytest.approx(compare(np.repeat(y, weight), copies[:1], copies[1:]))
    assert one != pytest.approx(compare(y, audits[:1], audits[1:]))


@pytest.mark.parametrize(
    ("weight", "message"), [(np.full(300, -1.0), "Negative"), (np.ones(7), "shape"), (np.zeros(300), "zero")]
)
def test_weights_that_make_no_sense_are_refused(weight, message, quick):
    with pytest.raises(ValueError, match=message):
        AutoRegressor(n_members=1, random_state=0).fit(X, STEPS, weight)


def test_many_rows_are_compared_on_some_and_fitted_on_all(monkeypatch, quick):
    monkeypatch.setattr(automatic, "_FEW_ROWS", 200)
    monkeypatch.setattr(automatic, "_TRIAL_ROWS", 250)
    model = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS)
    assert "on 50 held-out rows" in model.reason_
    assert len(model.oof_prediction_) == 300


def test_without_lightgbm_it_is_networks_and_says_so(monkeypatch, quick):
    monkeypatch.setattr(automatic, "available", lambda library: False)
    model = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS)
    assert model.chosen_ == "network"
    assert "pip install '.[boosting]'" in model.reason_


def test_few_rows_allow_no_comparison(quick):
    model = AutoRegressor(n_members=1, random_state=0).fit(X[:20], STEPS[:20])
    assert model.chosen_ == "network"
    assert "at least 60 rows" in model.reason_
    assert model.comparison_ is None


def test_the_rate_of_false_alarms_is_handed_on(quick):
    audit = AutoRegressor(n_members=1, random_state=0).fit(X[:50], STEPS[:50]).audit(X[:50], STEPS[:50], 0.4)
    assert audit.false_alarm_rate == 0.4
    np.testing.assert_array_equal(audit.is_label_issue, audit.at(0.4).is_label_issue)


def test_audit_takes_the_name_of_a_kind(quick):
    wrong = STEPS.copy()
    wrong[:6] += 20
    assert set(audit(X, wrong, "trees", n_members=1, random_state=0).issues) >= set(range(6))
    with pytest.raises(ValueError, match="estimator is 'forest'; choose one of auto, network, trees"):
        audit(X, wrong, "forest")


def test_kinds():
    assert isinstance(make("network"), GCPRegressor)
    assert isinstance(make("trees", n_members=2), GCPBoostingRegressor)
    assert isinstance(make(), AutoRegressor)
