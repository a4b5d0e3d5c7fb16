"""A person sees how far a study is, with rich or without."""

import io
import sys
from dataclasses import replace

import pytest

from levelhead.study import Data, progress, run_study
from levelhead.study.runs import attempt


@pytest.fixture
def outcome(make_specs):
    return attempt(make_specs(1)[1])


def test_lines_show_count_failures_and_time_left(make_specs, outcome):
    specs, file = make_specs(1), io.StringIO()
    lines = progress.Lines(specs, file, every=0.0)
    for spec in specs[:3]:
        lines.advance(spec, outcome)
    lines.advance(specs[3], outcome.__class__(**{**vars(outcome), "result": None, "error": "x"}))
    printed = file.getvalue().splitlines()
    assert printed[0].startswith("1/4 runs, ")
    assert printed[0].endswith("left; last: toy, λ = 0 %, GCP, split 0")
    assert printed[3].startswith("4/4 runs, 1 failed, 0 s left")


def test_time_left_knows_that_runs_differ(make_specs, outcome):
    """One of ten slow runs and one of ten fast ones are done: what is left is nine of each, not eighteen averages."""
    spec = make_specs(1)[1]
    kinds = {
        (d, m): replace(spec, method=m, dataset=Data(d, spec.dataset.X, spec.dataset.y))
        for d in "ab"
        for m in "sf"
    }
    specs = [replace(kinds[key], seed=k) for key in (("a", "s"), ("a", "f"), ("b", "f")) for k in range(10)]
    now = 0.0
    pace = progress.Pace(specs, lambda: now)
    assert pace.left() == 0
    for key, seconds in ((("a", "s"), 100.0), (("a", "f"), 1.0), (("a", "f"), 1.0)):
        pace.advance(kinds[key], replace(outcome, seconds=seconds))
    now = 51.0  # two workers
    left_of_a = (9 * 100 + 8 * 1) / 2
    assert pace.left("a") == pytest.approx(left_of_a)
    assert pace.left("b") == pytest.approx(10 * (100 + 1) / 2 / 2)  # not seen yet: as all kinds on average
    assert pace.left() == pytest.approx(pace.left("a") + pace.left("b"))


def test_lines_are_few_but_the_last_always_comes(make_specs, outcome):
    specs, file = make_specs(2), io.StringIO()
    lines = progress.Lines(specs, file)
    for spec in specs:
        lines.advance(spec, outcome)
    assert len(file.getvalue().splitlines()) == 1


def test_bars(make_specs, outcome, capsys):
    pytest.importorskip("rich")
    specs = make_specs(1)
    bars = progress.Bars(specs)
    for spec in specs:
        bars.advance(spec, outcome)
    bars.close()
    shown = capsys.readouterr().err
    assert "toy" in shown
    assert "all" in shown
    assert "4/4" in shown
    assert "0 s left" in shown


def test_rich_is_not_needed(make_specs, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert isinstance(progress.show(make_specs(1), True), progress.Lines)


@pytest.mark.compiled
def test_silence(tmp_path, make_specs, capfd):
    run_study(make_specs(1), tmp_path / "study.db", show_progress=False)
    assert capfd.readouterr() == ("", "")
    run_study(make_specs(2), tmp_path / "study.db")
    assert "4/4 runs" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (600, "10 min"), (7260, "2 h 01 min")]
)
def test_durations(seconds, text):
    assert progress.duration(seconds) == text
