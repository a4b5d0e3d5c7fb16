"""Equilibria of the fit: F = G = H = 0 (Section 3), for any contamination and without a starting value.

For every α ≥ ½ the best (m, σ) is unique (Kent and Tyler, 1991), so that the risk E[−ln t] along α is a function of one
variable, with slope G. That branch is continued from α = ½ to small α, where the risk falls, and then upwards to the
first minimum, which Newton's method refines. With large clusters of outliers the risk may have another minimum, the
Gaussian fit at α = ∞ to truth and cluster together; that one is never returned.

For large α, G and H vanish to leading order alike. With H = 0 substituted, what is left of G is

    E[ln(1+r²) − r²/(1+r²)] + ΔΨ(α) + 1/(2α+1),   r = z/√(2σ),

of order α⁻². It is computed here without cancellation, so that α is precise up to 1e8.

>>> from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
>>> from levelhead.theory.dynamics.populations import Gaussian
>>> rest = equilibrium(ContaminatedPopulation(0.05, Gaussian(0.0, 1.0), Gaussian(0.0, 100.0)))
>>> round(rest.alpha, 4), round(rest.sigma, 4), round(rest.V_p, 3)
(1.1072, 0.7536, 1.214)
"""

from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import polygamma

from levelhead.theory.dynamics._excess import log_excess, psi_excess
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
from levelhead.theory.dynamics.populations import Population
from levelhead.theory.special import alpha_minus_A

FloatArray = NDArray[np.float64]

_SMALLEST_ALPHA, _LARGEST_ALPHA = 1e-4, 1e8
_UPWARDS, _DOWNWARDS = 1.5, 0.8  # factors of α; below ½ a branch is followed, in shorter steps


class Equilibrium(NamedTuple):
    """A point where F = G = H = 0.

    Attributes
    ----------
    m : float
        Location.
    alpha : float
        α.
    sigma : float
        σ.
    V_p : float
        The prognostic variance, equation (6).
    """

    m: float
    alpha: float
    sigma: float

    @property
    def V_p(self) -> float:
        """The prognostic variance σ/(α − A(α)), equation (6)."""
        return float(self.sigma / alpha_minus_A(self.alpha))


def equilibrium(p_c: ContaminatedPopulation) -> Equilibrium:
    """The finite equilibrium of p_c that treats the outliers as outliers.

    There is one wherever the kurtosis of p_c exceeds 3 and no single label has a positive share. It may lie beyond
    α = 1e8; that counts as none.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.

    Returns
    -------
    Equilibrium
        m, α and σ.

    Raises
    ------
    ValueError
        If there is none: for ε = 0, if the outliers are too near to the truth, or if a single label amid the truth has
        a large share.
    """
    if p_c.epsilon == 0:
        raise ValueError("ε = 0: without outliers α and σ grow without bound and there is no equilibrium")
    whole = p_c.whole
    low, high = _bracket(p_c)
    here = low

    def slope(log_alpha: float) -> float:
        nonlocal here
        here = _fit(whole, float(np.exp(log_alpha)), here.m, here.sigma)
        return here.slope

    brentq(slope, np.log(low.alpha), np.log(high.alpha), xtol=1e-6)
    return _polish(whole, here)


class _Fit(NamedTuple):
    """The best (m, σ) at some α, and the slope of the risk in α there."""

    m: float
    alpha: float
    sigma: float
    slope: float


def _bracket(p_c: ContaminatedPopulation) -> tuple[_Fit, _Fit]:
    """The first two fits on the way up from small α between which the slope of the risk turns positive."""
    branch = _branch_below_half(p_c)
    while branch[-1].alpha < _LARGEST_ALPHA:
        for low, high in pairwise(branch):
            if low.slope <= 0 < high.slope:
                return low, high
        branch = [branch[-1], _next(p_c.whole, branch[-1], _UPWARDS)]
    raise ValueError(
        f"no finite equilibrium up to α = {_LARGEST_ALPHA:g}: the labels have kurtosis {p_c.kurtosis:.6g}, "
        "and where it is not above 3 the fit may tend to a Gaussian, α → ∞; move the outliers away or change "
        f"their share ε = {p_c.epsilon:g}"
    )


def _branch_below_half(p_c: ContaminatedPopulation) -> list[_Fit]:
    """Fits from small α, where the risk falls, up to α = ½."""
    truth, whole = p_c.truth, p_c.whole
    branch = [_fit(whole, 0.5, truth.mean, truth.variance * float(alpha_minus_A(0.5)))]
    while branch[0].slope > -1 and branch[0].alpha > _SMALLEST_ALPHA:
        below = _next(whole, branch[0], _DOWNWARDS)
        if below.sigma < branch[0].sigma * _DOWNWARDS**8:
            break  # σ → 0 on a single label of large mass, where the risk is unbounded below for small α
        branch.insert(0, below)
    if branch[0].slope > 0:
        raise ValueError(
            f"no finite equilibrium: below α = {branch[0].alpha:.2g} the fit contracts to σ = 0 onto a "
            f"single label near {branch[0].m:.6g} that has a large share of the mass; give it a wider distribution"
        )
    return branch


