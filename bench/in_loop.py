"""A tenth of the simulation with a model in the loop: labels of a known function, judged by `levelhead.audit`.

    python bench/audits.py --in-loop [--repetitions 3] [--sizes 200 1000] [--minutes 8] [--table]

The function has smooth parts, an interaction and steps; two inputs mean nothing; the noise is wider where the first
input is large. Noises and wrong labels are those of bench/audits.py, in units of the local noise, and the skewness that
depends on x depends on an input. Two oracles know the scale, all densities and the share of wrong labels. The first
knows the function too. The second judges the residuals of the fitted model, and knows how its errors are distributed:
what it misses is the model's fault, and no verdict on these residuals can find it.
Of the cells with wrong labels every tenth is run (`chosen`), of those without all. The audit has its default settings.
One row per draw is appended to bench/results/audits-in-loop.csv; what is there is not run again. The pages
docs/tables/audits-in-loop.md and audits-in-loop-model.md, beside the second oracle, are made from that file. Nothing
was chosen on these draws.
"""

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import raised
from noises import NOISES, WRONG, skewed, skewed_pdf, wrong_law
from resuming import read, run_missing
from simulated import COLUMNS, SHARES, SIZES, Runs, by_oracle, by_size, draw, page, posterior, record

from levelhead import audit

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/audits-in-loop.csv"
PAGE = ROOT / "docs/tables/audits-in-loop.md"
SECOND_PAGE = PAGE.with_name("audits-in-loop-model.md")
OF_MODEL = {  # columns of the first oracle → those of the second
    "oracle_flagged": "model_oracle_flagged",
    "oracle_found": "model_oracle_found",
    "true_standing_out": "model_standing_out",
}
STORED = (*COLUMNS, *OF_MODEL.values(), *raised.COLUMNS, "model_error", "seconds")
ONE_OF = 10  # cells with wrong labels
N_INPUTS = 8
NOISE_SD = 1.9  # a third of the deviation of the function, as in the law of swapped labels
BY_X = "skewness by x"
_ERRORS = (np.arange(200) + 0.5) / 200  # quantiles of the model's errors over which densities are averaged


def chosen(sizes: Sequence[int]) -> list[tuple[str, str, int, float]]:
    """Every tenth cell with wrong labels, spread over all factors, and every cell without."""
    spoilt = [share for share in SHARES if share]
    found = [(noise, next(iter(WRONG)), n, 0) for n, noise in product(sizes, NOISES)]
    for n, (s, share), (i, noise), (k, kind) in product(
        sizes, enumerate(spoilt), enumerate(NOISES), enumerate(WRONG)
    ):
        place = SIZES.index(n)
        if (3 * i + 7 * k + 4 * s + 9 * place) % ONE_OF == 0:
            found.append((noise, kind, n, share))
    return found


def signal(X: np.ndarray) -> np.ndarray:
    """A smooth interaction, a parabola, a line, a step, and a step that only some rows have."""
    smooth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return smooth + 5 * (X[:, 4] > 0.6) - 4 * ((X[:, 4] < 0.3) & (X[:, 5] > 0.5))


def scale(X: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise: from half to one and a half of its mean."""
    return NOISE_SD * (0.5 + X[:, 0])


class Draw(NamedTuple):
    """Inputs, residuals in units of the local noise, which labels are wrong, and the density of the clean ones."""

    X: np.ndarray
    r: np.ndarray
    wrong: np.ndarray
    clean: Callable[[np.ndarray], np.ndarray]


def drawn(noise: str, kind: str, n: int, share: float, repetition: int) -> Draw:
    rng = np.random.default_rng(zlib.crc32(repr(("in loop", noise, kind, n, share, repetition)).encode()))
    X = rng.uniform(size=(n, N_INPUTS))
    r, wrong = draw(noise, kind, n, share, repetition)
    mixed = rng.permutation(n)
    r, wrong = r[mixed], wrong[mixed]
    if noise != BY_X:
        return Draw(X, r, wrong, NOISES[noise].pdf)
    x = 2 * X[:, 1] - 1
    r[~wrong] = skewed(rng, x[~wrong])
    return Draw(X, r, wrong, lambda r: skewed_pdf(r, x))


def of_model(pdf: Callable[[np.ndarray], np.ndarray], residual: np.ndarray, error: np.ndarray) -> np.ndarray:
    """The density of the model's residuals, label minus prediction, if that of label minus function is known."""
    return np.mean([pdf(residual + e) for e in np.quantile(error, _ERRORS)], axis=0)


def run(noise: str, kind: str, n: int, share: float, repetition: int) -> dict:
    X, r, wrong, clean = drawn(noise, kind, n, share, repetition)
    f, sd, spoilt = signal(X), scale(X), wrong_law(noise, kind).pdf
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = audit(X, f + sd * r, random_state=repetition, n_jobs=1)
    seconds = time.process_time() - began
    error = (result.predicted_label - f) / sd
    best = posterior(share, spoilt(r), clean(r))
    of_residuals = posterior(share, *(of_model(density, r - error, error) for density in (spoilt, clean)))
    return record(result, result.p_outlier, result.is_label_issue, best, wrong) | {
        "variance_ratio": float(np.mean((result.std / sd) ** 2)),
        "true_variance": float(np.mean(r[~wrong] ** 2)),
        **{OF_MODEL[name]: value for name, value in by_oracle(of_residuals, wrong).items()},
        **raised.raised(result, wrong),
        "model_error": float(np.sqrt(np.mean(error**2))),
        "seconds": seconds,
    }


def main(sizes: Sequence[int], repetitions: range, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    for repetition in repetitions:
        for n in sizes:
            specs = [(*cell, repetition) for cell in chosen([n])]
            left = (end - time.monotonic()) / 60
            run_missing(RESULT, STORED, specs, run, left)
    rows = read(RESULT)
    PAGE.write_text(f"{page(rows, groups=('all',))}\n")
    second = [row | {name: row[of] for name, of in OF_MODEL.items()} for row in rows]
    SECOND_PAGE.write_text("\n".join(by_size(Runs(second), groups=("all",))) + "\n")
