"""Trees of all rows by LightGBM on the workers of a cluster, one of which may end at any time."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import partial
from typing import Any

import numpy as np

from levelhead._extras import needed
from levelhead.estimators.trees.forest import lightgbm

_ATTEMPTS = 3
_SECONDS = 0.5  # between two looks at the list of workers
_MOST_SECONDS = 120.0  # until a worker must be there, after all have ended


class WorkerLostError(RuntimeError):
    """A worker has ended while LightGBM trained on it."""


class StuckWorkersError(RuntimeError):
    """Workers that wait for one that has ended, and cannot be started anew."""


def trained(trees: Any, parts: Sequence[Any], n_rows: int, seed: int) -> Any:
    """Train trees on all workers; if one fails or ends, training starts again on those that are left.

    Parameters
    ----------
    trees : GCPBoostingRegressor
        Trees of the sample, whose settings are used.
    parts : sequence of Delayed
        Inputs, labels and weights of every partition. What is computed of them is kept for another attempt.
    n_rows : int
        Number of rows of the table.
    seed : int
        Seed of the trees.

    Returns
    -------
    lightgbm.Booster
        The trees.

    Raises
    ------
    ValueError
        If there is no cluster.
    RuntimeError
        If training has failed three times, or if no worker is left for two minutes.
    """
    distributed = needed("distributed", "levelhead.dask", "dask")
    try:
        client = distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "trees of all rows need a cluster: start one with distributed.Client(), or connect to one with "
            "distributed.Client('tcp://…')"
        ) from error
    failure: Exception | None = None
    for _ in range(_ATTEMPTS):
        _wait_for_a_worker(client)
        kept = client.persist(list(parts))
        distributed.wait(kept)  # until here, Dask repeats the work of workers that end
        try:
            return _watched(client, partial(_booster, client, trees, kept, n_rows, seed))
        except StuckWorkersError:
            raise
        except Exception as error:
            failure = error
    raise RuntimeError(
        f"LightGBM failed {_ATTEMPTS} times on the workers ({failure}); see their logs"
    ) from failure


def _wait_for_a_worker(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=_MOST_SECONDS)
    except TimeoutError as error:
        raise RuntimeError(
            f"the cluster has had no worker for {_MOST_SECONDS:.0f} seconds; start workers, and fit again"
        ) from error


def _booster(client: Any, trees: Any, parts: Sequence[Any], n_rows: int, seed: int) -> Any:
    """Trees by LightGBM's own Dask interface."""
    arrays, growth = needed("dask.array", "levelhead.dask", "dask"), trees._growth(n_rows)
    settings = growth.parameters(seed, objective="l2", boost_from_average=False)
    del settings["num_threads"]  # each worker has its own
    shapes = (((np.nan, trees.mean_forests_[0].n_features), "f8"), ((np.nan,), "f4"), ((np.nan,), "f4"))
    inputs, labels, weight = (
        arrays.concatenate([arrays.from_delayed(part[k], shape, dtype=kind) for part in parts])
        for k, (shape, kind) in enumerate(shapes)
    )
    model = lightgbm().DaskLGBMRegressor(client=client, n_estimators=growth.n_trees, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Parameter .* will be ignored")  # n_jobs
        fitted = model.fit(inputs, labels, sample_weight=weight, categorical_feature=list(growth.categorical))
    return fitted.booster_


def _watched(client: Any, train: Callable[[], Any]) -> Any:
    """Run a training; if one of its workers ends, end the training of the others and raise an error.

    LightGBM's machines wait for each other without end.
    """
    before, workers = set(client.futures), set(client.nthreads())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(train)
        while not wait_for([running], timeout=_SECONDS).done:
            lost = workers - set(client.nthreads())
            if lost:
                _end(client, set(client.futures) - before, sorted(workers - lost))
                wait_for([running])
                raise WorkerLostError(f"{len(lost)} of {len(workers)} workers ended during the training")
        return running.result()


def _end(client: Any, tasks: set[Any], workers: Sequence[str]) -> None:
    """Cancel tasks and start workers anew, because LightGBM's loops in them cannot be interrupted."""
    distributed = needed("distributed", "levelhead.dask", "dask")
    client.cancel([distributed.Future(key, client) for key in tasks], force=True)
    if not workers:
        return
    try:
        client.restart_workers(list(workers))
    except ValueError as error:  # they have no nanny
        raise StuckWorkersError(
            f"a worker ended while LightGBM trained, and the others wait for it; start them again ({error})"
        ) from error
