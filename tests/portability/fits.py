"""Prints a digest of every kind of fit as JSON; run as a script, in whatever environment.

`python tests/portability/fits.py networks` trains networks in the engine, `… estimators` fits estimators. The inputs
come from numpy's bit generator by arithmetic alone, so they are the same everywhere.
"""

import hashlib
import json
import sys

import numpy as np

from levelhead import engine
from levelhead.engine import (
    Architecture,
    Job,
    Recipe,
    Schedule,
    Stopping,
    Variational,
    baselines,
    forward,
    train,
)

OBJECTIVES = (
    engine.gcp(),
    engine.gcp_direct(),
    engine.gaussian(),
    engine.beta(0.3),
    engine.gamma(0.3),
    baselines.beta_nll(0.5),
    baselines.faithful(variance_floor=1e-3),
    baselines.natural(precision_floor=1e-3),
    baselines.evidential(0.01),
    baselines.huber(1.345),
    baselines.fixed_student(2.0),
)
SCHEDULES = (Schedule(), Schedule("cosine", 0.1, 100), Schedule("exponential", 0.9, 10))


def digest(*arrays) -> str:
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(content).hexdigest()[:16]


def table(n: int, wrong: float, seed: int = 0):
    """Numbers in (−1, 1), a label with noise that grows, and a share of wrong labels."""
    u = 2 * np.random.default_rng(seed).random((n, 8)) - 1
    y = 2 * u[:, 0] + u[:, 1] * u[:, 1] + (0.1 + 0.2 * np.abs(u[:, 2])) * (u[:, 3] + u[:, 4] + u[:, 5])
    return u[:, :3], np.where(u[:, 6] < 2 * wrong - 1, 10 * u[:, 7], y)


def _recipes():
    for objective in OBJECTIVES:
        separate = Architecture(3, (50,), objective.n_outputs)
        shared = Architecture(3, (33, 20), objective.n_outputs, shared_trunk=True, activation="silu")
        paper = Recipe(objective=objective, epochs=10, batch_size=5, dropout=0.3, weight_decay=1e-3)
        large = Recipe(objective=objective, epochs=10, batch_size=200, dropout=0.1, clip=1.0, init="he")
        yield f"{objective.name}, separate trunks, minibatch 5", separate, paper
        yield f"{objective.name}, shared trunk, minibatch 200", shared, large
    for optimizer in ("adam", "rmsprop", "nesterov"):
        for activation, schedule in zip(("relu", "tanh", "silu"), SCHEDULES, strict=True):
            architecture = Architecture(3, (20, 20), 4, shared_trunk=True, activation=activation)
            recipe = Recipe(
                optimizer=optimizer, schedule=schedule, epochs=10, batch_size=32, learning_rate=1e-3
            )
            yield f"{optimizer}, {activation}, {schedule.kind}", architecture, recipe
    variational = Recipe(
        objective=engine.beta_location(0.1, std=1.0), epochs=10, batch_size=128, variational=Variational()
    )
    yield "variational", Architecture(3, (20, 20), 1), variational


def networks() -> dict[str, str]:
    """Weights after training, and outputs, of every loss, optimiser, activation, schedule and mode."""
    X, y = (part.astype(np.float32) for part in table(301, 0.1))
    digests = {}
    for name, architecture, recipe in _recipes():
        (network,) = train(architecture, recipe, [Job(seed=3)], X=X, y=y)
        rho = () if network.rho is None else (network.rho,)
        digests[name] = digest(network.weights, *rho, forward([network], X))
    stopping, rows = Stopping(patience=3), np.arange(301)
    job = Job(seed=3, rows=rows[:200], held_out=rows[200:])
    recipe = Recipe(epochs=40, batch_size=16, learning_rate=1e-2)
    (network,) = train(Architecture(3, (20,), 4), recipe, [job], X=X, y=y, stopping=stopping)
    digests["early stopping"] = digest(network.weights, network.score_curve)
    return digests


def estimators() -> dict[str, str]:
    """Predictions, calibration, share of wrong labels and verdict of every estimator."""
    import levelhead

    digests = {}
    for n, wrong in ((150, 0.0), (600, 0.1)):
        X, y = table(n, wrong, seed=n)
        for name in ("GCP", "BetaDivergence", "GammaDivergence", "Gaussian", "BayesianBeta", "GCPBoosting"):
            model = getattr(levelhead, f"{name}Regressor")(max_iter=12, random_state=0).fit(X, y)
            answer = model.predict_dist(X)
            found = [answer.member_mean, answer.member_var, answer.logpdf(y)]
            if getattr(model, "separation_", None) is not None:
                found += [model.audit(X, y).p_outlier, model.contamination_]
            digests[f"{name}, {n} rows"] = digest(*found)
        auto = levelhead.AutoRegressor(n_members=1, random_state=0).fit(X, y)
        answer, labels = auto.predict_dist(X), auto.audit(X, y)
        digests[f"Auto, {n} rows"] = digest(
            answer.mean, answer.std, answer.ppf(0.9), labels.p_outlier, labels.std, labels.contamination
        )
        several = levelhead.MultiTargetRegressor(
            levelhead.GCPRegressor(max_iter=12, random_state=0), shared_trunk=True
        )
        targets = np.stack([y, X[:, 1] * X[:, 2] - y], axis=1)
        answer = several.fit(X, targets).predict_dist(X)
        digests[f"shared layers, {n} rows"] = digest(
            answer.mean, answer.std, several.audit(X, targets).p_outlier
        )
    return digests


if __name__ == "__main__":
    json.dump({"networks": networks, "estimators": estimators}[sys.argv[1]](), sys.stdout, indent=1)
