"""Trees as text: what LightGBM grew answers the same, and nothing else passes."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

lgb = pytest.importorskip("lightgbm")

from levelhead.estimators.trees import forest as forests  # noqa: E402
from levelhead.estimators.trees.forest import Forest  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
X[:, 3] = RNG.integers(0, 70, 400)
X[RNG.random(X.shape) < 0.1] = np.nan
GAP = np.isnan(X[:, 1])  # only a threshold of ∞ tells a gap from every number
Y = 5 * GAP + 3 * np.nan_to_num(X[:, 0]) + 4 * np.isin(X[:, 3], [1, 5, 9, 40, 41, 42, 66])
NEW = np.where(RNG.random((300, 4)) < 0.1, np.nan, RNG.normal(size=(300, 4)))
NEW[:, 3] = RNG.integers(-2, 90, 300)
SETTINGS = {"verbosity": -1, "num_leaves": 8, "objective": "none", "min_data_per_group": 3, "cat_smooth": 1}


@pytest.fixture(scope="module")
def booster():
    grown = lgb.Booster(SETTINGS, lgb.Dataset(X, Y, categorical_feature=[3], params=SETTINGS))
    for _ in range(30):
        grown.update(fobj=lambda at, _: (at - Y, np.ones(len(Y))))
    return grown


@pytest.fixture(scope="module")
def forest(booster):
    return Forest.of(booster, 20)


def test_it_answers_like_the_booster_with_gaps_and_categories_never_seen(booster, forest):
    assert forest.n_trees == 20
    assert "cat_threshold" in forest.text
    assert "inf" in forest.text
    expected = booster.predict(NEW, num_iteration=20)
    np.testing.assert_array_equal(forest.predict(NEW), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(NEW), expected)


def test_what_was_grown_here_passes_the_check_unchanged(forest):
    assert Forest(forest.n_features, forest.text).text == forest.text


def test_a_booster_of_several_quantities_gives_a_forest_for_each():
    settings = SETTINGS | {"num_class": 3}
    grown = lgb.Booster(settings, lgb.Dataset(X, Y, categorical_feature=[3], params=settings))
    for _ in range(6):
        grown.update(fobj=lambda at, _: (at - Y[:, None] * [1, 2, 3], np.ones(at.shape)))
    forests = Forest.each(grown, 4)
    answers = np.column_stack([forest.predict(NEW) for forest in forests])
    np.testing.assert_array_equal(answers, grown.predict(NEW, num_iteration=4))
    assert [forest.n_trees for forest in forests] == [4, 4, 4]


def test_trees_without_a_split_are_trees_too():
    flat = lgb.Booster(SETTINGS, lgb.Dataset(X, Y * 0, params=SETTINGS))
    flat.update(fobj=lambda at, _: (at, np.ones(len(Y))))
    forest = Forest.of(flat, 1)
    assert (forest.predict(NEW) == 0).all()
    assert Forest(forest.n_features, forest.text).text == forest.text


def trained(seed, leaves, **others):
    """A booster of random trees, with two columns of categories, gaps and numbers next to 0."""
    rng = np.random.default_rng(seed)
    table = table_with_gaps(rng, 300)
    y = rng.normal(size=300) + np.nan_to_num(table[:, 0]) + np.nan_to_num(table[:, 2] % 5)
    parameters = SETTINGS | {"objective": "l2", "num_leaves": leaves, "min_data_in_leaf": 2} | others
    data = lgb.Dataset(table, y, categorical_feature=[2, 3], params=parameters)
    return lgb.train(parameters, data, 12), rng


def table_with_gaps(rng, n):
    table = rng.normal(size=(n, 5))
    table[:, 2], table[:, 3] = rng.integers(-1, 100, n), rng.integers(0, 4, n)
    table[:, 4] = rng.choice([0.0, 1e-36, -1e-36, 1.00000002e-35, 1.0, -2.5, np.float32(0.1)], n)
    table[rng.random(table.shape) < 0.15] = np.nan
    table[rng.random(n) < 0.05, 2] = 3e9  # more than an int holds
    return table


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    leaves=st.sampled_from([2, 15, 31, 32, 33, 60]),
    n_rows=st.sampled_from([1, 4, 5, 16, 17, 256, 300]),
    gaps=st.sampled_from([{}, {"use_missing": False}, {"zero_as_missing": True}]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_every_bit_is_that_of_the_library(seed, leaves, n_rows, gaps, dtype):
    booster, rng = trained(seed, leaves, **gaps)
    rows = table_with_gaps(rng, n_rows).astype(dtype)
    np.testing.assert_array_equal(Forest.of(booster, 12).predict(rows), booster.predict(rows))


def test_forests_are_summed_together_for_any_number_of_threads_and_any_layout():
    boosters = [trained(seed, leaves)[0] for seed, leaves in ((1, 15), (2, 31), (3, 31))]
    several = [Forest.of(booster, 12) for booster in boosters]
    rows = table_with_gaps(np.random.default_rng(4), 20_000)
    expected = np.array([booster.predict(rows) for booster in boosters])
    for table in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        np.testing.assert_array_equal(forests.sums(several, table, n_threads=2), expected)
    np.testing.assert_array_equal(forests.sums(several[:2], rows), expected[:2])
    np.testing.assert_array_equal(forests.sums(several[::-1], rows), expected[::-1])


def test_a_table_of_another_width_is_refused(forest):
    with pytest.raises(ValueError, match=r"need \(rows, 4\)"):
        forest.predict(NEW[:, :3])
    with pytest.raises(ValueError, match="different numbers of features"):
        forests.sums([forest, Forest(5, forest.text)], NEW)


def altered(forest, name, change):
    """The text with another value in the first tree that has the line."""
    blocks = forest.text.split("\n\n")
    place = next(k for k, block in enumerate(blocks) if f"\n{name}=" in f"\n{block}")
    lines = blocks[place].split("\n")
    lines = [
        f"{name}={change(line.partition('=')[2])}" if line.startswith(f"{name}=") else line for line in lines
    ]
    blocks[place] = "\n".join(line for line in lines if line != f"{name}=None")
    return "\n\n".join(blocks)


def entry(k, value):
    def change(text):
        entries = text.split()
        entries[k] = str(value)
        return " ".join(entries)

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("num_leaves", lambda _: "9", "entries"),
        ("num_leaves", lambda _: "99999999", "leaves"),
        ("num_leaves", lambda _: "0", "leaves"),
        ("num_cat", lambda _: "-1", "categorical"),
        ("split_feature", entry(0, 4), "uses feature 4 of 4"),
        ("split_feature", entry(0, -1), "uses feature"),
        ("split_feature", entry(0, "1.5"), "whole numbers"),
        ("left_child", entry(0, 0), "not connected"),
        ("left_child", entry(0, 7000), "not connected"),
        ("right_child", entry(-1, -9), "not connected"),
        ("right_child", lambda text: text.rpartition(" ")[0], "entries"),
        ("decision_type", entry(0, 16), "kind of decision"),
        ("decision_type", entry(0, 12), "kind of decision"),
        ("threshold", entry(0, "nan"), "has the line"),
        ("leaf_value", entry(0, "inf"), "finite"),
        ("leaf_value", entry(0, "1e999"), "finite"),
        ("leaf_value", lambda _: None, "entries"),
        ("cat_boundaries", entry(-1, 10**9), "entries"),
        ("cat_boundaries", entry(0, 1), "entries|fit its splits"),
        ("cat_threshold", entry(0, 2**32), "32-bit words"),
        ("shrinkage", lambda _: "1\nfile=/etc/passwd", "has the line"),
        ("num_leaves", lambda text: text.replace("8", "٨"), "has the line"),
        ("split_feature", entry(0, "١"), "has the line"),
        ("decision_type", entry(0, "２"), "has the line"),
        ("left_child", entry(0, "1_0"), "has the line"),
        ("threshold", entry(0, "٥٠٠٠٠١"), "has the line"),
        ("cat_boundaries", entry(-1, "٥٠٠٠٠١"), "has the line"),
        ("leaf_value", entry(0, "0x10"), "has the line"),
    ],
)
def test_what_no_tree_can_be_is_refused(forest, name, change, message):
    with pytest.raises(ValueError, match=message):
        Forest(4, altered(forest, name, change))


def test_a_cycle_of_nodes_is_refused():
    tree = {
        "num_leaves": "3", "num_cat": "0", "split_feature": "0 0", "threshold": "0 1", "decision_type": "2 2",
        "left_child": "-1 -2", "right_child": "1 -3", "leaf_value": "1 2 3", "shrinkage": "1",
    }  # fmt: skip
    text = lambda tree: "\n".join(f"{k}={v}" for k, v in tree.items())
    np.testing.assert_array_equal(Forest(1, text(tree)).predict(np.array([[-1.0], [0.5], [2.0]])), [1, 2, 3])
    with pytest.raises(ValueError, match="not connected"):
        Forest(1, text(tree | {"left_child": "1 -2", "right_child": "-1 0"}))


def test_only_checked_lines_reach_the_library(forest):
    read = Forest(4, altered(forest, "shrinkage", lambda text: f"{text}\nleaf_const=1 2 3"))
    assert "leaf_const" not in read.text
    assert read == forest


def test_the_text_is_written_anew_from_its_numbers(forest):
    other = altered(forest, "leaf_value", entry(0, "0.10"))
    assert "leaf_value=0.10 " in other
    read = Forest(4, other).text
    assert "leaf_value=0.10000000000000001 " in read
    spelled = altered(forest, "split_feature", lambda text: " ".join(f"00{k}" for k in text.split()))
    assert Forest(4, spelled) == forest


def test_memory_does_not_grow_with_columns_that_no_tree_looks_at(forest):
    wide = Forest(2**20, forest.text)
    assert len(wide._booster.feature_name()) == len(forest._features)
    places = np.zeros((3, 2**12))
    places[:, :4] = NEW[:3]
    np.testing.assert_array_equal(Forest(2**12, forest.text).predict(places), forest.predict(NEW[:3]))


@pytest.mark.parametrize("n_features", [0, -1, 2**24])
def test_an_absurd_number_of_features_is_refused(forest, n_features):
    with pytest.raises(ValueError, match="features"):
        Forest(n_features, forest.text)


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[boosting\]'"):
        forests.lightgbm()
