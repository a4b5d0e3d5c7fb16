"""Segments: planted ones are found and described, and tables without any have none."""

import numpy as np
import pytest

from levelhead.audits import Audit, Segment, find_segments

N = 1200
NOISES = {
    "normal": lambda rng: rng.normal(size=N),
    "t3": lambda rng: rng.standard_t(3, N) / np.sqrt(3),
    "lognormal": lambda rng: (np.exp(0.8 * rng.normal(size=N)) - np.exp(0.32)) / 1.30,
}


def table(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "area": rng.normal(60, 10, N),
        "sensor": rng.integers(0, 15, N).astype(str),
        "day": np.datetime64("2004-01-01") + np.arange(N) // 4,
        "kind": rng.choice(["a", "b", "c"], N),
        "site": rng.choice(["x", "y", "z"], N),
    }


def overlap(segment: Segment, rows: np.ndarray) -> float:
    return len(np.intersect1d(segment.rows, rows)) / len(np.union1d(segment.rows, rows))


@pytest.mark.parametrize("noise", NOISES)
def test_tables_without_segments_have_none(noise, exact) -> None:
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found.append(bool(find_segments(exact(NOISES[noise](rng)), table(rng))))
    assert sum(found) <= 4  # 5 % of 30 tables; more than four has a probability of 1.6 %


@pytest.mark.parametrize("noise", NOISES)
def test_a_shift_of_one_standard_deviation_is_found_in_a_day_or_a_sensor(noise, exact) -> None:
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        columns, y = table(rng), NOISES[noise](rng)
        start = int(rng.integers(0, N - 100))
        rows = np.flatnonzero(columns["sensor"] == "7") if seed % 2 else np.arange(start, start + 80)
        y[rows] += 1.0 if seed % 3 else -1.0
        segments = find_segments(exact(y), columns)
        found += any(overlap(segment, rows) > 0.5 for segment in segments)
        assert len(segments) <= 2
    assert found >= 8


def test_a_category_is_described_in_words(exact) -> None:
    rng = np.random.default_rng(0)
    columns = table(rng)
    mean = rng.uniform(0, 100, N)
    y = mean + 12.0 * rng.normal(size=N)
    y[columns["sensor"] == "7"] += 24
    (segment,) = find_segments(exact(y, mean, 12.0), columns)
    assert (segment.where, segment.columns) == ("sensor = 7", ("sensor",))
    assert segment.is_shifted
    assert segment.shift == pytest.approx(24, abs=6)
    assert segment.shift_in_std == pytest.approx(2, abs=0.5)
    assert segment.p_value < 1e-6
    assert f"{len(segment.rows)} rows with sensor = 7 are about" in segment.text
    assert "too high (2." in segment.text or "too high (1." in segment.text
    assert segment.to_dict()["n_rows"] == (columns["sensor"] == "7").sum()


