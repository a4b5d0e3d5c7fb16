"""Measures against direct integration, known truths, and the invariances that make them trustworthy."""

import doctest

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import levelhead
from levelhead import metrics
from levelhead.prediction import Prediction


class TwoViews(RegressorMixin, BaseEstimator):
    """Two ridge fits as an ensemble, as our estimators answer."""

    def fit(self, X, y):
        self.members_ = [BayesianRidge().fit(X[::2], y[::2]), BayesianRidge().fit(X[1::2], y[1::2])]
        return self

    def predict(self, X):
        return self.predict_dist(X).mean

    def predict_dist(self, X):
        mean, std = zip(*(member.predict(X, return_std=True) for member in self.members_), strict=True)
        return Prediction(np.array(mean), np.array(std) ** 2)


@pytest.fixture
def linear():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    return X, X @ [2.0, -1.0] + 0.3 * rng.normal(size=120)


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    m = rng.normal(size=(3, 12))
    return rng.normal(size=12) * 2, m, rng.lognormal(-1, 1, size=m.shape)


def curve_by_definition(y, mean, var):
    """RMSE(n) for distinct variances, straight from its definition."""
    order = np.argsort(var)[::-1]
    error = (np.asarray(y) - mean)[order]
    return [np.sqrt(np.mean(error[n:] ** 2)) for n in range(len(error))]


def test_rmse_by_hand_and_with_weights():
    assert metrics.rmse([0.0, 0.0], [3.0, 4.0]) == pytest.approx(np.sqrt(12.5))
    assert metrics.rmse([0.0, 0.0], [3.0, 4.0], sample_weight=[7.0, 0.0]) == pytest.approx(3)


def test_retention_curve_and_area_by_definition(mixture):
    y, m, v = mixture
    curve = metrics.retention_curve(y, m[0], v[0])
    expected = curve_by_definition(y, m[0], v[0])
    assert_allclose(curve, expected, rtol=1e-13)
    area = sum((expected[n] + expected[n + 1]) / 2 for n in range(11)) / 11
    assert metrics.retention_auc(y, m[0], v[0]) == pytest.approx(area, rel=1e-13)


def test_ties_enter_with_the_mean_of_their_group():
    curve = metrics.retention_curve([1.0, 2.0, 3.0, 5.0], [0.0] * 4, [4.0, 1.0, 4.0, 4.0])
    tied = (1 + 9 + 25) / 3
    assert_allclose(curve, np.sqrt([(4 + 3 * tied) / 4, (4 + 2 * tied) / 3, (4 + tied) / 2, 4]))


