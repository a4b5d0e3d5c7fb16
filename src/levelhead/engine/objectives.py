"""The losses that the engine trains on: for each, one function with the value and gradient of one sample.

They take raw network outputs and apply the links of `levelhead.losses` themselves: the first output is the
location, each further one passes through softplus and has its floor added. A new loss is one function below,
its code, its branch in `sample_losses`, and a factory that says which constants it takes.
"""

from dataclasses import dataclass

import numpy as np

from levelhead.engine._jit import inline, leaf
from levelhead.engine._math import delta_psi, exp, log, log1p_square, log_gamma_ratio, sigmoid, softplus
from levelhead.engine._simd import BLOCK
from levelhead.engine._types import Float32

F = np.float32
_ZERO, _HALF, _ONE, _TWO = F(0), F(0.5), F(1), F(2)
_LOG_PI, _LOG_TWO_PI = F(1.1447298858494002), F(1.8378770664093453)
_FAR = F(1e18)  # beyond it r² would overflow, and the gradient is 0

GCP, GAUSSIAN, BETA, GAMMA, BETA_LOCATION = range(5)
MAX_OUTPUTS = 4
_MAX_CONSTANTS = 2
_Terms = tuple[F, F, F, F, F]  # value and its derivatives


@dataclass(frozen=True)
class Objective:
    """A loss of the engine: its code, the number of outputs it reads, and its constants.

    Parameters
    ----------
    name : str
        Its name.
    code : int
        The number by which the kernels choose it.
    n_outputs : int
        Number of network outputs.
    constants : tuple of float
        At most two numbers, none negative.

    Raises
    ------
    ValueError
        If a constant is negative or infinite.
    """

    name: str
    code: int
    n_outputs: int
    constants: tuple[float, ...]

    def __post_init__(self) -> None:
        for value in self.constants:
            if not 0 <= value < np.inf:
                raise ValueError(
                    f"{self.name}: the constants are {self.constants}; none may be negative or infinite"
                )

    def packed(self) -> Float32:
        """Return the constants as the kernels read them.

        Returns
        -------
        ndarray of float32
            The constants, padded with zeros.
        """
        packed = np.zeros(_MAX_CONSTANTS, dtype=np.float32)
        packed[: len(self.constants)] = self.constants
        return packed


def gcp(*, alpha_floor: float = 0.1, beta_floor: float = 0.0) -> Objective:
    """The GCP loss −ln t; outputs m, ν, α, β.

    Parameters
    ----------
    alpha_floor : float, default=0.1
        Added to the softplus of α.
    beta_floor : float, default=0.0
        Added to the softplus of β.

    Returns
    -------
    Objective
        For networks with four outputs.
    """
    return Objective("gcp", GCP, 4, (alpha_floor, beta_floor))


def gaussian(*, variance_floor: float = 0.0) -> Objective:
    """The Gaussian negative log-likelihood; outputs μ, V.

    Parameters
    ----------
    variance_floor : float, default=0.0
        Added to the softplus of V.

    Returns
    -------
    Objective
        For networks with two outputs.
    """
    return Objective("gaussian", GAUSSIAN, 2, (variance_floor,))


def beta(beta: float, *, variance_floor: float = 0.0) -> Objective:
    """The β-divergence to N(μ, V); outputs μ, V.

    Parameters
    ----------
    beta : float
        β > 0.
    variance_floor : float, default=0.0
        Added to the softplus of V.

    Returns
    -------
    Objective
        For networks with two outputs.
    """
    return Objective("beta", BETA, 2, (_positive("beta", beta), variance_floor))


def gamma(gamma: float, *, variance_floor: float = 0.0) -> Objective:
    """The γ-divergence to N(μ, V); outputs μ, V.

    Parameters
    ----------
    gamma : float
        γ > 0.
    variance_floor : float, default=0.0
        Added to the softplus of V.

    Returns
    -------
    Objective
        For networks with two outputs.
    """
    return Objective("gamma", GAMMA, 2, (_positive("gamma", gamma), variance_floor))


def beta_location(beta: float, *, std: float) -> Objective:
    """The β-divergence to N(μ, std²) with a given std, without its constant term; output μ.

    Parameters
    ----------
    beta : float
        β > 0.
    std : float
        Standard deviation of the labels.

    Returns
    -------
    Objective
        For networks with one output.
    """
    return Objective("beta_location", BETA_LOCATION, 1, (_positive("beta", beta), _positive("std", std)))


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value}; it must be a positive number")
    return float(value)


