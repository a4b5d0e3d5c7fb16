"""The share of wrong labels and the variance of the clean ones, from residuals with a known truth."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from levelhead.audits import _known_noise
from levelhead.audits.flags import most_suspect
from levelhead.audits.separation import estimate_contamination
from levelhead.theory.student import prognostic_variance

SCRIPT = Path(__file__).parents[2] / "docs/tables/estimation_bias.py"


@pytest.fixture(scope="module")
def simulation():
    """The script that measures the biases for the manual, as a module."""
    spec = importlib.util.spec_from_file_location("estimation_bias", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MEASURED = {  # largest bias of the fitted variance, and of ε̂, that is granted at ε = 0, 0.01, 0.05, 0.2
    "Gaussian, sd 10": (0.05, (0.004, 0.004, 0.006, 0.02)),
    "uniform, −8 to 32": (0.05, (0.004, 0.004, 0.006, 0.02)),
    "Student, 2 dof, scale 5": (0.10, (0.004, 0.006, 0.015, 0.05)),
    "cluster at 8, sd 0.5": (0.05, (0.004, 0.004, 0.004, 0.004)),
    "near cluster at 5, sd 1": (0.12, (0.004, 0.015, 0.045, 0.09)),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1000, 10_000])
@pytest.mark.parametrize("kind", MEASURED)
def test_biases_by_simulation(simulation, kind, n):
    of_variance, of_epsilon = MEASURED[kind]
    draws = {200: 40, 1000: 20, 10_000: 6}[n]
    for share, granted in zip(simulation.SHARES, of_epsilon, strict=True):
        row = simulation.measure(kind, n, share, draws)
        noise = 3 / np.sqrt(draws)
        assert abs(row["ε̂ − ε"]) < granted + noise * row["sd of ε̂ − ε"], (share, row)
        assert abs(row["fitted"]) < of_variance + noise * 1.6 / np.sqrt(n), (share, row)
        if share == 0:
            assert row["ε̂ − ε"] < 0.01


def test_the_gradient_of_the_penalised_likelihood():
    rng = np.random.default_rng(2)
    fit = _known_noise._Fit(np.abs(np.append(rng.normal(size=180), rng.uniform(-8, 32, 20))), 1.0, None)
    fit.bin(5.0)
    at = np.array([0.1, -2.0, 0.5, 1.3])
    steps = 1e-5 * np.eye(4)
    slopes = [(fit.penalised(at + step)[0] - fit.penalised(at - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(fit.penalised(at)[1], slopes, rtol=1e-5)


def test_clean_labels_stay_clean():
    """At ε = 0 and n = 1,000 no draw may invent more than one per cent of outliers."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        estimate = estimate_contamination(rng.normal(size=1000), 1.0)
        assert estimate.contamination <= 0.01


def test_standard_error_covers_the_truth(simulation):
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(60):
        y, _ = simulation.draw(rng, "Gaussian, sd 10", 1000, 0.1)
        fitted = simulation.fit(y)
        estimate = estimate_contamination(y - fitted.m, prognostic_variance(fitted.alpha, fitted.sigma))
        errors.append((estimate.contamination - 0.1) / estimate.standard_error)
    assert 0.6 < np.std(errors) < 1.2


def test_posterior_probability_is_calibrated(simulation):
    """Among labels given a probability near p, a share near p is wrong, also where both overlap."""
    rng = np.random.default_rng(8)
    n, share = 40_000, 0.2
    y, epsilon = simulation.draw(rng, "Gaussian, sd 10", n, share)
    wrong = np.arange(n) < epsilon * n
    fitted = simulation.fit(y)
    z = y - fitted.m
    variance = prognostic_variance(fitted.alpha, fitted.sigma)
    p = estimate_contamination(z, variance).probability(z, variance)
    assert p.sum() / n == pytest.approx(share, abs=0.01)
    for low, high in [(0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)]:
        group = (p >= low) & (p < high)
        assert group.sum() > 100
        assert wrong[group].mean() == pytest.approx(p[group].mean(), abs=0.05)


