"""How estimators learn: folds, phases, going on, stopping, scales, settings."""

import numpy as np
import pytest

from levelhead import GaussianRegressor, GCPRegressor, datasets, engine
from levelhead.estimators import _preparation
from levelhead.prediction.calibration import IDENTITY

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, size=(120, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=120)


def gcp(**settings):
    return GCPRegressor(**{"hidden_layer_sizes": (8,), "max_iter": 6, "random_state": 0} | settings)


@pytest.fixture
def trained(monkeypatch):
    """The jobs of every call of the engine, as they were given."""
    calls, train = [], engine.train

    def spy(architecture, recipe, jobs, **data):
        calls.append((recipe, jobs, data))
        return train(architecture, recipe, jobs, **data)

    monkeypatch.setattr(engine, "train", spy)
    return calls


@pytest.mark.parametrize("settings", [{}, {"n_members": 7}, {"early_stopping": True}, {"n_members": 2}])
def test_no_network_answers_for_a_row_it_has_seen(trained, settings):
    doubled, labels = np.vstack([X, X[:40]]), np.concatenate([Y, Y[:40]])
    fitted = gcp(**settings).fit(doubled, labels)
    _, jobs, data = trained[0]
    assert len(jobs) == max(5, settings.get("n_members", 1))
    networks = engine.train(fitted.networks_[0].architecture, trained[0][0], jobs, **data)
    center, spread = fitted.target_scale_
    outputs = engine.forward(networks, data["X"])[..., 0] * spread + center
    seen = [set(job.rows) | set(() if job.held_out is None else job.held_out) for job in jobs]
    for row in range(len(labels)):
        twins = {row, row + 120, row - 120}
        unseen = [k for k, rows in enumerate(seen) if not twins & rows]
        assert unseen, f"every network has seen row {row}"
        nearest = np.abs(outputs[:, row] - fitted.oof_prediction_.mean[row]).argmin()
        assert nearest in unseen


def test_out_of_fold_predictions_know_nothing_of_labels_that_are_pure_noise():
    noise = np.random.default_rng(0).normal(size=120)
    by_heart = {"hidden_layer_sizes": (64, 64), "max_iter": 200, "dropout": 0, "weight_decay": 0}
    fitted = GaussianRegressor(**by_heart, out_of_fold=True, random_state=0).fit(X, noise)
    learnt_by_heart = np.corrcoef(fitted.predict(X), noise)[0, 1]
    unseen = np.corrcoef(fitted.oof_prediction_.mean, noise)[0, 1]
    assert learnt_by_heart > 0.4
    assert abs(unseen) < 0.25


@pytest.mark.parametrize("offset", [1e2, 1e6])
def test_a_wrong_label_does_not_move_its_own_out_of_fold_prediction(offset):
    before = gcp(max_iter=60).fit(X, Y)
    spoilt = Y.copy()
    spoilt[7] += offset
    after = gcp(max_iter=60).fit(X, spoilt)
    assert abs(after.oof_prediction_.mean[7] - before.oof_prediction_.mean[7]) < 0.3
    assert abs(after.oof_prediction_.mean[7] - X[7, 0]) < 0.3


def test_in_the_second_phase_suspect_labels_hardly_count(trained):
    spoilt = Y.copy()
    spoilt[:6] += 50
    gcp(max_iter=60).fit(X, spoilt)
    weight = trained[1][2]["sample_weight"]
    assert weight[:6].max() < 0.05
    assert np.median(weight[6:]) > 0.9


def test_the_members_see_all_rows_in_the_end(trained):
    gcp(n_members=2).fit(X, Y)
    _, jobs, _ = trained[1]
    assert len(jobs) == 2
    assert all(sorted(job.rows) == list(range(120)) for job in jobs)


@pytest.mark.parametrize("n", [1, 3, 29])
def test_few_rows_are_fitted_without_folds(trained, n):
    fitted = gcp().fit(X[:n], Y[:n])
    assert len(trained) == 1
    assert np.isnan(fitted.contamination_)
    assert not hasattr(fitted, "oof_prediction_")


# ------------------------------------------------------------------ contamination


def test_contamination_none_leaves_the_networks_variance():
    fitted = gcp(contamination=None).fit(X, Y)
    assert fitted.calibration_ is IDENTITY
    assert np.isnan(fitted.contamination_)


@pytest.mark.parametrize("share", [0.0, 0.05, np.float32(0.25), 0])
def test_a_known_share_is_taken_at_its_word(share):
    fitted = gcp(contamination=share).fit(X, Y)
    assert fitted.contamination_ == pytest.approx(float(share))
    assert fitted.separation_.standard_error == 0


def test_the_share_is_estimated_with_its_error():
    data = datasets.heteroscedastic(600, 2, 0.1, random_state=0)
    fitted = gcp(max_iter=60).fit(data.X, data.y)
    error = fitted.separation_.standard_error
    assert 0.005 < error < 0.05
    assert abs(fitted.contamination_ - data.mask.mean()) < 3 * error + 0.02


