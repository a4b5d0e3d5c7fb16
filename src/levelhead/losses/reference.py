"""The losses of the paper, each a value with its gradient, elementwise, in plain numpy.

Each function below takes a label and the natural parameters of one model. It returns the loss and its gradient, one
array per parameter. All arguments have one shape; nothing is broadcast and nothing is averaged.

| function | model of y | natural parameters |
|---|---|---|
| `student`, `kl` | Student's t (3), by Algorithm 2 and by Algorithm 1, with equal gradients | m, ν, α, β |
| `student_direct` | the same Student's t with its own parameters (remark at the end of Appendix A) | m, α, σ |
| `gaussian` | N(μ, V) by likelihood, the non-robust baseline | μ, V |
| `beta_divergence`, `gamma_divergence` | N(μ, V) by β- or γ-divergence | μ, V |

A `Loss` joins one of them to the links that turn the raw outputs of a network into its parameters:

>>> import numpy as np
>>> loss = gcp()
>>> value, gradient = loss.of_outputs(np.array([0.3]), np.array([[0.0, 0.0, 0.0, 0.0]]))
>>> value.shape, gradient.shape
((1,), (1, 4))
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, expit

from levelhead.theory import student as student_t
from levelhead.theory.special import delta_psi, log_gamma_ratio

FloatArray = NDArray[np.float64]
_LARGEST = np.finfo(np.float64).max


class LossAndGradient(NamedTuple):
    """The loss of each label and its gradient.

    Attributes
    ----------
    value : ndarray
        Loss of each label.
    gradient : tuple of ndarray
        Derivative by each natural parameter, in the order of the arguments.
    """

    value: FloatArray
    gradient: tuple[FloatArray, ...]


def student(y: ArrayLike, m: ArrayLike, nu: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> LossAndGradient:
    """−ln t(y), the GCP loss as Student likelihood (Algorithm 2).

    `−lnΓ(α+½) + lnΓ(α) + ½ ln(2πσ) + (α+½) ln(1 + z²/(2σ))` with z = y − m and σ from (4).

    Parameters
    ----------
    y : array-like
        Labels.
    m : array-like of the same shape
        Locations.
    nu : array-like of the same shape
        ν > 0.
    alpha : array-like of the same shape
        α > 0.
    beta : array-like of the same shape
        β > 0.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by m, ν, α and β.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y, m, nu, alpha, beta = same_shape(y=y, m=m, nu=nu, alpha=alpha, beta=beta)
    sigma = beta * (nu + 1) / nu  # eq. (4)
    at = student_t.ratios(y - m, sigma)
    h = alpha * at.far - at.near / 2  # (αz² − σ)/(2σ + z²)
    by_m, by_alpha = student_t.by_location(at, alpha), student_t.by_alpha(at, alpha)
    value = student_t.negative_log(at, alpha, sigma)
    return LossAndGradient(value, (by_m, h / (nu * (nu + 1)), by_alpha, -h / beta))


