"""The store keeps what is finished, whatever happens to the process."""

import re
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec

import cloudpickle
import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression

from levelhead.study import Spec, Store, read_csv, run, run_study, write_csv
from levelhead.study.runs import attempt, versions

STUDY = """
import os, pickle, signal, sys
from pathlib import Path
from levelhead.study import Store, run_study
record = Store.record
def record_and_die(store, *finished):
    record(store, *finished)
    if len(store.done()) == 5:
        os.killpg(0, signal.SIGKILL)
if __name__ == "__main__":
    Store.record = record_and_die
    run_study(pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2], sys.argv[3], n_jobs=2, show_progress=False)
"""


def query(path, text):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(text).fetchone()


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_kill_9_loses_no_finished_run(tmp_path, make_specs, numbers, backend):
    specs, path = make_specs(10, epochs=400), tmp_path / "study.db"
    (tmp_path / "study.py").write_text(STUDY)
    (tmp_path / "specs.pickle").write_bytes(cloudpickle.dumps(specs))
    command = [sys.executable, tmp_path / "study.py", tmp_path / "specs.pickle", path, backend]
    killed = subprocess.run(list(map(str, command)), start_new_session=True, timeout=600)
    assert killed.returncode == -signal.SIGKILL

    with Store(path) as store:
        kept = store.done()
        before = numbers(store)
    assert len(kept) == 5
    assert query(path, "PRAGMA integrity_check") == ("ok",)

    summary = run_study(specs, path, show_progress=False)
    assert (summary.cached, summary.finished) == (len(kept), len(specs) - len(kept))
    run_study(specs, tmp_path / "never-stopped.db", show_progress=False)
    with Store(path) as store, Store(tmp_path / "never-stopped.db") as reference:
        assert set(before) <= set(numbers(store))
        assert numbers(store) == numbers(reference)


@pytest.mark.compiled
def test_only_what_is_missing_is_run(tmp_path, make_specs):
    path = tmp_path / "study.db"
    first = run_study(make_specs(2), path, show_progress=False)
    second = run_study(make_specs(3) + make_specs(1), path, show_progress=False)
    assert (first.finished, first.cached) == (8, 0)
    assert (second.finished, second.cached) == (4, 8)
    changed = run_study(make_specs(2, epochs=21), path, show_progress=False)
    assert (changed.finished, changed.cached) == (4, 4)  # another recipe of GCP, the same ridge


def test_failures_are_kept_with_their_traceback_and_tried_again(tmp_path, data):
    path = tmp_path / "study.db"
    good, bad = (
        Spec(data, 0, "ridge", 1, BayesianRidge()),
        Spec(data, 0, "line", 1, BayesianRidge(max_iter=0)),
    )
    summary = run_study([good, bad], path, show_progress=False)
    assert summary.finished == 1
    [failure] = summary.failures
    assert failure.method == "line"
    assert failure.error.startswith("Traceback")
    assert "The 'max_iter' parameter of BayesianRidge must be" in failure.error
    assert "1 failed and will be repeated" in str(summary)
    with Store(path) as store:
        assert store.failures() == [failure]
        assert store.done() == {good.digest}
    again = run_study([good, bad], path, show_progress=False)
    assert (again.cached, len(again.failures)) == (1, 1)

    with Store(path) as store:  # once the cause is fixed, a success takes the place of the failure
        store.record(bad, replace(attempt(good), digest=bad.digest))
        assert store.failures() == []
        assert store.done() == {good.digest, bad.digest}


def test_a_result_is_stored_completely_or_not_at_all(tmp_path, data):
    spec = Spec(data, 0, "ridge", 1, BayesianRidge())
    outcome = attempt(spec)
    measures = outcome.result.measures["ridge"]
    with Store(tmp_path / "study.db") as store:
        for wrong in ({"rmse": None}, {"auc": float("nan")}, {"crps": None}):  # one of four is missing
            broken = {"ridge": measures, "second": measures._replace(**wrong)}
            with pytest.raises(sqlite3.IntegrityError):
                store.record(spec, replace(outcome, result=replace(outcome.result, measures=broken)))
        assert store.rows() == []
        assert store.done() == set()
        store.record(spec, outcome)
        assert len(store.rows()) == 1


