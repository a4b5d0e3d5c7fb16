"""How a fit of (m, ν, α, β) moves under gradient descent (Section 2).

With labels y from a contamination p_c (1), z = y − m and σ = β(ν+1)/ν (4), the expected gradients are

    F = E[z/(2σ + z²)],   G = E[ln(1 + z²/(2σ))] + ΔΨ(α),   H = E[(αz² − σ)/(2σ + z²)].

The flow is ṁ = (2α+1)F, α̇ = −G, β̇ = H/β, ν̇ = −H/(ν(ν+1)). Its equilibria have F = G = H = 0; see `equilibria`.

>>> from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
>>> from levelhead.theory.dynamics.populations import Gaussian
>>> p_c = ContaminatedPopulation(0.05, Gaussian(0.0, 1.0), Gaussian(0.0, 100.0))
>>> round(float(field(p_c, m=0.0, alpha=1.0, sigma=1.0).H), 6)
-0.091885
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from levelhead.theory import student
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
from levelhead.theory.dynamics.populations import Population
from levelhead.theory.special import delta_psi

FloatArray = NDArray[np.float64]

_NODES_AT_ONCE = 2**19  # of all points of a grid together: 4 MB an array


class Field(NamedTuple):
    """F, G and H of (15) to (17) at given m, α, σ.

    Attributes
    ----------
    F : ndarray
        E[z/(2σ + z²)].
    G : ndarray
        E[ln(1 + z²/(2σ))] + ΔΨ(α).
    H : ndarray
        E[(αz² − σ)/(2σ + z²)].
    """

    F: FloatArray
    G: FloatArray
    H: FloatArray


def field(p_c: ContaminatedPopulation, m: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> Field:
    """F, G and H to rounding, by quadrature; m, α and σ broadcast against each other.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    m : array-like
        Location.
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.

    Returns
    -------
    Field
        The three expectations.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """
    m, alpha, sigma = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (m, alpha, sigma)))
    _check_parameters(m=m, alpha=alpha, sigma=sigma)
    found = np.empty((3, m.size))
    whole = p_c.whole
    size = max(1, _NODES_AT_ONCE // whole.nodes(0.0, 1.0).z.size)
    for start in range(0, m.size, size):
        block = slice(start, start + size)
        found[:, block] = _means(whole, m.ravel()[block], sigma.ravel()[block])
    pull, far, log = (v.reshape(m.shape) for v in found)
    return Field(
        F=pull[()],
        G=(log + delta_psi(alpha))[()],
        H=((alpha + 0.5) * far - 0.5)[()],
    )


def risk(p_c: ContaminatedPopulation, m: float, alpha: float, sigma: float) -> float:
    """E[−ln t(y)], the expected loss: the flow descends on it, and F, G, H give its gradient.

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
    float
        The expected loss.
    """
    slope, far, log_growth = _means(p_c.whole, np.asarray(m), np.asarray(sigma))
    mean = student.Ratios(far, 1 - far, slope, log_growth)  # −ln t is linear in them
    return float(student.negative_log(mean, alpha, sigma))


@dataclass(frozen=True)
class Trajectory:
    """The flow at the times t, one array per parameter.

    Attributes
    ----------
    t : ndarray of shape (n_times,)
        Times.
    m : ndarray of shape (n_times,)
        Location.
    nu : ndarray of shape (n_times,)
        ν.
    alpha : ndarray of shape (n_times,)
        α.
    beta : ndarray of shape (n_times,)
        β.
    sigma : ndarray of shape (n_times,)
        σ = β(ν+1)/ν, equation (4).
    """

    t: FloatArray
    m: FloatArray
    nu: FloatArray
    alpha: FloatArray
    beta: FloatArray

    @property
    def sigma(self) -> FloatArray:
        """σ = β(ν+1)/ν, equation (4)."""
        return self.beta * (self.nu + 1) / self.nu


def flow(
    p_c: ContaminatedPopulation,
    *,
    m: float,
    nu: float,
    alpha: float,
    beta: float,
    times: ArrayLike,
    rtol: float = 1e-9,
) -> Trajectory:
    """Solve (12) to (14) from a given point.

    It is solved in (m, ln ν, ln α, ln β), which keeps ν, α and β positive.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    m : float
        Location at times[0].
    nu : float
        ν > 0 at times[0].
    alpha : float
        α > 0 at times[0].
    beta : float
        β > 0 at times[0].
    times : array-like of shape (n_times,)
        Increasing times at which the solution is returned.
    rtol : float, default=1e-9
        Relative tolerance.

    Returns
    -------
    Trajectory
        The solution at `times`.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the times do not increase.
    RuntimeError
        If the solver fails.
    """
    _check_parameters(m=m, nu=nu, alpha=alpha, beta=beta)
    whole = p_c.whole

    def velocity(_: float, state: FloatArray) -> FloatArray:
        nu, alpha, beta = np.exp(state[1:])
        sigma = beta * (nu + 1) / nu  # eq. (4)
        pull, far, log = _means(whole, state[0], sigma)
        H = (alpha + 0.5) * far - 0.5
        m_dot = (2 * alpha + 1) * pull  # eq. (12)
        alpha_dot = -(log + delta_psi(alpha))  # eq. (13)
        return np.array([m_dot, -H / (nu * nu * (nu + 1)), alpha_dot / alpha, H / (beta * beta)])  # eq. (14)

    start = np.array([m, *np.log([nu, alpha, beta])])
    t, path = _solve(velocity, start, times, rtol)
    return Trajectory(t, path[0], *np.exp(path[1:]))


def _solve(
    velocity: Callable[[float, FloatArray], FloatArray], start: FloatArray, times: ArrayLike, rtol: float
) -> tuple[FloatArray, FloatArray]:
    """Solve a flow from a given state; returns the times and the states there, one row per coordinate."""
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or times.size < 2 or not np.all(np.diff(times) > 0):
        raise ValueError("times must be a list of at least two increasing numbers")
    solved = solve_ivp(
        velocity, (times[0], times[-1]), start, method="LSODA", t_eval=times, rtol=rtol, atol=rtol
    )
    if not solved.success:
        raise RuntimeError(f"the flow stopped at t = {solved.t[-1]:g}: {solved.message}")
    return solved.t, solved.y


def _means(population: Population, m: FloatArray, sigma: FloatArray) -> FloatArray:
    """E[z/(2σ+z²)], E[z²/(2σ+z²)] and E[ln(1+z²/(2σ))], stacked along the first axis."""
    z, weight = population.nodes(m, np.sqrt(2 * sigma))
    at = student.ratios(z, sigma[..., None])
    return np.stack([np.sum(weight * f, axis=-1) for f in (at.slope, at.far, at.log_growth)])


def _check_parameters(m: ArrayLike, **positive: ArrayLike) -> None:
    """Raise ValueError for a location that is not finite, and for other parameters that are not positive."""
    if not np.all(np.isfinite(m)):
        raise ValueError("m must be finite; the field is not defined at infinity or NaN")
    for name, value in positive.items():
        bad = ~(np.isfinite(value) & (np.asarray(value) > 0))
        if np.any(bad):
            first = np.ravel(value)[np.flatnonzero(bad)[0]]
            raise ValueError(
                f"{name} must be positive and finite; {np.sum(bad)} values are not, first {first}"
            )
