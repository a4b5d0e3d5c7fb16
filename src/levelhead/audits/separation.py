"""Separates clean labels from wrong ones by their residuals: the share of wrong labels, and the clean variance.

Near 0 the scaled residuals r = z/√V form a core, the clean labels, on a background of wrong labels whose density is
flat or rises outwards. The share and the width of the core are fitted to the histogram of |r| inside a window. What
the core does not explain is wrong. Nothing is assumed about labels further out.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> z = np.where(rng.random(2000) < 0.05, rng.normal(0, 10, 2000), rng.normal(0, 1, 2000))
>>> estimate = estimate_contamination(z, np.full(2000, 1.3))
>>> bool(abs(estimate.contamination - 0.05) < 0.02)
True
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, stdtr

from levelhead._deprecated import renamed_argument, renamed_attribute
from levelhead.theory._optimum import optimum
from levelhead.theory.elementary import exp, log, power
from levelhead.theory.student import StudentT

FloatArray = NDArray[np.float64]
Core = Literal["gaussian", "student"]

_BINS = 120
_REACH = {"gaussian": 5.0, "student": 20.0}  # the window ends at this many scales of the core
_LARGEST_TAIL = 1 / 3  # 1/degrees of freedom of a Student core: fewer than three have no usable variance
_STARTING_TAILS = {"gaussian": (0.0,), "student": (0.0, 0.1, 0.25)}
_GAUSSIAN_TAIL = 1e-3  # a tail below this is none
_TINY = 1e-300


@dataclass(frozen=True)
class ContaminationEstimate:
    """The share of wrong labels, and the variance of the clean ones.

    Attributes
    ----------
    contamination : float
        Share of wrong labels, from 0 to 1.
    standard_error : float
        Standard error of `contamination`, from the information matrix of the fit; 0 if the share was given.
    scale : float
        Scale of the core, in units of r = z/√V.
    tail : float
        1/degrees of freedom of a Student core; 0 for a Gaussian one.
    background : float
        Share of labels that are wrong and lie inside the window |r| ≤ `window`.
    slope : float
        Inside the window the density of wrong labels grows like |r|^slope.
    window : float
        End of the window, in units of r.
    n : int
        Number of residuals.
    variance_ratio : float
        Variance of the clean labels divided by the variance that the residuals were scaled by.
    """

    contamination: float
    standard_error: float
    scale: float
    tail: float
    background: float
    slope: float
    window: float
    n: int

    epsilon = renamed_attribute("epsilon", "contamination")

    @property
    def variance_ratio(self) -> float:
        """Variance of the clean labels divided by the variance that the residuals were scaled by."""
        return self.scale**2 / (1 - 2 * self.tail)

    def probability(self, z: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return the posterior probability that each label is wrong.

        At least half a wrong label is assumed among the n, so that a far label is suspect even if none was found.

        Parameters
        ----------
        z : array-like of shape (n_samples,)
            Residuals, label minus predicted mean.
        variance : array-like of shape (n_samples,)
            Variance of each residual, on the scale used in the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities from 0 to 1.
        """
        r = np.abs(np.asarray(z, dtype=np.float64)) / np.sqrt(np.asarray(variance, dtype=np.float64))
        inside = np.minimum(r, self.window) / self.window
        wrong = (
            max(self.background, 0.5 / self.n) * (self.slope + 1) * power(inside, self.slope) / self.window
        )
        clean = 2 * (1 - self.contamination) * self._core_density(r)
        posterior: FloatArray = wrong / (wrong + clean)
        return posterior

    def _core_density(self, r: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            return _core_pdf(r / self.scale, self.tail) / self.scale


@renamed_argument("epsilon", "contamination")
def estimate_contamination(
    z: ArrayLike, variance: ArrayLike, *, contamination: float | None = None, core: Core = "gaussian"
) -> ContaminationEstimate:
    """Estimate the share of wrong labels and the variance of the clean ones from residuals.

    Use residuals of predictions that have not seen the labels (out of fold). Others are too small.

    Parameters
    ----------
    z : array-like of shape (n_samples,)
        Residuals, label minus predicted mean.
    variance : array-like of shape (n_samples,)
        The model's variance of each label, correct up to a common factor; for example the prognostic variance (6).
    contamination : float, default=None
        Share of wrong labels, if it is known. Only the rest is fitted then.
    core : {"gaussian", "student"}, default="gaussian"
        "gaussian" if the clean noise is Gaussian and its variance is known up to the factor; the window is five scales
        wide. "student" if the variances are estimates themselves, or if the clean noise has heavier tails; the window
        is twenty scales wide and three to ∞ degrees of freedom are fitted.

    Returns
    -------
    ContaminationEstimate
        The share of wrong labels, its standard error, and the fitted core and background.

    Raises
    ------
    ValueError
        If there are fewer than 10 residuals, if some are not finite, or if more than half of them are exactly 0.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = np.concatenate([rng.normal(size=950), rng.normal(0, 20, size=50)])
    >>> round(estimate_contamination(z, np.ones(1000)).contamination, 2)
    0.06
    """
    z, variance = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(variance, dtype=np.float64))
    _check(z, variance, contamination, core)
    r = np.abs(z.ravel()) / np.sqrt(variance.ravel())
    spread = float(np.median(r)) / 0.6745
    if spread == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to estimate")
    fits = [_Fit(r, spread, contamination, core, tail).run() for tail in _STARTING_TAILS[core]]
    return min(fits, key=lambda fit: fit.cost(_REACH[core] * spread)).estimate()


