"""Tables as people have them, through the command line."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import levelhead
from levelhead import tables
from levelhead.datasets import ENVIRONMENT

pytestmark = pytest.mark.compiled


@pytest.mark.slow
def test_used_cars_are_audited_without_an_option(run, tmp_path: Path) -> None:
    path = Path(os.environ.get(ENVIRONMENT, "")) / "messy" / "used_cars.csv"
    if not path.is_file():
        pytest.skip(f"needs used_cars.csv in {ENVIRONMENT}")
    arguments = ("audit", path, "--target", "Price", "--estimator", "trees", "--members", 1)
    done = run(*arguments, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["labels_given"] == 892
    assert done.json["labels_judged"] == 857  # the others say "Ask For Price"
    assert any("Price '10,00,000' = 1000000" in remark for remark in done.json["remarks"])
    assert {"copies of rows", "spellings of one category"} <= {one["title"] for one in done.json["quality"]}
    page = (tmp_path / "levelhead-audit" / "report.html").read_text("utf-8")
    assert "Judged 857 of 892 labels." in page


def test_a_model_file_holds_what_was_learnt(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 10, 80).round(2)
    rows = [f"{a};{2 * a + rng.normal(0, 0.1):.2f} €".replace(".", ",") for a in x]
    (tmp_path / "preise.csv").write_text("x;preis\n" + "\n".join(rows), encoding="cp1252")
    fit = ("fit", "preise.csv", "-t", "preis", "-o", "m", "--estimator", "trees", "--members", 1)
    done = run(*fit, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "read as cp1252" in done.err
    assert "Fitted 80 of 80 rows" in done.out
    formats = levelhead.load(tmp_path / "m")[0]
    assert formats.columns_["x"].decimal == formats.target_["preis"].decimal == ","
    (tmp_path / "neu.csv").write_text("x;z\n3,221;a\n")
    (tmp_path / "new.csv").write_text("x,z\n3.221,a\n")
    assert run("predict", "m", "neu.csv", "-o", "a.csv", cwd=tmp_path).code == 0
    refused = run("predict", "m", "new.csv", "-o", "b.csv", cwd=tmp_path)
    assert refused.code == 1
    assert "--decimal 'x=" in refused.err
    assert run("predict", "m", "new.csv", "-o", "b.csv", "--decimal", ".", cwd=tmp_path).code == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert run("predict", "m", "neu.csv", "-o", "c.csv", "--decimal", ";", cwd=tmp_path).code == 1


def test_the_command_line_and_python_give_the_same_model(flats, call, tmp_path: Path) -> None:
    fit = ("fit", flats.path, "-t", "rent", "--drop", "id", "-o", tmp_path / "m", "--members", 1)
    done = call(*fit, "--estimator", "trees", "--scale", "linear", cwd=tmp_path)
    assert done.code == 0, done.err
    table = tables.training_table(flats.path, "rent", drop=["id"])
    ours = levelhead.GCPBoostingRegressor(n_members=1, random_state=0).fit(table.X, table.y)
    loaded = levelhead.load(tmp_path / "m")
    assert ours.columns_.columns[1].kind == "category"
    assert loaded[-1].columns_ == ours.columns_
    np.testing.assert_array_equal(
        loaded.predict(table.frame), ours.predict(table.formats.transform(table.frame))
    )


def test_predict_says_what_is_unlike_the_table_of_the_fit(call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = (f"{k % 28 + 1:02d}.03.2024;{'ab'[k % 2]}1;{rng.normal() + k % 2:.2f}" for k in range(80))
    (tmp_path / "a.csv").write_text("day;kind;y\n" + "\n".join(rows))
    fit = ("fit", "a.csv", "-t", "y", "-o", "m", "--estimator", "trees", "--members", 1)
    assert call(*fit, cwd=tmp_path).code == 0
    later = "day;kind\n02.04.2024;a1\n2024-04-03;b1\n2024-04-04;zürich\n2024-04-05\n?;b1\n6 May;b1\n"
    (tmp_path / "b.csv").write_bytes(later.encode("cp1252"))
    done = call("predict", "m", "b.csv", "-o", "out.csv", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    expected = [
        "the text was read as cp1252",
        "1 row with fewer cells than the header",
        "day: 1 cell that could not be read",
        "day: 3 dates read as year, month, day (%Y-%m-%d); the others are written as %d.%m.%Y",
        "kind: 1 cell with categories that were not there in the fit: 'zürich'",
    ]
    assert len(done.json["remarks"]) == len(expected)
    for words, remark in zip(expected, done.json["remarks"], strict=True):
        assert words in remark


def test_categories_of_a_model_from_python_stay_text(call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    zips = rng.choice(["01067", "50667", "80331"], 90)
    frame = pd.DataFrame({"zip": zips, "x": rng.normal(size=90)})
    y = np.where(zips == "01067", 5.0, 0.0) + 0.1 * rng.normal(size=90)
    model = levelhead.GCPBoostingRegressor(n_members=1, random_state=0).fit(
        frame.astype({"zip": "category"}), y
    )
    levelhead.save(model, tmp_path / "m")
    (tmp_path / "new.csv").write_text("zip,x\n01067,0.5\n50667,0.5\n99999,0.5\n")
    done = call("predict", "m", "new.csv", "-o", "out.csv", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    predicted = pd.read_csv(tmp_path / "out.csv")["mean"]
    assert predicted[0] > 4 > 1 > predicted[1]
    assert done.json["remarks"] == ["zip: 1 cell with categories that were not there in the fit: '99999'"]
