"""Prediction: moments, densities and quantiles against independent references; never a silent NaN."""

import doctest
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from levelhead import prediction
from levelhead.prediction import Prediction
from levelhead.theory.special import A

LEVELS = np.array([1e-12, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999, 1 - 1e-9])


@pytest.fixture
def ensemble():
    """Five members that disagree, 40 rows, with spreads over four orders of magnitude."""
    rng = np.random.default_rng(7)
    m = rng.normal(size=(5, 40)) * 2
    alpha = 0.1 + rng.lognormal(0, 1.5, size=m.shape)
    sigma = rng.lognormal(-1, 2, size=m.shape)
    return Prediction.from_student(m, alpha, sigma)


@pytest.fixture
def single(ensemble):
    return Prediction(
        ensemble.member_mean[0],
        ensemble.member_var[0],
        alpha=ensemble.member_alpha[0],
        sigma=ensemble.member_sigma[0],
    )


def mixture_cdf(m, v, y):
    """mean_k Φ((y − m_k)/√V_k) in 50 digits."""
    with mpmath.workdps(50):
        return sum(
            mpmath.ncdf((mpmath.mpf(float(y)) - mpmath.mpf(float(mk))) / mpmath.sqrt(mpmath.mpf(float(vk))))
            for mk, vk in zip(m, v, strict=True)
        ) / len(m)


def test_moments_are_those_of_the_mixture(ensemble):
    m, v = ensemble.member_mean, ensemble.member_var
    assert_allclose(ensemble.mean, m.mean(axis=0))
    assert_allclose(ensemble.var, (v + m**2).mean(axis=0) - m.mean(axis=0) ** 2)
    assert_allclose(ensemble.std**2, ensemble.var)
    assert_allclose(ensemble.aleatoric_var + ensemble.epistemic_var, ensemble.var)


def test_variance_does_not_cancel_far_from_zero():
    far = Prediction([[1e9, 1e9], [1e9, 1e9 + 1]], [[1e-4, 1e-4], [3e-4, 3e-4]])
    assert_allclose(far.var, [2e-4, 0.2502], rtol=1e-12)


def test_prognostic_variance_is_equation_6(single):
    alpha = single.member_alpha[0]
    assert_allclose(single.aleatoric_var, single.member_sigma[0] / (alpha - A(alpha)), rtol=1e-11)
    assert_array_equal(single.epistemic_var, 0)


def test_student_variance_is_infinite_up_to_alpha_one():
    prediction = Prediction.from_student(m=[0.0, 0.0, 1.0], alpha=[0.5, 1.0, 3.0], sigma=[1.0, 1.0, 4.0])
    assert_allclose(prediction.student_var, [np.inf, np.inf, 2.0])
    assert_allclose(prediction.finite_student_var, [2e4, 2e4, 2.0])


def test_student_variance_of_an_ensemble_is_that_of_the_mixture():
    prediction = Prediction.from_student(m=[[0.0], [2.0]], alpha=[[2.0], [3.0]], sigma=[[1.0], [4.0]])
    assert_allclose(prediction.student_var, (1 + 2) / 2 + 1)
    assert_allclose(prediction.contaminated.var, prediction.student_var)
    one_wild = Prediction.from_student(m=[[0.0], [2.0]], alpha=[[1.0], [3.0]], sigma=[[1.0], [4.0]])
    assert_array_equal(one_wild.student_var, np.inf)


def test_alpha_averages_the_reciprocal():
    prediction = Prediction.from_student(m=[[0.0], [0.0]], alpha=[[0.5], [1e9]], sigma=[[1.0], [1.0]])
    assert_allclose(prediction.alpha, 1.0, rtol=1e-8)


def test_one_member_is_the_gaussian(single):
    y = single.mean + np.linspace(-8, 8, 40)
    reference = stats.norm(single.mean, single.std)
    assert_allclose(single.logpdf(y), reference.logpdf(y), rtol=1e-12)
    assert_allclose(single.cdf(y), reference.cdf(y), rtol=1e-12)
    assert_allclose(single.ppf(LEVELS), reference.ppf(LEVELS[:, None]), rtol=1e-12)


def test_mixture_density_and_distribution(ensemble):
    y = ensemble.mean + 0.3
    components = stats.norm(ensemble.member_mean, np.sqrt(ensemble.member_var))
    assert_allclose(ensemble.pdf(y), components.pdf(y).mean(axis=0), rtol=1e-12)
    assert_allclose(ensemble.cdf(y), components.cdf(y).mean(axis=0), rtol=1e-12)


