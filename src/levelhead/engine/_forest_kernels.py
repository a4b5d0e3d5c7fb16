"""The compiled loops over trees and rows of `levelhead.engine.forests`.

Two kernels find the leaf of a row in a tree. `walk_rows` follows the path of one row after the other and knows every
kind of split. `mask_rows` is made for many rows: a tree of at most 32 leaves is a set of bits, one for each leaf, and
every split whose right side a row takes removes the leaves of its left side; the first leaf that remains is that of the
row (QuickScorer, Lucchese et al., 2015). So a split costs the same few vector instructions for 16 rows, and no branch
depends on the data. Cells become ranks among the thresholds of their column first, so that whole numbers are compared.

Both add the leaves of a forest in the order of its trees, in double precision, as LightGBM does.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.engine._instructions import trailing_zeros
from levelhead.engine._jit import inline, kernel, leaf
from levelhead.engine._types import Float64
from levelhead.engine.networks import whole_vectors

Int32 = NDArray[np.int32]
UInt32 = NDArray[np.uint32]

ZERO = float(np.float32(1e-35))  # LightGBM takes smaller numbers for 0
CATEGORICAL, DEFAULT_LEFT, KIND_OF_GAPS = 1, 2, 2  # bits of a decision; the last is a shift
GAPS_ARE_ZERO, ZERO_IS_GAP, NAN_IS_GAP = range(3)
_LARGEST_CODE = 2.0**31  # larger categories are unknown ones
_BLOCK = 256  # rows that pass through all trees together: their ranks and sets stay in the fastest cache
_FEW_ROWS = 4  # up to so many, one row at a time is faster
_ALL = np.uint32(0xFFFFFFFF)


class Nodes(NamedTuple):
    """The nodes of many trees, one after the other.

    Attributes
    ----------
    feature : ndarray of int32
        Column of X that a node compares.
    threshold : ndarray of float64
        A row goes left if its cell is at most this; for a categorical node, the place of its set in `bounds`.
    decision : ndarray of uint8
        LightGBM's bits: categorical, default left, two for the kind of gaps.
    left, right : ndarray of int32
        Next node, or −1 − (position of the leaf).
    value : ndarray of float64
        Values of the leaves.
    root : ndarray of int32
        First node of each tree, or −1 − (position of its only leaf).
    n_nodes : ndarray of int32
        Number of nodes of each tree; it has one leaf more.
    bounds : ndarray of int32
        Where the words of each set of categories begin, and where the last ends.
    words : ndarray of uint32
        Sets of categories, 32 bits to a word.
    first_tree : ndarray of int64, of shape (n_forests + 1,)
        Where the trees of each forest begin, and the number of trees.
    """

    feature: Int32
    threshold: Float64
    decision: NDArray[np.uint8]
    left: Int32
    right: Int32
    value: Float64
    root: Int32
    n_nodes: Int32
    bounds: Int32
    words: UInt32
    first_tree: NDArray[np.int64]


class Masks(NamedTuple):
    """The same trees as sets of leaves, for `mask_rows`.

    Attributes
    ----------
    columns : ndarray of int32
        The columns of X that are used.
    n_codes : ndarray of int32
        Number of codes of each, if it holds categories, else −1.
    first : ndarray of int32
        Where the thresholds of each column begin, and the number of thresholds.
    kept : ndarray of float64
        The thresholds, ascending in each column.
    n_numeric, n_categorical : ndarray of int32
        Number of nodes of each kind in each tree; numeric ones come first.
    place : ndarray of int32
        Position of the column of each node in `columns`.
    low, span : ndarray of int32 and uint32
        A row goes right at a numeric node if its rank is at least `low`, and above it by at most `span`.
    start : ndarray of int32
        First word of the set of a categorical node; a row goes right if the bit of its code is not set.
    words : ndarray of uint32
        Sets of categories, with a bit for each code of the column and one more, which is not set.
    mask : ndarray of uint32
        The leaves that remain if a row goes right.
    first_leaf : ndarray of int32
        Position of the first leaf of each tree.
    value : ndarray of float64
        Values of the leaves, from left to right.
    """

    columns: Int32
    n_codes: Int32
    first: Int32
    kept: Float64
    n_numeric: Int32
    n_categorical: Int32
    place: Int32
    low: Int32
    span: UInt32
    start: Int32
    words: UInt32
    mask: UInt32
    first_leaf: Int32
    value: Float64


@inline
def _has(words: UInt32, start: Any, code: Any) -> Any:
    """Whether the set that begins at a word contains a code."""
    return (words[start + (code >> 5)] >> np.uint32(code & 31)) & np.uint32(1) != 0


@leaf
def _goes_left(nodes: Nodes, node: Any, cell: Any) -> Any:
    """LightGBM's `NumericalDecision` and `CategoricalDecision`."""
    decision = nodes.decision[node]
    if decision & CATEGORICAL:
        if not (cell > -1.0 and cell < _LARGEST_CODE):
            return False
        which, code = np.int64(nodes.threshold[node]), np.int64(cell)
        within = code >> 5 < nodes.bounds[which + 1] - nodes.bounds[which]
        return within and _has(nodes.words, nodes.bounds[which], code)
    gaps = decision >> KIND_OF_GAPS
    if np.isnan(cell) and gaps != NAN_IS_GAP:
        cell = 0.0
    if (gaps == ZERO_IS_GAP and abs(cell) <= ZERO) or (gaps == NAN_IS_GAP and np.isnan(cell)):
        return decision & DEFAULT_LEFT != 0
    return cell <= nodes.threshold[node]


