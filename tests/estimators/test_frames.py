"""Frames with categories, dates, text and gaps, straight into the estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor

from levelhead import (
    AutoRegressor,
    CleanedRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    audit,
    load,
    save,
)
from levelhead.auditing import judge

pytestmark = pytest.mark.compiled
N = 300
RNG = np.random.default_rng(9)
AREA = RNG.uniform(30, 120, N)
HEATING = RNG.choice(["gas", "oil", "heat pump"], N)
STREET = RNG.integers(0, 20, N)
BUILT = pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 25_000, N), unit="D")
RENT = 10 * AREA + 300 * (HEATING == "oil") + 20.0 * STREET + 5 * RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "area": np.where(np.arange(N) % 11 == 0, np.nan, AREA),
        "heating": np.where(np.arange(N) % 13 == 0, None, HEATING),
        "street": [f"street {k}" for k in STREET],
        "built": BUILT.tz_localize("Europe/Berlin"),
        "name": [f"flat {k}" for k in range(N)],
    }
)
KNOWN = (np.arange(N) % 11 != 0) & (np.arange(N) % 13 != 0)
MAKERS = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "lazy polars": lambda: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME),
}


def network(**settings):
    return GCPRegressor((32,), max_iter=60, learning_rate_init=0.01, random_state=0, **settings)


def trees(**settings):
    pytest.importorskip("lightgbm")
    return GCPBoostingRegressor(max_iter=150, random_state=0, **settings)


@pytest.fixture(scope="module", params=[network, trees], ids=["network", "trees"])
def fitted(request):
    return request.param().fit(FRAME, RENT)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_frame_gives_the_same_predictions(make, fitted):
    np.testing.assert_array_equal(fitted.predict(make()), fitted.predict(FRAME))


@pytest.mark.parametrize("make", [network, trees])
def test_a_model_fitted_to_polars_is_the_same(make):
    one, two = (make().fit(MAKERS[kind](), RENT) for kind in ("pandas", "lazy polars"))
    np.testing.assert_array_equal(one.predict(FRAME), two.predict(FRAME))
    assert list(two.feature_names_in_) == list(FRAME.columns)


def test_a_raw_frame_is_learnt(fitted):
    mean, std = fitted.predict(FRAME, return_std=True)
    assert np.corrcoef(mean[KNOWN], RENT[KNOWN])[0, 1] > 0.97
    oof = fitted.oof_prediction_.mean
    assert np.corrcoef(oof[KNOWN], RENT[KNOWN])[0, 1] > 0.9
    assert (std > 0).all()
    assert fitted.n_features_in_ == 5
    assert [column.kind for column in fitted.columns_.columns] == [
        *("number", "category", "category", "date", "text")
    ]


def test_new_levels_and_gaps_are_answered_and_other_columns_refused(fitted):
    new = FRAME.head(4).assign(heating="coal", street=None, built=pd.NaT, area=[np.nan, 50, 60, 70])
    assert np.isfinite(fitted.predict(new)).all()
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(FRAME[FRAME.columns[::-1]])
    with pytest.raises(ValueError, match=r"(?s)seen at fit time, yet now missing.*street"):
        fitted.predict(FRAME.drop(columns="street"))
    with pytest.raises(ValueError, match="give a pandas or polars frame"):
        fitted.predict(np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"^column 'built' .* holds numbers now$"):
        fitted.predict(FRAME.assign(built=1.0))


def test_models_survive_a_file(fitted, tmp_path):
    again = load(save(fitted, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(FRAME), fitted.predict(FRAME))
    assert again.columns_ == fitted.columns_
    np.testing.assert_array_equal(
        again.audit(FRAME, RENT).p_outlier, fitted.audit(pl.from_pandas(FRAME), RENT).p_outlier
    )


@pytest.mark.parametrize("make", [network, trees])
def test_order_and_weights_of_rows(make):
    mixed = RNG.permutation(N)
    one, two = make().fit(FRAME, RENT), make().fit(FRAME.iloc[mixed], RENT[mixed])
    np.testing.assert_array_equal(one.predict(FRAME), two.predict(FRAME))
    weight = np.where(np.arange(N) < 50, 2.0, 1.0)
    copies = np.repeat(np.arange(N), weight.astype(int))
    weighted, copied = make().fit(FRAME, RENT, weight), make().fit(FRAME.iloc[copies], RENT[copies])
    np.testing.assert_array_equal(weighted.predict(FRAME), copied.predict(FRAME))


def test_gaps_in_arrays_and_gaps_that_come_later():
    X = np.c_[AREA, STREET]
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    model = network().fit(holes, RENT)
    assert np.isfinite(model.predict(holes)).all()
    assert model.encoding_ is not None
    complete = network().fit(X, RENT)
    assert complete.encoding_ is None
    center = np.where(np.isnan(holes), complete.input_scale_.center, holes)
    np.testing.assert_array_equal(complete.predict(holes), complete.predict(center))


def test_filled_gaps_add_to_the_variance_of_an_audit():
    y = RENT + 500 * (np.arange(N) % 11 == 0) * RNG.choice([-1, 1], N)  # what the missing area would explain
    frame = FRAME[["area", "heating", "street"]]
    model = network().fit(frame, y)
    plain, corrected = model.audit(frame, y), judge(model, frame, y)
    expected = plain.allowing_for(frame.isna())
    np.testing.assert_array_equal(corrected.p_outlier, expected.p_outlier)
    assert (corrected.p_outlier != plain.p_outlier).any()


def test_warm_starts_and_partial_fits_keep_their_columns():
    model = network(warm_start=True).fit(FRAME, RENT).fit(FRAME.head(100), RENT[:100])
    assert np.isfinite(model.predict(FRAME)).all()
    parts = network().partial_fit(FRAME.head(150), RENT[:150]).partial_fit(FRAME.tail(150), RENT[150:])
    assert np.isfinite(parts.predict(FRAME)).all()


def reports(seed=0):
    """Arrival times of flights by several web sites, some of them wrong, with a misleading departure time."""
    rng = np.random.default_rng(seed)
    flight = np.repeat(np.arange(40), 12)
    true = rng.integers(0, 1440, 40)[flight].astype(float)
    wrong = rng.random(len(true)) < 0.08
    given = np.where(wrong, true + rng.choice([-90, -45, 60, 120], len(true)), true)
    frame = pd.DataFrame(
        {
            "site": rng.choice([f"site {k}" for k in range(12)], len(true)),
            "flight": [f"AB-{k}" for k in flight],
            "departure": np.where(
                rng.random(len(true)) < 0.1, np.nan, given - 100 + rng.normal(size=len(true))
            ),
        }
    )
    return frame, given, wrong


@pytest.mark.parametrize("make", [network, trees])
def test_several_reports_of_one_fact_are_judged_by_their_median(make):
    frame, y, wrong = reports()
    verdict = judge(make().fit(frame, y), frame, y)
    # Three seeds gave at least 0.91; with all columns, trees find a fifth of the wrong labels.
    assert average_precision_score(wrong, verdict.p_outlier) > 0.8
    assert np.mean(wrong[verdict.is_label_issue]) > 0.8
    assert verdict.contamination == pytest.approx(wrong.mean(), abs=0.03)


@pytest.mark.slow
def test_audit_takes_frames():
    frame, y, wrong = reports()
    verdict = audit(pl.from_pandas(frame), y, n_members=1, random_state=0)
    assert average_precision_score(wrong, verdict.p_outlier) > 0.95


# ---------------------------------------------------------------------- AutoRegressor


@pytest.fixture
def quick(monkeypatch):
    pytest.importorskip("lightgbm")

    usual = AutoRegressor._kinds

    def kinds(self, seed):
        trees, *networks = usual(self, seed)
        small = [network.set_params(hidden_layer_sizes=(8,), max_iter=10) for network in networks]
        return [trees.set_params(max_iter=40), *small]

    monkeypatch.setattr(AutoRegressor, "_kinds", kinds)


@pytest.mark.parametrize("kind", MAKERS)
def test_auto_takes_frames(quick, kind, tmp_path):
    model = AutoRegressor(n_members=1, random_state=0).fit(MAKERS[kind](), RENT)
    assert model.comparison_ is not None
    assert list(model.feature_names_in_) == list(FRAME.columns)
    again = load(save(model, tmp_path / "auto"))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(MAKERS[kind]()))


def test_auto_explains_dates_as_labels_and_a_constant_target(quick):
    with pytest.raises(ValueError, match="y holds dates"):
        AutoRegressor(random_state=0).fit(FRAME, np.array(list(BUILT.date), dtype=object))
    model = AutoRegressor(n_members=1, random_state=0).fit(FRAME, np.full(N, 7.0))
    assert "all labels are 7" in model.reason_
    np.testing.assert_allclose(np.median(model.predict(FRAME)), 7, atol=1)


# ---------------------------------------------------------------------- CleanedRegressor


def test_the_regressor_gets_the_frame_as_it_is():
    frame = FRAME[["area", "heating"]].astype({"heating": "category"})
    y = np.where(np.arange(N) % 20 == 0, RENT + 5000, RENT)
    model = CleanedRegressor(HistGradientBoostingRegressor(), auditor=network(), random_state=0).fit(frame, y)
    assert model.regressor_.is_categorical_.tolist() == [False, True]
    assert np.abs(model.predict(frame) - y)[np.arange(N) % 20 != 0].max() < 1500
    assert model.predict_quantiles(frame, [0.1, 0.9]).shape == (2, N)
    assert np.isfinite(model.log_prob(frame, y)).all()
    verdict = model.audit(frame, y)
    assert verdict.is_label_issue[::20].all()
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["heating", "area"]])


def test_cleaned_models_take_weights():
    X = np.c_[AREA, STREET]
    y = RENT.copy()
    y[:100] += 3000  # another population, which has no weight
    weight = np.where(np.arange(N) < 100, 0.0, 1.0)
    model = CleanedRegressor(HistGradientBoostingRegressor(), auditor=network(), random_state=0)
    mean = model.fit(X, y, sample_weight=weight).predict(X[100:])
    assert np.median(np.abs(mean - RENT[100:])) < 200
    neighbours = CleanedRegressor(KNeighborsRegressor(), auditor=network(), random_state=0)
    mean = neighbours.fit(X, y, sample_weight=weight).predict(X[100:])
    assert np.median(np.abs(mean - RENT[100:])) < 300
    with pytest.raises(ValueError, match="KNeighborsRegressor takes none"):
        neighbours.fit(X, y, sample_weight=np.linspace(1, 2, N))
