"""The demo: the paper's synthetic data with 5 % wrong labels, GCP beside a Gaussian network.

python docs/pictures/demo.py [folder]     # writes demo.svg, default folder: levelhead-demo
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import plot_style
from plot_style import BLUE, GREY, INK, RED

from levelhead import GaussianRegressor, GCPRegressor, datasets


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "levelhead-demo")
    data = datasets.synthetic(400, rate=0.05, random_state=0)
    print(
        "The paper's synthetic data: 400 labels, 5 % of them nonsense. Fitting two ensembles of five networks ..."
    )
    models = {
        "levelhead (GCP)": GCPRegressor(n_members=5, random_state=0),
        "Gaussian likelihood": GaussianRegressor(n_members=5, random_state=0),
    }
    print(f"\n{'':22s}{'error of the mean':>20s}{'predicted/true std':>20s}{'seconds':>10s}")
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(data.X, data.y)
        answer = model.predict_dist(data.X)
        error = np.sqrt(np.mean((answer.mean - data.mean) ** 2))
        spread = np.median(answer.std / data.std)
        print(f"{name:22s}{error:20.3f}{spread:20.2f}{time.perf_counter() - began:10.1f}")
    verdict = models["levelhead (GCP)"].audit(data.X, data.y)
    print(f"\n{verdict.summary()}")
    print(
        f"In truth {data.mask.sum()} are wrong; {data.mask[verdict.is_label_issue].sum()} of them were found."
    )
    folder.mkdir(exist_ok=True)
    draw(data, models, verdict, folder / "demo.svg")
    print(f"\nWrote {folder / 'demo.svg'}. Next: levelhead.audit(X, y) on a table of your own.")


def draw(data, models, verdict, path: Path) -> None:
    with plt.rc_context(plot_style.STYLE):
        figure, (labels, means, spreads) = plt.subplots(1, 3, figsize=(11, 3.5))
        x, caught = data.X[:, 0], verdict.is_label_issue
        labels.plot(x[~data.mask], data.y[~data.mask], ".", ms=3, color=GREY, label="clean")
        labels.plot(x[data.mask], data.y[data.mask], "x", ms=5, mew=1.5, color=RED, label="wrong")
        labels.plot(x[caught], data.y[caught], "o", ms=9, mfc="none", mec=BLUE, label="called wrong")
        labels.set(title="Labels", xlabel="x", ylabel="y", ylim=(-5, 23))  # room for the legend
        order = np.argsort(x)
        means.plot(x[order], data.mean[order], "--", color=INK, lw=1.2, label="truth")
        spreads.plot(x[order], data.std[order], "--", color=INK, lw=1.2, label="truth")
        grid = np.linspace(-1, 1, 400)[:, None]
        for (name, model), color, line in zip(models.items(), (BLUE, RED), ("-", "-."), strict=True):
            answer = model.predict_dist(grid)
            means.plot(grid, answer.mean, line, color=color, label=name)
            spreads.plot(grid, answer.std, line, color=color, label=name)
        means.set(title="Mean of the clean labels", xlabel="x")
        spreads.set(title="Standard deviation of the clean labels", xlabel="x", yscale="log")
        labels.legend(loc="upper left", ncols=3, columnspacing=1.0, handletextpad=0.3)
        means.legend(loc="upper left")
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
