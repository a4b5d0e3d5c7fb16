"""Measures bars in images although one label in ten is wrong: GCP against Gaussian likelihood and Huber.

    python examples/image_regression.py                # 5 seeds, some minutes; rewrites the manual's page
    python examples/image_regression.py --quick        # one short run, printed only

An image shows one bar of random place, direction, length and contrast. Its label is the length in pixels,
read off with an error that grows as the bar fades. Then one training label in ten is replaced by that of
another image. Test labels stay clean: what counts is how well each method predicts them, and whether the
variance that it states is the variance that they have.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor, nn
from torch.nn import functional

from levelhead import torch as robust
from levelhead.audits.separation import estimate_contamination

DOCS = Path(__file__).parents[1] / "docs"
SIZE = 24
WRONG = 0.1
GROUPS = 10  # from faint to bright: the variance must be right in each


@dataclass(frozen=True)
class Setting:
    """How much is drawn, and how long it is trained on."""

    train: int = 8000
    held_out: int = 2000
    test: int = 4000
    epochs: int = 20
    batch: int = 64
    learning_rate: float = 2e-3


class Bars(NamedTuple):
    """Images (n, 1, SIZE, SIZE), labels (n, 1), and what only the maker of the images knows."""

    images: Tensor
    labels: Tensor
    length: np.ndarray
    contrast: np.ndarray


class Answer(NamedTuple):
    """What a method predicts of the test labels: mean and variance, shape (n,)."""

    mean: np.ndarray
    variance: np.ndarray


def reading_error(contrast: np.ndarray) -> np.ndarray:
    """Standard deviation of a clean label, in pixels."""
    return 0.2 + 0.8 * (1 - contrast)


def bars(rng: np.random.Generator, n: int, wrong: float) -> Bars:
    """Draw n bars, and replace a share of their labels by those of other bars."""
    length = rng.uniform(5, 18, n)
    angle = rng.uniform(0, np.pi, n)
    contrast = rng.uniform(0.3, 1, n)
    centre = (SIZE - 1) / 2 + rng.uniform(-2, 2, (2, n))
    rows, columns = np.mgrid[:SIZE, :SIZE]
    across, down = columns - centre[0, :, None, None], rows - centre[1, :, None, None]
    cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    beyond_end = np.maximum(np.abs(across * cosine + down * sine) - length[:, None, None] / 2, 0)
    distance = np.hypot(beyond_end, across * sine - down * cosine)
    bar = contrast[:, None, None] / (1 + np.exp((distance - 1.2) / 0.3))
    images = bar + rng.normal(0, 0.05, bar.shape)
    labels = length + reading_error(contrast) * rng.normal(size=n)
    mistaken = rng.choice(n, int(wrong * n), replace=False)
    labels[mistaken] = labels[rng.permutation(n)[: mistaken.size]]
    as_tensor = lambda array: torch.tensor(array, dtype=torch.float32).unsqueeze(1)
    return Bars(as_tensor(images), as_tensor(labels), length, contrast)


def network(head: nn.Module) -> nn.Sequential:
    """Any trunk would do: here three convolutions."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * (SIZE // 4) ** 2, 64),
        nn.ReLU(),
        head,
    )


def gaussian_loss(parameters: robust.NormalParameters, y: Tensor) -> Tensor:
    return functional.gaussian_nll_loss(parameters.mean, y, parameters.variance)


def huber_loss(delta: float, scale: Tensor) -> Callable[[robust.NormalParameters, Tensor], Tensor]:
    """Huber's loss of the standardised residual; it leaves the variance of the head untrained."""
    return lambda parameters, y: functional.huber_loss(parameters.mean / scale, y / scale, delta=delta)


def train(net: nn.Module, loss: Callable, data: Bars, setting: Setting, seed: int) -> nn.Module:
    """A plain training loop: Adam with one cycle of the step size."""
    generator = torch.Generator().manual_seed(seed)
    steps = setting.epochs * (len(data.labels) // setting.batch)
    optimizer = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, setting.learning_rate, total_steps=steps)
    for _ in range(setting.epochs):
        order = torch.randperm(len(data.labels), generator=generator)
        for rows in order.split(setting.batch):
            if len(rows) < setting.batch:
                break
            optimizer.zero_grad()
            loss(net(data.images[rows]), data.labels[rows]).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