def test_what_is_read_is_what_was_computed(tmp_path, make_specs):
    spec = make_specs(1)[2]
    path = tmp_path / "study.db"
    run_study([spec], path, show_progress=False)
    expected = run(spec).measures
    with Store(path) as store:
        rows = {row.method: row for row in store.rows([spec])}
        [curve] = store.curves("toy", 0.1, "GCP")
        assert store.rows([]) == []
    assert set(rows) == {"GCP", "GCP_St"}
    for method, measures in expected.items():
        for name in ("rmse", "auc", "nll", "crps", "coverage", "robust_r2", "mean_alpha"):
            assert getattr(rows[method], name) == getattr(measures, name)
    np.testing.assert_array_equal(curve, expected["GCP"].curve)
    kept = query(path, "SELECT versions, host, content FROM runs")
    assert versions()["numpy"] in kept[0]
    assert {"code", "processor"} <= set(versions())
    assert ("lightgbm" in versions()) == (find_spec("lightgbm") is not None)  # trees' numbers depend on it
    assert kept[1]
    assert "GCPRegressor" in kept[2]


def test_csv_there_and_back(tmp_path, make_specs):
    run_study(make_specs(1), tmp_path / "study.db", show_progress=False)
    with Store(tmp_path / "study.db") as store:
        rows = store.rows()
    write_csv(rows, tmp_path / "rows.csv")
    back = read_csv(tmp_path / "rows.csv")
    assert [row[:5] for row in back] == [row[:5] for row in rows]
    for one, other in zip(rows, back, strict=True):
        assert (one.mean_alpha is None) == (other.mean_alpha is None)
        np.testing.assert_allclose(other[5:11], one[5:11], rtol=1e-6)
    assert [row[14:] for row in back] == [row[14:] for row in rows]


def test_files_without_provenance_say_that_it_is_unknown(tmp_path):
    head = (
        "dataset,share,contamination,method,seed,rmse,auc,nll,crps,coverage,robust_r2,mean_alpha,fit_seconds"
    )
    line = "toy,10,Replaced(spread=10.0),GCP,3,1.5,1,2,3,0.9,0.5,,2"  # as version 0.1 wrote it
    (tmp_path / "old.csv").write_text(f"{head}\n{line}\n")
    [row] = read_csv(tmp_path / "old.csv")
    assert row[:6] == ("toy", 0.1, "Replaced(spread=10.0)", "GCP", 3, 1.5)
    assert row.mean_alpha is None
    assert row.cpu_seconds is None
    assert {row.processor, row.engine, row.versions} == {"unknown"}


def test_where_a_run_was_computed_is_stored(tmp_path, make_specs):
    run_study(make_specs(1)[:1], tmp_path / "study.db", show_progress=False)
    with Store(tmp_path / "study.db") as store:
        row = store.rows()[0]
    assert row.cpu_seconds > 0
    assert len(row.engine) == 16
    assert "unknown" not in row
    assert "numpy " in row.versions


