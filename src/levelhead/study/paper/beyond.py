"""Experiments beyond the paper: larger shares of wrong labels, and other kinds of wrong labels.

The paper stops at 20 % of wrong labels, replaced by far-away draws. Here up to 40 % are wrong; `Cluster` puts all wrong
labels on one side, where they agree with one another; `Swapped` exchanges labels between rows, so that each label alone
looks normal.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from levelhead.contamination import Cluster, Contamination, Replaced, Swapped
from levelhead.study.paper.table1 import DATASETS, METHODS, SEEDS
from levelhead.study.paper.trees import specs_of
from levelhead.study.specs import Spec

# For every kind of wrong labels, the shares.
BEYOND: Mapping[Contamination, tuple[float, ...]] = MappingProxyType(
    {
        Replaced(): (0.3, 0.4),
        Cluster(): (0.05, 0.1, 0.2, 0.3, 0.4),
        Swapped(): (0.05, 0.1, 0.2, 0.3, 0.4),
    }
)


def beyond_specs(
    datasets: Sequence[str] = DATASETS, methods: Sequence[str] = METHODS, seeds: Sequence[int] = SEEDS
) -> Iterator[Spec]:
    """Create runs with the estimators of Table 1 for larger shares and other kinds of wrong labels than in the paper.

    Parameters
    ----------
    datasets : sequence of str, default=DATASETS
        Data sets.
    methods : sequence of str, default=METHODS
        Methods of Table 1, or of boosted trees.
    seeds : sequence of int, default=SEEDS
        Seeds of the splits.

    Yields
    ------
    Spec
        One run.
    """
    for kind, contamination in BEYOND.items():
        yield from specs_of(datasets, contamination, methods, seeds, kind=kind)
