"""The manual's tables of the study are those of the committed results."""

from pathlib import Path

from levelhead.study.paper import pages

ROOT = Path(__file__).parents[2]


def test_the_committed_pages_are_up_to_date(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pages, "_figures", lambda *_: {})  # slow, and drawn by other fonts elsewhere
    written = pages.write_pages(ROOT / "results", tmp_path)
    assert len(written) == 6
    stale = [
        path.name
        for path in written
        if path.read_text(encoding="utf-8")
        != (ROOT / "docs" / "tables" / path.name).read_text(encoding="utf-8")
    ]
    assert stale == [], "run `make results`"
