"""Tables of the manual that come from bench/ are those of the runs stored there."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def bench(name: str, patch: pytest.MonkeyPatch) -> ModuleType:
    patch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module(name)


def test_the_committed_tables_are_those_of_the_stored_runs(monkeypatch) -> None:
    eleven, without = (bench(name, monkeypatch) for name in ("eleven", "without"))
    pages = eleven.pages(eleven.read(eleven.RESULT))
    pages["without_tables"] = without.table(without.read(without.RESULT))
    committed = {name: (ROOT / f"docs/tables/{name}.md").read_text(encoding="utf-8") for name in pages}
    stale = [name for name, text in pages.items() if committed[name] != f"{text}\n"]
    assert stale == [], "run `python bench/eleven.py --table` and `python bench/without.py --table`"


def test_the_committed_audits_are_those_of_the_stored_runs(monkeypatch) -> None:
    audits = bench("audits", monkeypatch)
    simulated, in_loop, planted = (
        audits.read(part.RESULT) for part in (audits, audits.in_loop, audits.planted)
    )
    pages = {
        audits.PAGE: audits.page(simulated),
        audits.in_loop.PAGE: audits.page(in_loop, groups=("all",)),
        audits.planted.PAGE: "\n".join(audits.planted.page(planted)),
    }
    stale = [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != f"{text}\n"]
    assert stale == [], "run `python bench/audits.py --table`, also with --in-loop and --planted"


def test_the_committed_times_are_those_of_the_stored_run(monkeypatch) -> None:
    pytest.importorskip("skrub")
    latency = bench("latency", monkeypatch)
    assert latency.PAGE.read_text(encoding="utf-8") == latency.page(json.loads(latency.RESULT.read_text()))


def test_clean_labels_show_every_method_that_has_all_splits(monkeypatch) -> None:
    """No selection of baselines by their results."""
    eleven = bench("eleven", monkeypatch)
    cells = eleven.summary.cells_of(eleven.read(eleven.RESULT), 2000)
    judged = [cell for key, cell in eleven.summary.parts(cells)["judged"].items() if key[1] == "clean"]
    complete = {m for m in judged[0] if all(set(cell["auto"]) <= set(cell.get(m, ())) for cell in judged)}
    assert complete == set(eleven.summary.SHOWN["clean"])
