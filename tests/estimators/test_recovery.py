"""Data whose truth is known: the mean, the noise and the share of wrong labels are found."""

import numpy as np
import pytest

from levelhead import (
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
    GCPRegressor,
    datasets,
)

pytestmark = pytest.mark.compiled


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


@pytest.mark.parametrize(("rate", "lowest", "highest"), [(0.05, 0.9, 1.15), (0.2, 0.85, 1.3)])
def test_the_papers_synthetic_set(rate, lowest, highest):
    new = datasets.synthetic(1000, 0, random_state=99)
    errors, ratios, shares = [], [], []
    for seed in range(4):
        data = datasets.synthetic(400, rate, random_state=seed)
        fitted = GCPRegressor(random_state=seed).fit(data.X, data.y)
        mean, std = fitted.predict(new.X, return_std=True)
        errors.append(rmse(mean, new.mean))
        ratios.append(np.median(std / new.std))
        shares.append(fitted.contamination_ - data.mask.mean())
    assert np.mean(errors) < 0.09
    assert lowest < np.median(ratios) < highest
    assert abs(np.mean(shares)) < 0.03


@pytest.mark.parametrize(("rate", "lowest", "highest"), [(0.05, 0.85, 1.35), (0.2, 0.85, 1.45)])
def test_noise_that_depends_on_five_features(rate, lowest, highest):
    data = datasets.heteroscedastic(2000, 5, rate, random_state=0)
    new = datasets.heteroscedastic(2000, 5, random_state=1)
    fitted = GCPRegressor(n_members=3, random_state=0).fit(data.X, data.y)
    mean, std = fitted.predict(new.X, return_std=True)
    # Four seeds gave errors of 0.10 to 0.13, ratios of 1.06 to 1.18, correlations above 0.87, coverage of 0.87 to 0.92.
    assert rmse(mean, new.mean) < 0.17
    assert lowest < np.median(std / new.std) < highest
    assert np.corrcoef(std, new.std)[0, 1] > 0.75
    assert fitted.contamination_ == pytest.approx(data.mask.mean(), abs=0.03)
    lower, upper = fitted.predict_interval(new.X, 0.9)
    assert 0.82 < ((new.y >= lower) & (new.y <= upper)).mean() < 0.97


def test_labels_wrong_by_a_million_spreads_cost_next_to_nothing():
    data = datasets.heteroscedastic(800, 3, random_state=0)
    new = datasets.heteroscedastic(2000, 3, random_state=1)
    bad = np.random.default_rng(0).choice(800, 8, replace=False)
    spoilt = data.y.copy()
    spoilt[bad] += 1e6 * data.y.std() * np.where(np.arange(8) % 2, 1, -1)
    fitted = GCPRegressor(n_members=3, random_state=0).fit(data.X, spoilt)
    without = GCPRegressor(n_members=3, random_state=0).fit(np.delete(data.X, bad, 0), np.delete(data.y, bad))
    assert rmse(fitted.predict(new.X), new.y) < 1.05 * rmse(without.predict(new.X), new.y)
    ratio = np.median(fitted.predict_dist(new.X).std / without.predict_dist(new.X).std)
    assert ratio == pytest.approx(1, abs=0.1)
    naive = GaussianRegressor(target_scaling="standard", random_state=0).fit(data.X, spoilt)
    assert rmse(naive.predict(new.X), new.y) > 10 * rmse(fitted.predict(new.X), new.y)


@pytest.mark.parametrize(
    "cls", [GCPRegressor, BetaDivergenceRegressor, GammaDivergenceRegressor, BayesianBetaRegressor]
)
def test_robust_networks_resist_a_cluster_that_bends_the_likelihood(cls):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 1))
    truth = np.sin(3 * X[:, 0])
    y = truth + 0.1 * rng.normal(size=300)
    y[::7] = 6 + 0.1 * rng.normal(size=len(y[::7]))
    settings = {"max_iter": 150, "random_state": 0}
    robust = cls(**settings).fit(X, y)
    assert rmse(robust.predict(X), truth) < 0.25
    bent = GaussianRegressor(**settings).fit(X, y)
    assert rmse(bent.predict(X), truth) > 3 * rmse(robust.predict(X), truth)


def test_clean_labels_are_not_accused():
    data = datasets.heteroscedastic(1000, 3, random_state=3)
    fitted = GCPRegressor(random_state=0).fit(data.X, data.y)
    assert fitted.contamination_ < 0.02
