"""Audits and fits of tables that are larger than --memory, by the command line."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

pytest.importorskip("lightgbm")

from levelhead import load
from levelhead.cli import screen

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
N = 5000
LITTLE = ("--memory", "2MB", "--estimator", "trees", "--scale", "linear", "--members", "1")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["u", "v"], N)
    clean = 2 * np.sin(2 * frame["a"]) + frame["b"].abs() + 1.5 * (frame["kind"] == "u")
    wrong = rng.random(N) < 0.05
    frame["y"] = clean + 0.2 * rng.normal(size=N) + np.where(wrong, rng.choice([-5.0, 5.0], N), 0.0)
    frame.insert(0, "name", [f"r{k}" for k in range(N)])
    path = tmp_path_factory.mktemp("large") / "table.parquet"
    frame.to_parquet(path)
    return path, frame, wrong


def command(*arguments):
    return [sys.executable, "-m", "levelhead", *map(str, arguments)]


def run(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def audited(planted, tmp_path_factory):
    out = tmp_path_factory.mktemp("audit") / "out"
    ran = run("audit", planted[0], "-t", "y", "--id-column", "name", "-o", out, *LITTLE, "--json")
    assert ran.returncode == 0, ran.stderr
    return out, json.loads(ran.stdout)


def test_an_audit_in_pieces_writes_all_labels_and_says_what_it_did(audited, planted):
    out, said = audited
    _, frame, wrong = planted
    assert said["in_pieces"]
    assert (said["labels_given"], said["labels_judged"]) == (N, N)
    assert said["sample_rows"] == 2000
    assert "2,000 of 5,000 rows" in said["remarks"][0]
    labels = pd.read_parquet(out / "labels.parquet")
    np.testing.assert_array_equal(labels["row"], np.arange(1, N + 1))
    np.testing.assert_array_equal(labels["name"], frame["name"])
    np.testing.assert_array_equal(labels["given_label"], frame["y"])
    flagged = labels["is_label_issue"].to_numpy()
    assert said["flagged"] == flagged.sum()
    assert wrong[flagged].mean() > 0.85
    assert flagged[wrong].mean() > 0.85
    assert set(said["flagged_rows"]) == set(labels["row"][flagged])
    assert said["flagged_rows_are_complete"]
    assert list(said["stage_seconds"])[-2:] == ["writing the labels", "writing the report"]
    assert all(seconds >= 0 for seconds in said["stage_seconds"].values())
    assert not (out / "stages").exists()
    assert (out / "audit.png").stat().st_size > 10_000


def test_the_page_shows_rows_by_their_numbers_in_the_file(audited, planted):
    out, said = audited
    page = (out / "report.html").read_text()
    assert f"{said['flagged']:,}" in page
    assert "5,000" in page
    assert len(page) < 15e6


def interrupted(planted, out):
    """Send a signal to an audit as soon as it has a judge; the exit code and what it says."""
    arguments = command("audit", planted[0], "-t", "y", "-o", out, *LITTLE)
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 500
    while not (out / "stages" / "judge.levelhead").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGTERM)  # a job in the background may ignore SIGINT
    _, said = process.communicate()
    return process.returncode, said


def test_an_interrupted_audit_goes_on(planted, tmp_path, audited):
    for attempt in range(5):  # on a busy machine an audit may end before the signal comes
        out = tmp_path / f"out{attempt}"
        code, said = interrupted(planted, out)
        if code:
            break
    assert code == 143
    assert "goes on from there" in said
    assert (out / "stages" / "judge.levelhead").exists()
    again = run("audit", planted[0], "-t", "y", "-o", out, *LITTLE)
    assert again.returncode == 0, again.stderr
    one, two = (pd.read_parquet(folder / "labels.parquet") for folder in (out, audited[0]))
    np.testing.assert_array_equal(one["log_odds"], two["log_odds"])


def test_a_fit_in_pieces_gives_a_model_for_predict(planted, tmp_path):
    model, out = tmp_path / "y.levelhead", tmp_path / "y.csv"
    ran = run("fit", planted[0], "-t", "y", "--id-column", "name", "-o", model, *LITTLE)
    assert ran.returncode == 0, ran.stderr
    assert "Read in pieces" in ran.stderr
    assert f"Fitted {N:,} rows" in ran.stdout
    assert load(model)[-1].judge_ is not None
    ran = run("predict", model, planted[0], "-o", out)
    assert ran.returncode == 0, ran.stderr
    _, frame, wrong = planted
    error = pd.read_csv(out)["mean"] - frame["y"]
    assert np.median(np.abs(error[~wrong])) < 0.35


def test_progress_is_a_line_every_ten_seconds_off_a_terminal(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(screen.time, "monotonic", lambda: now[0])
    with screen.progress() as report:
        for second in range(0, 36, 3):
            now[0] = second
            report("judging all rows", second / 35)
    assert capsys.readouterr().err.splitlines() == ["judging all rows: 34%", "judging all rows: 69%"]


def test_progress_is_a_bar_for_each_stage_on_a_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(
        screen, "_console", lambda stderr: Console(file=terminal, force_terminal=True, width=100)
    )
    with screen.progress() as report:
        report("judging all rows", 1.0)
        report("trees of all rows", 0.25)
    for text in ("judging all rows", "100%", "trees of all rows", "25%"):
        assert text in terminal.getvalue()


def test_options_that_need_the_whole_table_are_refused(planted, tmp_path):
    ran = run("audit", planted[0], "-t", "y", "-o", tmp_path, *LITTLE, "--group", "kind")
    assert ran.returncode == 1
    assert "--group needs the whole table in memory" in ran.stderr
    ran = run("fit", planted[0], "-t", "y", "-o", tmp_path / "m", "--memory", "many")
    assert ran.returncode == 1
    assert "'many' is not a size" in ran.stderr
