"""The report in a real browser: what a reader sees, does and takes home."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.report.conftest import download, row, rows, shown

from levelhead.report.audit import verdicts

PANELS = ("labels", "scores", "probability", "spread", "alpha", "retention", "calibration")


def expected_rows(audited: Any, labels: Any) -> list[str]:
    return [str(audited.place[label] + 1) for label in labels]


def settled(page: Any, true: Callable[[], bool]) -> None:
    """Wait until it is so; the page's policy forbids what playwright would wait with."""
    for _ in range(5000):
        if true():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it never came about")


def test_it_says_in_plain_words_what_was_found(opened, audited) -> None:
    page = opened(figures=True)
    audit = audited.audit
    least, most = audit.standing_out_interval[0], audit.contamination_interval[1]
    flagged = audit.is_label_issue.sum()
    assert page.inner_text("h1") == f"{flagged} of 400 labels are flagged as probably wrong"
    assert (
        f"About {100 * audit.contamination:.1f}\u00a0% of the labels look wrong: "
        f"at least {100 * least:.1f}\u00a0% stand out, up to {100 * most:.1f}\u00a0% could be wrong"
    ) in page.text_content(".headline")
    tiles = page.inner_text(".tiles")
    assert f"flagged\n{flagged}\n" in tiles
    assert "rows judged\n400 of 402\n" in tiles
    for name in PANELS:
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{name} .main-svg")
    assert page.locator("#labels .point").count() >= 400
    assert page.text_content("#labels .ytitle") == "given rent"
    top = "document.querySelector('#labels-figure')._fullLayout.yaxis.range[1]"
    assert page.evaluate(top) > audited.audit.given_label.max()
    page.click("#closer")
    trusted = audited.audit.given_label[~audited.audit.is_label_issue].max()
    assert trusted < page.evaluate(top) < 1.2 * trusted
    page.click("#closer")
    assert page.evaluate(top) > audited.audit.given_label.max()


def test_the_most_suspect_come_first_and_columns_sort(opened, audited) -> None:
    page, audit = opened(), audited.audit
    issues = audit.issues
    assert shown(page) == len(issues)
    assert rows(page) == expected_rows(audited, issues)[: len(rows(page))]
    page.get_by_role("button", name="Given").click()
    down = issues[np.argsort(-audit.given_label[issues])]
    assert rows(page) == expected_rows(audited, down)[: len(rows(page))]
    assert page.get_attribute(".grid-head [aria-sort]", "aria-sort") == "descending"
    page.get_by_role("button", name="Given").click()
    assert rows(page)[0] == expected_rows(audited, down)[-1]
    page.get_by_role("button", name="Row", exact=True).click()
    assert rows(page)[:5] == expected_rows(audited, np.sort(issues))[:5]


def test_filters_and_search_narrow_the_table(opened, audited) -> None:
    page, audit = opened(), audited.audit
    issues, z = audit.issues, audit.z
    page.select_option("#side", "low")
    assert shown(page) == (z[issues] < 0).sum()
    page.select_option("#side", "any")
    page.select_option("#show", "all")
    assert shown(page) == len(audit)
    page.select_option("#show", "suspect")
    assert shown(page) == (audit.is_label_issue | (audit.p_outlier >= 0.025)).sum()
    page.fill("#search", f"f{issues[4]}")
    settled(page, lambda: rows(page) == expected_rows(audited, issues[4:5]))
    page.fill("#search", 'says "so"')
    settled(page, lambda: rows(page) == expected_rows(audited, issues[1:2]))
    page.fill("#search", "nowhere to be found")
    page.wait_for_selector(".grid-empty:visible")
    assert shown(page) == 0