def test_density_integrates_to_one_and_to_the_moments(ensemble):
    row = ensemble[3]
    lower, upper = row.ppf([1e-14, 1 - 1e-14])[:, 0]
    breaks = np.unique(np.clip(row.member_mean[:, 0], lower, upper))
    kwargs = {"points": breaks, "limit": 500, "epsabs": 1e-12, "epsrel": 1e-10}
    assert_allclose(quad(lambda y: row.pdf(y)[0], lower, upper, **kwargs)[0], 1, rtol=1e-8)
    assert_allclose(quad(lambda y: y * row.pdf(y)[0], lower, upper, **kwargs)[0], row.mean[0], rtol=1e-8)
    second = quad(lambda y: (y - row.mean[0]) ** 2 * row.pdf(y)[0], lower, upper, **kwargs)[0]
    assert_allclose(second, row.var[0], rtol=1e-8)


def test_log_density_is_finite_in_the_far_tails(ensemble, single):
    assert np.isfinite(ensemble.logpdf(1e100)).all()
    assert_allclose(single.logpdf(1e100), -0.5e200 / single.var, rtol=1e-12)
    assert (ensemble.logpdf([np.inf] * 40) == -np.inf).all()
    assert_array_equal(ensemble.cdf(np.inf), 1)
    assert_array_equal(ensemble.cdf(-np.inf), 0)


@pytest.mark.parametrize("q", [1e-12, 0.05, 0.5, 0.7, 0.999])
def test_mixture_quantiles_in_fifty_digits(ensemble, q):
    y = ensemble.ppf(q)
    slack = 1e-12 * ensemble.std + 4e-16 * np.abs(y)
    for row in range(0, 40, 5):
        m, v = ensemble.member_mean[:, row], ensemble.member_var[:, row]
        assert mixture_cdf(m, v, y[row] - slack[row]) <= q <= mixture_cdf(m, v, y[row] + slack[row])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    gap=st.floats(0, 1e6),
    spread=st.floats(1e-6, 1e6),
    q=st.floats(1e-15, 1 - 1e-15),
)
def test_quantiles_invert_the_distribution(seed, gap, spread, q):
    rng = np.random.default_rng(seed)
    m = rng.normal(size=(3, 4)) * gap
    v = np.exp(rng.normal(size=m.shape)) * spread**2
    prediction = Prediction(m, v)
    y = prediction.ppf(q)
    reach = 1e-12 * prediction.std + 1e-15 * np.abs(y)
    assert (prediction.cdf(y - reach) <= q * (1 + 1e-13)).all()
    assert (prediction.cdf(y + reach) >= q * (1 - 1e-13)).all()


@settings(max_examples=100, deadline=None)
@given(
    m=st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=2),
    log_sigma=st.floats(-200, 200),
    alpha=st.floats(1e-3, 1e12),
    y=st.floats(allow_nan=False),
    q=st.floats(1e-12, 1 - 1e-12),
)
def test_no_prediction_is_nan(m, log_sigma, alpha, y, q):
    sigma = 10**log_sigma
    prediction = Prediction.from_student(np.reshape(m, (2, 1)), [[alpha], [0.3]], [[sigma], [1.0]])
    answers = [prediction.mean, prediction.std, prediction.alpha, prediction.student_var]
    answers += [prediction.finite_student_var, prediction.sample(3, random_state=0)]
    for distribution in (prediction, prediction.contaminated):
        answers += [distribution.logpdf(y), distribution.pdf(y), distribution.cdf(y), distribution.ppf(q)]
    assert not any(np.isnan(answer).any() for answer in answers)
    assert repr(prediction).count("\n") == 2


@pytest.mark.parametrize("q", [1e-4, 0.3, 0.7])
def test_quantiles_of_members_that_are_very_far_apart(q):
    """Each member holds one half, and beside the gap it is a point."""
    prediction = Prediction([[1e87], [1e63]], [[1e100], [1.0]])
    assert_allclose(prediction.ppf(q), 1e63 if q < 0.5 else 1e87, rtol=1e-14)


def test_quantiles_mirror_when_the_prediction_does(ensemble):
    mirrored = Prediction(-ensemble.member_mean, ensemble.member_var)
    assert_array_equal(mirrored.ppf(0.125), -ensemble.ppf(0.875))


def test_equal_members_are_one_member(single):
    five = Prediction(np.tile(single.member_mean, (5, 1)), np.tile(single.member_var, (5, 1)))
    assert_allclose(five.ppf(LEVELS), single.ppf(LEVELS), rtol=1e-13)
    assert_allclose(five.logpdf(0.0), single.logpdf(0.0), rtol=1e-13)


def test_interval_is_central(ensemble):
    interval = ensemble.interval(0.8)
    assert_allclose(ensemble.cdf(interval.lower), 0.1, rtol=1e-10)
    assert_allclose(ensemble.cdf(interval.upper), 0.9, rtol=1e-10)


