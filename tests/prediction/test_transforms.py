"""Predictions on another scale of the labels, against integrals over the scale by another method."""

import doctest
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer

from levelhead.prediction import (
    LogTransform,
    MonotoneTransform,
    Prediction,
    TransformedPrediction,
    YeoJohnsonTransform,
    transformed,
    transforms,
)

LABELS = np.exp(np.linspace(-2, 2, 200))
SCALES = {
    "log": LogTransform(1e-3),
    "power 0": YeoJohnsonTransform(0.0, 1.0, 2.0),
    "power 0.3": YeoJohnsonTransform(0.3, 1.0, 2.0),
    "power 1": YeoJohnsonTransform(1.0, -3.0, 0.5),
    "power 1.7": YeoJohnsonTransform(1.7, 1.0, 2.0),
    "power 2": YeoJohnsonTransform(2.0, 1.0, 2.0),
    "user's logarithm": MonotoneTransform.of(FunctionTransformer(np.log, np.exp), LABELS, 1.0),
    "user's negative": MonotoneTransform.of(FunctionTransformer(np.negative, np.negative), LABELS, 1.0),
}
scales = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
# A user's transformer is not trusted far beyond the labels, so that its integrals have other limits.
own_scales = pytest.mark.parametrize("scale", list(SCALES.values())[:6], ids=list(SCALES)[:6])


@pytest.fixture
def latent():
    rng = np.random.default_rng(0)
    shape = (3, 4)
    v = 0.3 * np.exp(rng.normal(size=shape))
    return Prediction(rng.normal(size=shape), v, alpha=np.full(shape, 2.0), sigma=2 * v)


def integral(f, row, points=()):
    """∫f(z) dz over all that the members of a row can reach, with breaks at their means."""
    m, s = row.member_mean[:, 0], np.sqrt(row.member_var[:, 0])
    low, high = (m - 14 * s).min(), (m + 14 * s).max()
    inner = sorted({*m, 0.0, *points})
    return quad(
        f, low, high, points=[p for p in inner if low < p < high], limit=400, epsabs=1e-11, epsrel=1e-10
    )[0]


@scales
def test_scales_rise_and_return(scale):
    y = np.linspace(0.05, 8, 301)
    z = scale.forward(y)
    assert (np.diff(z) > 0).all()
    assert_allclose(scale.inverse(z), y, rtol=1e-12, atol=1e-12)


@scales
def test_the_derivative_is_that_of_the_map(scale):
    y, h = np.linspace(0.5, 8, 50), 1e-6
    slope = (scale.forward(y + h) - scale.forward(y - h)) / (2 * h)
    assert_allclose(np.exp(scale.log_derivative(y)), slope, rtol=1e-6)


@own_scales
def test_moments_agree_with_adaptive_quadrature(scale, latent):
    prediction = TransformedPrediction(latent, scale)
    for k in range(2):
        row = latent[k]
        mean = integral(lambda z, row=row: float(scale.inverse(z)) * float(row.pdf(z)[0]), row)
        var = integral(
            lambda z, row=row, m=mean: (float(scale.inverse(z)) - m) ** 2 * float(row.pdf(z)[0]), row
        )
        assert prediction.mean[k] == pytest.approx(mean, rel=1e-7, abs=1e-7)
        assert prediction.var[k] == pytest.approx(var, rel=1e-7)


def test_moments_of_the_logarithm_are_those_of_scipy():
    m, s = np.array([[-1.0, 0.0, 3.0]]), np.array([[1e-6, 0.5, 2.0]])
    prediction = TransformedPrediction(Prediction(m, s**2), LogTransform(1e-9))
    assert_allclose(prediction.mean, stats.lognorm(s[0], scale=np.exp(m[0])).mean(), rtol=1e-12)
    assert_allclose(prediction.var, prediction.mean**2 * np.expm1(s[0] ** 2), rtol=1e-11)


@scales
def test_density_distribution_and_quantiles_belong_together(scale, latent):
    prediction = TransformedPrediction(latent, scale)
    y, h = prediction.ppf(0.3), 1e-5
    assert_allclose(prediction.cdf(y), 0.3, atol=1e-12)
    slope = (prediction.cdf(y + h) - prediction.cdf(y - h)) / (2 * h)
    assert_allclose(prediction.pdf(y), slope, rtol=1e-5)
    assert_allclose(prediction.interval(0.8).upper, scale.inverse(latent.interval(0.8).upper))
    given = prediction.contaminated
    y = given.ppf(0.9)
    slope = (given.cdf(y + h) - given.cdf(y - h)) / (2 * h)
    assert_allclose(given.pdf(y), slope, rtol=1e-5)


