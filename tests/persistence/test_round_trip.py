import doctest
import os
import stat
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from levelhead import (
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    CleanedRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
    GCPRegressor,
    load,
    persistence,
    save,
    tabular_pipeline,
)

pytestmark = pytest.mark.compiled
N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
SETTINGS = {"max_iter": 3, "hidden_layer_sizes": (8,), "random_state": 0}
REGRESSORS = [
    GCPRegressor,
    GaussianRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    BayesianBetaRegressor,
]


def gcp(**settings):
    return GCPRegressor(**(SETTINGS | settings))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_every_prediction_is_the_same_to_the_last_bit(cls, tmp_path):
    model = cls(**SETTINGS, n_members=2).fit(X, Y)
    again = load(save(model, tmp_path / "model.levelhead"))
    assert type(again) is cls
    assert again.get_params() == model.get_params()
    one, two = model.predict_dist(X), again.predict_dist(X)
    np.testing.assert_array_equal(two.member_mean, one.member_mean)
    np.testing.assert_array_equal(two.member_var, one.member_var)
    np.testing.assert_array_equal(
        again.predict_quantiles(X, [0.1, 0.9]), model.predict_quantiles(X, [0.1, 0.9])
    )
    assert again.loss_curve_ == model.loss_curve_
    assert again.n_iter_ == model.n_iter_


def test_the_example_in_the_docstring():
    assert doctest.testmod(persistence).failed == 0


def test_the_estimate_of_wrong_labels_is_saved_too(tmp_path):
    model = gcp().fit(X, Y)
    again = load(save(model, tmp_path / "m"))
    assert again.separation_ == model.separation_
    assert again.calibration_ == model.calibration_
    assert again.contamination_ == model.contamination_
    np.testing.assert_array_equal(again.oof_prediction_.member_mean, model.oof_prediction_.member_mean)
    np.testing.assert_array_equal(again.oof_prediction_.alpha, model.oof_prediction_.alpha)


def test_training_goes_on_as_if_it_had_never_been_saved(tmp_path):
    model = gcp().partial_fit(X, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(
        again.partial_fit(X, Y).predict(X),
        model.partial_fit(X, Y).predict(X),
    )


def test_unfitted_models_keep_their_settings(tmp_path):
    model = gcp(
        contamination=0.1, learning_rate_init=np.float64(0.01), tol=float("inf"), batch_size=np.int64(7)
    )
    assert load(save(model, tmp_path / "m")).get_params() == model.get_params()


def holding(value):
    """An estimator with a setting that may be anything."""
    return FunctionTransformer(kw_args={"value": value})


@pytest.mark.parametrize(
    "value",
    [
        (1, (2.5, None)),
        [True, "text", "\ud800"],
        {"a": 1, 2: {"b": ()}, (1, 2): 3.0},
        {3, 1, 2},
        frozenset({"x"}),
        slice(1, None, 2),
        -0.0,
        float("-inf"),
        10**30,
        np.float32,
        float,
        np.dtype("<f4"),
        np.int8(-3),
        np.float64("nan"),
        np.datetime64("2020-01-02"),
        np.str_("words"),
        np.log1p,
    ],
    ids=repr,
)
def test_values_of_every_kind_come_back_as_they_were(value, tmp_path):
    again = load(save(holding(value), tmp_path / "m")).kw_args["value"]
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_arrays_of_every_kind_come_back_as_they_were(tmp_path):
    arrays = [
        np.asfortranarray(X),
        X[::2, ::-1],
        np.array(3.5),
        np.empty((0, 4)),
        np.array(["a", "bcd"]),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
        np.array([["a", None], [1.5, np.nan]], dtype=object),
        X > 0,
    ]
    again = load(save(holding(arrays), tmp_path / "m")).kw_args["value"]
    for one, two in zip(arrays, again, strict=True):
        assert one.dtype == two.dtype
        assert one.shape == two.shape
        assert repr(one.tolist()) == repr(two.tolist())


def test_what_is_shared_stays_shared(tmp_path):
    part, numbers = StandardScaler(), np.arange(3)
    again = load(save(holding([part, part, numbers, numbers]), tmp_path / "m")).kw_args["value"]
    assert again[0] is again[1]
    assert again[2] is again[3]


def test_routed_weights_stay_routed(tmp_path):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, gcp().set_fit_request(sample_weight=True))
        again = load(save(model, tmp_path / "m"))
        weight = np.arange(N) % 3
        np.testing.assert_array_equal(
            again.fit(X, Y, sample_weight=weight).predict(X),
            model.fit(X, Y, sample_weight=weight).predict(X),
        )