def test_a_store_in_which_every_method_had_a_variance_is_continued(tmp_path, make_specs):
    """Layout 2: the measures of the variance could not be missing."""
    path = tmp_path / "study.db"
    specs = make_specs(1)
    run_study(specs[:2], path, show_progress=False)
    with Store(path) as store:
        before = store.rows()
    connection = sqlite3.connect(path)
    [table] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'measures'").fetchone()
    connection.execute("ALTER TABLE measures RENAME TO kept")
    strict = re.sub(r"(auc|nll|crps|coverage) REAL,", r"\1 REAL NOT NULL,", table)
    connection.execute(re.sub(r",\s*CHECK.*(?=\n\))", "", strict))
    connection.execute("INSERT INTO measures SELECT * FROM kept")
    connection.execute("DROP TABLE kept")
    connection.execute("PRAGMA user_version = 2")
    connection.commit()
    connection.close()
    means_only = Spec(specs[0].dataset, 0, "means", 1, LinearRegression())
    assert run_study([*specs[:2], means_only], path, show_progress=False).finished == 1
    with Store(path) as store:
        assert [row for row in store.rows() if row.method != "means"] == before
        assert [row.auc for row in store.rows([means_only])] == [None]


def test_a_store_of_version_0_1_is_read_and_continued(tmp_path, make_specs):
    path = tmp_path / "study.db"
    specs = make_specs(1)
    run_study(specs[:1], path, show_progress=False)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE runs DROP COLUMN cpu_seconds")
    connection.execute('UPDATE runs SET versions = \'{"python": "3.11.7"}\'')
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    with Store(path) as store:
        old = store.rows()
    assert {(row.cpu_seconds, row.engine, row.versions) for row in old} == {
        (None, "unknown", "python 3.11.7")
    }
    assert run_study(specs, path, show_progress=False).cached == 1
    with Store(path) as store:
        assert [row.cpu_seconds is None for row in store.rows()].count(True) == len(old)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has the columns"):
        read_csv(tmp_path / "other.csv")


def test_other_files_are_refused_and_not_changed(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at " * 50)
    with pytest.raises(ValueError, match="is not a file of study results"):
        Store(text)
    assert text.read_text().startswith("not a database")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(ValueError, match="study results of this version"):
        Store(tmp_path / "other.db")


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_the_error_names_a_damaged_file(tmp_path, data, damage):
    path = tmp_path / "study.db"
    specs = [Spec(data, 0, "ridge", seed, BayesianRidge()) for seed in range(30)]
    run_study(specs, path, show_progress=False)
    content = path.read_bytes()
    assert len(content) > 30_000
    spoilt = content[:-8192] if damage == "truncated" else content[:16_384] + b"x" * 4096 + content[20_480:]
    path.write_bytes(spoilt)

    def read():
        with Store(path) as store:
            store.rows()

    with pytest.raises(
        ValueError,
        match=r"study.db is (not a file of study results, or is )?damaged \(.*malformed\); (use|choose) a",
    ):
        read()


def test_a_disk_that_is_full_is_no_damage(tmp_path, data):
    spec = Spec(data, 0, "ridge", 1, BayesianRidge())
    with Store(tmp_path / "study.db") as store:
        [pages] = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        large = replace(attempt(spec), error="x" * 100_000)
        with pytest.raises(OSError, match=r"study.db cannot be used \(.*full.*\); check its disk"):
            store.record(spec, large)
        assert store.done() == set()


def test_one_may_read_while_another_writes(tmp_path, make_specs):
    path = tmp_path / "study.db"
    spec = make_specs(1)[1]
    with Store(path) as writer, Store(path) as reader:
        writer.record(spec, attempt(spec))
        assert reader.done() == {spec.digest}


def test_many_may_open_a_new_file_at_once(tmp_path):
    def make_and_read(path, together):
        together.wait()
        with Store(path) as store:
            return store.done()

    n = 8
    for k in range(20):
        together = threading.Barrier(n)
        with ThreadPoolExecutor(n) as pool:
            path = tmp_path / f"{k}.db"
            assert list(pool.map(make_and_read, [path] * n, [together] * n)) == [set()] * n


def test_the_error_names_a_file_locked_by_another_program(tmp_path, monkeypatch):
    monkeypatch.setattr("levelhead.study.store._PATIENCE", 0.1)
    path = tmp_path / "study.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"cannot be opened .*locked.*; close the program that uses it"):
            Store(path)
