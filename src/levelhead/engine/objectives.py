"""The losses that the engine trains on: for each, one function with the value and gradient of one sample.

They take raw network outputs and apply the links of `levelhead.losses` themselves: the first output is the location,
each further one passes through softplus and has its floor added. A new loss is a function and a call of `register`,
here or in a file of its own; see `tests/engine/new_loss.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelhead.engine import _jit
from levelhead.engine._jit import inline, leaf, part
from levelhead.engine._math import delta_psi, exp, log, log1p_square, log_gamma_ratio, sigmoid, softplus
from levelhead.engine._simd import BLOCK
from levelhead.engine._types import Float32

F = np.float32
_ZERO, _HALF, _ONE, _TWO = F(0), F(0.5), F(1), F(2)
_LOG_PI, _LOG_TWO_PI = F(1.1447298858494002), F(1.8378770664093453)
_FAR = F(1e18)  # beyond it r² would overflow, and the gradient is 0

MAX_OUTPUTS = 4
_MAX_CONSTANTS = 2
_Terms = tuple[F, F, F, F, F]  # value and its derivatives
_Sample = Callable[[F, F, F, F, F, tuple[F, F]], _Terms]


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
    return _GCP(alpha_floor, beta_floor)


def gcp_direct(*, alpha_floor: float = 0.1, sigma_floor: float = 0.0) -> Objective:
    """The GCP loss −ln t with three outputs m, α, σ: the parameters of Student's t itself.

    Parameters
    ----------
    alpha_floor : float, default=0.1
        Added to the softplus of α.
    sigma_floor : float, default=0.0
        Added to the softplus of σ.

    Returns
    -------
    Objective
        For networks with three outputs.
    """
    return _GCP_DIRECT(alpha_floor, sigma_floor)


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
    return _GAUSSIAN(variance_floor)


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
    return _BETA(_positive("beta", beta), variance_floor)


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
    return _GAMMA(_positive("gamma", gamma), variance_floor)


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
    return _BETA_LOCATION(_positive("beta", beta), _positive("std", std))


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value}; it must be a positive number")
    return float(value)


@inline
def student_terms(z: F, alpha: F, two_sigma: F) -> tuple[F, F, F, F]:
    """−ln t of a residual z, its derivatives by m and α, and h = (αz² − σ)/(2σ + z²)."""
    root = F(np.sqrt(two_sigma))
    r = z / root
    size = abs(r)
    near_r = _FAR if size > _FAR else size
    near = _ONE / (_ONE + near_r * near_r)  # 2σ/(2σ + z²)
    far = near_r * near_r * near  # z²/(2σ + z²)
    h = alpha * far - _HALF * near
    logarithm = log1p_square(r)
    value = _HALF * _LOG_PI + log(root) - log_gamma_ratio(alpha) + (alpha + _HALF) * logarithm
    by_m = -(_TWO * alpha + _ONE) * (near_r * near) / root
    by_m = by_m if r > _ZERO else -by_m
    return value, by_m, logarithm + delta_psi(alpha), h


def _gcp(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    nu = softplus(o1)
    alpha = softplus(o2) + c[0]
    beta = softplus(o3) + c[1]
    two_sigma = _TWO * beta * (nu + _ONE) / nu  # eq. (4)
    value, by_m, by_alpha, h = student_terms(y - o0, alpha, two_sigma)
    by_nu = h / (nu * (nu + _ONE)) * sigmoid(o1)
    return value, by_m, by_nu, by_alpha * sigmoid(o2), -h / beta * sigmoid(o3)


def _gcp_direct(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    alpha = softplus(o1) + c[0]
    sigma = softplus(o2) + c[1]
    value, by_m, by_alpha, h = student_terms(y - o0, alpha, _TWO * sigma)
    return value, by_m, by_alpha * sigmoid(o1), -h / sigma * sigmoid(o2), _ZERO


def _gaussian(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    variance = softplus(o1) + c[0]
    z = y - o0
    by_mu = -z / variance
    z2 = -z * by_mu
    value = _HALF * (_LOG_TWO_PI + log(variance) + z2)
    by_variance = (_HALF - _HALF * z2) / variance * sigmoid(o1)
    return value, by_mu, by_variance, _ZERO, _ZERO


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


def _beta_location(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    b, std = c[0], c[1]
    z = (y - o0) / std
    power = exp(-_HALF * b * (_LOG_TWO_PI + _TWO * log(std) + z * z))
    pull = (_ONE + b) * power
    return -pull / b, -pull * (z / std), _ZERO, _ZERO, _ZERO


def _loop(function: _Sample, n_outputs: int) -> Any:
    """The loss of n samples; output k of sample i is out[k·BLOCK + i], its derivative likewise."""

    def one(c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32) -> None:
        for i in range(n):
            value[i], grad[i], _, _, _ = function(y[i], out[i], _ZERO, _ZERO, _ZERO, c)

    def two(c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32) -> None:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], _, _ = function(y[i], out[i], out[BLOCK + i], _ZERO, _ZERO, c)

    def three(c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32) -> None:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], grad[2 * BLOCK + i], _ = function(
                y[i], out[i], out[BLOCK + i], out[2 * BLOCK + i], _ZERO, c
            )

    def four(c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32) -> None:
        for i in range(n):
            value[i], grad[i], grad[BLOCK + i], grad[2 * BLOCK + i], grad[3 * BLOCK + i] = function(
                y[i], out[i], out[BLOCK + i], out[2 * BLOCK + i], out[3 * BLOCK + i], c
            )

    return leaf({1: one, 2: two, 3: three, 4: four}[n_outputs])


def _before(code: int, loop: Any, others: Any) -> Any:
    """The loss of this code, or one of the others."""

    def chosen(
        wanted: int, c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32
    ) -> None:
        if wanted == code:
            loop(c, y, n, out, value, grad)
        else:
            others(wanted, c, y, n, out, value, grad)

    return part(chosen)


@leaf
def _unknown(
    wanted: int, c: tuple[F, F], y: Float32, n: int, out: Float32, value: Float32, grad: Float32
) -> None:
    for i in range(n):
        value[i] = F(np.nan)


@leaf
def sample_losses(
    code: int, constants: Float32, y: Float32, n: int, out: Float32, value: Float32, grad: Float32
) -> None:
    """Value and gradient of n samples by the loss of this code."""
    _any_loss(code, (constants[0], constants[1]), y, n, out, value, grad)


_any_loss: Any = _unknown
_names: list[str] = []


def register(name: str, function: _Sample, n_outputs: int) -> Callable[..., Objective]:
    """Add a loss to the engine; call it before the first network is trained.

    Parameters
    ----------
    name : str
        Its name.
    function : callable
        The loss of one sample in float32, called with (y, o0, o1, o2, o3, c): label, raw outputs (0 beyond
        `n_outputs`) and the pair of constants. It returns the value and its derivatives by the four outputs.
    n_outputs : {1, 2, 3, 4}
        Number of outputs that it reads.

    Returns
    -------
    callable
        Takes up to two constants and returns the `Objective`.

    Raises
    ------
    ValueError
        If the name is in use, or there may not be so many outputs.
    RuntimeError
        If kernels have been compiled or loaded already, which contain the losses known at that time.
    """
    global _any_loss
    if name in _names or n_outputs not in (1, 2, 3, 4):
        raise ValueError(
            f"cannot register {name!r} with {n_outputs} outputs: give a new name and 1 to 4 outputs"
        )
    code = len(_names)
    _jit.add_source(function)
    _any_loss = _before(code, _loop(inline(function), n_outputs), _any_loss)
    _names.append(name)
    return lambda *constants: Objective(name, code, n_outputs, constants)


_GCP = register("gcp", _gcp, 4)
_GAUSSIAN = register("gaussian", _gaussian, 2)
_BETA = register("beta", _beta, 2)
_GAMMA = register("gamma", _gamma, 2)
_BETA_LOCATION = register("beta_location", _beta_location, 1)
_GCP_DIRECT = register("gcp_direct", _gcp_direct, 3)
gcp_sample, gaussian_sample = inline(_gcp), inline(_gaussian)  # parts of other losses
