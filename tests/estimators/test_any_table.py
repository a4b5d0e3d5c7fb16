"""Random tables: never a NaN in an answer, never an error that is not about the table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from levelhead import BetaDivergenceRegressor, GaussianRegressor, GCPRegressor, tabular_pipeline

pytestmark = pytest.mark.compiled
QUICK = {"hidden_layer_sizes": (4,), "max_iter": 2, "n_jobs": 1}
LESS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
ordinary = st.floats(-1e6, 1e6, width=32)
any_finite = st.floats(allow_nan=False, allow_infinity=False)
any_float = st.floats()
estimators = st.sampled_from([GCPRegressor, GaussianRegressor, BetaDivergenceRegressor])


@st.composite
def tables(draw, cells, labels):
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(np.float64, (n, d), elements=draw(st.sampled_from(cells))))
    y = draw(hnp.arrays(np.float64, n, elements=draw(st.sampled_from(labels))))
    return X, y


def check_answer(model, X):
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == (len(X),)
    assert np.isfinite(mean).all()
    assert (np.isfinite(std) & (std > 0)).all()


@LESS
@given(tables([ordinary, any_finite], [ordinary]), estimators, st.integers(0, 2**31 - 1))
def test_finite_tables_always_give_predictions(table, cls, seed):
    X, y = table
    model = cls(**QUICK, random_state=seed).fit(X, y)
    check_answer(model, X)
    check_answer(model, -X[::-1])
    assert len(model.predict_quantiles(X, 0.9)) == len(X)


@LESS
@given(tables([any_float, any_finite], [any_float, any_finite]), estimators)
def test_any_floats_give_predictions_or_an_error_about_them(table, cls):
    X, y = table
    try:
        model = cls(**QUICK, random_state=0).fit(X, y)
    except ValueError as error:
        assert any(word in str(error) for word in ("NaN", "inf", "spread"))  # noqa: PT017
        return
    check_answer(model, X)


@LESS
@given(
    tables([ordinary], [ordinary]),
    st.sampled_from([np.float16, np.float32, np.int8, np.int32, np.uint64, bool]),
    st.sampled_from(["C", "F"]),
)
def test_any_numeric_type_and_order(table, dtype, order):
    X, y = table
    with np.errstate(all="ignore"):
        X = np.nan_to_num(np.clip(X, -100, 100)).astype(dtype, order=order)
    check_answer(GCPRegressor(**QUICK, random_state=0).fit(X, y), X)


@LESS
@given(
    tables([ordinary], [ordinary]),
    hnp.arrays(np.float64, 40, elements=st.floats(0, 1e6) | st.integers(0, 5).map(float)),
)
def test_any_weights(table, weights):
    X, y = table
    weight = weights[: len(y)]
    model = GCPRegressor(**QUICK, random_state=0)
    if not weight.any():
        return
    check_answer(model.fit(X, y, sample_weight=weight), X)


words = st.sampled_from(["a", "b", "", "ab c", "ünïcode", "1", "2020-01-02", "nan"])
columns = st.sampled_from(
    [
        st.floats(-1e6, 1e6) | st.none(),
        st.integers(-(2**40), 2**40),
        words | st.none(),
        st.booleans(),
        st.dates().map(pd.Timestamp).filter(lambda day: 1800 < day.year < 2200) | st.none(),
    ]
)


@settings(parent=LESS, max_examples=25)
@given(st.data(), st.integers(2, 25))
def test_any_frame_through_the_tabular_pipeline(data, n):
    kinds = data.draw(st.lists(columns, min_size=1, max_size=3))
    frame = pd.DataFrame(
        {f"c{k}": data.draw(st.lists(kind, min_size=n, max_size=n)) for k, kind in enumerate(kinds)}
    )
    frame["number"] = np.arange(n, dtype=float)
    y = np.asarray(data.draw(st.lists(ordinary, min_size=n, max_size=n)))
    model = tabular_pipeline(GCPRegressor(**QUICK, random_state=0)).fit(frame, y)
    assert np.isfinite(model.predict(frame)).all()
