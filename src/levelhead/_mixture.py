"""Equal-weight mixtures of Gaussians or of Student's t: density, distribution and quantile functions.

Every function takes the members along the first axis; all further axes are broadcast against the points.
A `Family` is a standard distribution around 0; members are shifted and scaled copies of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, stdtr, stdtrit

from levelhead.theory.special import log_gamma_ratio

FloatArray = NDArray[np.float64]
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_EPS = np.finfo(np.float64).eps
_FAR = 1e300  # where the search for a quantile of heavy tails begins at the latest
_FAR_STUDENT = 1e40  # beyond it Student's t is its power law to the last digit
_MAX_STEPS = 400  # every fourth step halves the bracket; usually six are enough


@dataclass(frozen=True)
class Family:
    """Log density, distribution function, its logarithm and its inverse, of a standard symmetric member.

    The second argument is the shape parameter of each member: α for Student's t with 2α degrees of freedom,
    ignored by the Gaussian.
    """

    log_density: Callable[[FloatArray, FloatArray], FloatArray]
    distribution: Callable[[FloatArray, FloatArray], FloatArray]
    log_distribution: Callable[[FloatArray, FloatArray], FloatArray]
    quantile: Callable[[FloatArray, FloatArray], FloatArray]


def _gaussian_log_density(z: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * z * z - _LOG_SQRT_2PI)


def _student_log_density(z: FloatArray, alpha: FloatArray) -> FloatArray:
    """−L of Algorithm 2 in units of the scale √(σ/α)."""
    square = z * z / (2 * alpha)
    log_square = np.where(np.isinf(square), 2 * np.log(np.abs(z)) - np.log(2 * alpha), np.log1p(square))
    return log_gamma_ratio(alpha) - 0.5 * np.log(2 * np.pi * alpha) - (alpha + 0.5) * log_square


def _gaussian_cdf(z: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(ndtr(z))


def _gaussian_log_cdf(z: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(log_ndtr(z))


def _gaussian_quantile(p: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(ndtri(p))


def _student_log_tail(alpha: FloatArray) -> FloatArray:
    """Ln C of the power law F(z) = C |z|^(−2α) that holds far out on the left."""
    log_c = log_gamma_ratio(alpha) - 0.5 * np.log(2 * np.pi * alpha)
    return np.asarray(log_c + (alpha - 0.5) * np.log(2 * alpha))


def _student_log_cdf(z: FloatArray, alpha: FloatArray) -> FloatArray:
    """From `stdtr`, and from the power law where it would square z and overflow."""
    far = z < -_FAR_STUDENT
    tail = _student_log_tail(alpha) - 2 * alpha * np.log(np.where(far, -z, 1.0))
    with np.errstate(divide="ignore"):
        return np.where(far, tail, np.log(stdtr(2 * alpha, np.where(far, 0.0, z))))


def _student_cdf(z: FloatArray, alpha: FloatArray) -> FloatArray:
    far = z < -_FAR_STUDENT
    return np.where(far, np.exp(_student_log_cdf(z, alpha)), stdtr(2 * alpha, np.where(far, 0.0, z)))


def _student_quantile(p: FloatArray, alpha: FloatArray) -> FloatArray:
    """For p ≤ ½, from `stdtrit`, and from the power law where that breaks down."""
    log_far = (_student_log_tail(alpha) - np.log(p)) / (2 * alpha)
    far = (log_far > np.log(_FAR_STUDENT)) & (alpha < 1e6)
    with np.errstate(over="ignore"):
        return np.where(far, -np.exp(log_far), stdtrit(2 * alpha, np.where(far, 0.5, p)))


GAUSSIAN = Family(_gaussian_log_density, _gaussian_cdf, _gaussian_log_cdf, _gaussian_quantile)
STUDENT = Family(_student_log_density, _student_cdf, _student_log_cdf, _student_quantile)


@dataclass(frozen=True)
class Mixture:
    """Members of one family with equal weights; `shape` is the α of each for Student's t."""

    family: Family
    location: FloatArray
    scale: FloatArray
    shape: FloatArray

    def logpdf(self, y: FloatArray) -> FloatArray:
        """Ln mean_k p_k(y), without underflow in the far tails."""
        with np.errstate(over="ignore", divide="ignore"):
            z, scale, shape = self._standard(y)
            members = self.family.log_density(z, shape) - np.log(scale)
        return _log_mean(members)

    def cdf(self, y: FloatArray) -> FloatArray:
        """mean_k F_k(y)."""
        with np.errstate(over="ignore"):
            z, _, shape = self._standard(y)
        return np.asarray(self.family.distribution(z, shape).mean(axis=0))

    def ppf(self, q: float) -> FloatArray:
        """The q-quantile of each column.

        The quantiles of the members enclose that of their mixture. Above the median the problem is
        reflected, so that both tails have their full precision.
        """
        sign, p = (-1.0, 1 - q) if q > 0.5 else (1.0, q)
        lower = Mixture(self.family, sign * self.location, self.scale, self.shape)
        with np.errstate(over="ignore"):
            ends = lower.location + self.scale * self.family.quantile(np.full_like(self.shape, p), self.shape)
        if len(ends) == 1:
            return np.asarray(sign * ends[0])
        y = lower._search(np.log(p), np.clip(ends, -_FAR, _FAR))
        return sign * np.where(y > -_FAR, y, -np.inf)

    def _search(self, log_p: float, ends: FloatArray) -> FloatArray:
        """The root of ln F = ln p between the ends: Newton's method, with bisection as its safeguard."""
        low, high, y = ends.min(axis=0), ends.max(axis=0), np.median(ends, axis=0)
        tolerance = 1e-14 * self.scale.min(axis=0)
        active = np.flatnonzero(high > low)
        for step in range(_MAX_STEPS):
            if active.size == 0:
                break
            part, now = self._columns(active), y[active]
            excess, slope = part._excess(now, log_p)
            high[active] = np.where(excess >= 0, now, high[active])
            low[active] = np.where(excess <= 0, now, low[active])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                newton = now - excess / slope
            inside = (newton >= low[active]) & (newton <= high[active])
            near = tolerance[active] + 4 * _EPS * np.abs(now)
            done = (inside & (np.abs(newton - now) <= near)) | (high[active] - low[active] <= near)
            bisect = ~inside | ((step % 4 == 3) & ~done)
            middle = part._middle(low[active], high[active])
            y[active] = np.where(bisect, middle, newton)
            active = active[~done]
        return y

    def _excess(self, y: FloatArray, log_p: float) -> tuple[FloatArray, FloatArray]:
        """Ln F(y) − ln p and its derivative f/F."""
        with np.errstate(divide="ignore", over="ignore"):
            z, _, shape = self._standard(y)
            log_cdf = _log_mean(self.family.log_distribution(z, shape))
        with np.errstate(over="ignore", invalid="ignore"):
            return log_cdf - log_p, np.exp(self.logpdf(y) - log_cdf)

    def _middle(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Halfway on the scale of asinh: 1,000 orders of magnitude in a dozen steps, for heavy tails."""
        centre, unit = self.location.mean(axis=0), self.scale.min(axis=0)
        u = 0.5 * (np.arcsinh((low - centre) / unit) + np.arcsinh((high - centre) / unit))
        return np.asarray(np.clip(centre + unit * np.sinh(u), low, high))

    def _standard(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The points in units of each member, with scale and shape laid out alike."""
        extra = (1,) * max(y.ndim - self.location.ndim + 1, 0)
        layout = (len(self.location), *extra, *self.location.shape[1:])
        scale = self.scale.reshape(layout)
        return (y - self.location.reshape(layout)) / scale, scale, self.shape.reshape(layout)

    def _columns(self, index: NDArray[np.intp]) -> "Mixture":
        return Mixture(self.family, self.location[:, index], self.scale[:, index], self.shape[:, index])


def _log_mean(log_members: FloatArray) -> FloatArray:
    if len(log_members) == 1:
        return np.asarray(log_members[0])
    return np.asarray(logsumexp(log_members, axis=0) - np.log(len(log_members)))
