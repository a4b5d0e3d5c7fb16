"""Runs the Python blocks of the README and the manual as tests; in CI, a skipped test is a failure."""

import faulthandler
import gc
import os

# Small LAPACK calls must not wait for threads that other processes keep busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Without it scikit-learn skips its check with array API dispatch; it is read when scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["README.md", "docs/*.md", "docs/**/*.md"]
).pytest()


# Whole files that run programs, a browser, or long pages of the manual; single slow tests are marked where they stand.
_SLOW = (
    "docs/howto/",
    "docs/robust-head.md",
    "docs/study.md",
    "docs/tutorial.md",
    "tests/docs/",
    "tests/cli/test_commands.py",
    "tests/cli/test_promises.py",
    "tests/cli/test_study.py",
    "tests/report/test_look.py",
    "tests/report/test_workbench.py",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "compiled: needs the compiler on (left out by `make coverage`)")
    config.addinivalue_line("markers", 'slow: takes seconds (left out by `pytest -m "not slow"`)')


def pytest_collection() -> None:
    """Import five thousand tests and their libraries without searching them for garbage again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()  # all of that lives until the end
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before those with other marks are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(_SLOW):
            item.add_marker("slow")


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("LEVELHEAD_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        reporter.write_line("LEVELHEAD_NO_SKIPS is set and tests were skipped: that is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    """End within two minutes of the last test, whatever thread was left behind, and say where it stood."""
    faulthandler.dump_traceback_later(120, exit=True)
