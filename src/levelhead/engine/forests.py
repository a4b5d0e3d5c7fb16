"""Sums of decision trees for many rows, bit for bit those of LightGBM, in compiled code (`_forest_kernels`).

>>> import numpy as np
>>> one = np.zeros(1, dtype=np.int32)
>>> nodes = Nodes(  # one tree: 10 if x is at most 0.5, else 20
...     feature=one, threshold=np.array([0.5]), decision=np.zeros(1, dtype=np.uint8), left=one - 1, right=one - 2,
...     value=np.array([10.0, 20.0]), root=one, n_nodes=one + 1,
...     bounds=one, words=np.empty(0, dtype=np.uint32), first_tree=np.array([0, 1]),
... )
>>> Forests(1, nodes).predict(np.array([[0.0], [1.0]]))
array([[10., 20.]])
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.engine import _forest_kernels as kernels
from levelhead.engine._forest_kernels import Int32, Masks, Nodes
from levelhead.engine._types import Float64
from levelhead.engine.networks import one_type

__all__ = ["Forests", "Nodes"]

_MOST_LEAVES = 32  # of a tree as a set of bits
_MOST_WORDS = 2**24  # of all sets of categories together
_GRAIN = 8192  # rows of a task


@dataclass(frozen=True, eq=False)
class Forests:
    """Several sums of trees, computed together.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    nodes : Nodes
        All trees. Nobody checks them here: children must come after their parents, features must be below
        `n_features`.
    """

    n_features: int
    nodes: Nodes

    def predict(self, X: NDArray[Any], n_threads: int = 1) -> Float64:
        """Sum the trees of every forest.

        Parameters
        ----------
        X : ndarray of float32 or float64, of shape (n_samples, n_features)
            Inputs; NaN is a gap.
        n_threads : int, default=1
            Number of threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_forests, n_samples)
            The sums.

        Raises
        ------
        ValueError
            If X has another number of columns.
        """
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X has shape {X.shape}; these trees need (rows, {self.n_features})")
        sums = np.empty((len(self.nodes.first_tree) - 1, len(X)))
        masks = self._masks

        def run(start: int) -> None:
            rows = one_type(np.ascontiguousarray(X[start : start + _GRAIN]))
            if masks is None:
                kernels.walk_rows(self.nodes, rows, start, sums)
            else:
                kernels.mask_rows(masks, self.nodes.first_tree, rows, start, sums)

        starts = range(0, len(X), _GRAIN)
        if n_threads == 1 or len(starts) < 2:
            for start in starts:
                run(start)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(run, starts))
        return sums

    @cached_property
    def _masks(self) -> Masks | None:
        """The trees as sets of leaves; None if some are too large or have splits that need a walk."""
        nodes = self.nodes
        categorical = nodes.decision & kernels.CATEGORICAL != 0
        mixed = np.isin(nodes.feature[categorical], nodes.feature[~categorical]).any()
        zero_is_gap = ~categorical & (nodes.decision >> kernels.KIND_OF_GAPS == kernels.ZERO_IS_GAP)
        if mixed or zero_is_gap.any() or (nodes.n_nodes >= _MOST_LEAVES).any():
            return None
        columns, place = np.unique(nodes.feature, return_inverse=True)
        sets = _sets(nodes, categorical, place, len(columns))
        if sets is None:
            return None
        first_leaf = np.cumsum(nodes.n_nodes + 1) - nodes.n_nodes - 1
        mask, value = _leaves(nodes, first_leaf)
        tree = np.repeat(np.arange(len(nodes.root)), nodes.n_nodes)
        order = np.lexsort((categorical, tree))
        low, span, first, kept = _ranks(nodes, categorical, place, len(columns))
        n_categorical = np.bincount(tree[categorical], minlength=len(nodes.root)).astype(np.int32)
        return Masks(
            columns=columns.astype(np.int32),
            n_codes=sets.n_codes,
            first=first,
            kept=kept,
            n_numeric=nodes.n_nodes - n_categorical,
            n_categorical=n_categorical,
            place=place.astype(np.int32)[order],
            low=low[order],
            span=span[order],
            start=sets.start[order],
            words=sets.words,
            mask=mask[order],
            first_leaf=first_leaf.astype(np.int32),
            value=value,
        )


class _Sets(NamedTuple):
    n_codes: Int32
    start: Int32
    words: NDArray[np.uint32]


def _leaves(nodes: Nodes, first_leaf: NDArray[np.int64]) -> tuple[NDArray[np.uint32], Float64]:
    """Leaves that remain on the right of each node, and values of the leaves from left to right."""
    mask, order = np.empty(len(nodes.left), dtype=np.uint32), np.empty(len(nodes.value), dtype=np.int32)
    kernels.order_leaves(nodes.left, nodes.right, nodes.root, mask, order)
    value = np.empty_like(nodes.value)
    value[np.repeat(first_leaf, nodes.n_nodes + 1) + order] = nodes.value
    return mask, value


def _sets(
    nodes: Nodes, categorical: NDArray[np.bool_], place: NDArray[np.int64], n_columns: int
) -> _Sets | None:
    """Sets of categories with as many words for each node of a column; None if they would need too much memory."""
    which = nodes.threshold[categorical].astype(np.int64)
    begin, length = nodes.bounds[which].astype(np.int64), np.diff(nodes.bounds)[which].astype(np.int64)
    at = place[categorical]
    longest = np.zeros(n_columns, dtype=np.int64)
    np.maximum.at(longest, at, length)
    taken = longest[at] + 1  # the last word is for the unknown code
    if taken.sum() > _MOST_WORDS:
        return None
    start = np.full(len(place), -1, dtype=np.int32)
    start[categorical] = first = np.cumsum(taken) - taken
    words = np.zeros(int(taken.sum()), dtype=np.uint32)
    inside = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    words[np.repeat(first, length) + inside] = nodes.words[np.repeat(begin, length) + inside]
    n_codes = np.full(n_columns, -1, dtype=np.int32)
    n_codes[at] = 32 * longest[at]
    return _Sets(n_codes, start, words)


def _ranks(
    nodes: Nodes, categorical: NDArray[np.bool_], place: NDArray[np.int64], n_columns: int
) -> tuple[Int32, NDArray[np.uint32], Int32, Float64]:
    """The thresholds of each column, and the ranks that go right at each node."""
    kept: list[Float64] = []
    low, span = np.zeros(len(place), dtype=np.int32), np.zeros(len(place), dtype=np.uint32)
    by_column = np.argsort(place, kind="stable")
    for those in np.split(by_column, np.cumsum(np.bincount(place, minlength=n_columns))[:-1]):
        if not those.size or categorical[those[0]]:
            kept.append(np.empty(0))
            continue
        threshold, decision = nodes.threshold[those], nodes.decision[those]
        thresholds, position = np.unique(threshold, return_inverse=True)
        nan_is_gap = decision >> kernels.KIND_OF_GAPS == kernels.NAN_IS_GAP
        gaps_right = np.where(nan_is_gap, decision & kernels.DEFAULT_LEFT == 0, threshold < 0)
        low[those] = position + 1
        span[those] = len(thresholds) - 1 - position + gaps_right
        kept.append(thresholds)
    first = np.cumsum([0, *map(len, kept)]).astype(np.int32)
    return low, span, first, np.concatenate([*kept, np.empty(0)])
