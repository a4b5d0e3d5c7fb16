"""A browser for the session, and the page of an audit whose answers are known."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

for package in ("jinja2", "plotly", "pandas"):
    pytest.importorskip(package)

import pandas as pd

from levelhead.audits import Audit
from levelhead.report import audit_report

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
HOSTILE = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'


class Audited(NamedTuple):
    path: Path
    audit: Audit
    frame: pd.DataFrame
    place: np.ndarray  # row of the frame of each label


def audited_table(n: int, wrong: int) -> tuple[Audit, pd.DataFrame]:
    """Labels with known means; half of the wrong ones are ten times too large, half far too low."""
    rng = np.random.default_rng(0)
    X = rng.uniform(20, 150, (n, 4)).round(1)
    mean, std = 200 + 9 * X[:, 0] + 2 * X[:, 1], 10 + 0.2 * X[:, 0]
    y = mean + std * rng.normal(size=n)
    bad = rng.choice(n, wrong, replace=False)
    y[bad[::2]] *= 10
    y[bad[1::2]] -= std[bad[1::2]] * rng.uniform(12, 40, len(bad[1::2]))
    y = y.round(2)
    audit = Audit.from_residuals(y, mean + 0.1 * std, std**2, alpha=1 + rng.gamma(4.0, 1.0, n))
    frame = pd.DataFrame(X, columns=["area", "age", "floor", "noise"])
    frame.insert(0, "id", [f"F{i}" for i in range(n)])
    frame["rent"] = y
    frame["note"] = "plain"
    return audit, frame


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """400 labels, 20 of them wrong; two rows of the table have no label, and some cells are hostile."""
    audit, labelled = audited_table(400, 20)
    first, second, third = audit.issues[:3]
    labelled.loc[first, "id"] = "=cmd()"
    labelled.loc[first, "note"] = HOSTILE
    labelled.loc[second, "note"] = 'says "so",\nand more'
    labelled.loc[third, "note"] = "-1+2"
    place = np.delete(np.arange(402), [7, 100])
    frame = labelled.astype({"rent": object}).set_axis(place).reindex(range(402))
    path = tmp_path_factory.mktemp("report") / "report.html"
    audit_report(
        audit,
        path,
        table=frame.rename(columns={"age": HOSTILE}),
        target="rent",
        rows=place,
        id_column="id",
        title=f"Labels of rent {HOSTILE}",
        file_name="data/flats in Essen.csv.gz",
        remarks=[HOSTILE],
    )
    return Audited(path, audit, frame, place)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=program, args=OPTIONS)
        yield chromium
        chromium.close()


class Watched(NamedTuple):
    page: Any
    errors: list[str]
    requests: list[str]


@pytest.fixture
def watched(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Opens a file in a window of its own, and writes down what the console says and what is asked for."""
    contexts = []

    def start(
        path: Path, figures: bool = False, ready: str = "ready", before: str = "", **options: Any
    ) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}} | options)
        context.set_default_timeout(300_000)  # only a page that hangs takes as long
        contexts.append(context)
        page = context.new_page()
        errors: list[str] = []
        requests: list[str] = []
        page.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.add_init_script(before)
        page.goto(path.as_uri())
        page.wait_for_selector(f"html[data-{ready}]" + ("[data-plotly]" if figures else ""))
        return Watched(page, errors, requests)

    yield start
    for context in contexts:
        context.close()


@pytest.fixture
def opened(watched: Callable[..., Watched], audited: Audited) -> Iterator[Callable[..., Any]]:
    """Opens the report; at the end, the console must be silent and nothing but the file have been asked for."""
    windows: list[Watched] = []

    def start(**options: Any) -> Any:
        windows.append(watched(audited.path, **options))
        return windows[-1].page

    yield start
    for window in windows:
        assert window.errors == []
        assert all(url.startswith((audited.path.as_uri(), "data:", "blob:")) for url in window.requests)
        assert window.page.evaluate("window.harmed") is None


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 100,000 labels, 10,000 of them wrong."""
    audit, frame = audited_table(100_000, 10_000)
    path = tmp_path_factory.mktemp("large") / "report.html"
    audit_report(audit, path, table=frame, target="rent", id_column="id")
    return path


def rows(page: Any, column: int = 0) -> list[str]:
    """The texts of a column, as far as it is in view."""
    return page.evaluate(
        """place => [...document.querySelectorAll('.grid-row')].filter(row => row.style.display !== 'none')
            .sort((a, b) => a.dataset.index - b.dataset.index).map(row => row.children[place].textContent)""",
        column,
    )


def shown(page: Any) -> int:
    return int(page.get_attribute("#grid", "aria-rowcount")) - 1


def row(page: Any, audited: Any, label: int) -> Any:
    number = str(audited.place[label] + 1)
    return page.locator(".grid-row:visible").filter(
        has=page.locator(f"xpath=./div[1][normalize-space()='{number}']")
    )


def download(page: Any, button: str) -> tuple[str, str]:
    with page.expect_download() as caught:
        page.click(button)
    return caught.value.suggested_filename, caught.value.path().read_bytes().decode()
