"""Inputs of models from columns, and statistics of labels that never contain the label of the row itself."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from levelhead.tables.encoding.columns import Columns
from levelhead.tables.encoding.inputs import cross_fitted, find_repetition, learn
from levelhead.tables.encoding.levels import level_statistics, places

N, LEVELS = 400, 40
RNG = np.random.default_rng(1)
CODE = RNG.integers(0, LEVELS, N)
OF_LEVEL = RNG.normal(0, 100, LEVELS)
FRAME = pd.DataFrame(
    {
        "size": np.where(np.arange(N) % 7 == 0, np.nan, RNG.normal(size=N)),
        "kind": np.where(np.arange(N) % 11 == 0, None, np.array(["a", "b", "c"])[CODE % 3]),
        "place": [f"p{k:02d}" for k in CODE],
        "day": pd.Timestamp("2021-01-01") + pd.to_timedelta(RNG.integers(0, 700, N), unit="D"),
        "name": [f"n{k}" for k in range(N)],
    }
)
Y = OF_LEVEL[CODE] + RNG.normal(size=N)
COLUMNS = Columns.learn(FRAME)
TABLE = COLUMNS.table(FRAME)
FOLD = np.arange(N) % 5
FOLDS = SimpleNamespace(of_row=FOLD, seen=FOLD[:, None] != np.arange(5))
ALL = np.arange(N)


def encoded(reader, y=Y):
    return learn(TABLE, y, ALL, FOLDS, COLUMNS, reader)


def test_networks_get_finite_numbers_and_trees_gaps_and_codes():
    network, trees = encoded("network"), encoded("trees")
    assert np.isfinite(network.inputs(TABLE)).all()
    kinds = [feature.kind for feature in network.features]
    assert kinds[:2] == ["number", "gap"]
    assert kinds.count("level") == 3
    assert {"location", "spread", "known", "season cosine", "week sine"} <= set(kinds)
    assert not any(kind.startswith("clock") for kind in kinds)  # days have no time
    inputs = trees.inputs(TABLE)
    np.testing.assert_array_equal(np.isnan(inputs[:, 0]), FRAME["size"].isna())
    assert [trees.features[k].column for k in trees.categories] == [1, 2]
    assert not any(feature.column == 4 for feature in (*network.features, *trees.features))


@pytest.mark.parametrize("reader", ["network", "trees"])
def test_an_unknown_level_is_predicted_by_the_median_with_the_variance_between_levels(reader):
    encoding = encoded(reader)
    assert encoding.offset.column == 2
    new = TABLE[:2].copy()
    new[0, 2] = -1
    mean, variance = encoding.offsets(new)
    assert abs(mean[0] - np.median(Y)) < 1e-9
    assert 30**2 < variance[0] < 300**2
    assert variance[1] == 0
    assert abs(mean[1] - OF_LEVEL[CODE[1]]) < 2


@pytest.mark.parametrize("reader", ["network", "trees"])
def test_no_label_reaches_the_row_itself_or_the_model_that_holds_it_out(reader):
    encoding = encoded(reader)
    changed = Y.copy()
    row = 17
    changed[row] += 1e6
    own = FOLD[row] == FOLD
    held = int(FOLD[row])
    for other in (None, (held + 1) % 5):
        before, after = (cross_fitted(encoding, TABLE, y, ALL, FOLDS, other) for y in (Y, changed))
        np.testing.assert_array_equal(before.inputs[own], after.inputs[own])
        np.testing.assert_array_equal(before.offset[own], after.offset[own])
    before, after = (cross_fitted(encoding, TABLE, y, ALL, FOLDS, held) for y in (Y, changed))
    np.testing.assert_array_equal(before.inputs, after.inputs)
    np.testing.assert_array_equal(before.offset, after.offset)


def test_statistics_are_robust_and_shrunk_only_where_labels_are_noisy():
    place = places(CODE.astype(float))
    spoilt = np.where(np.arange(N) % 10 == 0, 1e6, Y)
    found = level_statistics(place, spoilt, LEVELS + 2)
    assert np.median(np.abs(found.location[2:] - OF_LEVEL)) < 2
    exact = level_statistics(place, OF_LEVEL[CODE], LEVELS + 2)
    np.testing.assert_allclose(exact.location[place], OF_LEVEL[CODE])
    noise = RNG.normal(size=N)
    shrunk = level_statistics(place, noise, LEVELS + 2)
    raw = pd.Series(noise).groupby(CODE).median()
    assert np.std(shrunk.location[2:]) < 0.6 * raw.std()
    assert found.n_labels.sum() == N


def test_weak_categories_are_no_offset():
    assert encoded("network", RNG.normal(size=N)).offset is None


def test_labels_that_repeat_one_value_for_each_level():
    labels = np.round(OF_LEVEL[CODE])
    labels[::12] += 30
    found = find_repetition(TABLE, labels, ALL, FOLDS, COLUMNS)
    assert found == (2, 1.0)
    assert find_repetition(TABLE, labels / 100, ALL, FOLDS, COLUMNS).unit == 0.01
    assert find_repetition(TABLE, Y, ALL, FOLDS, COLUMNS) is None
    assert find_repetition(TABLE, np.full(N, 7.0), ALL, FOLDS, COLUMNS) is None
