"""The manual can be searched when it is opened from disk, without a network connection."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = f"""
site_name: small
use_directory_urls: false
theme: {{name: material, font: false}}
plugins: [search, offline]
hooks: ["{ROOT}/docs/hooks/offline.py"]
"""


def test_search_works_from_disk(tmp_path: Path) -> None:
    pytest.importorskip("material")
    pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    (tmp_path / "mkdocs.yml").write_text(CONFIG)
    page = tmp_path / "docs" / "howto" / "audit.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Audit\n\nThe share of wrong labels is called contamination.\n")
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    (tmp_path / "docs" / "assets").mkdir()
    shutil.copy(ROOT / "docs" / "assets" / "iframe-worker.js", tmp_path / "docs" / "assets")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q"], cwd=tmp_path, check=True)
    for written in (tmp_path / "site").rglob("*.html"):
        assert "unpkg.com" not in written.read_text("utf-8")
    with ThreadPoolExecutor(1) as thread:  # the browser of the report may be open in this one
        found = thread.submit(_found, program, (tmp_path / "site" / "howto" / "audit.html").as_uri())
    assert found.result() == 1


def _found(program: str, address: str) -> int:
    """How many pages a search for "contamination" finds, without a network connection."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_context(offline=True).new_page()
        opened.goto(address)
        opened.keyboard.press("/")
        opened.keyboard.type("contamination")
        opened.wait_for_selector(".md-search-result__item", timeout=300_000)
        count = opened.locator(".md-search-result__item").count()
        browser.close()
    return int(count)
