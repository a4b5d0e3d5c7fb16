"""The engine compared with other libraries in one run: ratios, share of the peak performance, growth of the cost.

    make bench            (installs the other libraries)
    python bench/engine.py [--quick] [--json bench/results/engine.json]

Every comparison alternates between the two sides and takes the best time of each, so that other load on
the machine does not favour one of them.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import frameworks
import numpy as np
import torch
from parts import parts
from peak import peak_gflops

from levelhead.engine import Architecture, Job, Recipe, forward, gaussian, gcp, train

BOSTON = {"width": 50, "batch": 5, "dropout": 0.3, "penalty": 1e-3}
ARCHITECTURE = Architecture(n_features=13, hidden=(50,), n_outputs=4)


@dataclass
class Row:
    """One line of the table: seconds a step (or a call) here and there."""

    work: str
    against: str
    target: float
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.theirs / self.ours

    def __str__(self) -> str:
        verdict = "met" if self.ratio >= self.target else "MISSED"
        times = f"{_time(self.ours):>9} {_time(self.theirs):>9}"
        return f"{self.work:<58} {self.against:<28} {times} {self.ratio:8.2f} × (≥ {self.target:g}) {verdict}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _best(*sides, repeats: int) -> list[float]:
    """The best time of each side, in turns; the first turn only warms up."""
    times: list[list[float]] = [[] for _ in sides]
    for turn in range(repeats + 1):
        for own, run in zip(times, sides, strict=True):
            began = time.perf_counter()
            run()
            if turn:
                own.append(time.perf_counter() - began)
    return [min(own) for own in times]


def _data(n_rows: int, n_features: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (np.sin(X[:, 0]) + 0.1 * rng.normal(size=n_rows)).astype(np.float32)


def _boston_recipe(epochs: int) -> Recipe:
    options = {"batch_size": 5, "dropout": 0.3, "weight_decay": 1e-3, "learning_rate": 1e-4}
    return Recipe(objective=gcp(), epochs=epochs, drop_last=True, **options)


def _ours(X, y, networks: int, epochs: int, n_threads: int):
    jobs = [Job(network=k) for k in range(networks)]
    return lambda: train(ARCHITECTURE, _boston_recipe(epochs), jobs, X=X, y=y, n_threads=n_threads)


def one_network(repeats: int) -> Row:
    X, y = _data(480, 13)
    torch.set_num_threads(1)
    peer = frameworks.TorchModules(X, y, **BOSTON)
    ours, theirs = _best(_ours(X, y, 1, 200, 1), lambda: peer.steps(192), repeats=repeats)
    work = "4 × 13–50–1, minibatch 5, dropout, Adam, 1 thread"
    return Row(work, "PyTorch modules, 1 thread", 150, ours / (200 * 96), theirs / 192)


def many_networks(repeats: int) -> list[Row]:
    X, y = _data(480, 13)
    torch.set_num_threads(2)
    stacked = frameworks.TorchStacked(X, y, networks=250, **BOSTON)
    jax = frameworks.JaxVmap(X, y, networks=250, **BOSTON)
    sides = (
        _ours(X, y, 250, 20, 2),
        _ours(X, y, 250, 20, 1),
        lambda: stacked.steps(48),
        lambda: jax.steps(96),
    )
    two, one, by_torch, by_jax = _best(*sides, repeats=repeats)
    ours, single = two / (20 * 96 * 250), one / (20 * 96 * 250)
    work = "the same, 250 networks, 2 threads"
    return [
        Row(work, "PyTorch, stacked, 2 threads", 5, ours, by_torch / (48 * 250)),
        Row(work, "JAX, vmap + scan, 2 threads", 4, ours, by_jax / (96 * 250)),
        Row(work, "1 thread", 1.8, ours, single),
    ]


def wide_network(repeats: int) -> Row:
    X, y = _data(100_000, 50)
    torch.set_num_threads(2)
    peer = frameworks.TorchWide(X, y, width=256, batch=256)
    architecture = Architecture(50, (256, 256), 2, shared_trunk=True)
    recipe = Recipe(objective=gaussian(), batch_size=256, epochs=1)
    ours = lambda: train(architecture, recipe, [Job()], X=X, y=y, n_threads=2)
    seconds, theirs = _best(ours, lambda: peer.steps(391), repeats=repeats)
    work = "256–256 hidden, minibatch 256, 50 features, 100,000 rows"
    return Row(work, "PyTorch, 2 threads", 1, seconds / 391, theirs / 391)


def one_against_sklearn(repeats: int) -> Row:
    X, y = _data(10_000, 20)
    architecture = Architecture(20, (50,), 2, shared_trunk=True)
    recipe = Recipe(objective=gaussian(), batch_size=32, epochs=3)
    ours = lambda: train(architecture, recipe, [Job()], X=X, y=y, n_threads=1)
    theirs = lambda: frameworks.sklearn_fit(X, y, width=50, batch=32, epochs=3)
    seconds, peer = _best(ours, theirs, repeats=repeats)
    work = "20–50–2, minibatch 32, 10,000 rows"
    return Row(work, "scikit-learn MLPRegressor", 3, seconds / (3 * 313), peer / (3 * 313))


def forward_pass(repeats: int, n_rows: int) -> Row:
    X, y = _data(n_rows, 13)
    torch.set_num_threads(2)
    networks = train(ARCHITECTURE, _boston_recipe(0), [Job(network=k) for k in range(5)], X=X, y=y)
    blocks = [frameworks.TorchForward(X, members=5, width=50, block=block) for block in (4096, n_rows)]
    seconds, *theirs = _best(lambda: forward(networks, X, n_threads=2), *blocks, repeats=repeats)
    return Row(f"forward, {n_rows:,} rows, ensemble of 5", "PyTorch, 2 threads", 1, seconds, min(theirs))


def flops(architecture: Architecture, batch: int) -> int:
    """Multiplications and additions of one step.

    2 a weight and row forward, as many for the gradient of the weights, as many for that of the inputs of all
    layers but the first, and 12 a weight for Adam.
    """
    layers = architecture.layer_shapes
    products = sum(n_in * n_out * (2 if k == 0 else 3) for k, (n_in, n_out) in enumerate(layers))
    return 2 * batch * architecture.n_trunks * products + 12 * architecture.n_weights


def growth(repeats: int) -> dict[str, list[tuple[int, float]]]:
    """Seconds of an epoch while one size is doubled three times."""
    base = {"rows": 1000, "features": 16, "width": 32, "depth": 1, "members": 2}
    seconds = {}
    for name in base:
        seconds[name] = []
        for doubling in range(4):
            size = base | {name: base[name] * 2**doubling}
            X, y = _data(size["rows"], size["features"])
            architecture = Architecture(size["features"], (size["width"],) * size["depth"], 4)
            jobs = [Job(network=k) for k in range(size["members"])]
            recipe = Recipe(batch_size=10, epochs=20)
            run = partial(train, architecture, recipe, jobs, X=X, y=y, n_threads=1)
            seconds[name].append((size[name], _best(run, repeats=repeats)[0] / 20))
    return seconds


def start() -> dict[str, float]:
    """Seconds from the start of a process to the end of its first epoch, with and without kernels on disk."""
    code = (
        "import numpy as np; from levelhead.engine import *\n"
        "X = np.zeros((480, 13), np.float32); y = np.zeros(480, np.float32)\n"
        "train(Architecture(13, (50,), 4), Recipe(batch_size=5, epochs=1), [Job()], X=X, y=y)"
    )
    run = lambda **more: subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **more})
    with TemporaryDirectory() as empty:
        began = time.perf_counter()
        run(NUMBA_CACHE_DIR=empty)
        cold = time.perf_counter() - began
    times = {"on disk": _best(run, repeats=3)[0], "compiling": cold}
    print("\nfrom the start of a process to the end of its first epoch:", end=" ")
    print(", ".join(f"{seconds:.2f} s ({name})" for name, seconds in times.items()))
    return times


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def table(repeats: int, n_rows: int) -> list[Row]:
    """The comparisons, each printed as soon as it is done."""
    rows: list[Row] = []
    for part in (
        lambda: [one_network(repeats)],
        lambda: many_networks(repeats),
        lambda: [wide_network(min(repeats, 5))],
        lambda: [one_against_sklearn(repeats)],
        lambda: [forward_pass(min(repeats, 5), n_rows)],
    ):
        new = part()
        rows += new
        print(*new, sep="\n", flush=True)
    return rows


def limits(rows: list[Row]) -> dict[str, float]:
    """Rates in GFlop/s beside the measured peak of one thread."""
    peak = peak_gflops()
    small = flops(ARCHITECTURE, 5) / rows[0].ours / 1e9
    wide = flops(Architecture(50, (256, 256), 2, shared_trunk=True), 256) / rows[4].ours / 1e9
    print(f"\npeak of fused multiply-adds, one thread: {peak:.1f} GFlop/s")
    print(f"the paper's network: {small:.1f} GFlop/s, {small / peak:.0%} of the peak of one thread")
    print(f"the wide network:    {wide:.1f} GFlop/s, {wide / (2 * peak):.0%} of the peak of two threads")
    return {"peak": peak, "paper": small, "wide": wide}


def print_parts(step: float) -> dict[str, float]:
    """Where the time of a step of the paper's network goes."""
    spent = parts()
    print(f"\none step of the paper's network, {_time(step)}, by parts timed alone")
    for name, nanoseconds in spent.items():
        print(f"  {name:<24} {nanoseconds:6.0f} ns  {nanoseconds * 1e-9 / step:4.0%}")
    return spent


def print_growth(repeats: int) -> dict[str, list[tuple[int, float]]]:
    """How an epoch grows with each size."""
    cost = growth(repeats)
    print("\nan epoch while one size doubles, and the factors by which its time grows")
    for name, points in cost.items():
        factors = ", ".join(f"{b / a:.2f}" for (_, a), (_, b) in pairwise(points))
        print(f"  {name:<9}", " → ".join(f"{n}: {_time(t)}" for n, t in points), f" ({factors})")
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "engine.json")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and rows; the ratios are rough")
    options = parser.parse_args()
    repeats, n_rows = (2, 200_000) if options.quick else (7, 1_000_000)
    print(f"{machine()}\n\n{'work':<58} {'against':<28} {'ours':>9} {'theirs':>9}")
    rows = table(repeats, n_rows)
    report = {
        "machine": machine(),
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
        "gflops": limits(rows),
        "parts_ns": print_parts(rows[0].ours),
        "first_epoch_seconds": start(),
        "growth": print_growth(min(repeats, 5)),
    }
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {options.json}")


if __name__ == "__main__":
    main()
