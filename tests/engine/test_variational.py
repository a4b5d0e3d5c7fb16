import numpy as np
import pytest
from scipy import stats

from levelhead import engine, losses
from levelhead.engine import Architecture, Job, Recipe, Variational, _random, draw, forward, train
from levelhead.engine._layout import layout
from levelhead.engine.variational import sample_weights


def recipe(**options):
    return Recipe(
        **{
            "objective": engine.beta_location(0.3, std=0.5),
            "batch_size": 200,
            "epochs": 1,
            "optimizer": "nesterov",
            "momentum": 0.0,
            "learning_rate": 1e-3,
            "variational": Variational(n_samples=1, init_std=0.3),
        }
        | options
    )


def drawn_noise(architecture, key):
    plan = layout(architecture)
    live = plan.pack(np.ones(architecture.n_weights, np.float32))
    free = np.zeros(2 * plan.size, np.float32)
    noise, drawn = np.zeros(plan.size, np.float32), np.zeros(plan.size, np.float32)
    with np.errstate(all="ignore"):
        sample_weights(free, live, plan.size, key, noise, drawn)
    np.testing.assert_allclose(drawn, np.log(2) * noise, rtol=1e-5)
    assert not noise[live == 0].any()
    return noise[plan.place].astype(np.float64)


def test_noise_is_normal():
    architecture = Architecture(20, (50,), 1)
    noise = np.concatenate([drawn_noise(architecture, _random.stream(0, 0, k)) for k in range(10)])
    assert stats.kstest(noise, "norm").pvalue > 1e-3


def test_one_step_follows_the_gradient_of_the_bound(rng):
    # With one sample and one step of plain descent, the step is the gradient of loss + KL/N at that sample.
    architecture = Architecture(2, (4,), 1, activation="tanh")
    X, y = rng.normal(size=(40, 2)).astype(np.float32), rng.normal(size=40).astype(np.float32)
    job = Job(seed=5, network=2)
    (start,) = train(architecture, recipe(epochs=0), [job], X=X, y=y)
    (end,) = train(architecture, recipe(learning_rate=1.0), [job], X=X, y=y)
    key = _random.stream(5, 2, _random.POSTERIOR)
    for counter in (0, 0):  # step 0, sample 0
        key = _random.at_array(key, np.array([counter], dtype=np.uint64))[0]
    noise = drawn_noise(architecture, key)

    def bound(free):
        location, rho = np.split(free, 2)
        scale = np.logaddexp(0, rho)
        (trunk,) = architecture.unpack(location + scale * noise)
        mu = np.tanh(X @ trunk[0][0] + trunk[0][1]) @ trunk[1][0][:, 0] + trunk[1][1][0]
        loss = losses.beta_divergence(y, mu, np.full(40, 0.25), beta=0.3).value.mean()
        divergence = np.sum(-np.log(scale) + (scale**2 + location**2) / 2 - 0.5)
        return loss + divergence / 40

    free = np.concatenate([start.weights, start.rho]).astype(np.float64)
    slopes = [(bound(free + e) - bound(free - e)) / 2e-6 for e in 1e-6 * np.eye(free.size)]
    moved = np.concatenate([start.weights - end.weights, start.rho - end.rho])
    np.testing.assert_allclose(moved, slopes, rtol=2e-3, atol=2e-5)


def test_samples_of_a_step_are_averaged(rng):
    architecture = Architecture(2, (3,), 1)
    X, y = rng.normal(size=(40, 2)).astype(np.float32), rng.normal(size=40).astype(np.float32)

    def losses_of_first_step(n_samples):
        own = recipe(variational=Variational(n_samples))
        return [train(architecture, own, [Job(seed=k)], X=X, y=y)[0].loss_curve[0] for k in range(12)]

    spread = [np.std(losses_of_first_step(n_samples)) for n_samples in (1, 30)]
    assert spread[1] < 0.6 * spread[0]