class _Fit:
    """Penalised maximum likelihood of a core on a power-law background, for binned |r|.

    Coordinates: ln scale, logit of the share of wrong labels, logit of the share of those inside the window,
    slope, tail. One virtual label at the edge of the window keeps the slope at 0, and a penalty of one unit of
    log likelihood keeps the core Gaussian, until there is evidence.
    """

    def __init__(
        self, r: FloatArray, spread: float, contamination: float | None, core: Core, tail: float
    ) -> None:
        self.r = r
        self.n = r.size
        self.reach = _REACH[core]
        wrong = 0.05 if contamination is None else min(max(contamination, 1e-6), 1 - 1e-6)
        self.at: FloatArray = np.array([log(spread), logit(wrong), 0.0, 0.0, tail])
        share = float(self.at[1])
        self.bounds: list[tuple[float, float]] = [
            (float(log(spread)) - 2, float(log(spread)) + 1),
            (-14.0, 3.0) if contamination is None else (share, share),
            (-14.0, 14.0),
            (0.0, 20.0),
            (0.0, _LARGEST_TAIL if core == "student" else 0.0),
        ]
        self.known = contamination

    def run(self) -> "_Fit":
        for _ in range(8):
            scale = exp(self.at[0])
            self.bin(self.reach * float(scale))
            self.at = optimum(self.penalised, self.at, bounds=self.bounds, tol=1e-8)
            if abs(exp(self.at[0]) / scale - 1) < 1e-3:
                break
        return self

    def bin(self, window: float) -> None:
        self.window = window
        self.edges = np.linspace(0, window, _BINS + 1)
        self.counts = np.histogram(self.r, self.edges)[0]

    def shares(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Share of labels expected in each bin and, last, beyond the window; and its derivatives by `at`."""
        log_scale, logit_wrong, logit_inside, slope, tail = at
        x = self.edges / exp(log_scale)
        u = self.edges / self.window
        below = _core_cdf(x, tail)
        log_u = log(np.maximum(u, _TINY))
        raised = exp((slope + 1) * log_u)
        raised_log = raised * log_u
        wrong, inside = expit(logit_wrong), expit(logit_inside)
        clean = _with_rest(below)
        stray = np.append(inside * np.diff(raised), 1 - inside)
        into = wrong * inside * (1 - inside)
        derivatives = [
            (1 - wrong) * _with_rest(-2 * x * _core_pdf(x, tail), total=0.0),
            wrong * (1 - wrong) * (stray - clean),
            into * np.append(np.diff(raised), -1.0),
            wrong * inside * np.append(np.diff(raised_log), 0.0),
            (1 - wrong) * _with_rest(_by_tail(x, tail), total=0.0),
        ]
        return (1 - wrong) * clean + wrong * stray, np.array(derivatives)

    def penalised(self, at: FloatArray) -> tuple[float, FloatArray]:
        counts = np.append(self.counts, self.n - self.counts.sum())
        shares, derivatives = self.shares(at)
        value = -(counts * log(shares + _TINY)).sum() + at[3] + at[4]
        gradient = -(derivatives * (counts / (shares + _TINY))).sum(axis=1)
        gradient[3:] += 1
        return float(value), gradient

    def cost(self, window: float) -> float:
        """The penalised likelihood on a common window, to compare fits with different ones."""
        common = _Fit.__new__(_Fit)
        common.r, common.n = self.r, self.n
        common.bin(window)
        at = self.at.copy()
        inside = expit(at[2]) * min(window / self.window, 1.0) ** (at[3] + 1)
        at[2] = logit(np.clip(inside, 1e-12, 1 - 1e-12))
        return common.penalised(at)[0]

    def estimate(self) -> ContaminationEstimate:
        log_scale, logit_wrong, logit_inside, slope, tail = (float(v) for v in self.at)
        found = logit_wrong > -13.9
        contamination = float(expit(logit_wrong)) if self.known is None else self.known
        return ContaminationEstimate(
            contamination=contamination if found else 0.0,
            standard_error=self.standard_error() if self.known is None else 0.0,
            scale=float(exp(log_scale)),
            tail=tail if tail >= _GAUSSIAN_TAIL else 0.0,
            background=float(expit(logit_wrong) * expit(logit_inside)) if found else 0.0,
            slope=slope,
            window=float(self.window),
            n=self.n,
        )

    def standard_error(self) -> float:
        """Of ε̂, from the expected information of the counts in the coordinates that are free."""
        at = self.at.copy()
        at[1] = max(at[1], logit(0.5 / self.n))  # half a wrong label: none found does not prove none
        lower, upper = np.transpose(self.bounds)
        free = np.flatnonzero((at > lower + 1e-9) & (at < upper - 1e-9))
        shares, derivatives = self.shares(at)
        slopes = derivatives[free]
        information = self.n * (slopes[:, None] * slopes / (shares + _TINY)).sum(axis=2)
        place = int(np.flatnonzero(free == 1)[0])
        of_logit = np.linalg.pinv(information, hermitian=True)[place, place]
        wrong = expit(at[1])
        sampling = wrong * (1 - wrong) / self.n
        error = np.sqrt(max(of_logit * (wrong * (1 - wrong)) ** 2, sampling))
        return float(f"{error:.6g}")  # LAPACK's last digits depend on the processor


def _core_cdf(x: FloatArray, tail: float) -> FloatArray:
    """Share of a core of unit scale within ±x."""
    below = ndtr(x) if tail < _GAUSSIAN_TAIL else stdtr(1 / tail, x)
    return np.asarray(2 * below - 1, dtype=np.float64)


def _core_pdf(x: FloatArray, tail: float) -> FloatArray:
    """Density of a core of unit scale at x."""
    if tail < _GAUSSIAN_TAIL:
        density: FloatArray = exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
        return density
    alpha = np.asarray(0.5 / tail)
    return exp(StudentT(np.zeros(()), alpha, alpha).logpdf(x))


def _by_tail(x: FloatArray, tail: float) -> FloatArray:
    """Derivative of the core's distribution function by the tail, by a central difference."""
    low, high = max(tail - 1e-4, _GAUSSIAN_TAIL), max(tail, _GAUSSIAN_TAIL) + 1e-4
    return (_core_cdf(x, high) - _core_cdf(x, low)) / (high - low)


def _with_rest(below: FloatArray, total: float = 1.0) -> FloatArray:
    """Increments of a distribution function over the bins and, last, what is left beyond."""
    return np.append(np.diff(below), total - below[-1])


def _check(z: FloatArray, variance: FloatArray, contamination: float | None, core: str) -> None:
    if core not in _REACH:
        raise ValueError(f"core is {core!r}; choose 'gaussian' or 'student'")
    if z.size < 10:
        raise ValueError(
            f"{z.size} residuals are too few to separate wrong labels from clean ones; give at least 10"
        )
    if not np.isfinite(z).all():
        count = np.count_nonzero(~np.isfinite(z))
        raise ValueError(f"{count} residuals are not finite; leave those rows out")
    if not ((variance > 0) & np.isfinite(variance)).all():
        raise ValueError("variance must be positive and finite everywhere")
    if contamination is not None and not 0 <= contamination < 1:
        raise ValueError(f"contamination is {contamination}; a share of wrong labels lies in [0, 1)")