@own_scales
@pytest.mark.parametrize("label", [0.02, 1.3, 400.0])
def test_crps_agrees_with_its_integral(scale, latent, label):
    prediction = TransformedPrediction(latent, scale)
    score, z = prediction.crps(label), float(scale.forward(label))

    def integrand(at, row):
        slope = float(np.exp(-scale.log_derivative(scale.inverse(at))))
        return (float(row.cdf(at)[0]) - (at >= z)) ** 2 * slope

    for k in range(2):
        row = latent[k]
        low = (row.member_mean - 14 * np.sqrt(row.member_var)).min()
        high = (row.member_mean + 14 * np.sqrt(row.member_var)).max()
        beyond = max(0.0, label - float(scale.inverse(high))) + max(0.0, float(scale.inverse(low)) - label)
        expected = integral(lambda at, row=row: integrand(at, row), row, [z]) + beyond
        assert score[k] == pytest.approx(expected, rel=1e-6)


def test_a_linear_power_is_the_plain_prediction(latent):
    scale = YeoJohnsonTransform(1.0, 0.0, 1.0)
    prediction = TransformedPrediction(latent, scale)
    y = np.array([0.1, -2.0, 0.7, 1.0])
    assert_allclose(prediction.mean, latent.mean, atol=1e-9)
    assert_allclose(prediction.var, latent.var, rtol=1e-8)
    assert_allclose(prediction.logpdf(y), latent.logpdf(y))
    assert_allclose(prediction.epistemic_var, latent.epistemic_var, rtol=1e-7)


def test_samples_are_those_of_the_scale(latent):
    prediction = TransformedPrediction(latent, LogTransform(1e-3))
    assert_allclose(prediction.sample(5, random_state=1), np.exp(latent.sample(5, random_state=1)))
    draws = prediction.sample(20_000, random_state=0)
    assert_allclose(draws.mean(axis=0), prediction.mean, rtol=0.1)


def test_labels_that_a_logarithm_cannot_hold_have_no_density(latent):
    prediction = TransformedPrediction(latent, LogTransform(1e-3))
    assert (prediction.logpdf([-1.0, 0.0, 1.0, 2.0])[:2] == -np.inf).all()
    assert (prediction.cdf(0.0) == 0).all()
    assert_allclose(LogTransform(1e-3).labels([-5.0, 0.0, 1e-9, 1.0]), np.log([1e-3, 1e-3, 1e-3, 1.0]))


def test_rows_can_be_selected_and_shown(latent):
    prediction = TransformedPrediction(latent, LogTransform(1e-3))
    assert_allclose(prediction[2].mean, prediction.mean[2:3])
    assert_allclose(prediction[[True, False, True, False]].var, prediction.var[[0, 2]])
    assert "4 rows, 3 members" in repr(prediction)
    assert list(prediction.to_frame()) == ["mean", "std", "aleatoric_var", "epistemic_var", "alpha"]
    assert_allclose(pickle.loads(pickle.dumps(prediction)).mean, prediction.mean)
    assert latent.latent is latent
    assert latent.transform is None


def test_the_student_variance_on_a_log_scale_is_an_error(latent):
    prediction = TransformedPrediction(latent, LogTransform(1e-3))
    for name in ("student_var", "finite_student_var"):
        with pytest.raises(AttributeError, match=f"log scale.*prediction.latent.{name}"):
            getattr(prediction, name)
    assert np.isfinite(prediction.contaminated.interval(0.9).upper).all()


def test_bounded_transformers_have_finite_moments():
    """The inverse of a negative power has a pole, where a Gaussian still has some mass."""
    scale = MonotoneTransform.of(PowerTransformer().fit(LABELS[:, None] ** 3), LABELS**3, 1.0)
    prediction = TransformedPrediction(Prediction([0.0, 2.0], [1.0, 1.0]), scale)
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.std).all()
    assert np.isfinite(prediction.crps([1.0, 2.0])).all()


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (FunctionTransformer(np.sin, np.arcsin, check_inverse=False), "not monotone"),
        (FunctionTransformer(np.log, np.square, check_inverse=False), "by its inverse_transform"),
        (FunctionTransformer(np.arcsin, np.sin, check_inverse=False), "maps the label"),
    ],
)
def test_unusable_transformers_are_refused(transformer, message):
    with pytest.raises(ValueError, match=message):
        MonotoneTransform.of(transformer, LABELS, 1.0)


def test_piecewise_transformers_work():
    scale = MonotoneTransform.of(
        QuantileTransformer(n_quantiles=50, output_distribution="normal").fit(LABELS[:, None]), LABELS, 1.0
    )
    prediction = TransformedPrediction(Prediction([0.0], [0.25]), scale)
    assert LABELS.min() < prediction.mean[0] < LABELS.max()
    assert_allclose(prediction.cdf(prediction.ppf(0.2)), 0.2, atol=1e-6)


def test_no_positive_label_has_no_logarithm():
    with pytest.raises(ValueError, match="no label is positive"):
        LogTransform.of([-1.0, 0.0])


@pytest.mark.parametrize("module", [transforms, transformed])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
