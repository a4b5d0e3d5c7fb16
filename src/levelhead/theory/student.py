"""Student's t: the loss −ln t and its derivatives, the variances computed from a fit, the information matrix.

The marginal of a label, equation (3), has 2α degrees of freedom, location m and **squared** scale σ/α. With z = y − m,
everything that depends on the label is in four numbers (`Ratios`), none of which overflows:

    far = z²/(2σ + z²),   near = 2σ/(2σ + z²),   slope = z/(2σ + z²),   log_growth = ln(1 + z²/(2σ)).

Variances, given α and σ:

| variance | formula | needs |
|---|---|---|
| `student_variance` | σ/(α − 1), equation (9): of the contaminated labels | |
| `prognostic_variance` | σ/(α − A(α)), equation (6): of the clean labels up to O(ε) | |
| `first_order_variance` | (1 − bε)V_p, equation (8): up to O(ε²) | ε, small |
| `far_variance` | σ/(α* − A(α*)), α* = α/(1 − ε(2α+1)): exact for far outliers | ε |

With the residuals of a whole data set, `levelhead.audits.separation` is more precise than all of them.

Fisher's information is written in the coordinates (m, ln s, ln α) with the scale s = √(σ/α). The location is orthogonal
to the others:

    I(m, m) = (2α+1)/((2α+3)s²)         I(ln s, ln s) = 4α/(2α+3)
    I(ln s, ln α) = −4α/((2α+1)(2α+3))  I(ln α, ln α) = α²(Ψ′(α) − Ψ′(α+½)) − α(2α+5)/((2α+1)(2α+3))

It is finite and positive definite for every α: steps of −I⁻¹∇L are bounded, because the gradient is.

>>> float(prognostic_variance(1.0, 0.53671198547645658))
1.0
>>> student_information(0.5, 1.0)[:2, :2]  # Cauchy's distribution: ½ and ½
array([[0.5, 0. ],
       [0. , 0.5]])
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit, zeta

from levelhead.theory._arrays import check_positive, read_only_copy, shape_of
from levelhead.theory.elementary import log, log1p
from levelhead.theory.special import alpha_minus_A, b, delta_psi, log_gamma_ratio

FloatArray = NDArray[np.float64]

# Where a finite Student variance is needed (sorting, mixtures), α − 1 is kept above this.
_SMALLEST_EXCESS = 5e-5
_FAR = 13.0  # beyond this α the terms of I(ln α, ln α) cancel so far that their series is better
# (½ + ½ tanh(t/4)) is the generating function of Ψ′(α) − Ψ′(α+½); coefficients of t, t³, t⁵, … of its second half.
_TANH = np.array([1 / 8, -1 / 384, 1 / 15_360, -17 / 10_321_920, 31 / 743_178_240, -691 / 653_996_851_200])


# ---------------------------------------------------------------------- the loss and its derivatives


class Ratios(NamedTuple):
    """The functions of a residual z that Student's t needs; far + near = 1.

    Attributes
    ----------
    far : ndarray
        z²/(2σ + z²).
    near : ndarray
        2σ/(2σ + z²).
    slope : ndarray
        z/(2σ + z²).
    log_growth : ndarray
        ln(1 + z²/(2σ)).
    """

    far: FloatArray
    near: FloatArray
    slope: FloatArray
    log_growth: FloatArray


def ratios(z: ArrayLike, sigma: ArrayLike, *, logarithm: bool = True) -> Ratios:
    """Compute the four functions for residuals z, without squares that may overflow.

    Parameters
    ----------
    z : array-like
        Residuals y − m.
    sigma : array-like
        σ > 0; broadcast against z.
    logarithm : bool, default=True
        Whether to compute `log_growth`, which takes most of the time; it is NaN otherwise.

    Returns
    -------
    Ratios
        Arrays of the broadcast shape.
    """
    z = np.asarray(z, dtype=np.float64)
    width = np.sqrt(2 * np.asarray(sigma, dtype=np.float64))
    reach = np.hypot(width, z)  # √(2σ + z²)
    log_growth = np.full_like(reach, np.nan)
    if logarithm:
        inside = np.minimum(np.abs(z), width) / width
        log_growth = np.where(np.abs(z) < width, log1p(inside * inside), 2 * (log(reach) - log(width)))
    with np.errstate(invalid="ignore"):
        sine, cosine = np.where(np.isinf(z), np.sign(z), z / reach), width / reach
    return Ratios(sine * sine, cosine * cosine, sine / reach, log_growth)


def negative_log(at: Ratios, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """−ln t(y) = lnΓ(α) − lnΓ(α+½) + ½ ln(2πσ) + (α+½) ln(1 + z²/(2σ)), Algorithm 2.

    Parameters
    ----------
    at : Ratios
        The functions of the residuals.
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.

    Returns
    -------
    ndarray
        The loss of each label.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    return np.asarray(
        -log_gamma_ratio(alpha) + 0.5 * log(2 * np.pi * np.asarray(sigma)) + (alpha + 0.5) * at.log_growth
    )


