"""Shows where the method ends, by small experiments with known truth.

    python docs/tables/limits.py          # writes docs/tables/limits_*.md, in about three minutes

Every line is a mean over a few seeds of an audit with all defaults (five networks). Data: 1,000 rows of
`datasets.heteroscedastic`, unless it says otherwise, whose clean mean and noise are known.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from levelhead import GCPRegressor, tabular_pipeline
from levelhead.auditing import judge
from levelhead.audits import Audit
from levelhead.contamination import Cluster, Replaced, Shifted
from levelhead.datasets import heteroscedastic, rents

SEEDS = range(5)
HERE = Path(__file__).parent


class Case(NamedTuple):
    """A table with known truth: inputs, labels, which are wrong, mean and noise of the clean ones."""

    X: Any
    y: np.ndarray
    wrong: np.ndarray
    mean: np.ndarray
    std: np.ndarray


def spoilt(seed: int, contamination: Any, share: float, n: int = 1000) -> Case:
    data = heteroscedastic(n, random_state=seed)
    noisy = contamination(data.X, data.y_clean, contamination=share, random_state=seed, noise_std=data.std)
    return Case(data.X, noisy.y, noisy.mask, data.mean, data.std)


def fitted(case: Case, seed: int) -> GCPRegressor:
    return GCPRegressor(n_members=5, random_state=seed, n_jobs=1).fit(case.X, case.y)


def measured(case: Case, seed: int) -> dict[str, float]:
    """What a model and its audit say of a table, against the truth."""
    model = fitted(case, seed)
    answer = model.predict_dist(case.X)
    return {
        "error": float(np.sqrt(np.mean((answer.mean - case.mean) ** 2)) / np.median(case.std)),
        "width": float(np.median(answer.std / case.std)),
        "share": model.contamination_,
        **verdict(model.audit(case.X, case.y), case.wrong),
    }


def verdict(audit: Audit, wrong: np.ndarray) -> dict[str, float]:
    flagged = audit.is_label_issue
    false = float((flagged & ~wrong).sum())
    return {
        "flagged": float(flagged.sum()),
        "false": false,
        "found": float(flagged[wrong].mean()) if wrong.any() else float("nan"),
    }


def table(path: str, head: str, cases: Iterable[tuple[str, Callable[[int], Case]]]) -> None:
    """One line a case: error of the mean, width of the noise, estimated share, and the verdict."""
    lines = [
        f"| {head} | wrong | ε̂ | error | std ratio | found | false alarms |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, make in cases:
        tables = [make(seed) for seed in SEEDS]
        rows = [measured(case, seed) for seed, case in zip(SEEDS, tables, strict=True)]
        mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
        truly = np.mean([case.wrong.mean() for case in tables])
        found = "–" if np.isnan(mean["found"]) else percent(mean["found"])
        shares = f"{percent(truly)} | {percent(mean['share'], 1)}"
        cells = f"{shares} | {mean['error']:.2f} | {mean['width']:.2f} | {found}"
        lines.append(f"| {name} | {cells} | {alarms(rows)} |")
        print(lines[-1], flush=True)
    (HERE / path).write_text("\n".join(lines) + "\n")


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def alarms(rows: list[dict[str, float]]) -> str:
    """Share of clean labels among those called wrong, over all seeds, and their number a table."""
    flagged, false = sum(row["flagged"] for row in rows), sum(row["false"] for row in rows)
    return f"{percent(false / flagged)} ({false / len(rows):.1f})" if flagged else "none"


# ---------------------------------------------------------------------- the experiments


def shares() -> list[tuple[str, Callable[[int], Case]]]:
    return [
        (
            f"{percent(share)} replaced",
            lambda seed, share=share: spoilt(seed, Replaced(), share),
        )
        for share in (0.0, 0.05, 0.2, 0.3, 0.4, 0.5, 0.6)
    ]


def clusters() -> list[tuple[str, Callable[[int], Case]]]:
    apart = [
        (
            f"{percent(share)} at {offset:g} sd",
            lambda seed, s=share, o=offset: spoilt(seed, Cluster(o), s),
        )
        for offset, share in ((8, 0.05), (8, 0.2), (8, 0.4), (3, 0.05), (3, 0.2), (3, 0.4))
    ]
    return [*apart, ("20 %, all in one corner", lambda seed: regional(seed))]


def regional(seed: int) -> Case:
    """All wrong labels lie in one corner of the inputs and agree: a smooth story of their own."""
    data = heteroscedastic(1000, random_state=seed)
    wrong = data.X[:, 0] <= np.quantile(data.X[:, 0], 0.2)
    return Case(data.X, np.where(wrong, data.y_clean + 5, data.y_clean), wrong, data.mean, data.std)


def inside_the_noise() -> list[tuple[str, Callable[[int], Case]]]:
    return [
        (f"5 % off by {k} sd", lambda seed, k=k: spoilt(seed, Shifted(k), 0.05)) for k in (2, 3, 4, 6, 10)
    ]


def small_tables() -> list[tuple[str, Callable[[int], Case]]]:
    return [
        (f"{n:,} rows", lambda seed, n=n: spoilt(seed, Replaced(), 0.05, n))
        for n in (50, 100, 200, 500, 2000)
    ]


def other_noise(kind: str, share: float) -> Callable[[int], Case]:
    """Clean noise of unit variance that is not Gaussian."""
    draws: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
        "Gaussian": lambda rng, n: rng.normal(size=n),
        "Laplace": lambda rng, n: rng.laplace(0, np.sqrt(0.5), n),
        "Student, 3 dof": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
        "exponential": lambda rng, n: rng.exponential(1, n) - 1,
        "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
        "two peaks": lambda rng, n: 0.95 * rng.choice([-1, 1], n) + np.sqrt(1 - 0.95**2) * rng.normal(size=n),
    }

    def make(seed: int) -> Case:
        data = heteroscedastic(1000, contamination=0.0, random_state=seed)
        rng = np.random.default_rng(1000 + seed)
        y = data.mean + data.std * draws[kind](rng, len(data.mean))
        noisy = Replaced()(data.X, y, contamination=share, random_state=seed)
        return Case(data.X, noisy.y, noisy.mask, data.mean, data.std)

    return make


def noises() -> list[tuple[str, Callable[[int], Case]]]:
    kinds = ("Gaussian", "Laplace", "Student, 3 dof", "exponential", "uniform", "two peaks")
    return [(f"{kind}", other_noise(kind, share)) for kind in kinds for share in (0.0, 0.05)]


def wrong_inputs() -> list[tuple[str, Callable[[int], Case]]]:
    return [
        ("none", lambda seed: inputs(seed, 0.0)),
        ("in 5 % of the rows", lambda seed: inputs(seed, 0.05)),
        ("in 20 % of the rows", lambda seed: inputs(seed, 0.2)),
    ]


def inputs(seed: int, share: float) -> Case:
    """Right labels, wrong inputs: one cell of some rows is replaced by a draw ten times as wide.

    Those rows count as wrong here, and mean and noise are those at the inputs as they truly are.
    """
    data = heteroscedastic(1000, contamination=0.0, random_state=seed)
    rng = np.random.default_rng(2000 + seed)
    wrong = rng.random(len(data.X)) < share
    X = data.X.copy()
    column = rng.integers(0, X.shape[1], len(X))
    X[wrong, column[wrong]] = rng.normal(X.mean(), 10 * X.std(), wrong.sum())
    return Case(X, data.y_clean, wrong, data.mean, data.std)


def gaps(path: str, shares: Iterable[float]) -> None:
    """The audit of tables with missing cells, with and without the allowance for them."""
    lines = [
        "| cells missing | false alarms, no allowance | false alarms | of these in gaps | found |",
        "|---|---:|---:|---:|---:|",
    ]
    for share in shares:
        plain, fair, in_gaps = [], [], 0.0
        for seed in SEEDS:
            X, y, wrong = rents(missing=share, random_state=seed)[:3]
            model = tabular_pipeline(GCPRegressor(n_members=5, random_state=seed, n_jobs=1)).fit(X, y)
            plain.append(verdict(model[-1].audit(model[:-1].transform(X), y), wrong))
            allowed = judge(model, X, y)
            fair.append(verdict(allowed, wrong))
            in_gaps += (allowed.is_label_issue & ~wrong & np.isnan(X).any(axis=1)).sum()
        of_these = f"{in_gaps / len(SEEDS):.1f}"
        found = np.mean([row["found"] for row in fair])
        lines.append(
            f"| {percent(share)} | {alarms(plain)} | {alarms(fair)} | {of_these} | {percent(found)} |"
        )
        print(lines[-1], flush=True)
    (HERE / path).write_text("\n".join(lines) + "\n")


def main() -> None:
    table("limits_shares.md", "wrong labels", shares())
    table("limits_clusters.md", "a cluster", clusters())
    table("limits_noise.md", "clean noise", noises())
    table("limits_inside.md", "wrong labels", inside_the_noise())
    table("limits_rows.md", "5 % wrong labels", small_tables())
    table("limits_inputs.md", "wrong inputs", wrong_inputs())
    gaps("limits_gaps.md", (0.0, 0.02, 0.05, 0.1, 0.2))


if __name__ == "__main__":
    main()
