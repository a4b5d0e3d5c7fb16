"""Separates wrong labels from clean ones whose noise is Gaussian up to its width.

Near 0, |r| has a Gaussian core, the clean labels, on a background of wrong labels whose density is flat or rises
outwards. The share and the width of the core are fitted to the histogram of |r| inside a window. What the core does not
explain is wrong. Nothing is assumed about labels further out.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from levelhead.audits._bins import KNOTS, X
from levelhead.theory._optimum import optimum
from levelhead.theory.elementary import exp, log, power

FloatArray = NDArray[np.float64]

_BINS = 120
_REACH = 5.0  # the window ends at this many scales of the core
_TINY = 1e-300
_NONE_FOUND = -13.9  # a logit of the share of wrong labels below this is none
_LOG_SQRT_2PI = 0.9189385332046727


def separate(r: FloatArray, contamination: float | None) -> dict[str, Any]:
    """Separate clean from wrong labels.

    Parameters
    ----------
    r : ndarray of shape (n,)
        Scaled residuals.
    contamination : float or None
        Share of wrong labels, if it is known.

    Returns
    -------
    dict
        The fields of a `ContaminationEstimate`.
    """
    size = np.abs(r)
    spread = float(np.median(size)) / 0.6745
    if spread == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to estimate")
    return _Fit(size, spread, contamination).run().fields(spread)


def power_law_odds(
    r: FloatArray, log_clean: FloatArray, background: float, slope: float, window: float
) -> FloatArray:
    """Log odds that a label is wrong, on a power-law background.

    Parameters
    ----------
    r : ndarray
        Absolute residuals.
    log_clean : ndarray
        Logarithm of the density of clean labels at r.
    background : float
        Share of labels that are wrong and lie inside the window.
    slope : float
        Inside the window the density of wrong labels grows like |r|^slope.
    window : float
        End of the window; beyond, the density stays.

    Returns
    -------
    ndarray
        Log odds.
    """
    inside = np.maximum(np.minimum(r, window) / window, _TINY)
    wrong = log(background * (slope + 1) / window) + slope * log(inside)
    return np.asarray(wrong - log_clean)


class _Fit:
    """Penalised maximum likelihood of a Gaussian core on a power-law background, for binned |r|.

    Coordinates: ln scale, logit of the share of wrong labels, logit of the share of those inside the window, slope. One
    virtual label at the edge of the window keeps the slope at 0 until there is evidence.
    """

    def __init__(self, r: FloatArray, spread: float, contamination: float | None) -> None:
        self.r = r
        self.n = r.size
        wrong = 0.05 if contamination is None else min(max(contamination, 1e-6), 1 - 1e-6)
        self.at: FloatArray = np.array([log(spread), logit(wrong), 0.0, 0.0])
        share = float(self.at[1])
        self.bounds: list[tuple[float, float]] = [
            (float(log(spread)) - 2, float(log(spread)) + 1),
            (-14.0, 3.0) if contamination is None else (share, share),
            (-14.0, 14.0),
            (0.0, 20.0),
        ]
        self.known = contamination

    def run(self) -> "_Fit":
        for _ in range(8):
            scale = exp(self.at[0])
            self.bin(_REACH * float(scale))
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
        log_scale, logit_wrong, logit_inside, slope = at
        x = self.edges / exp(log_scale)
        log_u = log(np.maximum(self.edges / self.window, _TINY))
        raised = exp((slope + 1) * log_u)
        wrong, inside = expit(logit_wrong), expit(logit_inside)
        clean = _with_rest(2 * ndtr(x) - 1)
        stray = np.append(inside * np.diff(raised), 1 - inside)
        into = wrong * inside * (1 - inside)
        derivatives = [
            (1 - wrong) * _with_rest(-2 * x * exp(-0.5 * x * x - _LOG_SQRT_2PI), total=0.0),
            wrong * (1 - wrong) * (stray - clean),
            into * np.append(np.diff(raised), -1.0),
            wrong * inside * np.append(np.diff(raised * log_u), 0.0),
        ]
        return (1 - wrong) * clean + wrong * stray, np.array(derivatives)

    def penalised(self, at: FloatArray) -> tuple[float, FloatArray]:
        counts = np.append(self.counts, self.n - self.counts.sum())
        shares, derivatives = self.shares(at)
        value = -(counts * log(shares + _TINY)).sum() + at[3]
        gradient = -(derivatives * (counts / (shares + _TINY))).sum(axis=1)
        gradient[3] += 1
        return float(value), gradient

    def fields(self, spread: float) -> dict[str, Any]:
        """The fields of a `ContaminationEstimate`."""
        log_scale, logit_wrong, logit_inside, slope = (float(v) for v in self.at)
        found = logit_wrong > _NONE_FOUND
        share = 0.0 if not found else float(expit(logit_wrong)) if self.known is None else self.known
        background = share * float(expit(logit_inside))
        sd = float(exp(log_scale))
        r = np.abs(spread * X)
        log_clean = log(2 * (1 - share) / sd) - 0.5 * (r / sd) ** 2 - _LOG_SQRT_2PI
        odds = power_law_odds(r, log_clean, max(background, 0.5 / self.n), slope, self.window)
        error = self.standard_error() if self.known is None else 0.0
        ends = max(0.0, share - 1.96 * error), min(1.0, share + 1.96 * error)
        # wrong labels nearer than the point at which the odds are even do not stand out
        even = min(float(r[odds > 0].min(initial=self.window)), self.window) / self.window
        out = share - background * float(power(even, slope + 1))
        part = out / share if share else 1.0
        return {
            "contamination": share,
            "standard_error": error,
            "contamination_interval": ends,
            "standing_out": out,
            "standing_out_interval": (part * ends[0], part * ends[1]),
            "variance_ratio": sd * sd,
            "tail": 0.0,
            "center": 0.0,
            "scale": spread,
            "knots": tuple(KNOTS.tolist()),
            "odds": tuple(odds.tolist()),
            "n": self.n,
        }

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


def _with_rest(below: FloatArray, total: float = 1.0) -> FloatArray:
    """Increments of a distribution function over the bins and, last, what is left beyond."""
    return np.append(np.diff(below), total - below[-1])
