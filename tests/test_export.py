"""Models as ONNX files: the same mean, standard deviation and interval by onnxruntime."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PowerTransformer

import levelhead
from levelhead import (
    AutoRegressor,
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    CleanedRegressor,
    GaussianRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    MultiTargetRegressor,
)
from levelhead.export import to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("lightgbm")
pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 240
NUMBERS = RNG.normal(size=(N, 3))
NUMBERS[RNG.random((N, 3)) < 0.05] = np.nan
Y = 2 * np.nan_to_num(NUMBERS[:, 0]) + np.exp(0.3 * np.nan_to_num(NUMBERS[:, 1])) * 0.3 * RNG.normal(size=N)
Y[::20] += 20
POSITIVE = np.exp(0.1 * Y)
CITIES = np.array(["Rome", "Oslo", "Lima", "Bonn"])
FRAME = pd.DataFrame(
    {
        "a": NUMBERS[:, 0],
        "b": NUMBERS[:, 1],
        "city": RNG.choice(CITIES, N),
        "zip": [f"z{k}" for k in RNG.integers(0, 25, N)],
        "flat": RNG.random(N) < 0.5,
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(6 * RNG.integers(0, 1200, N), unit="h"),
    }
)
FRAME.loc[::13, "city"] = None
FRAME.loc[::17, "day"] = pd.NaT
OF_CITY = FRAME["city"].map({"Rome": 0.0, "Oslo": 1.0, "Lima": 2.0, "Bonn": 3.0}).fillna(0).to_numpy()
NEW = FRAME.assign(city=np.where(np.arange(N) % 5 == 0, "Quito", FRAME["city"].fillna("")))
NEW["city"] = NEW["city"].replace({"": None})
CODES = NUMBERS.copy()
CODES[:, 2] = 2 * RNG.integers(0, 8, N)
NETWORK = {"hidden_layer_sizes": (12, 8), "max_iter": 15, "random_state": 0}
TREES = {"max_iter": 60, "random_state": 0}
CASES = {
    "relu": (GCPRegressor(**NETWORK), NUMBERS, Y),
    "three outputs": (GCPRegressor(**NETWORK, n_outputs=3), NUMBERS, Y),
    "tanh": (GCPRegressor(**NETWORK, activation="tanh"), NUMBERS, Y),
    "silu": (GCPRegressor(**NETWORK, activation="silu"), NUMBERS, Y),
    "pieces, members": (GCPRegressor(**NETWORK, input_scaling="piecewise", n_members=3), NUMBERS, Y),
    "one trunk per output": (GCPRegressor(**NETWORK, input_scaling="robust", shared_trunk=False), NUMBERS, Y),
    "Gaussian": (GaussianRegressor(**NETWORK), NUMBERS, Y),
    "beta divergence": (BetaDivergenceRegressor(**NETWORK, n_members=2), NUMBERS, Y),
    "network of a frame": (GCPRegressor(**NETWORK), FRAME, Y + OF_CITY),
    "network with an offset": (GCPRegressor(**NETWORK), FRAME, Y + 300 * OF_CITY),
    "network, log": (GCPRegressor(**NETWORK, n_members=2, target_transform="log"), FRAME, POSITIVE),
    "network, power": (
        GCPRegressor(**NETWORK, n_members=2, target_transform="yeo-johnson"),
        NUMBERS,
        POSITIVE,
    ),
    "trees": (GCPBoostingRegressor(**TREES, n_members=2), NUMBERS, Y),
    "trees with codes": (GCPBoostingRegressor(**TREES, categorical_features=[2]), CODES, Y + CODES[:, 2]),
    "trees of a frame": (GCPBoostingRegressor(**TREES, n_members=2), FRAME, Y + OF_CITY),
    "trees with an offset": (GCPBoostingRegressor(**TREES), FRAME, Y + 300 * OF_CITY),
    "trees of few rows": (GCPBoostingRegressor(random_state=0), np.nan_to_num(NUMBERS[:8]), Y[:8]),
    "auto of few rows": (AutoRegressor(2, target_transform=None, random_state=0), NUMBERS[:25], Y[:25]),
}
SLOW = {
    "auto of a frame": (AutoRegressor(2, target_transform=None, random_state=0), FRAME, Y + OF_CITY),
    "auto, log": (AutoRegressor(3, target_transform="log", random_state=0), NUMBERS, POSITIVE),
    "auto, whole numbers": (AutoRegressor(1, target_transform=None, random_state=0), NUMBERS, np.round(Y)),
}


def given(X):
    """The rows as the graph takes them."""
    if isinstance(X, np.ndarray):
        return {"X": X}
    days = (X["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    text = {name: X[name].fillna("").astype(str).to_numpy(object) for name in ("city", "zip")}
    numbers = {name: X[name].to_numpy(np.float64) for name in ("a", "b", "flat")}
    return {**numbers, **text, "day": days.to_numpy(np.float64)}


def run(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["mean", "std", "lower", "upper"]
    feed = given(X)
    assert {entry.name for entry in session.get_inputs()} == set(feed)
    return session.run(None, feed)


def assert_same(model, X, y, path, coverage=0.8):
    model.fit(X, y)
    rows = NEW if isinstance(X, pd.DataFrame) else CODES if X is CODES else NUMBERS
    found = run(to_onnx(model, path, coverage=coverage), rows)
    prediction = model.predict_dist(rows)
    expected = prediction.mean, prediction.std, *prediction.interval(coverage)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float64
        error = np.abs(one - other) / np.maximum(np.abs(other), prediction.std)
        assert error.max() < 1e-5


@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_agrees(case, tmp_path):
    assert_same(*CASES[case], tmp_path / "model.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_onnxruntime_agrees_with_the_combination(case, tmp_path):
    assert_same(*SLOW[case], tmp_path / "model.onnx")


@pytest.mark.slow
def test_rows_far_from_all_others_have_no_wider_prediction_than_trusted_labels(tmp_path):
    model = AutoRegressor(1, target_transform="log", random_state=0).fit(NUMBERS, POSITIVE)
    usual = model.predict_dist(NUMBERS).latent.var
    model.combination_ = replace(model.combination_, widest=0.5 * float(np.median(usual)))
    _, std, *_ = run(to_onnx(model, tmp_path / "model.onnx"), NUMBERS)
    expected = model.predict_dist(NUMBERS)
    assert (expected.latent.var < 0.99 * usual).mean() > 0.4
    np.testing.assert_allclose(std, expected.std, rtol=1e-5)


def test_the_file_says_what_it_is(tmp_path):
    model = GCPRegressor(**NETWORK, target_transform="log").fit(FRAME, POSITIVE)
    file = onnx.load(to_onnx(model, tmp_path / "model.onnx", coverage=0.5))
    assert (file.producer_name, file.producer_version) == ("levelhead", levelhead.__version__)
    facts = {entry.key: entry.value for entry in file.metadata_props}
    assert facts["estimator"] == "GCPRegressor"
    assert facts["coverage"] == "0.5"
    assert facts["label_scale"] == "log"
    assert json.loads(facts["feature_names"]) == list(FRAME.columns)
    assert json.loads(facts["inputs"])["day"] == "days since 1970-01-01"


def test_a_single_row(tmp_path):
    model = GCPBoostingRegressor(**TREES).fit(FRAME, Y)
    path = to_onnx(model, tmp_path / "model.onnx")
    assert run(path, NEW.head(1))[0].shape == (1,)


def test_a_column_may_be_called_like_an_output(tmp_path):
    frame = pd.DataFrame({"mean": NUMBERS[:, 0], "city": FRAME["city"]})
    model = GCPRegressor(**NETWORK).fit(frame, Y)
    session = onnxruntime.InferenceSession(to_onnx(model, tmp_path / "m"), providers=["CPUExecutionProvider"])
    feed = {"mean_in": NUMBERS[:, 0], "city": FRAME["city"].fillna("").to_numpy(object)}
    np.testing.assert_allclose(session.run(["mean"], feed)[0], model.predict(frame), atol=1e-4)


def test_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("precious")
    model = GaussianRegressor(**NETWORK).fit(NUMBERS, Y)
    with pytest.raises(FileExistsError):
        to_onnx(model, path)
    assert path.read_text() == "precious"
    to_onnx(model, path, overwrite=True)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (GCPRegressor(**NETWORK, variance="student"), "variance='student' cannot be exported"),
        (BayesianBetaRegressor((4,), max_iter=2, random_state=0), "BayesianBetaRegressor draws samples"),
        (GCPRegressor(**NETWORK, target_transform=PowerTransformer()), "scale of PowerTransformer"),
    ],
)
def test_what_has_no_counterpart_is_refused(model, problem, tmp_path):
    model.fit(NUMBERS, POSITIVE)
    with pytest.raises(ValueError, match=problem):
        to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_remembered_rows_are_refused(tmp_path):
    model = AutoRegressor(1, target_transform=None, random_state=0).fit(NUMBERS[:25], Y[:25])
    model.repeats_ = object()
    with pytest.raises(ValueError, match=r"model\.repeats_ = None"):
        to_onnx(model, tmp_path / "model.onnx")


def test_mixed_categories_are_refused(tmp_path):
    frame = pd.DataFrame({"a": NUMBERS[:, 0], "size": ["S", 4, "M", 2] * (N // 4)})
    model = GCPRegressor(**NETWORK).fit(frame, Y)
    with pytest.raises(ValueError, match="'size' mixes text and numbers"):
        to_onnx(model, tmp_path / "model.onnx")


def test_other_estimators_are_refused(tmp_path):
    model = CleanedRegressor(GaussianRegressor(**NETWORK), auditor=GCPRegressor(**NETWORK), random_state=0)
    with pytest.raises(TypeError, match=r"one target; give it the model of each target.*estimators_\[0\]"):
        to_onnx(MultiTargetRegressor(), tmp_path / "no.onnx")
    with pytest.raises(TypeError, match="not CleanedRegressor"):
        to_onnx(model, tmp_path / "model.onnx")
    with pytest.raises(NotFittedError):
        to_onnx(GCPRegressor(), tmp_path / "model.onnx")


def test_models_of_targets_that_share_layers(tmp_path):
    targets = np.column_stack([Y, 3 - Y])
    model = MultiTargetRegressor(GCPRegressor(**NETWORK), shared_trunk=True).fit(NUMBERS, targets)
    for k, part in enumerate(model.estimators_):
        mean = run(to_onnx(part, tmp_path / f"{k}.onnx"), NUMBERS)[0]
        np.testing.assert_allclose(mean, model.predict(NUMBERS)[:, k], rtol=1e-4, atol=1e-4)
