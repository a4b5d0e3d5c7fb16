"""Audits that are corrected for gaps in the inputs, and for wrong labels that gather in groups."""

import numpy as np
import pytest

from levelhead.audits import Audit
from levelhead.audits.separation import estimate_contamination


def test_missing_cells_change_neither_alpha_nor_level():
    rng = np.random.default_rng(0)
    y, alpha = rng.normal(size=300), rng.uniform(1, 2, 300)
    audit = Audit.from_residuals(y, np.zeros(300), np.ones(300), alpha=alpha, false_alarm_rate=0.2)
    allowed = audit.allowing_for(rng.random((300, 2)) < 0.2)
    assert not np.array_equal(allowed.std, audit.std)
    np.testing.assert_array_equal(allowed.alpha, alpha)
    assert allowed.false_alarm_rate == 0.2


def test_without_gaps_nothing_changes():
    y = np.random.default_rng(0).normal(size=300)
    result = Audit.from_residuals(y, np.zeros(300), np.ones(300))
    assert result.allowing_for(np.zeros((len(result), 3), dtype=bool)) is result
    assert result.allowing_for(np.zeros((len(result), 0))) is result


def test_a_known_share_stays_known():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    y[:25] += 30
    separation = estimate_contamination(y, np.ones(500), contamination=0.05)
    audit = Audit.from_residuals(y, np.zeros(500), np.ones(500), separation=separation)
    assert audit.allowing_for(np.arange(500)[:, None] % 10 == 0).contamination == 0.05


@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_wrong_labels_that_gather_in_groups_support_each_other(correlation):
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(150), 8)
    agreed = np.sqrt(correlation) * rng.normal(size=150)[group]
    clean = agreed + np.sqrt(1 - correlation) * rng.normal(size=1200)
    wrong = group % 12 == 0
    spoilt = np.where(wrong, clean + 4, clean)
    alone = Audit.from_residuals(spoilt, np.zeros(1200), 1.0)
    together = alone.by_groups([f"patient {number}" for number in group])
    assert together.is_label_issue[wrong].mean() > 0.9
    assert wrong[together.is_label_issue].mean() > 0.9
    assert together.is_label_issue[wrong].mean() > alone.is_label_issue[wrong].mean()
    assert "of 150 groups most labels look wrong" in together.summary()
    untouched = Audit.from_residuals(clean, np.zeros(1200), 1.0)
    assert untouched.by_groups(group) is untouched


def test_wrong_labels_here_and_there_do_not_support_each_other():
    rng = np.random.default_rng(3)
    y = rng.normal(size=1200)
    y[rng.choice(1200, 80, replace=False)] += 5
    audit = Audit.from_residuals(y, np.zeros(1200), 1.0)
    assert audit.by_groups(np.repeat(np.arange(150), 8)) is audit
    assert audit.by_groups(np.arange(1200)) is audit
    with pytest.raises(ValueError, match=r"groups has shape \(3,\); give one entry for each of 1200 labels"):
        audit.by_groups([1, 2, 3])
