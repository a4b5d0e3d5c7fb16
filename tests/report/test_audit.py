"""What goes into the page of an audit, whatever the table is like."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from levelhead import metrics
from levelhead.audits import Audit
from levelhead.audits.neighbours import nearest
from levelhead.prediction.transforms import LogTransform
from levelhead.report import audit, audit_report, panels
from levelhead.report.rows import read_table


@pytest.fixture(scope="module")
def verdict() -> Audit:
    rng = np.random.default_rng(3)
    y = rng.normal(size=300)
    y[:9] += 30
    return Audit.from_residuals(y, np.zeros(300), np.ones(300), alpha=rng.uniform(1, 2, 300))


def payload(path: Path) -> dict[str, Any]:
    return json.loads(re.search(r'id="audit">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)[1])


def unpacked(part: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(part["zlib"])), dtype=f"<{part['dtype']}")


def lines(part: dict[str, Any]) -> list[str]:
    return zlib.decompress(base64.b64decode(part["zlib"])).decode().split("\n")


def test_columns_are_those_of_the_audit(verdict: Audit, tmp_path: Path) -> None:
    audit_report(verdict, tmp_path / "a.html")
    data = payload(tmp_path / "a.html")
    columns = {name: unpacked(part) for name, part in data["columns"].items() if part is not None}
    np.testing.assert_array_equal(columns["given"], verdict.given_label)
    np.testing.assert_allclose(columns["predicted"], verdict.predicted_label, atol=1e-3)
    np.testing.assert_allclose(columns["std"], verdict.std, rtol=1e-4)
    np.testing.assert_allclose(columns["p"], verdict.p_outlier, rtol=2e-3, atol=1e-7)
    np.testing.assert_array_equal(columns["verdict"] == 2, verdict.is_label_issue)
    in_doubt = (verdict.p_outlier >= 0.025) & ~verdict.is_label_issue
    np.testing.assert_array_equal(columns["verdict"] == 1, in_doubt)
    assert data["table"] is None
    assert data["all_labels"] is True


def test_labels_judged_on_a_logarithmic_scale_have_logarithmic_axes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(0, 3, 300)
    y = np.exp(mean + 0.1 * rng.normal(size=300))
    y[:3] *= 10
    judged = Audit.from_residuals(y, mean, 0.01, transform=LogTransform.of(y))
    audit_report(judged, tmp_path / "a.html")
    data = payload(tmp_path / "a.html")
    assert data["log_scale"] is True
    np.testing.assert_allclose(unpacked(data["columns"]["z"]), judged.z, rtol=1e-6)
    audit_report(judged, tmp_path / "b.html", log_scale=False)
    assert payload(tmp_path / "b.html")["log_scale"] is False


def test_the_digest_tells_reports_apart(verdict: Audit, tmp_path: Path) -> None:
    digests = set()
    for name, target in (("a", "y"), ("b", "y"), ("c", "z")):
        audit_report(verdict, tmp_path / f"{name}.html", target=target)
        digests.add(payload(tmp_path / f"{name}.html")["digest"])
    assert len(digests) == 2


@pytest.mark.parametrize("alpha", [None, np.full(200, 0.6)])
def test_an_audit_without_alpha_or_suspects_has_a_page_too(alpha: np.ndarray | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clean = Audit.from_residuals(
        rng.normal(size=200), np.zeros(200), np.ones(200), alpha=alpha, false_alarm_rate=0.001
    )
    assert not clean.is_label_issue.any()
    audit_report(clean, tmp_path / "a.html")
    assert payload(tmp_path / "a.html")["columns"]["alpha"] is None
    assert 'id="alpha"' not in (tmp_path / "a.html").read_text("utf-8")
    with pytest.raises(FileExistsError, match="overwrite"):
        audit_report(clean, tmp_path / "a.html")


def test_of_too_many_labels_the_page_holds_the_suspects(
    verdict: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MOST_ROWS", 100)
    x = np.arange(300.0)
    table = {"x": x, "y": verdict.given_label}
    audit_report(verdict, tmp_path / "a.html", table=table, target="y")
    data = payload(tmp_path / "a.html")
    assert data["all_labels"] is False
    assert "Of 300 labels, this page contains" in (tmp_path / "a.html").read_text("utf-8")
    place = unpacked(data["columns"]["place"])
    assert set(verdict.issues) <= set(place.tolist())
    assert len(place) < 300
    first = unpacked(data["near"]["rows"])[: data["near"]["each"]]
    trusted = np.flatnonzero(audit.verdicts(verdict) == 0)
    assert (
        place[first].tolist() == trusted[:6].tolist()
    )  # the first rows are wrong: the nearest trusted ones follow


def test_a_table_that_is_too_large_is_left_out_but_for_suspects(
    verdict: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.random.default_rng(0).bytes(300 * 40).hex()
    table = {
        "x": np.arange(300.0),
        "y": verdict.given_label,
        "text": [words[i * 80 : i * 80 + 80] for i in range(300)],
    }
    monkeypatch.setattr(audit, "_LARGEST_TABLE", 12_000)
    audit_report(verdict, tmp_path / "a.html", table=table, target="y")
    part = payload(tmp_path / "a.html")["table"]
    assert part["complete"] is False
    held = lines(part["lines"])
    assert len(held) == part["rows"] == 300
    assert json.loads(held[verdict.issues[0]])[2] == table["text"][verdict.issues[0]]
    assert "" in held
    monkeypatch.setattr(audit, "_LARGEST_TABLE", 100)
    audit_report(verdict, tmp_path / "a.html", table=table, target="y", overwrite=True)
    assert lines(payload(tmp_path / "a.html")["table"]["lines"]) == [""]


@pytest.mark.parametrize("kind", ["pandas", "polars", "dictionary"])
def test_any_frame_becomes_the_same_rows(kind: str) -> None:
    columns: dict[str, list[Any]] = {
        "y": [1.5, None, 1e-7],
        "name": ["a", None, 'say "hi"\n'],
        "count": [1, 2, 3],
        "flag": [True, False, True],
    }
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "dictionary": dict}[kind](columns)
    read = read_table(table, target="y", id_column="name")
    assert [json.loads(line) for line in read.lines()] == [
        ["1.5", "a", "1", "True"],
        ["", "", "2", "False"],
        ["1e-07", 'say "hi"\n', "3", "True"],
    ]
    assert read.numbers.tolist() == [[1, 1], [2, 0], [3, 1]]


def test_errors_say_what_is_wrong(verdict: Audit, tmp_path: Path) -> None:
    path, table = tmp_path / "a.html", {"y": verdict.given_label, "x": verdict.given_label}
    with pytest.raises(ValueError, match=r"no column 'z'; it has y, x"):
        audit_report(verdict, path, table=table, target="z")
    with pytest.raises(ValueError, match="range from 0 to 299 but the table has 200 rows"):
        audit_report(verdict, path, table={name: column[:200] for name, column in table.items()}, target="y")
    with pytest.raises(ValueError, match="give 300 rows of numbers"):
        audit_report(verdict, path, inputs=np.zeros((5, 2)))
    with pytest.raises(ValueError, match="one integer for each of 300"):
        audit_report(verdict, path, rows=[0.5] * 300)
    with pytest.raises(ValueError, match="differ in length"):
        audit_report(verdict, path, table={"y": verdict.given_label, "x": [1]}, target="y")
    assert list(tmp_path.iterdir()) == []


def test_neighbours_are_the_nearest_others() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(200, 3)) * [1, 100, 0.01]
    rows = np.array([5, 17])
    found = nearest(numbers, rows, 4)
    scaled = numbers / numbers.std(axis=0)
    for row, others in zip(rows, found, strict=True):
        distance = np.linalg.norm(scaled - scaled[row], axis=1)
        assert set(others) == set(np.argsort(distance)[1:5])
    numbers[3, 1] = np.nan
    assert row not in nearest(np.ones((50, 2)), rows[:1], 4)[0]  # rows that are all alike
    assert nearest(numbers, np.array([3]), 4).shape == (1, 4)
    assert nearest(numbers[:1], np.array([0]), 4).shape == (1, 0)


def test_curves_are_those_of_the_metrics(verdict: Audit) -> None:
    kinds = audit.verdicts(verdict)
    rows = np.arange(300)
    drawn = {
        panel.name: panel
        for panel in panels.of_audit(verdict, kinds, rows.astype(np.int32), rows + 1, "y <b>")
    }
    every, kept, best = drawn["retention"].figure["data"]
    y, mean, var = verdict.given_label, verdict.predicted_label, verdict.std**2
    np.testing.assert_allclose(every["y"], metrics.retention_curve(y, mean, var))
    clean = ~verdict.is_label_issue
    np.testing.assert_allclose(kept["y"], metrics.retention_curve(y[clean], mean[clean], var[clean]))
    np.testing.assert_allclose(best["y"], metrics.oracle_curve(y[clean], mean[clean]))
    curve = metrics.calibration_curve(y, mean, var, sample_weight=verdict.label_quality)
    np.testing.assert_allclose(drawn["calibration"].figure["data"][1]["y"], curve.observed)
    assert sum(bar["y"].sum() for bar in drawn["probability"].figure["data"]) == 300
    assert "given y &lt;b&gt;" in json.dumps(drawn["labels"].figure["layout"])


def test_points_that_would_lie_on_others_are_left_out() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50_000))
    kept = panels.thinned(x, y, 1200)
    assert len(kept) == len(set(kept)) == 1200
    alike = np.r_[np.zeros(9000), 1.0]
    assert set(panels.thinned(alike, alike, 1200)) == {0, 9000}
    assert panels.thinned(x[:10], y[:10], 10).tolist() == list(range(10))
