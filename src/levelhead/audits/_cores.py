"""Shapes of clean noise: densities on the bins, with derivatives by their parameters, for many parameters at once.

Two families, both skewed and with tails of any weight that leaves a usable variance. `TwoPiece` has a scale and a tail
on each side of its mode and a sharp, round or flat top. `JohnsonSU` is a sinh of a normal variable, whose tails are
those of a log-normal.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._bins import LOG_WIDTHS, X, asinh
from levelhead.theory.elementary import exp, log, log1p

FloatArray = NDArray[np.float64]

LARGEST_TAIL = 1 / 3  # 1/degrees of freedom: fewer than three have no usable variance
_SMALLEST_TAIL = 0.002
_NORMAL_TOP = float(log(2.0))
_TINY_X = 1e-12


class Core(ABC):
    """A family of densities of clean noise.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_parameters,)
        Bounds of the parameters.
    starts : sequence of (float, sequence of float)
        Points to start from, each with the scale of the backgrounds that go with it.
    """

    lower: FloatArray
    upper: FloatArray
    starts: Sequence[tuple[float, Sequence[float]]]

    @abstractmethod
    def log_kernel(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log density up to a constant, shape (m, bins), and its derivatives, shape (m, parameters, bins)."""

    @abstractmethod
    def penalty(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Penalty on unusual shapes in units of log likelihood: value, gradient, diagonal of the second derivative."""

    @abstractmethod
    def tail(self, at: FloatArray) -> float:
        """1/degrees of freedom of the heavier tail of one member."""

    def masses(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Share of each bin, shape (m, bins), and the derivatives of its logarithm, shape (m, parameters, bins)."""
        kernel, slopes = self.log_kernel(at)
        kernel = kernel + LOG_WIDTHS
        mass = exp(kernel - kernel.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        slopes -= (slopes * mass[:, None, :]).sum(axis=2, keepdims=True)
        return mass, slopes


class TwoPiece(Core):
    """Generalised Student's t with its own scale and tail on each side.

    ln f = −(1/t + 1)/q · ln(1 + t |y|^q) + constant, y = (x − m)/scale. q = 2 is Student's t with 1/t degrees of
    freedom, t → 0 the normal distribution; q = 1, t → 0 is that of Laplace, q = 4 has a flat top.
    Parameters: m, ln of the mean scale, half the log ratio of right and left scale, left tail, right tail, ln q.
    """

    lower = np.array([-1.5, -2.5, -2.5, _SMALLEST_TAIL, _SMALLEST_TAIL, 0.0])
    upper = np.array([1.5, 1.2, 2.5, LARGEST_TAIL, LARGEST_TAIL, 2 * _NORMAL_TOP])
    starts: Sequence[tuple[float, Sequence[float]]] = (
        (1.0, (0.0, 0.0, 0.0, 0.02, 0.02, _NORMAL_TOP)),
        (1.0, (0.0, 0.0, 0.0, 0.15, 0.15, _NORMAL_TOP)),
        (1.0, (0.0, 0.0, 0.0, 0.3, 0.3, _NORMAL_TOP)),
        (1.0, (-0.3, -0.2, 0.6, 0.1, 0.2, _NORMAL_TOP)),
        (1.0, (0.3, -0.2, -0.6, 0.2, 0.1, _NORMAL_TOP)),
        (0.6, (0.0, -0.5, 0.0, 0.05, 0.05, _NORMAL_TOP)),
    )

    def log_kernel(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log density up to a constant, and its derivatives."""
        mode, log_scale, skew, left, right, log_top = (at[:, i : i + 1] for i in range(6))
        d = X - mode
        side = np.where(d >= 0, 1.0, -1.0)
        t = np.where(d >= 0, right, left)
        top = exp(log_top)
        magnitude = np.maximum(np.abs(d), _TINY_X)
        log_y = log(magnitude) - log_scale - side * skew
        raised = exp(top * log_y)
        inner = log1p(t * raised)
        power = (1 / t + 1) / top
        share = t * raised / (1 + t * raised)
        by_log_y = -power * share * top
        by_tail = inner / (top * t * t) - power * share / t
        slopes = np.stack(
            [
                -by_log_y * side / magnitude,
                -by_log_y,
                -by_log_y * side,
                np.where(d >= 0, 0.0, by_tail),
                np.where(d >= 0, by_tail, 0.0),
                power * inner + by_log_y * log_y,
            ],
            axis=1,
        )
        return -power * inner, slopes

    def penalty(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Symmetric noise with normal tails and a normal top, until there is evidence."""
        from_normal = at[:, 5] - _NORMAL_TOP
        value = 0.5 * at[:, 2] ** 2 + 3 * (at[:, 3] + at[:, 4]) + 2 * from_normal**2
        gradient, curvature = np.zeros_like(at), np.zeros_like(at)
        gradient[:, 2], curvature[:, 2] = at[:, 2], 1.0
        gradient[:, 3:5] = 3.0
        gradient[:, 5], curvature[:, 5] = 4 * from_normal, 4.0
        return value, gradient, curvature

    def tail(self, at: FloatArray) -> float:
        """1/degrees of freedom of the heavier tail."""
        heavier = float(max(at[3], at[4]))
        return heavier if heavier > 2 * _SMALLEST_TAIL else 0.0


class SkewedNormal(TwoPiece):
    """A normal density on each side of the mode: `TwoPiece` with the lightest tails and a normal top."""

    lower = np.array([-1.5, -2.5, -2.5, _SMALLEST_TAIL, _SMALLEST_TAIL, _NORMAL_TOP])
    upper = np.array([1.5, 1.2, 2.5, _SMALLEST_TAIL, _SMALLEST_TAIL, _NORMAL_TOP])
    starts = (
        (1.0, (0.0, 0.0, 0.0, _SMALLEST_TAIL, _SMALLEST_TAIL, _NORMAL_TOP)),
        (0.6, (0.0, -0.5, 0.0, _SMALLEST_TAIL, _SMALLEST_TAIL, _NORMAL_TOP)),
    )


class JohnsonSU(Core):
    """γ + δ asinh((x − ξ)/λ) is a unit normal variable. Parameters: γ, ln δ, ξ, ln λ."""

    lower = np.array([-8.0, -0.1, -4.0, -4.0])
    upper = np.array([8.0, 2.0, 4.0, 2.5])
    starts = (
        (1.0, (0.0, 1.5, 0.0, 1.5)),
        (1.0, (0.0, 0.7, 0.0, 0.5)),
        (1.0, (0.0, 0.3, 0.0, 0.1)),
        (1.0, (-1.0, 0.3, -0.3, -0.5)),
        (1.0, (1.0, 0.3, 0.3, -0.5)),
        (0.6, (0.0, 1.2, 0.0, 0.7)),
    )

    def log_kernel(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log density up to a constant, and its derivatives."""
        gamma, log_delta, xi, log_lambda = (at[:, i : i + 1] for i in range(4))
        delta, inverse = exp(log_delta), exp(-log_lambda)
        y = (X - xi) * inverse
        bent = asinh(y)
        z = gamma + delta * bent
        square = 1 + y * y
        by_y = -y / square - z * delta / np.sqrt(square)
        slopes = np.stack([-z, -z * delta * bent, -by_y * inverse, -by_y * y], axis=1)
        return -0.5 * log(square) - 0.5 * z * z, slopes

    def penalty(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Symmetric noise, until there is evidence."""
        gradient, curvature = np.zeros_like(at), np.zeros_like(at)
        gradient[:, 0], curvature[:, 0] = 0.1 * at[:, 0], 0.1
        return 0.05 * at[:, 0] ** 2, gradient, curvature

    def tail(self, at: FloatArray) -> float:
        """1/degrees of freedom of the Student's t with the kurtosis of the symmetric member."""
        squared = float(exp(2 * exp(-2 * at[1])))  # ω² = exp(2/δ²)
        excess = 0.5 * (squared * squared + 2 * squared - 3)
        return excess / (6 + 4 * excess)


CORES: tuple[Core, ...] = (TwoPiece(), JohnsonSU())
LIGHTEST: Core = SkewedNormal()
