"""Networks and trees: their weights, with the reason."""

import doctest
import re

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, audit, load, save
from levelhead.estimators import automatic, combination
from levelhead.estimators.registry import make

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 2))
STEPS = np.sign(X[:, 0]) + 2 * np.sign(X[:, 1]) + 0.1 * RNG.normal(size=300)
SMOOTH = np.sin(3 * X[:, 0] + 2 * X[:, 1]) + 0.01 * RNG.normal(size=300)


def less_training(monkeypatch):
    usual = AutoRegressor._kinds

    def kinds(self, seed):
        trees, *networks = usual(self, seed)
        small = [network.set_params(hidden_layer_sizes=(16,), max_iter=30) for network in networks]
        return [trees.set_params(max_iter=40), *small]

    monkeypatch.setattr(AutoRegressor, "_kinds", kinds)


@pytest.fixture
def quick(monkeypatch):
    """All kinds with less training."""
    less_training(monkeypatch)


@pytest.mark.slow
def test_the_example_in_the_docstring():
    assert doctest.testmod(automatic).failed == 0


@pytest.mark.slow
def test_smooth_tables_trust_networks_and_say_why(tmp_path):
    wrong = SMOOTH.copy()
    wrong[::15] += 10
    model = AutoRegressor(n_members=1, random_state=0).fit(X, wrong)
    assert model.chosen_ in ("network", "both")
    assert model.comparison_.network < model.comparison_.trees
    assert model.reason_.startswith("networks")
    assert "held-out rows" in model.reason_
    assert "for trees" in model.reason_
    again = load(save(model, tmp_path / "auto"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.reason_ == model.reason_
    assert set(np.flatnonzero(model.audit(X, wrong).is_label_issue)) >= set(range(0, 300, 15))


@pytest.fixture(scope="module")
def both():
    """A table of waves and steps with wrong labels, and its fitted model."""
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-1, 1, size=(400, 3))
    truth = np.sin(4 * inputs[:, 0] + 2 * inputs[:, 1]) + np.sign(inputs[:, 2])
    y = truth + 0.1 * rng.normal(size=400)
    wrong = rng.choice(400, 20, replace=False)
    y[wrong] += rng.choice([-8, 8], size=20)
    with pytest.MonkeyPatch.context() as patch:
        less_training(patch)
        model = AutoRegressor(n_members=2, random_state=0).fit(inputs, y)
    return inputs, y, wrong, model


def test_weights_lie_on_the_simplex_and_make_the_mean(both):
    inputs, _, _, model = both
    weights = model.combination_.weights
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert len(weights) == len(model.estimators_)
    parts = [part.predict_dist(inputs) for part in model.estimators_]
    expected = sum(weight * part.mean for weight, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(model.predict(inputs), expected, rtol=1e-9)
    assert model.predict_dist(inputs).n_members == 2


def test_wrong_labels_are_found(both):
    inputs, y, wrong, model = both
    assert model.contamination_ == pytest.approx(0.05, abs=0.02)
    verdict = model.audit(inputs, y)
    assert all((verdict.alpha <= part.audit(inputs, y).alpha).all() for part in model.estimators_)
    assert set(wrong) <= set(verdict.issues)
    assert len(verdict.issues) <= 23
    loose = model.audit(inputs, y, 0.5)
    np.testing.assert_array_equal(loose.is_label_issue, verdict.at(0.5).is_label_issue)
    assert loose.is_label_issue.sum() >= verdict.is_label_issue.sum()
    assert set(model.audit(inputs[wrong[:3]], y[wrong[:3]]).issues) == {0, 1, 2}  # a few rows alone


def test_out_of_fold_intervals_cover_clean_labels_as_often_as_they_say(both):
    _, y, wrong, model = both
    right = np.setdiff1d(np.arange(400), wrong)
    oof = model.oof_prediction_
    assert len(oof) == 400
    for coverage in (0.5, 0.8, 0.9):
        lower, upper = oof.interval(coverage)
        inside = ((lower <= y) & (y <= upper))[right].mean()
        assert inside == pytest.approx(coverage, abs=0.04)


def test_predictions_stay_in_the_range_of_trusted_labels(both):
    _, y, wrong, model = both
    right = np.setdiff1d(np.arange(400), wrong)
    far = np.random.default_rng(0).normal(size=(200, 3)) * 1e4
    reach = 0.21 * np.ptp(y[right])
    assert (model.predict(far) >= y[right].min() - reach).all()
    assert (model.predict(far) <= y[right].max() + reach).all()


def test_a_file_keeps_every_prediction(both, tmp_path):
    inputs, _, _, model = both
    again = load(save(model, tmp_path / "both"))
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    np.testing.assert_array_equal(
        again.predict_quantiles(inputs, [0.1, 0.7]), model.predict_quantiles(inputs, [0.1, 0.7])
    )
    assert again.contamination_ == model.contamination_


def test_the_same_seed_gives_the_same_model(quick):
    one, two = (AutoRegressor(n_members=1, random_state=3).fit(X, STEPS).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(AutoRegressor(n_members=1, random_state=4).fit(X, STEPS).predict(X), one)


def test_weights_are_learnt_from_labels_that_the_models_have_not_seen(monkeypatch, quick):
    given = []
    weigh = combination.stacking_weights
    monkeypatch.setattr(combination, "stacking_weights", lambda held: given.append(held) or weigh(held))
    model = AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(X, STEPS)
    known, used = given[-2:]  # of all models, and of those with a weight
    for part, mean in zip(model.estimators_, used.means, strict=True):
        np.testing.assert_allclose(mean, part.oof_prediction_.mean)
        assert (known.quality >= part.audit(X, STEPS).label_quality).all()


def test_a_linear_function_is_followed_beyond_the_range_of_most_inputs():
    """Shares of a budget: the label is 1 minus the sum of the others, some of which are large."""
    rng = np.random.default_rng(0)
    shares = rng.gamma([0.3, 0.5, 1.0, 2.0], size=(600, 4))
    y = 1 - shares.sum(axis=1)
    wrong = rng.random(400) < 0.05
    given = np.where(wrong, 10 * y[:400], y[:400]) + 0.001 * rng.normal(size=400)
    model = AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(shares[:400], given)
    error = np.sqrt(np.mean((model.predict(shares[400:]) - y[400:]) ** 2))
    assert error < 0.02 * y.std()


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_scale_on_which_a_relation_is_linear_is_clearly_better(scale):
    """Trees alone hardly see the difference."""
    rng = np.random.default_rng(1)
    inputs = rng.gamma(1.0, size=(500, 4))
    y = 1 + inputs.sum(axis=1) + 0.01 * rng.normal(size=500)
    labels = y if scale == "linear" else np.exp(0.3 * y)
    model = AutoRegressor(n_members=1, random_state=0).fit(inputs, labels)
    assert model.target_transform_reason_.startswith(f"{scale} scale")
    gain = float(re.search(r"by (-?[\d.]+) ±", model.target_transform_reason_)[1])
    assert abs(gain) > 1
    assert np.median(np.abs(model.predict(inputs) / labels - 1)) < 0.01


@pytest.mark.parametrize("kind", ["trees", "networks"])
def test_members_learn_with_the_doubts_of_all_models(monkeypatch, quick, kind):
    upper = X[:, 0] > 0
    asked = []

    def doubts(held_out):
        asked.append(held_out)
        return np.where(upper, 1 - 1e-9, 0.0)

    monkeypatch.setattr(combination, "probably_wrong", doubts)
    model = AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(X, STEPS)
    assert len(asked) == 1
    assert asked[0].means.shape == (4, len(X))
    parts = [m for m in model.estimators_ if isinstance(m, GCPBoostingRegressor) == (kind == "trees")]
    for part in parts:
        error = np.abs(part.predict(X) - STEPS)
        assert error[upper].mean() > 3 * error[~upper].mean()


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


def test_rows_of_weight_0_are_not_among_the_wrong_labels(quick):
    inputs, labels = np.vstack([X, X[:150] + 1e-3]), np.concatenate([STEPS, np.full(150, 50.0)])
    weight = np.repeat([1.0, 0.0], [300, 150])
    model = AutoRegressor(n_members=1, random_state=0).fit(inputs, labels, weight)
    assert model.contamination_ < 0.1


@pytest.mark.parametrize(
    ("weight", "message"), [(np.full(300, -1.0), "Negative"), (np.ones(7), "shape"), (np.zeros(300), "zero")]
)
def test_weights_that_make_no_sense_are_refused(weight, message, quick):
    with pytest.raises(ValueError, match=message):
        AutoRegressor(n_members=1, random_state=0).fit(X, STEPS, weight)


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


@pytest.mark.slow
def test_all_models_learn_on_one_scale():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(500, 3))
    prices = np.exp(7 + 0.6 * inputs[:, 0] + 0.25 * rng.normal(size=500))
    wrong = np.arange(6)
    prices[wrong] *= np.repeat([10.0, 0.1], 3)
    model = AutoRegressor(n_members=1, random_state=0).fit(inputs, prices)
    assert model.target_transform_reason_.startswith("log scale, because")
    assert all(part.target_transform_ is model.target_transform_ for part in model.estimators_)
    assert set(wrong) <= set(model.audit(inputs, prices).issues)
    assert model.predict_dist(inputs).transform is model.target_transform_
    plain = AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(inputs, prices)
    assert plain.target_transform_ is None


def test_groups_and_folds_reach_every_model(monkeypatch, quick):
    given = []
    for cls in (GCPRegressor, GCPBoostingRegressor):
        fit = cls._fit_steps

        def spy(self, X, y, sample_weight, groups, cv, fit=fit):
            given.append((groups, cv))
            return fit(self, X, y, sample_weight, groups, cv)

        monkeypatch.setattr(cls, "_fit_steps", spy)
    groups = np.arange(300) // 3
    AutoRegressor(n_members=1, random_state=0, target_transform=None).fit(X, STEPS, groups=groups, cv=4)
    assert len(given) == 4
    assert all(one is groups and cv == 4 for one, cv in given)
