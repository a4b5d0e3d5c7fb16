"""Networks of several targets: the loss is the sum over targets, and each label has its own weight."""

from dataclasses import replace

import numpy as np
import pytest

from levelhead import engine
from levelhead.engine import (
    Architecture,
    Job,
    Network,
    Recipe,
    Stopping,
    Variational,
    forward,
    join,
    loss_and_gradient,
    split,
    train,
)

OBJECTIVES = [engine.gcp(), engine.gcp_direct(), engine.gaussian(), engine.beta_location(0.3, std=0.5)]
N, T = 150, 3  # more rows than one block
RECIPE = Recipe(objective=engine.gaussian(), batch_size=10, epochs=3)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(N, 2)).astype(np.float32)
    return X, rng.normal(size=(N, T)).astype(np.float32), rng.uniform(size=(N, T)).astype(np.float32)


def whole(objective, hidden=(6, 4)):
    return Architecture(2, hidden, T * objective.n_outputs, shared_trunk=True)


def random_network(rng, architecture, variational=False):
    draw = lambda: 0.5 * rng.normal(size=architecture.n_weights).astype(np.float32)
    return Network(architecture, draw(), draw() if variational else None)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.name)
@pytest.mark.parametrize("hidden", [(), (6, 4)], ids=str)
def test_loss_and_gradient_are_sums_over_targets(rng, rows, objective, hidden):
    X, Y, weight = rows
    network = random_network(rng, whole(objective, hidden))
    value, gradient = loss_and_gradient(
        network.architecture, objective, network.weights, X, Y, sample_weight=weight
    )
    values, gradients = [], []
    for k, part in enumerate(split(network, T)):
        own = loss_and_gradient(
            part.architecture, objective, part.weights, X, Y[:, k], sample_weight=weight[:, k]
        )
        values.append(own[0])
        gradients.append(Network(part.architecture, own[1]))
    assert value == pytest.approx(sum(values), rel=1e-5)
    layers = [one.architecture.unpack(one.weights)[0] for one in gradients]
    ((*trunk, (W, bias)),) = network.architecture.unpack(gradient)
    for place, layer in enumerate(trunk):
        for which in (0, 1):
            expected = sum(of[place][which] for of in layers)
            np.testing.assert_allclose(layer[which], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(W, np.hstack([of[-1][0] for of in layers]), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(bias, np.concatenate([of[-1][1] for of in layers]), rtol=1e-3, atol=1e-5)


def test_a_weight_of_a_row_is_that_of_all_its_labels(rng, rows):
    X, Y, weight = rows
    network = random_network(rng, whole(RECIPE.objective))
    of = lambda given: loss_and_gradient(
        network.architecture, RECIPE.objective, network.weights, X, Y, sample_weight=given
    )
    one = of(weight[:, 0])
    each = of(np.repeat(weight[:, :1], T, axis=1))
    assert one[0] == each[0]
    np.testing.assert_array_equal(one[1], each[1])


def test_a_label_of_weight_0_changes_nothing_and_takes_no_other_label_with_it(rows):
    X, Y, weight = rows
    weight[7, 1] = 0
    other = Y.copy()
    other[7, 1] = 1e6
    architecture = whole(RECIPE.objective)
    run = lambda labels, of: train(architecture, RECIPE, [Job()], X=X, y=labels, sample_weight=of)[0].weights
    np.testing.assert_array_equal(run(Y, weight), run(other, weight))
    without = weight.copy()
    without[7] = 0
    assert (run(Y, weight) != run(Y, without)).any()


def test_jobs_may_have_labels_or_weights_of_their_own(rows):
    X, Y, weight = rows
    architecture = whole(RECIPE.objective)
    shared = {"X": X, "y": Y, "sample_weight": weight}
    (expected,) = train(architecture, RECIPE, [Job()], **shared)
    (own,) = train(architecture, RECIPE, [Job(y=Y)], **shared | {"y": -Y})
    np.testing.assert_array_equal(own.weights, expected.weights)
    (own,) = train(architecture, RECIPE, [Job(sample_weight=weight)], X=X, y=Y)
    np.testing.assert_array_equal(own.weights, expected.weights)


def test_the_score_is_the_sum_over_targets(rows):
    X, Y, weight = rows
    Y[N - 1, 0] = 1e4  # lifts the fence of its own target alone
    held = np.arange(100, N)
    job = Job(rows=np.arange(100), held_out=held)
    # Without steps that change anything the score is that of the start.
    still = replace(RECIPE, learning_rate=1e-30, epochs=1)
    (network,) = train(
        whole(RECIPE.objective), still, [job], X=X, y=Y, sample_weight=weight, stopping=Stopping()
    )
    scores = []
    for k, part in enumerate(split(network, T)):
        own = replace(job, start=replace(part, epochs=0, score_curve=np.empty(0), loss_curve=np.empty(0)))
        (alone,) = train(
            part.architecture,
            still,
            [own],
            X=X,
            y=Y[:, k],
            sample_weight=weight[:, k],
            stopping=Stopping(),
        )
        scores.append(alone.score_curve[0])
    assert network.score_curve[0] == pytest.approx(sum(scores), rel=1e-6)


@pytest.mark.parametrize("variational", [False, True])
def test_split_networks_give_the_outputs_of_the_whole(rng, variational):
    network = random_network(rng, whole(engine.gcp()), variational)
    parts = split(network, T)
    X = rng.normal(size=(20, 2)).astype(np.float32)
    together = forward([replace(network, rho=None)], X)
    alone = np.concatenate([forward([replace(part, rho=None)], X) for part in parts], axis=2)
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)
    again = join(parts)
    assert again.architecture == network.architecture
    np.testing.assert_array_equal(again.weights, network.weights)
    if variational:
        np.testing.assert_array_equal(again.rho, network.rho)


def test_bits_do_not_depend_on_threads(rows):
    X, Y, weight = rows
    recipe = replace(RECIPE, batch_size=140, dropout=0.2, variational=None)
    run = lambda n: train(
        whole(recipe.objective), recipe, [Job()], X=X, y=Y, sample_weight=weight, n_threads=n
    )
    np.testing.assert_array_equal(run(1)[0].weights, run(2)[0].weights)


def test_variational_networks_of_several_targets(rows):
    X, Y, _ = rows
    recipe = replace(
        RECIPE, objective=engine.beta_location(0.3, std=0.5), variational=Variational(n_samples=3)
    )
    (network,) = train(whole(recipe.objective), recipe, [Job()], X=X, y=Y)
    assert np.isfinite(network.loss_curve).all()
    assert [part.rho is not None for part in split(network, T)] == [True] * T


def test_what_cannot_be_split_or_joined():
    separate = Network(Architecture(2, (3,), 4), np.zeros(Architecture(2, (3,), 4).n_weights, np.float32))
    with pytest.raises(ValueError, match="4 trunks and 4 outputs is not one of 2 targets"):
        split(separate, 2)
    shared = Network(Architecture(2, (), 4, True), np.zeros(12, np.float32))
    with pytest.raises(ValueError, match="is not one of 3 targets"):
        split(shared, 3)
    with pytest.raises(ValueError, match="differ in architecture"):
        join([shared, separate])


def test_the_row_of_a_label_that_is_not_finite_is_named(rows):
    X, Y, _ = rows
    Y[17, 2] = np.nan
    with pytest.raises(engine.Diverged, match="y is not finite at row 17"):
        train(whole(RECIPE.objective), RECIPE, [Job()], X=X, y=Y)
