"""Every contamination spoils what it says, marks exactly that, and leaves its input alone."""

import doctest

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from levelhead import contamination as c

N = 4000


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, size=(N, 2))
    return X, 5 + 2 * rng.normal(size=N)


@pytest.fixture
def noise_std():
    return np.random.default_rng(12).lognormal(size=N)


@pytest.mark.parametrize("name", list(c.CONTAMINATIONS))
def test_common_properties_of_every_contamination(data, noise_std, name):
    X, y = data
    before = X.copy(), y.copy()
    spoil = c.get_contamination(name)
    spoilt = spoil(X, y, 0.05, random_state=3, noise_std=noise_std)
    assert spoilt.mask.sum() == 200
    assert_array_equal(spoilt.y[~spoilt.mask], y[~spoilt.mask])
    assert (spoilt.y[spoilt.mask] != y[spoilt.mask]).all()
    assert_array_equal(spoilt.original, y)
    assert spoilt.X is X
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])
    again = spoil(X, y, 0.05, random_state=3, noise_std=noise_std)
    assert_array_equal(again.y, spoilt.y)
    other = spoil(X, y, 0.05, random_state=4, noise_std=noise_std)
    assert (other.mask != spoilt.mask).any()


def test_the_path_of_a_class_is_that_of_the_package():
    """It is part of the digests and the seeds of studies, so stored results depend on it."""
    classes = {type(kind) for kind in c.CONTAMINATIONS.values()} | {c.Contamination, c.Ramp}
    assert len(classes) == 9
    assert {cls.__module__ for cls in classes} == {"levelhead.contamination"}


@pytest.mark.parametrize("percent", [0, 5, 10, 15, 20])
@pytest.mark.parametrize("n", [293, 480, 979])
def test_the_number_of_wrong_labels_is_that_of_the_protocol(percent, n):
    y = np.random.default_rng(0).normal(size=n)
    assert c.Replaced()(y[:, None], y, percent / 100, 0).mask.sum() == int(percent / 100 * n)


def test_replaced_labels_are_the_papers(data):
    X, y = data
    spoilt = c.Replaced()(X, y, 0.5, random_state=0)
    standardised = (spoilt.y[spoilt.mask] - y.mean()) / (10 * y.std())
    assert stats.kstest(standardised, "norm").pvalue > 0.01


def test_uniform_labels_fill_their_range(data):
    X, y = data
    spoilt = c.Uniform(spread=4)(X, y, 0.5, random_state=0)
    standardised = (spoilt.y[spoilt.mask] - y.mean()) / (4 * y.std())
    assert stats.kstest(standardised, stats.uniform(-1, 2).cdf).pvalue > 0.01


def test_cluster_is_one_sided_and_narrow(data):
    X, y = data
    above = c.Cluster(offset=8, width=0.1)(X, y, 0.2, random_state=0)
    wrong = (above.y[above.mask] - y.mean()) / y.std()
    assert_allclose([wrong.mean(), wrong.std()], [8, 0.1], atol=0.02)
    below = c.Cluster(offset=-8)(X, y, 0.2, random_state=0)
    assert (below.y[below.mask] < y.min()).all()


@pytest.mark.parametrize("count", [2, 3, 50])
def test_swaps_permute_so_that_no_row_keeps_its_label(count):
    y = np.random.default_rng(1).normal(size=100)
    spoilt = c.Swapped()(y[:, None], y, count / 100, random_state=5)
    assert spoilt.mask.sum() == count
    assert_array_equal(np.sort(spoilt.y), np.sort(y))


def test_a_swap_of_one_row_or_of_equal_labels_changes_nothing():
    y = np.arange(10.0)
    assert not c.Swapped()(y[:, None], y, 0.1, 0).mask.any()
    assert not c.Swapped()(y[:, None], np.ones(10), 0.5, 0).mask.any()


def test_unit_errors_use_every_factor(data):
    X, y = data
    spoilt = c.UnitError()(X, y, 0.1, random_state=0)
    factors = spoilt.y[spoilt.mask] / y[spoilt.mask]
    assert_allclose(np.unique(factors.round(9)), [0.1, 10, 1000])


