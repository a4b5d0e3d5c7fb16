"""Row order, folds, weights and scales: what the engine is given."""

import numpy as np
import pytest

from levelhead.estimators._preparation import Scale, arrange, input_scale, prepare, target_scale

N = 200
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=N)


def test_every_row_is_visited_once_in_an_order_that_depends_on_content_and_seed():
    rows = arrange(X, Y, None, seed=1)
    mixed = RNG.permutation(N)
    again = arrange(X[mixed], Y[mixed], None, seed=1)
    assert sorted(rows.index) == list(range(N))
    np.testing.assert_array_equal(mixed[again.index], rows.index)
    assert (arrange(X, Y, None, seed=2).index != rows.index).any()
    assert rows.weight is None


def test_the_order_does_not_follow_the_numbers():
    rows = arrange(X, Y, None, seed=1)
    for values in (Y, X[:, 0], np.arange(N)):
        assert abs(np.corrcoef(values[rows.index], np.arange(N))[0, 1]) < 0.25


def test_equal_rows_share_a_group_and_different_ones_do_not():
    rows = arrange(np.vstack([X, X[:50]]), np.concatenate([Y, Y[:50]]), None, seed=1)
    assert rows.n_groups == N
    np.testing.assert_array_equal(rows.group[N:], rows.group[:50])
    assert len(set(rows.group[:N])) == N


@pytest.mark.parametrize("column", [0, 2, "label"])
def test_rows_that_differ_in_one_bit_are_different(column):
    inputs, labels = np.vstack([X[:1], X[:1]]), np.array([Y[0], Y[0]])
    if column == "label":
        labels[1] = np.nextafter(labels[1], 9)
    else:
        inputs[1, column] = np.nextafter(inputs[1, column], 9)
    assert arrange(inputs, labels, None, seed=0).n_groups == 2


def test_negative_zero_and_float32_are_the_same_numbers():
    single = X.astype(np.float32)
    one, two = arrange(single, Y, None, seed=3), arrange(single.astype(np.float64), Y, None, seed=3)
    np.testing.assert_array_equal(one.index, two.index)
    zeros = np.array([[0.0], [-0.0]])
    assert arrange(zeros, np.zeros(2), None, seed=0).n_groups == 1


def test_folds_are_balanced():
    sizes = np.bincount(arrange(X, Y, None, seed=4).group % 5)
    assert sizes.tolist() == [40] * 5


def test_integer_weights_become_visits():
    weight = RNG.integers(0, 4, N).astype(float)
    rows = arrange(X, Y, weight, seed=1)
    np.testing.assert_array_equal(np.bincount(rows.index, minlength=N), weight)
    assert rows.weight is None


def test_fractional_and_very_large_weights_stay_weights():
    for weight in (RNG.uniform(0.1, 2, N), np.where(np.arange(N) == 0, 1e9, 1.0)):
        rows = arrange(X, Y, weight, seed=1)
        assert sorted(rows.index) == list(range(N))
        assert rows.weight.mean() == pytest.approx(1, rel=1e-5)
        np.testing.assert_allclose(rows.weight / rows.weight[1], weight / weight[1], rtol=1e-5)


def test_rows_without_weight_are_not_visited_but_belong_to_a_fold():
    weight = np.where(np.arange(N) % 2, 0.5, 0.0)
    rows = arrange(X, Y, weight, seed=1)
    assert set(rows.index) == set(np.flatnonzero(weight))
    assert rows.group.min() >= 0
    assert rows.group.max() < rows.n_groups


def test_rows_held_out_and_kept():
    rows = arrange(X, Y, None, seed=1)
    held = rows.group % 5 == 2
    assert set(rows.without(held)) == set(np.flatnonzero(~held))
    assert set(rows.only(held)) == set(np.flatnonzero(held))
    np.testing.assert_array_equal(rows.without(np.ones(N, dtype=bool)), rows.index)


def test_a_sample_of_groups_takes_copies_together():
    rows = arrange(np.vstack([X, X]), np.concatenate([Y, Y]), None, seed=1)
    chosen = rows.sample_groups(0.1, seed=0)
    assert chosen.sum() == 40
    np.testing.assert_array_equal(chosen[:N], chosen[N:])
    assert arrange(X[:1], Y[:1], None, seed=0).sample_groups(0.1, seed=0).all()