def test_a_row_is_seen_in_the_figures_and_among_its_neighbours(opened, audited) -> None:
    page, label = opened(figures=True), audited.audit.issues[3]
    page.wait_for_selector("#labels .main-svg")
    row(page, audited, label).click()
    assert page.inner_text("#detail-title").startswith(f"Row {audited.place[label] + 1} (F{label})")
    inputs = audited.frame.loc[audited.place, ["area", "age", "floor", "noise"]].to_numpy(float)
    scaled = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    distance = np.linalg.norm(scaled - scaled[label], axis=1)
    distance[verdicts(audited.audit) > 0] = np.inf
    nearest = np.argsort(distance)[:6]
    near = page.locator("#detail .near tbody tr")
    assert near.locator("th").all_inner_texts() == expected_rows(audited, [label, *nearest])
    assert near.first.locator("td").last.inner_text() == f"F{label}"  # the id comes last
    rings = page.evaluate("document.querySelector('#labels-figure').layout.shapes.slice(1)")
    assert (rings[-1]["xanchor"], rings[-1]["yanchor"]) == (
        pytest.approx(audited.audit.predicted_label[label], abs=0.1),
        audited.audit.given_label[label],
    )
    assert len(rings) == 7
    near.nth(1).locator("button").click()
    assert page.inner_text("#detail-title").startswith(f"Row {audited.place[nearest[0]] + 1} ")


def test_a_click_on_a_point_chooses_its_row(opened, audited) -> None:
    page, audit = opened(figures=True), audited.audit
    page.wait_for_selector("#labels .main-svg")
    label = max(audit.issues, key=lambda label: audit.given_label[label])
    x, y = page.evaluate(
        """([x, y]) => {
            const figure = document.querySelector('#labels-figure'), box = figure.getBoundingClientRect();
            const { xaxis, yaxis } = figure._fullLayout;
            return [box.x + xaxis._offset + xaxis.l2p(x), box.y + yaxis._offset + yaxis.l2p(y)];
        }""",
        [audit.predicted_label[label], audit.given_label[label]],
    )
    page.mouse.move(x, y)
    page.wait_for_selector("#labels .hovertext")
    assert page.text_content("#labels .hovertext") == f"row {audited.place[label] + 1}, flagged"
    page.mouse.click(x, y)
    settled(page, lambda: page.inner_text("#detail-title").startswith(f"Row {audited.place[label] + 1} "))


def test_decisions_survive_a_reload_and_can_be_undone(opened, audited) -> None:
    page = opened()
    first, second = audited.audit.issues[:2]
    row(page, audited, first).locator("[data-decision=drop]").click()
    row(page, audited, second).locator("[data-decision=keep]").click()
    wrong = audited.audit.is_label_issue.sum()
    progress = f"2 of {wrong} decided (keep 1, drop 1)"
    assert page.inner_text("#progress-text") == progress
    page.reload()
    page.wait_for_selector('html[data-ready="yes"]')
    assert page.inner_text("#progress-text") == progress
    assert row(page, audited, first).locator("[data-decision=drop]").get_attribute("aria-pressed") == "true"
    page.select_option("#decided", "none")
    assert shown(page) == wrong - 2
    page.select_option("#decided", "any")
    row(page, audited, first).locator("[data-decision=drop]").click()  # once more takes it back
    assert page.inner_text("#progress-text") == f"1 of {wrong} decided (keep 1)"
    page.click("#undo")
    assert page.inner_text("#progress-text") == progress


def test_all_rows_shown_are_marked_at_once(opened, audited) -> None:
    page, z = opened(), audited.audit.z[audited.audit.is_label_issue]
    page.select_option("#side", "high")
    page.click("#bulk summary")
    page.click("[data-bulk=drop]")
    assert f"(drop {(z > 0).sum()})" in page.inner_text("#progress-text")
    page.click("#undo")
    assert page.inner_text("#progress-text") == f"0 of {len(z)} decided"


def test_numbers_have_the_digits_that_the_noise_leaves_meaningful(opened, audited) -> None:
    page, audit = opened(), audited.audit
    first = audit.issues[0]
    assert 10 < audit.std[first] < 100
    wanted = f"{audit.predicted_label[first]:,.0f} ± {audit.std[first]:.0f}"
    assert rows(page, 2)[0] == wanted
    assert f"expected {wanted}." in page.inner_text("#detail")
    row(page, audited, audit.issues[1]).locator("[data-decision=fix]").click()
    assert float(page.input_value("#replacement")) % 1 == 0 or audit.z[audit.issues[1]] > 0


