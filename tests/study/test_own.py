"""Tables and methods from outside."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from levelhead import GCPRegressor, TabularRegressor
from levelhead.study import Data, Spec, Store, run, run_study
from levelhead.study.cost import costs, trials
from levelhead.study.own import load_data, load_method, own_specs

MODULE = """
from sklearn.linear_model import LinearRegression

class Shifted(LinearRegression):
    def predict(self, X):
        return super().predict(X) + {shift}

def made(copy_X=True):
    return LinearRegression(copy_X=copy_X)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder."""
    name = f"module_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(shift=1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return name


def test_a_method_has_its_name_its_arguments_and_its_version(module: str) -> None:
    ridge = load_method("sklearn.linear_model:BayesianRidge(max_iter=20, tol=1e-2)")
    assert ridge.name == "BayesianRidge(max_iter=20, tol=1e-2)"
    assert ridge.estimator.get_params()["max_iter"] == 20
    assert ridge.version.startswith("scikit-learn 1.")
    assert load_method("levelhead:GCPRegressor").version.startswith("levelhead ")
    here = load_method(f"{module}:Shifted")
    assert type(here.estimator).__name__ == here.name == "Shifted"
    assert isinstance(load_method(f"{module}:made(copy_X=False)").estimator, LinearRegression)


def test_changed_code_in_the_folder_is_another_run(module: str, data: Data, tmp_path: Path) -> None:
    before = load_method(f"{module}:Shifted").version
    (tmp_path / f"{module}.py").write_text(MODULE.format(shift=2))
    after = load_method(f"{module}:Shifted").version
    assert before != after
    one, same, other = (
        Spec(data, 0, "m", 1, LinearRegression(), version=version) for version in (before, before, after)
    )
    assert one == same != other
    assert "version" not in Spec(data, 0, "m", 1, LinearRegression()).content  # stored runs are found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no_such_package:X", "neither installed nor in this folder"),
        ("sklearn.linear_model:Hubber", "did you mean 'HuberRegressor'"),
        ("sklearn.linear_model:Ridge(alfa=1)", "unexpected keyword argument 'alfa'"),
        ("sklearn.linear_model:Ridge(1)", "does not name a method"),
        ("sklearn.linear_model:Ridge(alpha=__import__('os'))", "plain values"),
        ("sklearn.linear_model:", "does not name a method"),
        ("fractions:Fraction", "has no fit"),
    ],
)
def test_what_is_no_method_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_method(text)


def test_a_module_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="ModuleNotFoundError: No module named 'no_such_package_at_all'"):
        load_method("broken_module:X")


def frame(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind, area = rng.choice(["a", "b"], n), rng.uniform(1, 9, n)
    return pd.DataFrame({"kind": kind, "area": area, "y": area + 5 * (kind == "b") + rng.normal(0, 0.1, n)})


def test_data_are_identified_by_their_content() -> None:
    table = frame()
    X, y = table[["kind", "area"]], table["y"]
    first = Data("t", X, y)
    assert first.sha256 == Data("t", X.copy(), y).sha256
    for other in (X.assign(area=X["area"] + 1e-9), X.rename(columns={"kind": "type"}), X.replace("a", "c")):
        assert Data("t", other, y).sha256 != first.sha256
    assert Data("t", X, y + 1e-9).sha256 != first.sha256
    numbers = X[["area"]]
    assert Data("t", numbers, y).sha256 == Data("t", numbers.to_numpy(), y).sha256
    dates = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=len(y))})
    assert Data("t", dates, y).sha256 != Data("t", dates + pd.Timedelta("1us"), y).sha256


def test_a_file_becomes_data(tmp_path: Path) -> None:
    table = frame()
    table.loc[3, "y"] = np.nan
    table.loc[5:11, "y"] = -999
    table.to_csv(tmp_path / "mine.csv.gz", index=False)
    data, remarks = load_data(tmp_path / "mine.csv.gz", "y", drop=["area"])
    assert data.name == "mine"
    assert list(data.X.columns) == ["kind"]
    assert len(data.y) == 80 - 1 - 7
    assert any("7 labels that probably stand for a missing value" in remark for remark in remarks)


def test_raw_columns_reach_any_method() -> None:
    pytest.importorskip("skrub")
    table = frame()
    data = Data("t", table[["kind", "area"]], table["y"])
    methods = [load_method("sklearn.linear_model:Ridge(alpha=0.01)"), load_method("levelhead:GCPRegressor")]
    theirs, ours = own_specs([data], methods, [0.0], [1])
    assert isinstance(theirs.estimator, TabularRegressor)
    assert isinstance(ours.estimator, GCPRegressor)
    assert run(theirs).measures["Ridge(alpha=0.01)"].rmse < 1  # the category is worth 5
    plain = Data("t", table[["area"]], table["y"])
    assert type(next(own_specs([plain], methods, [0.0], [1])).estimator).__name__ == "Ridge"


class MeansOnly(RegressorMixin, BaseEstimator):
    """Predicts no variance."""

    def fit(self, X, y):
        self.mean_ = np.median(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_levels_that_a_split_lacks_are_no_news() -> None:
    pytest.importorskip("skrub")
    X = pd.DataFrame({"a": np.arange(39.0), "rare": [f"level {k}" for k in range(39)]})
    method = load_method("sklearn.linear_model:Ridge")
    for spec in own_specs([Data("rare", X, np.arange(39.0))], [method], [0.0], [0, 1]):
        assert np.isfinite(run(spec).measures["Ridge"].rmse)  # warnings are errors here


def test_a_method_without_a_variance_has_the_measures_of_its_mean(data: Data, tmp_path: Path) -> None:
    spec = Spec(data, 0.1, "means", 1, MeansOnly())
    measures = run(spec).measures["means"]
    assert measures.rmse > 0
    assert measures.robust_r2 <= 0.5
    assert measures[1:5] == (None,) * 4
    run_study([spec], tmp_path / "s.db", show_progress=False)
    with Store(tmp_path / "s.db") as store:
        [row] = store.rows()
    assert (row.rmse, row.auc, row.coverage) == (measures.rmse, None, None)


def test_the_cost_is_estimated_from_three_runs_of_each_method(make_specs, tmp_path: Path) -> None:
    specs = make_specs(4, epochs=1)
    with Store(tmp_path / "s.db") as store:
        first = trials(specs, store)
        assert [spec.method for spec in first] == ["GCP"] * 3 + ["ridge"] * 3
        run_study(first, tmp_path / "s.db", show_progress=False)
        assert trials(specs, store) == []
        lines = costs(specs, store)
    assert [(line.method, line.runs, line.missing) for line in lines] == [("GCP", 8, 5), ("ridge", 8, 5)]
    for line in lines:
        assert line.left == 5 * line.seconds > 0
