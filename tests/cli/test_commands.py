"""The commands as a user runs them: processes of their own that read and write files."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import levelhead
from levelhead import metrics, tables
from levelhead.cli.app import app

pytestmark = pytest.mark.compiled  # a process of its own takes ages without the compiler


def test_audit_finds_planted_errors(flats, run, tmp_path: Path) -> None:
    arguments = ("audit", flats.path, "--target", "rent", "--id-column", "id", "--seed", 1)
    done = run(*arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(r"About \d\.\d% of 498 labels look wrong \(", done.out)
    assert "left out 1 row whose label is not a number: row 4 ('on request')" in done.err
    assert "left out 1 row without a label: row 6" in done.err
    assert "\x1b" not in done.out + done.err
    ranked = pd.read_csv(tmp_path / "levelhead-audit" / "labels.csv")
    assert len(ranked) == 498
    assert ranked["is_label_issue"].is_monotonic_decreasing
    found = ranked[ranked["is_label_issue"]]
    assert flats.wrong_rows <= set(found["row"])
    assert len(found) <= len(flats.wrong_rows) + 4
    assert found["p_outlier"].is_monotonic_decreasing
    spoilt = flats.frame.iloc[found["row"] - 1]
    np.testing.assert_allclose(found["given_label"], spoilt["rent"].str.replace(",", "").astype(float))
    assert "'=cmd()" in set(found["id"])
    tenfold = ranked[ranked["row"].isin(flats.wrong_rows)]
    tenfold = tenfold[tenfold["likely_error"] == "10 times too large"]
    assert len(tenfold) >= len(flats.wrong_rows) - 4  # the others are three deviations from a tenth
    np.testing.assert_allclose(tenfold["repaired_label"], tenfold["given_label"] / 10)
    assert "Likely kinds of error among " in done.out
    assert (tmp_path / "levelhead-audit" / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in (tmp_path / "levelhead-audit").iterdir()) == [
        "audit.png",
        "labels.csv",
        "report.html",
    ]
    page = (tmp_path / "levelhead-audit" / "report.html").read_text("utf-8")
    assert "<title>Labels of rent in flats.csv</title>" in page
    assert "left out 1 row without a label: row 6" in page

    again = run(*arguments, cwd=tmp_path)
    assert again.code == 1
    assert again.err.strip() == (
        "levelhead: levelhead-audit/report.html exists; give another path, or --force to replace it"
    )

    forced = run(*arguments, "--force", "--json", cwd=tmp_path)
    assert forced.code == 0, forced.err
    assert forced.json["labels"] == 498
    assert forced.json["flagged_rows"] == found["row"].tolist()  # the same seed, the same verdict
    assert forced.json["kinds"]["factor of ten"] == len(tenfold)
    assert isinstance(forced.json["segments"], list)
    low, high = forced.json["contamination_interval"]
    assert low <= forced.json["contamination"] <= high


def test_repairs_are_judged_by_the_model_that_is_there(flats, model, run, tmp_path: Path) -> None:
    arguments = ("--target", "rent", "--model", model, "--json")
    before = run("audit", flats.path, *arguments, "--out", "before", cwd=tmp_path)
    assert before.code == 0, before.err
    assert flats.wrong_rows <= set(before.json["flagged_rows"])
    labels = pd.read_csv(tmp_path / "before" / "labels.csv").set_index("row").loc[sorted(flats.wrong_rows)]
    decisions = pd.DataFrame(
        {"given_label": labels["given_label"], "decision": "fix", "new_label": labels["given_label"] / 10}
    )
    decisions.assign(column="rent").to_csv(tmp_path / "decisions.csv")
    applied = run("apply", flats.path, "decisions.csv", "--out", "clean.csv", cwd=tmp_path)
    assert applied.code == 0, applied.err
    after = run("audit", "clean.csv", *arguments, "--out", "after", cwd=tmp_path)
    assert after.code == 0, after.err
    assert not flats.wrong_rows & set(after.json["flagged_rows"])
    assert after.json["labels"] == before.json["labels"]


@pytest.mark.parametrize("kind", ["network", "trees"])
def test_the_estimator_can_be_chosen(
    kind: str, flats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("fit", str(flats.path), "-t", "rent", "--drop", "id", "-o", "m", "--members", "1", "--json")
    done = CliRunner().invoke(app, [*arguments, "--estimator", kind])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["estimator"] == {"network": "networks", "trees": "trees"}[kind]
    classes = {"network": levelhead.GCPRegressor, "trees": levelhead.GCPBoostingRegressor}
    assert isinstance(levelhead.load("m")[-1], classes[kind])


@pytest.mark.parametrize("kind", ["trees", "auto"])
def test_a_time_budget_keeps_the_kind_of_model(flats, tmp_path: Path, kind: str) -> None:
    arguments = ["fit", str(flats.path), "-t", "rent", "-o", str(tmp_path / "m"), "--estimator", kind]
    done = CliRunner().invoke(app, [*arguments, "--time-budget", "2", "--members", "1"])
    assert done.exit_code == 0, done.stderr
    model = levelhead.load(tmp_path / "m")[-1]
    assert type(model).__name__ == {"trees": "GCPBoostingRegressor", "auto": "AutoRegressor"}[kind]
    assert 0 < model.time_limit <= 2


def test_the_demo_shows_what_the_method_is_worth(run, tmp_path: Path) -> None:
    done = run("demo", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    ours, plain = done.json["models"].values()
    assert ours["rmse_to_true_mean"] < 0.5 * plain["rmse_to_true_mean"]
    assert abs(ours["predicted_over_true_std"] - 1) < 0.25 < plain["predicted_over_true_std"] - 1
    labels = done.json["labels"]
    assert labels["correctly_flagged"] >= 0.8 * labels["wrong"]
    table = pd.read_csv(tmp_path / "levelhead-demo" / "labels.csv")
    assert table["is_wrong"].sum() == labels["wrong"]
    assert table["is_label_issue"].sum() == labels["flagged"]
    picture = (tmp_path / "levelhead-demo" / "demo.svg").read_text()
    assert picture.startswith("<?xml")
    assert "Date" not in picture
    page = (tmp_path / "levelhead-demo" / "report.html").read_text("utf-8")
    for name in ("figure-labels", "figure-means", "figure-deviations", "labels", "retention"):
        assert f'id="{name}-figure"' in page


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_answers_every_row(ending: str, flats, model: Path, run, tmp_path: Path) -> None:
    done = run("predict", model, flats.path, "--out", f"answers.{ending}", "--coverage", 0.8, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out == f"Wrote 500 predictions to answers.{ending}.\n"
    path = tmp_path / f"answers.{ending}"
    answers = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert list(answers.columns) == ["row", "mean", "std", "lower", "upper", "alpha"]
    assert answers["row"].tolist() == list(range(1, 501))
    frame = tables.read(flats.path)[["area", "heating", "listed"]]
    expected = metrics.predict_dist(levelhead.load(model), frame)
    np.testing.assert_allclose(answers["mean"], expected.mean, rtol=1e-12)
    np.testing.assert_allclose(answers["upper"], expected.interval(0.8).upper, rtol=1e-12)
    np.testing.assert_allclose(answers["alpha"], expected.alpha, rtol=1e-12)


def test_predict_reads_new_tables_by_what_was_learnt(flats, model: Path, run, tmp_path: Path) -> None:
    frame = flats.frame[["heating", "listed", "area", "id"]].iloc[:40].copy()
    frame.loc[7, "heating"] = "a new kind"
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.assign(area=frame["area"].map(lambda a: str(a).replace(".", ","))).to_csv(
        tmp_path / "neu.csv.gz", index=False, sep=";", encoding="cp1252"
    )
    refused = run("predict", model, "neu.csv.gz", "--out", "out.csv", cwd=tmp_path)
    assert refused.code == 1
    assert "decimal mark '.'" in refused.err
    assert "--decimal 'area=,'" in refused.err
    answers = []
    for name, *options in (("new.csv",), ("neu.csv.gz", "--decimal", ",")):
        arguments = ("predict", model, name, "--out", "out.csv", "--id-column", "id", "--force", *options)
        done = run(*arguments, cwd=tmp_path)
        assert done.code == 0, done.err
        answers.append(pd.read_csv(tmp_path / "out.csv"))
    assert answers[0]["id"].tolist() == frame["id"].str.replace("=", "'=").tolist()
    pd.testing.assert_frame_equal(*answers)


def test_evaluate_measures_the_model(held_out: pd.DataFrame, model: Path, run, tmp_path: Path) -> None:
    held_out.to_csv(tmp_path / "clean.csv", index=False)
    done = run("evaluate", model, "clean.csv", "--target", "rent", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    measures = done.json["measures"]
    assert done.json["rows"] == 400
    assert measures["rmse"] < 30  # the noise is 15
    assert measures["robust_r2"] > 0.98
    assert measures["calibration_error"] < 0.1
    for share in done.json["coverage"]:
        assert abs(share["observed"] - share["expected"]) < 0.15
    curve = done.json["retention_curve"]
    assert len(curve) == 400
    assert curve[0] == pytest.approx(measures["rmse"])

    read = run("evaluate", model, "clean.csv", "--target", "rent", cwd=tmp_path)
    assert read.code == 0
    assert re.search(rf"rmse +{measures['rmse']:.4g} +root mean squared error", read.out)
    assert "Coverage of the intervals" in read.out
    assert "left out" in read.out


def test_fit_tells_machines_what_it_did(flats, run, tmp_path: Path) -> None:
    done = run(
        *("fit", flats.path, "-t", "rent", "-o", "m.levelhead", "--drop", "id", "--members", 1),
        *("--time-budget", 1, "--json"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    assert done.json["rows"] == 498
    assert done.json["features"] == ["area", "heating", "listed"]
    assert done.json["files"] == ["m.levelhead"]
    assert levelhead.load(tmp_path / "m.levelhead")[-1].n_members == 1


def test_doctor_knows_where_things_are(run, tmp_path: Path) -> None:
    done = run("doctor", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["versions"]["levelhead"] == levelhead.__version__
    assert set(done.json["kernels"]["compiled"].values()) <= {"compiled", "not yet compiled"}
    assert done.json["kernels"]["compiled"]["train_epochs"] == "compiled"  # the tests before have trained
    assert done.json["extras"]["cli"]["pandas"] == pd.__version__
    assert {"numpy", "numba", "scikit-learn"} <= set(done.json["versions"])
    assert {"cli", "tables", "plot", "torch"} <= set(done.json["extras"])
    assert list(done.json["extras"]["torch"]) == ["torch"]  # not what only its developers need
    read = run("doctor", cwd=tmp_path)
    assert read.code == 0
    assert f"python         {done.json['versions']['python']}" in read.out


def test_help_is_quick_and_complete(run, tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    assert done.code == 0
    for name in ("demo", "audit", "fit", "predict", "evaluate", "doctor"):
        assert re.search(rf"\b{name}\b", done.out)
        page = run(name, "--help", cwd=tmp_path).out
        assert f"levelhead {name}" in page
        assert "Examples:" in page
        assert "<bool>" not in page  # flags are shown as flags
    assert run("--version", cwd=tmp_path).out == f"levelhead {levelhead.__version__}\n"


def test_help_loads_no_library_for_tables_or_models() -> None:
    heavy = ["pandas", "polars", "sklearn", "scipy", "numba", "lightgbm", "joblib", "matplotlib"]
    loads = f"""
import sys
from typer.testing import CliRunner
from levelhead.cli.app import app
assert CliRunner().invoke(app, ["audit", "--help"]).exit_code == 0
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_manual_shows_every_option() -> None:
    """What it shows of their output is compared in tests/docs/test_console.py."""
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    shown = re.findall(r"^\$ levelhead (.*)$", page, flags=re.MULTILINE)
    assert [line.split()[0] for line in shown] == ["audit", "apply", "fit", "predict", "evaluate"]
    for name, command in get_command(app).commands.items():
        for option in (
            option for parameter in command.params for option in parameter.opts if len(option) > 2
        ):
            general = ("--target", "--out", "--debug", "--help", "--id-column")
            assert option in page or option in general or not option.startswith("--"), (name, option)