def student_direct(y: ArrayLike, m: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> LossAndGradient:
    """−ln t(y) in the parameters of Student's t itself: the form with three outputs (end of Appendix A).

    ν enters the marginal distribution only through σ, so that this is the same family of distributions.

    Parameters
    ----------
    y : array-like
        Labels.
    m : array-like of the same shape
        Locations.
    alpha : array-like of the same shape
        α > 0, half the degrees of freedom.
    sigma : array-like of the same shape
        σ > 0; σ/α is the squared scale.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by m, α and σ.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y, m, alpha, sigma = same_shape(y=y, m=m, alpha=alpha, sigma=sigma)
    at = student_t.ratios(y - m, sigma)
    h = alpha * at.far - at.near / 2  # (αz² − σ)/(2σ + z²)
    value = student_t.negative_log(at, alpha, sigma)
    return LossAndGradient(
        value, (student_t.by_location(at, alpha), student_t.by_alpha(at, alpha), -h / sigma)
    )


def kl(y: ArrayLike, m: ArrayLike, nu: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> LossAndGradient:
    """K, equation (11): the divergence from the posterior given y to the prior (Algorithm 1).

    The gradient is taken with the posterior m′, ν′, α′, β′ held fixed, and equals that of `student`. The value depends
    on both prior and posterior, so do not monitor it or use it in a line search; use `student` for that.

    Parameters
    ----------
    y : array-like
        Labels.
    m : array-like of the same shape
        Locations.
    nu : array-like of the same shape
        ν > 0.
    alpha : array-like of the same shape
        α > 0.
    beta : array-like of the same shape
        β > 0.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by m, ν, α and β.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y, m, nu, alpha, beta = same_shape(y=y, m=m, nu=nu, alpha=alpha, beta=beta)
    far, near, slope, log_growth = student_t.ratios(y - m, beta * (nu + 1) / nu)  # β/β′ is the near share
    alpha_post = alpha + 0.5  # eq. (10)
    value = (
        alpha_post * far / (nu + 1)  # α′(m − m′)²ν/(2β′)
        - 0.5 / (nu + 1)  # ν/(2ν′) − ½
        + 0.5 * np.log1p(1 / nu)
        + alpha * log_growth
        - log_gamma_ratio(alpha)
        + 0.5 * digamma(alpha_post)
        - alpha_post * far
    )
    by_m = -2 * alpha_post * slope  # α′(m − m′)ν/β′
    by_nu = (alpha_post * far - 0.5) / (nu * (nu + 1))
    by_alpha = log_growth + delta_psi(alpha)
    by_beta = (alpha_post * near - alpha) / beta
    return LossAndGradient(value, (by_m, by_nu, by_alpha, by_beta))


def gaussian(y: ArrayLike, mu: ArrayLike, variance: ArrayLike) -> LossAndGradient:
    """−ln N(y; μ, V). Its derivative by V is limited to the largest float for huge residuals.

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
        Value, and derivatives by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y, mu, variance = same_shape(y=y, mu=mu, variance=variance)
    z = y - mu
    z2 = z * z / variance
    value = 0.5 * np.log(2 * np.pi * variance) + 0.5 * z2
    with np.errstate(over="ignore"):
        by_variance = np.clip((0.5 - 0.5 * z2) / variance, -_LARGEST, _LARGEST)
    return LossAndGradient(value, (-z / variance, by_variance))


def beta_divergence(y: ArrayLike, mu: ArrayLike, variance: ArrayLike, *, beta: float) -> LossAndGradient:
    """The β-divergence `−(1+β)/β · p(y)^β + ∫p^(1+β)` for p = N(μ, V).

    Plus 1/β it tends to `gaussian` as β → 0.

    Parameters
    ----------
    y : array-like
        Labels.
    mu : array-like of the same shape
        Means.
    variance : array-like of the same shape
        Variances V > 0.
    beta : float
        β > 0; larger values give outliers less weight.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ or β is not positive.
    """
    y, mu, variance = same_shape(y=y, mu=mu, variance=variance)
    positive(beta=beta)
    z = y - mu
    z2 = z * z / variance
    peak = (2 * np.pi * variance) ** (-beta / 2)
    power = peak * np.exp(-beta / 2 * z2)  # p(y)^β
    integral = peak / np.sqrt(1 + beta)  # ∫ p^(1+β)
    value = -(1 + beta) / beta * power + integral
    by_mu = -(1 + beta) * (power * z) / variance
    by_variance = -0.5 * ((1 + beta) * (power * z2 - power) + beta * integral) / variance
    return LossAndGradient(value, (by_mu, by_variance))


def gamma_divergence(y: ArrayLike, mu: ArrayLike, variance: ArrayLike, *, gamma: float) -> LossAndGradient:
    """The γ-divergence `−(1+γ)/γ · p(y)^γ / (∫p^(1+γ))^(γ/(1+γ))` for p = N(μ, V).

    Plus 1 + 1/γ it tends to `gaussian` as γ → 0.

    Parameters
    ----------
    y : array-like
        Labels.
    mu : array-like of the same shape
        Means.
    variance : array-like of the same shape
        Variances V > 0.
    gamma : float
        γ > 0; larger values give outliers less weight.

    Returns
    -------
    LossAndGradient
        Value, and derivatives by μ and V.

    Raises
    ------
    ValueError
        If the shapes differ or γ is not positive.
    """
    y, mu, variance = same_shape(y=y, mu=mu, variance=variance)
    positive(gamma=gamma)
    z = y - mu
    z2 = z * z / variance
    kappa = gamma / (1 + gamma)
    power = (2 * np.pi * variance / (1 + gamma)) ** (-kappa / 2) * np.exp(-gamma / 2 * z2)
    by_mu = -(1 + gamma) * (power * z) / variance
    by_variance = 0.5 * (power - (1 + gamma) * (power * z2)) / variance
    return LossAndGradient(-power / kappa, (by_mu, by_variance))


@dataclass(frozen=True)
class Loss:
    """A loss of network outputs: one output per natural parameter, the positive ones through a softplus.

    Parameters
    ----------
    name : str
        The name that estimators and engine use.
    function : callable
        Called with labels and natural parameters; returns value and gradient.
    parameters : tuple of str
        Names of the natural parameters, in the order of the outputs.
    floors : tuple of (float or None)
        For each parameter None (the output is the parameter) or a number c (the parameter is softplus(output) + c).
    """

    name: str
    function: Callable[..., LossAndGradient]
    parameters: tuple[str, ...]
    floors: tuple[float | None, ...]

    def __call__(self, y: ArrayLike, *parameters: ArrayLike) -> LossAndGradient:
        """Value and gradient in natural parameters.

        Parameters
        ----------
        y : array-like
            Labels.
        *parameters : array-like of the same shape
            Natural parameters, in the order of `parameters`.

        Returns
        -------
        LossAndGradient
            Value, and derivative by each parameter.
        """
        return self.function(y, *parameters)

    def link(self, outputs: ArrayLike) -> tuple[FloatArray, ...]:
        """Turn network outputs into natural parameters.

        Parameters
        ----------
        outputs : array-like of shape (…, n_parameters)
            Raw outputs.

        Returns
        -------
        tuple of ndarray
            Natural parameters, one array each.

        Raises
        ------
        ValueError
            If the last axis does not have one entry per parameter.
        """
        columns = self._columns(outputs)
        return tuple(
            u if floor is None else np.logaddexp(0, u) + floor
            for u, floor in zip(columns, self.floors, strict=True)
        )

    def of_outputs(self, y: ArrayLike, outputs: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Value and gradient in network outputs.

        Parameters
        ----------
        y : array-like of shape (…)
            Labels.
        outputs : array-like of shape (…, n_parameters)
            Raw outputs.

        Returns
        -------
        value : ndarray of shape (…)
            Loss of each label.
        gradient : ndarray of shape (…, n_parameters)
            Derivative by each output.
        """
        value, gradient = self.function(y, *self.link(outputs))
        columns = self._columns(outputs)
        by_output = [
            g if floor is None else g * expit(u)
            for g, u, floor in zip(gradient, columns, self.floors, strict=True)
        ]
        return value, np.stack(by_output, axis=-1)

    def _columns(self, outputs: ArrayLike) -> list[FloatArray]:
        given = np.asarray(outputs, dtype=np.float64)
        if given.ndim == 0 or given.shape[-1] != len(self.parameters):
            raise ValueError(
                f"outputs have shape {given.shape}; {self.name} needs a last axis of "
                f"{len(self.parameters)} ({', '.join(self.parameters)})"
            )
        return [given[..., k] for k in range(len(self.parameters))]


def gcp(
    form: Literal["student", "kl"] = "student", *, alpha_floor: float = 0.1, beta_floor: float = 0.0
) -> Loss:
    """The GCP loss with the paper's links: m linear, ν and β softplus, α softplus + 0.1.

    Parameters
    ----------
    form : {"student", "kl"}, default="student"
        "student" is −ln t (Algorithm 2), "kl" is K of (11) (Algorithm 1). Their gradients are equal.
    alpha_floor : float, default=0.1
        Added to the softplus of α.
    beta_floor : float, default=0.0
        Added to the softplus of β.

    Returns
    -------
    Loss
        Parameters m, ν, α, β.

    Raises
    ------
    ValueError
        If `form` is not known.
    """
    if form not in ("student", "kl"):
        raise ValueError(f"form is {form!r}; choose 'student' (Algorithm 2) or 'kl' (Algorithm 1)")
    function = student if form == "student" else kl
    return Loss("gcp", function, ("m", "nu", "alpha", "beta"), (None, 0.0, alpha_floor, beta_floor))


def gcp_direct(*, alpha_floor: float = 0.1, sigma_floor: float = 0.0) -> Loss:
    """The GCP loss with three outputs: m linear, α softplus + 0.1, σ softplus.

    Parameters
    ----------
    alpha_floor : float, default=0.1
        Added to the softplus of α.
    sigma_floor : float, default=0.0
        Added to the softplus of σ.

    Returns
    -------
    Loss
        Parameters m, α, σ.
    """
    return Loss("gcp_direct", student_direct, ("m", "alpha", "sigma"), (None, alpha_floor, sigma_floor))


def normal(*, variance_floor: float = 0.0) -> Loss:
    """The Gaussian likelihood with a softplus variance.

    Parameters
    ----------
    variance_floor : float, default=0.0
        Added to the softplus of the variance.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    return Loss("gaussian", gaussian, ("mu", "variance"), (None, variance_floor))


def beta_normal(beta: float, *, variance_floor: float = 0.0) -> Loss:
    """The β-divergence to a Gaussian with a softplus variance.

    Parameters
    ----------
    beta : float
        β > 0.
    variance_floor : float, default=0.0
        Added to the softplus of the variance.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    function = partial(beta_divergence, beta=beta)
    return Loss("beta", function, ("mu", "variance"), (None, variance_floor))


def gamma_normal(gamma: float, *, variance_floor: float = 0.0) -> Loss:
    """The γ-divergence to a Gaussian with a softplus variance.

    Parameters
    ----------
    gamma : float
        γ > 0.
    variance_floor : float, default=0.0
        Added to the softplus of the variance.

    Returns
    -------
    Loss
        Parameters μ and V.
    """
    function = partial(gamma_divergence, gamma=gamma)
    return Loss("gamma", function, ("mu", "variance"), (None, variance_floor))


def same_shape(**named: ArrayLike) -> list[FloatArray]:
    """Return the arguments as arrays; raises ValueError if their shapes differ."""
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in named.items()}
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"all arguments need one shape, got {shapes}; nothing is broadcast")
    return list(arrays.values())


def positive(**named: float) -> None:
    """Raise ValueError for a constant that is not positive."""
    for name, value in named.items():
        if not value > 0:
            raise ValueError(f"{name} is {value}; it must be positive")