def test_estimate_uses_the_local_variance():
    """Noise that depends on x must not look like wrong labels once it is divided out."""
    rng = np.random.default_rng(2)
    scale = np.exp(rng.normal(size=5000))
    z = scale * rng.normal(size=5000)
    known = estimate_contamination(z, scale**2)
    unknown = estimate_contamination(z, scale.mean() ** 2)
    assert known.contamination < 0.01
    assert known.variance_ratio == pytest.approx(1, abs=0.05)
    assert unknown.contamination > 0.05


def test_estimate_is_equivariant_and_repeatable():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=950), rng.uniform(-20, 40, 50)])
    one = estimate_contamination(z, 1.1)
    other = estimate_contamination(1e6 * z[::-1], 1.1e12)
    assert other.contamination == pytest.approx(one.contamination, rel=1e-5)
    assert other.variance_ratio == pytest.approx(one.variance_ratio, rel=1e-5)


def test_known_epsilon_is_kept():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=900), rng.normal(0, 10, 100)])
    estimate = estimate_contamination(z, 1.1, contamination=0.1)
    assert estimate.contamination == pytest.approx(0.1)
    assert estimate.standard_error == 0
    assert 1.1 * estimate.variance_ratio == pytest.approx(1, abs=0.12)
    # The larger the share is said to be, the narrower is what is left for clean labels.
    shares = (0.0, 0.1, 0.3)
    ratios = [estimate_contamination(z, 1.1, contamination=share).variance_ratio for share in shares]
    assert ratios[0] > 2.2 * ratios[1] > 2.3 * ratios[2]


def test_absurd_labels_do_no_harm():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=990), np.full(10, 1e300)])
    estimate = estimate_contamination(z, 1.1)
    assert estimate.contamination == pytest.approx(0.01, abs=0.004)
    p = estimate.probability(z, 1.1)
    assert (p[-10:] == 1).all()
    assert np.isfinite(p).all()


@pytest.mark.parametrize(
    ("z", "options", "message"),
    [
        (np.zeros(5), {}, "5 residuals are too few"),
        (np.zeros(50), {}, "exactly 0"),
        ([np.nan] * 2 + [1.0] * 20, {}, "2 residuals are not finite"),
        (np.ones(20), {"contamination": 1.5}, r"contamination is 1\.5"),
        (np.ones(20), {"core": "cauchy"}, "choose 'gaussian' or 'student'"),
    ],
)
def test_hopeless_residuals_are_refused(z, options, message):
    with pytest.raises(ValueError, match=message):
        estimate_contamination(z, 1.0, **options)


def test_variance_must_be_positive():
    with pytest.raises(ValueError, match="variance must be positive"):
        estimate_contamination(np.ones(20), np.zeros(20))


@pytest.mark.parametrize("core", ["gaussian", "student"])
def test_a_far_label_is_suspect_although_no_other_was_found_wrong(core):
    clean = norm.ppf((np.arange(400) + 0.5) / 400)
    estimate = estimate_contamination(clean, np.ones(400), core=core)
    assert estimate.contamination < 0.005
    assert estimate.standard_error > 0.5 / 400  # none found is not "surely none"
    assert estimate.probability([5.0], [1.0])[0] > 0.8
    assert estimate.probability([1.0], [1.0])[0] < 0.01


def test_student_core_forgives_heavy_tails():
    """Clean noise with five degrees of freedom is no reason to call labels wrong; far ones still are."""
    rng = np.random.default_rng(6)
    clean = rng.standard_t(5, size=4000)
    z = np.concatenate([clean, rng.normal(0, 40, 200)])
    strict = estimate_contamination(z, 1.0)
    lenient = estimate_contamination(z, 1.0, core="student")
    assert strict.contamination > 0.06
    assert lenient.contamination == pytest.approx(200 / 4200, abs=0.01)
    assert 0.1 < lenient.tail < 0.32
    assert lenient.variance_ratio == pytest.approx(5 / 3, rel=0.15)
    assert estimate_contamination(clean, 1.0, core="student").contamination < 0.005