@torch.inference_mode()
def outputs(net: nn.Module, images: Tensor) -> list[np.ndarray]:
    """The parameters of all images, each as a vector."""
    batches = [net(part) for part in images.split(500)]
    return [torch.cat(columns).squeeze(1).double().numpy() for columns in zip(*batches, strict=True)]


def by_gcp(data: Bars, held_out: Bars, test: Bars, setting: Setting, seed: int) -> dict[str, Answer]:
    """The prognostic variance, as it is and corrected by labels that the network has not seen.

    The held-out labels are as wrong as the others: the correction finds out how many of them are.
    """
    net = nn.Sequential(network(robust.GCPHead(64).start_from(data.labels)), robust.PrognosisLayer())
    loss = robust.GCPLoss()
    train(net[0], loss, data, setting, seed)
    mean, variance, _ = outputs(net, held_out.images)
    residual = held_out.labels.squeeze(1).double().numpy() - mean
    ratio = estimate_contamination(residual, variance, core="student").variance_ratio
    mean, variance, _ = outputs(net, test.images)
    return {"GCP": Answer(mean, variance), "GCP, corrected": Answer(mean, ratio * variance)}


def by_gaussian(data: Bars, held_out: Bars, test: Bars, setting: Setting, seed: int) -> dict[str, Answer]:
    net = train(network(robust.NormalHead(64).start_from(data.labels)), gaussian_loss, data, setting, seed)
    return {"Gaussian likelihood": Answer(*outputs(net, test.images))}


def by_huber(delta: float) -> Callable[..., dict[str, Answer]]:
    """Huber's loss has no variance: it gets the robust one of the held-out residuals, for all images."""

    def method(data: Bars, held_out: Bars, test: Bars, setting: Setting, seed: int) -> dict[str, Answer]:
        head = robust.NormalHead(64).start_from(data.labels)
        net = train(network(head), huber_loss(delta, head.scale), data, setting, seed)
        mean, _ = outputs(net, held_out.images)
        width = 1.4826 * np.median(np.abs(held_out.labels.squeeze(1).double().numpy() - mean))
        mean, _ = outputs(net, test.images)
        return {f"Huber, δ = {delta:g}": Answer(mean, np.full_like(mean, width**2))}

    return method


METHODS = (by_gcp, by_gaussian, by_huber(1.0), by_huber(0.1))


def measures(answer: Answer, test: Bars) -> dict[str, float]:
    """Errors in pixels, and how well the variance fits the residuals of clean labels."""
    labels = test.labels.squeeze(1).double().numpy()
    z = labels - answer.mean
    inside = np.abs(z) < 1.6449 * np.sqrt(answer.variance)
    log_density = 0.5 * np.log(2 * np.pi * answer.variance) + 0.5 * z**2 / answer.variance
    groups = np.array_split(np.argsort(test.contrast), GROUPS)
    local = [np.log(answer.variance[rows].mean() / (z[rows] ** 2).mean()) for rows in groups]
    return {
        "rmse": float(np.sqrt(np.mean(z**2))),
        "error of the mean": float(np.sqrt(np.mean((test.length - answer.mean) ** 2))),
        "z²/V": float(np.mean(z**2 / answer.variance)),
        "V off by": float(np.exp(np.mean(np.abs(local)))),
        "coverage": float(np.mean(inside)),
        "nll": float(np.mean(log_density)),
    }


def one_seed(seed: int, setting: Setting) -> tuple[Bars, dict[str, Answer]]:
    """Every method on one draw of the data."""
    rng = np.random.default_rng(seed)
    data, held_out = (bars(rng, n, WRONG) for n in (setting.train, setting.held_out))
    test = bars(rng, setting.test, wrong=0.0)
    answers: dict[str, Answer] = {}
    for method in METHODS:
        torch.manual_seed(seed)
        began = time.perf_counter()
        answers |= method(data, held_out, test, setting, seed)
        print(f"seed {seed}: {list(answers)[-1]} ({time.perf_counter() - began:.0f} s)", file=sys.stderr)
    return test, answers