def test_samples_have_the_moments_and_repeat_with_the_seed(ensemble):
    labels = ensemble.sample(20_000, random_state=1)
    assert labels.shape == (20_000, 40)
    error = (labels.mean(axis=0) - ensemble.mean) / (ensemble.std / np.sqrt(20_000))
    assert np.abs(error).max() < 4.5
    uniform = stats.kstest(ensemble.cdf(labels).ravel()[::17], "uniform")
    assert uniform.pvalue > 1e-3
    assert_array_equal(labels, ensemble.sample(20_000, random_state=1))
    assert_array_equal(
        ensemble.sample(2, np.random.RandomState(3)), ensemble.sample(2, np.random.RandomState(3))
    )


def test_contaminated_marginal_is_students_t(single):
    marginal = single.contaminated
    alpha, sigma = single.member_alpha[0], single.member_sigma[0]
    reference = stats.t(2 * alpha, single.mean, np.sqrt(sigma / alpha))
    y = single.mean + np.linspace(-30, 30, 40)
    assert_allclose(marginal.logpdf(y), reference.logpdf(y), rtol=1e-11)
    assert_allclose(marginal.cdf(y), reference.cdf(y), rtol=1e-11)
    q = np.array([0.01, 0.3, 0.9])
    assert_allclose(marginal.ppf(q), reference.ppf(q[:, None]), rtol=1e-9)


def test_contaminated_quantiles_invert_the_distribution(ensemble):
    marginal = ensemble.contaminated
    assert_allclose(marginal.cdf(marginal.ppf(LEVELS[:-1])).T, np.tile(LEVELS[:-1], (40, 1)), rtol=1e-11)
    interval = marginal.interval(0.9)
    assert_allclose(marginal.cdf(interval.upper) - marginal.cdf(interval.lower), 0.9, rtol=1e-10)


def test_quantile_of_a_very_heavy_tail_follows_its_power_law():
    marginal = Prediction.from_student([0.0], alpha=[0.1], sigma=[0.1]).contaminated
    q = np.array([1e-10, 1e-20, 1e-30, 1e-50])
    with mpmath.workdps(30):  # F ≈ c (2α)^(α−½) |y|^(−2α) at unit scale
        a = mpmath.mpf("0.1")
        c = mpmath.gamma(a + 0.5) / mpmath.gamma(a) / mpmath.sqrt(2 * mpmath.pi * a) * (2 * a) ** (a - 0.5)
        expected = [-float((mpmath.mpf(str(p)) / c) ** (-1 / (2 * a))) for p in q]
    assert_allclose(marginal.ppf(q)[:, 0], expected, rtol=1e-10)
    assert marginal.ppf(1e-100)[0] == -np.inf


def test_heavy_tailed_mixture_has_quantiles_too():
    marginal = Prediction.from_student([[0.0], [1.0]], [[0.1], [50.0]], [[0.1], [1.0]]).contaminated
    for q in [1e-20, 1e-3, 1 - 1e-3]:
        assert_allclose(marginal.cdf(marginal.ppf(q)), q, rtol=1e-12)
    assert marginal.ppf(1e-100)[0] == -np.inf


def test_gaussian_models_have_no_students_t():
    prediction = Prediction([1.0], [2.0])
    for name in ("contaminated", "alpha", "student_var", "finite_student_var"):
        with pytest.raises(AttributeError, match="only GCP models"):
            getattr(prediction, name)


def test_slices_masks_lists_and_numbers(ensemble):
    assert_array_equal(ensemble[2:5].mean, ensemble.mean[2:5])
    mask = ensemble.mean > 0
    assert_array_equal(ensemble[mask].student_var, ensemble.student_var[mask])
    assert_array_equal(ensemble[[3, 1]].std, ensemble.std[[3, 1]])
    assert_array_equal(ensemble[-1].ppf(0.3), ensemble.ppf(0.3)[-1:])
    assert len(ensemble[7]) == 1
    assert len(ensemble[np.zeros(40, dtype=bool)]) == 0
    with pytest.raises(IndexError):
        ensemble[40]


def test_an_empty_selection_of_rows_works(ensemble):
    none = ensemble[:0]
    assert none.ppf([0.1, 0.9]).shape == (2, 0)
    assert none.logpdf([]).shape == (0,)
    assert repr(none) == "Prediction of 0 rows, 5 members"


