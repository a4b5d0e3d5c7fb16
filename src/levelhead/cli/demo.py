"""`levelhead demo`: the paper's synthetic data with 5 % wrong labels, GCP beside a Gaussian network."""

import time
from pathlib import Path
from typing import Any

import numpy as np

import levelhead
from levelhead import datasets
from levelhead._plot_style import BLUE, RED
from levelhead.cli import options, output, screen

_OURS, _PLAIN = "levelhead (GCP)", "Gaussian likelihood"
_GRID = np.linspace(-1, 1, 400)[:, None]


@screen.command
def demo(
    out: options.Folder = Path("levelhead-demo"),
    members: options.Members = 5,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """See what levelhead does: data with known truth, 5 % wrong labels, two networks side by side.

    Writes the data with the verdict on every label (labels.csv) and a picture (demo.svg).
    """
    paths = out / "labels.csv", out / "demo.svg"
    output.refuse(*paths, force=force)
    data = datasets.synthetic(400, rate=0.05, random_state=seed)
    models = {
        _OURS: levelhead.GCPRegressor(n_members=members, random_state=seed),
        _PLAIN: levelhead.GaussianRegressor(n_members=members, random_state=seed),
    }
    with screen.busy("fitting two ensembles to 400 rows"):
        _compile(data)
        scores = {name: _fitted(model, data) for name, model in models.items()}
        verdict = models[_OURS].audit(data.X, data.y)
    called = verdict.is_label_issue
    found = {"wrong": data.mask.sum(), "called_wrong": called.sum(), "rightly": (called & data.mask).sum()}
    with output.whole(*paths, force=force) as (labels, picture):
        output.write_csv(verdict.to_frame().assign(x=data.X[:, 0], is_wrong=data.mask), labels)
        _draw(data, models, called, picture)
    if as_json:
        screen.machine({"models": scores, "labels": found, "files": [str(path) for path in paths]})
        return
    screen.table(
        f"The paper's synthetic data: {len(data.y)} labels, {data.mask.sum()} of them wrong",
        ["", "error of the mean", "predicted/true std", "seconds"],
        [(name, *(f"{score:.2f}" for score in row.values())) for name, row in scores.items()],
    )
    screen.say(f"\n{found['called_wrong']} labels are called wrong, {found['rightly']} of them rightly.")
    screen.say(f"Wrote {paths[0]} and {paths[1]}.")
    screen.say("Next: levelhead audit YOUR.csv --target COLUMN")


def _compile(data: datasets.Synthetic) -> None:
    """So that the times shown are those of the fits."""
    hasty = levelhead.GCPRegressor(max_iter=1, out_of_fold=False, contamination=None)
    hasty.fit(data.X, data.y).predict(data.X)


def _fitted(model: Any, data: datasets.Synthetic) -> dict[str, float]:
    began = time.perf_counter()
    answer = model.fit(data.X, data.y).predict_dist(data.X)
    return {
        "rmse_to_true_mean": float(np.sqrt(np.mean((answer.mean - data.mean) ** 2))),
        "predicted_over_true_std": float(np.median(answer.std / data.std)),
        "seconds": time.perf_counter() - began,
    }


def _draw(data: datasets.Synthetic, models: dict[str, Any], called: Any, path: Path) -> None:
    """The paper's Figure 2: labels, means, standard deviations."""
    from levelhead.study.figures import save
    from levelhead.study.looks import Look
    from levelhead.study.synthetic_fits import draw

    x = data.X[:, 0]
    labels = {
        "clean": np.array([x[~data.mask], data.y[~data.mask]]),
        "wrong": np.array([x[data.mask], data.y[data.mask]]),
    }
    order = np.argsort(x)
    curves = {}
    for name, model in models.items():
        answer = model.predict_dist(_GRID)
        curves[name] = np.array([_GRID[:, 0], answer.mean, answer.std])
    look = {_OURS: Look(BLUE, "-", "", 1.9), _PLAIN: Look(RED, "-.", "", 1.9)}
    truth = np.array([x[order], data.mean[order], data.std[order]])
    save(draw(labels, truth, curves, look, np.array([x[called], data.y[called]])), path)
