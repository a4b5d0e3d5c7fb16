"""What a fitted estimator answers: one distribution, read in many ways."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from levelhead import (
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
    GCPRegressor,
    Prediction,
)
from levelhead.theory.student import prognostic_variance, student_variance

pytestmark = pytest.mark.compiled
ALL = [
    GCPRegressor,
    GaussianRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    BayesianBetaRegressor,
]
QUICK = {"hidden_layer_sizes": (8,), "max_iter": 6, "random_state": 0}
RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 2))
Y = 100 + 10 * X[:, 0] + RNG.normal(size=80)


@pytest.fixture(scope="module", params=ALL, ids=lambda cls: cls.__name__)
def fitted(request):
    return request.param(**QUICK, n_members=2).fit(X, Y)


def test_predict_is_the_mean_of_the_distribution(fitted):
    mean, std = fitted.predict(X, return_std=True)
    prediction = fitted.predict_dist(X)
    assert isinstance(prediction, Prediction)
    assert mean.shape == std.shape == (80,)
    assert mean.dtype == std.dtype == np.float64
    np.testing.assert_array_equal(fitted.predict(X), mean)
    np.testing.assert_array_equal(prediction.mean, mean)
    np.testing.assert_array_equal(prediction.std, std)
    np.testing.assert_allclose(prediction.var, prediction.aleatoric_var + prediction.epistemic_var)


def test_intervals_quantiles_and_densities_belong_to_that_distribution(fitted):
    prediction = fitted.predict_dist(X)
    lower, upper = fitted.predict_interval(X, 0.8)
    np.testing.assert_array_equal(fitted.predict_quantiles(X, [0.1, 0.9]), prediction.ppf([0.1, 0.9]))
    np.testing.assert_allclose(prediction.cdf(upper) - prediction.cdf(lower), 0.8, rtol=1e-6)
    assert fitted.predict_quantiles(X, 0.5).shape == (80,)
    np.testing.assert_array_equal(fitted.log_prob(X, Y), prediction.logpdf(Y))


def test_a_single_gaussian_agrees_with_scipy():
    fitted = GaussianRegressor(**QUICK).fit(X, Y)
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(fitted.log_prob(X, Y), norm.logpdf(Y, mean, std))
    np.testing.assert_allclose(fitted.predict_quantiles(X, 0.05), norm.ppf(0.05, mean, std))


def test_one_row_is_predicted_as_in_a_table(fitted):
    together = fitted.predict_dist(X)
    for row in range(10):
        alone = fitted.predict_dist(X[[row]])
        np.testing.assert_array_equal(alone.member_mean[:, 0], together.member_mean[:, row])
        np.testing.assert_array_equal(alone.member_var[:, 0], together.member_var[:, row])


def test_long_tables_are_predicted_in_blocks_with_the_same_result(fitted, monkeypatch):
    from levelhead.estimators.networks import _training

    whole = fitted.predict_dist(X)
    monkeypatch.setattr(_training, "_CHUNK", 7)
    pieces = fitted.predict_dist(X)
    np.testing.assert_array_equal(pieces.member_mean, whole.member_mean)
    np.testing.assert_array_equal(pieces.member_var, whole.member_var)


def test_an_unfitted_estimator_raises_not_fitted():
    for ask in (GCPRegressor().predict, GCPRegressor().predict_dist):
        with pytest.raises(NotFittedError, match="not fitted"):
            ask(X)
    with pytest.raises((NotFittedError, AttributeError), match=r"contamination_|not fitted"):
        _ = GCPRegressor().contamination_


def test_prognostic_and_student_variance_come_from_one_fit():
    clean = GCPRegressor(**QUICK, contamination=None).fit(X, Y)
    student = GCPRegressor(**QUICK, contamination=None, variance="student").fit(X, Y)
    a, b = clean.predict_dist(X), student.predict_dist(X)
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_allclose(a.var, prognostic_variance(a.member_alpha, a.member_sigma)[0], rtol=1e-12)
    np.testing.assert_allclose(
        b.var, student_variance(a.member_alpha, a.member_sigma, finite=True)[0], rtol=1e-12
    )
    assert (b.var > a.var).all()


def test_alpha_is_the_alpha_of_the_paper():
    prediction = GCPRegressor(**QUICK).fit(X, Y).predict_dist(X)
    assert (prediction.alpha > 0.1).all()
    big = GCPRegressor(**QUICK).fit(X, 2.0**20 * Y).predict_dist(X)
    assert np.median(big.alpha) == pytest.approx(np.median(prediction.alpha), rel=0.3)
    assert np.median(big.member_sigma) == pytest.approx(2.0**40 * np.median(prediction.member_sigma), rel=0.5)


def test_an_audit_measures_in_the_deviation_that_the_model_predicts():
    model = GCPRegressor(**QUICK, n_members=2, contamination=0.2).fit(X, Y)
    assert model.separation_.variance_ratio < 0.97  # so many wrong labels were announced, and there are none
    own, new = model.audit(X, Y), model.audit(X + 0.01, Y)
    np.testing.assert_allclose(own.std, model.oof_prediction_.std)
    np.testing.assert_array_equal(own.predicted_label, model.oof_prediction_.mean)
    np.testing.assert_allclose(new.std, model.predict_dist(X + 0.01).std)
    np.testing.assert_array_equal(new.predicted_label, model.predict(X + 0.01))


def test_the_variance_of_a_member_is_calibrated_and_leaves_room_for_their_disagreement():
    model = GCPRegressor(**QUICK, n_members=2, contamination=0.2).fit(X, Y)
    assert 0.02 < model.disagreement_ <= 0.5
    answer, unit = model.predict_dist(X), model.target_scale_.spread**2
    network = prognostic_variance(answer.member_alpha, answer.member_sigma / unit)
    calibrated = model.calibration_(network) * model.separation_.variance_ratio
    np.testing.assert_allclose(answer.member_var / unit, calibrated * (1 - model.disagreement_))
    assert GCPRegressor(**QUICK).fit(X, Y).disagreement_ == 0


def test_only_gcp_has_a_contaminated_marginal():
    wide = GCPRegressor(**QUICK).fit(X, Y).predict_dist(X).contaminated
    assert np.isfinite(wide.logpdf(1e9)).all()
    with pytest.raises(AttributeError, match="only GCP models"):
        _ = GaussianRegressor(**QUICK).fit(X, Y).predict_dist(X).alpha


def test_posterior_samples_differ_but_predictions_repeat():
    fitted = BayesianBetaRegressor(**QUICK, n_posterior=7, noise_std=0.5).fit(X, Y)
    prediction = fitted.predict_dist(X)
    assert prediction.n_members == 7
    assert (prediction.epistemic_var > 0).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X))
    noise = 0.5 * fitted.target_scale_.spread
    np.testing.assert_allclose(prediction.aleatoric_var, noise**2)


def test_learned_attributes():
    fitted = GCPRegressor(**QUICK, n_members=3).fit(X, Y)
    assert fitted.n_features_in_ == 2
    assert len(fitted.networks_) == 3
    assert fitted.n_iter_ == 6
    assert len(fitted.loss_curve_) == 6
    assert 0 <= fitted.contamination_ < 1
    assert len(fitted.oof_prediction_) == 80
    assert not hasattr(fitted, "feature_names_in_")
