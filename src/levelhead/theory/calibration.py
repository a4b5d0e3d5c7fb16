"""Makes variances honest: how the squared residuals of unseen labels really grow with a predicted variance.

Networks of finite size see their own training labels too well, and their local variances are noisy: too small
where they overfit, too large elsewhere. From residuals of predictions that have not seen the labels (out of
fold), `calibrate` learns `V ↦ factor · V^power`. It fits Student's t with one α for all rows, the GCP loss,
so that wrong labels among the residuals do no harm.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> truth = np.exp(rng.normal(size=4000))
>>> told = truth * np.exp(rng.normal(size=4000))  # half of what the model says is noise
>>> calibration = calibrate(np.sqrt(truth) * rng.normal(size=4000), told)
>>> bool(0.4 < calibration.power < 0.6)
True
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from levelhead.theory.special import alpha_minus_A, delta_psi, log_gamma_ratio

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The map V ↦ factor · (V/center)^power · center."""

    factor: float
    power: float
    center: float

    def __call__(self, variance: ArrayLike) -> FloatArray:
        """Calibrated variances."""
        relative = np.asarray(variance, dtype=np.float64) / self.center
        calibrated: FloatArray = self.factor * self.center * relative**self.power
        return calibrated

    def after(self, change: float) -> "Calibration":
        """The same calibration for variances that have since been multiplied by `change`."""
        return Calibration(self.factor / change, self.power, self.center * change)


IDENTITY = Calibration(factor=1.0, power=1.0, center=1.0)


def calibrate(z: ArrayLike, variance: ArrayLike) -> Calibration:
    """Fit the map to residuals z of labels that the prediction had not seen.

    The factor makes the calibrated variance the prognostic one, equation (6), of the fitted Student's t.
    """
    z, variance = np.asarray(z, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if z.shape != variance.shape or z.size < 10:
        raise ValueError(
            f"need residuals and variances of one shape, at least 10; got {z.shape}, {variance.shape}"
        )
    center = float(np.exp(np.median(np.log(variance))))
    log_scale = 0.5 * np.log(variance / center)
    spread = 1.4826 * float(np.median(np.abs(z)))
    if spread == 0:
        raise ValueError("more than half of the residuals are exactly 0: the noise has no width to calibrate")
    start = np.array([np.log(spread), 0.7, 0.0])
    bounds = [(None, None), (0.0, 1.5), (np.log(0.1), np.log(1e4))]
    found = minimize(_loss, start, args=(z, log_scale), method="L-BFGS-B", jac=True, bounds=bounds)
    offset, power, log_alpha = (float(v) for v in found.x)
    alpha = np.exp(log_alpha)
    prognostic = float(np.exp(2 * offset) * alpha / alpha_minus_A(alpha))  # σ/(α − A), as σ = α·scale²
    return Calibration(prognostic / center, power, center)


def _loss(at: FloatArray, z: FloatArray, log_scale: FloatArray) -> tuple[float, FloatArray]:
    """Mean −ln t and its gradient, for scales exp(offset + power·log_scale) and σ = α·scale²."""
    offset, power, log_alpha = at
    alpha = np.exp(log_alpha)
    log_s = offset + power * log_scale
    r = np.clip(z * np.exp(-log_s) / np.sqrt(2 * alpha), -1e150, 1e150)  # r² must not overflow
    squares = r * r
    far = squares / (1 + squares)
    tails = np.log1p(squares).mean()
    value = -log_gamma_ratio(alpha) + 0.5 * np.log(2 * np.pi * alpha) + log_s.mean() + (alpha + 0.5) * tails
    pull = 1 - (2 * alpha + 1) * far
    by_log_alpha = alpha * (delta_psi(alpha) + 0.5 / alpha + tails - (alpha + 0.5) * far.mean() / alpha)
    return float(value), np.array([pull.mean(), (pull * log_scale).mean(), float(by_log_alpha)])