def test_student_core_is_gaussian_on_gaussian_noise():
    rng = np.random.default_rng(9)
    for _ in range(5):
        estimate = estimate_contamination(rng.normal(size=1000), 1.0, core="student")
        assert estimate.tail < 0.15
        assert estimate.contamination <= 0.01
        assert estimate.variance_ratio == pytest.approx(1, abs=0.2)


def flagged(z, estimate):
    return most_suspect(estimate.probability(z, 1.0), 0.05)


@pytest.mark.parametrize("shape", [0.5, 0.8])
def test_skewed_noise_is_no_wrong_label(shape):
    rng = np.random.default_rng(3)
    for _ in range(3):
        noise = rng.lognormal(0, shape, 2000)
        z = noise - noise.mean()
        assert not flagged(z, estimate_contamination(z, 1.0, core="student")).any()


@pytest.mark.parametrize("side", [-1, 1])
def test_errors_on_one_side_are_found_on_this_side(side):
    rng = np.random.default_rng(3)
    z = rng.normal(size=2000)
    z[:200] = side * rng.uniform(4, 8, 200)
    estimate = estimate_contamination(z, 1.0, core="student")
    verdict = flagged(z, estimate)
    assert verdict[:200].mean() > 0.85
    assert verdict[200:].sum() < 0.1 * verdict.sum()
    assert estimate.standing_out == pytest.approx(0.1, abs=0.015)
    low, high = estimate.standing_out_interval
    assert low < 0.1 < high
    wrong_side, other_side = estimate.log_odds([side * 4.2, -side * 4.2], 1.0)
    assert wrong_side > other_side


def test_odds_rise_outwards_and_beyond_the_bins():
    rng = np.random.default_rng(3)
    z = np.concatenate([rng.normal(size=1000), rng.normal(8, 0.5, 50)])
    estimate = estimate_contamination(z, 1.0, core="student")
    out = np.array([5.0, 8.0, 12.0, 40.0, 100.0, 1e4, 1e200])
    for side in (-1, 1):
        odds = estimate.log_odds(side * out, 1.0)
        assert (np.diff(odds) >= 0).all()
        assert (np.diff(odds[-3:]) > 0).all()
        assert np.isfinite(odds).all()
    assert estimate.probability(1e200, 1.0) == 1


@pytest.mark.parametrize("side", [-1, 1])
def test_odds_do_not_fall_behind_a_cluster(side):
    """Behind a narrow cluster of wrong labels there are fewer of them, but clean labels are not likelier there."""
    rng = np.random.default_rng(3)
    z = np.concatenate([rng.standard_t(2, size=1000), rng.normal(6, 0.2, 60)])
    estimate = estimate_contamination(side * z, 1.0, core="student")
    odds = estimate.log_odds(side * np.linspace(2, 30, 400), 1.0)
    assert (np.diff(odds) >= 0).all()
    assert odds[-1] > 0


def test_noise_is_the_same_in_other_units_and_in_the_mirror():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.gamma(2, size=950), rng.uniform(10, 40, 50)])
    one = estimate_contamination(z, 1.0, core="student")
    other = estimate_contamination(-1e6 * z[::-1], 1e12, core="student")
    assert other.contamination == pytest.approx(one.contamination, rel=0.02)
    assert other.variance_ratio == pytest.approx(one.variance_ratio, rel=0.02)


def test_odds_do_not_depend_on_a_common_shift():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=950), rng.uniform(5, 40, 50)])
    plain, moved = (estimate_contamination(z + shift, 1.0, core="student") for shift in (0.0, 20.0))
    np.testing.assert_allclose(moved.log_odds(z + 20, 1.0), plain.log_odds(z, 1.0), atol=0.1)


