import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from levelhead import engine
from levelhead.engine import (
    Architecture,
    Diverged,
    Interrupted,
    Job,
    Network,
    Recipe,
    Stopping,
    forward,
    train,
)


def same(a, b):
    assert a.weights.tobytes() == b.weights.tobytes()
    assert a.state.first.tobytes() == b.state.first.tobytes()
    assert a.state.second.tobytes() == b.state.second.tobytes()
    assert a.loss_curve.tobytes() == b.loss_curve.tobytes()
    assert a.score_curve.tobytes() == b.score_curve.tobytes()
    assert (a.epochs, a.best_epoch, a.stopped, a.state.steps) == (
        b.epochs,
        b.best_epoch,
        b.stopped,
        b.state.steps,
    )


@pytest.fixture
def jobs(rng):
    return [
        Job(seed=9, network=0),
        Job(seed=9, network=1, rows=np.arange(0, 60, 2)),
        Job(seed=4, network=0, rows=np.array([3, 3, 3, 8])),
        Job(
            seed=4,
            network=2,
            X=rng.normal(size=(30, 3)).astype(np.float32),
            y=rng.normal(size=30).astype(np.float32),
            sample_weight=rng.uniform(size=30).astype(np.float32),
        ),
    ]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_other_networks_order_and_threads_change_nothing(data, small, quick, jobs, n_threads):
    recipe = replace(quick, dropout=0.2, weight_decay=1e-3, batch_size=7)
    alone = [train(small, recipe, [job], n_threads=1, **data)[0] for job in jobs]
    together = train(small, recipe, jobs[::-1], n_threads=n_threads, **data)[::-1]
    for a, b in zip(alone, together, strict=True):
        same(a, b)
    assert len({network.weights.tobytes() for network in alone}) == len(jobs)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options", [{}, {"clip": 0.1, "dropout": 0.2}, {"optimizer": "nesterov", "learning_rate": 1e-3}]
)
def test_a_team_of_threads_on_one_network_changes_nothing(rng, options):
    X, y = rng.normal(size=(900, 5)).astype(np.float32), rng.normal(size=900).astype(np.float32)
    architecture = Architecture(5, (40, 30), 2, shared_trunk=True)
    recipe = Recipe(**{"objective": engine.gaussian(), "batch_size": 400, "epochs": 4} | options)
    job = Job(rows=np.arange(800), held_out=np.arange(800, 900))
    one, *more = (
        train(architecture, recipe, [job], X=X, y=y, stopping=Stopping(), n_threads=n)[0]
        for n in (1, 2, 3, 4)
    )
    for network in more:
        same(one, network)


def test_going_on_is_the_same_as_one_long_run(data, small, quick):
    recipe = replace(quick, dropout=0.3, epochs=5)
    (long,) = train(small, recipe, [Job(seed=2)], **data)
    network = None
    for epochs in (1, 2, 2, 5):
        (network,) = train(small, replace(recipe, epochs=epochs), [Job(seed=2, start=network)], **data)
    same(long, network)


def test_each_epoch_has_its_own_order_of_rows(data, small, quick):
    once = replace(quick, epochs=1)
    (first,) = train(small, once, [Job()], **data)
    (second,) = train(small, replace(quick, epochs=2), [Job(start=first)], **data)
    (again,) = train(
        small, once, [Job(start=replace(first, epochs=0))], **data
    )  # in the order of the first epoch
    assert again.state.steps == second.state.steps
    assert (again.weights != second.weights).any()


def test_going_on_without_optimiser_state_starts_a_new_one(data, small, quick):
    (first,) = train(small, quick, [Job()], **data)
    (again,) = train(small, quick, [Job(start=Network(small, first.weights))], **data)
    assert again.epochs == quick.epochs
    assert again.state.steps == first.state.steps
    assert (again.weights != first.weights).any()


def test_x_is_never_copied(data, small, quick):
    X, y = data["X"], data["y"]
    X.flags.writeable = y.flags.writeable = False
    (frozen,) = train(small, quick, [Job()], X=X, y=y)
    (ordinary,) = train(small, quick, [Job()], X=X.copy(), y=y.copy())
    same(frozen, ordinary)