def test_a_few_days_hold_most_suspects(exact) -> None:
    rng = np.random.default_rng(0)
    columns, y = table(rng), rng.normal(size=N)
    days = (columns["day"] >= np.datetime64("2004-04-04")) & (columns["day"] <= np.datetime64("2004-04-08"))
    rows = np.flatnonzero(days)
    y[rows[: len(rows) * 3 // 4]] += 9.0 * rng.choice([-1, 1], len(rows) * 3 // 4)  # to both sides: no shift
    (segment,) = find_segments(exact(y), columns)
    assert segment.is_dense
    assert not segment.is_shifted
    assert segment.columns == ("day",)
    assert "April 2004" in segment.where
    assert segment.text.startswith(
        f"{segment.suspects} of {segment.all_suspects} doubtful labels are in the "
    )
    assert segment.suspects >= len(rows) * 3 // 4


def test_dates_as_text_and_pairs_of_categories(exact) -> None:
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = table(rng)
    columns["day"] = columns["day"].astype(str).astype(object)
    y = rng.normal(size=N)
    pair = (columns["kind"] == "b") & (columns["site"] == "z")
    y[pair] += 1.5
    assert [segment.where for segment in find_segments(exact(y), columns)] == ["kind = b and site = z"]
    y = rng.normal(size=N)
    y[400:480] -= 2.0
    (segment,) = find_segments(exact(y), columns)
    assert segment.where == "day from 10 to 29 April 2004"


def test_rows_in_order_are_named_by_their_numbers(exact) -> None:
    y = np.random.default_rng(0).normal(size=N)
    y[300:360] += 2.5
    (segment,) = find_segments(exact(y), rows=np.arange(N) + 1001)
    assert segment.columns == ()
    low, high = (int(word) for word in segment.where.removeprefix("rows ").split(" to "))
    assert abs(low - 1301) <= 4
    assert abs(high - 1360) <= 4


def test_missing_cells_and_single_numbers_are_segments(exact) -> None:
    rng = np.random.default_rng(0)
    y, grade, age = rng.normal(size=N), rng.integers(1, 30, N).astype(float), rng.normal(size=N)
    y[grade == 7] += 2.0
    age[::15] = np.nan
    y[::15] -= 2.0
    found = find_segments(exact(y), {"grade": grade, "age": age})
    assert sorted(segment.where for segment in found) == ["age missing", "grade = 7"]


def test_residuals_that_agree_everywhere_are_no_segment(exact) -> None:
    """A model that is a little off in every region has no special region."""
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        drift = np.repeat(rng.normal(0, 0.6, N // 12), 12)
        hits += bool(find_segments(exact(drift + 0.8 * rng.normal(size=N))))
    assert hits <= 2


def test_repeated_rows_count_once(exact) -> None:
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=N), rng.normal(size=N)
    y[100:140], x[100:140] = 2.4, 0.3
    assert find_segments(exact(y), {"x": x}) == []


def test_the_same_rows_are_described_once(exact) -> None:
    rng = np.random.default_rng(0)
    y, sensor = rng.normal(size=N), np.repeat(np.arange(15).astype(str), 80)
    y[sensor == "7"] += 2
    (segment,) = find_segments(exact(y), {"sensor": sensor, "time": np.arange(N) * 0.5})
    assert segment.where == "sensor = 7"


def test_a_table_of_other_length_is_refused(exact) -> None:
    audit = exact(np.random.default_rng(0).normal(size=N))
    with pytest.raises(ValueError, match="column 'x' has 3 rows, but there are 1200 labels"):
        find_segments(audit, {"x": [1, 2, 3]})
    with pytest.raises(ValueError, match="give one number for each of 1200 labels"):
        find_segments(audit, rows=[1, 2])


def test_a_shift_that_the_model_has_learnt_is_found_where_other_levels_have_no_effect(exact):
    """The predictions follow sensor 7, so that its residuals are like all others."""
    rng = np.random.default_rng(0)
    x, sensor = rng.normal(size=N), rng.integers(0, 12, N)
    shift = np.where(sensor == 7, 1.0, 0.0)
    y = 2 * x + shift + rng.normal(size=N)
    columns = {"x": x, "sensor": np.array([f"s{k}" for k in sensor])}
    audit = exact(y, 2 * x + shift)
    assert find_segments(audit, columns) == []
    (segment,) = find_segments(audit, columns, inputs=["x", "sensor"])
    assert segment.where == "sensor = s7"
    assert segment.is_learnt
    assert segment.shift_in_std == pytest.approx(1, abs=0.3)
    assert "it may be a true effect" in segment.text
    effects = rng.normal(size=12)[sensor]
    unlike = exact(2 * x + effects + rng.normal(size=N), 2 * x + effects)
    assert find_segments(unlike, columns, inputs=["x", "sensor"]) == []


def test_codes_for_missing_labels_are_no_shift():
    rng = np.random.default_rng(0)
    y = rng.normal(20, 1, N)
    y[:20] = -200
    audit = Audit.from_residuals(y, np.full(N, 20.0), 1.0)
    assert audit.is_code.sum() == 20
    assert not any(segment.is_shifted for segment in find_segments(audit))
