"""A missing extra is named with a line that works, and that line is the same everywhere."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from levelhead import datasets
from levelhead._extras import available, install, needed
from levelhead.study.backends import finish
from levelhead.study.paper.theory_figures import phase_portraits

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "src", "examples", "bench") for path in (ROOT / folder).rglob("*.*")),
]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in PAGES
    if path.suffix in {".md", ".py", ".html", ".js"}
}


def test_a_library_that_is_there_is_returned() -> None:
    assert needed("json.decoder", "this test", "cli") is sys.modules["json.decoder"]


def test_a_missing_library_is_named_with_its_purpose_and_its_remedy() -> None:
    with pytest.raises(
        ImportError, match=r"this test needs no_such_library, .*pip install '\.\[cli\]' in a clone"
    ):
        needed("no_such_library.part", "this test", "cli")


def test_a_broken_library_raises_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("raise ImportError('built for another numpy')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"^built for another numpy$"):
        needed("broken_library", "this test", "cli")


def test_available_does_not_import() -> None:
    assert available("antigravity")
    assert not available("no_such_library")
    assert "antigravity" not in sys.modules


def test_a_figure_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"a figure needs matplotlib.*pip install '\.\[plot\]'"):
        phase_portraits()


def test_dask_without_distributed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"a Dask cluster needs distributed.*pip install '\.\[dask\]'"):
        list(finish([], "dask"))


def test_no_page_or_message_installs_from_an_index() -> None:
    assert "README.md" in TEXTS
    assert "src/levelhead/_extras.py" in TEXTS
    wrong = [name for name, text in TEXTS.items() if re.search(r"""install ['"]?levelhead""", text)]
    assert wrong == [], "levelhead is on no package index: write pip install '.[extra]'"


def test_only_one_module_words_the_line() -> None:
    worded = [name for name, text in TEXTS.items() if name.startswith("src/") and "pip install" in text]
    assert worded == ["src/levelhead/_extras.py"]
    assert install("cli").startswith("pip install '.[cli]'")


def test_every_extra_that_is_named_exists() -> None:
    named = {
        extra
        for text in TEXTS.values()
        for line in re.findall(r"install '\.\[([\w,-]+)\]'", text)
        for extra in line.split(",")
    }
    asked = {
        found
        for text in TEXTS.values()
        for found in re.findall(r'(?:needed|missing)\([^)]*, "(\w+)"\)', text)
    }
    assert {"cli", "torch"} <= named
    assert {"boosting", "plot"} <= asked
    assert named | asked <= set(PROJECT["optional-dependencies"])


def test_a_download_without_pooch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"downloaded data sets needs pooch.*pip install '\.\[datasets\]'"):
        datasets.user_cache()
    assert not any(line.startswith(("pooch", "requests")) for line in PROJECT["dependencies"])