def test_the_prior_counts_the_same_in_minibatches_of_any_size(rng):
    X, y = rng.normal(size=(40, 2)).astype(np.float32), np.full(40, 1e6, np.float32)  # too far away to pull
    architecture = Architecture(2, (3,), 1)
    before, small, large = (
        train(architecture, recipe(batch_size=size, epochs=epochs, learning_rate=1.0), [Job()], X=X, y=y)[0]
        for size, epochs in ((40, 0), (10, 1), (40, 4))
    )
    for name in ("weights", "rho"):
        np.testing.assert_allclose(getattr(small, name), getattr(large, name), rtol=1e-5, atol=1e-7)
        assert np.abs(getattr(small, name) - getattr(before, name)).max() > 0.01


@pytest.mark.compiled
def test_without_data_the_posterior_becomes_the_prior(rng):
    architecture = Architecture(2, (3,), 1)
    X, y = (
        np.zeros((4, 2), np.float32),
        np.full(4, 1e6, np.float32),
    )  # labels so far away that they say nothing
    prior = Variational(n_samples=1, prior_std=0.7)
    options = {"optimizer": "adam", "epochs": 4000, "learning_rate": 1e-2, "variational": prior}
    (network,) = train(architecture, recipe(**options), [Job()], X=X, y=y)
    np.testing.assert_allclose(network.weights, 0, atol=0.02)
    np.testing.assert_allclose(np.logaddexp(0, network.rho), 0.7, atol=0.02)


@pytest.mark.compiled
def test_learns_a_mean_and_is_unsure_where_there_are_no_data(rng):
    X = rng.uniform(-1, 1, size=(500, 1)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=500)).astype(np.float32)
    y[::20] += 8
    options = {"optimizer": "adam", "epochs": 500, "batch_size": 128, "learning_rate": 0.02}
    options |= {"objective": engine.beta_location(0.3, std=0.1), "variational": Variational(n_samples=5)}
    (network,) = train(Architecture(1, (20,), 1, activation="tanh"), recipe(**options), [Job()], X=X, y=y)
    at = np.array([[0.0], [0.5], [-0.5], [4.0]], np.float32)
    sampled = forward(draw(network, 100, seed=3), at)[:, :, 0]
    np.testing.assert_allclose(sampled.mean(axis=0)[:3], np.sin(3 * at[:3, 0]), atol=0.15)
    assert sampled.std(axis=0)[3] > 2 * sampled.std(axis=0)[:3].max()


def test_draws_are_reproducible_and_extendable(data):
    (network,) = train(Architecture(3, (5,), 1), recipe(), [Job()], **data)
    five, seven = draw(network, 5, seed=1), draw(network, 7, seed=1)
    for a, b in zip(five, seven, strict=False):
        np.testing.assert_array_equal(a.weights, b.weights)
    assert (draw(network, 1, seed=2)[0].weights != five[0].weights).any()
    assert len({sample.weights.tobytes() for sample in seven}) == 7


def test_draws_have_the_moments_of_the_posterior(data):
    (network,) = train(Architecture(3, (5,), 1), recipe(), [Job()], **data)
    samples = np.array([sample.weights for sample in draw(network, 2000, seed=1)])
    scale = np.logaddexp(0, network.rho)
    np.testing.assert_allclose(samples.mean(axis=0), network.weights, atol=5 * scale.max() / np.sqrt(2000))
    np.testing.assert_allclose(samples.std(axis=0), scale, rtol=0.1)


def test_going_on_and_threads_change_nothing(data):
    architecture = Architecture(3, (5,), 1)
    jobs = [Job(network=k) for k in range(2)]
    long = train(architecture, recipe(epochs=4), jobs, n_threads=2, **data)
    half = train(architecture, recipe(epochs=2), jobs[:1], **data)
    (again,) = train(architecture, recipe(epochs=4), [Job(start=half[0])], **data)
    np.testing.assert_array_equal(long[0].weights, again.weights)
    np.testing.assert_array_equal(long[0].rho, again.rho)


def test_a_network_of_point_weights_has_nothing_to_draw(data, small, quick):
    (network,) = train(small, quick, [Job()], **data)
    with pytest.raises(ValueError, match="this network has point weights"):
        draw(network, 3, seed=0)
    with pytest.raises(ValueError, match="another architecture or kind"):
        train(Architecture(3, (5,), 1), recipe(), [Job(start=network)], **data)
