"""Where runs are computed: this process, threads, processes or a Dask cluster, behind one interface.

Every back end but this process is a `concurrent.futures.Executor`, so that the study has one loop for all.
A run depends only on its spec; the back end affects only the speed.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from joblib import cpu_count

from levelhead._extras import needed
from levelhead.study.runs import Outcome, attempt
from levelhead.study.specs import Spec

BACKENDS = ("serial", "threads", "processes", "dask")
_IDLE = 20  # seconds after which a worker without work, or without the process that started it, leaves
_MOST_BREAKDOWNS = 5


class Finished(NamedTuple):
    """A spec and its outcome.

    Attributes
    ----------
    spec : Spec
        Description of the run.
    outcome : Outcome
        Its result or failure.
    """

    spec: Spec
    outcome: Outcome


class WorkersLost(ChildProcessError):
    """The workers ended before all runs were done; finished runs are stored."""


def finish(
    specs: Sequence[Spec], backend: Any = "serial", n_jobs: int = 1
) -> Generator[Finished, None, None]:
    """Run specs and yield their outcomes as they finish.

    Parameters
    ----------
    specs : sequence of Spec
        What to run.
    backend : str, distributed.Client or concurrent.futures.Executor, default="serial"
        "serial", "threads", "processes", "dask" (a local cluster), or the address of a Dask scheduler such as
        "tcp://host:8786".
    n_jobs : int, default=1
        Number of workers to start; -1 means one per core. Ignored for an executor, a client or a remote scheduler.

    Yields
    ------
    Finished
        A spec and its outcome.

    Raises
    ------
    WorkersLost
        If the workers die repeatedly.
    """
    make = _maker(backend, cpu_count() if n_jobs == -1 else n_jobs)
    if make is None:
        yield from (Finished(spec, attempt(spec)) for spec in specs)
        return
    left = dict.fromkeys(specs)
    for _ in range(_MOST_BREAKDOWNS):
        with make() as executor:
            for finished in _as_finished(executor, list(left)):
                del left[finished.spec]
                yield finished
        if not left:
            return
    raise WorkersLost(
        f"workers died {_MOST_BREAKDOWNS} times (out of memory, or killed?) and {len(left)} runs are left; finished "
        "runs are stored, so start the study again, with fewer workers or more memory"
    )


def _as_finished(executor: Executor, specs: list[Spec]) -> Iterator[Finished]:
    """Outcomes as they come; runs that were lost together with their pool are left out."""
    futures: dict[Future[Outcome], Spec] = {}
    with suppress(BrokenExecutor):  # a pool may break while work is still handed to it
        for spec in specs:
            futures[executor.submit(attempt, spec)] = spec
    for future in as_completed(futures):
        spec = futures.pop(future)
        try:
            yield Finished(spec, future.result())
        except (BrokenExecutor, CancelledError):
            continue
        except Exception as error:  # the worker could not even begin, or died of this run again and again
            yield Finished(spec, _never_ran(spec, error))


def _never_ran(spec: Spec, error: Exception) -> Outcome:
    return Outcome(spec.digest, None, f"{type(error).__name__}: {error}", 0.0, "", {})


def _maker(backend: Any, n_jobs: int) -> Callable[[], Any] | None:
    """A function that gives an executor as a context manager; None for this process."""
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs!r}; give the number of workers, or -1 for one per core")
    if isinstance(backend, Executor):
        return partial(_given, backend)
    if hasattr(backend, "get_executor"):
        return partial(_given, backend.get_executor(pure=False))
    if isinstance(backend, str) and "://" in backend:
        return partial(_remote_cluster, backend)
    if backend == "serial":
        return None
    makers = {"threads": _threads, "processes": _processes, "dask": _local_cluster}
    if backend not in makers:
        raise ValueError(
            f"unknown back end {backend!r}; choose one of {', '.join(BACKENDS)}, the address of a Dask scheduler "
            "(tcp://host:8786), a distributed.Client or an Executor"
        )
    return partial(makers[backend], n_jobs)


@contextmanager
def _given(executor: Executor) -> Iterator[Executor]:
    yield executor


@contextmanager
def _threads(n_jobs: int) -> Iterator[Executor]:
    executor = ThreadPoolExecutor(n_jobs, thread_name_prefix="study")
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _processes(n_jobs: int) -> Iterator[Executor]:
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(n_jobs, timeout=_IDLE)
    try:
        yield executor
    except BaseException:
        executor.shutdown(kill_workers=True)
        raise
    executor.shutdown()


@contextmanager
def _remote_cluster(address: str) -> Iterator[Executor]:
    with _distributed().Client(address) as client:
        yield client.get_executor(pure=False)


@contextmanager
def _local_cluster(n_jobs: int) -> Iterator[Executor]:
    package = _distributed()
    with (
        package.LocalCluster(n_workers=n_jobs, threads_per_worker=1, dashboard_address=":0") as cluster,
        package.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


def _distributed() -> Any:
    return needed("distributed", "a Dask cluster", "dask")
