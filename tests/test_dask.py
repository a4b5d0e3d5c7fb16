"""Dask data frames on a cluster of two processes, one of which may end at any time."""

import doctest
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

for package in ("lightgbm", "pandas", "pyarrow", "dask.dataframe", "distributed", "typer"):
    pytest.importorskip(package)

import dask
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.base import clone
from typer.testing import CliRunner

import levelhead.dask
from levelhead import GCPBoostingRegressor, load, save
from levelhead.cli import large
from levelhead.cli.app import app
from levelhead.dask import DaskRegressor, training
from levelhead.large import LargeTable, audit_table

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
N, SAMPLE = 6000, 1500
COLUMNS = ["a", "b", "c"]
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(N, 3)), columns=COLUMNS)
CLEAN = (2 * np.sin(2 * TABLE["a"]) + TABLE["b"].abs()).to_numpy()
WRONG = RNG.random(N) < 0.05
TABLE["y"] = CLEAN + 0.2 * RNG.normal(size=N) + np.where(WRONG, RNG.choice([-5.0, 5.0], N), 0.0)
ESTIMATOR = GCPBoostingRegressor(max_iter=80, random_state=0, n_jobs=1)


def unfitted():
    return DaskRegressor(ESTIMATOR, sample_rows=SAMPLE)


def lazy(partitions):
    ddf = dd.from_pandas(TABLE, npartitions=partitions)
    return ddf[COLUMNS], ddf["y"]


def until(happened, seconds=60):
    """Wait until a function returns something true, and return it; no longer than some seconds."""
    end = time.monotonic() + seconds
    while not (found := happened()) and time.monotonic() < end:
        time.sleep(0.005)
    return found


@pytest.fixture(scope="module")
def client():
    settings = {
        "distributed.comm.timeouts.connect": "60s",
        "distributed.scheduler.allowed-failures": 5,
        "distributed.deploy.lost-worker-timeout": "120s",  # on a busy machine, workers start again slowly
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def fitted(client):
    return unfitted().fit(*lazy(3))


def test_the_example_in_the_docstring():
    assert doctest.testmod(levelhead.dask).failed == 0


def test_verdicts_do_not_depend_on_partitions_and_are_those_of_one_process(fitted, client, tmp_path):
    one = fitted.audit(*lazy(3)).compute()
    other = unfitted().fit_judge(*lazy(7)).audit(*lazy(7)).compute()
    pd.testing.assert_frame_equal(one, other)
    TABLE.to_parquet(tmp_path / "table.parquet")
    table = LargeTable(tmp_path / "table.parquet", "y", sample_rows=SAMPLE, piece_rows=1000)
    alone = np.concatenate([part.audit.is_label_issue for part in audit_table(table, ESTIMATOR).pieces()])
    assert (alone == one["is_label_issue"].to_numpy()).mean() > 0.999
    assert WRONG[one["is_label_issue"]].mean() > 0.85
    assert one["is_label_issue"][WRONG].mean() > 0.85
    assert (one.index == TABLE.index).all()


def test_columns_of_a_parquet_file_keep_its_partitions(fitted, tmp_path):
    """Dask would read several groups of rows at once where only the labels are used."""
    TABLE.to_parquet(tmp_path / "table.parquet", row_group_size=1000)
    ddf = dd.read_parquet(tmp_path / "table.parquet", split_row_groups=True)
    X, y = ddf[COLUMNS], ddf["y"]
    assert X.npartitions == 6 != len(y.to_delayed())
    found = fitted.audit(X, y), fitted.predict_dist(ddf.drop(columns="y"))
    wanted = fitted.audit(*lazy(3)), fitted.predict_dist(lazy(3)[0])
    for one, other in zip(found, wanted, strict=True):
        assert one.npartitions == 6
        table = one.compute().reset_index(drop=True)  # a file numbers the rows of each group
        pd.testing.assert_frame_equal(table, other.compute())


def test_results_are_lazy_and_trees_learn_from_all_rows(fitted, tmp_path):
    X, y = lazy(3)
    predicted, verdicts = fitted.predict_dist(X), fitted.audit(X, y)
    for frame in (predicted, verdicts):
        assert isinstance(frame, dd.DataFrame)
        assert frame.npartitions == 3
        computed = frame.compute()
        assert list(computed.columns) == list(frame.columns)
        assert (computed.dtypes == frame.dtypes).all()
    means = predicted.compute()["mean"].to_numpy()
    errors = [np.sqrt(np.mean((m - CLEAN) ** 2)) for m in (means, fitted.judge_.predict(TABLE[COLUMNS]))]
    assert errors[0] < 0.9 * errors[1]
    again = load(save(fitted.model_, tmp_path / "model"), n_jobs=1)
    np.testing.assert_array_equal(again.predict(TABLE[COLUMNS]), means)


def ending_part(part, folder, at):
    """End the process of the worker when a partition is read for the n-th time."""
    with open(os.path.join(folder, "reads"), "ab") as file:
        file.write(b".")
        reads = file.tell()
    if reads == at:
        os._exit(1)
    return part


@pytest.mark.parametrize("at", [2, 5, 8])
def test_a_worker_that_ends_while_rows_are_read_is_replaced(client, fitted, tmp_path, at):
    ddf = dd.from_pandas(TABLE, npartitions=3)
    dying = ddf.map_partitions(ending_part, str(tmp_path), at, meta=ddf._meta)
    verdicts = unfitted().fit_judge(dying[COLUMNS], dying["y"]).audit(dying[COLUMNS], dying["y"]).compute()
    assert (tmp_path / "reads").stat().st_size > at
    pd.testing.assert_frame_equal(verdicts, fitted.audit(*lazy(3)).compute())


def trained_on(client):
    """The address of a worker that LightGBM trains on."""
    for worker, tasks in client.processing().items():
        if any("_train_part" in str(task) for task in tasks):
            return worker
    return None


def test_a_worker_that_is_killed_while_lightgbm_trains_leaves_none_waiting(client, fitted):
    slow = DaskRegressor(clone(ESTIMATOR).set_params(max_iter=1500, learning_rate=0.003), sample_rows=SAMPLE)
    pids = client.run(os.getpid)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: slow.fit(*lazy(3)))
        killed = pids[until(lambda: trained_on(client))]
        time.sleep(1.0)  # until its machines are connected
        os.kill(killed, signal.SIGKILL)
        model = running.result(timeout=120).model_
    client.wait_for_workers(1, timeout=60)  # on a busy machine, Dask may give a worker up that starts slowly
    answers = client.run(os.getpid)  # a worker that still waits for the other one would train for ever
    assert killed not in answers.values()
    assert until(lambda: not any(client.processing().values()))
    errors = [np.sqrt(np.mean((m.predict(TABLE[COLUMNS]) - CLEAN) ** 2)) for m in (model, fitted.judge_)]
    assert errors[0] < errors[1]


