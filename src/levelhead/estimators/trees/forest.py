"""Boosted trees as plain text that is safe to read from any source.

LightGBM reads models with compiled code that follows the indices in them. A `Forest` therefore parses its text into
numbers, checks every tree, and writes new text from these numbers: LightGBM reads only text that was checked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_not
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._extras import needed
from levelhead.engine.forests import Forests, Nodes

_HEADER = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
_MOST_LEAVES = 131_072  # LightGBM's own limit
MOST_FEATURES = 2**20
# ASCII, because other alphabets have digits that Python reads and LightGBM does not.
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|inf)"
_LINE = re.compile(rf"([a-z_]+)=((?:{_NUMBER})(?: {_NUMBER})*)?")
_INTEGERS = re.compile(r"-?[0-9]{1,18}(?: -?[0-9]{1,18})*")
_CATEGORICAL, _DECISIONS = (
    1,
    16,
)  # bits of a decision: categorical, default left, two for the kind of missing values
# The lines of a tree that are kept, in LightGBM's order.
_LINES = (
    *("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child"),
    *("right_child", "leaf_value", "leaf_count", "internal_count", "cat_boundaries", "cat_threshold"),
)
_USED = re.compile(f"^(?:{'|'.join(_LINES)})=.+$", re.MULTILINE)
_SPLITS = re.compile("^split_feature=(.+)$", re.MULTILINE)
_GAINS = re.compile("^split_gain=(.+)$", re.MULTILINE)
_COUNTS = re.compile("^internal_count=", re.MULTILINE)
_CHILDREN = re.compile("^left_child=(.+)\nright_child=(.+)$", re.MULTILINE)
_NODE_INTS = ("split_feature", "decision_type", "left_child", "right_child")
_MOST_ROWS = 2**31 - 1  # LightGBM counts with 32 bits
# LightGBM's contributions take memory by the square of the depth and follow each path by recursion.
_DEEPEST = 512


def lightgbm() -> Any:
    """Import LightGBM; if it is missing, the error names the extra to install."""
    return needed("lightgbm", "GCPBoostingRegressor", "boosting")


@dataclass(frozen=True)
class Forest:
    """The sum of many trees.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    text : str
        The trees, in LightGBM's text format.
    """

    n_features: int
    text: str

    def __post_init__(self) -> None:
        if not 1 <= self.n_features <= MOST_FEATURES:
            raise ValueError(f"a forest of {self.n_features} features; at most {MOST_FEATURES} are possible")
        blocks = self.text.split("\n\n")
        object.__setattr__(self, "text", "\n\n".join(_rewritten(block, self.n_features) for block in blocks))

    @classmethod
    def of(cls, booster: Any, n_rounds: int) -> "Forest":
        """The trees of a booster's first rounds."""
        return cls.each(booster, n_rounds)[0]

    @classmethod
    def each(cls, booster: Any, n_rounds: int) -> list["Forest"]:
        """One forest for each class of a booster."""
        n = booster.num_model_per_iteration()
        text = booster.model_to_string(num_iteration=n_rounds)
        first, last = text.index("\nTree=0\n") + 1, text.index("\nend of trees")
        trees = [
            "\n".join([*_USED.findall(block), "shrinkage=1"])
            for block in text[first:last].strip().split("\n\n")
        ]
        return [cls._trusted(booster.num_feature(), "\n\n".join(trees[k::n])) for k in range(n)]

    @classmethod
    def _trusted(cls, n_features: int, text: str) -> "Forest":
        """A forest of trees that LightGBM has just trained, which need no check."""
        forest = object.__new__(cls)
        object.__setattr__(forest, "n_features", n_features)
        object.__setattr__(forest, "text", text)
        return forest

    def __reduce__(self) -> Any:
        return Forest, (self.n_features, self.text)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.text.count("\n\n") + 1

    @cached_property
    def _features(self) -> NDArray[np.int64]:
        """Columns that splits use: LightGBM gets no others, so its memory is bounded by the text."""
        used = {int(feature) for line in _SPLITS.findall(self.text) for feature in line.split()}
        return np.array(sorted(used or {0}))

    @cached_property
    def _booster(self) -> Any:
        return self._made(self._features)

    def to_booster(self) -> Any:
        """Return the trees as a booster of LightGBM, for tools such as `shap.TreeExplainer`.

        Returns
        -------
        lightgbm.Booster
            A booster of all features of the forest.
        """
        return self._made(np.arange(self.n_features))

    def _made(self, features: NDArray[np.int64]) -> Any:
        """A booster that takes these columns, in which all splits are."""
        place = {str(feature): str(k) for k, feature in enumerate(features.tolist())}
        renumbered = _SPLITS.sub(
            lambda line: "split_feature=" + " ".join(place[feature] for feature in line[1].split()), self.text
        )
        names = " ".join(f"x{k}" for k in range(len(place)))
        trees = [f"Tree={k}\n{block}\n\n" for k, block in enumerate(renumbered.split("\n\n"))]
        header = f"{_HEADER}max_feature_idx={len(place) - 1}\nfeature_names={names}\n"
        header += f"feature_infos={' '.join(['none'] * len(place))}\n\n"
        return lightgbm().Booster(model_str=f"{header}{''.join(trees)}end of trees\n")

    def predict(self, X: NDArray[Any], n_threads: int = 1) -> NDArray[np.float64]:
        """The sum of all trees for every row."""
        total: NDArray[np.float64] = sums([self], X, n_threads)[0]
        return total

    def _compiled_with(self, others: Sequence["Forest"]) -> Forests:
        """Compile all trees, and keep them for the next call."""
        known: tuple[list[Forest], Forests] | None = self.__dict__.get("_compiled")
        if known is None or len(known[0]) != len(others) or any(map(is_not, known[0], others)):
            known = list(others), compiled([self, *others])
            self.__dict__["_compiled"] = known
        return known[1]

    @property
    def gains(self) -> NDArray[np.float64]:
        """Sum of the gains of all splits by each feature; zeros for trees that were stored without them."""
        total = np.zeros(self.n_features)
        for features, gains in zip(_SPLITS.findall(self.text), _GAINS.findall(self.text), strict=False):
            np.add.at(total, np.array(features.split(), dtype=np.int64), np.array(gains.split(), dtype=float))
        return total

    def contributions(self, X: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Shapley values of the features of every row, and in a last column the mean of the training rows."""
        if len(_COUNTS.findall(self.text)) < len(_SPLITS.findall(self.text)):
            raise ValueError(
                "the trees were saved by a version that did not keep their numbers of rows; fit the model again"
            )
        if self._depth > _DEEPEST:
            raise ValueError(
                f"a tree is {self._depth} splits deep, and contributions need at most {_DEEPEST}; set max_leaf_nodes"
            )
        used = np.ascontiguousarray(X[:, self._features])
        found = self._booster.predict(used, pred_contrib=True, num_threads=n_threads)
        if not np.isfinite(found).all():
            raise ValueError("a tree has nodes without rows, so that the contributions are not defined")
        parts = np.zeros((len(X), self.n_features + 1))
        parts[:, self._features], parts[:, -1] = found[:, :-1], found[:, -1]
        return parts

    @cached_property
    def _depth(self) -> int:
        """Splits on the longest path; trees with too few splits to be too deep are not followed."""
        pairs = ([side.split() for side in sides] for sides in _CHILDREN.findall(self.text))
        return max((_depth(*map(_whole, pair)) for pair in pairs if len(pair[0]) > _DEEPEST), default=0)


def sums(forests: Sequence[Forest], X: NDArray[Any], n_threads: int = 1) -> NDArray[np.float64]:
    """The sums of the trees of several forests, shape (n_forests, n_samples)."""
    return forests[0]._compiled_with(forests[1:]).predict(X, n_threads)


def compiled(forests: Sequence[Forest]) -> Forests:
    """All trees of forests with the same features as arrays."""
    if any(forest.n_features != forests[0].n_features for forest in forests):
        raise ValueError("the forests of a model have different numbers of features")
    texts = "\n\n".join(forest.text for forest in forests)

    def numbers(name: str, kind: Any) -> NDArray[Any]:
        lines = re.findall(f"^{name}=(.+)$", texts, re.MULTILINE)
        return np.array(" ".join(lines).split(), dtype=np.float64).astype(kind)

    n_nodes, n_sets = numbers("num_leaves", np.int64) - 1, numbers("num_cat", np.int64)
    first_node, first_leaf = _begins(n_nodes), _begins(n_nodes + 1)
    decision, threshold = numbers("decision_type", np.uint8), numbers("threshold", np.float64)
    node_shift, leaf_shift = np.repeat(first_node, n_nodes), np.repeat(first_leaf, n_nodes)
    threshold += (decision & _CATEGORICAL) * np.repeat(_begins(n_sets), n_nodes)

    def children(name: str) -> NDArray[np.int32]:
        child = numbers(name, np.int64)
        return np.where(child < 0, child - leaf_shift, child + node_shift).astype(np.int32)

    return Forests(
        forests[0].n_features,
        Nodes(
            feature=numbers("split_feature", np.int32),
            threshold=threshold,
            decision=decision,
            left=children("left_child"),
            right=children("right_child"),
            value=numbers("leaf_value", np.float64),
            root=np.where(n_nodes == 0, -1 - first_leaf, first_node).astype(np.int32),
            n_nodes=n_nodes.astype(np.int32),
            bounds=_bounds(numbers("cat_boundaries", np.int64), n_sets),
            words=numbers("cat_threshold", np.uint32),
            first_tree=np.cumsum([0, *(forest.n_trees for forest in forests)]),
        ),
    )


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where parts of these lengths begin, one after the other."""
    return np.cumsum(lengths) - lengths


def _bounds(boundaries: NDArray[np.int64], n_sets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Where the words of the sets of all trees begin, and the number of words."""
    lengths = np.diff(boundaries)
    between = (
        np.cumsum(n_sets[n_sets > 0] + 1)[:-1] - 1
    )  # from the last bound of a tree to the first of the next
    return np.concatenate([[0], np.cumsum(np.delete(lengths, between))]).astype(np.int32)


def _rewritten(block: str, n_features: int) -> str:
    """Parse, check and rewrite one tree."""
    lines = [_LINE.fullmatch(line) for line in block.split("\n")]
    if not all(lines):
        raise ValueError(f"a tree has the line {block.split(chr(10))[lines.index(None)][:80]!r}")
    given = {line[1]: line[2] or "" for line in lines if line}
    n_leaves, n_categorical = (
        int(_integers(given, "num_leaves", 1)[0]),
        int(_integers(given, "num_cat", 1)[0]),
    )
    if not 1 <= n_leaves <= _MOST_LEAVES or not 0 <= n_categorical < n_leaves:
        raise ValueError(f"a tree has {n_leaves} leaves and {n_categorical} categorical splits")
    tree: dict[str, NDArray[Any]] = {"num_leaves": np.array([n_leaves]), "num_cat": np.array([n_categorical])}
    if n_leaves > 1:
        nodes = {name: _integers(given, name, n_leaves - 1) for name in _NODE_INTS}
        threshold = _floats(given, "threshold", n_leaves - 1)
        _check_nodes(nodes, n_features)
        tree |= {"split_feature": nodes["split_feature"], "threshold": threshold}
        tree |= {name: nodes[name] for name in _NODE_INTS[1:]}
    tree["leaf_value"] = _floats(given, "leaf_value", n_leaves)
    if not np.isfinite(tree["leaf_value"]).all():
        raise ValueError("a tree has leaves without a finite value")
    if n_leaves > 1:
        tree |= _sets_of_categories(given, nodes["decision_type"], threshold, n_categorical)
    tree |= _statistics(given, n_leaves)
    # LightGBM reads the shrinkage too, though no prediction needs it.
    kept = [f"{name}={_written(tree[name])}" for name in _LINES if name in tree]
    return "\n".join([*kept, "shrinkage=1"])


def _statistics(given: dict[str, str], n_leaves: int) -> dict[str, NDArray[Any]]:
    """Gains of the splits and numbers of rows, which explanations need; older files have none."""
    if "leaf_count" not in given:
        return {}
    counts = {"leaf_count": _integers(given, "leaf_count", n_leaves)}
    if n_leaves > 1:
        counts["internal_count"] = _integers(given, "internal_count", n_leaves - 1)
    if any(count.min() < 0 or count.max() > _MOST_ROWS for count in counts.values()):
        raise ValueError("a tree has nodes with an impossible number of rows")
    if n_leaves == 1:
        return counts
    gains = _floats(given, "split_gain", n_leaves - 1)
    if not ((gains >= 0) & (gains < np.finfo(np.float32).max)).all():
        raise ValueError("a tree has splits whose gain is negative or not finite")
    return counts | {"split_gain": gains.astype(np.float32)}


def _depth(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """Splits on the longest path of a tree, in which parents come before their children."""
    depth = np.ones(len(left), dtype=np.int64)
    for node, children in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        for child in children:
            if child > 0:
                depth[child] = depth[node] + 1
    return int(depth.max())


def _check_nodes(nodes: dict[str, NDArray[np.int64]], n_features: int) -> None:
    """Every node and every leaf has one parent, which comes before it, so that each path ends at a leaf."""
    left, right = nodes["left_child"], nodes["right_child"]
    n = len(left)
    parents = np.arange(n)
    children = np.concatenate([left, right])
    expected = np.concatenate([np.arange(-n - 1, 0), np.arange(1, n)])
    below = children < 0
    if (
        not np.array_equal(np.sort(children), expected)
        or not (below | (children > np.concatenate([parents, parents]))).all()
    ):
        raise ValueError("the nodes of a tree are not connected")
    features, decisions = nodes["split_feature"], nodes["decision_type"]
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(f"a tree uses feature {features.max()} of {n_features}")
    if decisions.min() < 0 or decisions.max() >= _DECISIONS or ((decisions >> 2) == 3).any():
        raise ValueError("a tree has an unknown kind of decision")


def _sets_of_categories(
    given: dict[str, str], decisions: NDArray[np.int64], threshold: NDArray[np.float64], n: int
) -> dict[str, NDArray[Any]]:
    """Sets of categories are bits of words; thresholds of categorical splits number the sets."""
    categorical = (decisions & _CATEGORICAL).astype(bool)
    if categorical.sum() != n:
        raise ValueError(f"a tree declares {n} categorical splits and has {categorical.sum()}")
    if not n:
        return {}
    bounds = _integers(given, "cat_boundaries", n + 1)
    words = _integers(given, "cat_threshold", int(bounds[-1]))
    ascending = bounds[0] == 0 and (np.diff(bounds) > 0).all()
    if not ascending or not np.array_equal(np.sort(threshold[categorical]), np.arange(n)):
        raise ValueError("the sets of categories of a tree do not fit its splits")
    if words.min() < 0 or words.max() >= 2**32:
        raise ValueError("the sets of categories of a tree are not 32-bit words")
    return {"cat_boundaries": bounds, "cat_threshold": words}


def _integers(given: dict[str, str], name: str, n: int) -> NDArray[np.int64]:
    text = given.get(name, "")
    if not _INTEGERS.fullmatch(text) or text.count(" ") != n - 1:
        raise ValueError(f"{name} of a tree has {len(text.split())} entries; needed: {n} whole numbers")
    return _whole(text.split(" "))


def _whole(entries: list[str]) -> NDArray[np.int64]:
    return np.array([int(entry) for entry in entries], dtype=np.int64)


def _floats(given: dict[str, str], name: str, n: int) -> NDArray[np.float64]:
    entries = given.get(name, "").split()
    if len(entries) != n:
        raise ValueError(f"{name} of a tree has {len(entries)} entries; needed: {n}")
    return np.array([float(entry) for entry in entries])


def _written(numbers: NDArray[Any]) -> str:
    """Seventeen digits, which represent every float exactly; six for gains, as LightGBM writes them."""
    if numbers.dtype.kind == "i":
        return " ".join(map(str, numbers.tolist()))
    if numbers.dtype == np.float32:
        return " ".join(f"{number:g}" for number in numbers.tolist())
    return " ".join(f"{number:.17g}" for number in numbers.tolist())
