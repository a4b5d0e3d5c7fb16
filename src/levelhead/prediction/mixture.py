"""Equal-weight mixtures of Gaussians or of Student's t: density, distribution and quantile functions.

The members lie along the first axis, the rows along the second. A `Family` is a standard distribution that is
symmetric around 0; members are shifted and scaled copies of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr, ndtri, stdtr, stdtrit

from levelhead.theory import student
from levelhead.theory.elementary import exp, log
from levelhead.theory.special import log_gamma_ratio

FloatArray = NDArray[np.float64]
_EPS = np.finfo(np.float64).eps
_FAR = 1e300  # where the search for a quantile of heavy tails begins at the latest
_FAR_STUDENT = 1e40  # beyond it Student's t is its power law to the last digit
_MAX_STEPS = 2100  # six are usual; this many halvings exhaust the range of doubles


@dataclass(frozen=True)
class Family:
    """A standard distribution; the second argument of its functions is the shape of each member.

    The shape is α for Student's t with 2α degrees of freedom. The Gaussian has none and ignores it. The density is its
    value at 0 times a kernel. `quantile` need only be correct up to the median.

    Parameters
    ----------
    log_peak : callable
        Logarithm of the density at 0, from the shape.
    log_kernel : callable
        Logarithm of the density divided by that at 0, from a point and the shape.
    distribution : callable
        Distribution function, from a point and the shape.
    quantile : callable
        Quantile function, from a probability and the shape.
    """

    log_peak: Callable[[FloatArray], FloatArray]
    log_kernel: Callable[[FloatArray, FloatArray], FloatArray]
    distribution: Callable[[FloatArray, FloatArray], FloatArray]
    quantile: Callable[[FloatArray, FloatArray], FloatArray]


def _gaussian_log_peak(shape: FloatArray) -> FloatArray:
    return np.full_like(shape, -0.5 * log(2 * np.pi))


def _gaussian_log_kernel(z: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * z * z)


def _gaussian_distribution(z: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(ndtr(z))


def _gaussian_quantile(p: FloatArray, _: FloatArray) -> FloatArray:
    return np.asarray(ndtri(p))


def _student_log_peak(alpha: FloatArray) -> FloatArray:
    return log_gamma_ratio(alpha) - 0.5 * log(2 * np.pi * alpha)


def _student_log_kernel(z: FloatArray, alpha: FloatArray) -> FloatArray:
    """−(α+½) ln(1 + z²/(2α))."""
    return np.asarray(-(alpha + 0.5) * student.ratios(z, alpha).log_growth)


def _student_log_tail(alpha: FloatArray) -> FloatArray:
    """Ln C of the power law F(z) = C |z|^(−2α) that holds far out on the left."""
    return np.asarray(_student_log_peak(alpha) + (alpha - 0.5) * log(2 * alpha))


def _student_distribution(z: FloatArray, alpha: FloatArray) -> FloatArray:
    """From `stdtr`, and from the power law where it would square z and overflow."""
    far = z < -_FAR_STUDENT
    near = np.asarray(stdtr(2 * alpha, np.where(far, 0.0, z)))
    if not far.any():
        return near
    log_tail = _student_log_tail(alpha) - 2 * alpha * log(np.where(far, -z, np.inf))
    return np.where(far, exp(log_tail), near)


def _student_quantile(p: FloatArray, alpha: FloatArray) -> FloatArray:
    """From `stdtrit`, and from the power law where that breaks down."""
    log_far = (_student_log_tail(alpha) - log(p)) / (2 * alpha)
    far = (log_far > log(_FAR_STUDENT)) & (alpha < 1e6)
    with np.errstate(over="ignore"):
        return np.where(far, -exp(log_far), stdtrit(2 * alpha, np.where(far, 0.5, p)))


GAUSSIAN = Family(_gaussian_log_peak, _gaussian_log_kernel, _gaussian_distribution, _gaussian_quantile)
STUDENT = Family(_student_log_peak, _student_log_kernel, _student_distribution, _student_quantile)


@dataclass(frozen=True)
class Mixture:
    """Members of one family with equal weights.

    Parameters
    ----------
    family : Family
        The standard distribution.
    location : ndarray of shape (n_members, n_samples)
        Locations.
    scale : ndarray of shape (n_members, n_samples)
        Scales.
    shape : ndarray of shape (n_members, n_samples)
        Shapes; ignored by the Gaussian family.
    log_peak : ndarray of shape (n_members, n_samples)
        Logarithm of each member's density at its location.
    """

    family: Family
    location: FloatArray
    scale: FloatArray
    shape: FloatArray
    log_peak: FloatArray

    @classmethod
    def of(cls, family: Family, location: FloatArray, scale: FloatArray, shape: FloatArray) -> "Mixture":
        """Build a mixture from locations, scales and shapes.

        Parameters
        ----------
        family : Family
            The standard distribution.
        location : ndarray of shape (n_members, n_samples)
            Locations.
        scale : ndarray of shape (n_members, n_samples)
            Scales.
        shape : ndarray of shape (n_members, n_samples)
            Shapes.

        Returns
        -------
        Mixture
            The mixture, one distribution per row.
        """
        return cls(family, location, scale, shape, family.log_peak(shape) - log(scale))

    def logpdf(self, y: FloatArray) -> FloatArray:
        """The logarithm of mean_k p_k(y), without underflow in the far tails.

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Log densities.
        """
        with np.errstate(over="ignore"):
            members = self._log_densities(y)
        if len(members) == 1:
            return np.asarray(members[0])
        largest = members.max(axis=0)
        highest = np.where(np.isfinite(largest), largest, 0.0)
        return np.asarray(highest + log(exp(members - highest).mean(axis=0)))

    def cdf(self, y: FloatArray) -> FloatArray:
        """The distribution function mean_k F_k(y).

        Parameters
        ----------
        y : ndarray
            Points; the last axis has one entry per row.

        Returns
        -------
        ndarray
            Probabilities.
        """
        with np.errstate(over="ignore"):
            z = (y - self._along(self.location, y)) / self._along(self.scale, y)
        return np.asarray(self.family.distribution(z, self._along(self.shape, y)).mean(axis=0))

    def ppf(self, q: float) -> FloatArray:
        """The q-quantile of each row.

        The quantiles of the members enclose that of their mixture. Above the median the problem is reflected, so that
        both tails have full precision.

        Parameters
        ----------
        q : float
            A probability strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            The quantiles.
        """
        sign, p = (-1.0, 1 - q) if q > 0.5 else (1.0, q)
        lower = Mixture(self.family, sign * self.location, self.scale, self.shape, self.log_peak)
        with np.errstate(over="ignore"):
            ends = lower.location + self.scale * self.family.quantile(np.full_like(self.shape, p), self.shape)
        if len(ends) == 1:
            return np.asarray(sign * ends[0])
        y = lower._search(p, np.clip(ends, -_FAR, _FAR))
        return sign * np.where(y > -0.99 * _FAR, y, -np.inf)

    def crps(self, y: FloatArray) -> FloatArray:
        """Continuous ranked probability score `∫(F(t) − 1{t ≥ y})² dt` of each row, for Gaussian members.

        With `a(z, s) = E|z + s·ε|`, ε ~ N(0, 1), it is (Grimit et al., 2006)

            mean_k a(y − m_k, s_k) − ½ mean_kl a(m_k − m_l, √(V_k + V_l)).

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, in the units of y.
        """
        m, s = self.location, self.scale
        to_label = _mean_absolute(y - m, s).mean(axis=0)
        between = sum(
            _mean_absolute(m - mk, np.hypot(s, sk)).mean(axis=0) for mk, sk in zip(m, s, strict=True)
        )
        return np.asarray(to_label - 0.5 * between / len(m))

    def _search(self, p: float, ends: FloatArray) -> FloatArray:
        """The root of ln F = ln p between the ends: by Newton's steps while they halve, else by bisection.

        F is at least p/members everywhere in between, so its logarithm is safe to take.
        """
        low, high, y = ends.min(axis=0), ends.max(axis=0), np.median(ends, axis=0)
        tolerance = 1e-14 * self.scale.min(axis=0)
        stride = np.full_like(y, np.inf)
        active = np.flatnonzero(high > low)
        for _ in range(_MAX_STEPS):
            if active.size == 0:
                break
            part, now = self._rows(active), y[active]
            ratio = part.cdf(now) / p
            low[active] = np.where(ratio <= 1, now, low[active])
            high[active] = np.where(ratio >= 1, now, high[active])
            with np.errstate(all="ignore"):  # without density there is no step, and bisection takes over
                newton = now - log(ratio) * (ratio * p / part._density(now))
            inside = (newton >= low[active]) & (newton <= high[active])
            near = tolerance[active] + 4 * _EPS * np.abs(now)
            done = (inside & (np.abs(newton - now) <= near)) | (high[active] - low[active] <= near)
            keep = inside & (done | (np.abs(newton - now) <= 0.5 * stride[active]))
            y[active] = np.where(keep, newton, part._middle(low[active], high[active]))
            stride[active] = np.abs(y[active] - now)
            active = active[~done]
        return y

    def _middle(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """A point between: geometric far from the centre, as heavy tails span hundreds of magnitudes."""
        centre = self.location.mean(axis=0)
        a, b = low - centre, high - centre
        outer = np.maximum(np.abs(a), np.abs(b))
        smallest = np.maximum(self.scale.min(axis=0), _EPS * np.abs(centre))
        inner = np.maximum(np.minimum(np.abs(a), np.abs(b)), smallest)
        geometric = np.sign(a + b) * np.sqrt(outer) * np.sqrt(inner)
        one_sided = np.where(outer > 4 * inner, geometric, 0.5 * (a + b))
        middle = centre + np.where((a < 0) & (b > 0), 0.0, one_sided)
        return np.where((low < middle) & (middle < high), middle, 0.5 * low + 0.5 * high)

    def _density(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(exp(self._log_densities(y)).mean(axis=0))

    def _log_densities(self, y: FloatArray) -> FloatArray:
        z = (y - self._along(self.location, y)) / self._along(self.scale, y)
        return self.family.log_kernel(z, self._along(self.shape, y)) + self._along(self.log_peak, y)

    def _along(self, array: FloatArray, y: FloatArray) -> FloatArray:
        """An array of shape (members, rows), laid out against points of shape (…, rows)."""
        extra = (1,) * max(y.ndim - 1, 0)
        return array.reshape(len(array), *extra, array.shape[1])

    def _rows(self, index: NDArray[np.intp]) -> "Mixture":
        arrays = (self.location, self.scale, self.shape, self.log_peak)
        return Mixture(self.family, *(array[:, index] for array in arrays))


def _mean_absolute(z: FloatArray, s: FloatArray) -> FloatArray:
    """E|z + s·ε| = z·erf(z/(s√2)) + s·√(2/π)·exp(−z²/(2s²))."""
    u = z / s
    return np.asarray(z * erf(u / np.sqrt(2)) + s * np.sqrt(2 / np.pi) * exp(-0.5 * u * u))
