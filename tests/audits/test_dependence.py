"""Rows that belong together: found when residuals agree, silent when they are independent."""

import doctest
from dataclasses import replace

import numpy as np
import pytest

from levelhead.audits import dependence
from levelhead.audits.dependence import find_dependence, shared_levels, time_order


def noise(n=1000, seed=0):
    return np.random.default_rng(seed).standard_t(4, size=n)


def test_independent_rows_are_hardly_ever_reported():
    reported = 0
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        columns = {"level": rng.integers(0, 40, 400), "text": rng.permutation(np.repeat(list("abcd"), 100))}
        z = rng.standard_t(3, size=400)
        z[rng.permutation(400)[:20]] += 10
        reported += bool(find_dependence(z, columns))
    assert reported <= 2  # 3 of 2,400 in a longer run


def test_a_day_of_shifted_hours_is_named():
    z = noise(2000)
    z[1200:1224] += 6
    found = find_dependence(z)
    assert found[0].kind == "run"
    low, high = found[0].rows
    assert abs(low - 1200) <= 6
    assert abs(high - 1223) <= 6
    assert found[0].correlation > 1
    assert f"Rows {low + 1} to {high + 1} lie above" in found[0].text(np.arange(1, 2001))
    assert "--time COLUMN" in found[0].text()


def test_two_days_in_different_directions_are_two_runs():
    z = noise(2000)
    z[300:324] += 6
    z[1500:1524] -= 6
    runs = [finding for finding in find_dependence(z) if finding.kind == "run"]
    assert len(runs) == 2
    assert {finding.correlation > 0 for finding in runs} == {True, False}


def test_neighbours_that_agree_everywhere_are_reported():
    rng = np.random.default_rng(0)
    z = np.convolve(rng.normal(size=1001), [1, 0.7], "valid")
    assert "neighbours" in [finding.kind for finding in find_dependence(z)]
    assert find_dependence(rng.permutation(z)) == []


def test_the_column_whose_rows_agree_is_named():
    rng = np.random.default_rng(0)
    who = rng.permutation(np.repeat(np.arange(150), 8))
    z = rng.normal(size=150)[who] + rng.normal(size=1200)
    columns = {
        "who": who,
        "day": rng.integers(0, 7, 1200),
        "x": rng.normal(size=1200),
        "row": np.arange(1200),
    }
    (found,) = find_dependence(z, columns)
    assert found.column == "who"
    assert found.correlation == pytest.approx(0.5, abs=0.12)
    assert "--group who" in found.text()
    assert "--group 'who it is'" in replace(found, column="who it is").text()


def test_a_few_wrong_labels_in_a_level_are_no_dependence():
    z = noise()
    who = np.arange(1000) % 50
    z[:5] += 100
    assert find_dependence(z, {"who": who}) == []


@pytest.mark.parametrize("z", [np.zeros(100), np.ones(5), []])
def test_nothing_is_said_without_residuals(z):
    assert find_dependence(z, {"a": np.arange(len(z)) % 3}) == []


def test_examples():
    assert doctest.testmod(dependence).failed == 0


def test_a_table_in_the_order_of_time_is_recognised():
    days = np.datetime64("2024-01-01") + np.arange(60).repeat(2)
    text = days.astype(str)
    mixed = np.random.default_rng(0).permutation(text)
    assert time_order({"x": np.arange(120.0), "when": days})[0] == "when"
    assert time_order({"hour": np.tile(["01:00", "13:00"], 60), "day": text})[0] == "day"
    assert time_order({"day": text[::-1]})[0] == "day"
    assert time_order({"day": mixed}) is None
    assert time_order({"day": text[:30]}) is None  # fifteen days
    assert time_order({"number": np.arange(120.0), "name": np.array(list("ab") * 60)}) is None
    assert time_order({}) is None


def test_a_missing_date_is_no_order():
    days = (np.datetime64("2024-01-01") + np.arange(60)).astype("datetime64[ns]")
    days[7] = np.datetime64("NaT", "ns")
    assert time_order({"day": days}) is None


def test_rows_of_one_patient_are_found_by_columns_that_are_equal_in_the_same_rows():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 5)
    height, name = rng.normal(170, 10, 40)[patient], np.array([f"p{k}" for k in rng.permutation(40)])[patient]
    visit, ward = np.tile(np.arange(5), 40), np.array(list("abcd"))[patient % 4]
    names, codes = shared_levels({"visit": visit, "ward": ward, "height": height, "name": name})
    assert set(names) == {"height", "name"}
    assert (codes == patient).all()
    age = rng.integers(20, 70, 200)
    assert shared_levels({"age": age, "age squared": age**2, "x": rng.normal(size=200)}) is None
    assert shared_levels({"height": height, "x": rng.integers(0, 40, 200)}) is None
