"""What a simulated audit is compared with, and what is stored of it: shared by audits.py and in_loop.py.

Labels with known residuals are judged beside an oracle that knows the density of clean noise, that of wrong labels, and
their share.
"""

import zlib
from collections.abc import Collection, Mapping
from itertools import product
from typing import Any

import numpy as np
from noises import NOISES, WRONG, wrong_law

from levelhead.audits.flags import most_suspect

SPEC = ("noise", "wrong", "n", "contamination", "repetition")
COUNTS = ("n_wrong", "flagged", "false", "oracle_flagged", "oracle_found")
SHARES_OUT = (
    "estimate",
    "standing_out",
    "low",
    "high",
    "least_in_all",
    "most_in_all",
    "true_standing_out",
    "variance_ratio",
    "true_variance",
)
BINS = tuple(f"{what}{k}" for what in ("labels", "p", "wrong_in") for k in range(10))
COLUMNS = (*SPEC, *COUNTS, *SHARES_OUT, *BINS)
SIZES = (200, 1000, 5000, 20_000)
SHARES = (0, 0.01, 0.05, 0.2, 0.4)
LEVEL = 0.05
CHOSEN_ON = ({"Gaussian", "t5", "lognormal", "gamma"}, {"wide", "one-sided", "cluster"})


def draw(noise: str, kind: str, n: int, share: float, repetition: int):
    """Residuals, and which of them are wrong."""
    rng = np.random.default_rng(zlib.crc32(repr((noise, kind, n, share, repetition)).encode()))
    wrong = np.arange(n) < rng.binomial(n, share)
    r = NOISES[noise].draw(rng, n)
    if wrong.any():
        r[wrong] = wrong_law(noise, kind).draw(rng, int(wrong.sum()))
    return r, wrong


def oracle(r: np.ndarray, noise: str, kind: str, share: float) -> np.ndarray:
    """Probability that each label is wrong, by someone who knows everything but the labels."""
    return posterior(share, wrong_law(noise, kind).pdf(r), NOISES[noise].pdf(r))


def posterior(share: float, wrong: np.ndarray, clean: np.ndarray) -> np.ndarray:
    """Probability that each label is wrong, from the densities of wrong and of clean labels."""
    return share * wrong / np.maximum(share * wrong + (1 - share) * clean, 1e-300)


def by_oracle(best: np.ndarray, wrong: np.ndarray) -> dict:
    """What an oracle with these probabilities flags and finds, and the share that stands out for it."""
    flagged = most_suspect(best, LEVEL)
    return {
        "oracle_flagged": int(flagged.sum()),
        "oracle_found": int((flagged & wrong).sum()),
        "true_standing_out": float((wrong & (best > 0.5)).mean()),
    }


def record(verdict: Any, p: np.ndarray, flagged: np.ndarray, best: np.ndarray, wrong: np.ndarray) -> dict:
    """What is stored of one verdict; `best` is the oracle's probability that each label is wrong."""
    low, high = verdict.standing_out_interval
    return (
        {
            "n_wrong": int(wrong.sum()),
            "flagged": int(flagged.sum()),
            "false": int((flagged & ~wrong).sum()),
            "estimate": verdict.contamination,
            "standing_out": verdict.standing_out,
            "low": low,
            "high": high,
            "least_in_all": verdict.contamination_interval[0],
            "most_in_all": verdict.contamination_interval[1],
        }
        | by_oracle(best, wrong)
        | in_bins(p, wrong)
    )


def in_bins(p: np.ndarray, wrong: np.ndarray) -> dict[str, float]:
    """For each tenth of the probabilities: labels, the sum of their probabilities, and how many are wrong."""
    bins = np.minimum((10 * p).astype(int), 9)
    sums = [np.bincount(bins, weights, minlength=10) for weights in (np.ones(len(p)), p, wrong.astype(float))]
    return dict(zip(BINS, np.concatenate(sums).tolist(), strict=True))


PROBABILITIES = " | ".join(f"p {k / 10:.1f}–{(k + 1) / 10:.1f}" for k in range(10))


def calibration(sums: Mapping[str, float]) -> str:
    """The cells of a line: mean probability in each tenth, and the share of its labels that are wrong."""
    of = lambda what, k: sums[f"{what}{k}"] / max(sums[f"labels{k}"], 1)
    return " | ".join(f"{of('p', k):.2f} → {of('wrong_in', k):.2f}" for k in range(10))