def test_label_weights_multiply_sample_weights():
    rows = arrange(X, Y, None, seed=1)
    factor = np.where(np.arange(N) < 20, 0.0, 1.0)
    weighted = rows.weighted(factor)
    np.testing.assert_allclose(weighted.weight, factor * N / 180, rtol=1e-6)
    twice = weighted.weighted(np.full(N, 0.5))
    np.testing.assert_allclose(twice.weight, weighted.weight, rtol=1e-6)


# ------------------------------------------------------------------ scales


def test_columns_get_mean_zero_and_deviation_one():
    inputs = X * [1, 1e-200, 1e200] + [0, 1e-200, 1e201]
    rows = arrange(inputs, Y, None, seed=0)
    scaled = prepare(inputs, Y, rows, input_scale(inputs, rows), target_scale(Y, rows, "standard"))
    np.testing.assert_allclose(scaled.X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.X.std(axis=0), 1, rtol=1e-5)
    assert scaled.y.mean() == pytest.approx(0, abs=1e-5)
    assert scaled.y.std() == pytest.approx(1, rel=1e-5)
    assert scaled.X.dtype == scaled.y.dtype == np.float32


def test_visits_count_in_the_scale():
    weight = RNG.integers(0, 4, N)
    copied = np.repeat(X, weight, axis=0)
    scale = input_scale(X, arrange(X, Y, weight.astype(float), seed=0))
    np.testing.assert_allclose(scale.center, copied.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(scale.spread, copied.std(axis=0), rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, 1e-300])
def test_constant_columns_become_zeros(value):
    inputs = np.full((N, 1), value)
    scale = input_scale(inputs, arrange(inputs, Y, None, seed=0))
    np.testing.assert_allclose(scale.apply(inputs), 0, atol=1e-6)


def test_far_values_are_cut_not_infinite():
    scale = Scale(np.zeros(1), np.ones(1))
    np.testing.assert_array_equal(scale.apply(np.array([[1e300], [-1e300], [3.0]])), [[1e6], [-1e6], [3]])
    wide = Scale(np.float64(-1.7e308), np.float64(1e308))
    np.testing.assert_allclose(wide.apply(np.array([1.7e308])), 3.4, rtol=1e-6)


def robust(labels, weight=None):
    inputs = np.arange(len(labels), dtype=float)[:, None]
    labels = np.asarray(labels, dtype=float)
    return target_scale(labels, arrange(inputs, labels, weight, seed=0), "robust")


def test_the_robust_scale_is_median_and_median_deviation():
    scale = robust(3 + 2 * Y)
    median = np.median(3 + 2 * Y)
    assert scale.center == pytest.approx(median)
    assert scale.spread == pytest.approx(np.median(np.abs(3 + 2 * Y - median)) / 0.6745)
    assert scale.spread == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("size", [1e3, 1e6, 1e250])
def test_wrong_labels_hardly_move_it(share, size):
    spoilt = Y.copy()
    spoilt[: int(share * N)] = size * np.where(np.arange(int(share * N)) % 2, 1, -1)
    if share < 0.2 or size < 1e9:
        assert robust(spoilt).spread == pytest.approx(robust(Y).spread, rel=share / (0.5 - share) + 0.1)


@pytest.mark.parametrize("noise", [0.0, 1e-17])
def test_labels_that_are_mostly_equal_up_to_rounding(noise):
    labels = np.where(np.arange(N) < 70, Y, noise * Y)
    assert 0.3 < robust(labels).spread < 3


def test_weights_enter_the_robust_scale():
    labels = np.concatenate([np.linspace(0, 1, 100), np.linspace(10, 11, 100)])
    weight = np.where(np.arange(N) < 100, 0.01, 1.7)
    assert 10.3 < robust(labels, weight).center < 10.7


def test_a_constant_target_keeps_its_unit():
    assert robust(np.full(N, 7.0)) == (7, 7)
    assert robust(np.full(N, 0.5)) == (0.5, 1)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_spreads_whose_square_is_no_float_are_refused(factor):
    with pytest.raises(ValueError, match="would not fit into a float"):
        robust(factor * Y)
