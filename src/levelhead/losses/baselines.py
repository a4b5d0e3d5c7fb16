"""Losses of newer and older methods that a robust network is compared with, in plain numpy.

| function | method | parameters |
|---|---|---|
| `beta_nll` | β-NLL (Seitzer et al. 2022): the likelihood of each label weighted by V^β, which has no gradient | μ, V |
| `faithful` | faithful heteroscedastic regression (Stirn et al. 2023): μ by least squares, V by likelihood | μ, V |
| `natural` | natural parametrisation (Immer et al. 2023): η = μ/V and the precision 1/V | η, precision |
| `evidential` | deep evidential regression (Amini et al. 2020): −ln t of GCP, plus a penalty on evidence | m, ν, α, β |
| `huber` | Huber's density: Gaussian within k standard deviations, exponential tails beyond | μ, V |
| `fixed_student` | Student's t with given degrees of freedom | m, σ |

The gradients of `beta_nll` and `faithful` are those of their papers, which stop some of them: they are not the
derivatives of the value.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from levelhead.losses.reference import (
    Loss,
    LossAndGradient,
    gaussian,
    positive,
    same_shape,
    student,
    student_direct,
)


def beta_nll(y: ArrayLike, mu: ArrayLike, variance: ArrayLike, *, beta: float) -> LossAndGradient:
    """V^β · (−ln N(y; μ, V)), with V^β as a constant in the gradient.

    β = 0 is the likelihood, β = 1 has the gradient of least squares in μ.

    Parameters
    ----------
    y : array-like
        Labels.
    mu : array-like of the same shape
        Means.
    variance : array-like of the same shape
        Variances V > 0.
    beta : float
        β from 0 to 1.

    Returns
    -------
    LossAndGradient
        Value, and gradient by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ or β is not between 0 and 1.
    """
    if not 0 <= beta <= 1:
        raise ValueError(f"beta is {beta}; it must be from 0 to 1")
    value, (by_mu, by_variance) = gaussian(y, mu, variance)
    weight = np.asarray(variance, dtype=np.float64) ** beta
    return LossAndGradient(weight * value, (weight * by_mu, weight * by_variance))


def faithful(y: ArrayLike, mu: ArrayLike, variance: ArrayLike) -> LossAndGradient:
    """½(y − μ)² − ln N(y; μ, V), with the gradient of the first term in μ and of the second in V.

    The mean is that of least squares, whatever the variance. With a shared trunk the method also stops the gradient of
    V there; networks with one trunk per output need no such rule.

    Parameters
    ----------
    y : array-like
        Labels.
    mu : array-like of the same shape
        Means.
    variance : array-like of the same shape
        Variances V > 0.

    Returns
    -------
    LossAndGradient
        Value, and gradient by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    value, (_, by_variance) = gaussian(y, mu, variance)
    z = np.asarray(y, dtype=np.float64) - np.asarray(mu, dtype=np.float64)
    return LossAndGradient(0.5 * z * z + value, (-z, by_variance))


