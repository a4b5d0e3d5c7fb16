"""Calibrates variances on held-out rows: how squared residuals of unseen labels grow with the predicted variance.

Networks of finite size fit their own training labels too well. Their local variances are also noisy: too small where
they overfit, too large elsewhere. From residuals of predictions that have not seen the labels (out of fold),
`calibrate` fits the map `V ↦ factor · V^power`. It fits Student's t with one α for all rows, the GCP loss, so that
wrong labels among the residuals do no harm. `added_variance` estimates in the same way how much larger the residuals
are where inputs were missing and had to be filled in.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> truth = np.exp(rng.normal(size=4000))
>>> predicted = truth * np.exp(rng.normal(size=4000))  # half of its spread is noise
>>> calibration = calibrate(np.sqrt(truth) * rng.normal(size=4000), predicted)
>>> bool(0.4 < calibration.power < 0.6)
True
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.engine.elementwise import power
from levelhead.theory import student
from levelhead.theory._optimum import optimum
from levelhead.theory.elementary import exp, log, log1p

FloatArray = NDArray[np.float64]

MEDIAN_CHI2 = 0.4549  # of one degree of freedom
_LOG_ALPHAS = (float(log(0.1)), float(log(1e4)))
_TOL = 1e-9  # of the mean loss
_LEAST_GAPS = 10
_ADDED = (-6.0, 16.0)  # logarithm of what a gap may add, relative to the typical variance


@dataclass(frozen=True)
class Calibration:
    """The map V ↦ factor · (V/center)^power · center.

    Parameters
    ----------
    factor : float
        Factor at V = center.
    power : float
        Exponent; 0 makes all variances equal, 1 keeps their ratios.
    center : float
        Typical variance.
    """

    factor: float
    power: float
    center: float

    def __call__(self, variance: ArrayLike) -> FloatArray:
        """Calibrate variances.

        Parameters
        ----------
        variance : array-like
            Variances as the model predicts them.

        Returns
        -------
        ndarray
            Calibrated variances, of the same shape.
        """
        relative = np.asarray(variance, dtype=np.float64) / self.center
        calibrated: FloatArray = self.factor * self.center * power(relative, self.power)
        return calibrated

    def after(self, change: float) -> "Calibration":
        """Return the same calibration for variances that have been multiplied by a number.

        Parameters
        ----------
        change : float
            The number.

        Returns
        -------
        Calibration
            Gives the same results for `change · V` as this one for V.
        """
        return Calibration(self.factor / change, self.power, self.center * change)


IDENTITY = Calibration(factor=1.0, power=1.0, center=1.0)


def calibrate(z: ArrayLike, variance: ArrayLike) -> Calibration:
    """Fit a calibration to the residuals of labels that the prediction has not seen.

    The factor makes the calibrated variance the prognostic one, equation (6), of the fitted Student's t.

    Parameters
    ----------
    z : array-like of shape (n_samples,)
        Residuals, label minus predicted mean.
    variance : array-like of shape (n_samples,)
        Predicted variances.

    Returns
    -------
    Calibration
        The map from predicted to calibrated variances.

    Raises
    ------
    ValueError
        If there are fewer than 10 residuals, or if more than half of them are exactly 0.
    """
    fit = _fitted(z, variance)
    alpha = exp(fit.log_alpha)
    prognostic = float(student.prognostic_variance(alpha, alpha * exp(2 * fit.offset)))  # σ = α·scale²
    return Calibration(prognostic / fit.center, fit.slope, fit.center)


def log_density(z: ArrayLike, variance: ArrayLike) -> FloatArray:
    """Log density of each residual under the Student's t that `calibrate` fits to all of them.

    Parameters
    ----------
    z : array-like of shape (n_samples,)
        Residuals, label minus predicted mean.
    variance : array-like of shape (n_samples,)
        Predicted variances.

    Returns
    -------
    ndarray of shape (n_samples,)
        Log densities.

    Raises
    ------
    ValueError
        If there are fewer than 10 residuals, or if more than half of them are exactly 0.
    """
    fit = _fitted(z, variance)
    log_s = fit.offset + fit.slope * fit.log_scale
    alpha = exp(fit.log_alpha)
    at = student.ratios(np.asarray(z, dtype=np.float64) * exp(-log_s), alpha)
    return np.asarray(-student.negative_log(at, alpha, alpha) - log_s)


class _Fitted(NamedTuple):
    """Scales exp(offset + slope·log_scale) of a Student's t with 2α degrees of freedom."""

    offset: float
    slope: float
    log_alpha: float
    center: float
    log_scale: FloatArray


