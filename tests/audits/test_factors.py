"""Labels that are a power of ten times too large or too small."""

import numpy as np
import pytest

from levelhead.audits import Audit
from levelhead.audits._bins import count
from levelhead.prediction.transforms import LogTransform


def strengths(seed: int, freedom: float = 3.0):
    """1,500 labels whose noise has heavy tails; 24 of them are ten times too large or too small."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(10, 80, 1500)
    y = mean + 3 * rng.standard_t(freedom, 1500)
    wrong = np.arange(1500) < 24
    y[wrong] *= np.where(np.arange(24) % 2, 10.0, 0.1)
    return y, mean, wrong


def test_labels_off_by_ten_are_found_among_heavy_tails():
    found, before, false = 0, 0, 0
    for seed in range(4):
        y, mean, wrong = strengths(seed)
        alone = Audit.from_residuals(y, mean, 9.0)
        result = alone.by_factors()
        before += int(alone.is_label_issue[wrong].sum())
        found += int(result.is_label_issue[wrong].sum())
        false += int(result.is_label_issue[~wrong].sum())
        assert result.separation.n == 1500
        low, high = result.standing_out_interval
        assert low > alone.standing_out_interval[0]
        assert low <= 24 / 1500 < high + 0.005
    assert found > before + 10
    assert found >= 85  # of 96
    assert false <= 0.2 * found


def test_a_factor_of_ten_is_a_shift_on_a_log_scale():
    rng = np.random.default_rng(0)
    mean = rng.normal(11, 0.6, 1500)
    y = np.exp(mean + 0.3 * rng.normal(size=1500))
    wrong = np.arange(1500) < 24
    y[wrong] *= np.where(np.arange(24) % 2, 10.0, 0.1)
    result = Audit.from_residuals(y, mean, 0.09, transform=LogTransform.of(y)).by_factors()
    np.testing.assert_array_equal(result.is_label_issue, wrong)


def test_negative_labels_and_higher_powers():
    rng = np.random.default_rng(1)
    mean = rng.uniform(-50, 50, 1000)
    y = mean + rng.standard_t(4, 1000)
    wrong = np.arange(1000) < 12
    y[wrong] *= 10.0 ** np.array([1, 1, 1, 1, 2, 2, 3, 3, -1, -1, -1, -1])
    far = wrong & (np.abs(mean) > 15)
    result = Audit.from_residuals(y, mean, 1.0).by_factors()
    assert result.is_label_issue[far].all()
    assert wrong[result.is_label_issue].mean() > 0.7


@pytest.mark.parametrize("kind", ["clean", "anywhere", "one"])
def test_other_labels_are_judged_as_before(kind):
    y, mean, wrong = strengths(5, freedom=4)
    y = np.where(wrong, mean, y)
    if kind == "anywhere":
        y[wrong] = np.random.default_rng(2).uniform(-100, 200, 24)
    if kind == "one":
        y[0] = 10 * mean[0]
    audit = Audit.from_residuals(y, mean, 9.0)
    assert audit.by_factors() is audit


def test_codes_remarks_and_names_of_rows_survive():
    y, mean, wrong = strengths(6, freedom=8)
    y[100:130] = -200.0
    audit = Audit.from_residuals(y, mean, 9.0, index=np.arange(1500) + 7).with_remarks("A remark.")
    result = audit.by_factors()
    assert result is not audit
    assert result.is_code.sum() == 30
    assert result.is_label_issue[wrong].mean() > 0.9
    assert result.remarks == ("A remark.",)
    assert result.index[0] == 7
    assert result.separation.n == 1470
    assert (
        50 / 1500 < result.standing_out < 62 / 1500
    )  # 54 labels are codes or off by ten, and each counts once


def test_a_separation_of_other_rows_is_kept():
    y, mean, _ = strengths(7)
    audit = Audit.from_residuals(y, mean, 9.0)
    part = Audit.from_residuals(y[:700], mean[:700], 9.0, separation=audit.separation)
    assert part.by_factors() is part


def test_weights_of_one_count_as_no_weights():
    r = np.append(np.random.default_rng(8).normal(size=500), [100.0, -70.0])
    plain, weighted = count(r), count(r, np.ones(502))
    np.testing.assert_array_equal(plain.counts, weighted.counts)
    assert (plain.center, plain.width, plain.far, plain.n) == (weighted.center, weighted.width, 2, 502)
    halves = count(r, np.full(502, 0.5))
    np.testing.assert_array_equal(halves.counts, 0.5 * plain.counts)
    assert (halves.n, halves.far) == (251, 1)
