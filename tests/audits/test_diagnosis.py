"""The kind of each planted error is named, and the label is repaired."""

import numpy as np
import pytest

from levelhead.audits import Audit, diagnose, find_segments
from levelhead.audits._digits import resolution, transpositions
from levelhead.prediction.transforms import LogTransform

N = 1000
BAD = np.arange(20, 980, 48)  # 20 rows


def labels(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Labels from 40 to 200 with a noise of 1, in steps of 0.1, and their means."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(40, 200, N)
    return np.round(mean + rng.normal(size=N), 1), mean, rng


ERRORS = {
    "factor of ten": lambda y, rng: y * 10.0 ** rng.choice([-1, 1, 2], len(y)),
    "other unit": lambda y, rng: y / 2.54,
    "sign": lambda y, rng: -y,
    "missing code": lambda y, rng: np.full(len(y), -999.0),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_one_kind_is_named_and_repaired(kind, exact) -> None:
    y, mean, rng = labels()
    wrong = y.copy()
    wrong[BAD] = ERRORS[kind](y[BAD], rng)
    found = diagnose(exact(wrong, mean))
    named = found.kind == kind
    assert np.isin(BAD, found.rows[named]).all()
    assert found.counts[kind] <= len(BAD) + 1
    assert found.frequency[kind] > 0.7
    repaired = dict(zip(found.rows.tolist(), found.repaired.tolist(), strict=True))
    tolerance = 4.0 if kind == "missing code" else 1e-6
    assert [repaired[row] for row in BAD] == pytest.approx(y[BAD].tolist(), abs=tolerance)
    assert (found.probability[named] > 0.8).all()


def test_years_are_distinguished_from_a_zero_too_many(exact) -> None:
    y, mean, _ = labels()
    wrong = y.copy()
    yearly, tenfold = BAD[::2], BAD[1::2]
    wrong[yearly], wrong[tenfold] = 12 * y[yearly], 10 * y[tenfold]
    found = diagnose(exact(wrong, mean))
    said = dict(zip(found.rows.tolist(), zip(found.kind, found.detail, strict=True), strict=True))
    assert {said[row] for row in yearly.tolist()} == {("other unit", "months and years")}
    assert {said[row][0] for row in tenfold.tolist()} == {"factor of ten"}
    assert (
        diagnose(exact(np.where(np.isin(np.arange(N), BAD), y / 60, y), mean)).detail[0]
        == "minutes and hours"
    )


def test_random_errors_are_unknown(exact) -> None:
    y, mean, rng = labels()
    y[BAD] = np.round(rng.uniform(-500, 900, len(BAD)), 1)
    found = diagnose(exact(y, mean))
    assert (found.kind != "unknown").sum() <= 2
    unknown = found.kind == "unknown"
    np.testing.assert_allclose(found.repaired[unknown], mean[found.rows[unknown]], atol=0.5)
    assert found.text(int(np.flatnonzero(unknown)[0])) == ""


def test_exchanged_labels_name_each_other(exact) -> None:
    y, mean, _ = labels()
    wrong = y.copy()
    first, second = BAD[::2], BAD[1::2]
    wrong[first], wrong[second] = y[second], y[first]
    found = diagnose(exact(wrong, mean))
    partner = dict(zip(found.rows.tolist(), found.partner.tolist(), strict=True))
    repaired = dict(zip(found.rows.tolist(), found.repaired.tolist(), strict=True))
    clear = np.abs(mean[first] - mean[second]) > 8
    pairs = list(zip(first[clear].tolist(), second[clear].tolist(), strict=True))
    right = sum(partner[a] == b and partner[b] == a for a, b in pairs)
    assert right >= len(pairs) - 1
    assert sum(repaired[a] == y[a] for a, _ in pairs) >= len(pairs) - 1
    place = found.rows.tolist().index(pairs[0][0])
    assert found.text(place).startswith(f"exchanged with row {pairs[0][1] + 1} (")
    assert found.text(place, np.arange(N) + 500).startswith(f"exchanged with row {pairs[0][1] + 500} (")


def test_transposed_digits_and_stuck_values(exact) -> None:
    y, mean, _ = labels()
    wrong = y.copy()
    wrong[BAD[:10]] = [float(text[1] + text[0] + text[2:]) for text in map("{:.1f}".format, y[BAD[:10]])]
    wrong[BAD[10:]] = wrong[BAD[10:] - 1]
    audit = exact(wrong, mean)
    found = diagnose(audit)
    far = np.abs(wrong - mean) > 15
    for kind, rows in (("stuck value", BAD[10:]), ("digits transposed", BAD[:10])):
        expected = rows[far[rows] & (wrong[rows] > 20)]  # a leading zero is not written
        named = found.rows[found.kind == kind]
        assert np.isin(named, rows).mean() >= 0.9
        assert np.isin(expected, named).mean() >= 0.8, kind


def test_the_shift_of_a_segment_is_a_kind(exact) -> None:
    y, mean, _ = labels()
    wrong = y.copy()
    wrong[300:360] += 9
    audit = exact(wrong, mean)
    found = diagnose(audit, segments=find_segments(audit))
    inside = (found.rows >= 300) & (found.rows < 360)
    assert (found.kind[inside] == "segment shift").mean() > 0.9
    np.testing.assert_allclose(found.repaired[inside], y[found.rows[inside]], atol=1.0)


def test_labels_that_were_judged_on_a_logarithmic_scale() -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(3, 8, N)
    truth = np.exp(mean + 0.3 * rng.normal(size=N))
    wrong = truth.copy()
    wrong[BAD] *= 100
    wrong[400:450] *= 4
    wrong[600] = 0.0
    audit = Audit.from_residuals(wrong, mean, 0.09, transform=LogTransform.of(truth))
    found = diagnose(audit, segments=find_segments(audit))
    repaired = dict(zip(found.rows.tolist(), found.repaired.tolist(), strict=True))
    kind = dict(zip(found.rows.tolist(), found.kind.tolist(), strict=True))
    hundredfold = [row for row in BAD if not 400 <= row < 450]
    assert sum(kind[row] == "factor of ten" for row in hundredfold) >= len(hundredfold) - 2
    assert all(np.isfinite(found.repaired))
    shifted = [row for row in found.rows if 400 <= row < 450 and kind[row] == "segment shift"]
    assert len(shifted) >= 30
    np.testing.assert_allclose([repaired[row] / truth[row] for row in shifted], 1, atol=0.3)


def test_a_factor_of_the_user_is_a_unit(exact) -> None:
    y, mean, _ = labels()
    wrong = y.copy()
    wrong[BAD] = y[BAD] * 7.46
    audit = exact(wrong, mean)
    assert diagnose(audit).frequency["other unit"] < 0.5
    found = diagnose(audit, factors={"EUR and DKK": 7.46})
    assert set(found.detail[found.kind == "other unit"]) == {"EUR and DKK"}
    assert found.counts["other unit"] >= len(BAD)
    with pytest.raises(ValueError, match="factor of 'x' is 0"):
        diagnose(audit, factors={"x": 0})


def test_one_suspect_does_not_confirm_itself(exact) -> None:
    """A label that fits a kind by chance, in a table without any other error of that kind."""
    y, mean, _ = labels()
    y[BAD[0]] = np.round(1.61 * mean[BAD[0]] + 1.5, 1)
    found = diagnose(exact(y, mean))
    assert found.kind[found.rows == BAD[0]].tolist() == ["unknown"]


def test_a_label_that_is_in_doubt_only_is_not_diagnosed_as_wrong(exact) -> None:
    y, mean, _ = labels()
    y[BAD] *= 10
    near = 500
    y[near], mean[near] = 103.6, 100.0
    found = diagnose(exact(y, mean))
    assert found.kind[found.rows == near].tolist() in ([], ["unknown"])


def test_clean_labels_give_an_empty_diagnosis() -> None:
    mean = np.linspace(0, 1, 50)
    audit = Audit.from_residuals(mean + 0.01 * np.sin(np.arange(50.0)), mean, 1.0)
    found = diagnose(audit)
    assert len(found) == int((audit.p_outlier >= 0.025).sum())
    assert found.summary() == ""


def test_frame_and_summary(exact) -> None:
    pytest.importorskip("pandas")
    y, mean, _ = labels()
    y[BAD] = -y[BAD]
    audit = exact(y, mean)
    found = audit.diagnosis
    assert audit.diagnosis is found
    assert len(audit.at(0.9).diagnosis) >= len(found)
    frame = found.to_frame()
    assert list(frame.columns) == ["label", "kind", "detail", "probability", "repaired", "partner"]
    assert (frame["kind"] == "sign").sum() == len(BAD)
    assert "sign (20)" in found.summary()


@pytest.mark.parametrize(
    ("values", "step"),
    [([1.5, 2.25, 3.0], 0.01), ([100.0, 2300.0], 100.0), ([3.0, 4.0], 1.0), ([np.pi, np.e, 1 / 3], 1e-9)],
)
def test_resolution(values, step) -> None:
    assert resolution(np.array(values)) == step


def test_transpositions() -> None:
    assert transpositions(152.5, 0.1).tolist() == [125.5, 155.2, 512.5]
    assert transpositions(-12.0, 0.1).tolist() == [-21.0, -10.2]
    assert transpositions(60.0, 1.0).tolist() == []  # 06
    assert transpositions(1.5, 0.01).tolist() == [1.05, 5.1]