FRAME = pd.DataFrame(
    {
        "area": np.where(np.arange(N) % 7 == 0, np.nan, X[:, 0]),
        "rooms": RNG.integers(1, 6, N),
        "heating": RNG.choice(["gas", "oil", "wood"], N),
        "city": [f"city number {k}" for k in range(N)],
        "built": pd.date_range("1950-01-01", periods=N, freq="90D"),
        "sold": pd.date_range("2020-01-01", periods=N, tz="UTC").astype(str),
        "balcony": X[:, 1] > 0,
    }
)

PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), gcp()),
    "robust": make_pipeline(RobustScaler(), QuantileTransformer(n_quantiles=20), PowerTransformer(), gcp()),
    "derived": make_pipeline(PolynomialFeatures(2), SelectKBest(f_regression, k=4), PCA(2), gcp()),
    "binned": make_pipeline(KBinsDiscretizer(4, strategy="uniform"), PCA(3), gcp()),
    "neighbours": make_pipeline(KNNImputer(), Nystroem(n_components=10, random_state=0), gcp()),
    "union": make_pipeline(FeatureUnion([("raw", "passthrough"), ("scaled", StandardScaler())]), gcp()),
    "logarithm": TransformedTargetRegressor(gcp(), func=np.log1p, inverse_func=np.expm1),
    "function": make_pipeline(FunctionTransformer(np.tanh), gcp()),
    "other regressor": make_pipeline(StandardScaler(), HuberRegressor()),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_give_the_same_predictions_after_loading(name, tmp_path):
    model = clone(PIPELINES[name]).fit(X, np.abs(Y))
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def columns(onehot):
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                ["area", "rooms"],
            ),
            ("words", onehot, ["heating"]),
        ],
        remainder="drop",
    )


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32),
        OneHotEncoder(min_frequency=28, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=2, drop="if_binary"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        TargetEncoder(cv=3),
    ],
    ids=lambda encoder: f"{type(encoder).__name__}-{encoder.__dict__.get('drop')}",
)
def test_frames_with_categories(encoder, tmp_path):
    model = make_pipeline(columns(encoder), gcp()).fit(FRAME, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert list(again.feature_names_in_) == list(FRAME.columns)


CHOICES = {
    "slice": make_column_transformer((StandardScaler(), slice(0, 2)), remainder="passthrough"),
    "mask": make_column_transformer((StandardScaler(), [True, False, True]), remainder=RobustScaler()),
    "places": make_column_transformer((StandardScaler(), [0]), ("passthrough", [2]), ("drop", [1])),
    "frames": make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough").set_output(
        transform="pandas"
    ),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in ("slice", "mask", "places") for kind in ("array", "frame")]
    + [("frames", "frame")],
)
def test_columns_however_they_are_chosen(name, kind, tmp_path):
    table = X if kind == "array" else pd.DataFrame(X, columns=list("abc"))
    model = make_pipeline(clone(CHOICES[name]), gcp()).fit(table, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def test_tables_whose_columns_are_numbered(tmp_path):
    frame = FRAME.set_axis(range(FRAME.shape[1]), axis=1)
    model = tabular_pipeline(gcp()).fit(frame, Y)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(frame), model.predict(frame))


