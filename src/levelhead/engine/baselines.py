"""The losses of other methods, for comparison: see `levelhead.losses.baselines` for what they are.

One function for one sample and one call of `register` each. `beta_nll` and `faithful` return the gradients of their
papers, which are not the derivatives of the value.
"""

import numpy as np

from levelhead.engine._math import exp, log, sigmoid, softplus
from levelhead.engine.objectives import Objective, gaussian_sample, gcp_sample, register, student_terms

F = np.float32
_ZERO, _HALF, _ONE, _TWO = F(0), F(0.5), F(1), F(2)
_LOG_TWO_PI = F(1.8378770664093453)
_Terms = tuple[F, F, F, F, F]


def beta_nll(beta: float, *, variance_floor: float = 0.0) -> Objective:
    """β-NLL (Seitzer et al. 2022); outputs μ, V.

    Parameters
    ----------
    beta : float
        β from 0 to 1.
    variance_floor : float, default=0.0
        Added to the softplus of V.

    Returns
    -------
    Objective
        For networks with two outputs.

    Raises
    ------
    ValueError
        If β is not between 0 and 1.
    """
    if not 0 <= beta <= 1:
        raise ValueError(f"beta is {beta}; it must be from 0 to 1")
    return _BETA_NLL(beta, variance_floor)


def faithful(*, variance_floor: float = 0.0) -> Objective:
    """Faithful heteroscedastic regression (Stirn et al. 2023); outputs μ, V, best with one trunk each.

    Parameters
    ----------
    variance_floor : float, default=0.0
        Added to the softplus of V.

    Returns
    -------
    Objective
        For networks with two outputs.
    """
    return _FAITHFUL(variance_floor)


def natural(*, precision_floor: float = 0.0) -> Objective:
    """The Gaussian likelihood in natural parameters (Immer et al. 2023); outputs μ/V and 1/V.

    Parameters
    ----------
    precision_floor : float, default=0.0
        Added to the softplus of 1/V.

    Returns
    -------
    Objective
        For networks with two outputs.
    """
    return _NATURAL(precision_floor)


def evidential(penalty: float, *, beta_floor: float = 0.0) -> Objective:
    """Deep evidential regression (Amini et al. 2020); outputs m, ν, α, β with α > 1.

    Parameters
    ----------
    penalty : float
        Weight of |y − m|(2ν + α), at least 0.
    beta_floor : float, default=0.0
        Added to the softplus of β.

    Returns
    -------
    Objective
        For networks with four outputs.
    """
    return _EVIDENTIAL(penalty, beta_floor)


def huber(k: float, *, variance_floor: float = 0.0) -> Objective:
    """−ln of Huber's density up to a constant, Gaussian within k scales; outputs location and squared scale.

    Parameters
    ----------
    k : float
        Where the exponential tails begin, in units of the scale.
    variance_floor : float, default=0.0
        Added to the softplus of the squared scale.

    Returns
    -------
    Objective
        For networks with two outputs.

    Raises
    ------
    ValueError
        If k is not positive.
    """
    if not 0 < k < np.inf:
        raise ValueError(f"k is {k}; it must be a positive number")
    return _HUBER(k, variance_floor)


def fixed_student(alpha: float, *, sigma_floor: float = 0.0) -> Objective:
    """−ln of Student's t with 2α degrees of freedom, which are given; outputs m, σ.

    Parameters
    ----------
    alpha : float
        Half the degrees of freedom.
    sigma_floor : float, default=0.0
        Added to the softplus of σ.

    Returns
    -------
    Objective
        For networks with two outputs.

    Raises
    ------
    ValueError
        If α is not positive.
    """
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha is {alpha}; it must be a positive number")
    return _FIXED_STUDENT(alpha, sigma_floor)


def _beta_nll(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    value, by_mu, by_variance, _, _ = gaussian_sample(y, o0, o1, o2, o3, (c[1], _ZERO))
    weight = exp(c[0] * log(softplus(o1) + c[1]))  # V^β, a constant in the gradient
    return weight * value, weight * by_mu, weight * by_variance, _ZERO, _ZERO


def _faithful(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    value, _, by_variance, _, _ = gaussian_sample(y, o0, o1, o2, o3, c)
    z = y - o0
    return value + _HALF * z * z, -z, by_variance, _ZERO, _ZERO


def _natural(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    precision = softplus(o1) + c[0]
    mu = o0 / precision
    z = y - mu
    value = _HALF * (_LOG_TWO_PI - log(precision) + precision * z * z)
    by_precision = _HALF * (z * (y + mu) - _ONE / precision) * sigmoid(o1)
    return value, -z, by_precision, _ZERO, _ZERO


def _evidential(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    value, by_m, by_nu, by_alpha, by_beta = gcp_sample(y, o0, o1, o2, o3, (_ONE, c[1]))
    z = y - o0
    size = c[0] * abs(z)
    evidence = _TWO * softplus(o1) + softplus(o2) + _ONE  # 2ν + α
    pull = c[0] * evidence
    by_m -= pull if z > _ZERO else -pull if z < _ZERO else _ZERO
    return (
        value + size * evidence,
        by_m,
        by_nu + _TWO * size * sigmoid(o1),
        by_alpha + size * sigmoid(o2),
        by_beta,
    )


def _huber(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    k = c[0]
    variance = softplus(o1) + c[1]
    scale = F(np.sqrt(variance))
    r = (y - o0) / scale
    psi = k if r > k else -k if r < -k else r
    value = psi * (r - _HALF * psi) + _HALF * log(variance)
    return value, -psi / scale, _HALF * (_ONE - psi * r) / variance * sigmoid(o1), _ZERO, _ZERO


def _fixed_student(y: F, o0: F, o1: F, o2: F, o3: F, c: tuple[F, F]) -> _Terms:
    sigma = softplus(o1) + c[1]
    value, by_m, _, h = student_terms(y - o0, c[0], _TWO * sigma)
    return value, by_m, -h / sigma * sigmoid(o1), _ZERO, _ZERO


_BETA_NLL = register("beta_nll", _beta_nll, 2)
_FAITHFUL = register("faithful", _faithful, 2)
_NATURAL = register("natural", _natural, 2)
_EVIDENTIAL = register("evidential", _evidential, 4)
_HUBER = register("huber", _huber, 2)
_FIXED_STUDENT = register("fixed_student", _fixed_student, 2)
