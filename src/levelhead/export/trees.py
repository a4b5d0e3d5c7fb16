"""Forests as ONNX's tree ensembles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead.estimators.trees.forest import Forest, compiled
from levelhead.export.graph import Graph

_CATEGORICAL, _DEFAULT_LEFT, _NAN = 1, 2, 2  # bits of a decision, and the kind of missing values
_WORD = 32


def sums(graph: Graph, inputs: list[str], forests: Sequence[Forest], *, average: bool) -> str:
    """Sums of the trees, shape (rows, forests), or their mean over the forests, shape (rows, 1)."""
    nodes = compiled(forests).nodes
    categorical = (nodes.decision & _CATEGORICAL).astype(bool)
    feature, threshold = nodes.feature.astype(np.int64), nodes.threshold.copy()
    added, feature[categorical] = _membership(graph, inputs, nodes, categorical)
    threshold[categorical] = 0.5
    missing = nodes.decision >> 2
    if (missing[~categorical] == 1).any():
        raise ValueError("the trees treat zeros as missing, which ONNX cannot")
    default_left = (nodes.decision & _DEFAULT_LEFT).astype(bool)
    left_if_missing = np.where(missing == _NAN, default_left, threshold >= 0) & ~categorical
    table = graph.columns([*inputs, *added])
    n_trees = np.diff(nodes.first_tree)
    target = np.repeat(np.arange(len(forests)), n_trees)
    attributes = _attributes(nodes, feature, threshold, left_if_missing, target * (not average))
    attributes["target_weights"] /= len(forests) if average else 1
    values, weights = (
        graph.onnx.numpy_helper.from_array(attributes.pop(name))
        for name in ("nodes_values", "target_weights")
    )
    found = graph(
        "TreeEnsembleRegressor",
        table,
        domain="ai.onnx.ml",
        n_targets=1 if average else len(forests),
        nodes_values_as_tensor=values,
        target_weights_as_tensor=weights,
        **{name: entries.tolist() for name, entries in attributes.items()},
    )
    return graph.double(found)


def _membership(
    graph: Graph, inputs: list[str], nodes: Any, categorical: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int64]]:
    """For each categorical split an input that is 0 for the categories on its left and 1 for others, and its place."""
    added: list[str] = []
    places = np.empty(int(categorical.sum()), dtype=np.int64)
    feature, sets = nodes.feature[categorical], nodes.threshold[categorical].astype(np.int64)
    for column in np.unique(feature).tolist():
        here = np.flatnonzero(feature == column)
        known, which = np.unique(sets[here], return_inverse=True)
        outside = np.stack([_outside(words) for words in _padded(nodes, known)], axis=1)
        n_codes = len(outside) - 1
        x = inputs[column]
        beyond = graph("Or", graph("Less", x, 0.0), graph("GreaterOrEqual", x, float(n_codes)))
        other = graph("Or", graph("IsNaN", x), beyond)
        code = graph("Cast", graph("Where", other, float(n_codes), x), to=graph.onnx.TensorProto.INT64)
        found = graph("Gather", outside, code, axis=0)
        places[here] = len(inputs) + len(added) + which
        added += [graph.column(found, k) for k in range(len(known))]
    return added, places


def _padded(nodes: Any, sets: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
    """The words of sets, filled up with zeros to one length."""
    words = [nodes.words[nodes.bounds[k] : nodes.bounds[k + 1]] for k in sets.tolist()]
    longest = max(map(len, words))
    return [np.concatenate([one, np.zeros(longest - len(one), dtype=np.uint32)]) for one in words]


def _outside(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """1 for each code that is not in a set, and once more for all others."""
    bits = (words[:, None] >> np.arange(_WORD, dtype=np.uint32)) & 1
    return np.append(1.0 - bits.ravel().astype(np.float64), 1.0)


def _attributes(
    nodes: Any,
    feature: NDArray[np.int64],
    threshold: NDArray[np.float64],
    left_if_missing: NDArray[np.bool_],
    target: NDArray[np.int64],
) -> dict[str, Any]:
    """ONNX's lists: in each tree the splits, then the leaves."""
    n_splits = nodes.n_nodes.astype(np.int64)
    n_leaves = n_splits + 1
    first_split, first_leaf = np.cumsum(n_splits) - n_splits, np.cumsum(n_leaves) - n_leaves
    tree_of_split, tree_of_leaf = (np.repeat(np.arange(len(n_splits)), n) for n in (n_splits, n_leaves))
    split_id = np.arange(len(tree_of_split)) - first_split[tree_of_split]
    leaf_id = np.arange(len(tree_of_leaf)) - first_leaf[tree_of_leaf] + n_splits[tree_of_leaf]

    def child(side: NDArray[np.int32]) -> NDArray[np.int64]:
        leaf = -1 - side.astype(np.int64)
        below = side - first_split[tree_of_split]
        return np.asarray(np.where(side < 0, leaf_id[np.maximum(leaf, 0)], below), dtype=np.int64)

    order = np.lexsort((np.concatenate([split_id, leaf_id]), np.concatenate([tree_of_split, tree_of_leaf])))
    n = len(leaf_id)

    def both(of_splits: Any, of_leaves: Any) -> Any:
        return np.concatenate([of_splits, of_leaves])[order]

    modes = both(np.full(len(split_id), "BRANCH_LEQ"), np.full(n, "LEAF"))
    zeros = np.zeros(n, dtype=np.int64)
    return {
        "nodes_treeids": both(tree_of_split, tree_of_leaf),
        "nodes_nodeids": both(split_id, leaf_id),
        "nodes_featureids": both(feature, zeros),
        "nodes_values": both(threshold, np.zeros(n)),
        "nodes_modes": modes,
        "nodes_truenodeids": both(child(nodes.left), zeros),
        "nodes_falsenodeids": both(child(nodes.right), zeros),
        "nodes_missing_value_tracks_true": both(left_if_missing.astype(np.int64), zeros),
        "target_treeids": tree_of_leaf,
        "target_nodeids": leaf_id,
        "target_ids": target[tree_of_leaf],
        "target_weights": nodes.value.astype(np.float64),
    }
