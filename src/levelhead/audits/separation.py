"""Separates clean labels from wrong ones by their residuals: the share of wrong labels, and the clean variance.

The scaled residuals r = z/√V have a core, the clean labels, and what does not belong to it: wrong labels. The core may
be skewed and may have heavy tails (`_cores`). Wrong labels may lie anywhere (`_backgrounds`). Several models of both
are fitted to the counts of signed residuals in bins (`_mixture`) and averaged by their likelihoods. With
`core="gaussian"`, the noise is known to be Gaussian up to its width, and |r| is enough (`_known_noise`).

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> z = np.where(rng.random(2000) < 0.05, rng.normal(0, 10, 2000), rng.normal(0, 1, 2000))
>>> estimate = estimate_contamination(z, np.full(2000, 1.3), core="student")
>>> bool(abs(estimate.contamination - 0.05) < 0.02)
True
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._deprecated import renamed_argument, renamed_attribute
from levelhead.audits import _averaging, _known_noise
from levelhead.audits._bins import asinh
from levelhead.theory.elementary import exp

FloatArray = NDArray[np.float64]
Core = Literal["gaussian", "student"]

_STEEPNESS = (
    3.0  # of the log odds in asinh r beyond the last knot: density 1/r against the r⁻⁴ of heavy tails
)


@dataclass(frozen=True)
class ContaminationEstimate:
    """The share of wrong labels, the variance of the clean ones, and the odds that a label is wrong.

    Attributes
    ----------
    contamination : float
        Share of wrong labels, from 0 to 1, those that cannot be distinguished from clean ones included.
    standard_error : float
        Standard error of `contamination`; 0 if the share was given.
    contamination_interval : tuple of float
        Interval of the share in all: the values for which the profile likelihood of the models is within 3 of its
        maximum. Wrong labels that look like clean ones leave no trace, so the true share may be larger.
    standing_out : float
        Share of labels that are wrong and lie where most labels are wrong.
    standing_out_interval : tuple of float
        Interval of that share, from the same profile.
    variance_ratio : float
        Mean squared residual of clean labels divided by the variance that the residuals were scaled by.
    tail : float
        1/degrees of freedom of the heavier tail of the clean noise; 0 if it is Gaussian.
    center, scale : float
        Middle and half-length of the shortest interval with half of the residuals, in units of r; the half-length is
        relative to that of a unit normal.
    knots : tuple of float
        Values of asinh((r − center)/scale).
    odds : tuple of float
        Log odds that a label is wrong at the knots; in between they are interpolated.
    n : int
        Number of residuals.
    warnings : tuple of str
        Why the result should not be relied on; empty if there is no reason.
    """

    contamination: float
    standard_error: float
    contamination_interval: tuple[float, float]
    standing_out: float
    standing_out_interval: tuple[float, float]
    variance_ratio: float
    tail: float
    center: float
    scale: float
    knots: tuple[float, ...]
    odds: tuple[float, ...]
    n: int
    warnings: tuple[str, ...] = ()

    epsilon = renamed_attribute("epsilon", "contamination")

    @property
    def reliable(self) -> bool:
        """Whether there is no reason to distrust the result."""
        return not self.warnings

    def log_odds(self, z: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return the log odds that each label is wrong; they differ even where the probability is 1.

        Parameters
        ----------
        z : array-like of shape (n_samples,)
            Residuals, label minus predicted mean.
        variance : array-like of shape (n_samples,)
            Variance of each residual, on the scale used in the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log odds; 0 where a label is as likely wrong as right.
        """
        r = np.asarray(z, dtype=np.float64) / np.sqrt(np.asarray(variance, dtype=np.float64))
        u = asinh((r - self.center) / self.scale)
        knots = np.asarray(self.knots)
        beyond = np.maximum(np.maximum(knots[0] - u, u - knots[-1]), 0.0)
        found: FloatArray = np.interp(u, knots, np.asarray(self.odds)) + _STEEPNESS * beyond
        return found

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
        p: FloatArray = 1 / (1 + exp(-self.log_odds(z, variance)))
        return p


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
        "gaussian" if the clean noise is Gaussian and its variance is known up to the factor. "student" if the variances
        are estimates themselves, or if the clean noise may be skewed or have heavier tails, down to three degrees of
        freedom on each side.

    Returns
    -------
    ContaminationEstimate
        The share of wrong labels, intervals, and the odds that a label is wrong.

    Raises
    ------
    ValueError
        If there are fewer than 10 residuals, if some are not finite, or if more than half of them are equal.

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
    r = z.ravel() / np.sqrt(variance.ravel())
    method = _known_noise if core == "gaussian" else _averaging
    return ContaminationEstimate(**method.separate(r, contamination))


def _check(z: FloatArray, variance: FloatArray, contamination: float | None, core: str) -> None:
    if core not in ("gaussian", "student"):
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
