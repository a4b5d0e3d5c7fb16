"""What must not change a model at all, and what must."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from levelhead import (
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
    GCPRegressor,
)

pytestmark = pytest.mark.compiled
ALL = [
    GCPRegressor,
    GaussianRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    BayesianBetaRegressor,
]
N = 90
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=N)
Y[::20] += 8
NEW = RNG.normal(size=(20, 3))


def model(cls=GCPRegressor, **settings):
    common = {"hidden_layer_sizes": (8,), "max_iter": 6, "random_state": 3, "batch_size": 16}
    return cls(**common | settings)


def same(one, two):
    """Bit for bit, means and variances."""
    a, b = one.predict_dist(NEW), two.predict_dist(NEW)
    np.testing.assert_array_equal(a.member_mean, b.member_mean)
    np.testing.assert_array_equal(a.member_var, b.member_var)
    return True


@pytest.mark.parametrize("cls", ALL)
def test_the_first_member_is_the_single_model(cls):
    one, five = (model(cls, n_members=n).fit(X, Y) for n in (1, 5))
    np.testing.assert_array_equal(five.networks_[0].weights, one.networks_[0].weights)
    single, mixed = one.predict_dist(NEW).member_mean, five.predict_dist(NEW).member_mean
    n_networks = len(mixed) // 5  # a Bayesian member answers with many samples
    np.testing.assert_array_equal(mixed[:n_networks], single)
    assert (mixed[-1] != single[0]).any()


@pytest.mark.parametrize("cls", ALL)
def test_an_ensemble_of_one_is_no_ensemble(cls):
    answer = model(cls, n_members=1).fit(X, Y).predict_dist(NEW)
    plain = model(cls).fit(X, Y).predict_dist(NEW)
    np.testing.assert_array_equal(answer.member_mean, plain.member_mean)
    np.testing.assert_array_equal(answer.member_var, plain.member_var)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("settings", [{}, {"early_stopping": True, "max_iter": 20}])
def test_the_order_of_rows(cls, settings):
    mixed = np.random.default_rng(0).permutation(N)
    one = model(cls, **settings).fit(X, Y)
    two = model(cls, **settings).fit(X[mixed], Y[mixed])
    assert same(one, two)
    assert one.loss_curve_ == two.loss_curve_


def test_the_order_of_rows_with_fractional_weights():
    mixed, weight = np.random.default_rng(0).permutation(N), RNG.uniform(0.1, 2, N)
    one = model().fit(X, Y, sample_weight=weight)
    two = model().fit(X[mixed], Y[mixed], sample_weight=weight[mixed])
    np.testing.assert_allclose(two.predict(NEW), one.predict(NEW), rtol=1e-4, atol=1e-5)


def test_out_of_fold_predictions_follow_their_rows():
    mixed = np.random.default_rng(0).permutation(N)
    one, two = model().fit(X, Y), model().fit(X[mixed], Y[mixed])
    np.testing.assert_array_equal(two.oof_prediction_.mean, one.oof_prediction_.mean[mixed])


@pytest.mark.parametrize("cls", ALL)
def test_integer_weights_are_copies(cls):
    weight = np.random.default_rng(0).integers(0, 4, N)
    weighted = model(cls).fit(X, Y, sample_weight=weight)
    copied = model(cls).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert same(weighted, copied)


@pytest.mark.parametrize("kind", [int, float, np.float32])
def test_weights_of_zero_leave_out(kind):
    weight = (np.arange(N) % 3 > 0).astype(kind)
    assert same(model().fit(X, Y, sample_weight=weight), model().fit(X[weight > 0], Y[weight > 0]))


def test_weights_of_zero_leave_out_beside_fractional_ones():
    weight = np.where(np.arange(N) % 3 > 0, 0.7, 0.0)
    weight[1] = 0.9
    kept = weight > 0
    assert same(
        model().fit(X, Y, sample_weight=weight),
        model().fit(X[kept], Y[kept], sample_weight=weight[kept]),
    )


def test_weights_of_one_are_no_weights():
    assert same(model().fit(X, Y, sample_weight=np.ones(N)), model().fit(X, Y))


def test_the_unit_of_fractional_weights():
    weight = np.random.default_rng(0).uniform(0.1, 2, N)
    one = model().fit(X, Y, sample_weight=weight)
    for unit in (2.0**-40, 2.0**30):
        assert same(one, model().fit(X, Y, sample_weight=unit * weight))


def test_heavy_rows_pull_the_fit():
    twice = np.vstack([X, X])
    labels = np.concatenate([np.zeros(N), np.ones(N)]) + 0.01 * RNG.normal(size=2 * N)
    weight = np.concatenate([np.full(N, 0.9), np.full(N, 9.1)])
    fit = model(GaussianRegressor, max_iter=40).fit(twice, labels, sample_weight=weight)
    assert 0.75 < fit.predict(X).mean() < 1.05


@pytest.mark.parametrize("cls", [GCPRegressor, GaussianRegressor, BayesianBetaRegressor])
def test_the_number_of_threads(cls):
    one, two, three = (model(cls, n_members=3, n_jobs=n).fit(X, Y) for n in (1, 2, 3))
    assert same(one, two)
    assert same(one, three)


def test_seeds():
    one, same_seed, other = model().fit(X, Y), model().fit(X, Y), model(random_state=4).fit(X, Y)
    assert same(one, same_seed)
    assert (other.predict(NEW) != one.predict(NEW)).any()
    generator = np.random.RandomState(0)
    first, second = (model(random_state=generator).fit(X, Y).predict(NEW) for _ in range(2))
    assert (first != second).any()
    free = [model(random_state=None).fit(X, Y).predict(NEW) for _ in range(2)]
    assert (free[0] != free[1]).any()


def fortran(a):
    return np.asfortranarray(a)


def read_only(a):
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def strided(a):
    return np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)[::2, ::2]


@pytest.mark.parametrize("view", [fortran, read_only, strided, np.ndarray.tolist])
def test_the_layout_in_memory(view):
    fit = model().fit(view(X), Y)
    assert same(fit, model().fit(X, Y))
    np.testing.assert_array_equal(fit.predict(view(NEW)), fit.predict(NEW))


def test_memory_maps(tmp_path):
    for name, values in (("X", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", values)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("X", "y")]
    assert same(model().fit(*mapped), model().fit(X, Y))


def test_float32_tables():
    single = X.astype(np.float32)
    assert same(model().fit(single, Y), model().fit(single.astype(np.float64), Y))
    prediction = model().fit(single, Y.astype(np.float32)).predict(NEW.astype(np.float32))
    np.testing.assert_allclose(prediction, model().fit(X, Y).predict(NEW), atol=0.5)


def test_inputs_are_not_changed():
    before = X.copy(), Y.copy()
    model().fit(X, Y).predict(X)
    np.testing.assert_array_equal(before[0], X)
    np.testing.assert_array_equal(before[1], Y)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_are_arrays_with_names(library):
    names = ["length", "width", "height"]
    frame = library.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    new = library.DataFrame({name: NEW[:, k] for k, name in enumerate(names)})
    fit = model().fit(frame, library.Series(Y))
    assert list(fit.feature_names_in_) == names
    np.testing.assert_array_equal(fit.predict(new), model().fit(X, Y).predict(NEW))
    with pytest.raises(ValueError, match="feature names"):
        fit.predict(new[["width", "length", "height"]])
    with pytest.raises(ValueError, match=r"length|feature"):
        fit.predict(new[["width", "length"]])
    with pytest.warns(UserWarning, match="feature names"):
        fit.predict(NEW)


def test_shift_and_scale_of_labels_and_columns():
    one = model().fit(X, Y)
    mean, std = one.predict(NEW, return_std=True)
    two = model().fit(4 * X + 8, 1024 * Y)
    other_mean, other_std = two.predict(4 * NEW + 8, return_std=True)
    # Other rows come first after such a change, so the fits agree as two random starts do.
    assert np.corrcoef(other_mean, mean)[0, 1] > 0.8
    assert np.median(other_std / std) == pytest.approx(1024, rel=0.5)
