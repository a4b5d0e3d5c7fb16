"""Measures how far the estimates of ε and of the clean variance are off, by simulation.

    python docs/tables/estimation_bias.py          # writes docs/tables/estimation_bias.md

Clean labels are N(0, 1); a share ε is wrong. Each draw is fitted by maximum likelihood (the equilibrium
of the GCP network without inputs), and every estimate is read off that fit.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from levelhead.audits.separation import estimate_contamination
from levelhead.losses import student
from levelhead.theory import student as student_t
from levelhead.theory.special import alpha_minus_A

OUTLIERS = {
    "Gaussian, sd 10": lambda rng, k: rng.normal(0, 10, k),
    "uniform, −8 to 32": lambda rng, k: rng.uniform(-8, 32, k),
    "Student, 2 dof, scale 5": lambda rng, k: 5 * rng.standard_t(2, k),
    "cluster at 8, sd 0.5": lambda rng, k: rng.normal(8, 0.5, k),
    "near cluster at 5, sd 1": lambda rng, k: rng.normal(5, 1, k),
}
SHARES = (0.0, 0.01, 0.05, 0.2)
SIZES = (200, 1000, 10_000)
COLUMNS = ("prognostic", "first order", "far", "far, ε̂", "fitted", "ε̂ − ε", "sd of ε̂ − ε", "standard error")


class Fit(NamedTuple):
    """Location, α and σ of a fitted Student's t."""

    m: float
    alpha: float
    sigma: float


def fit(y: np.ndarray) -> Fit:
    """Maximum likelihood for Student's t, started at small α from median and median deviation."""
    center = float(np.median(y))
    spread = 1.4826 * float(np.median(np.abs(y - center)))

    def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
        m, alpha, sigma = p[0], np.exp(p[1]), np.exp(p[2])
        full = lambda v: np.full_like(y, v)
        value, (by_m, _, by_alpha, by_beta) = student(y, full(m), full(1.0), full(alpha), full(sigma / 2))
        return value.mean(), np.array([by_m.mean(), alpha * by_alpha.mean(), sigma / 2 * by_beta.mean()])

    start = [center, 0.0, np.log(spread**2 * alpha_minus_A(1.0))]
    bounds = [(None, None), (np.log(0.02), np.log(1e5)), (None, None)]
    m, log_alpha, log_sigma = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Fit(float(m), float(np.exp(log_alpha)), float(np.exp(log_sigma)))


def draw(rng: np.random.Generator, kind: str, n: int, share: float) -> tuple[np.ndarray, float]:
    k = rng.binomial(n, share)
    y = rng.normal(size=n)
    y[:k] = OUTLIERS[kind](rng, k)
    return y, k / n


def corrected(function, fitted: Fit, epsilon: float) -> float:
    """A corrected variance, or NaN where it has no solution."""
    try:
        return float(function(fitted.alpha, fitted.sigma, epsilon))
    except ValueError:
        return float("nan")


def one_draw(rng: np.random.Generator, kind: str, n: int, share: float) -> list[float]:
    y, epsilon = draw(rng, kind, n, share)
    fitted = fit(y)
    prognostic = float(student_t.prognostic_variance(fitted.alpha, fitted.sigma))
    estimate = estimate_contamination(y - fitted.m, prognostic)
    return [
        prognostic,
        corrected(student_t.first_order_variance, fitted, epsilon),
        corrected(student_t.far_variance, fitted, epsilon),
        corrected(student_t.far_variance, fitted, estimate.contamination),
        estimate.variance_ratio * prognostic,
        estimate.contamination - epsilon,
        estimate.standard_error,
    ]


def measure(kind: str, n: int, share: float, draws: int) -> dict[str, float]:
    """Relative bias of each variance (the median over the draws that have a solution), and of ε̂ (mean)."""
    rng = np.random.default_rng([sorted(OUTLIERS).index(kind), n, round(1000 * share)])
    table = np.array([one_draw(rng, kind, n, share) for _ in range(draws)])
    variances = [np.nanmedian(c) - 1 if np.isfinite(c).mean() > 0.5 else np.nan for c in table[:, :5].T]
    error = table[:, 5]
    return dict(zip(COLUMNS, [*variances, error.mean(), error.std(), table[:, 6].mean()], strict=True))


def main() -> None:
    lines = [
        "| wrong labels | n | ε | V_p | first order, ε known | far, ε known | far, ε̂ | **fitted** | ε̂ − ε |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    percent = lambda v: "–" if np.isnan(v) else f"{100 * v:+.0f} %"
    for kind in OUTLIERS:
        for n in SIZES:
            for share in SHARES:
                row = measure(kind, n, share, draws=40 if n == 10_000 else 100)
                cells = [percent(row[name]) for name in COLUMNS[:5]]
                error = f"{row['ε̂ − ε']:+.4f} ± {row['sd of ε̂ − ε']:.4f}"
                lines.append(f"| {kind} | {n} | {share:g} | " + " | ".join([*cells, error]) + " |")
                print(lines[-1], flush=True)
    (Path(__file__).parent / "estimation_bias.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
