"""The page of a study: numbers of the table beside the paper's, figures that answer to their menus."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

from levelhead.contamination import Replaced
from levelhead.report import study_report
from levelhead.study.curves import Curve
from levelhead.study.paper.published import table1
from levelhead.study.store import Row

KIND = repr(Replaced())
HOSTILE = '<img src=x onerror="window.harmed=1">'


def rows() -> list[Row]:
    """Six splits at the paper's numbers; EnsGCP on Boston at 5 % far off, and a method with a hostile name."""
    rng, found = np.random.default_rng(0), []
    for (dataset, wrong, method), fact in table1().items():
        if dataset in ("boston", "yacht"):
            off = 5.0 if (dataset, wrong, method) == ("boston", 0.05, "EnsGCP") else 0.0
            for seed in range(6):
                jitter = 0.01 * rng.normal()
                rmse, auc = fact.rmse + off + jitter, fact.auc + jitter
                found.append(
                    Row(dataset, wrong, KIND, method, seed, rmse, auc, 2.5, 1.5, 0.9, 0.8, None, 1.0)
                )
    strange = [row._replace(method=HOSTILE) for row in found if row.method == "GCP"]
    return [*found, *strange]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.html"
    curves = [
        Curve("boston", wrong, KIND, method, 6, (3.0, 2.0 + wrong, 1.0))
        for wrong in (0.0, 0.05)
        for method in ("GCP", "EnsGCP")
    ]
    study_report(rows(), path, curves, title=f"A study {HOSTILE}")
    return path


def test_numbers_stand_beside_the_papers(written: Path) -> None:
    page = written.read_text()
    boston = re.search(r'aria-label="boston, RMSE".*?</table>', page, re.DOTALL)[0]
    line = re.search(r'<th scope="row">EnsGCP</th>(.*?)</tr>', boston)[1]
    cells = re.findall(r"<td>(.*?)</td>", line)
    assert len(cells) == 5
    assert cells[1].startswith("8.6")
    assert re.search(r'class="paper far">paper 3\.61, \+\d+\.\d SE<', cells[1])
    assert 'class="paper"' in cells[0]
    assert "<b>" not in cells[1]
    assert page.count("<details") == 4
    assert "boston, AUC" in page


def test_text_stays_text(written: Path) -> None:
    page = written.read_text()
    assert HOSTILE not in page
    assert "&lt;img src=x onerror=&#34;window.harmed=1&#34;&gt;" in page


def test_menus_hold_every_measure_and_contamination(written: Path) -> None:
    page = written.read_text()
    figure = lambda name: json.loads(re.search(rf'id="{name}-data">(.*?)</script>', page, re.DOTALL)[1])
    against = figure("against-0")
    [menu] = against["layout"]["updatemenus"]
    assert [b["label"] for b in menu["buttons"]] == ["RMSE", "AUC", "NLL", "CRPS", "coverage"]
    for button in menu["buttons"]:
        assert len(button["args"][0]["y"]) == len(against["data"])
    names = [trace["name"] for trace in against["data"]]
    ours = against["data"][names.index("EnsGCP")]
    assert ours["y"][1] == pytest.approx(table1()["boston", 0.05, "EnsGCP"].auc, abs=0.05)
    retention = figure("retention-0")
    [menu] = retention["layout"]["updatemenus"]
    assert [b["label"] for b in menu["buttons"]] == ["λ = 0 %", "λ = 5 %"]
    assert retention["data"][0]["y"] == [3.0, 2.05, 1.0]
    assert "retention-1" not in page  # Yacht has no curves here
    spread = figure("spread-1")
    assert len(spread["data"][0]["y"]) == 5 * 6


def test_nothing_to_show_and_files_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no finished runs to show"):
        study_report([], tmp_path / "x.html")
    (tmp_path / "x.html").write_text("mine")
    with pytest.raises(FileExistsError):
        study_report(rows(), tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text() == "mine"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(written: Path, watched, scheme: str) -> None:
    """Figures come into view, a menu changes one, nothing complains, nothing leaves the page."""
    window = watched(written, ready="plotly", color_scheme=scheme)
    page = window.page
    assert page.locator("details[open] table").count() == 2
    page.locator("#against-0").scroll_into_view_if_needed()
    page.wait_for_selector("#against-0-figure .updatemenu-header")
    before = page.evaluate("document.getElementById('against-0-figure').data[0].y[0]")
    page.locator("#against-0-figure .updatemenu-header").click()
    page.locator("#against-0-figure .updatemenu-dropdown-button", has_text="RMSE").click()
    page.wait_for_function(f"document.getElementById('against-0-figure').data[0].y[0] !== {before}")
    assert page.evaluate("document.getElementById('against-0-figure').data[0].y[0]") > before
    page.locator("#spread-1").scroll_into_view_if_needed()
    page.wait_for_selector("#spread-1-figure .boxlayer .trace")
    assert page.evaluate("window.harmed") is None
    assert window.errors == []
    assert all(url.startswith((written.as_uri(), "data:", "blob:")) for url in window.requests)