def by_location(at: Ratios, alpha: ArrayLike) -> FloatArray:
    """∂(−ln t)/∂m = −(2α+1) z/(2σ + z²).

    Parameters
    ----------
    at : Ratios
        The functions of the residuals.
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The derivatives.
    """
    return np.asarray(-(2 * np.asarray(alpha) + 1) * at.slope)


def by_log_scale(at: Ratios, alpha: ArrayLike) -> FloatArray:
    """∂(−ln t)/∂ln s = 1 − (2α+1) z²/(2σ + z²): between −2α and 1.

    Parameters
    ----------
    at : Ratios
        The functions of the residuals.
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The derivatives.
    """
    return np.asarray(1 - (2 * np.asarray(alpha) + 1) * at.far)


def by_alpha(at: Ratios, alpha: ArrayLike) -> FloatArray:
    """∂(−ln t)/∂α at fixed σ.

    Parameters
    ----------
    at : Ratios
        The functions of the residuals.
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The derivatives.
    """
    return np.asarray(at.log_growth + delta_psi(alpha))


def by_log_alpha(at: Ratios, alpha: ArrayLike) -> FloatArray:
    """∂(−ln t)/∂ln α at a fixed scale s = √(σ/α); grows only like ln|z|.

    Parameters
    ----------
    at : Ratios
        The functions of the residuals.
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The derivatives.
    """
    alpha = np.asarray(alpha)
    return np.asarray(alpha * by_alpha(at, alpha) + 0.5 - (alpha + 0.5) * at.far)


# ---------------------------------------------------------------------- the distribution


