"""`levelhead demo`: the paper's synthetic data with 5 % wrong labels, GCP beside a Gaussian network."""

import time
from pathlib import Path
from typing import Any

import numpy as np

import levelhead
from levelhead import datasets
from levelhead._plot_style import BLUE, GREY, INK, RED, STYLE
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
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 3.5))
        labels, means, spreads = figure.subplots(1, 3)
        x, wrong = data.X[:, 0], data.mask
        labels.plot(x[~wrong], data.y[~wrong], ".", ms=3, color=GREY, label="clean")
        labels.plot(x[wrong], data.y[wrong], "x", ms=5, mew=1.5, color=RED, label="wrong")
        labels.plot(x[called], data.y[called], "o", ms=9, mfc="none", mec=BLUE, label="called wrong")
        labels.set(title="Labels", xlabel="x", ylabel="y", ylim=(-5, 23))  # room for the legend
        order = np.argsort(x)
        means.plot(x[order], data.mean[order], "--", color=INK, lw=1.2, label="truth")
        spreads.plot(x[order], data.std[order], "--", color=INK, lw=1.2, label="truth")
        for (name, model), color, line in zip(models.items(), (BLUE, RED), ("-", "-."), strict=True):
            answer = model.predict_dist(_GRID)
            means.plot(_GRID, answer.mean, line, color=color, label=name)
            spreads.plot(_GRID, answer.std, line, color=color, label=name)
        means.set(title="Mean of the clean labels", xlabel="x")
        spreads.set(title="Standard deviation of the clean labels", xlabel="x", yscale="log")
        labels.legend(loc="upper left", ncols=3, columnspacing=1.0, handletextpad=0.3)
        means.legend(loc="upper left")
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