def table(results: list[dict[str, dict[str, float]]]) -> str:
    """Mean ± standard deviation over the seeds, as Markdown."""
    lines = [
        "| | RMSE | error of the mean | mean of z²/V | V off by a factor | 90 % interval holds | NLL |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in results[0]:
        cells = []
        for measure in results[0][name]:
            values = np.array([result[name][measure] for result in results])
            scale, unit = (100, " %") if measure == "coverage" else (1, "")
            digits = 1 if measure == "coverage" else 3 if measure in ("rmse", "error of the mean") else 2
            cells.append(f"{scale * values.mean():.{digits}f} ± {scale * values.std():.{digits}f}{unit}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(test: Bars, answers: dict[str, Answer]):
    """Some images; the stated against the true standard deviation; how many labels each interval holds."""
    import plot_style
    from matplotlib import pyplot as plt

    looks = {
        "GCP, corrected": (plot_style.GREEN, "-"),
        "Gaussian likelihood": (plot_style.RED, "--"),
        "Huber, δ = 1": (plot_style.AMBER, "-."),
        "Huber, δ = 0.1": (plot_style.BLUE, ":"),
    }
    figure = plt.figure(figsize=(9.6, 3.4))
    left, middle, right = figure.subfigures(1, 3, width_ratios=(0.7, 1, 1))
    for axes, k in zip(left.subplots(3, 2).flat, range(6), strict=True):
        axes.imshow(test.images[k, 0], cmap="gray", vmin=-0.1, vmax=1)
        axes.set_axis_off()
        axes.set_title(f"{test.labels[k, 0]:.1f} px", fontsize=8, pad=2)
    z = {n: test.labels.squeeze(1).numpy() - a.mean for n, a in answers.items()}
    stated, held = middle.subplots(), right.subplots()
    faint = np.linspace(0.3, 1, 15)
    centre = (faint[1:] + faint[:-1]) / 2
    stated.plot(centre, reading_error(centre), color=plot_style.INK, lw=5, alpha=0.25, label="truth")
    nominal = np.linspace(0.02, 0.99, 60)
    held.plot([0, 1], [0, 1], color=plot_style.INK, lw=5, alpha=0.25, label="truth")
    for name, (colour, line) in looks.items():
        std = np.sqrt(answers[name].variance)
        place = np.digitize(test.contrast, faint[1:-1])
        stated.plot(
            centre, [std[place == k].mean() for k in range(centre.size)], color=colour, ls=line, label=name
        )
        level = 2 * ndtr(np.abs(z[name]) / std) - 1
        held.plot(nominal, [(level < q).mean() for q in nominal], color=colour, ls=line, label=name)
    stated.set(xlabel="contrast of the bar", ylabel="stated standard deviation, px", ylim=(0, None))
    held.set(xlabel="probability of an interval", ylabel="share of clean labels in it")
    held.legend(loc="lower right")
    return figure


def update_manual(text: str) -> None:
    """Put the table between its markers in the manual's page."""
    page = DOCS / "robust-head.md"
    before, _, rest = page.read_text().partition("<!-- image-regression: begin -->")
    _, _, after = rest.partition("<!-- image-regression: end -->")
    marked = f"<!-- image-regression: begin -->\n\n{text}\n\n<!-- image-regression: end -->"
    page.write_text(before + marked + after)


def save(results: list[dict[str, dict[str, float]]], path: Path) -> None:
    """Every number of every seed, one a line."""
    with path.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("seed", "method", "measure", "value"))
        for seed, result in enumerate(results):
            for method, measured in result.items():
                lines.writerows((seed, method, name, f"{value:.6g}") for name, value in measured.items())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one short run; leaves the manual alone")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    if chosen.quick:
        test, answers = one_seed(0, Setting(train=1500, held_out=500, test=500, epochs=6))
        print(table([{name: measures(answer, test) for name, answer in answers.items()}]))
        return
    results = []
    for seed in range(chosen.seeds):
        test, answers = one_seed(seed, Setting())
        results.append({name: measures(answer, test) for name, answer in answers.items()})
        print(table(results), flush=True)
    save(results, DOCS / "tables" / "image_regression.csv")
    update_manual(table(results))
    sys.path.insert(0, str(DOCS / "pictures"))
    import plot_style

    plot_style.draw({"image-regression": lambda: picture(test, answers)})


if __name__ == "__main__":
    main()
