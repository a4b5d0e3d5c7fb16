"""The paper's theorems on equilibria: C_go and D_go, Theorem 3.1, Lemma C.1, Theorems 4.1 and 4.2.

There are two different limits ε → 0. In Theorem 3.1 the truth and the outliers are fixed, and the equilibrium moves to
infinity. In Theorems 4.1 and 4.2 the equilibrium (m, α, σ) is fixed, as observed in a fitted network, and the outliers
move away, to a distance of about e^{b_0/(2ε)}.

>>> from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
>>> from levelhead.theory.dynamics.populations import Gaussian
>>> C_go(ContaminatedPopulation(0.01, Gaussian(0.0, 1.0), Gaussian(0.0, 4.0)))
27.0
>>> round(float(variance_ratio(alpha=1.0, epsilon=0.01)), 6)
0.957217
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.theory.dynamics._excess import log_excess, psi_excess
from levelhead.theory.dynamics.contaminated import ContaminatedPopulation
from levelhead.theory.dynamics.equilibria import Equilibrium
from levelhead.theory.dynamics.populations import Gaussian, Population, expect
from levelhead.theory.special import A, alpha_minus_A, b, dA

FloatArray = NDArray[np.float64]

_STANDARD = Gaussian(0.0, 1.0)


def C_go(p_c: ContaminatedPopulation) -> float:
    """C_go, equation (19): where it is positive, an arbitrarily small share of outliers makes α finite.

    It is the slope in ε, at ε = 0, of the fourth cumulant of p_c.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels; the outliers need four moments.

    Returns
    -------
    float
        C_go.

    Raises
    ------
    ValueError
        If the outliers lack a moment.
    """
    m_o, V_o, mu3, mu4 = _moments(p_c.outliers, 4, "C_go (19)")
    d = m_o - p_c.truth.mean
    e = V_o - p_c.truth.variance
    return d**4 + 6 * e * d**2 + 3 * e**2 + (mu4 - 3 * V_o**2) + 4 * mu3 * d


def D_go(p_c: ContaminatedPopulation) -> float:
    """D_go, equation (20): the slope in ε, at ε = 0, of the third cumulant of p_c.

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels; the outliers need three moments.

    Returns
    -------
    float
        D_go.

    Raises
    ------
    ValueError
        If the outliers lack a moment.
    """
    m_o, V_o, mu3, _ = _moments(p_c.outliers, 3, "D_go (20)")
    d = m_o - p_c.truth.mean
    return d**3 + 3 * (V_o - p_c.truth.variance) * d + mu3


def bifurcating_equilibrium(p_c: ContaminatedPopulation) -> Equilibrium:
    """The equilibrium for small ε by Theorem 3.1: m of (21) to O(ε³), α and σ of (22) to O(1).

    The paper prints the remainder in (22) as O(ε⁻²), a misprint: α_ε − 3V_g²/(C_go ε) stays bounded.

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
        If C_go or ε is not positive.
    """
    m_g, V_g = p_c.truth.mean, p_c.truth.variance
    epsilon, C, D = p_c.epsilon, C_go(p_c), D_go(p_c)
    if not (C > 0 and epsilon > 0):
        raise ValueError(f"Theorem 3.1 needs C_go > 0 and ε > 0; here C_go = {C:g} and ε = {epsilon:g}")
    m = m_g + (p_c.outliers.mean - m_g) * epsilon - C * D / (6 * V_g**3) * epsilon**2  # eq. (21)
    alpha = 3 * V_g**2 / (C * epsilon)  # eq. (22)
    return Equilibrium(m, alpha, V_g * alpha)


def c_1(sigma: ArrayLike, V_g: ArrayLike) -> FloatArray:
    """c_1 = E[y²/(2σ + V_g y²)], y ~ N(0, 1), of Lemma C.1: how strongly the clean labels hold m.

    Parameters
    ----------
    sigma : array-like
        σ > 0.
    V_g : array-like
        Variance of the clean labels.

    Returns
    -------
    ndarray
        c_1.
    """
    sigma, V_g = np.asarray(sigma, dtype=np.float64), np.asarray(V_g, dtype=np.float64)
    width = np.sqrt(2 * sigma / V_g)
    far = expect(_STANDARD, lambda z: z * z / (width[..., None] ** 2 + z * z), 0.0, width)
    stiffness: FloatArray = far / V_g
    return stiffness


def mean_with_far_outliers(p_c: ContaminatedPopulation, sigma: float) -> float:
    """The m with F = 0 at a given σ, by Lemma C.1: m_g + ε/(c_1(1 − ε)(m_o − m_g)) + O((m_o − m_g)⁻²).

    Parameters
    ----------
    p_c : ContaminatedPopulation
        Distribution of the labels.
    sigma : float
        σ > 0.

    Returns
    -------
    float
        The location m.
    """
    m_g, epsilon = p_c.truth.mean, p_c.epsilon
    return float(m_g + epsilon / (c_1(sigma, p_c.truth.variance) * (1 - epsilon) * (p_c.outliers.mean - m_g)))


def b_0(alpha: ArrayLike) -> FloatArray:
    """b_0(α) = −E[ln(1 + V_p y²/(2σ))] − ΔΨ(α) > 0, y ~ N(0, 1), of Appendix C; σ cancels in V_p/σ.

    Parameters
    ----------
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        b_0(α).
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    # By (7), E[x/(1+x)] = 1/(2α+1) for x = V_p y²/(2σ): subtracted here, it makes b_0 exact for large α too.
    return -(_mean_excess(alpha) + psi_excess(alpha))


