"""Raw frames with categories, dates, text and holes."""

import doctest
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from levelhead import GaussianRegressor, GCPRegressor, tabular_pipeline
from levelhead.estimators import tabular

pytestmark = pytest.mark.compiled
N = 150
RNG = np.random.default_rng(9)
AREA = RNG.uniform(30, 120, N)
HEATING = RNG.choice(["gas", "oil", "heat pump"], N)
BUILT = pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 25_000, N), unit="D")
RENT = 10 * AREA + 300 * (HEATING == "oil") + 0.01 * (BUILT - BUILT.min()).days + 5 * RNG.normal(size=N)


def model():
    return tabular_pipeline(GCPRegressor((32,), max_iter=60, learning_rate_init=0.01, random_state=0))


def pandas_frame():
    frame = pd.DataFrame(
        {
            "area": np.where(np.arange(N) % 11 == 0, np.nan, AREA),
            "heating": np.where(np.arange(N) % 13 == 0, None, HEATING),
            "built": BUILT,
            "sold": BUILT.strftime("%d/%m/%Y"),
            "street": [f"{k} main street" for k in range(N)],
            "balcony": AREA > 60,
        }
    )
    frame["kind"] = pd.Categorical(np.where(AREA > 90, "house", "flat"))
    return frame


def polars_frame():
    frame = pandas_frame()
    days = frame["built"].dt.date
    as_lists = {name: [None if pd.isna(v) else v for v in frame[name]] for name in frame.columns}
    return pl.DataFrame(as_lists | {"built": days.tolist()})


@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
def test_a_raw_frame_is_learned(make):
    frame = make()
    fitted = model().fit(frame, RENT)
    known = np.arange(N) % 11 != 0
    assert np.corrcoef(fitted.predict(frame)[known], RENT[known])[0, 1] > 0.95
    mean, std = fitted.predict(frame, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_new_categories_and_new_missing_cells_give_predictions():
    frame = pandas_frame()
    fitted = model().fit(frame, RENT)
    new = frame.head(4).copy()
    new["heating"] = ["coal", None, "gas", "oil"]
    new["built"] = pd.NaT
    new["balcony"] = False
    new["area"] = [np.nan, 50.0, 60.0, 70.0]
    with pytest.warns(UserWarning, match="unknown categories"):
        answer = fitted.predict(new)
    assert np.isfinite(answer).all()


def test_short_texts_are_encoded_without_a_warning():
    frame = pandas_frame()
    letters = np.random.default_rng(0).choice(list("abcdefgh"), size=(len(frame), 8))
    frame["code"] = [" ".join(row) for row in letters]
    assert np.isfinite(model().fit(frame, RENT).predict(frame)).all()  # warnings are errors here


def test_columns_that_are_empty_or_constant():
    frame = pandas_frame().assign(nothing=None, never=np.nan, always="yes")
    assert np.isfinite(model().fit(frame, RENT).predict(frame)).all()


def test_the_pipeline_is_an_ordinary_one():
    pipeline = tabular_pipeline(GaussianRegressor())
    assert list(pipeline.named_steps) == ["table", "missing", "regressor"]
    assert clone(pipeline).set_params(regressor__dropout=0.3).named_steps["regressor"].dropout == 0.3


def test_only_regressors_are_taken():
    with pytest.raises(TypeError, match="takes a regressor"):
        tabular_pipeline("ridge")


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "skrub", None)
    with pytest.raises(ImportError, match=r"tabular_pipeline needs skrub.*pip install '\.\[tables\]'"):
        tabular_pipeline(GCPRegressor())


def test_skrub_is_imported_only_when_needed():
    program = "import sys, levelhead; levelhead.tabular_pipeline; print('skrub' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_example_in_the_docstring():
    assert doctest.testmod(tabular).failed == 0


def test_text_is_encoded_the_same_way_each_time():
    words = RNG.choice(["north", "south", "park", "lake", "mill", "king", "queen", "rose"], (N, 4))
    frame = pd.DataFrame({"area": AREA, "note": [" ".join(row) + f" {k}" for k, row in enumerate(words)]})
    first, second = (model()[:-1].fit_transform(frame, RENT) for _ in range(2))
    np.testing.assert_array_equal(first, second)