def test_numbers_as_categories_with_a_missing_one(tmp_path):
    table = np.column_stack([np.where(np.arange(N) % 5 == 0, np.nan, np.arange(N) % 5), X[:, 0]])
    model = make_pipeline(make_column_transformer((OneHotEncoder(), [0]), remainder="passthrough"), gcp())
    model.fit(table, Y)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(table), model.predict(table))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_raw_tables(library, tmp_path):
    as_lists = {name: [None if v != v else v for v in FRAME[name].tolist()] for name in FRAME}
    frame = FRAME if library == "pandas" else pl.DataFrame(as_lists)
    model = tabular_pipeline(gcp()).fit(frame, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_the_same_model_gives_the_same_bytes(tmp_path):
    one = save(gcp().fit(X, Y), tmp_path / "one").read_bytes()
    two = save(gcp().fit(X, Y), tmp_path / "two").read_bytes()
    assert one == two


def test_the_arrays_can_be_read_without_us(tmp_path):
    model = gcp().fit(X, Y)
    with np.load(save(model, tmp_path / "m.npz"), allow_pickle=False) as archive:
        found = [archive[name] for name in archive.files if name.startswith("arrays/")]
    weights = model.networks_[0].weights
    assert any(array.shape == weights.shape and (array == weights).all() for array in found)


def test_cleaned_regressors_come_with_their_audit(tmp_path):
    spoilt = np.where(np.arange(N) % 16 == 0, Y + 9, Y)
    model = CleanedRegressor(HuberRegressor(), auditor=gcp(max_iter=30), random_state=0).fit(X, spoilt)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_dist(X).var, model.predict_dist(X).var)
    np.testing.assert_array_equal(again.audit_.p_outlier, model.audit_.p_outlier)
    np.testing.assert_array_equal(again.auditor_.audit(X, spoilt).z, model.auditor_.audit(X, spoilt).z)


class Own(GCPRegressor):
    pass


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (make_pipeline(FunctionTransformer(lambda x: x), gcp()), r"model\.steps\[0\]\[1\]\.func .*<lambda>"),
        (make_pipeline(FunctionTransformer(os.system), gcp()), r"model\.steps\[0\]\[1\]\.func .*system"),
        (gcp(random_state=np.random.RandomState(0)), r"model\.random_state .*RandomState"),
        (make_pipeline(gcp(), memory="cache"), r"model\.memory is 'cache'"),
        (Own(), r"model is .*Own"),
        (gcp(verbose=np.zeros(2, dtype="f4,i4")), r"model\.verbose is numpy\.ndarray"),
        (gcp(verbose=np.ma.zeros(2)), r"model\.verbose is numpy.*MaskedArray"),
        (gcp(verbose=np.dtype("f4,i4")), r"model\.verbose is numpy"),
        (gcp(verbose={"a": [1, 2j]}), r"model\.verbose\['a'\]\[1\] is builtins\.complex"),
        (gcp(verbose=os.PathLike), r"model\.verbose is os\.PathLike"),
        (RandomForestRegressor(), "model is .*RandomForestRegressor"),
        (make_pipeline(StandardScaler(), type), r"model\.steps\[1\]\[1\] is builtins\.type"),
        ("model", "takes an estimator"),
    ],
)
def test_what_cannot_be_saved_is_named_and_leaves_no_file(model, where, tmp_path):
    with pytest.raises(TypeError, match=where):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_by_default(tmp_path):
    path = save(gcp(), tmp_path / "m")
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(gcp(max_iter=9), path)
    assert path.read_bytes() == before
    assert load(save(gcp(max_iter=9), path, overwrite=True)).max_iter == 9


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = save(gcp(), tmp_path / "m")
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        save(gcp(max_iter=9), path, overwrite=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "plain").write_text("")
    saved = save(gcp(), tmp_path / "m")
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_missing_library_is_named_with_its_remedy(tmp_path, monkeypatch):
    path = save(tabular_pipeline(gcp()).fit(X, Y), tmp_path / "m")
    monkeypatch.setitem(sys.modules, "skrub._table_vectorizer", None)
    with pytest.raises(persistence.ModelFileError, match=r"pip install '\.\[tables\]'"):
        load(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        save(gcp(), tmp_path / "nowhere" / "m")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(gcp(), tmp_path, overwrite=True)


@pytest.mark.parametrize("how", ["robust", "piecewise"])
def test_embedded_inputs_survive(tmp_path, how):
    model = gcp(input_scaling=how, weight_decay=1e-3).fit(X, Y)
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.input_scaling == how
