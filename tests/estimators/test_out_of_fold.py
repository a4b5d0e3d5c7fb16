"""Folds: by content, by groups, by splitters; no fold model learns from what it predicts."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit

from levelhead import GCPBoostingRegressor, GCPRegressor
from levelhead.estimators._out_of_fold import Splitting, assign
from levelhead.estimators._preparation import arrange

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(size=60)
GROUPS = np.repeat(np.arange(15), 4)


def folds(X=X, y=Y, n=5, **splitting):
    return assign(arrange(X, y, None, 1), n, Splitting(**splitting).checked(len(y)), X, y)


def never_learns_what_it_predicts(found):
    return not found.seen[np.arange(len(found.of_row)), found.of_row].any()


@pytest.mark.parametrize(
    "splitting",
    [
        {},
        {"cv": 3},
        {"groups": GROUPS},
        {"groups": GROUPS, "cv": 4},
        {"groups": GROUPS, "cv": GroupKFold(3)},
        {"groups": GROUPS, "cv": LeaveOneGroupOut()},
        {"cv": KFold(4)},
        {"cv": TimeSeriesSplit(4)},
        {"cv": ShuffleSplit(3, random_state=0)},
        {"cv": list(KFold(6).split(X))},
    ],
    ids=str,
)
def test_every_row_is_predicted_by_a_model_that_has_not_seen_it(splitting):
    found = folds(**splitting)
    assert never_learns_what_it_predicts(found)
    assert found.of_row.min() == 0
    assert found.of_row.max() < found.n
    assert found.seen.any(axis=0).all()


def test_groups_are_not_divided_and_fill_the_folds_evenly():
    found = folds(groups=GROUPS)
    assert all(len(set(found.of_row[g == GROUPS])) == 1 for g in range(15))
    assert np.bincount(found.of_row).tolist() == [12] * 5


def test_groups_do_not_depend_on_names_or_the_order_of_rows():
    order = RNG.permutation(60)
    one = folds(groups=[f"patient {g}" for g in GROUPS])
    two = folds(X[order], Y[order], groups=GROUPS[order])
    np.testing.assert_array_equal(one.of_row[order], two.of_row)


def test_a_time_series_is_predicted_from_the_past_and_its_start_from_the_rest():
    found = folds(cv=TimeSeriesSplit(4))
    for k in range(found.n):
        held, seen = np.flatnonzero(found.of_row == k), np.flatnonzero(found.seen[:, k])
        if held.min() > 0:
            assert seen.max() < held.min()
        else:
            assert seen.min() > held.max()
    assert (np.diff(found.seen.sum(axis=0)) <= 0).all()  # members start from the largest training sets


def test_no_fold_model_learns_from_a_copy_of_what_it_predicts():
    doubled, y = np.vstack([X, X[:20]]), np.concatenate([Y, Y[:20]])
    content = folds(doubled, y, n=7)  # the distance of the copies is not a multiple of it
    np.testing.assert_array_equal(content.of_row[:20], content.of_row[60:])
    for splitting in ({"cv": KFold(4)}, {"groups": np.arange(80) // 5}):
        found = folds(doubled, y, **splitting)
        for k in range(20):
            assert not found.seen[k, found.of_row[60 + k]]
            assert not found.seen[60 + k, found.of_row[k]]


def test_another_label_for_the_same_inputs_is_evidence():
    """Equal inputs with different labels need not fall into one fold: each is a measurement of its own."""
    same = np.zeros((60, 2))
    assert len(set(folds(same, Y).of_row)) == 5


@pytest.mark.parametrize(
    ("splitting", "message"),
    [
        ({"groups": GROUPS[:10]}, r"groups has shape \(10,\) but there are 60 rows"),
        ({"groups": np.zeros(60)}, "at least two groups"),
        ({"groups": np.where(GROUPS == 3, np.nan, GROUPS)}, r"4 missing entries \(first at row 12\)"),
        ({"groups": [None, *["a", "b"] * 29, "a"]}, "1 missing entries"),
        ({"cv": 1}, "at least two folds"),
        ({"cv": [(np.arange(60), np.arange(10))]}, "tests rows that it trains on"),
    ],
    ids=str,
)
def test_unusable_groups_and_splitters_are_refused(splitting, message):
    with pytest.raises(ValueError, match=message):
        folds(**splitting)


def patients(seed=1, n=150, visits=8):
    """Every patient has inputs of his own; the labels of eight patients are wholly wrong."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), visits)
    traits = rng.normal(size=(n, 3))
    X = np.column_stack([traits[who], rng.normal(size=who.size)])
    y = X[:, 0] + 0.5 * X[:, 1] + 0.3 * X[:, 3] + 0.2 * rng.normal(size=who.size)
    wrong = np.isin(who, rng.permutation(n)[:8])
    y[wrong] += 3
    return X, y, who, wrong


@pytest.mark.parametrize("kind", ["network", "trees"])
def test_wholly_wrong_groups_are_found_when_groups_stay_together(kind):
    if kind == "trees":
        pytest.importorskip("lightgbm")
        model = GCPBoostingRegressor(random_state=0)
    else:
        model = GCPRegressor(random_state=0)
    X, y, who, wrong = patients()
    grouped = model.fit(X, y, groups=who).audit(X, y)
    assert grouped.is_label_issue[wrong].mean() >= 0.7  # at least 0.73 for three seeds; usually 1
    assert grouped.is_label_issue[~wrong].mean() <= 0.06
    alone = model.fit(X, y).audit(X, y)
    assert alone.is_label_issue[wrong].mean() <= 0.5


@pytest.mark.parametrize("cls", [GCPRegressor, GCPBoostingRegressor])
@pytest.mark.parametrize("n_members", [1, 4])
def test_any_number_of_folds_and_members_can_be_fitted(cls, n_members):
    if cls is GCPBoostingRegressor:
        pytest.importorskip("lightgbm")
    model = cls(max_iter=5, n_members=n_members, random_state=0)
    for cv in (2, TimeSeriesSplit(3)):
        fitted = model.fit(X, Y, cv=cv)
        assert len(fitted.audit(X, Y)) == 60
        assert fitted.predict_dist(X).n_members == n_members