@kernel
def walk_rows(nodes: Nodes, X: NDArray[Any], first: int, sums: Float64) -> None:
    """Sums of the rows of X, written from row `first` on."""
    for row in range(len(X)):
        for forest in range(len(nodes.first_tree) - 1):
            total = 0.0
            for tree in range(nodes.first_tree[forest], nodes.first_tree[forest + 1]):
                node = np.int64(nodes.root[tree])
                while node >= 0:
                    cell: Any = np.float64(X[row, nodes.feature[node]])
                    if abs(cell) <= ZERO:
                        cell = 0.0
                    node = np.int64(nodes.left[node] if _goes_left(nodes, node, cell) else nodes.right[node])
                total += nodes.value[-1 - node]
            sums[forest, first + row] = total


@leaf
def _rank(kept: Float64, first: int, n: int, cell: float) -> int:
    """Number of thresholds below a cell, by halving without branches."""
    base, left = first, n
    while left > 1:
        half = left >> 1
        base = base + half if kept[base + half - 1] < cell else base
        left -= half
    return base - first + (1 if n > 0 and kept[base] < cell else 0)


@leaf
def _fill_ranks(masks: Masks, X: NDArray[Any], start: int, n: int, ranks: Int32) -> None:
    """Ranks of n rows, one column of X after the other; gaps come after all numbers, unknown codes after all codes."""
    for place in range(len(masks.columns)):
        column, n_codes, first = masks.columns[place], masks.n_codes[place], masks.first[place]
        n_kept = masks.first[place + 1] - first
        for i in range(n):
            cell = np.float64(X[start + i, column])
            if n_codes >= 0:
                rank = np.int64(cell) if cell > -1.0 and cell < n_codes else np.int64(n_codes)
            elif np.isnan(cell):
                rank = np.int64(n_kept + 1)
            else:
                rank = np.int64(_rank(masks.kept, first, n_kept, 0.0 if abs(cell) <= ZERO else cell))
            ranks[place * _BLOCK + i] = rank


@leaf
def _remove_left(
    sets: UInt32, ranks: Int32, at: Any, n: int, low: np.int32, span: np.uint32, mask: np.uint32
) -> None:
    for i in range(n):
        right = np.uint32(ranks[np.uint64(at + i)] - low) <= span
        sets[np.uint64(i)] &= mask if right else _ALL


@leaf
def _remove_left_by_set(
    sets: UInt32, ranks: Int32, at: Any, n: int, words: UInt32, start: int, mask: np.uint32
) -> None:
    for i in range(n):
        sets[i] &= _ALL if _has(words, start, ranks[at + i]) else mask


