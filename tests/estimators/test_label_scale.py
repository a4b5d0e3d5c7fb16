"""The scale of the labels: chosen on held-out rows, the same for wrong labels, predictions in the units of y."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer, PowerTransformer

import levelhead
from levelhead import BayesianBetaRegressor, GaussianRegressor, GCPBoostingRegressor, GCPRegressor
from levelhead.prediction import LogTransform, YeoJohnsonTransform

KINDS = {
    "network": GCPRegressor(max_iter=40, random_state=0),
    "trees": GCPBoostingRegressor(max_iter=60, random_state=0),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def prices(n=400, seed=0):
    """Log-normal prices, of which four are ten times too high and four ten times too low."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.exp(7 + 0.5 * X[:, 0] + 0.2 * X[:, 1] + 0.2 * rng.normal(size=n))
    wrong = rng.permutation(n)[:8]
    y[wrong] *= np.repeat([10.0, 0.1], 4)
    return X, y, wrong


def model(kind, **settings):
    if kind == "trees":
        pytest.importorskip("lightgbm")
    return clone(KINDS[kind]).set_params(**settings)


@kinds
def test_errors_in_both_directions_are_found_on_a_log_scale(kind):
    X, y, wrong = prices(n=1200)  # with 400, trees chose the log scale with three of six seeds
    fitted = model(kind, target_transform="auto").fit(X, y)
    assert isinstance(fitted.target_transform_, LogTransform)
    assert "log scale, because" in fitted.target_transform_reason_
    audit = fitted.audit(X, y)
    assert set(wrong) <= set(audit.issues)
    assert len(audit.issues) <= 12
    np.testing.assert_array_equal(audit.given_label, y)
    right = np.setdiff1d(np.arange(len(y)), wrong)
    assert 0.1 < np.median(np.abs(np.log(y / audit.predicted_label))[right]) < 0.25
    assert np.sign(audit.z[wrong]).tolist() == [1] * 4 + [-1] * 4


@kinds
@pytest.mark.parametrize(("share", "log"), [(0.002, True), (0.04, False)], ids=["a typo", "a few percent"])
def test_labels_of_zero_speak_against_a_log_scale(kind, share, log):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    income = np.exp(1 + 0.3 * X[:, 0] + 0.5 * rng.normal(size=500))
    income[: round(share * 500)] = 0.0
    scale = model(kind, target_transform="auto").fit(X, income).target_transform_
    assert isinstance(scale, LogTransform) == log


@kinds
def test_symmetric_noise_stays_on_a_linear_scale(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = 20 + 3 * X[:, 0] + rng.normal(size=400)
    fitted = model(kind, target_transform="auto").fit(X, y)
    assert fitted.target_transform_ is None
    assert fitted.target_transform_reason_.startswith("linear scale, because")
    plain = model(kind).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))