def test_shapes_of_points(ensemble):
    assert ensemble.pdf(0.0).shape == (40,)
    assert ensemble.cdf(np.zeros((3, 40))).shape == (3, 40)
    assert ensemble.contaminated.logpdf(np.zeros((2, 3, 40))).shape == (2, 3, 40)
    assert ensemble[0].pdf(np.linspace(0, 1, 11)).shape == (11,)
    assert ensemble.ppf([[0.1, 0.2]]).shape == (1, 2, 40)
    with pytest.raises(ValueError, match=r"shape \(40, 1\).*40 rows"):
        ensemble.logpdf(np.zeros((40, 1)))


def test_it_cannot_be_changed(ensemble):
    with pytest.raises(AttributeError):
        ensemble.member_mean = np.zeros((5, 40))
    for name in ("mean", "var", "member_var", "alpha", "student_var"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(ensemble, name)[0] = 1.0


def test_it_keeps_its_own_copy():
    m = np.zeros(3)
    prediction = Prediction(m, np.ones(3))
    m[:] = 5
    assert_array_equal(prediction.mean, 0)


def test_it_pickles(ensemble):
    again = pickle.loads(pickle.dumps(ensemble))
    assert_array_equal(again.ppf(0.2), ensemble.ppf(0.2))
    assert_array_equal(again.contaminated.cdf(1.0), ensemble.contaminated.cdf(1.0))


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_to_frame(ensemble, backend):
    pytest.importorskip(backend)
    frame = ensemble.to_frame(backend)
    assert list(frame.columns) == ["mean", "std", "aleatoric_var", "epistemic_var", "student_var", "alpha"]
    assert_array_equal(np.asarray(frame["alpha"]), ensemble.alpha)
    plain = Prediction([1.0], [1.0]).to_frame(backend)
    assert list(plain.columns) == ["mean", "std", "aleatoric_var", "epistemic_var"]


def test_to_frame_names_what_to_install(ensemble, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_frame needs polars.*pip install '\.\[tables\]'"):
        ensemble.to_frame("polars")
    with pytest.raises(ValueError, match="'pandas' or 'polars'"):
        ensemble.to_frame("spark")


def test_repr_is_a_table():
    prediction = Prediction.from_student([10.0, -3.25], [3.0, 0.5], [0.3, 0.1])
    assert repr(prediction).splitlines() == [
        "Prediction of 2 rows, 1 member",
        "row    mean ± std    α",
        "  0  10.000 ± 0.361  3.00",
        "  1  -3.250 ± 0.731  0.500",
    ]


def test_repr_of_many_rows_without_alpha():
    lines = repr(Prediction(np.arange(100) * 1e12, np.full(100, 1e20))).splitlines()
    assert lines[0] == "Prediction of 100 rows, 1 member"
    assert lines[1] == "row       mean ± std"
    assert lines[2] == "  0  0.000e+00 ± 1.000e+10"
    assert lines[-1] == "… 92 more"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [1.0, 1.0]), r"mean has 1 NaN or infinite values \(first at index \(0, 1\): nan\)"),
        (
            ([1.0, 1.0], [1.0, 0.0]),
            r"var has 1 values that are not positive \(first at index \(0, 1\)",
        ),
        (([1.0, 1.0], [1.0]), r"var has shape \(1, 1\) but mean has \(1, 2\)"),
        ((np.zeros((2, 2, 2)), np.ones((2, 2, 2))), r"mean has shape \(2, 2, 2\)"),
        ((["a"], [1.0]), "mean has dtype <U1; give real numbers"),
        ((np.array([1.0, "a"], dtype=object), [1.0, 1.0]), "mean contains a value that is not a number"),
        (([10**400], [1.0]), "mean contains a value that is not a number"),
        (([1j], [1.0]), "mean has dtype complex128"),
        (([[1.0], [1.0, 2.0]], [1.0]), "mean is not a rectangular array"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Prediction(*arguments)


def test_integers_float32_and_object_columns_are_taken():
    for dtype in (np.int8, np.float32, object):
        prediction = Prediction(np.array([1, 2], dtype=dtype), np.array([3, 4], dtype=dtype))
        assert prediction.var.dtype == np.float64
        assert_array_equal(prediction.var, [3, 4])


def test_alpha_and_sigma_belong_together():
    with pytest.raises(ValueError, match="give both"):
        Prediction([1.0], [1.0], alpha=[1.0])
    with pytest.raises(ValueError, match="sigma has 1 values that are not positive"):
        Prediction([1.0], [1.0], alpha=[1.0], sigma=[-1.0])


def test_bad_questions_are_named(ensemble):
    with pytest.raises(ValueError, match="q is"):
        ensemble.ppf([0.5, 1.0])
    with pytest.raises(ValueError, match="coverage is 90"):
        ensemble.interval(90)
    with pytest.raises(ValueError, match="y has 1 NaN values"):
        ensemble.cdf(np.nan)


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(prediction).failed == 0