@leaf
def _add_leaves(sums: Float64, sets: UInt32, value: Float64, first: int, n: int) -> None:
    for i in range(n):
        sums[np.uint64(i)] += value[np.uint64(first + trailing_zeros(sets[np.uint64(i)]))]


@leaf
def _many_rows(masks: Masks, tree: int, node: int, ranks: Int32, n: int, sets: UInt32) -> None:
    """The leaves that remain, one node after the other for all rows."""
    sets[:n] = _ALL
    first_set, end = node + masks.n_numeric[tree], node + masks.n_numeric[tree] + masks.n_categorical[tree]
    for j in range(node, first_set):
        at = np.int64(masks.place[j]) * _BLOCK
        _remove_left(sets, ranks, at, n, masks.low[j], masks.span[j], masks.mask[j])
    for j in range(first_set, end):
        at = np.int64(masks.place[j]) * _BLOCK
        _remove_left_by_set(sets, ranks, at, n, masks.words, masks.start[j], masks.mask[j])


@leaf
def _one_row(masks: Masks, tree: int, node: int, ranks: Int32, row: int) -> np.uint32:
    """The leaves that remain for one row, many nodes at a time."""
    remaining = _ALL
    first_set, end = node + masks.n_numeric[tree], node + masks.n_numeric[tree] + masks.n_categorical[tree]
    for j in range(np.uint64(node), np.uint64(first_set)):
        rank = ranks[np.uint64(masks.place[j] * _BLOCK + row)]
        remaining &= masks.mask[j] if np.uint32(rank - masks.low[j]) <= masks.span[j] else _ALL
    for j in range(first_set, end):
        code = ranks[masks.place[j] * _BLOCK + row]
        remaining &= _ALL if _has(masks.words, masks.start[j], code) else masks.mask[j]
    return remaining


@kernel
def mask_rows(
    masks: Masks, first_tree: NDArray[np.int64], X: NDArray[Any], first: int, sums: Float64
) -> None:
    """Sums of the rows of X, written from row `first` on."""
    ranks = np.zeros(len(masks.columns) * _BLOCK, dtype=np.int32)
    sets, total = np.empty(_BLOCK, dtype=np.uint32), np.empty(_BLOCK)
    for start in range(0, len(X), _BLOCK):
        n = min(_BLOCK, len(X) - start)
        n_whole = whole_vectors(n)  # of any rows beyond n, whose sums are not used
        _fill_ranks(masks, X, start, n, ranks)
        node = 0
        for forest in range(len(first_tree) - 1):
            total[:] = 0.0
            for tree in range(first_tree[forest], first_tree[forest + 1]):
                if n <= _FEW_ROWS:
                    for i in range(n):
                        sets[i] = _one_row(masks, tree, node, ranks, i)
                else:
                    _many_rows(masks, tree, node, ranks, n_whole, sets)
                _add_leaves(
                    total, sets, masks.value, masks.first_leaf[tree], n if n <= _FEW_ROWS else n_whole
                )
                node += masks.n_numeric[tree] + masks.n_categorical[tree]
            for i in range(n):
                sums[forest, first + start + i] = total[i]


@kernel
def order_leaves(left: Int32, right: Int32, root: Int32, mask: UInt32, order: Int32) -> None:
    """Number the leaves of every tree from left to right; children come after their parents."""
    begin = np.zeros(len(left), dtype=np.int32)
    size = np.ones(len(left), dtype=np.int32)
    for node in range(len(left) - 1, -1, -1):
        on_left = size[left[node]] if left[node] >= 0 else np.int32(1)
        on_right = size[right[node]] if right[node] >= 0 else np.int32(1)
        size[node] = on_left + on_right
    for tree in range(len(root)):
        if root[tree] < 0:
            order[-1 - root[tree]] = 0
    for node in range(len(left)):
        on_left = size[left[node]] if left[node] >= 0 else np.int32(1)
        ones = np.uint32(np.uint32(1) << np.uint32(on_left)) - np.uint32(1)
        mask[node] = ~np.uint32(np.uint32(ones) << np.uint32(begin[node]))
        for child, at in ((left[node], begin[node]), (right[node], np.int32(begin[node] + on_left))):
            if child >= 0:
                begin[child] = at
            else:
                order[-1 - child] = at
