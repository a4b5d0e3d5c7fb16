"""Boosted trees as plain text that is safe to read, whoever wrote it.

LightGBM reads models with compiled code that follows the indices in them. A `Forest` therefore takes its text apart,
checks every tree, and hands LightGBM only what it has rebuilt from the checked parts.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._extras import needed

_HEADER = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
_MOST_LEAVES = 131_072  # LightGBM's own limit
_MOST_FEATURES = 2**24
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_LINE = re.compile(rf"(\w+)=((?:{_NUMBER})(?: {_NUMBER})*)?")
_THRESHOLDS = re.compile(
    rf"(threshold)=((?:{_NUMBER}|-?inf)(?: (?:{_NUMBER}|-?inf))*)?"
)  # ∞ parts gaps from the rest
_CATEGORICAL, _DECISIONS = 1, 16  # bits of a decision: categorical, default left, two for how gaps are met
_USED = re.compile(
    "^(?:num_leaves|num_cat|split_feature|threshold|decision_type|left_child|right_child|leaf_value|cat_boundaries"
    "|cat_threshold)=.+$",
    re.MULTILINE,
)
_NODE_INTS = ("split_feature", "decision_type", "left_child", "right_child")


def lightgbm() -> Any:
    """The library, or an error that says how to get it."""
    return needed("lightgbm", "GCPBoostingRegressor", "boosting")


@dataclass(frozen=True)
class Forest:
    """The sum of many trees.

    Attributes
    ----------
    n_features : columns that it looks at.
    text : the trees, in LightGBM's notation.
    """

    n_features: int
    text: str

    def __post_init__(self) -> None:
        if not 1 <= self.n_features <= _MOST_FEATURES:
            raise ValueError(f"a forest of {self.n_features} features")
        blocks = self.text.split("\n\n")
        object.__setattr__(self, "text", "\n\n".join(_checked(block, self.n_features) for block in blocks))

    @classmethod
    def of(cls, booster: Any, n_rounds: int) -> "Forest":
        """The trees of a booster's first rounds."""
        return cls.each(booster, n_rounds)[0]

    @classmethod
    def each(cls, booster: Any, n_rounds: int) -> list["Forest"]:
        """The same for each of the quantities that a booster grows in step."""
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
        """Of trees that were grown here, which need no check."""
        forest = object.__new__(cls)
        object.__setattr__(forest, "n_features", n_features)
        object.__setattr__(forest, "text", text)
        return forest

    def __reduce__(self) -> Any:
        return Forest, (self.n_features, self.text)

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return self.text.count("\n\n") + 1

    @cached_property
    def _booster(self) -> Any:
        names = " ".join(f"x{k}" for k in range(self.n_features))
        trees = [f"Tree={k}\n{block}\n\n" for k, block in enumerate(self.text.split("\n\n"))]
        header = f"{_HEADER}max_feature_idx={self.n_features - 1}\nfeature_names={names}\n"
        header += f"feature_infos={' '.join(['none'] * self.n_features)}\n\n"
        return lightgbm().Booster(model_str=f"{header}{''.join(trees)}end of trees\n")

    def predict(self, X: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """The sum for every row."""
        return np.asarray(self._booster.predict(X, num_threads=n_threads), dtype=np.float64)


def _checked(block: str, n_features: int) -> str:
    """One tree, rebuilt from lines that were understood; refuses what no tree can be."""
    lines = [_LINE.fullmatch(line) or _THRESHOLDS.fullmatch(line) for line in block.split("\n")]
    if not all(lines):
        raise ValueError(f"a tree has the line {block.splitlines()[lines.index(None)][:80]!r}")
    given = {line[1]: line[2] or "" for line in lines if line}
    n_leaves, n_categorical = _whole(given, "num_leaves", 1)[0], _whole(given, "num_cat", 1)[0]
    if not 1 <= n_leaves <= _MOST_LEAVES or not 0 <= n_categorical < n_leaves:
        raise ValueError(f"a tree has {n_leaves} leaves and {n_categorical} categorical splits")
    told = {"num_leaves": str(n_leaves), "num_cat": str(n_categorical)}
    if n_leaves > 1:
        nodes = {name: _whole(given, name, n_leaves - 1) for name in _NODE_INTS}
        _numbers(given, "threshold", n_leaves - 1)
        _check_nodes(nodes, n_features)
        told |= {name: given[name] for name in ("split_feature", "threshold", "decision_type")}
        told |= {name: given[name] for name in ("left_child", "right_child")}
        _check_categories(given, nodes, n_categorical)
    if not np.isfinite(_numbers(given, "leaf_value", n_leaves)).all():
        raise ValueError("a tree has leaves without a finite value")
    told["leaf_value"] = given["leaf_value"]
    if n_categorical:
        told |= {name: given[name] for name in ("cat_boundaries", "cat_threshold")}
    # LightGBM reads these too, though no prediction needs them.
    told["shrinkage"] = "1"
    return "\n".join(f"{name}={value}" for name, value in told.items())


def _check_nodes(nodes: dict[str, NDArray[np.int64]], n_features: int) -> None:
    """Every node and every leaf hangs on one node before it, so that each way down ends at a leaf."""
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
        raise ValueError("the nodes of a tree do not hang together")
    features, decisions = nodes["split_feature"], nodes["decision_type"]
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(f"a tree asks for feature {features.max()} of {n_features}")
    if decisions.min() < 0 or decisions.max() >= _DECISIONS or ((decisions >> 2) == 3).any():
        raise ValueError("a tree has a kind of decision that there is not")


def _check_categories(given: dict[str, str], nodes: dict[str, NDArray[np.int64]], n: int) -> None:
    """Sets of categories are bits of words; thresholds of categorical splits number the sets."""
    categorical = (nodes["decision_type"] & _CATEGORICAL).astype(bool)
    if categorical.sum() != n:
        raise ValueError(f"a tree declares {n} categorical splits and has {categorical.sum()}")
    if not n:
        return
    sets = np.array(given["threshold"].split())[categorical].astype(np.float64)
    bounds = _whole(given, "cat_boundaries", n + 1)
    words = _whole(given, "cat_threshold", int(bounds[-1]))
    ascending = bounds[0] == 0 and (np.diff(bounds) > 0).all()
    if not ascending or not np.array_equal(np.sort(sets), np.arange(n)):
        raise ValueError("the sets of categories of a tree do not fit its splits")
    if words.min() < 0 or words.max() >= 2**32:
        raise ValueError("the sets of categories of a tree are no words of 32 bits")


def _whole(given: dict[str, str], name: str, n: int) -> NDArray[np.int64]:
    texts = given.get(name, "").split()
    if len(texts) != n or any("." in text or "e" in text or len(text) > 18 for text in texts):
        raise ValueError(f"{name} of a tree has {len(texts)} entries; needed: {n} whole numbers")
    return np.array(texts, dtype=np.int64)


def _numbers(given: dict[str, str], name: str, n: int) -> NDArray[np.float64]:
    texts = given.get(name, "").split()
    if len(texts) != n:
        raise ValueError(f"{name} of a tree has {len(texts)} entries; needed: {n}")
    return np.array(texts, dtype=np.float64)