@inline
def _gcp(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    nu = softplus(o1)
    alpha = softplus(o2) + c[0]
    beta = softplus(o3) + c[1]
    two_sigma = _TWO * beta * (nu + _ONE) / nu  # eq. (4)
    root = F(np.sqrt(two_sigma))
    r = (y - o0) / root
    size = abs(r)
    near_r = _FAR if size > _FAR else size
    near = _ONE / (_ONE + near_r * near_r)  # 2σ/(2σ + z²)
    far = near_r * near_r * near  # z²/(2σ + z²)
    h = alpha * far - _HALF * near  # (αz² − σ)/(2σ + z²)
    logarithm = log1p_square(r)
    value = _HALF * _LOG_PI + log(root) - log_gamma_ratio(alpha) + (alpha + _HALF) * logarithm
    by_m = -(_TWO * alpha + _ONE) * (near_r * near) / root
    by_m = by_m if r > _ZERO else -by_m
    by_nu = h / (nu * (nu + _ONE)) * sigmoid(o1)
    by_alpha = (logarithm + delta_psi(alpha)) * sigmoid(o2)
    by_beta = -h / beta * sigmoid(o3)
    return value, by_m, by_nu, by_alpha, by_beta


@inline
def _gaussian(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    variance = softplus(o1) + c[0]
    z = y - o0
    by_mu = -z / variance
    z2 = -z * by_mu
    value = _HALF * (_LOG_TWO_PI + log(variance) + z2)
    by_variance = (_HALF - _HALF * z2) / variance * sigmoid(o1)
    return value, by_mu, by_variance, _ZERO, _ZERO


@inline
def _beta(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    b = c[0]
    variance = softplus(o1) + c[1]
    z = y - o0
    z2 = z * (z / variance)
    log_peak = -_HALF * b * (_LOG_TWO_PI + log(variance))
    power = exp(log_peak - _HALF * b * z2)  # p(y)^β
    integral = exp(log_peak) / F(np.sqrt(_ONE + b))  # ∫ p^(1+β)
    value = -(_ONE + b) / b * power + integral
    pull = (_ONE + b) * power
    by_mu = -pull * (z / variance)
    by_variance = -_HALF * (pull * z2 - pull + b * integral) / variance * sigmoid(o1)
    return value, by_mu, by_variance, _ZERO, _ZERO


@inline
def _gamma(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    g = c[0]
    kappa = g / (_ONE + g)
    variance = softplus(o1) + c[1]
    z = y - o0
    z2 = z * (z / variance)
    log_peak = -_HALF * kappa * (_LOG_TWO_PI + log(variance) - log(_ONE + g))
    power = exp(log_peak - _HALF * g * z2)
    pull = (_ONE + g) * power
    by_mu = -pull * (z / variance)
    by_variance = _HALF * (power - pull * z2) / variance * sigmoid(o1)
    return -power / kappa, by_mu, by_variance, _ZERO, _ZERO


@inline
def _beta_location(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    b, std = c[0], c[1]
    z = (y - o0) / std
    power = exp(-_HALF * b * (_LOG_TWO_PI + _TWO * log(std) + z * z))
    pull = (_ONE + b) * power
    return -pull / b, -pull * (z / std), _ZERO, _ZERO, _ZERO


@leaf
def sample_losses(
    code: int, constants: Float32, y: Float32, n: int, out: Float32, value: Float32, grad: Float32
) -> None:
    """Value and gradient of n samples; output k of sample i is out[k·BLOCK + i], its derivative likewise."""
    c = (constants[0], constants[1])
    if code == GCP:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], grad[2 * BLOCK + i], grad[3 * BLOCK + i] = _gcp(
                y[i], out[i], out[BLOCK + i], out[2 * BLOCK + i], out[3 * BLOCK + i], c
            )
    elif code == GAUSSIAN:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], _, _ = _gaussian(
                y[i], out[i], out[BLOCK + i], _ZERO, _ZERO, c
            )
    elif code == BETA:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], _, _ = _beta(y[i], out[i], out[BLOCK + i], _ZERO, _ZERO, c)
    elif code == GAMMA:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], _, _ = _gamma(y[i], out[i], out[BLOCK + i], _ZERO, _ZERO, c)
    else:
        for i in range(n):
            value[i], grad[i], _, _, _ = _beta_location(y[i], out[i], _ZERO, _ZERO, _ZERO, c)
