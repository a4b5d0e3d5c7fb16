"""The cost of the whole Table 1, compared with idiomatic PyTorch in the same run.

    python bench/study_cost.py [--turns 2] [--json bench/results/study_cost.json]

For every data set and kind of network, alternating: a whole fit with the paper's settings by the library, and some
steps of the same training in PyTorch (modules, autograd, Adam). Seconds per network times the number of networks is the
projected cost of the table, on one core. The best repetition counts; those of PyTorch are shorter, so other load on the
machine can only favour PyTorch. The target: at least 150 times less. Also writes docs/tables/study_cost.md.
"""

import argparse
import json
import math
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import frameworks
import numpy as np
import torch

from levelhead import datasets
from levelhead.study.paper.table1 import (
    BATCH_SIZE,
    CONTAMINATIONS,
    DATASETS,
    METHODS,
    N_MEMBERS,
    PAPER,
    SEEDS,
    recipe,
)
from levelhead.study.paper.table1 import TEST_SIZE as TEST_SHARE

TARGET = 150
BACKSLASH = "\\"
ROOT = Path(__file__).parent.parent
_PENALTY, _WIDTH = 1e-3, 50
_PIECES, _STEPS = 4, 20  # of PyTorch, a turn


@dataclass
class Line:
    """One kind of network on one data set: how many, and seconds for each."""

    dataset: str
    family: str
    networks: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times less ours takes."""
        return self.theirs / self.ours


def networks() -> Counter:
    """How many networks of each kind the table trains."""
    found = Counter()
    for dataset in DATASETS:
        for method in METHODS:
            family = method.removeprefix("Ens")
            if method != "GCP_St" and (family == "Gaussian" or (family, dataset) in PAPER):
                found[dataset, family] += (
                    (N_MEMBERS if family != method else 1) * len(CONTAMINATIONS) * len(SEEDS)
                )
    return found


def training_rows(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as a split trains on, clean and standardised: values do not matter for the cost."""
    table = datasets.load(dataset)
    n = len(table.y) - math.ceil(len(table.y) * TEST_SHARE)
    scaled = lambda a: ((a - a.mean(axis=0)) / a.std(axis=0)).astype(np.float32)
    return scaled(table.X[:n]), scaled(table.y[:n])


def peer(family: str, dataset: str, X: np.ndarray, y: np.ndarray):
    """The same training in PyTorch, and how many steps a fit takes."""
    model = recipe(family, dataset)
    if family == "Beta_Bayes":
        steps = model.max_iter * math.ceil(len(y) / model.batch_size)
        options = {"beta": model.beta, "noise_std": model.noise_std, "samples": model.n_samples}
        return frameworks.TorchVariational(X, y, widths=(20, 20), batch=model.batch_size, **options), steps
    batch, dropout = BATCH_SIZE[dataset], model.dropout
    steps = model.max_iter * (len(y) // batch)
    if family == "GCP":
        options = {"width": _WIDTH, "batch": batch, "dropout": dropout, "penalty": _PENALTY}
        return frameworks.TorchModules(X, y, **options), steps
    robustness = {"Beta": getattr(model, "beta", None), "Gamma": getattr(model, "gamma", None)}.get(family)
    options = {"width": _WIDTH, "batch": batch, "dropout": dropout, "penalty": _PENALTY}
    return frameworks.TorchGaussian(X, y, kind=family, robustness=robustness, **options), steps


def measured(dataset: str, family: str, n: int, turns: int) -> Line:
    X, y = training_rows(dataset)
    theirs, steps = peer(family, dataset, X, y)
    model = recipe(family, dataset).set_params(n_jobs=1, random_state=0)
    theirs.steps(5)
    ours_s, theirs_s = [], []
    for _ in range(turns):
        began = time.perf_counter()
        model.fit(X, y)
        ours_s.append(time.perf_counter() - began)
        for _ in range(_PIECES):
            began = time.perf_counter()
            theirs.steps(_STEPS)
            theirs_s.append((time.perf_counter() - began) / _STEPS * steps)
    return Line(dataset, family, n, min(ours_s), min(theirs_s))


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds < 72 * 3600 else f"{seconds / 86400:.0f} days"


def table(lines: list[Line], total: dict[str, float]) -> str:
    """The page of the manual."""
    head = [
        "<!-- Written by `python bench/study_cost.py`; do not edit. -->\n",
        "| data set | network | networks | ours, each | PyTorch, each | ratio |",
        "|---|---|---:|---:|---:|---:|",
    ]
    body = [
        f"| {x.dataset} | {x.family.replace('_', BACKSLASH + '_')} | {x.networks:,} | {x.ours:.2f} s | "
        f"{x.theirs:.0f} s | {x.ratio:.0f} × |"
        for x in lines
    ]
    n = sum(x.networks for x in lines)
    last = f"| **all** | | {n:,} | {hours(total['ours'])} | {hours(total['theirs'])} | **{total['ratio']:.0f} ×** |"
    return "\n".join([*head, *body, last]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=ROOT / "bench" / "results" / "study_cost.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "tables" / "study_cost.md")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    recipe("GCP", "yacht").set_params(max_iter=1).fit(*training_rows("yacht"))  # compile
    lines = []
    for (dataset, family), n in networks().items():
        lines.append(measured(dataset, family, n, options.turns))
        x = lines[-1]
        print(
            f"{dataset:9} {family:11} {n:6,} × {x.ours:6.2f} s, {x.theirs:7.1f} s  {x.ratio:6.0f} ×",
            flush=True,
        )
    ours, theirs = (sum(x.networks * getattr(x, side) for x in lines) for side in ("ours", "theirs"))
    total = {"ours": ours, "theirs": theirs, "ratio": theirs / ours}
    verdict = "met" if total["ratio"] >= TARGET else "MISSED"
    print(f"the whole table on one core: {hours(ours)}, in PyTorch {hours(theirs)}")
    print(f"{total['ratio']:.0f} × (≥ {TARGET}) {verdict}")
    report = {
        "target": TARGET,
        "total_seconds": total,
        "lines": [asdict(x) | {"ratio": x.ratio} for x in lines],
    }
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    options.page.write_text(table(lines, total), encoding="utf-8")


if __name__ == "__main__":
    main()
