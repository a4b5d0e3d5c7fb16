"""Numbers do not depend on where they are computed, nor on what happens to the workers."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from joblib.externals.loky import ProcessPoolExecutor

from levelhead.study import Store, backends, run_study

pytestmark = [pytest.mark.compiled, pytest.mark.slow]  # many fits


@pytest.fixture(scope="module")
def reference(tmp_path_factory, make_specs, numbers):
    path = tmp_path_factory.mktemp("serial") / "study.db"
    run_study(make_specs(4), path, show_progress=False)
    with Store(path) as store:
        return numbers(store)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threads", 1), ("threads", 3), ("processes", 2)])
def test_the_same_numbers_bit_for_bit(tmp_path, make_specs, numbers, reference, backend, n_jobs):
    summary = run_study(
        make_specs(4)[::-1], tmp_path / "study.db", backend, n_jobs=n_jobs, show_progress=False
    )
    assert summary.finished == 16
    with Store(tmp_path / "study.db") as store:
        assert numbers(store) == reference


def test_an_executor_of_ones_own(tmp_path, make_specs, numbers, reference):
    with ThreadPoolExecutor(2) as executor:
        run_study(make_specs(4), tmp_path / "study.db", executor, show_progress=False)
        assert executor.submit(int, "3").result() == 3  # it is not shut down
    with Store(tmp_path / "study.db") as store:
        assert numbers(store) == reference


def test_a_killed_process_costs_nothing(tmp_path, make_specs, numbers, monkeypatch):
    pools = []

    class Watched(ProcessPoolExecutor):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            pools.append(self)

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Watched)
    specs = make_specs(6, epochs=400)
    with Store(tmp_path / "study.db") as store:
        for k, finished in enumerate(backends.finish(specs, "processes", 2)):
            store.record(*finished)
            if k == 0:  # while nearly all are still to come, however slow this process is
                os.kill(next(iter(pools[0]._processes)), signal.SIGKILL)
    run_study(specs, tmp_path / "serial.db", show_progress=False)
    assert len(pools) == 2  # the first broke
    with Store(tmp_path / "study.db") as store, Store(tmp_path / "serial.db") as serial:
        assert numbers(store) == numbers(serial)


def test_workers_that_always_die_end_in_an_error(make_specs):
    class Hopeless(ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            raise backends.BrokenExecutor("gone")

    with Hopeless(1) as executor, pytest.raises(backends.WorkersLost, match="4 runs are left"):
        list(backends.finish(make_specs(1), executor))


def test_dask_with_a_worker_killed_in_the_middle(tmp_path, make_specs, numbers, monkeypatch):
    distributed = pytest.importorskip("distributed")
    specs, path = make_specs(8, epochs=400), tmp_path / "study.db"
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())
        victim = max(before)
        record = Store.record

        def record_and_kill(store, *finished):
            record(store, *finished)
            if len(store.done()) == 4:
                os.kill(victim, signal.SIGKILL)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "record", record_and_kill)
            summary = run_study(specs, path, client, show_progress=False)
        client.wait_for_workers(2)
        after = set(client.run(os.getpid).values())
    assert victim not in after
    assert summary.finished == len(specs)
    run_study(specs, tmp_path / "serial.db", show_progress=False)
    with Store(path) as store, Store(tmp_path / "serial.db") as serial:
        assert numbers(store) == numbers(serial)


def test_dask_by_name_and_by_address(tmp_path, make_specs, numbers, reference):
    distributed = pytest.importorskip("distributed")
    run_study(make_specs(4), tmp_path / "local.db", "dask", n_jobs=2, show_progress=False)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        scheduler = cluster.scheduler_address
        assert scheduler.startswith("tcp://")
        run_study(make_specs(4), tmp_path / "address.db", scheduler, show_progress=False)
    for name in ("local", "address"):
        with Store(tmp_path / f"{name}.db") as store:
            assert numbers(store) == reference


def test_an_interrupted_study_leaves_no_worker_behind(tmp_path, make_specs, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "record", interrupt)
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_study(make_specs(3), tmp_path / "study.db", "threads", n_jobs=2, show_progress=False)
    assert threading.active_count() == threads


def test_unknown_back_ends_are_refused(make_specs):
    with pytest.raises(ValueError, match="choose one of serial, threads, processes, dask"):
        list(backends.finish(make_specs(1), "slurm"))
    with pytest.raises(ValueError, match="n_jobs is 0"):
        list(backends.finish(make_specs(1), "threads", 0))
    with pytest.raises(ValueError, match="n_jobs is 'two'"):
        list(backends.finish(make_specs(1), "threads", "two"))