@dataclass(frozen=True, eq=False)
class StudentT:
    """Student's t with 2α degrees of freedom, location m and squared scale σ/α, equation (3).

    Parameters
    ----------
    m : array-like
        Location.
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.

    Raises
    ------
    ValueError
        If α or σ is not positive.
    """

    m: FloatArray
    alpha: FloatArray
    sigma: FloatArray

    def __post_init__(self) -> None:
        m, alpha, sigma = np.broadcast_arrays(*map(read_only_copy, (self.m, self.alpha, self.sigma)))
        check_positive("alpha", alpha)
        check_positive("sigma", sigma)
        for name, value in (("m", m), ("alpha", alpha), ("sigma", sigma)):
            object.__setattr__(self, name, value)

    @property
    def scale(self) -> FloatArray:
        """√(σ/α)."""
        return np.sqrt(self.sigma / self.alpha)

    @property
    def variance(self) -> FloatArray:
        """V_St = σ/(α − 1), equation (9); infinite for α ≤ 1."""
        return student_variance(self.alpha, self.sigma)

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log density, stable for any residual that a float can hold.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Log densities.
        """
        at = ratios(np.asarray(y, dtype=np.float64) - self.m, self.sigma)
        return -negative_log(at, self.alpha, self.sigma)

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a label below y.

        Parameters
        ----------
        y : array-like
            Labels.

        Returns
        -------
        ndarray
            Probabilities.
        """
        result: FloatArray = stdtr(2 * self.alpha, (np.asarray(y, dtype=np.float64) - self.m) / self.scale)
        return result

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Quantiles.

        Parameters
        ----------
        q : array-like
            Probabilities from 0 to 1.

        Returns
        -------
        ndarray
            The label below which a share q of the labels lies.

        Raises
        ------
        ValueError
            If a probability is not between 0 and 1.
        """
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ValueError(f"quantile levels lie between 0 and 1, got {q.min()} to {q.max()}")
        result: FloatArray = self.m + self.scale * stdtrit(2 * self.alpha, q)
        return result

    def sample(
        self, size: int | tuple[int, ...] = (), *, random_state: int | np.random.Generator
    ) -> FloatArray:
        """Draw labels.

        Parameters
        ----------
        size : int or tuple of int, default=()
            Number of draws per distribution.
        random_state : int or numpy.random.Generator
            Seed or generator.

        Returns
        -------
        ndarray of shape `size` + the shape of the parameters
            The labels.
        """
        rng = np.random.default_rng(random_state)
        return self.m + self.scale * rng.standard_t(2 * self.alpha, shape_of(size) + self.m.shape)


# ---------------------------------------------------------------------- variances of the labels


def prognostic_variance(alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """V_p = σ/(α − A(α)), equation (6): variance of the clean labels.

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.

    Returns
    -------
    ndarray
        The variance.

    Raises
    ------
    ValueError
        If α or σ is not positive.
    """
    alpha, sigma = _parameters(alpha, sigma)
    return sigma / alpha_minus_A(alpha)


def student_variance(alpha: ArrayLike, sigma: ArrayLike, *, finite: bool = False) -> FloatArray:
    """V_St = σ/(α − 1), equation (9): variance of the contaminated labels.

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.
    finite : bool, default=False
        Whether to return a very large number instead of ∞ for α ≤ 1.

    Returns
    -------
    ndarray
        The variance.

    Raises
    ------
    ValueError
        If α or σ is not positive.
    """
    alpha, sigma = _parameters(alpha, sigma)
    if finite:
        return sigma / np.maximum(alpha - 1, _SMALLEST_EXCESS)
    return np.where(alpha > 1, sigma / np.where(alpha > 1, alpha - 1, 1.0), np.inf)


def first_order_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """(1 − b(α)ε)V_p, equation (8). It needs bε ≪ 1; prefer `far_variance`.

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.
    epsilon : array-like
        Share ε of outliers, from 0 to 1.

    Returns
    -------
    ndarray
        The variance.

    Raises
    ------
    ValueError
        If bε ≥ 1 anywhere.
    """
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    _refuse(b(alpha) * epsilon >= 1, alpha, epsilon, "b(α)ε ≥ 1 makes the first-order variance negative")
    return (1 - b(alpha) * epsilon) * prognostic_variance(alpha, sigma)


def far_variance(alpha: ArrayLike, sigma: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """V_far = σ/(α* − A(α*)) with α* = α/(1 − ε(2α+1)): exact if the outliers are far away.

    Far outliers enter H = 0 only through their share, which leaves equation (7) with α* instead of α. With near
    outliers it is too small. Its expansion in ε is `first_order_variance`.

    Parameters
    ----------
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.
    epsilon : array-like
        Share ε of outliers, from 0 to 1.

    Returns
    -------
    ndarray
        The variance.

    Raises
    ------
    ValueError
        If ε(2α+1) ≥ 1 anywhere.
    """
    alpha, sigma, epsilon = _parameters(alpha, sigma, epsilon)
    room = 1 - epsilon * (2 * alpha + 1)
    _refuse(room <= 0, alpha, epsilon, "ε(2α+1) ≥ 1 leaves no clean variance")
    return sigma / alpha_minus_A(alpha / room)


def outlier_probability(z: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """Probability that a label with residual z = y − m is wrong, from the local parameters alone.

    1 − N(y; m, V_p)/t(y) beyond the point where the densities cross (2.15 to 2.43 √V_p), and 0 inside. It raises few
    false alarms, but is too high or too low if many labels are wrong. With the residuals of a whole data set use
    `separation.estimate_contamination(…).probability`.

    Parameters
    ----------
    z : array-like
        Residuals y − m.
    alpha : array-like
        α > 0.
    sigma : array-like
        σ > 0.

    Returns
    -------
    ndarray
        Probabilities.
    """
    alpha, sigma = _parameters(alpha, sigma)
    z = np.asarray(z, dtype=np.float64)
    variance = prognostic_variance(alpha, sigma)
    with np.errstate(over="ignore"):  # a huge residual has Gaussian log density −∞
        log_gaussian = -0.5 * np.log(2 * np.pi * variance) - 0.5 * z / variance * z
    share = -np.expm1(np.minimum(log_gaussian - StudentT(np.zeros_like(z), alpha, sigma).logpdf(z), 0.0))
    return np.where(np.abs(z) > np.sqrt(variance), share, 0.0)


def _parameters(*given: ArrayLike) -> tuple[FloatArray, ...]:
    """α, σ and perhaps ε as arrays of one shape, checked."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in given))
    for name, array in zip(("alpha", "sigma"), arrays, strict=False):
        if not (array > 0).all():
            raise ValueError(f"{name} must be positive, its smallest value is {array.min()}")
    if len(arrays) > 2 and not ((arrays[2] >= 0) & (arrays[2] < 1)).all():
        raise ValueError(f"epsilon must lie in [0, 1), got {arrays[2].min()} to {arrays[2].max()}")
    return tuple(arrays)