def test_a_flipped_zero_is_not_a_wrong_label():
    y = np.array([0.0, 1.0, -2.0])
    spoilt = c.SignFlip()(y[:, None], y, 1.0, 0)
    assert_array_equal(spoilt.y, [0, -1, 2])
    assert_array_equal(spoilt.mask, [False, True, True])


def test_shifts_are_measured_in_local_noise(data, noise_std):
    X, y = data
    both = c.Shifted(k=2)(X, y, 0.5, random_state=0, noise_std=noise_std)
    z = ((both.y - y) / noise_std)[both.mask]
    assert_allclose(np.abs(z), 2, rtol=1e-9)
    assert 0.4 < np.mean(z > 0) < 0.6
    up = c.Shifted(k=3, one_sided=True)(X, y, 0.5, random_state=0, noise_std=noise_std)
    assert_allclose(((up.y - y) / noise_std)[up.mask], 3, rtol=1e-9)
    with pytest.raises(ValueError, match="give noise_std"):
        c.Shifted()(X, y, 0.1)


def test_a_rate_may_depend_on_x(data):
    X, y = data
    probability = np.where(X[:, 0] > 0, 0.3, 0.0)
    by_array = c.Replaced()(X, y, probability, random_state=0)
    by_function = c.Replaced()(X, y, lambda X: np.where(X[:, 0] > 0, 0.3, 0.0), random_state=0)
    assert_array_equal(by_array.y, by_function.y)
    assert not by_array.mask[X[:, 0] <= 0].any()
    right = by_array.mask[X[:, 0] > 0]
    assert abs(right.mean() - 0.3) < 4 * np.sqrt(0.21 / right.size)


def test_a_ramp_rises_with_the_rank_of_its_feature(data):
    X, y = data
    probability = c.Ramp(feature=1, start=0.1, end=0.3)(np.exp(5 * X))
    assert probability.mean() == pytest.approx(0.2)
    assert (np.diff(probability[np.argsort(X[:, 1])]) > 0).all()
    assert_allclose([probability.min(), probability.max()], [0.1, 0.3], atol=1e-4)
    assert_allclose(c.Ramp(end=1.0)(np.zeros((4, 1))), 0.5)
    spoilt = c.Replaced()(X, y, c.Ramp(end=0.4), random_state=0)
    assert spoilt.mask[X[:, 0] > 0.5].mean() > 3 * spoilt.mask[X[:, 0] < -0.5].mean()


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_are_returned_as_given(data, backend):
    library = pytest.importorskip(backend)
    X, y = data
    frame, column = library.DataFrame({"a": X[:, 0], "b": X[:, 1]}), library.Series(y)
    spoilt = c.Replaced()(frame, column, c.Ramp(), random_state=0)
    assert spoilt.X is frame
    assert_array_equal(spoilt.y, c.Replaced()(X, y, c.Ramp(), random_state=0).y)
    assert_array_equal(np.asarray(column), y)


def test_a_new_contamination_is_one_method(data):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Rounded(c.Contamination):
        def wrong_labels(self, rows, rng):
            return np.round(rows.y[rows.chosen])

    X, y = data
    spoilt = Rounded()(X, y, 1.0)
    assert_array_equal(spoilt.y, np.round(y))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [1.0, 2.0]), r"X has shape \(1, 1\) but y has 2 rows"),
        (([[1.0], [2.0]], [1.0, 2.0], 5), "contamination is 5.0; shares"),
        (([[1.0], [2.0]], [1.0, 2.0], [0.1, np.nan]), "contamination is nan"),
        (([[1.0], [2.0]], [1.0, 2.0], [0.1]), r"contamination has shape \(1,\) but y has 2 rows"),
        (([[1.0], [2.0]], [1.0, np.inf]), r"y has 1 NaN or infinite values \(first at row 1: inf\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        c.Replaced()(*arguments)


def test_the_error_for_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="choose one of replaced, uniform, cluster"):
        c.get_contamination("gaussian")


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(c) == (0, c.__doc__.count(">>>"))
