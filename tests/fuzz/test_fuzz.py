"""A short run of the fuzzer, and that it would notice what it looks for."""

import importlib
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("skrub")
pytest.importorskip("lightgbm")
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs Linux"),
]
ABORTS = "import os; print('ready', flush=True); input(); os.abort()"
HANGS = "import time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture
def module(monkeypatch):
    """A function that imports a module of this folder, as its scripts do."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return importlib.import_module


def test_mutated_files_are_refused_or_work(module):
    counts, findings = module("fuzz").run(range(240))
    assert findings == []
    assert counts.total() == 240
    assert min(counts["refused"], counts["works"]) >= 10
    assert counts["error in use"] <= 12


@pytest.mark.parametrize(("program", "what"), [(ABORTS, "crash"), (HANGS, "hang")])
def test_crashes_and_hangs_are_detected(module, program, what):
    worker = module("fuzz").Worker([sys.executable, "-c", program], seconds=0.5)
    try:
        assert worker.ask("network", 0)[0] == what
        assert worker.ask("network", 1)[0] == what  # in a new process
    finally:
        worker.stop()


@pytest.mark.parametrize(
    ("error", "what"),
    [(TypeError, "raw error in use"), (MemoryError, "raw error in use"), (ValueError, "error in use")],
)
def test_errors_are_detected(module, monkeypatch, error, what):
    def predict(_):
        raise error("no")

    worker = module("worker")
    monkeypatch.setattr(worker, "load", lambda _: types.SimpleNamespace(predict=predict))
    assert worker.outcome("path", None, None)[0] == what


def test_raw_errors_of_load_are_detected(module):
    assert module("worker").outcome("no such file", None, None)[0] == "raw error in load"