def _refuse(bad: NDArray[np.bool_], alpha: FloatArray, epsilon: FloatArray, why: str) -> None:
    if np.any(bad):
        at = int(np.argmax(np.ravel(bad)))
        raise ValueError(
            f"{why} ({np.count_nonzero(bad)} of {bad.size} values; first at position {at}: "
            f"alpha {alpha.ravel()[at]:.4g}, epsilon {epsilon.ravel()[at]:.4g}); use a smaller epsilon, or "
            "the prognostic variance"
        )


# ---------------------------------------------------------------------- Fisher's information


def student_information(alpha: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Information matrix of one label in (m, ln s, ln α).

    Parameters
    ----------
    alpha : array-like
        α > 0.
    scale : array-like
        Scale s = √(σ/α) > 0.

    Returns
    -------
    ndarray of shape (…, 3, 3)
        The matrix for each pair of arguments.

    Raises
    ------
    ValueError
        If α or the scale is not positive.
    """
    alpha, scale = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(scale, np.float64))
    if not ((alpha > 0) & (scale > 0)).all():
        raise ValueError("alpha and scale must be positive")
    information = np.zeros((*alpha.shape, 3, 3))
    information[..., 0, 0] = (2 * alpha + 1) / (2 * alpha + 3) / scale / scale
    information[..., 1, 1] = of_log_scale(alpha)
    information[..., 1, 2] = information[..., 2, 1] = _across(alpha)
    information[..., 2, 2] = of_log_alpha(alpha)
    return information


def of_log_scale(alpha: ArrayLike) -> FloatArray:
    """I(ln s, ln s) = 4α/(2α+3).

    Parameters
    ----------
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The information.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    return np.asarray(4 / (2 + 3 / alpha))


def of_log_alpha(alpha: ArrayLike) -> FloatArray:
    """I(ln α, ln α): 1 for small α, 7/(8α²) for large.

    Parameters
    ----------
    alpha : array-like
        α > 0.

    Returns
    -------
    ndarray
        The information.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    near = np.minimum(alpha, _FAR)
    trigammas = near * near * (zeta(2.0, near) - zeta(2.0, near + 0.5))
    rational = near * (2 * near + 5) / ((2 * near + 1) * (2 * near + 3))
    return np.where(alpha < _FAR, trigammas - rational, _of_large_alpha(np.maximum(alpha, _FAR)))


def _of_large_alpha(alpha: FloatArray) -> FloatArray:
    """The same with its leading terms cancelled by hand, ½ + 1/(4α) against the rational part's."""
    tail = sum(
        c * _factorial(2 * k + 2) * alpha ** -(2 * k + 1.0) for k, c in enumerate(_TANH[1:].tolist(), start=1)
    )
    # ½ + 1/(4α) − α(2α+5)/((2α+1)(2α+3)), over one denominator
    rest = (3.5 + 0.75 / alpha) / (2 * alpha + 1) / (2 * alpha + 3)
    return np.asarray(rest + tail)


def _across(alpha: FloatArray) -> FloatArray:
    return np.asarray(-2 / ((1 + 0.5 / alpha) * (2 * alpha + 3)))


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1.0, n + 1)))