class Runs:
    """The stored rows as columns of numbers, and which rows belong together."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.names = {name: np.array([row[name] for row in rows]) for name in ("noise", "wrong")}
        self.of = {name: np.array([float(row[name]) for row in rows]) for name in COLUMNS[2:]}
        found = self.of["flagged"] - self.of["false"]
        self.false_alarms = self.of["false"] / np.maximum(self.of["flagged"], 1)
        self.recall = found / np.maximum(self.of["n_wrong"], 1)
        self.best_recall = self.of["oracle_found"] / np.maximum(self.of["n_wrong"], 1)
        self.spoilt = self.of["contamination"] > 0
        noises, kinds = CHOSEN_ON
        chosen = np.isin(self.names["noise"], list(noises)) & np.isin(self.names["wrong"], list(kinds))
        unseen = ~np.isin(self.names["noise"], list(noises)) & ~np.isin(self.names["wrong"], list(kinds))
        clean_unseen = ~self.spoilt & ~np.isin(self.names["noise"], list(noises))
        self.groups = {
            "all": np.ones(len(rows), dtype=bool),
            "chosen on": chosen,
            "noise and wrong labels not chosen on": unseen | clean_unseen,
        }

    def power(self, which: np.ndarray) -> float:
        """Mean over cells of recall over the oracle's, where the oracle finds half."""
        ratios = []
        keys = np.array(
            [
                "|".join(map(str, key))
                for key in zip(*self.names.values(), self.of["n"], self.of["contamination"], strict=True)
            ]
        )
        for key in np.unique(keys[which & self.spoilt]):
            cell = which & (keys == key)
            best = self.best_recall[cell].mean()
            if best >= 0.5:
                ratios.append(self.recall[cell].mean() / best)
        return float(np.mean(ratios)) if ratios else float("nan")


def mean_and_error(values: np.ndarray) -> str:
    if values.size == 0:
        return "–"
    return f"{values.mean():.3f} ± {values.std() / np.sqrt(values.size):.3f}"


def page(rows: list[dict[str, str]], groups: Collection[str] = ()) -> str:
    """Tables by size, noise, kind of wrong labels and probability; `groups` of cells are shown, by default all."""
    runs = Runs(rows)
    tables = by_size(runs, groups), by_noise(runs), by_kind(runs), by_probability(runs)
    return "\n\n".join("\n".join(lines) for lines in tables)


def by_size(runs: Runs, groups: Collection[str] = ()) -> list[str]:
    """False alarms, power and coverage for each number of labels."""
    covered = (runs.of["low"] <= runs.of["true_standing_out"]) & (
        runs.of["true_standing_out"] <= runs.of["high"]
    )
    wrong = runs.of["n_wrong"] / runs.of["n"]
    in_all = (runs.of["least_in_all"] <= wrong) & (wrong <= runs.of["most_in_all"])
    lines = [
        "| cells | n | false alarms at level 0.05 | recall / oracle's | clean sets without flags | "
        "standing-out share covered | share in all covered | draws |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, n in product(groups or runs.groups, SIZES):
        which = runs.groups[name] & (runs.of["n"] == n)
        clean = which & ~runs.spoilt
        if which.any():
            untouched = (runs.of["flagged"][clean] == 0).astype(float)
            cells = (
                name,
                f"{n:,}",
                mean_and_error(runs.false_alarms[which & runs.spoilt]),
                f"{runs.power(which):.2f}",
                mean_and_error(untouched),
                mean_and_error(covered[which].astype(float)),
                mean_and_error(in_all[which].astype(float)),
                f"{which.sum():,}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def by_noise(runs: Runs) -> list[str]:
    """False alarms for each noise and number of labels."""
    lines = ["| noise | " + " | ".join(f"n = {n:,}" for n in SIZES) + " | recall / oracle's |"]
    lines += ["|---|" + "---:|" * (len(SIZES) + 1)]
    for noise in NOISES:
        mine = runs.names["noise"] == noise
        cells = [mean_and_error(runs.false_alarms[mine & runs.spoilt & (runs.of["n"] == n)]) for n in SIZES]
        lines.append(f"| {noise} | {' | '.join(cells)} | {runs.power(mine):.2f} |")
    return lines


def by_kind(runs: Runs) -> list[str]:
    """Power for each kind of wrong labels and number of labels."""
    lines = ["| wrong labels | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |"]
    lines += ["|---|" + "---:|" * len(SIZES)]
    for kind in WRONG:
        mine = runs.names["wrong"] == kind
        cells = [f"{runs.power(mine & (runs.of['n'] == n)):.2f}".replace("nan", "–") for n in SIZES]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def by_probability(runs: Runs) -> list[str]:
    """Mean probability in each tenth, and the share of labels that are wrong."""
    lines = [f"| n | {PROBABILITIES} |", "|---:|" + "---:|" * 10]
    for n in SIZES:
        which = runs.of["n"] == n
        if which.any():
            lines.append(f"| {n:,} | {calibration({name: runs.of[name][which].sum() for name in BINS})} |")
    return lines