def test_a_given_share_is_kept_whatever_the_noise():
    rng = np.random.default_rng(4)
    z = np.concatenate([rng.normal(size=900), rng.normal(0, 10, 100)])
    fits = [estimate_contamination(z, 1.0, contamination=c, core="student") for c in (0.0, 0.1, 0.3)]
    assert [fit.contamination for fit in fits] == [0.0, 0.1, 0.3]
    assert all(fit.standard_error == 0 for fit in fits)
    assert fits[0].variance_ratio > 1.5 * fits[1].variance_ratio > 1.5 * fits[2].variance_ratio


def test_more_wrong_labels_than_clean_ones_are_not_passed_over():
    rng = np.random.default_rng(4)
    z = np.where(rng.random(2000) < 0.6, rng.normal(0, 15, 2000), rng.normal(size=2000))
    estimate = estimate_contamination(z, 1.0, core="student")
    assert estimate.contamination > 0.4
    assert not estimate.reliable


def test_rounded_labels_are_no_misfit():
    """Most flights agree to the minute: spikes near 0 say nothing against the shape of the residuals."""
    rng = np.random.default_rng(0)
    z = np.r_[np.round(rng.normal(0, 2.5, 1500)) + 0.3 * rng.normal(size=1500), rng.uniform(20, 200, 80)]
    assert estimate_contamination(z, 1.0, core="student").reliable


def test_three_groups_that_no_input_separates_are_a_misfit():
    rng = np.random.default_rng(0)
    z = 0.5 * rng.normal(size=2000) + rng.choice([-3.0, 0.0, 3.0], 2000, p=[0.3, 0.4, 0.3])
    assert "no shape" in " ".join(estimate_contamination(z, 1.0, core="student").warnings)


@pytest.mark.parametrize(("n", "draws"), [(200, 40), (1000, 12)])
def test_probabilities_mean_what_they_say(n, draws):
    """Pooled over shares and kinds of errors: of labels with a probability near one half, about half are wrong."""
    rng = np.random.default_rng(7)
    total, said, wrong_there = 0, 0.0, 0
    for k in range(draws):
        wrong = rng.random(n) < (0.05, 0.2)[k % 2]
        z = np.where(
            wrong, rng.normal(0, 10, n) if k % 4 < 2 else rng.normal(8, 1.5, n), rng.standard_t(5, n)
        )
        p = estimate_contamination(z, 1.0, core="student").probability(z, 1.0)
        middle = (p > 0.2) & (p < 0.8)
        total, said, wrong_there = (
            total + middle.sum(),
            said + p[middle].sum(),
            wrong_there + wrong[middle].sum(),
        )
    assert total > 60
    assert abs(wrong_there - said) / total < 0.15


@pytest.mark.parametrize("n", [1000, 5000])
def test_what_may_be_noise_or_errors_widens_the_share_in_all(n):
    """Clean heavy tails are no errors; but nothing excludes that they are, and the interval says so."""
    rng = np.random.default_rng(0)
    normal = estimate_contamination(rng.normal(size=n), 1.0, core="student")
    heavy = estimate_contamination(rng.standard_t(3, n), 1.0, core="student")
    assert normal.contamination_interval[0] == heavy.contamination_interval[0] == 0
    assert normal.contamination_interval[1] < 0.03 < heavy.contamination_interval[1] < 0.2
    assert heavy.standing_out_interval[0] == 0


def test_the_interval_of_the_standing_out_share_keeps_the_error_of_the_shape_of_the_noise():
    """Swapped labels among Laplace noise: no family has just this shape, and the interval must hold the truth."""
    rng = np.random.default_rng(1)
    widths = {}
    for n in (5000, 80_000):
        r = rng.laplace(size=n) / np.sqrt(2)
        wrong = np.arange(n) < 0.2 * n
        r[wrong] += 4.2 * rng.normal(size=wrong.sum())
        low, high = estimate_contamination(r, 1.0, core="student").standing_out_interval
        widths[n] = high - low
    assert widths[80_000] > widths[5000] / 2  # without that error it would be a quarter
