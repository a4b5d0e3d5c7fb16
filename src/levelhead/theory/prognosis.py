"""What is read off a fitted network: variances of the clean labels, wrong labels, and their share ε.

Given α and σ of the fitted Student's t (equations (3) and (4)):

| variance | formula | needs |
|---|---|---|
| `student_variance` | σ/(α − 1), equation (9): of the contaminated labels | |
| `prognostic_variance` | σ/(α − A(α)), equation (6): of the clean labels up to O(ε) | |
| `first_order_variance` | (1 − bε)V_p, equation (8): up to O(ε²) | ε, small |
| `far_variance` | σ/(α* − A(α*)), α* = α/(1 − ε(2α+1)): exact for far outliers | ε |
| `estimate_contamination(…).clean_variance` | V_p times a ratio fitted to the residuals | residuals |

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> z = np.where(rng.random(2000) < 0.05, rng.normal(0, 10, 2000), rng.normal(0, 1, 2000))
>>> estimate = estimate_contamination(z, np.full(2000, 1.5), np.full(2000, 1.1))
>>> bool(abs(estimate.epsilon - 0.05) < 0.02)
True
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from levelhead.theory.normal_gamma import StudentT
from levelhead.theory.special import alpha_minus_A, b

FloatArray = NDArray[np.float64]

# Where a finite Student variance is needed (sorting, mixtures), α − 1 is kept above this.
_SMALLEST_EXCESS = 5e-5


def prognostic_variance(alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """V_p = σ/(α − A(α)), equation (6)."""
    alpha, sigma = _parameters(alpha, sigma)
    return sigma / alpha_minus_A(alpha)


def student_variance(alpha: ArrayLike, sigma: ArrayLike, *, finite: bool = False) -> FloatArray:
    """V_St = σ/(α − 1), equation (9); for α ≤ 1 infinite, or with `finite` a very large number."""
    alpha, sigma = _parameters(alpha, sigma)
    if finite:
        return sigma / np.maximum(alpha - 1, _SMALLEST_EXCESS)
    return np.where(alpha > 1, sigma / np.where(alpha > 1, alpha - 1, 1.0), np.inf)


def first_order_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """(1 − b(α)ε)V_p, equation (8). It needs bε ≪ 1; prefer `far_variance`."""
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    _refuse(b(alpha) * epsilon >= 1, alpha, epsilon, "b(α)ε ≥ 1 makes the first-order variance negative")
    return (1 - b(alpha) * epsilon) * prognostic_variance(alpha, sigma)


def far_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """V_far = σ/(α* − A(α*)) with α* = α/(1 − ε(2α+1)): exact if the outliers are far away.

    Far outliers enter H = 0 only through their share, which leaves equation (7) with α* instead of α.
    Near outliers make it too small. Its expansion in ε is `first_order_variance`.
    """
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    room = 1 - epsilon * (2 * alpha + 1)
    _refuse(room <= 0, alpha, epsilon, "ε(2α+1) ≥ 1 leaves no clean variance")
    return sigma / alpha_minus_A(alpha / room)


def outlier_probability(z: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """Probability that a label with residual z = y − m is wrong, from the local parameters alone.

    1 − N(y; m, V_p)/t(y) beyond the point where the densities cross (2.15 to 2.43 √V_p), 0 inside. It
    raises few false alarms, but is too sure or too timid when many labels are wrong: with residuals of a
    whole data set use `estimate_contamination(…).probability`.
    """
    alpha, sigma = _parameters(alpha, sigma)
    z = np.asarray(z, dtype=np.float64)
    variance = prognostic_variance(alpha, sigma)
    with np.errstate(over="ignore"):  # an absurd residual has Gaussian log density −∞
        log_gaussian = -0.5 * np.log(2 * np.pi * variance) - 0.5 * z / variance * z
    share = -np.expm1(np.minimum(log_gaussian - StudentT(np.zeros_like(z), alpha, sigma).logpdf(z), 0.0))
    return np.where(np.abs(z) > np.sqrt(variance), share, 0.0)


@dataclass(frozen=True)
class ContaminationEstimate:
    """How many labels are wrong, and how far the clean ones scatter.

    Attributes
    ----------
    epsilon : share of wrong labels.
    standard_error : of `epsilon`, from the information matrix of the fit.
    variance_ratio : variance of the clean labels over the prognostic variance.
    background, slope, window : density of wrong labels inside the window |r| ≤ `window`, as
        `background · (slope+1) · |r|^slope / window^(slope+1)`, for r = z/√V_p.
    n : number of residuals.
    """

    epsilon: float
    standard_error: float
    variance_ratio: float
    background: float
    slope: float
    window: float
    n: int

    def clean_variance(self, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
        """Variance of the clean labels: the prognostic one times the fitted ratio."""
        return self.variance_ratio * prognostic_variance(alpha, sigma)

    def probability(self, z: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
        """Posterior probability that each label is wrong, given its residual and the fitted shares.

        Half a wrong label is granted even where none was found, so that a far label is suspect anyway.
        """
        r = np.abs(np.asarray(z, dtype=np.float64)) / np.sqrt(prognostic_variance(alpha, sigma))
        inside = np.minimum(r, self.window) / self.window
        wrong = max(self.background, 0.5 / self.n) * (self.slope + 1) * inside**self.slope / self.window
        with np.errstate(over="ignore", under="ignore"):
            core = np.exp(-0.5 * r / self.variance_ratio * r) * np.sqrt(2 / (np.pi * self.variance_ratio))
        posterior: FloatArray = wrong / (wrong + (1 - self.epsilon) * core)
        return posterior


def estimate_contamination(
    z: ArrayLike, alpha: ArrayLike, sigma: ArrayLike, *, epsilon: float | None = None
) -> ContaminationEstimate:
    """Estimate the share of wrong labels and the variance of the clean ones from residuals.

    Near 0 the scaled residuals r = z/√V_p are a Gaussian core, the clean labels, on a background of wrong
    labels that is flat or rises outwards. Share and width of the core are fitted to the histogram of |r|
    within five standard deviations; whatever the core does not explain is wrong. Nothing is assumed about
    labels further out. A given `epsilon` is kept, and only the width is fitted.

    Use residuals of predictions that have not seen the labels (out of fold): others are too small.
    """
    z, alpha, sigma = np.broadcast_arrays(np.asarray(z, dtype=np.float64), *_parameters(alpha, sigma))
    if z.size < 10:
        raise ValueError(f"{z.size} residuals cannot tell wrong labels from clean ones; give at least 10")
    if not np.isfinite(z).all():
        raise ValueError(
            f"{np.count_nonzero(~np.isfinite(z))} residuals are not finite; leave those rows out"
        )
    if epsilon is not None and not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is {epsilon}; a share of wrong labels lies in [0, 1)")
    r = np.abs(z.ravel()) / np.sqrt(prognostic_variance(alpha, sigma).ravel())
    spread = float(np.median(r)) / 0.6745
    if spread == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to estimate")
    return _Core(r, spread**2, epsilon).fit()


class _Core:
    """Expectation maximisation for a half-Gaussian core on a power-law background, on binned |r|."""

    REACH = 5.0  # the window ends at this many standard deviations of the core
    BINS = 200
    PSEUDO_COUNT = 1.0  # of a label at the window's edge: the slope leaves 0 only on evidence

    def __init__(self, r: FloatArray, variance: float, epsilon: float | None) -> None:
        self.r = r
        self.n = r.size
        self.variance = variance
        self.known = epsilon
        self.clean = 0.9 if epsilon is None else 1 - epsilon
        self.background = 0.1
        self.slope = 0.0

    def fit(self) -> ContaminationEstimate:
        for _ in range(30):
            self.bin()
            before = self.variance
            self.iterate()
            if abs(self.variance - before) <= 1e-4 * before:
                break
        epsilon = float(np.clip(1 - self.clean, 0, 1))
        return ContaminationEstimate(
            epsilon=epsilon,
            standard_error=0.0 if self.known is not None else self.standard_error(),
            variance_ratio=self.variance,
            background=self.background,
            slope=self.slope,
            window=self.window,
            n=self.n,
        )

    def bin(self) -> None:
        self.window = self.REACH * np.sqrt(self.variance)
        self.edges = np.linspace(0, self.window, self.BINS + 1)
        self.counts = np.histogram(self.r, self.edges)[0]
        self.squares = np.diff(self.edges**3) / 3 / np.diff(self.edges)  # mean of r² in each bin
        u = self.edges / self.window
        with np.errstate(divide="ignore", invalid="ignore"):
            antiderivative = np.where(u > 0, u * np.log(u) - u, 0.0)
        self.minus_logs = -np.diff(antiderivative) / np.diff(u)  # mean of −ln(r/window) in each bin

    def expected(self) -> tuple[FloatArray, FloatArray]:
        """Share of labels expected in each bin: clean ones and wrong ones."""
        core = np.diff(2 * ndtr(self.edges / np.sqrt(self.variance)) - 1)
        u = self.edges / self.window
        return self.clean * core, self.background * np.diff(u ** (self.slope + 1))

    def iterate(self) -> None:
        for _ in range(500):
            before = (self.variance, self.clean, self.slope)
            clean, wrong = self.expected()
            belongs = self.counts * (clean / (clean + wrong + 1e-300))
            inside = 2 * ndtr(self.REACH) - 1
            trimmed = 1 - 2 * self.REACH * np.exp(-(self.REACH**2) / 2) / np.sqrt(2 * np.pi) / inside
            self.variance = float((belongs * self.squares).sum() / belongs.sum() / trimmed)
            if self.known is None:
                self.clean = float(belongs.sum() / self.n / inside)
            strays = self.counts - belongs
            self.background = float(strays.sum() / self.n)
            logs = float((strays * self.minus_logs).sum()) + self.PSEUDO_COUNT
            self.slope = max(0.0, float(strays.sum()) / logs - 1)
            now = (self.variance, self.clean, self.slope)
            if np.allclose(now, before, rtol=1e-6, atol=1e-7):
                break

    def standard_error(self) -> float:
        """Of ε̂, from the information of Poisson counts, conditioned on their number."""
        self.background = max(self.background, 0.5 / self.n)
        clean, wrong = self.expected()
        x = self.edges / np.sqrt(self.variance)
        u = self.edges / self.window
        by_variance = -self.clean * np.diff(x * np.exp(-x * x / 2)) / np.sqrt(2 * np.pi) / self.variance
        slopes = [clean / self.clean, by_variance, wrong / self.background]
        if self.slope > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                powers = np.where(u > 0, u ** (self.slope + 1) * np.log(u), 0.0)
            slopes.append(self.background * np.diff(powers))
        jacobian = np.stack(slopes)
        information = self.n * (jacobian / (clean + wrong)) @ jacobian.T
        variance = np.linalg.pinv(information)[0, 0] - self.clean**2 / self.n
        return float(np.sqrt(max(variance, self.clean * (1 - self.clean) / self.n, 0.0)))


def _parameters(*given: ArrayLike) -> tuple[FloatArray, ...]:
    """α, σ and perhaps ε as arrays of one shape, checked."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in given))
    for name, array in zip(("alpha", "sigma"), arrays, strict=False):
        if not (array > 0).all():
            raise ValueError(f"{name} must be positive, its smallest value is {array.min()}")
    if len(arrays) > 2 and not ((arrays[2] >= 0) & (arrays[2] < 1)).all():
        raise ValueError(f"epsilon must lie in [0, 1), got {arrays[2].min()} to {arrays[2].max()}")
    return tuple(arrays)


def _refuse(bad: NDArray[np.bool_], alpha: FloatArray, epsilon: FloatArray, why: str) -> None:
    if np.any(bad):
        at = int(np.argmax(np.ravel(bad)))
        raise ValueError(
            f"{why} ({np.count_nonzero(bad)} of {bad.size} values; first at position {at}: "
            f"alpha {alpha.ravel()[at]:.4g}, epsilon {epsilon.ravel()[at]:.4g}); use a smaller epsilon, or "
            "the prognostic variance"
        )