def test_a_job_may_bring_labels_or_weights_of_its_own(data, small, quick, rng):
    other, weight = rng.normal(size=60).astype(np.float32), rng.uniform(size=60).astype(np.float32)
    jobs = [Job(y=other), Job(sample_weight=weight), Job(y=other, sample_weight=weight)]
    mixed = train(small, quick, jobs, **data)
    X, y = data["X"], data["y"]
    same(mixed[0], train(small, quick, [Job()], X=X, y=other)[0])
    same(mixed[1], train(small, quick, [Job()], X=X, y=y, sample_weight=weight)[0])
    same(mixed[2], train(small, quick, [Job()], X=X, y=other, sample_weight=weight)[0])


def test_weights_of_rows(data, small, quick):
    recipe = replace(quick, batch_size=60)
    ones, twos = np.ones(60, np.float32), np.full(60, 2, np.float32)
    (plain,) = train(small, recipe, [Job()], **data)
    (ones_given,) = train(small, recipe, [Job()], sample_weight=ones, **data)
    (twos_given,) = train(small, recipe, [Job()], sample_weight=twos, **data)
    same(plain, ones_given)
    np.testing.assert_allclose(twos_given.loss_curve[0], 2 * plain.loss_curve[0], rtol=1e-6)
    # A row of weight 0 pulls nothing, wherever its label lies.
    without = np.where(np.arange(60) < 30, 1, 0).astype(np.float32)
    wild = data["y"] + 100 * (1 - without)
    (a,) = train(small, recipe, [Job()], sample_weight=without, **data)
    (b,) = train(small, recipe, [Job()], X=data["X"], y=wild, sample_weight=without)
    np.testing.assert_array_equal(a.weights, b.weights)