def b_1(alpha: ArrayLike) -> FloatArray:
    """b_1(α) = E[ln(1 + x)] + b E[x/(1 + x)] with x = V_p y²/(2σ), of Appendix D (its b_2 is b).

    Parameters
    ----------
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        b_1(α).
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    share = 1 / (2 * alpha + 1)  # E[x/(1+x)], by (7)
    return _mean_excess(alpha) + share + b(alpha) * share


def mean_error(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """|m_g − m_p| to leading order by Theorem 4.1: (ε/c_1)(2σ)^(−½) e^(−b_1/2) e^(−b_0/(2ε)).

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.
    epsilon : array-like
        Share ε of outliers.

    Returns
    -------
    ndarray
        The error of the mean.
    """
    alpha, sigma, epsilon = (np.asarray(v, dtype=np.float64) for v in (alpha, sigma, epsilon))
    V_p = sigma / alpha_minus_A(alpha)  # eq. (6)
    stiffness = 1 / ((2 * alpha + 1) * V_p)  # c_1(σ, V_p), by (7)
    return epsilon / stiffness / np.sqrt(2 * sigma) * np.exp(-b_1(alpha) / 2 - b_0(alpha) / (2 * epsilon))


def variance_ratio(alpha: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """V_g/V_p by Theorem 4.2 with its next term: 1 − bε + ½[b² − b − α(2α+1)b′]ε² + O(ε³).

    Parameters
    ----------
    alpha : array-like
        α > 0.
    epsilon : array-like
        Share ε of outliers.

    Returns
    -------
    ndarray
        The ratio.
    """
    alpha, epsilon = np.asarray(alpha, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    b_alpha = b(alpha)
    db = b_alpha * (1 / alpha - dA(alpha) / A(alpha))  # b = 2α/A
    second = (b_alpha**2 - b_alpha - alpha * (2 * alpha + 1) * db) / 2
    ratio: FloatArray = 1 - b_alpha * epsilon + second * epsilon**2
    return ratio


def _mean_excess(alpha: FloatArray) -> FloatArray:
    """E[ln(1 + x) − x/(1 + x)] for x = y²/(2(α − A))."""
    width = np.sqrt(2 * alpha_minus_A(alpha))

    def excess(z: FloatArray) -> FloatArray:
        length = np.hypot(width[..., None], z)
        return log_excess(z / length, width[..., None] / length)

    return expect(_STANDARD, excess, 0.0, width)


def _moments(outliers: Population, order: int, what: str) -> tuple[float, float, float, float]:
    """Mean, variance, μ⁽³⁾, μ⁽⁴⁾ of the outliers, finite up to the order."""
    moments = (outliers.mean, outliers.variance, outliers.mu3, outliers.mu4)
    if not np.all(np.isfinite(moments[:order])):
        raise ValueError(
            f"{what} needs the moments of the outliers up to order {order}, and {outliers} lacks some; "
            "the equilibrium itself may still exist: compute it with `equilibrium`"
        )
    return moments
