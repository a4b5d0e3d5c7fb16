"""An audit in words."""

import numpy as np
import pytest

from levelhead.audits import Audit
from levelhead.audits.presentation import percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0%"),
        (1e-9, "0.0%"),
        (1e-6, "0.0001%"),
        (0.0002, "0.02%"),
        (0.0005, "0.1%"),
        (0.123, "12.3%"),
    ],
)
def test_a_small_share_is_not_written_as_none(share, text):
    assert percent(share) == text


def test_the_share_of_wrong_labels_is_at_least_what_is_flagged():
    """Two labels among 4,000 are ten times too large, which residuals alone hardly show."""
    rng = np.random.default_rng(0)
    mean = rng.uniform(5, 6, 4000)
    y = mean + rng.normal(size=4000)
    y[[3, 70]] = 10 * mean[[3, 70]]
    found = Audit.from_residuals(y, mean, 1.0).by_factors()
    flagged = found.is_label_issue
    assert flagged[[3, 70]].all()
    share = found.p_outlier[flagged].sum() / 4000
    low, high = found.contamination_interval
    assert share <= found.contamination <= high
    assert low <= share
    assert f"About {percent(found.contamination)} look wrong" in found.summary()
    assert "About 0.0%" not in found.summary()


def test_labels_that_are_likely_but_not_certainly_wrong_are_mentioned(exact):
    y = np.clip(np.random.default_rng(0).normal(size=400), -3, 3)
    chances = {}
    for z in np.linspace(3.5, 7, 36):
        y[7] = z
        chances[z] = exact(y).p_outlier[7]
    y[7] = min(chances, key=lambda z: abs(chances[z] - 0.75))
    found = exact(y)
    assert 0.5 < found.p_outlier[7] < 0.95
    rows, rate = found.uncertain
    assert rows.tolist() == [7]
    assert (
        f"1 label is more likely wrong than right; a false-alarm rate of {rate:g} flags it."
        in found.summary()
    )
    assert found.at(rate).issues.tolist() == [7]
    assert "more likely wrong" not in found.at(rate).summary()
