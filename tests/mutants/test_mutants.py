"""The list of planted bugs fits the sources, and its runner tells noticed ones from others."""

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
AREAS = {"theory", "losses", "engine", "estimators", "auditing", "tables", "clients"}


def _runner():
    spec = importlib.util.spec_from_file_location("levelhead_mutants", HERE / "run.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = _runner()
MUTANTS = run.load()


def test_there_are_many_in_every_area_and_each_has_its_own_name():
    assert len(MUTANTS) >= 60
    assert {mutant.area for mutant in MUTANTS} == AREAS
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


@cache
def names_in(path):
    nodes = ast.walk(ast.parse((PROJECT / path).read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_can_be_planted_and_its_tests_are_there(mutant):
    source = (PROJECT / "src" / "levelhead" / mutant.file).read_text(encoding="utf-8")
    planted = mutant.planted(source)
    assert planted != source
    ast.parse(planted)
    assert mutant.tests
    for test in mutant.tests:
        path, *names = test.partition("[")[0].split("::")
        assert set(names) <= names_in(path)


# ---------------------------------------------------------------------- the runner, on a project of its own

SUM = "def add(a, b):\n    return a + b\n"
TESTS = """
import time
from levelhead.sums import add

def test_sum():
    assert add(1, 2) == 3

def test_nothing():
    assert add(0, 0) == 0

def test_end():
    while add(1, 1) != 2:
        time.sleep(0.1)
"""
LIST = """
[[mutant]]
name = "{name}"
file = "sums.py"
find = 'a + b'
replace = '{replace}'
tests = ["tests/test_sums.py::{test}"]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # which takes longer than its tests
    package = tmp_path / "project" / "src" / "levelhead"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sums.py").write_text(SUM)
    (tmp_path / "project" / "tests").mkdir()
    (tmp_path / "project" / "tests" / "test_sums.py").write_text(TESTS)
    return tmp_path / "project"


def called(project, *entries):
    lists = project.parent
    text = "".join(LIST.format(name=n, replace=r, test=t) for n, r, t in entries)
    (lists / "sums.toml").write_text(text)
    options = {"project": project, "lists": lists, "results": lists / "results"}
    command = [sys.executable, HERE / "run.py", *(f"--{name}={value}" for name, value in options.items())]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_tests_that_never_end_count_as_detection(project, tmp_path):
    copy = run.Copy(project, tmp_path / "copy", timeout=2)
    result = copy.judge(
        run.Mutant("sums", "endless", "sums.py", "a + b", "a - b", ("tests/test_sums.py::test_end",))
    )
    assert (result.outcome, result.output) == ("killed", "no end within 2 s")
    assert (tmp_path / "copy" / "src" / "levelhead" / "sums.py").read_text() == SUM


@pytest.mark.slow
def test_a_bug_that_no_test_detects_is_named_and_results_are_kept(project):
    entries = [("minus", "a - b", "test_sum"), ("times", "a * b", "test_nothing")]
    done = called(project, *entries)
    assert done.returncode == 1
    assert "survived: times" in done.stdout
    assert "1 of 2 mutants killed (50%" in done.stdout
    again = called(project, *entries)
    assert again.stdout.count("killed") == 1  # nothing is run again, only the summary is
    (project / "tests" / "test_sums.py").write_text(TESTS.replace("add(0, 0) == 0", "add(0, 2) == 2"))
    assert called(project, *entries).returncode == 0  # new tests, new results


@pytest.mark.slow
def test_a_module_that_cannot_be_imported_is_an_error_and_no_kill(project):
    done = called(project, ("typo", "a +", "test_sum"))
    assert done.returncode == 1
    assert "error: typo" in done.stdout


@pytest.mark.slow
def test_nothing_is_planted_before_all_tests_pass(project):
    (project / "src" / "levelhead" / "sums.py").write_text(SUM.replace("a + b", "a + b + 1"))
    done = called(project, ("minus", "a + b", "test_sum"))
    assert done.returncode == 1
    assert "tests do not pass" in done.stderr


def test_a_pattern_must_be_found_once():
    mutant = run.Mutant("losses", "x", "losses.py", "a", "b", ())
    with pytest.raises(ValueError, match="2 times; needed: once"):
        mutant.planted("a a")