def test_a_typo_is_suggested(opened, audited) -> None:
    page, audit = opened(), audited.audit
    tenfold = next(label for label in audit.issues if audit.z[label] > 0)
    row(page, audited, tenfold).click()
    page.locator(".chips button", has_text="÷ 10:").click()
    assert float(page.input_value("#replacement")) == pytest.approx(audit.given_label[tenfold] / 10)


def test_what_is_downloaded(opened, audited) -> None:
    page, audit = opened(), audited.audit
    first, second, third, fourth = audit.issues[:4]
    row(page, audited, first).locator("[data-decision=keep]").click()
    row(page, audited, second).locator("[data-decision=drop]").click()
    row(page, audited, third).locator("[data-decision=fix]").click()
    page.fill("#replacement", "-12.5")
    row(page, audited, fourth).locator("[data-decision=fix]").click()
    page.fill("#replacement", "12,5 kg")
    assert page.get_attribute("#replacement", "aria-invalid") == "true"
    page.fill("#replacement", "777")

    name, text = download(page, "#download-decisions")
    assert name == "flats-in-Essen-decisions.csv"
    made = pd.read_csv(io.StringIO(text)).set_index("row")
    places = audited.place[[first, second, third, fourth]] + 1
    assert made.index.tolist() == sorted(places)
    assert made.loc[places, "decision"].tolist() == ["keep", "drop", "fix", "fix"]
    assert made.loc[places[2:], "new_label"].tolist() == [-12.5, 777]
    assert made.loc[places[0], "id"] == "'=cmd()"
    assert set(made["column"]) == {"rent"}
    np.testing.assert_allclose(
        made.loc[places, "given_label"], audit.given_label[[first, second, third, fourth]]
    )
    np.testing.assert_allclose(
        made.loc[places, "z"], audit.z[[first, second, third, fourth]], rtol=2e-3, atol=2e-3
    )

    name, text = download(page, "#download-cleaned")
    assert name == "flats-in-Essen-cleaned.csv"
    cleaned = pd.read_csv(io.StringIO(text))
    wanted = audited.frame.copy()
    wanted.loc[audited.place[third], "rent"] = -12.5
    wanted.loc[audited.place[fourth], "rent"] = 777.0
    wanted.loc[audited.place[first], "id"] = "'=cmd()"
    wanted.loc[audited.place[third], "note"] = "'-1+2"
    wanted = wanted.drop(index=audited.place[second]).reset_index(drop=True).astype({"rent": float})
    cleaned.columns = wanted.columns
    pd.testing.assert_frame_equal(cleaned, wanted, check_dtype=False)


def test_it_works_without_a_mouse(opened, audited) -> None:
    page, audit = opened(), audited.audit
    press = page.keyboard.press
    for _ in range(40):
        press("Tab")
        if page.evaluate("document.activeElement.id") == "grid":
            break
    assert page.evaluate("document.activeElement.id") == "grid"
    press("ArrowDown")
    assert page.inner_text("#detail-title").startswith(f"Row {audited.place[audit.issues[0]] + 1} ")
    press("d")  # and on to the second
    press("k")  # and on to the third
    press("f")
    assert page.evaluate("document.activeElement.id") == "replacement"
    page.keyboard.type("42")
    press("Enter")
    assert page.evaluate("document.activeElement.id") == "grid"
    press("End")
    assert rows(page)[-1] == expected_rows(audited, audit.issues)[-1]
    assert page.inner_text("#detail-title").startswith(f"Row {audited.place[audit.issues[-1]] + 1} ")
    active = page.get_attribute("#grid", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "aria-selected") == "true"
    assert "(keep 1, fix 1, drop 1)" in page.inner_text("#progress-text")
    press("z")  # the whole of the fix, not its last digit
    assert "(keep 1, drop 1)" in page.inner_text("#progress-text")
    press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    press("d")
    assert "(keep 1, drop 2)" in page.inner_text("#progress-text")
    press("Escape")
    assert page.evaluate("document.activeElement.id") == "grid"
    press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type(str(audited.place[audit.issues[1]] + 1))
    press("ArrowDown")
    settled(page, lambda: shown(page) == 1)
    press("Home")
    press("u")
    assert row(page, audited, audit.issues[1]).locator("[aria-pressed=true]").count() == 0
