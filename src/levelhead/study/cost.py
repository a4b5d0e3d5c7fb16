"""What the runs of a study cost, estimated from a few runs of each method on each data set."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from levelhead.study.specs import Spec
from levelhead.study.store import Store

_TRIALS = 3


class Cost(NamedTuple):
    """Number and duration of the runs of one data set and method.

    Attributes
    ----------
    dataset, method : str
        Names.
    runs, missing : int
        Number of runs, and of those that are not in the store.
    seconds : float or None
        Median duration of the finished runs on one thread; None if there are none.
    """

    dataset: str
    method: str
    runs: int
    missing: int
    seconds: float | None

    @property
    def left(self) -> float:
        """Estimated seconds of the missing runs; 0 if no run is finished."""
        return self.missing * (self.seconds or 0.0)


def trials(specs: Iterable[Spec], store: Store) -> list[Spec]:
    """Choose the first three runs of each data set and method that has no finished run.

    The first run may load or compile code, which the median of three does not count.

    Parameters
    ----------
    specs : iterable of Spec
        The study.
    store : Store
        Results.

    Returns
    -------
    list of Spec
        The runs that `costs` needs.
    """
    study = list(dict.fromkeys(specs))
    known = store.seconds(study)
    first: dict[tuple[str, str], list[Spec]] = {}
    for spec in study:
        first.setdefault((spec.dataset_name, spec.method), []).append(spec)
    return [spec for key, found in first.items() if key not in known for spec in found[:_TRIALS]]


def costs(specs: Iterable[Spec], store: Store) -> list[Cost]:
    """Count the runs of a study, with their median duration so far.

    Parameters
    ----------
    specs : iterable of Spec
        The study.
    store : Store
        Results.

    Returns
    -------
    list of Cost
        One line per data set and method, in the order of the specs.
    """
    study = list(dict.fromkeys(specs))
    done, seconds = store.done(), store.seconds(study)
    runs = Counter((spec.dataset_name, spec.method) for spec in study)
    missing = Counter((spec.dataset_name, spec.method) for spec in study if spec.digest not in done)
    return [Cost(*key, n, missing[key], seconds.get(key)) for key, n in runs.items()]
