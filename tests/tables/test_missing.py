"""Numbers that stand for "missing" are found, and zeros that are right are not."""

import doctest
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

from levelhead.datasets import ENVIRONMENT
from levelhead.tables import missing, training_table

Write = Callable[..., Path]
RNG = np.random.default_rng(0)
N = 500

RIGHT = {  # columns whose extreme values are no codes
    "poisson 2": RNG.poisson(2, N),
    "poisson 30, a tenth without visitors": np.where(RNG.random(N) < 0.1, 0, RNG.poisson(30, N)),
    "poisson 50, a tenth without visitors": np.where(RNG.random(N) < 0.1, 0, RNG.poisson(50, N)),
    "rain": np.where(RNG.random(N) < 0.4, 0, RNG.exponential(5, N).round(1)),
    "cellar": np.where(RNG.random(N) < 0.6, 0, RNG.uniform(20, 200, N).round()),
    "rating": RNG.integers(1, 6, N),
    "yes or no": RNG.integers(0, 2, N),
    "price": np.exp(RNG.normal(10, 1, N)).round(),
    "levels": RNG.choice([1, 2, 3, 4, 5, 24], N),
    "temperature": RNG.normal(0, 10, N).round(),
    "money": np.where(
        RNG.random(N) < 0.05, -99, RNG.uniform(-50, 1000, N).round()
    ),  # others are negative too
}


@pytest.mark.parametrize("name", RIGHT)
def test_values_that_are_right_are_no_codes(name: str) -> None:
    assert missing.codes({name: RIGHT[name].astype(float)}) == {}


def test_codes_are_found() -> None:
    some = RNG.random(N) < 0.05
    columns = {
        "co": np.where(some, -200, RNG.gamma(2, 1, N)),
        "nox": np.where(some, -200, RNG.gamma(2, 300, N)),  # not isolated by itself
        "pressure": np.where(some, 0, RNG.normal(72, 12, N).round()),
        "income": np.where(some, 999999, RNG.normal(3000, 500, N)),
        "answer": np.where(some, 99, RNG.integers(1, 6, N)),
        "price": np.where(
            some, -999, RNG.uniform(30_000, 190_000, N).round()
        ),  # near in units of their range
    }
    found = {name: [code.value for code in codes] for name, codes in missing.codes(columns).items()}
    assert found == {
        "co": [-200],
        "nox": [-200],
        "pressure": [0],
        "income": [999999],
        "answer": [99],
        "price": [-999],
    }


def test_inputs_lose_codes_and_labels_keep_them(written: Write) -> None:
    lines = "".join(
        f"{-200 if k % 9 == 0 else k * 37 % 90},{-200 if k % 10 == 0 else k / 7}\n" for k in range(90)
    )
    path = written("x,y\n" + lines)
    table = training_table(path, "y")
    assert table.target_codes == {-200.0: 9}
    assert table.labels_judged == 90
    assert table.X["x"].isna().sum() == 10
    assert table.formats.columns_["x"].codes == (-200.0,)
    assert [found.title for found in table.quality[:2]] == [
        "codes for missing in the labels",
        "codes for missing",
    ]
    given = training_table(path, "y", missing=[-200])
    assert (given.labels_judged, given.target_codes) == (81, {})
    assert training_table(path, "y", missing=[]).X["x"].notna().all()


@pytest.mark.parametrize(
    ("name", "expected"), [("air_quality", {-200.0: 1647}), ("blood_pressure", {0.0: 35})]
)
def test_real_labels(name: str, expected: dict[float, int]) -> None:
    import os

    folder = os.environ.get(ENVIRONMENT)
    path = Path(folder or "") / "errors" / f"{name}.csv"
    if not folder or not path.exists():
        pytest.skip(f"needs {path.name} in {ENVIRONMENT}")
    assert training_table(path, "given", drop=["wrong", "true"]).target_codes == expected


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(missing).failed == 0


def test_predictions_show_codes_that_are_less_isolated():
    """Labels from 20 to 120 with the code 0: the gap is smaller than the range, but no prediction comes near 0."""
    rng = np.random.default_rng(0)
    expected = rng.uniform(25, 115, 400)
    y = expected + rng.normal(size=400)
    y[:8] = -60.0
    assert missing.label_codes(y).size == 0
    assert missing.label_codes(y, y - expected).tolist() == [-60.0]
    y[8:] = expected[8:]  # exact predictions leave no typical residual to compare with
    assert missing.label_codes(y, y - expected).size == 0


def test_expected_or_rare_values_are_no_codes():
    rng = np.random.default_rng(1)
    expected = np.r_[np.full(20, -60.0), rng.uniform(25, 115, 400)]
    y = expected + np.r_[np.zeros(20), rng.normal(size=400)]
    assert missing.label_codes(y, y - expected + rng.normal(size=420)).size == 0
    rare = np.r_[np.full(4, -60.0), rng.uniform(25, 115, 400)]
    assert missing.label_codes(rare, rare - 70).size == 0


def test_a_code_that_no_other_label_has_the_sign_of_needs_no_distance() -> None:
    y = np.r_[RNG.uniform(30_000, 190_000, 300).round(), [-999.0] * 4]
    assert missing.label_codes(y, (y - y.mean()) / y.std()).tolist() == [-999]


def test_predictions_show_a_repeated_label_that_alone_is_negative() -> None:
    """−200 among house values is near them in units of their range, and looks like no code."""
    rng = np.random.default_rng(0)
    expected = rng.uniform(60_000, 400_000, 400)
    y = expected + 20_000 * rng.normal(size=400)
    y[:20] = -200.0
    assert missing.label_codes(y).size == 0
    assert missing.label_codes(y, y - expected).tolist() == [-200]
    y[20] = -1000.0  # not the only negative one
    assert missing.label_codes(y, y - expected).size == 0
