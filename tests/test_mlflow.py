"""Models that are logged with MLflow answer as before, with standard deviations and intervals."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose

mlflow = pytest.importorskip("mlflow")
pd = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.slow,
    # MLflow warns about its own use of other libraries, and about integer columns.
    pytest.mark.filterwarnings("ignore::UserWarning:mlflow", "ignore::FutureWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

import levelhead
from levelhead import GCPRegressor, MultiTargetRegressor, tabular_pipeline
from levelhead import mlflow as flavor
from levelhead.persistence import ModelFileError


@pytest.fixture(scope="module")
def flats():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 150, 120), "heating": rng.choice(["gas", "oil"], 120)})
    return frame, 200 + 9 * frame["area"] + rng.normal(0, 20, 120)


@pytest.fixture(scope="module")
def model(flats):
    return tabular_pipeline(GCPRegressor(max_iter=20, random_state=0)).fit(*flats)


@pytest.fixture(autouse=True)
def quiet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logging.getLogger("mlflow").setLevel(logging.ERROR)


def test_a_saved_folder_gives_table_and_estimator(flats, model, tmp_path):
    flavor.save_model(model, tmp_path / "rents", input_example=flats[0].head(3))
    some = flats[0].iloc[5:9]
    expected = levelhead.predict_dist(model, some)
    general = mlflow.pyfunc.load_model(str(tmp_path / "rents"))
    table = general.predict(some, params={"coverage": 0.5})
    assert list(table.columns) == ["mean", "std", "lower", "upper"]
    assert list(table.index) == [5, 6, 7, 8]
    assert_allclose(table["std"], expected.std)
    assert_allclose(table["upper"], expected.interval(0.5).upper)
    assert_allclose(general.predict(some)["upper"], expected.interval(0.9).upper)
    again = flavor.load_model(tmp_path / "rents", n_jobs=1)
    assert_allclose(again.predict(some), expected.mean)
    assert general.metadata.signature.outputs.input_names() == ["mean", "std", "lower", "upper"]
    assert general.metadata.flavors["levelhead"]["levelhead_version"] == levelhead.__version__


def test_a_logged_model_is_found_by_its_address(flats, model, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the database needs more than the extra installs
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    with mlflow.start_run():
        logged = flavor.log_model(model, "rents", input_example=flats[0].head(3))
    assert_allclose(flavor.load_model(logged.model_uri).predict(flats[0]), model.predict(flats[0]))


def test_a_model_of_arrays_takes_frames_and_arrays(flats, tmp_path):
    X, y = flats[0][["area"]].to_numpy(), flats[1]
    model = GCPRegressor(max_iter=10, random_state=0).fit(X, y)
    wrapped = flavor.PredictionModel(model)
    assert_allclose(wrapped.predict(X)["mean"], model.predict(X))
    assert_allclose(wrapped.predict(flats[0][["area"]])["mean"], model.predict(X))


def test_several_targets_have_columns_of_their_own(flats, tmp_path):
    X, y = flats
    targets = pd.DataFrame({"cold": y, "warm": y + 80})
    model = MultiTargetRegressor(GCPRegressor(max_iter=5, random_state=0), shared_trunk=True).fit(X, targets)
    flavor.save_model(model, tmp_path / "folder", input_example=X.head(3))
    answer = mlflow.pyfunc.load_model(str(tmp_path / "folder")).predict(X, params={"coverage": 0.8})
    assert list(answer)[:5] == ["cold mean", "cold std", "cold lower", "cold upper", "warm mean"]
    assert_allclose(answer["warm mean"], model.predict(X)[:, 1])
    assert_allclose(answer["cold upper"], model.predict_interval(X, 0.8).upper[:, 0])


def test_what_means_nothing_is_refused(model, flats, tmp_path):
    with pytest.raises(ValueError, match=r"'level'; only 'coverage' is known"):
        flavor.PredictionModel(model).predict(flats[0], params={"level": 0.5})
    (tmp_path / "other").mkdir()
    mlflow.models.Model().add_flavor("python_function", loader_module="x").save(
        str(tmp_path / "other/MLmodel")
    )
    with pytest.raises(ModelFileError, match=r"has the flavors python_function; .* did not write it"):
        flavor.load_model(tmp_path / "other")