def test_infinite_variances_are_one_group():
    curve = metrics.retention_curve([1.0, 2.0, 3.0], [0.0] * 3, [np.inf, 1.0, np.inf])
    assert_allclose(curve, np.sqrt([14 / 3, (4 + 5) / 2, 4]))


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_order_of_rows_changes_nothing_not_even_a_bit(seed, n):
    rng = np.random.default_rng(seed)
    y, mean, var = rng.normal(size=n), rng.normal(size=n), rng.integers(1, 4, size=n).astype(float)
    shuffled = rng.permutation(n)
    assert_array_equal(
        metrics.retention_curve(y, mean, var),
        metrics.retention_curve(y[shuffled], mean[shuffled], var[shuffled]),
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_no_curve_lies_below_the_oracle(seed, n):
    rng = np.random.default_rng(seed)
    y, mean, var = rng.normal(size=n), rng.normal(size=n), rng.integers(1, 9, size=n).astype(float)
    assert (metrics.retention_curve(y, mean, var) >= metrics.oracle_curve(y, mean) * (1 - 1e-14)).all()
    assert metrics.ause(y, mean, (y - mean) ** 2) == 0
    assert metrics.ause(y, mean, var) >= -1e-15


def test_nll_is_minus_the_log_density(mixture):
    y, m, v = mixture
    gaussian = -stats.norm.logpdf(y, m[0], np.sqrt(v[0])).mean()
    assert metrics.nll(y, m[0], v[0]) == pytest.approx(gaussian, rel=1e-13)
    density = stats.norm.pdf(y, m, np.sqrt(v)).mean(axis=0)
    assert metrics.nll(y, m, v) == pytest.approx(-np.log(density).mean(), rel=1e-12)
    w = np.arange(12.0)
    weighted = -(w * np.log(density)).sum() / w.sum()
    assert metrics.nll(y, m, v, sample_weight=w) == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("members", [1, 3])
def test_crps_by_direct_integration(mixture, members):
    y, m, v = mixture[0], mixture[1][:members], mixture[2][:members]
    for row in range(5):
        distribution = Prediction(m[:, [row]], v[:, [row]])

        def below(t, distribution=distribution):
            return distribution.cdf(t)[0] ** 2

        def above(t, distribution=distribution):
            return (1 - distribution.cdf(t)[0]) ** 2

        reach = 40.0
        left = quad(below, -reach, y[row], points=sorted(m[:, row]), limit=400, epsabs=1e-12)[0]
        right = quad(above, y[row], reach, points=sorted(m[:, row]), limit=400, epsabs=1e-12)[0]
        got = metrics.crps(y[[row]], m[:, [row]], v[:, [row]])
        assert got == pytest.approx(left + right, rel=1e-7)


def test_crps_tends_to_the_absolute_error():
    assert metrics.crps([3.0], [1.0], [1e-16]) == pytest.approx(2, rel=1e-7)
    assert metrics.crps([1e8], [0.0], [1.0]) == pytest.approx(1e8 - 1 / np.sqrt(np.pi), rel=1e-15)


def test_equal_members_score_as_one(mixture):
    y, m, v = mixture
    for measure in (metrics.nll, metrics.crps, metrics.calibration_error):
        twice = measure(y, np.tile(m[0], (4, 1)), np.tile(v[0], (4, 1)))
        assert twice == pytest.approx(measure(y, m[0], v[0]), rel=1e-12)


@pytest.mark.parametrize("measure", [metrics.nll, metrics.crps])
def test_proper_scores_are_best_at_the_truth(measure):
    y = np.random.default_rng(5).normal(1.0, 2.0, size=20_000)
    best = measure(y, np.full(20_000, 1.0), np.full(20_000, 4.0))
    for mean, sd in [(1.2, 2), (0.8, 2), (1, 1.7), (1, 2.4)]:
        assert measure(y, np.full(20_000, mean), np.full(20_000, sd**2)) > best


def test_coverage_counts_the_ends():
    assert metrics.coverage([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 4.0, 0.0], [2.0, 2.0, 5.0, np.inf]) == 0.75
    assert metrics.coverage([1.0, 9.0], [0.0, 0.0], [2.0, 2.0], sample_weight=[3.0, 1.0]) == 0.75
    with pytest.raises(ValueError, match=r"lower exceeds upper in 1 rows \(first at row 1\)"):
        metrics.coverage([1.0, 1.0], [0.0, 2.0], [2.0, 0.0])


def test_pit_is_uniform_for_the_truth_and_not_for_a_wrong_variance():
    rng = np.random.default_rng(1)
    mean, sd = rng.normal(size=4000), rng.lognormal(size=4000)
    y = mean + sd * rng.normal(size=4000)
    assert stats.kstest(metrics.pit(y, mean, sd**2), "uniform").pvalue > 0.01
    assert stats.kstest(metrics.pit(y, mean, 2 * sd**2), "uniform").pvalue < 1e-6
    assert metrics.calibration_error(y, mean, sd**2) < 0.01
    assert metrics.calibration_error(y, mean, 4 * sd**2) > 0.05


def test_calibration_error_is_the_area_beside_the_diagonal(mixture):
    y, m, v = mixture
    w = np.random.default_rng(2).uniform(size=12)
    fine = (np.arange(200_000) + 0.5) / 200_000
    for weights in (None, w):
        curve = metrics.calibration_curve(y, m, v, levels=fine, sample_weight=weights)
        area = np.abs(curve.observed - curve.expected).mean()
        got = metrics.calibration_error(y, m, v, sample_weight=weights)
        assert got == pytest.approx(area, abs=1e-5)


def test_calibration_error_of_known_truths():
    assert metrics.calibration_error([1e3] * 5, [0.0] * 5, [1.0] * 5) == pytest.approx(0.5)
    assert metrics.calibration_error([0.0] * 5, [0.0] * 5, [1.0] * 5) == pytest.approx(0.25)


def test_robust_r2_is_one_for_perfect_and_zero_for_the_median(mixture):
    y = mixture[0]
    assert metrics.robust_r2(y, y) == 1
    assert metrics.robust_r2(y, np.full(12, np.median(y))) == pytest.approx(0, abs=1e-15)
    assert metrics.robust_r2(y, -y) < 0


def test_robust_r2_is_near_r2_on_clean_labels():
    rng = np.random.default_rng(4)
    mean = rng.normal(size=5000)
    y = mean + 0.5 * rng.normal(size=5000)
    assert metrics.robust_r2(y, mean) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("size", [10, 1e6])
def test_robust_r2_is_robust_against_wrong_labels(rate, size):
    """R² of the truth is 0.9; wrong labels wreck R² itself, and lure it to a model that follows them."""
    rng = np.random.default_rng(6)
    truth = rng.normal(size=2000)
    y = truth + rng.normal(size=2000) / 3
    wrong = rng.permutation(2000) < rate * 2000
    y[wrong] = size * (1 + rng.normal(size=wrong.sum()))
    follower = np.full(2000, y.mean())
    assert metrics.robust_r2(y, truth) == pytest.approx(0.9, abs=0.05)
    assert metrics.robust_r2(y, follower) < 0
    assert metrics.robust_r2(y, truth) > metrics.robust_r2(y, 0.8 * truth)


def test_robust_r2_with_integer_weights_is_repetition(mixture):
    y, m, _ = mixture
    times = np.array([1, 2, 3, 1, 1, 4, 1, 2, 1, 1, 1, 2])
    repeated = metrics.robust_r2(np.repeat(y, times), np.repeat(m[0], times))
    assert metrics.robust_r2(y, m[0], sample_weight=times) == pytest.approx(repeated, rel=1e-10)


def test_robust_r2_of_degenerate_labels():
    assert metrics.robust_r2([2.0, 2.0], [2.0, 2.0]) == 1
    assert metrics.robust_r2([2.0, 2.0], [1.0, 3.0]) == 0
    mostly_zero = np.array([0.0] * 8 + [1.0, 2.0])
    assert metrics.robust_r2(mostly_zero, mostly_zero + 0.01) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("name", list(metrics.SCORERS))
def test_scorers_agree_with_their_measure(linear, name):
    X, y = linear
    model = TwoViews().fit(X, y)
    p = model.predict_dist(X)
    expected = {
        "robust_r2": metrics.robust_r2(y, p.mean),
        "neg_rmse": -metrics.rmse(y, p.mean),
        "neg_retention_auc": -metrics.retention_auc(y, p.mean, p.var),
        "neg_ause": -metrics.ause(y, p.mean, p.var),
        "neg_nll": -metrics.nll(y, p.member_mean, p.member_var),
        "neg_crps": -metrics.crps(y, p.member_mean, p.member_var),
        "neg_calibration_error": -metrics.calibration_error(y, p.member_mean, p.member_var),
    }
    assert metrics.get_scorer(name)(model, X, y) == expected[name]


def test_scorers_work_in_cross_validation_searches_and_pipelines(linear):
    X, y = linear
    pipeline = make_pipeline(StandardScaler(), TwoViews())
    result = cross_validate(pipeline, X, y, scoring=dict(metrics.SCORERS), cv=3)
    assert all(np.isfinite(result[f"test_{name}"]).all() for name in metrics.SCORERS)
    plain = cross_val_score(TwoViews(), X, y, scoring=metrics.get_scorer("neg_crps"), cv=3)
    assert_allclose(result["test_neg_crps"], plain, rtol=0.05)
    search = GridSearchCV(BayesianRidge(), {"lambda_init": [0.1, 1.0]}, scoring=metrics.get_scorer("neg_nll"))
    search.fit(X, y)
    assert metrics.get_scorer("neg_nll")(search, X, y) == pytest.approx(search.score(X, y))


def test_scorers_take_any_model_with_return_std(linear):
    X, y = linear
    model = GaussianProcessRegressor(RBF() + WhiteKernel(0.1), optimizer=None, normalize_y=True).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert metrics.get_scorer("neg_crps")(model, X, y) == pytest.approx(-metrics.crps(y, mean, std**2))
    with pytest.raises(TypeError, match="LinearRegression does not predict a distribution"):
        metrics.get_scorer("neg_crps")(LinearRegression().fit(X, y), X, y)


def test_scorers_weight_rows_or_raise_an_error(linear):
    X, y = linear
    model = TwoViews().fit(X, y)
    w = np.arange(120.0)
    assert metrics.get_scorer("neg_rmse")(model, X, y, w) == -metrics.rmse(
        y, model.predict(X), sample_weight=w
    )
    with pytest.raises(ValueError, match="neg_ause takes no sample_weight"):
        metrics.get_scorer("neg_ause")(model, X, y, sample_weight=w)
    with pytest.raises(ValueError, match="there is no scorer 'r2'; choose one of robust_r2"):
        metrics.get_scorer("r2")


def test_scorers_are_routed_their_weights(linear):
    X, y = linear
    w = np.r_[np.zeros(60), np.ones(60)]
    scorer = metrics.get_scorer("neg_crps").set_score_request(sample_weight=True)
    folds = [(np.arange(120), np.arange(120))]
    weights = {"sample_weight": w}
    unset, unweighted = metrics.get_scorer("neg_crps"), metrics.get_scorer("neg_ause")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(TwoViews(), X, y, scoring=scorer, cv=folds, params=weights)
        plain = cross_val_score(TwoViews(), X, y, scoring=unweighted, cv=folds)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_val_score(TwoViews(), X, y, scoring=unset, cv=folds, params=weights)
    model = TwoViews().fit(X, y)
    assert routed[0] == pytest.approx(metrics.get_scorer("neg_crps")(model, X[60:], y[60:]))
    assert plain[0] == pytest.approx(metrics.get_scorer("neg_ause")(model, X, y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.rmse([], []), "y is empty"),
        (lambda: metrics.rmse([1.0, np.nan], [1.0, 1.0]), r"y has 1 NaN or infinite values \(first at row 1"),
        (lambda: metrics.rmse([1.0, 2.0], [1.0]), r"mean has shape \(1,\) but y has 2 rows"),
        (lambda: metrics.rmse([[1.0], [2.0]], [1.0, 2.0]), r"y has shape \(2, 1\)"),
        (lambda: metrics.rmse([1.0], [1.0], sample_weight=[-1.0]), "sample_weight has 1 negative"),
        (lambda: metrics.rmse([1.0], [1.0], sample_weight=[0.0]), "sample_weight is zero everywhere"),
        (lambda: metrics.nll([1.0], [1.0], [0.0]), "var has 1 values that are not positive"),
        (lambda: metrics.crps([1.0, 2.0], [[1.0]], [[1.0]]), r"mean has shape \(1, 1\) but y has 2 rows"),
        (lambda: metrics.retention_curve([1.0], [1.0], [np.nan]), "var has 1 NaN"),
        (lambda: metrics.retention_auc([1.0], [1.0], [1.0]), "at least two rows"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(metrics).failed == 0


def test_predict_dist_reaches_through_composition(linear):
    X, y = linear
    expected = TwoViews().fit(X, y).predict_dist(X).mean
    steps = lambda model: Pipeline([("same", "passthrough"), ("model", model)])
    search = GridSearchCV(steps(TwoViews()), {"same": ["passthrough"]}, cv=3).fit(X, y)
    for model in (
        search,
        steps(GridSearchCV(TwoViews(), {}, cv=3)).fit(X, y),
        FrozenEstimator(steps(TwoViews()).fit(X, y)),
        make_pipeline(FunctionTransformer(), make_pipeline(TwoViews())).fit(X, y),
    ):
        assert_allclose(levelhead.predict_dist(model, X).mean, expected)
    chosen = RFE(BayesianRidge(), n_features_to_select=1).fit(X, y)
    assert_allclose(levelhead.predict_dist(chosen, X).mean, chosen.predict(X))


def test_predict_dist_names_what_is_missing(linear):
    X, y = linear
    with pytest.raises(NotFittedError, match="GridSearchCV"):
        metrics.predict_dist(GridSearchCV(Ridge(), {}), X)
    with pytest.raises(TypeError, match="Ridge does not predict a distribution"):
        metrics.predict_dist(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X)