def _next(whole: Population, here: _Fit, factor: float) -> _Fit:
    return _fit(whole, here.alpha * factor, here.m, here.sigma * factor)


def _fit(whole: Population, alpha: float, m: float, sigma: float) -> _Fit:
    """Minimise the risk in (m, ln σ) at fixed α, by Newton's method with a step that never ascends."""
    here = _Means.of(whole, m, sigma)
    for _ in range(200):
        step = -np.linalg.solve(here.hessian(alpha), here.gradient(alpha))
        step /= max(1.0, float(np.max(np.abs(step))))
        settled = 1e-9 + _grain(m, here.width)
        while True:
            ahead = _Means.of(whole, m + float(step[0]) * here.width, sigma * float(np.exp(step[1])))
            if ahead.risk(alpha) <= here.risk(alpha) + 1e-13 or np.max(np.abs(step)) < settled:
                break
            step /= 4
        m, sigma, here = m + float(step[0]) * here.width, sigma * float(np.exp(step[1])), ahead
        if np.max(np.abs(step)) < settled:
            return _Fit(m, alpha, sigma, here.excess + float(psi_excess(np.asarray(alpha))))
    raise RuntimeError(
        f"the fit of (m, σ) at α = {alpha:g} did not converge; it stopped at m = {m:g}, σ = {sigma:g}"
    )


def _grain(m: float, width: float) -> float:
    """The rounding of m in units of √(2σ): smaller steps are equal to 0."""
    return 8 * float(np.spacing(abs(m))) / width


def _polish(whole: Population, start: _Fit) -> Equilibrium:
    """Newton's method in (m/√(2σ), ln α, ln σ) on F = G = H = 0 until the step is rounding."""
    m, alpha, sigma = start.m, start.alpha, start.sigma
    smallest = np.inf
    for _ in range(50):
        here = _Means.of(whole, m, sigma)
        step = -np.linalg.solve(here.jacobian(alpha), here.residual(alpha))
        size = float(np.max(np.abs(step)))
        if size < 1e-15 or (size >= smallest and smallest < 1e-6 + _grain(m, here.width)):
            return Equilibrium(float(m), float(alpha), float(sigma))
        smallest = size
        m += float(step[0]) * here.width
        alpha *= float(np.exp(step[1]))
        sigma *= float(np.exp(step[2]))
    raise RuntimeError(f"Newton's method did not converge from {start}")


class _Means(NamedTuple):
    """Expectations in r = z/√(2σ) = tan φ: `power[k]` = E[sinᵏφ cos⁴⁻ᵏφ] = E[rᵏ/(1+r²)²]."""

    width: float
    power: FloatArray
    excess: float  # E[ln(1+r²) − r²/(1+r²)]

    @classmethod
    def of(cls, whole: Population, m: float, sigma: float) -> Self:
        width = float(np.sqrt(2 * sigma))
        z, weight = whole.nodes(m, width)
        r = z / width
        cos = 1 / np.hypot(1, r)
        sin = r * cos
        power = np.array([np.sum(weight * sin**k * cos ** (4 - k)) for k in range(5)])
        return cls(width, power, float(np.sum(weight * log_excess(sin, cos))))

    @property
    def far(self) -> float:
        """E[r²/(1+r²)]."""
        return float(self.power[2] + self.power[4])

    @property
    def pull(self) -> float:
        """E[r/(1+r²)]."""
        return float(self.power[1] + self.power[3])

    def risk(self, alpha: float) -> float:
        """E[−ln t] without the terms in α alone."""
        return float(np.log(self.width) + (alpha + 0.5) * (self.excess + self.far))

    def gradient(self, alpha: float) -> FloatArray:
        """Of the risk in (m/√(2σ), ln σ)."""
        return np.array([-(2 * alpha + 1) * self.pull, 0.5 - (alpha + 0.5) * self.far])

    def hessian(self, alpha: float) -> FloatArray:
        """Of the risk in (m/√(2σ), ln σ), or a positive definite majorant where it is indefinite."""
        p = self.power
        if (p[0] - p[2]) * p[2] <= 2 * p[1] ** 2 or p[0] <= p[2]:
            return (2 * alpha + 1) * np.diag([p[0] + p[2], p[2] / 2])
        return (2 * alpha + 1) * np.array([[p[0] - p[2], p[1]], [p[1], p[2] / 2]])

    def residual(self, alpha: float) -> FloatArray:
        """What vanishes with F, with G once H = 0, and with H."""
        return np.array(
            [self.pull, self.excess + float(psi_excess(np.asarray(alpha))), self.far - 1 / (2 * alpha + 1)]
        )

    def jacobian(self, alpha: float) -> FloatArray:
        """Of the residual in (m/√(2σ), ln α, ln σ)."""
        p = self.power
        by_alpha = polygamma(1, alpha) - polygamma(1, alpha + 0.5) - 2 / (2 * alpha + 1) ** 2
        return np.array(
            [
                [p[2] - p[0], 0, (p[3] - p[1]) / 2],
                [-2 * p[3], alpha * by_alpha, -p[4]],
                [-2 * p[1], 2 * alpha / (2 * alpha + 1) ** 2, -p[2]],
            ]
        )