def test_gaussian_networks_can_be_calibrated_too():
    # Networks that know their training labels by heart say too little about new ones.
    data = datasets.heteroscedastic(150, 3, random_state=0)
    new = datasets.heteroscedastic(1000, 3, random_state=1)
    settings = {
        "hidden_layer_sizes": (64,),
        "max_iter": 200,
        "dropout": 0,
        "weight_decay": 0,
        "random_state": 0,
    }
    naive = GaussianRegressor(**settings).fit(data.X, data.y)
    held_out = GaussianRegressor(**settings, out_of_fold=True, contamination="auto").fit(data.X, data.y)

    def coverage(fitted):
        lower, upper = fitted.predict_interval(new.X, 0.9)
        return ((new.y >= lower) & (new.y <= upper)).mean()

    assert coverage(naive) < 0.8
    assert abs(coverage(held_out) - 0.9) < abs(coverage(naive) - 0.9)


def test_weighting_suspects_down_does_not_shrink_the_variance_again():
    """The second phase takes the wrong labels' part of a network's variance away, the calibration has done so."""
    change = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        inputs = rng.uniform(-1, 1, size=(400, 1))
        labels = inputs[:, 0] + 0.2 * np.exp(1.5 * inputs[:, 0]) * rng.normal(size=400)
        labels[rng.random(400) < 0.2] += 9
        model = GCPRegressor((16,), max_iter=80, random_state=seed).fit(inputs, labels)
        change.append(np.median(model.predict_dist(inputs).std / model.oof_prediction_.std))
    assert np.mean(change) == pytest.approx(1, abs=0.15)


def test_contamination_needs_out_of_fold_predictions():
    with pytest.raises(ValueError, match="set out_of_fold=True, or contamination=None"):
        gcp(out_of_fold=False).fit(X, Y)


# ------------------------------------------------------------------ going on


def test_partial_fit_goes_through_the_rows_once_each_time():
    fitted = gcp(learning_rate_init=0.01)
    errors = []
    for k in range(30):
        fitted.partial_fit(X, Y)
        assert fitted.n_iter_ == k + 1
        errors.append(np.mean((fitted.predict(X) - X[:, 0]) ** 2))
    assert errors[-1] < 0.2 * errors[0]
    assert len(fitted.loss_curve_) == 30


def test_partial_fit_takes_new_rows_and_keeps_its_scales():
    fitted = gcp().partial_fit(X[:60], Y[:60])
    scales = fitted.input_scale_, fitted.target_scale_
    fitted.partial_fit(X[60:] * 3, Y[60:] * 3)
    assert fitted.target_scale_ == scales[1]
    np.testing.assert_array_equal(fitted.input_scale_.center, scales[0].center)
    with pytest.raises(ValueError, match="3 features, but GCPRegressor is expecting 2"):
        fitted.partial_fit(np.ones((5, 3)), np.ones(5))


def test_partial_fit_after_fit_goes_on_from_it():
    fitted = gcp(max_iter=40).fit(X, Y)
    before = fitted.predict(X)
    fitted.partial_fit(X, Y)
    assert fitted.n_iter_ == 41
    assert 0 < np.abs(fitted.predict(X) - before).max() < 0.5


def test_warm_start_goes_on_and_a_cold_start_does_not():
    warm, cold = gcp(warm_start=True), gcp()
    for model in (warm, cold):
        model.fit(X, Y)
        model.fit(X, Y)
    assert warm.n_iter_ == 12
    assert len(warm.loss_curve_) == 12
    assert cold.n_iter_ == 6
    assert np.mean(warm.loss_curve_[-3:]) < np.mean(warm.loss_curve_[:3])


def test_a_cold_fit_forgets_everything():
    fitted = gcp().fit(RNG.normal(size=(50, 4)), np.ones(50))
    fitted.fit(X, Y)
    assert fitted.n_features_in_ == 2
    np.testing.assert_array_equal(fitted.predict(X), gcp().fit(X, Y).predict(X))


def test_a_small_cold_fit_forgets_the_out_of_fold_predictions_of_a_large_one():
    fitted = gcp().fit(X, Y)
    fitted.fit(X[:10], Y[:10])
    assert not hasattr(fitted, "oof_prediction_")


# ------------------------------------------------------------------ stopping


def test_early_stopping_stops_and_answers_with_the_best_epoch():
    fitted = gcp(early_stopping=True, max_iter=400, n_iter_no_change=5).fit(X, Y)
    assert fitted.n_iter_ < 400
    network = fitted.networks_[0]
    assert len(network.score_curve) == network.epochs


def test_wrong_labels_in_the_held_out_part_do_not_decide_when_to_stop():
    data = datasets.synthetic(400, 0.15, random_state=0)
    settings = {
        "early_stopping": True,
        "hidden_layer_sizes": (32,),
        "max_iter": 300,
        "validation_fraction": 0.2,
    }
    spoilt = gcp(**settings).fit(data.X, data.y).predict(data.X)
    clean = gcp(**settings).fit(data.X, data.y_clean).predict(data.X)
    rmse = lambda answer: np.sqrt(np.mean((answer - data.mean) ** 2))
    assert rmse(spoilt) < 0.12
    assert rmse(spoilt) < 1.8 * rmse(clean)


