"""The flow of the form with three outputs: m, α and σ of Student's t itself (the remark at the end of Appendix A).

The paper leaves its dynamics open. Gradient descent on E[−ln t] in (m, α, σ) is

    ṁ = (2α+1)F,   α̇ = −G,   σ̇ = H/σ.

In the form with four outputs σ = β(ν+1)/ν moves with the speed of (18), which is H/σ times

    κ = (∂σ/∂β)² + (∂σ/∂ν)² = (1 + 1/ν)² + σ²/(ν²(ν+1)²) > 1.

So both descend on one risk with two metrics: −∇risk with the identity and with diag(1, 1, κ). What follows is on the
page "The mathematics" of the manual: the same equilibria, of the same stability; rates of convergence that are smaller
by a factor between 1 and 1/κ; basins that are bounded by other curves.

>>> from levelhead.theory.dynamics import ContaminatedPopulation, Gaussian, equilibrium
>>> p_c = ContaminatedPopulation(0.05, Gaussian(0.0, 1.0), Gaussian(0.0, 100.0))
>>> rest = equilibrium(p_c)
>>> three, four = rates(p_c, *rest), rates(p_c, *rest, nu=1.0)
>>> [round(float(rate), 3) for rate in three], [round(float(rate), 3) for rate in four]
([0.063, 0.863, 0.905], [0.112, 0.863, 2.12])
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
from levelhead.theory.dynamics.gradient_flow import _check_parameters, _means, _solve, field
from levelhead.theory.special import delta_psi

FloatArray = NDArray[np.float64]
_STEP = 1e-4  # of the differences behind the second derivatives, relative


@dataclass(frozen=True)
class DirectTrajectory:
    """The flow of (m, α, σ) at the times t.

    Attributes
    ----------
    t : ndarray of shape (n_times,)
        Times.
    m : ndarray of shape (n_times,)
        Location.
    alpha : ndarray of shape (n_times,)
        α.
    sigma : ndarray of shape (n_times,)
        σ.
    """

    t: FloatArray
    m: FloatArray
    alpha: FloatArray
    sigma: FloatArray


def direct_flow(
    p_c: ContaminatedPopulation,
    *,
    m: float,
    alpha: float,
    sigma: float,
    times: ArrayLike,
    rtol: float = 1e-9,
) -> DirectTrajectory:
    """Solve ṁ = (2α+1)F, α̇ = −G, σ̇ = H/σ from a given point.

    It is solved in (m, ln α, ln σ), which keeps α and σ positive.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    m : float
        Location at times[0].
    alpha : float
        α > 0 at times[0].
    sigma : float
        σ > 0 at times[0].
    times : array-like of shape (n_times,)
        Increasing times at which the solution is returned.
    rtol : float, default=1e-9
        Relative tolerance.

    Returns
    -------
    DirectTrajectory
        The solution at `times`.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the times do not increase.
    RuntimeError
        If the solver fails.
    """
    _check_parameters(m=m, alpha=alpha, sigma=sigma)
    whole = p_c.whole

    def velocity(_: float, state: FloatArray) -> FloatArray:
        alpha, sigma = np.exp(state[1:])
        pull, far, log = _means(whole, state[0], sigma)
        H = (alpha + 0.5) * far - 0.5
        return np.array([(2 * alpha + 1) * pull, -(log + delta_psi(alpha)) / alpha, H / (sigma * sigma)])

    t, path = _solve(velocity, np.array([m, *np.log([alpha, sigma])]), times, rtol)
    return DirectTrajectory(t, path[0], *np.exp(path[1:]))


def speed_factor(nu: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """κ = (1 + 1/ν)² + σ²/(ν²(ν+1)²): how much faster σ moves with four outputs than with three.

    Parameters
    ----------
    nu : array-like
        ν > 0.
    sigma : array-like
        σ > 0.

    Returns
    -------
    ndarray
        κ > 1; it tends to 1 as ν → ∞.
    """
    nu, sigma = np.asarray(nu, dtype=np.float64), np.asarray(sigma, dtype=np.float64)
    kappa: FloatArray = (1 + 1 / nu) ** 2 + (sigma / (nu * (nu + 1))) ** 2
    return kappa


def rates(
    p_c: ContaminatedPopulation, m: float, alpha: float, sigma: float, nu: float | None = None
) -> FloatArray:
    """Rates at which the flow approaches an equilibrium; a negative one is the rate at which it leaves.

    They are the eigenvalues of K^½ S K^½ with the second derivatives S of the risk in (m, α, σ) and K = diag(1, 1, κ);
    κ = 1 with three outputs.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    m : float
        Location of the equilibrium.
    alpha : float
        α of the equilibrium.
    sigma : float
        σ of the equilibrium.
    nu : float or None, default=None
        ν of the form with four outputs; None for the form with three.

    Returns
    -------
    ndarray of shape (3,)
        Rates, in increasing order. With four outputs there is a fourth rate, 0, along the equilibria with this σ.
    """
    second = risk_hessian(p_c, m, alpha, sigma)
    root = np.ones(3)
    if nu is not None:
        root[2] = np.sqrt(speed_factor(nu, sigma))
    return np.asarray(np.linalg.eigvalsh(root[:, None] * second * root), dtype=np.float64)


def risk_hessian(p_c: ContaminatedPopulation, m: float, alpha: float, sigma: float) -> FloatArray:
    """Second derivatives of E[−ln t] by (m, α, σ), by differences of the exact gradient.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    m : float
        Location.
    alpha : float
        α > 0.
    sigma : float
        σ > 0.

    Returns
    -------
    ndarray of shape (3, 3)
        Symmetric matrix.
    """
    at = np.array([m, alpha, sigma])
    steps = _STEP * np.array([np.sqrt(sigma), alpha, sigma])
    columns = [
        (_gradient(p_c, at + step) - _gradient(p_c, at - step)) / (2 * step[k])
        for k, step in enumerate(np.diag(steps))
    ]
    found = np.stack(columns, axis=1)
    symmetric: FloatArray = (found + found.T) / 2
    return symmetric


def _gradient(p_c: ContaminatedPopulation, at: FloatArray) -> FloatArray:
    m, alpha, sigma = at
    F, G, H = field(p_c, m, alpha, sigma)
    return np.array([-(2 * alpha + 1) * F, G, -H / sigma])
