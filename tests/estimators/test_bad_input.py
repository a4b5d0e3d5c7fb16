"""Bad tables and settings: a sensible answer, or an error that says what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from levelhead import BayesianBetaRegressor, GaussianRegressor, GCPRegressor

pytestmark = pytest.mark.compiled
N = 60
RNG = np.random.default_rng(6)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
FIRST = np.arange(N) == 0


def gcp(**settings):
    return GCPRegressor(**{"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0} | settings)


FRAME = pd.DataFrame({"area": X[:, 0], "heating": ["gas"] * N})

REFUSED = {
    "no rows": (X[:0], Y[:0], "0 sample"),
    "no columns": (X[:, :0], Y, "0 feature"),
    "NaN label": (
        X,
        np.where(np.arange(N) == 17, np.nan, Y),
        r"1 NaN or infinite labels, the first at row 17",
    ),
    "infinite label": (
        X,
        np.where(np.arange(N) > 57, -np.inf, Y),
        r"2 NaN or infinite labels, the first at row 58",
    ),
    "infinite cell": (
        np.where(np.eye(N, 3) > 0, np.inf, X),
        Y,
        "3 infinite values, the first in column 0, row 0; correct them",
    ),
    "infinite cell in a frame": (
        FRAME.assign(area=-np.inf),
        Y,
        r"60 infinite values, .* column 0 \('area'\)",
    ),
    "lists in a frame": (FRAME.assign(heating=[[1, 2]] * N), Y, r"'heating' holds list values.*drop it"),
    "complex numbers in a frame": (FRAME.assign(area=1j), Y, "'area' holds complex values"),
    "words in an array": (np.where(np.eye(N, 3) > 0, "x", X.astype(str)), Y, r"column 0; .*give a frame"),
    "words as labels": (X, ["good"] * N, "labels must be real numbers"),
    "complex inputs": (X + 1j, Y, "Complex data not supported"),
    "complex labels": (X, Y + 1j, "Complex data not supported"),
    "no table": (X[:, 0], Y, "Expected 2D array"),
    "three axes": (X[:, :, None], Y, "dim 3"),
    "ragged": ([[1, 2], [3]], [1, 2], "inhomogeneous"),
    "too few labels": (X, Y[:-1], "inconsistent numbers of samples"),
    "two targets": (X, np.c_[Y, Y], "1d array"),
    "no labels": (X, None, "requires y"),
    "integers beyond float": ([[1, 10**400]] * N, Y, "column 1 is too large for a float"),
    "labels beyond float": (X, [10**400] * N, "y is too large for a float"),
    "labels whose variance overflows": (X, 2e200 * Y, r"spread of \d.*e\+200.*fit y / \de\+200 instead"),
    "labels whose variance underflows": (X, 1e-200 * Y, r"spread of .*e-200"),
    "labels at both ends": (X, 1.7e308 * np.sign(Y), "spread"),
    "one label at the end, standard scaling": (X, np.where(FIRST, 1.7e308, Y), "spread"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_refused(name):
    inputs, labels, match = REFUSED[name]
    model = gcp(target_scaling="standard") if "standard" in name else gcp()
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=match):
            learn(inputs, labels)


def test_sparse_tables_are_read_as_arrays():
    sparse, dense = csr_matrix(X), gcp().fit(X, Y)
    model = gcp().fit(sparse, Y)
    np.testing.assert_array_equal(model.predict(sparse), dense.predict(X))
    np.testing.assert_array_equal(model.audit(sparse, Y).p_outlier, dense.audit(X, Y).p_outlier)


ANSWERED = {
    "one row": (X[:1], Y[:1]),
    "two rows": (X[:2], Y[:2]),
    "fewer rows than a minibatch": (X[:7], Y[:7]),
    "constant column": (np.c_[X, np.full(N, 5.0)], Y),
    "constant huge column": (np.c_[X, np.full(N, 1e300)], Y),
    "constant target": (X, np.full(N, 7.0)),
    "target of zeros": (X, np.zeros(N)),
    "two labels": (X, np.arange(N) % 2.0),
    "nearly constant target": (X, np.where(np.arange(N) < 3, 1.0, 0.0)),
    "one row many times": (np.repeat(X[:1], N, axis=0), np.repeat(Y[:1], N)),
    "one input, many labels": (np.repeat(X[:1], N, axis=0), Y),
    "duplicated columns": (np.c_[X, X, X], Y),
    "more columns than rows": (RNG.normal(size=(10, 50)), Y[:10]),
    "1e300 in one cell": (np.where(np.eye(N, 3) * FIRST[:, None] > 0, 1e300, X), Y),
    "1e300 everywhere": (1e300 * X, Y),
    "both ends of the floats": (1.7e308 * np.sign(X), Y),
    "tiny inputs": (1e-300 * X, Y),
    "denormal inputs": (1e-320 * X, Y),
    "1e300 as one label": (X, np.where(FIRST, 1e300, Y)),
    "the largest float as one label": (X, np.where(FIRST, -1.7e308, Y)),
    "labels far from zero": (X, Y + 1e12),
    "large labels": (X, 1e100 * Y),
    "small labels": (X, 1e-100 * Y),
    "the largest integers": (np.full((N, 2), 2**63 - 1), Y),
    "unsigned integers": ((np.abs(X) * 2**60).astype(np.uint64), (np.abs(Y) * 2**60).astype(np.uint64)),
    "bytes": ((10 * X).astype(np.int8), (10 * Y).astype(np.int8)),
    "truth values": (X > 0, Y > 0),
    "half precision": (X.astype(np.float16), Y.astype(np.float16)),
    "objects": (X.astype(object), Y.astype(object)),
    "pandas integers that may be missing": (pd.DataFrame(X > 0).astype("Int64"), Y),
    "an empty column": (np.c_[X, np.full(N, np.nan)], Y),
    "gaps": (np.where(np.abs(X) < 0.3, np.nan, X), Y),
    "only gaps": (np.full((N, 2), np.nan), Y),
    "gaps beside the largest floats": (np.where(X < 0, np.nan, 1.7e308 * np.sign(X + 2)), Y),
    "words in a frame": (FRAME, Y),
    "words in a polars frame": (pl.DataFrame({"area": X[:, 0], "heating": ["gas", "oil"] * (N // 2)}), Y),
    "text alone": (pd.DataFrame({"name": [f"flat {k}" for k in range(N)]}), Y),
}


@pytest.mark.parametrize("cls", [GCPRegressor, GaussianRegressor, BayesianBetaRegressor])
@pytest.mark.parametrize("name", ANSWERED)
def test_tables_that_are_accepted(name, cls):
    inputs, labels = ANSWERED[name]
    model = cls(hidden_layer_sizes=(8,), max_iter=5, random_state=0).fit(inputs, labels)
    mean, std = model.predict(inputs, return_std=True)
    assert np.isfinite(mean).all()
    assert (np.isfinite(std) & (std > 0)).all()
    typical = np.asarray(labels, dtype=np.float64)
    spread = np.median(np.abs(typical - np.median(typical))) + np.abs(np.median(typical)) + 1
    assert np.median(np.abs(mean - np.median(typical))) < 10 * spread


@pytest.mark.parametrize("value", [1e300, -1.7e308, 1.7e308, 5e-324, 0.0])
def test_extreme_inputs_in_a_prediction(value):
    mean, std = gcp().fit(X, Y).predict(np.full((4, 3), value), return_std=True)
    assert np.isfinite(mean).all()
    assert (np.isfinite(std) & (std > 0)).all()


def test_a_constant_target_is_learned():
    mean, std = GCPRegressor(random_state=0).fit(X, np.full(N, 7.0)).predict(2 * X, return_std=True)
    np.testing.assert_allclose(mean, 7, atol=0.1)
    assert std.max() < 1


@pytest.mark.parametrize("model", [gcp().fit(X, Y)])
def test_bad_tables_in_a_prediction(model):
    with pytest.raises(ValueError, match="2 features, but GCPRegressor is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="the first in column 1, row 2"):
        model.predict(np.where((np.arange(N) == 2)[:, None] & (np.arange(3) == 1), np.inf, X))
    with pytest.raises(ValueError, match="column 0; encode"):
        model.predict([["a", 1.0, 2.0]])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])


SETTINGS = {
    "hidden_layer_sizes": [0, (0,), -1, (3.5,), "a", None, (True,)],
    "activation": ["exec", None],
    "solver": ["sgd", 3],
    "learning_rate_init": [0, -1, np.nan, np.inf, "a", None],
    "learning_rate": ["x", None],
    "batch_size": [0, -1, 2.5, "all", None],
    "max_iter": [0, 1.5, None],
    "dropout": [-0.1, 1, "a", np.nan],
    "weight_decay": [-1, np.nan, "a"],
    "n_members": [0, 1.5, "a"],
    "contamination": [-0.1, 1, "x", np.nan, True],
    "variance": ["y", None],
    "target_scaling": ["z"],
    "validation_fraction": [0, 1, "a"],
    "n_iter_no_change": [0, "a"],
    "tol": [-1, "a", np.nan],
    "n_jobs": [0, "two"],
    "initial_outputs": ["q"],
    "random_state": ["a", -1],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values]
)
def test_settings_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of GCPRegressor"):
        gcp(**{name: value}).fit(X, Y)


WEIGHTS = {
    "negative": (-np.ones(N), "Negative"),
    "NaN": (np.full(N, np.nan), "NaN"),
    "infinite": (np.full(N, np.inf), "infinity"),
    "all zero": (np.zeros(N), "non-zero|above zero"),
    "too few": (np.ones(3), "shape"),
    "words": (["heavy"] * N, "convert"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_that_are_refused(name):
    weight, match = WEIGHTS[name]
    with pytest.raises(ValueError, match=match):
        gcp().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    "weight",
    [
        np.full(N, 2.0**62),  # as whole numbers, their sum wraps around
        np.full(N, 1e300),
        np.full(N, 1.7e308),
        np.full(N, 1e-300),
        np.where(FIRST, 10.0**9, 1.0),
        np.eye(1, N)[0],
        2.5,
    ],
)
def test_extreme_weights_give_predictions(weight):
    assert np.isfinite(gcp().fit(X, Y, sample_weight=weight).predict(X)).all()
