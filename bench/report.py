"""Size of the report of an audit, and the time until a reader can work with it.

    python bench/report.py [labels] [wrong]

Writes the page of 100,000 labels, 10,000 of them wrong, and opens it in chromium: time until the table responds
(from the start of navigation), until a click has made the first decision, until the first figure is drawn; and how long
it takes to show all rows, to sort them and to decide about all suspects.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from levelhead.audits import Audit
from levelhead.report import audit_report

RESULT = Path(__file__).parent / "results/report.json"
RUNS = 5
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def page_of(n: int, wrong: int, path: Path) -> float:
    """Write a page of a table with eight inputs, an id and a category; how many seconds it took."""
    rng = np.random.default_rng(0)
    X = rng.uniform(20, 150, (n, 8)).round(1)
    mean, std = 200 + 9 * X[:, 0] + 2 * X[:, 1], 10 + 0.2 * X[:, 0]
    y = mean + std * rng.normal(size=n)
    bad = rng.choice(n, wrong, replace=False)
    y[bad] += 20 * std[bad] * rng.normal(size=wrong)
    audit = Audit.from_residuals(y.round(2), mean + 0.1 * std, std**2, alpha=1 + rng.gamma(4.0, 1.0, n))
    table = {f"x{i}": column for i, column in enumerate(X.T)}
    table |= {
        "id": [f"row-{i}" for i in range(n)],
        "kind": rng.choice(["gas", "oil", "none"], n),
        "y": y.round(2),
    }
    began = time.perf_counter()
    audit_report(audit, path, table=table, target="y", id_column="id")
    return time.perf_counter() - began


def timed(page: Any, action: str) -> float:
    """Milliseconds that an action takes until the next frame is painted."""
    return page.evaluate(
        """async (action) => {
            const began = performance.now();
            const target = document.querySelector(action.split("|")[0]), value = action.split("|")[1];
            if (value === undefined) target.click();
            else { target.value = value; target.dispatchEvent(new Event("change")); }
            await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
            return performance.now() - began;
        }""",
        action,
    )


def visit(browser: Any, path: Path) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="commit")
    page.locator(".grid-row [data-decision=drop]").first.click()
    marked = page.evaluate("performance.now()")
    page.wait_for_selector("#labels .main-svg")
    drawn = page.evaluate("performance.now()")
    times = {
        "table ready": page.evaluate("performance.getEntriesByName('levelhead-ready')[0].startTime"),
        "first decision made": marked,
        "first figure": drawn,
        "all rows shown": timed(page, "#show|all"),
        "all rows sorted": timed(page, ".grid-head [role=columnheader]:nth-child(4) button"),
        "suspects decided": timed(page, "#show|wrong") + timed(page, "[data-bulk=drop]"),
    }
    context.close()
    return times


def main() -> None:
    from playwright.sync_api import sync_playwright

    n, wrong = (int(value) for value in (*sys.argv[1:], "100000", "10000")[:2])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        seconds = page_of(n, wrong, path)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
        visits = [visit(browser, path) for _ in range(RUNS)]
        browser.close()
        size = path.stat().st_size
    print(f"{n:,} labels, {wrong:,} wrong: {size / 1e6:.1f} MB, written in {seconds:.1f} s")
    print(f"median of {RUNS} visits (range)")
    for name in visits[0]:
        times = [one[name] for one in visits]
        print(f"{name:16} {statistics.median(times):6.0f} ms  ({min(times):.0f} to {max(times):.0f})")
    RESULT.write_text(json.dumps({"bytes": size, "seconds_to_write": seconds, "visits": visits}, indent=1))


if __name__ == "__main__":
    main()