def test_penalty_shrinks_weights_and_not_biases(data):
    architecture = Architecture(3, (5,), 1)
    objective = engine.beta_location(0.5, std=1.0)
    far = {"X": data["X"], "y": np.full(60, 1e4, np.float32)}  # so far away that the loss has no gradient
    recipe = Recipe(objective, "nesterov", 0.1, batch_size=60, epochs=1, weight_decay=0.5, momentum=0.0)
    job = Job(initial_outputs=(0.7,))
    (start,), (end,) = (train(architecture, replace(recipe, epochs=k), [job], **far) for k in (0, 1))
    for (W0, b0), (W1, b1) in zip(*(architecture.unpack(n.weights)[0] for n in (start, end)), strict=True):
        np.testing.assert_allclose(W1, (1 - 2 * 0.5 * 0.1) * W0, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(b1, b0, atol=1e-7)


def test_an_incomplete_minibatch_is_kept_or_dropped(data, small, quick):
    steps = [
        train(small, replace(quick, batch_size=25, drop_last=drop, epochs=1), [Job()], **data)[0].state.steps
        for drop in (False, True)
    ]
    assert steps == [3, 2]
    (few,) = train(small, replace(quick, batch_size=100, drop_last=True, epochs=1), [Job()], **data)
    assert few.state.steps == 1


@pytest.mark.parametrize("activation", ["relu", "tanh", "silu"])
def test_a_network_of_one_unit_on_one_row(activation):
    X, y = np.array([[0.5]], np.float32), np.array([2.0], np.float32)
    architecture = Architecture(1, (1,), 4, activation=activation)
    (network,) = train(architecture, Recipe(batch_size=5, epochs=3), [Job()], X=X, y=y)
    assert network.state.steps == 3
    assert np.isfinite(forward([network], X)).all()


@pytest.mark.compiled
def test_recovers_a_known_truth_in_spite_of_wrong_labels(rng):
    X = rng.uniform(-1, 1, size=(400, 1)).astype(np.float32)
    clean = np.sin(3 * X[:, 0])
    y = (clean + 0.1 * rng.normal(size=400)).astype(np.float32)
    y[rng.random(400) < 0.1] += 6
    architecture = Architecture(1, (50,), 4)
    recipe = Recipe(batch_size=10, epochs=400, learning_rate=1e-3)
    networks = train(
        architecture, recipe, [Job(network=k, initial_outputs=(0, 0, -2, 0)) for k in range(3)], X=X, y=y
    )
    m = forward(networks, X)[:, :, 0].mean(axis=0)
    assert np.sqrt(np.mean((m - clean) ** 2)) < 0.1
    squared = Recipe(objective=engine.gaussian(), batch_size=10, epochs=400, learning_rate=1e-3)
    (fooled,) = train(Architecture(1, (50,), 2), squared, [Job()], X=X, y=y)
    assert np.sqrt(np.mean((forward([fooled], X)[0, :, 0] - clean) ** 2)) > 0.3


class TestStopping:
    @pytest.fixture
    def split(self):
        return {"rows": np.arange(40), "held_out": np.arange(40, 60)}

    def test_restores_the_best_epoch(self, data, small, quick, split):
        recipe = replace(quick, epochs=40, learning_rate=0.05)
        (network,) = train(small, recipe, [Job(**split)], stopping=Stopping(patience=4, tol=0.0), **data)
        assert network.stopped
        assert network.epochs == len(network.score_curve) == len(network.loss_curve)
        assert network.best_epoch == 1 + np.argmin(network.score_curve)
        assert network.epochs == network.best_epoch + 4
        (until_best,) = train(
            small, replace(recipe, epochs=network.best_epoch), [Job(rows=split["rows"])], **data
        )
        np.testing.assert_array_equal(network.weights, until_best.weights)

    def test_a_gain_below_the_tolerance_does_not_renew_patience(self, data, small, quick, split):
        stopping = Stopping(patience=3, tol=1e3)
        (network,) = train(small, replace(quick, epochs=40), [Job(**split)], stopping=stopping, **data)
        assert network.epochs == 4
        assert network.best_epoch == 1 + np.argmin(network.score_curve) > 1  # still the best one seen

    def test_networks_of_one_call_stop_apart(self, data, small, quick, split):
        recipe = replace(quick, epochs=40, learning_rate=0.05)
        jobs = [Job(network=k, **split) for k in range(4)]
        networks = train(small, recipe, jobs, stopping=Stopping(patience=2), n_threads=2, **data)
        assert len({network.epochs for network in networks}) > 1

    def test_a_wild_label_among_the_held_out_rows_decides_nothing(self, data, quick, split):
        architecture = Architecture(3, (5,), 2)
        recipe = replace(quick, objective=engine.gaussian(), epochs=30, learning_rate=0.02)
        y = data["y"].copy()
        y[40:60] = np.sin(2 * data["X"][40:60, 0])
        wild = y.copy()
        wild[50] = 1e4
        curves = [
            train(
                architecture, recipe, [Job(**split)], X=data["X"], y=labels, stopping=Stopping(patience=30)
            )[0]
            for labels in (y, wild)
        ]
        clean, dirty = (network.score_curve for network in curves)
        assert np.abs(dirty - clean).max() < 1.5
        assert clean[dirty.argmin()] < clean.min() + 0.1

    def test_score_is_the_fenced_mean(self, data, small, split, rng):
        (start,) = train(small, Recipe(epochs=0), [Job()], **data)
        tiny = Recipe(epochs=1, learning_rate=1e-12, dropout=0.5)  # which is for training alone
        weight = rng.uniform(0, 2, size=60).astype(np.float32)
        job = Job(**split, start=start, sample_weight=weight)
        (network,) = train(small, tiny, [job], stopping=Stopping(), **data)
        from levelhead import losses

        values = losses.gcp().of_outputs(data["y"][40:], forward([start], data["X"][40:])[0])[0]
        ordered = np.sort(values)
        low, high = ordered[(20 - 1) // 4], ordered[3 * 20 // 4]
        expected = np.average(np.minimum(values, high + 1.5 * (high - low)), weights=weight[40:])
        assert network.score_curve[0] == pytest.approx(expected, rel=1e-5)

    def test_needs_held_out_rows(self, data, small, quick):
        with pytest.raises(ValueError, match="job 0: held_out: no rows are given"):
            train(small, quick, [Job()], stopping=Stopping(), **data)


class TestTrouble:
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("name", ["X", "y"])
    def test_data_that_are_not_finite_are_named(self, data, small, quick, name, value):
        data[name][17] = value
        with pytest.raises(Diverged, match=f"network 1 .* {name} is not finite at row 17") as caught:
            train(small, quick, [Job(rows=np.arange(10)), Job(network=1)], n_threads=1, **data)
        assert (caught.value.network, caught.value.epoch) == (1, 1)

    def test_overflow_of_the_optimiser_is_not_silent(self, data, small, quick):
        data["X"][:, 0] *= 1e30
        with pytest.raises(Diverged, match=r"the largest number in its data is .*e\+30"):
            train(small, quick, [Job()], **data)

    def test_large_inputs_can_be_trained_on_with_a_clipped_gradient(self, data, small, quick):
        data["X"][:, 0] *= 1e12
        (network,) = train(small, replace(quick, clip=1.0), [Job()], **data)
        assert np.isfinite(network.weights).all()

    def test_huge_labels_are_treated_as_outliers(self, data, small, quick):
        data["y"][3] = 1e30
        (network,) = train(small, quick, [Job()], **data)
        assert np.isfinite(network.loss_curve).all()

    def test_a_step_size_that_is_too_large_is_reported(self, data, quick):
        recipe = replace(quick, objective=engine.gaussian(), optimizer="nesterov", learning_rate=1e6)
        with pytest.raises(Diverged, match=r"the learning rate 1e\+06; scale the data"):
            train(Architecture(3, (5,), 2), recipe, [Job()], **data)

    @pytest.mark.parametrize(
        ("job", "message"),
        [
            (Job(rows=np.array([0, 60])), "job 0: rows: indices range from 0 to 60, the data has 60 rows"),
            (Job(rows=np.array([-1])), "indices range from -1"),
            (Job(rows=np.zeros(60, bool)), "a mask was given"),
            (Job(rows=np.array([], dtype=int)), "no rows are given"),
            (Job(rows=np.array([0.5])), "give a vector of whole numbers, got float64"),
            (Job(X=np.zeros((5, 3), np.float32)), "give X and y"),
            (Job(initial_outputs=(1.0,)), "initial_outputs has 1 numbers for 4 outputs"),
            (Job(start=Network(Architecture(1, (), 1), np.zeros(2, np.float32))), "another architecture"),
        ],
    )
    def test_jobs_that_cannot_be_done(self, data, small, quick, job, message):
        with pytest.raises(ValueError, match=message):
            train(small, quick, [job], **data)

    def test_calls_that_cannot_be_done(self, data, small, quick):
        three = Architecture(3, (5,), 3)
        with pytest.raises(
            ValueError, match="gaussian needs 2 outputs for each target, the architecture has 3"
        ):
            train(three, replace(quick, objective=engine.gaussian()), [Job()], **data)
        with pytest.raises(ValueError, match=r"y has shape \(60,\); the outputs are those of 2 targets"):
            train(small, replace(quick, objective=engine.gaussian()), [Job()], **data)
        with pytest.raises(ValueError, match=r"X has 60 rows, sample_weight has shape \(60, 2\)"):
            train(small, quick, [Job(sample_weight=np.ones((60, 2)))], **data)
        with pytest.raises(ValueError, match=r"X has 60 rows, y has shape \(59,\)"):
            train(small, quick, [Job()], X=data["X"], y=data["y"][:-1])
        with pytest.raises(ValueError, match="give X and y"):
            train(small, quick, [Job()])


def test_progress(data, small, quick):
    recorded = []
    networks = train(small, quick, [Job(network=k) for k in range(2)], callback=recorded.append, **data)
    for k, network in enumerate(networks):
        own = [progress for progress in recorded if progress.network == k]
        assert [p.epoch for p in own] == sorted({p.epoch for p in own})
        assert own[-1].epoch == quick.epochs
        assert own[-1].loss == network.loss_curve[-1]


def test_an_error_in_a_callback_reaches_the_caller(data, small, quick):
    def fail(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(small, quick, [Job()], callback=fail, **data)


def test_interruption_leaves_finished_blocks(data, small, quick):
    recipe = replace(quick, epochs=10**6)
    jobs = [Job(network=k) for k in range(3)]
    # A shell that starts the tests in the background makes them deaf to the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # The signal comes while the first network is on its way.
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(Interrupted) as caught:
        train(small, recipe, jobs, n_threads=2, **data)
    timer.join()
    signal.signal(signal.SIGINT, before)
    networks = caught.value.networks
    assert isinstance(caught.value, KeyboardInterrupt)
    assert len(networks) == 3
    assert max(network.epochs for network in networks) > 0
    for job, network in zip(jobs, networks, strict=True):
        assert network.epochs == len(network.loss_curve) < 10**6
        if network.epochs < 300_000 // 60:
            (again,) = train(small, replace(quick, epochs=network.epochs), [job], **data)
            same(network, again)
