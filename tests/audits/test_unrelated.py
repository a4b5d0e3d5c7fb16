"""Most labels wrong: the audit must say so, and must not say so of tables that are merely noisy."""

import numpy as np
import pytest

from levelhead.audits import Audit, _unrelated
from levelhead.audits._unrelated import unrelated_limit, unrelated_share


def attenuated(wrong_share, n=1000, seed=0, levels=None):
    """Labels of which a share are those of other rows, and predictions drawn towards the middle by as much."""
    rng = np.random.default_rng(seed)
    signal = rng.uniform(-3, 3, n)
    y = signal + 0.2 * rng.normal(size=n)
    if levels:
        y = np.round(y * levels / 6) * 6 / levels
    wrong = rng.random(n) < wrong_share
    y[wrong] = rng.permutation(y)[wrong]
    return y, (1 - wrong_share) * signal, wrong


@pytest.mark.parametrize("levels", [None, 12])
@pytest.mark.parametrize("seed", range(3))
def test_sixty_percent_wrong_labels_are_reported(seed, levels):
    y, mean, _ = attenuated(0.6, seed=seed, levels=levels)
    audit = Audit.from_residuals(y, mean, 1.0)
    assert audit.unrelated == pytest.approx(0.6, abs=0.12)
    assert not audit.reliable
    assert "look like labels of other rows" in audit.summary().splitlines()[0]
    assert audit.contamination > 0.45
    assert audit.contamination_interval[1] > 0.45


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("levels", [None, 6])
def test_noisy_labels_are_not_unrelated(noise, levels):
    rng = np.random.default_rng(4)
    for draw in (rng.standard_normal, lambda n: rng.standard_t(4, n), lambda n: rng.exponential(size=n) - 1):
        signal = rng.normal(size=1000)
        y = signal + noise * draw(1000)
        if levels:
            y = np.round(y * levels / 4) * 4 / levels
        assert unrelated_share(y, signal, np.full(1000, noise)) < 1 / 3


def test_few_labels_and_constant_predictions_say_nothing():
    y, mean, _ = attenuated(0.6, n=60)
    assert unrelated_share(y, mean, np.ones(60)) == 0
    assert unrelated_share(np.arange(200.0), np.zeros(200), np.ones(200)) == 0
    assert unrelated_share(np.zeros(200), np.arange(200.0), np.ones(200)) < 1 / 3


def test_many_labels_are_looked_at_in_part_and_in_any_order(monkeypatch):
    y, mean, _ = attenuated(0.6, n=4000)
    whole = unrelated_share(y, mean, np.ones(4000))
    monkeypatch.setattr(_unrelated, "_MOST_ROWS", 1500)
    part = unrelated_share(y, mean, np.ones(4000))
    assert part == pytest.approx(whole, abs=0.05)
    order = np.random.default_rng(1).permutation(4000)
    assert unrelated_share(y[order], mean[order], np.ones(4000)) == pytest.approx(part, abs=1e-9)


@pytest.mark.parametrize("noise", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_the_limit_of_what_could_hide_covers_exchanged_labels(noise, share):
    rng = np.random.default_rng(7)
    signal = rng.normal(size=2000)
    y = signal + noise * rng.normal(size=2000)
    wrong = rng.random(2000) < share
    y[wrong] = rng.permutation(y)[wrong]
    limit = unrelated_limit(y, signal, np.full(2000, noise))
    assert share <= limit < share + {0.2: 0.03, 1.0: 0.3, 2.0: 0.9}[noise]
    audit = Audit.from_residuals(y, signal, noise**2)
    low, high = audit.contamination_interval
    assert low <= share <= high


def test_inputs_that_predict_little_are_named():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=1000)
    y = signal + 3 * rng.normal(size=1000)
    audit = Audit.from_residuals(y, signal, 9.0)
    assert audit.contamination_interval[1] == audit.unrelated_limit > 1 / 3
    assert "could be those of other rows" in audit.summary()
    assert unrelated_limit(y, np.zeros(1000), np.ones(1000)) == 0
    other = Audit.from_residuals(y[:500], signal[:500], 9.0, separation=audit.separation)
    assert other.unrelated_limit == 0  # the share is that of other rows
