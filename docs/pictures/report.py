"""Draws the picture of the report: `python docs/pictures/report.py`.

The report is that of the tutorial's table, in the browser that is installed (chromium).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1]
SIZE = {"width": 1360, "height": 900}


def write_report(folder: Path) -> Path:
    """Write the tutorial's table into a folder, audit it with the tutorial's command, and return the report."""
    page = (DOCS / "tutorial.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    command = re.search(r"^\$ levelhead (audit .*)$", page, re.MULTILINE)
    if code is None or command is None:
        raise ValueError("docs/tutorial.md has no table or no audit")
    os.chdir(folder)
    exec(code[1], {})
    program = [sys.executable, "-c", "from levelhead.cli import main; main()", *command[1].split()]
    subprocess.run(program, check=True, cwd=folder)
    return folder / "levelhead-audit" / "report.html"


def draw(report: Path, picture: Path) -> None:
    """Save what a reader sees first."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready][data-plotly] #labels .main-svg")
        page.wait_for_timeout(1000)  # for the last figure in view
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    picture = DOCS / "assets" / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        draw(write_report(Path(folder)), picture)
    print(f"wrote {picture}")
