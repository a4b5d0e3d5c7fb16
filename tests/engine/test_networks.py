import numpy as np
import pytest

from levelhead import engine, losses
from levelhead.engine import Architecture, Job, Network, Recipe, forward, loss_and_gradient, train
from levelhead.engine._layout import initial_weights, layout

ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "silu": lambda z: z / (1 + np.exp(-z)),
}
OBJECTIVES = [
    (engine.gcp(), losses.gcp()),
    (engine.gaussian(), losses.normal()),
    (engine.beta(0.3), losses.beta_normal(0.3)),
    (engine.gamma(0.3), losses.gamma_normal(0.3)),
]


def outputs(architecture, weights, X):
    """The network in float64, from its definition."""
    columns = []
    for trunk in architecture.unpack(np.asarray(weights, dtype=np.float64)):
        h = X.astype(np.float64)
        for W, b in trunk[:-1]:
            h = ACTIVATIONS[architecture.activation](h @ W + b)
        W, b = trunk[-1]
        columns.append(h @ W + b)
    return np.concatenate(columns, axis=1)


def random_weights(architecture, seed=0):
    """Weights with nonzero biases."""
    weights = initial_weights(architecture, Recipe(), np.uint64(seed))
    return weights + 0.1 * np.random.default_rng(seed).normal(size=weights.size).astype(np.float32)


@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared trunk"])
@pytest.mark.parametrize("hidden", [(), (1,), (6,), (17, 5), (4, 20, 3)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "tanh", "silu"])
@pytest.mark.parametrize(("objective", "loss"), OBJECTIVES, ids=lambda o: getattr(o, "name", ""))
def test_gradient_against_differences(rng, objective, loss, activation, hidden, shared):
    architecture = Architecture(3, hidden, objective.n_outputs, shared, activation)
    X, y = rng.normal(size=(9, 3)).astype(np.float32), rng.normal(size=9).astype(np.float32)
    share = rng.uniform(0.5, 2, size=9).astype(np.float32)
    weights = random_weights(architecture)

    def reference(w):
        penalty = sum(np.sum(W**2) for trunk in architecture.unpack(w) for W, _ in trunk)
        return np.mean(share * loss.of_outputs(y, outputs(architecture, w, X))[0]) + 0.02 * penalty

    value, gradient = loss_and_gradient(
        architecture, objective, weights, X, y, sample_weight=share, weight_decay=0.02
    )
    exact = weights.astype(np.float64)
    assert value == pytest.approx(reference(exact), rel=1e-5)
    for i in rng.choice(weights.size, size=min(weights.size, 12), replace=False):
        step = np.zeros_like(exact)
        step[i] = 1e-6
        slope = (reference(exact + step) - reference(exact - step)) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-3, abs=2e-5)


def test_gradient_of_many_blocks_is_that_of_the_whole(rng):
    architecture = Architecture(3, (6,), 2)
    X, y = rng.normal(size=(300, 3)).astype(np.float32), rng.normal(size=300).astype(np.float32)
    weights = random_weights(architecture)
    of = lambda rows: loss_and_gradient(
        architecture, engine.gaussian(), weights, X[rows], y[rows], weight_decay=0.5
    )
    value, gradient = of(slice(None))
    parts = [of(slice(k, k + 100)) for k in (0, 100, 200)]
    assert value == pytest.approx(np.mean([v for v, _ in parts]), rel=1e-5)
    np.testing.assert_allclose(gradient, np.mean([g for _, g in parts], axis=0), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 127, 300])
def test_forward(rng, n_rows, n_threads):
    architecture = Architecture(2, (7, 3), 4, activation="tanh")
    networks = [Network(architecture, random_weights(architecture, seed)) for seed in range(3)]
    X = rng.normal(size=(n_rows, 2)).astype(np.float32)
    got = forward(networks, X, n_threads=n_threads)
    assert got.shape == (3, n_rows, 4)
    assert got.dtype == np.float32
    for answer, network in zip(got, networks, strict=True):
        np.testing.assert_allclose(answer, outputs(architecture, network.weights, X), rtol=1e-4, atol=1e-5)


def test_forward_takes_what_it_is_given(rng):
    architecture = Architecture(2, (3,), 1)
    network = Network(architecture, random_weights(architecture))
    X = rng.normal(size=(50, 2)).astype(np.float32)
    expected = forward([network], X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in (frozen, np.asfortranarray(X), X.astype(np.float64), X.tolist()):
        np.testing.assert_array_equal(forward([network], same), expected)
    with pytest.raises(ValueError, match=r"X has shape \(50, 1\).*needs \(rows, 2\)"):
        forward([network], X[:, :1])
    with pytest.raises(ValueError, match="no networks"):
        forward([], X)
    other = Network(Architecture(2, (4,), 1), random_weights(Architecture(2, (4,), 1)))
    with pytest.raises(ValueError, match="differ in architecture"):
        forward([network, other], X)


def test_weights_are_unpacked_without_a_copy():
    architecture = Architecture(3, (4, 5), 2)
    weights = np.zeros(architecture.n_weights, dtype=np.float32)
    trunks = architecture.unpack(weights)
    assert [[W.shape for W, _ in trunk] for trunk in trunks] == [[(3, 4), (4, 5), (5, 1)]] * 2
    for trunk in trunks:
        for W, b in trunk:
            W += 1
            b += 1
    assert (weights == 1).all()


def test_padding_is_not_changed_and_every_weight_has_its_own_place():
    plan = layout(Architecture(3, (4, 17), 2, shared_trunk=True))
    assert len(set(plan.place.tolist())) == len(plan.place)
    packed = plan.pack(np.ones(len(plan.place), dtype=np.float32))
    assert packed.sum() == len(plan.place)
    assert packed.size == plan.size > len(plan.place)


@pytest.mark.parametrize(("init", "variance"), [("glorot", 2 / (40 + 60)), ("he", 2 / 40)])
def test_initial_weights(init, variance):
    architecture = Architecture(40, (60,), 1)
    weights = initial_weights(architecture, Recipe(init=init), np.uint64(3))
    (W, b), (_, b_out) = architecture.unpack(weights)[0]
    assert W.var() == pytest.approx(variance, rel=0.1)
    assert abs(W.mean()) < 4 * np.sqrt(variance / W.size)
    assert (np.abs(W).max() <= np.sqrt(6 / 100)) == (init == "glorot")
    assert not b.any()
    assert not b_out.any()


def test_initial_outputs_are_those_of_the_untrained_network_at_the_centre(data, small):
    wanted = (0.5, -1.0, 2.0, 0.25)
    job = Job(initial_outputs=wanted)
    (network,) = train(small, Recipe(epochs=0), [job], **data)
    np.testing.assert_array_equal(forward([network], np.zeros((1, 3), np.float32))[0, 0], np.float32(wanted))