def test_workers_that_cannot_be_started_again_are_named():
    class Client:
        futures, there = {}, iter([{"a": 1, "b": 1}, {"b": 1}])
        cancel = lambda *_, **__: None

        def nthreads(self):
            return next(self.there)

        def restart_workers(self, workers):
            raise ValueError(f"no nanny: {workers}")

    with pytest.raises(training.StuckWorkersError, match=r"start them again \(no nanny: \['b'\]\)"):
        training._watched(Client(), lambda: time.sleep(1.5))


def test_a_cluster_without_workers_does_not_wait_for_ever():
    class Client:
        def wait_for_workers(self, n_workers, timeout):
            raise TimeoutError(f"fewer than {n_workers} workers in {timeout} seconds")

    with pytest.raises(RuntimeError, match="no worker for 120 seconds; start workers"):
        training._wait_for_a_worker(Client())


def test_the_command_line_judges_pieces_on_a_cluster(client, tmp_path):
    TABLE.to_parquet(tmp_path / "table.parquet")
    settings = ("-t", "y", "--estimator", "trees", "--scale", "linear", "--members", "1", "--memory", "1MB")
    for out, more in (("alone", ()), ("many", ("--dask", client.scheduler.address))):
        command = [sys.executable, "-m", "levelhead", "audit", tmp_path / "table.parquet", *settings]
        ran = subprocess.run(
            [*command, "-o", tmp_path / out, *more], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
    one, two = (pd.read_parquet(tmp_path / out / "labels.parquet") for out in ("alone", "many"))
    pd.testing.assert_frame_equal(one, two)


def test_an_address_without_a_scheduler_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_PATIENCE", "1s")
    TABLE.head(100).to_csv(tmp_path / "table.csv", index=False)
    command = ["audit", tmp_path / "table.csv", "-t", "y", "-o", tmp_path / "out"]
    ran = CliRunner().invoke(app, [*map(str, command), "--dask", "tcp://127.0.0.1:1"])
    assert ran.exit_code == 1
    assert "there is no Dask scheduler at tcp://127.0.0.1:1" in ran.stderr


def test_mistakes_are_explained(client):
    X, y = lazy(3)
    with pytest.raises(ValueError, match="3 partitions and y 2"):
        unfitted().fit(X, lazy(2)[1])
    with pytest.raises(ValueError, match="at least 30"):
        unfitted().fit(*(part.partitions[0].head(10, compute=False) for part in (X, y)))
    with pytest.raises(ValueError, match="sample_rows is 200,000"):
        DaskRegressor(ESTIMATOR, sample_rows=200_000).fit(X, y)
    holes = TABLE.assign(y=TABLE["y"].where(TABLE.index != 77))
    ddf = dd.from_pandas(holes, npartitions=2)
    with pytest.raises(ValueError, match="at row 77"):
        unfitted().fit(ddf[COLUMNS], ddf["y"])
