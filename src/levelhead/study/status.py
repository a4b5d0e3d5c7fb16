"""Status of a study: number of runs done, failed and missing, by data set and method."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from levelhead.study.specs import Spec
from levelhead.study.store import Store


class Status(NamedTuple):
    """Number of runs of one data set and method by state.

    Attributes
    ----------
    dataset, method : str
        Names.
    done, failed, missing : int
        Number of runs.
    """

    dataset: str
    method: str
    done: int
    failed: int
    missing: int


def status(specs: Iterable[Spec], store: Store) -> list[Status]:
    """Count the runs that are done, failed and missing.

    Parameters
    ----------
    specs : iterable of Spec
        The study.
    store : Store
        Results; runs of other studies in it do not count.

    Returns
    -------
    list of Status
        One line per data set and method, in the order of the specs.
    """
    study = list(dict.fromkeys(specs))
    done = store.done()
    failed = {failure.digest for failure in store.failures()}
    wanted: Counter[tuple[str, str]] = Counter()
    states: Counter[tuple[str, str, str]] = Counter()
    for spec in study:
        key = spec.dataset_name, spec.method
        wanted[key] += 1
        states[*key, "done"] += spec.digest in done
        states[*key, "failed"] += spec.digest in failed
    return [
        Status(
            *key,
            states[*key, "done"],
            states[*key, "failed"],
            n - states[*key, "done"] - states[*key, "failed"],
        )
        for key, n in wanted.items()
    ]