def natural(y: ArrayLike, eta: ArrayLike, precision: ArrayLike) -> LossAndGradient:
    """−ln N(y; η/λ, 1/λ) as a function of η = μ/V and the precision λ = 1/V.

    Parameters
    ----------
    y : array-like
        Labels.
    eta : array-like of the same shape
        η = μ/V.
    precision : array-like of the same shape
        λ = 1/V > 0.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by η and λ.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y, eta, precision = same_shape(y=y, eta=eta, precision=precision)
    mu = eta / precision
    z = y - mu
    value = 0.5 * (np.log(2 * np.pi / precision) + precision * z * z)
    return LossAndGradient(value, (-z, 0.5 * (z * (y + mu) - 1 / precision)))


def evidential(
    y: ArrayLike, m: ArrayLike, nu: ArrayLike, alpha: ArrayLike, beta: ArrayLike, *, penalty: float
) -> LossAndGradient:
    """−ln t(y) + penalty · |y − m| · (2ν + α): deep evidential regression.

    The first term is the GCP loss: a normal-inverse-gamma prior has the same marginal as a normal-gamma one. The second
    grows with the residual, and so undoes the robustness of the first.

    Parameters
    ----------
    y : array-like
        Labels.
    m : array-like of the same shape
        Locations.
    nu : array-like of the same shape
        ν > 0.
    alpha : array-like of the same shape
        α > 1.
    beta : array-like of the same shape
        β > 0.
    penalty : float
        Weight of the penalty, at least 0.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by m, ν, α and β.

    Raises
    ------
    ValueError
        If the shapes differ or the penalty is negative.
    """
    if not penalty >= 0:
        raise ValueError(f"penalty is {penalty}; it must not be negative")
    value, (by_m, by_nu, by_alpha, by_beta) = student(y, m, nu, alpha, beta)
    y, m, nu, alpha = same_shape(y=y, m=m, nu=nu, alpha=alpha)
    z = y - m
    size, evidence = penalty * np.abs(z), 2 * nu + alpha
    return LossAndGradient(
        value + size * evidence,
        (by_m - penalty * np.sign(z) * evidence, by_nu + 2 * size, by_alpha + size, by_beta),
    )


def huber(y: ArrayLike, mu: ArrayLike, variance: ArrayLike, *, k: float) -> LossAndGradient:
    """−ln of Huber's density with location μ and scale √V, up to a constant: ρ(r) + ½ ln V, r = (y − μ)/√V.

    ρ(r) = r²/2 for |r| ≤ k and k|r| − k²/2 beyond. The constant depends on k only.

    Parameters
    ----------
    y : array-like
        Labels.
    mu : array-like of the same shape
        Locations.
    variance : array-like of the same shape
        Squared scales V > 0.
    k : float
        Where the tails begin, in units of the scale.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ or k is not positive.
    """
    y, mu, variance = same_shape(y=y, mu=mu, variance=variance)
    positive(k=k)
    scale = np.sqrt(variance)
    r = (y - mu) / scale
    psi = np.clip(r, -k, k)  # ρ′
    rho = psi * (r - psi / 2)
    value = rho + 0.5 * np.log(variance)
    return LossAndGradient(value, (-psi / scale, 0.5 * (1 - psi * r) / variance))


def fixed_student(y: ArrayLike, m: ArrayLike, sigma: ArrayLike, *, alpha: float) -> LossAndGradient:
    """−ln t(y) with given degrees of freedom 2α.

    Parameters
    ----------
    y : array-like
        Labels.
    m : array-like of the same shape
        Locations.
    sigma : array-like of the same shape
        σ > 0; σ/α is the squared scale.
    alpha : float
        α > 0, half the degrees of freedom.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by m and σ.

    Raises
    ------
    ValueError
        If the shapes differ or α is not positive.
    """
    positive(alpha=alpha)
    everywhere = np.full_like(np.asarray(y, dtype=np.float64), alpha)
    value, (by_m, _, by_sigma) = student_direct(y, m, everywhere, sigma)
    return LossAndGradient(value, (by_m, by_sigma))


def beta_nll_normal(beta: float, *, variance_floor: float = 0.0) -> Loss:
    """β-NLL with a softplus variance.

    Parameters
    ----------
    beta : float
        β from 0 to 1.
    variance_floor : float, default=0.0
        Added to the softplus of the variance.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    return Loss("beta_nll", partial(beta_nll, beta=beta), ("mu", "variance"), (None, variance_floor))


def faithful_normal(*, variance_floor: float = 0.0) -> Loss:
    """Faithful heteroscedastic regression with a softplus variance.

    Parameters
    ----------
    variance_floor : float, default=0.0
        Added to the softplus of the variance.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    return Loss("faithful", faithful, ("mu", "variance"), (None, variance_floor))


def natural_normal(*, precision_floor: float = 0.0) -> Loss:
    """The natural parametrisation with a softplus precision.

    Parameters
    ----------
    precision_floor : float, default=0.0
        Added to the softplus of the precision.

    Returns
    -------
    Loss
        Parameters η and precision.
    """
    return Loss("natural", natural, ("eta", "precision"), (None, precision_floor))


def evidential_student(penalty: float, *, beta_floor: float = 0.0) -> Loss:
    """Deep evidential regression with the links of its authors: ν and β softplus, α softplus + 1.

    Parameters
    ----------
    penalty : float
        Weight of the penalty, at least 0.
    beta_floor : float, default=0.0
        Added to the softplus of β.

    Returns
    -------
    Loss
        Parameters m, ν, α, β.
    """
    function = partial(evidential, penalty=penalty)
    return Loss("evidential", function, ("m", "nu", "alpha", "beta"), (None, 0.0, 1.0, beta_floor))


def huber_scale(k: float, *, variance_floor: float = 0.0) -> Loss:
    """Huber's density with a softplus squared scale.

    Parameters
    ----------
    k : float
        Where the tails begin, in units of the scale.
    variance_floor : float, default=0.0
        Added to the softplus of the squared scale.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    return Loss("huber", partial(huber, k=k), ("mu", "variance"), (None, variance_floor))


def fixed_student_scale(alpha: float, *, sigma_floor: float = 0.0) -> Loss:
    """Student's t with given degrees of freedom and a softplus σ.

    Parameters
    ----------
    alpha : float
        Half the degrees of freedom.
    sigma_floor : float, default=0.0
        Added to the softplus of σ.

    Returns
    -------
    Loss
        Parameters m and σ.
    """
    return Loss("fixed_student", partial(fixed_student, alpha=alpha), ("m", "sigma"), (None, sigma_floor))
