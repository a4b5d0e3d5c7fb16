"""Models and audits of files: the same as on the command line, for a notebook."""

import doctest
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from levelhead import GCPBoostingRegressor, GCPRegressor, audit_file, fit_file, load, save
from levelhead.files import auditing, fitting
from levelhead.progress import report_progress

N, WRONG = 240, (11, 47, 160)
QUICK = {"estimator": "trees", "n_members": 1, "target_transform": None}


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    rng = np.random.default_rng(0)
    area, shop = rng.uniform(30, 120, N), rng.integers(0, 8, N)
    price = 100 * area + 50 * rng.normal(size=N)
    price[list(WRONG)] *= 10
    frame = pd.DataFrame({"code": [f"h{k}" for k in range(N)], "area": area.round(1), "shop": shop})
    path = tmp_path_factory.mktemp("homes") / "homes.csv"
    frame.assign(price=price.round(2)).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def result(homes):
    return audit_file(homes, "price", id_column="code", **QUICK)


@pytest.mark.parametrize("module", [auditing, fitting])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_wrong_labels_come_first_with_their_names(result):
    frame = result.to_frame()
    assert len(frame) == N
    assert set(frame["row"].head(3)) == {k + 1 for k in WRONG}
    assert set(frame["code"].head(3)) == {f"h{k}" for k in WRONG}
    assert "10 times too large" in set(frame["likely_error"].head(3))
    assert result.to_dict()["flagged_rows"] == frame["row"].head(3).tolist()
    first, *_ = result.summary().splitlines()
    assert first.startswith(f"Judged {N} of {N} labels.")


def test_it_is_short_in_a_notebook(result):
    assert repr(result) == "FileAudit('homes.csv', 'price': 3 of 240 labels flagged)"
    assert repr(result.fitted) == "FittedFile(240 rows, 2 features, trees)"
    assert result._repr_html_() == result.audit._repr_html_()


def test_it_is_what_the_command_line_does(result, homes, tmp_path):
    command = [
        sys.executable,
        "-m",
        "levelhead",
        "audit",
        homes,
        "-t",
        "price",
        "--id-column",
        "code",
        "--json",
    ]
    settings = ["--estimator", "trees", "--members", "1", "--scale", "linear", "-o", tmp_path / "out"]
    ran = subprocess.run([*command, *settings], capture_output=True, text=True, check=True)
    printed = json.loads(ran.stdout)
    files = printed.pop("files")
    assert [name.rpartition("/")[2] for name in files] == ["report.html", "labels.csv", "audit.png"]
    assert printed == json.loads(json.dumps(result.to_dict(), default=lambda array: array.tolist()))
    written = pd.read_csv(tmp_path / "out" / "labels.csv")
    np.testing.assert_array_equal(written["row"], result.to_frame()["row"])
    np.testing.assert_allclose(written["p_outlier"], result.to_frame()["p_outlier"], rtol=1e-12)


def test_the_page_is_written_once(result, tmp_path):
    path = result.report(tmp_path / "page.html")
    assert "Labels of price in homes.csv" in path.read_text(encoding="utf-8")
    with pytest.raises(FileExistsError):
        result.report(path)
    assert result.report(path, overwrite=True) == path


def test_a_fitted_model_judges_its_own_table(homes, tmp_path):
    fitted = fit_file(homes, "price", drop=["code"], **QUICK)
    again = load(save(fitted.model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(fitted.table.frame), fitted.model.predict(fitted.table.frame))
    judged = audit_file(homes, "price", model=again, drop=["code"])
    assert set(WRONG) <= set(judged.audit.issues)
    assert fitted.to_dict()["features"] == ["area", "shop"]
    assert 0 < fitted.to_dict()["contamination"] < 0.1


def test_a_model_of_no_file_cannot_read_one(homes):
    model = GCPRegressor(max_iter=2).fit(np.eye(30), np.arange(30.0))
    with pytest.raises(ValueError, match="does not hold the formats of its table"):
        audit_file(homes, "price", model=model)


def test_an_estimator_is_cloned_and_its_settings_are_kept(homes):
    trees = GCPBoostingRegressor(max_iter=30, random_state=3)
    fitted = fit_file(homes, "price", estimator=trees)
    assert fitted.model[-1].max_iter == 30
    assert not hasattr(trees, "n_features_in_")
    assert fitted.remarks[-2:] == ("Estimator: trees.", "Labels: linear scale, the default.")


def test_a_column_of_groups_is_no_feature(homes):
    fitted = fit_file(homes, "price", group="shop", drop=["code"], **QUICK)
    assert list(fitted.table.X.columns) == ["area"]
    with pytest.raises(ValueError, match="exclude each other"):
        fit_file(homes, "price", group="shop", time="area", **QUICK)


def test_progress_ends_with_segments(homes):
    seen = []
    with report_progress(lambda stage, share: seen.append((stage, share))):
        audit_file(homes, "price", **QUICK)
    assert any("trees" in stage for stage, _ in seen)
    assert seen[-1] == ("segments and kinds of errors", 1.0)


def test_too_few_labels(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,y\n" + "".join(f"{k},{k}\n" for k in range(5)))
    with pytest.raises(ValueError, match="5 rows with a label; an audit needs at least"):
        audit_file(path, "y")