def _fitted(z: ArrayLike, variance: ArrayLike) -> _Fitted:
    z, variance = np.asarray(z, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if z.shape != variance.shape or z.size < 10:
        raise ValueError(
            f"need residuals and variances of one shape, at least 10; got {z.shape}, {variance.shape}"
        )
    center = float(exp(np.median(log(variance))))
    log_scale = 0.5 * log(variance / center)
    spread = 1.4826 * float(np.median(np.abs(z)))
    if spread == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to calibrate")
    start = np.array([log(spread), 0.7, 0.0])
    found = optimum(_loss, start, (z, log_scale), bounds=[(None, None), (0.0, 1.5), _LOG_ALPHAS], tol=_TOL)
    offset, slope, log_alpha = found.tolist()
    return _Fitted(offset, slope, log_alpha, center, log_scale)


def added_variance(z: ArrayLike, variance: ArrayLike, gaps: ArrayLike) -> FloatArray:
    """Estimate what filled-in inputs add to the variance of each residual.

    This is Σ_j s_j² over the columns j that are missing in a row. The s_j² ≥ 0, one per column, are those under which
    the residuals fit best to Student's t with squared scales proportional to V + Σ_j s_j², and one α for all rows. So
    wrong labels among rows with gaps do not widen them. The prior density of ln s_j² falls like 1/(1 + s_j²/V), so that
    a column that does not matter adds little. Columns missing in fewer than ten rows are joined into one, which adds
    nothing if it has fewer than ten rows itself: a single wrong label must not be explained by a gap of its own.

    Parameters
    ----------
    z : array-like of shape (n_samples,)
        Residuals of labels that the prediction has not seen.
    variance : array-like of shape (n_samples,)
        The model's variance V of each label, correct up to a common factor.
    gaps : array-like of bool, of shape (n_samples, n_features)
        True where a cell was missing.

    Returns
    -------
    ndarray of shape (n_samples,)
        The variance to add; 0 for rows without gaps.

    Raises
    ------
    ValueError
        If the shapes do not agree, or if more than half of the residuals are exactly 0.
    """
    z, V = np.asarray(z, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    M = np.asarray(gaps, dtype=np.float64)
    if M.ndim != 2 or z.shape != M.shape[:1] or z.shape != V.shape or not z.size:
        raise ValueError(
            f"need a variance and a row of gaps for each residual; got shapes {V.shape} and {M.shape} for {z.shape}"
        )
    M = _common(M)
    squares = z * z / V
    middle = float(np.median(squares))
    if middle == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to compare")
    center = float(exp(np.median(log(V))))
    first = [log(max(float(np.median(squares[gap > 0])) / middle - 1, 0.1)) for gap in M.T]
    start = np.array([0.5 * log(middle / MEDIAN_CHI2 * center), 0.0, *np.clip(first, *_ADDED)])
    bounds = [(None, None), _LOG_ALPHAS, *[_ADDED] * M.shape[1]]
    found = optimum(_gap_loss, start, (z, V / center, M), bounds=bounds, tol=_TOL)
    added: FloatArray = center * (M * exp(found[2:])).sum(axis=1)
    return added


def _common(M: FloatArray) -> FloatArray:
    """The columns with enough gaps to learn from, the others joined into one."""
    rare = M.sum(axis=0) < _LEAST_GAPS
    M = np.column_stack([M[:, ~rare], M[:, rare].any(axis=1)])
    return M[:, M.sum(axis=0) >= _LEAST_GAPS]


def _gap_loss(at: FloatArray, z: FloatArray, v: FloatArray, M: FloatArray) -> tuple[float, FloatArray]:
    """Sum of −ln t and −ln prior, over n, and its gradient, for squared scales e^{2·offset}(v + M·e^d)."""
    offset, log_alpha, s2 = at[0], at[1], exp(at[2:])
    total = v + (M * s2).sum(axis=1)
    value, pull, by_log_alpha = _student_loss(z, offset + 0.5 * log(total), log_alpha)
    by_d = (0.5 * s2 * (M.T * (pull / total)).sum(axis=1) + s2 / (1 + s2)) / len(z)
    return value + float(log1p(s2).sum()) / len(z), np.array([pull.mean(), by_log_alpha, *by_d])


def _loss(at: FloatArray, z: FloatArray, log_scale: FloatArray) -> tuple[float, FloatArray]:
    """Mean −ln t and its gradient, for scales exp(offset + power·log_scale)."""
    offset, slope, log_alpha = at
    value, pull, by_log_alpha = _student_loss(z, offset + slope * log_scale, log_alpha)
    return value, np.array([pull.mean(), (pull * log_scale).mean(), by_log_alpha])


def _student_loss(z: FloatArray, log_s: FloatArray, log_alpha: float) -> tuple[float, FloatArray, float]:
    """Mean −ln t for σ = α·scale²; its derivatives by each logarithm of a scale (n-fold), and by ln α."""
    alpha = exp(log_alpha)
    at = student.ratios(z * exp(-log_s), alpha)
    value = student.negative_log(at, alpha, alpha).mean() + log_s.mean()
    return float(value), student.by_log_scale(at, alpha), float(student.by_log_alpha(at, alpha).mean())