# ------------------------------------------------------------------ settings


def test_target_scaling():
    spoilt = Y.copy()
    spoilt[0] = 1e6
    scales = {
        how: gcp(target_scaling=how).fit(X, spoilt).target_scale_ for how in ("robust", "standard", "none")
    }
    assert scales["robust"].spread == pytest.approx(1.4826 * np.median(np.abs(Y - np.median(Y))), rel=0.05)
    assert scales["standard"].center == pytest.approx(spoilt.mean())
    assert scales["standard"].spread == pytest.approx(spoilt.std())
    assert scales["none"] == (0, 1)


def test_the_papers_own_settings_run():
    fitted = gcp(
        hidden_layer_sizes=(50,), shared_trunk=False, batch_size=5, drop_last=True, initial_outputs="zero",
        learning_rate="constant", learning_rate_init=1e-3, dropout=0.1, weight_decay=1e-3, n_members=5,
        target_scaling="standard", contamination=None, out_of_fold=False, max_iter=40,
    ).fit(X, Y)  # fmt: skip
    assert np.sqrt(np.mean((fitted.predict(X) - X[:, 0]) ** 2)) < 0.2
    assert not fitted.networks_[0].architecture.shared_trunk


@pytest.mark.parametrize("solver", ["adam", "rmsprop", "nesterov"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "silu"])
def test_every_solver_and_activation_learns(solver, activation):
    fitted = gcp(solver=solver, activation=activation, max_iter=80, learning_rate_init=0.01).fit(X, Y)
    assert np.corrcoef(fitted.predict(X), X[:, 0])[0, 1] > 0.9


def test_the_number_of_steps_is_automatic():
    fitted = gcp(max_iter="auto")
    assert fitted._epochs(100) > fitted._epochs(1000) > fitted._epochs(100_000) >= 1
    assert fitted._batch_size(10) == 10
    assert fitted.fit(X, Y).n_iter_ == 9000 / 8  # steps in all, and minibatches of 16 of 120 rows
    assert fitted._epochs(10_000) == round(1.875 * 32)
    assert fitted._epochs(100_000) == round(12_500 / (100_000 / 128))  # larger batches from 20,000 rows on
    assert fitted._epochs(10**6) == round(40_000 / (10**6 / 128))


def test_settings_reach_the_engine(trained):
    settings = {"dropout": 0.2, "weight_decay": 0.3, "batch_size": 7, "drop_last": True}
    gcp(**settings, solver="rmsprop", learning_rate_init=0.02, early_stopping=True, n_iter_no_change=3).fit(
        X, Y
    )
    for recipe, _, data in trained:
        assert {name: getattr(recipe, name) for name in settings} == settings
        assert (recipe.optimizer, recipe.learning_rate) == ("rmsprop", 0.02)
        assert data["stopping"] == engine.Stopping(3, 1e-4)


def test_the_cosine_ends_with_the_last_step(trained):
    fitted = gcp().fit(X, Y)
    recipe, jobs, _ = trained[-1]
    assert [len(job.rows) for job in jobs] == [120]
    assert recipe.schedule == engine.Schedule("cosine", 0.0, fitted.networks_[0].state.steps)


@pytest.mark.parametrize(
    ("rows", "batch", "epochs"), [(500, 16, 281), (10_000, 32, 60), (20_000, 128, 80), (10**6, 128, 5)]
)
def test_batches_and_steps_grow_with_the_rows(rows, batch, epochs):
    model = gcp(max_iter="auto", batch_size="auto")
    assert model._batch_size(rows) == batch
    assert model._epochs(rows) == epochs


def test_progress_goes_to_stderr(capsys):
    gcp(verbose=True, n_jobs=1).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "levelhead: networks, " in captured.err


def test_zero_noise_gives_a_finite_answer():
    fitted = gcp(max_iter=100).fit(X, np.round(X[:, 0]))
    mean, std = fitted.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_rows_held_out_for_early_stopping_respect_groups():
    """A group is held out as a whole, and the choice does not depend on the order of the rows."""
    groups = np.repeat(np.arange(12), 10)
    rows = _preparation.arrange(X, Y, None, 3).joined(groups)
    held_out = rows.sample_groups(0.25, 5)
    assert held_out.sum() == 30
    assert len(set(groups[held_out])) == 3
    order = np.random.default_rng(0).permutation(120)
    renamed = (groups[order] * 7) % 12
    again = _preparation.arrange(X[order], Y[order], None, 3).joined(renamed).sample_groups(0.25, 5)
    assert np.array_equal(again, held_out[order])
    alone = {"early_stopping": True, "max_iter": 5, "out_of_fold": False, "contamination": None}
    plain, grouped = gcp(**alone).fit(X, Y), gcp(**alone).fit(X, Y, groups=groups)
    assert not np.array_equal(plain.predict(X), grouped.predict(X))