@pytest.mark.parametrize("seed", range(3))
def test_many_wrong_labels_on_one_side_do_not_speak_for_a_log_scale(seed):
    """They widen the predictions, and on a log scale they lie nearer to the others."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(1000, 4))
    y = 10 + 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 8 * X[:, 2] + 2 * rng.normal(size=1000)
    y[rng.permutation(1000)[:200]] += 15
    fitted = model("trees", target_transform="auto").fit(X, y)
    assert fitted.target_transform_reason_.startswith("linear scale, because")


def test_trees_that_fail_on_some_folds_do_not_decide():
    """With 150 rows, trees predict two distinct labels well or badly by chance, on any scale."""
    pytest.importorskip("lightgbm")
    linear = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, size=(150, 30)).astype(float)
        y = 4 * X[:, 3] + 0.01 * rng.normal(size=150)
        trees = GCPBoostingRegressor(
            learning_rate=0.1, max_iter=300, n_iter_no_change=12, target_transform="auto", random_state=seed
        )
        linear.append(trees._chosen_scale(X, y, None, None, None).transform is None)
    assert sum(linear) >= 9


@pytest.mark.parametrize("seed", range(3))
def test_a_log_scale_that_the_mean_needs_is_chosen(seed):
    """The noise is a fifth of the label, and labels of typical rows differ by a factor of 20."""
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = np.exp(7 + 1.5 * X[:, 0] + 0.2 * X[:, 1] + 0.2 * rng.normal(size=600))
    fitted = model("trees", target_transform="auto", max_iter=300, learning_rate=0.1).fit(X, y)
    assert isinstance(fitted.target_transform_, LogTransform)


@kinds
def test_a_model_on_a_log_scale_is_that_of_the_logarithms(kind):
    X, y, _ = prices(200)
    scaled = model(kind, target_transform="log").fit(X, y)
    by_hand = model(kind).fit(X, np.log(y))
    a, b = scaled.predict_dist(X), by_hand.predict_dist(X)
    if kind == "trees":  # networks order their rows by content, labels included
        np.testing.assert_allclose(np.median(a.latent.mean - b.mean), 0, atol=0.05)
    np.testing.assert_allclose(a.logpdf(y), a.latent.logpdf(np.log(y)) - np.log(y), rtol=1e-9)
    np.testing.assert_allclose(scaled.predict(X), a.mean)
    np.testing.assert_allclose(scaled.predict_quantiles(X, 0.5), np.exp(a.latent.ppf(0.5)), rtol=1e-12)
    assert np.median(a.mean / np.exp(b.mean)) == pytest.approx(1.02, abs=0.1)


def test_a_negative_skew_gets_a_power_above_1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] - rng.exponential(size=400)
    fitted = model("network", target_transform="yeo-johnson").fit(X, y)
    assert isinstance(fitted.target_transform_, YeoJohnsonTransform)
    assert fitted.target_transform_.power > 1
    mirrored = model("network", target_transform="yeo-johnson").fit(X, -y)
    assert mirrored.target_transform_.power < 1


def test_units_do_not_matter():
    X, y, _ = prices(150)
    for scale in ("log", "yeo-johnson"):
        one = model("network", target_transform=scale).fit(X, y)
        two = model("network", target_transform=scale).fit(X, 1024 * y)
        assert np.median(two.predict(X) / one.predict(X)) == pytest.approx(1024, rel=0.02)


@pytest.mark.parametrize(
    "transformer",
    [
        FunctionTransformer(np.log, np.exp),
        FunctionTransformer(np.reciprocal, np.reciprocal),  # decreasing
        PowerTransformer(),
        LogTransform(1e-3),
    ],
    ids=["log", "reciprocal", "power", "own"],
)
def test_transformers_keep_distributions_audits_and_files(transformer, tmp_path):
    X, y, wrong = prices(200)
    fitted = model("network", target_transform=transformer).fit(X, y)
    prediction = fitted.predict_dist(X)
    assert np.isfinite(prediction.mean).all()
    assert (np.diff(prediction.ppf([0.1, 0.5, 0.9]), axis=0) > 0).all()
    audit = fitted.audit(X, y)
    assert set(wrong) <= set(np.argsort(-audit.p_outlier)[:30])
    levelhead.save(fitted, tmp_path / "model.levelhead")
    again = levelhead.load(tmp_path / "model.levelhead")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.audit(X, y).z, audit.z)
    assert again.target_transform_.name == fitted.target_transform_.name


def test_a_few_labels_that_are_not_positive_are_wrong_on_a_log_scale():
    X, y, _ = prices(300)
    y[:3] = [0.0, -99.0, 0.0]
    fitted = model("network", target_transform="log").fit(X, y)
    assert "3 labels are not positive" in fitted.target_transform_reason_
    assert {0, 1, 2} <= set(fitted.audit(X, y).issues)
    y[:40] = -1
    with pytest.raises(ValueError, match="40 of 300 labels are not positive"):
        model("network", target_transform="log").fit(X, y)


@pytest.mark.parametrize("cls", [GaussianRegressor, BayesianBetaRegressor])
def test_every_network_chooses(cls):
    X, y, _ = prices(150)
    fitted = cls(max_iter=30, random_state=0, target_transform="auto").fit(X, y)
    assert fitted.target_transform_reason_
    assert (fitted.predict_dist(X).ppf(0.01) > 0).all() or fitted.target_transform_ is None


def test_few_rows_are_not_enough_for_a_choice():
    X, y, _ = prices(20)
    fitted = model("network", target_transform="auto").fit(X, y)
    assert fitted.target_transform_ is None
    assert "needs 30 different rows" in fitted.target_transform_reason_


def test_more_training_keeps_the_scale():
    X, y, _ = prices(100)
    fitted = model("network", target_transform="log", max_iter=5)
    fitted.partial_fit(X, y).partial_fit(X, y)
    assert isinstance(fitted.target_transform_, LogTransform)
    assert (fitted.predict_dist(X).ppf(0.01) > 0).all()


def test_unknown_scales_are_refused():
    X, y, _ = prices(50)
    with pytest.raises(ValueError, match="target_transform"):
        GCPRegressor(target_transform="square").fit(X, y)
