"""Networks or trees: the better one for the table, with its reason."""

import doctest
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, audit, load, save
from levelhead.auditing import Audit
from levelhead.estimators import automatic
from levelhead.estimators.automatic import compare, make

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


def checks():
    for estimator, check in estimator_checks_generator(AutoRegressor(n_members=1)):
        name = getattr(check, "func", check).__name__
        yield pytest.param(estimator, check, id=name)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn(estimator, check, quick):
    check(estimator)


def test_the_example_in_the_docstring():
    assert doctest.testmod(automatic).failed == 0


def test_smooth_tables_get_networks_and_says_why(tmp_path):
    wrong = SMOOTH.copy()
    wrong[::15] += 10
    model = AutoRegressor(n_members=1, random_state=0).fit(X, wrong)
    assert model.chosen_ == "network"
    assert [type(part) for part in model.estimators_] == [GCPRegressor]
    assert model.comparison_.network < model.comparison_.trees
    assert model.reason_.startswith(
        "networks, because on rows not seen before the error on trusted labels is"
    )
    assert "that of trees" in model.reason_
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
    doubtful = SimpleNamespace(predicted_label=np.zeros(100), label_quality=np.append(0.01, np.ones(99)))
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
    assert model.contamination_ == pytest.approx(0.05, abs=0.02)
    verdict = model.audit(inputs, y)
    assert set(wrong) <= set(verdict.issues)
    assert len(verdict.issues) <= 23
    assert set(model.audit(inputs[wrong[:3]], y[wrong[:3]]).issues) == {0, 1, 2}  # a few rows alone
    assert len(model.oof_prediction_) == 400
    again = load(save(model, tmp_path / "both"))
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    assert again.contamination_ == model.contamination_


def test_many_rows_are_compared_on_some_and_fitted_on_all(monkeypatch, quick):
    monkeypatch.setattr(automatic, "_FEW_ROWS", 200)
    monkeypatch.setattr(automatic, "_TRIAL_ROWS", 250)
    model = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS)
    assert "on 50 rows" in model.reason_
    assert len(model.oof_prediction_) == 300


def test_without_lightgbm_it_is_networks_and_says_so(monkeypatch, quick):
    monkeypatch.setattr(automatic, "available", lambda library: False)
    model = AutoRegressor(n_members=1, random_state=0).fit(X, STEPS)
    assert model.chosen_ == "network"
    assert "pip install '.[boosting]'" in model.reason_


def test_few_rows_allow_no_comparison(quick):
    model = AutoRegressor(n_members=1, random_state=0).fit(X[:20], STEPS[:20])
    assert model.chosen_ == "network"
    assert "fewer than 60 rows" in model.reason_
    assert model.comparison_ is None


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
