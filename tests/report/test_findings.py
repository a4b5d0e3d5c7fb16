"""Segments, likely errors, explanations and data quality in the page, in a real browser."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from tests.report.conftest import HOSTILE, download, row, rows, shown

from levelhead.audits import Audit, Diagnosis, Segment, diagnose, explain, find_segments
from levelhead.report import audit_report
from levelhead.tables import repairs


class Found(NamedTuple):
    path: Path
    audit: Audit
    frame: pd.DataFrame
    place: np.ndarray
    truth: np.ndarray
    segments: list[Segment]
    diagnosis: Diagnosis


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """500 labels: ten are ten times too large, five have a changed sign, one sensor is shifted."""
    rng = np.random.default_rng(0)
    n = 500
    X = rng.uniform(20, 150, (n, 2)).round(1)
    mean = 200 + 9 * X[:, 0] + 2 * X[:, 1]
    truth = np.round(mean + 5 * rng.normal(size=n), 1)
    sensor = np.arange(n) % 20
    y = truth.copy()
    y[5:500:50] *= 10
    y[26:500:100] *= -1
    y[sensor == 7] += 60
    audit = Audit.from_residuals(y, mean, np.full(n, 25.0))
    frame = pd.DataFrame(
        {"area": X[:, 0], HOSTILE: X[:, 1], "sensor": [f"S{k} {HOSTILE}" for k in sensor], "rent": y}
    )
    segments = find_segments(audit, frame, skip=["rent"])
    diagnosis = diagnose(audit, segments=segments)
    inputs = frame[["area", HOSTILE]]
    explained = explain(
        lambda rows: 200 + 9 * rows["area"] + 2 * rows[HOSTILE], inputs, audit.issues[:5], inputs=X
    )
    path = tmp_path_factory.mktemp("findings") / "report.html"
    quality = [
        {
            "title": f"Gaps {HOSTILE}",
            "text": "Three cells are empty.",
            "examples": [f"row {k}" for k in range(20)],
        }
    ]
    object.__setattr__(audit, "warnings", [f"Too many labels look wrong. {HOSTILE}"])
    audit_report(
        audit, path, table=frame, target="rent", inputs=X, segments=segments, diagnosis=diagnosis,
        explanations=explained, quality=quality, log_scale=True,
    )  # fmt: skip
    return Found(path, audit, frame, np.arange(n), truth, segments, diagnosis)


@pytest.fixture
def page(watched: Any, found: Found) -> Any:
    window = watched(found.path, figures=True)
    yield window.page
    assert window.errors == []
    assert window.page.evaluate("window.harmed") is None


def test_the_page_says_where_and_what(page, found) -> None:
    assert page.inner_text(".warning").startswith("Not reliable: Too many labels look wrong.")
    assert [segment.columns for segment in found.segments] == [("sensor",)]
    text = page.inner_text("#findings")
    assert found.segments[0].text in text
    assert "factor of ten (10)" in text
    quality = page.inner_text("#quality")
    assert "Three cells are empty." in quality
    assert "and 12 more" in quality


def test_the_table_can_be_limited_to_a_kind_and_repaired_at_once(page, found) -> None:
    page.select_option("#kind", "factor of ten")
    assert shown(page) == 10
    assert rows(page, 5)[0].startswith("10 times too large (")
    page.click("#bulk summary")
    page.click("[data-bulk=repair]")
    assert "(fix 10)" in page.inner_text("#progress-text")
    _, text = download(page, "#download-decisions")
    made = pd.read_csv(io.StringIO(text))
    np.testing.assert_allclose(made["new_label"], found.truth[made["row"] - 1])
    page.select_option("#kind", "unknown")
    page.click("#bulk summary")
    page.click("[data-bulk=repair]")
    assert "(fix 10)" in page.inner_text("#progress-text")  # an unknown error has no repair


def test_decisions_of_the_page_are_applied_to_the_file(page, found, tmp_path) -> None:
    for kind in ("factor of ten", "sign", "segment shift"):
        page.select_option("#kind", kind)
        page.click("#bulk summary")
        page.click("[data-bulk=repair]")
    _, text = download(page, "#download-decisions")
    (tmp_path / "decisions.csv").write_text(text)
    found.frame.to_csv(tmp_path / "in.csv", index=False)
    made, target = repairs.read_decisions(tmp_path / "decisions.csv")
    merged = repairs.merge_decisions([made])
    repairs.repair(tmp_path / "in.csv", tmp_path / "out.csv", target, merged.decisions)
    clean = pd.read_csv(tmp_path / "out.csv")
    assert (np.abs(clean["rent"] - found.truth) < 15).all()
    assert (clean["sensor"] == found.frame["sensor"]).all()


def test_a_row_shows_its_likely_error_and_why(page, found) -> None:
    label = int(found.audit.issues[0])
    row(page, found, label).click()
    chip = page.locator(".chips button").first
    assert "Apply repair, 10 times too large (" in chip.inner_text()
    chip.click()
    assert float(page.input_value("#replacement")) == pytest.approx(found.truth[label])
    why = page.locator(".why")
    assert "area" in why.inner_text()
    assert why.locator("tbody tr").count() == 2
    assert page.locator("#detail .near tbody tr").count() == 7
    verdicts = page.locator("#detail .near tbody td:nth-child(4)").all_inner_texts()
    assert set(verdicts[1:]) == {"fully trusted"}
    assert page.locator("#detail .near td.differs").count() > 0


def test_a_segment_is_marked(page, found) -> None:
    page.wait_for_selector("#labels .main-svg")
    page.click("[data-segment='0']")
    assert shown(page) == len(found.segments[0].rows)
    assert page.get_attribute("[data-segment='0']", "aria-pressed") == "true"
    rings = page.evaluate("document.querySelector('#labels-figure').layout.shapes.length")
    assert rings >= len(found.segments[0].rows)
    page.click("[data-segment='0']")
    assert shown(page) == len(found.audit)


def test_axes_are_logarithmic(page, found) -> None:
    page.wait_for_selector("#labels .main-svg")
    top = page.evaluate("document.querySelector('#labels-figure')._fullLayout.yaxis.range[1]")
    assert np.log10(found.audit.given_label.max()) < top < 5
    ticks = page.locator("#labels .ytick").all_text_contents()
    assert "1000" in ticks or "2000" in ticks
