"""The losses of `levelhead.losses` for tensors, as functions and as modules.

Each takes the parameters that a head returns, and targets of the same shape. Nothing is broadcast: a target of shape
(n,) against parameters (n, 1) would silently become (n, n). All are computed in logarithms of scales, in single
precision at least, and have finite values and gradients for residuals up to 1e15 and beyond. None of them waits for a
device: no value is copied between host and device.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from levelhead.torch._labels import NanPolicy, Reduction, known_options, one_of, presence, reduce, separate
from levelhead.torch.parameters import GCPParameters, NormalParameters
from levelhead.torch.special import log1p_square, log_gamma_ratio, working_dtype

Form = Literal["student", "kl"]

# Scales are limited to at least the first number, residuals to the second, and scaled residuals that are squared
# to the third: no product of them overflows, and no 0·∞ occurs in a gradient.
_LIMITS = {torch.float32: (1e-18, 1e18, 1e15), torch.float64: (1e-100, 1e150, 1e120)}


def gcp_loss(
    parameters: GCPParameters | Sequence[Tensor] | Tensor,
    target: Tensor,
    *,
    form: Form = "student",
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
    nan_policy: NanPolicy = "raise",
) -> Tensor:
    """The GCP loss.

    Parameters
    ----------
    parameters : GCPParameters, sequence of Tensor, or Tensor
        m, ν, α, β, as a `GCPHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    form : {"student", "kl"}, default="student"
        "student" is −ln t(y) (Algorithm 2), "kl" is K, equation (11) (Algorithm 1). Both have the same gradient. The
        value of "kl" does not measure progress; monitor "student".
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined. The mean is weighted; without any label it is 0.
    weight : Tensor, default=None
        Weight of each label, at least 0, of the shape of `target`. By default all weigh the same.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out. `torch.func.vmap` allows no check.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, a label is NaN, a weight is negative, or a name is not known.
    """
    one_of("form", form, ("student", "kl"))
    each = _student if form == "student" else _kl
    return _combined(each, ("m", "nu", "alpha", "beta"), parameters, target, reduction, weight, nan_policy)


def beta_divergence_loss(
    parameters: NormalParameters | Sequence[Tensor] | Tensor,
    target: Tensor,
    *,
    beta: float,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
    nan_policy: NanPolicy = "raise",
) -> Tensor:
    """The β-divergence `−(1+β)/β · p(y)^β + ∫p^(1+β)` for p = N(μ, V).

    Parameters
    ----------
    parameters : NormalParameters, sequence of Tensor, or Tensor
        Mean and variance, as a `NormalHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    beta : float
        β > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined. The mean is weighted; without any label it is 0.
    weight : Tensor, default=None
        Weight of each label, at least 0, of the shape of `target`. By default all weigh the same.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out. `torch.func.vmap` allows no check.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, a label is NaN, a weight is negative, β is not positive, or a name is not known.
    """
    each = partial(_beta_divergence, _positive("beta", beta))
    return _combined(each, ("mean", "variance"), parameters, target, reduction, weight, nan_policy)


def gamma_divergence_loss(
    parameters: NormalParameters | Sequence[Tensor] | Tensor,
    target: Tensor,
    *,
    gamma: float,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
    nan_policy: NanPolicy = "raise",
) -> Tensor:
    """The γ-divergence `−(1+γ)/γ · p(y)^γ / (∫p^(1+γ))^(γ/(1+γ))` for p = N(μ, V).

    Parameters
    ----------
    parameters : NormalParameters, sequence of Tensor, or Tensor
        Mean and variance, as a `NormalHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    gamma : float
        γ > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined. The mean is weighted; without any label it is 0.
    weight : Tensor, default=None
        Weight of each label, at least 0, of the shape of `target`. By default all weigh the same.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out. `torch.func.vmap` allows no check.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, a label is NaN, a weight is negative, γ is not positive, or a name is not known.
    """
    each = partial(_gamma_divergence, _positive("gamma", gamma))
    return _combined(each, ("mean", "variance"), parameters, target, reduction, weight, nan_policy)


class _Loss(nn.Module):
    """A loss as a module: it keeps the options and calls the function of its class."""

    def __init__(self, reduction: Reduction, nan_policy: NanPolicy) -> None:
        super().__init__()
        known_options(reduction, nan_policy)
        self.reduction: Reduction = reduction
        self.nan_policy: NanPolicy = nan_policy

    def forward(
        self, parameters: Sequence[Tensor] | Tensor, target: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        """The loss of a head's parameters at the targets.

        Parameters
        ----------
        parameters : GCPParameters, NormalParameters, sequence of Tensor, or Tensor
            The output of the head.
        target : Tensor
            Labels, of the shape of each parameter.
        weight : Tensor, default=None
            Weight of each label, at least 0, of the shape of `target`.

        Returns
        -------
        Tensor
            A scalar; of the shape of `target` for the reduction "none".
        """
        return self._loss(
            parameters, target, reduction=self.reduction, weight=weight, nan_policy=self.nan_policy
        )

    def _loss(self, parameters: Sequence[Tensor] | Tensor, target: Tensor, **options: Any) -> Tensor:
        raise NotImplementedError


class GCPLoss(_Loss):
    """`gcp_loss` as a module, for a `GCPHead`: `GCPLoss()(network(x), y)`.

    Parameters
    ----------
    form : {"student", "kl"}, default="student"
        See `gcp_loss`.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out.

    Raises
    ------
    ValueError
        If a name is not known.
    """

    def __init__(
        self, form: Form = "student", reduction: Reduction = "mean", nan_policy: NanPolicy = "raise"
    ) -> None:
        super().__init__(reduction, nan_policy)
        one_of("form", form, ("student", "kl"))
        self.form: Form = form

    def _loss(self, parameters: Sequence[Tensor] | Tensor, target: Tensor, **options: Any) -> Tensor:
        return gcp_loss(parameters, target, form=self.form, **options)


class BetaDivergenceLoss(_Loss):
    """`beta_divergence_loss` as a module, for a `NormalHead`.

    Parameters
    ----------
    beta : float
        β > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out.

    Raises
    ------
    ValueError
        If β is not positive or a name is not known.
    """

    def __init__(self, beta: float, reduction: Reduction = "mean", nan_policy: NanPolicy = "raise") -> None:
        super().__init__(reduction, nan_policy)
        self.beta = _positive("beta", beta)

    def _loss(self, parameters: Sequence[Tensor] | Tensor, target: Tensor, **options: Any) -> Tensor:
        return beta_divergence_loss(parameters, target, beta=self.beta, **options)


class GammaDivergenceLoss(_Loss):
    """`gamma_divergence_loss` as a module, for a `NormalHead`.

    Parameters
    ----------
    gamma : float
        γ > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.
    nan_policy : {"raise", "omit"}, default="raise"
        What to do with labels that are NaN: raise an error, or leave them out.

    Raises
    ------
    ValueError
        If γ is not positive or a name is not known.
    """

    def __init__(self, gamma: float, reduction: Reduction = "mean", nan_policy: NanPolicy = "raise") -> None:
        super().__init__(reduction, nan_policy)
        self.gamma = _positive("gamma", gamma)

    def _loss(self, parameters: Sequence[Tensor] | Tensor, target: Tensor, **options: Any) -> Tensor:
        return gamma_divergence_loss(parameters, target, gamma=self.gamma, **options)


def _combined(
    each: Callable[..., Tensor],
    names: tuple[str, ...],
    parameters: Sequence[Tensor] | Tensor,
    target: Tensor,
    reduction: Reduction,
    weight: Tensor | None,
    nan_policy: NanPolicy,
) -> Tensor:
    """Check everything, compute the loss of each label, and combine them."""
    known_options(reduction, nan_policy)
    separated = separate(names, parameters, target)
    present = presence(target, weight, nan_policy)
    return reduce(each(*_prepare(separated, target, nan_policy)), reduction, present)


def _beta_divergence(beta: float, y: Tensor, mu: Tensor, variance: Tensor) -> Tensor:
    r, log_variance = _scaled(y, mu, variance)
    log_peak = -beta / 2 * (math.log(2 * math.pi) + log_variance)
    power = torch.exp(log_peak - beta / 2 * r**2)  # p(y)^β
    integral = torch.exp(log_peak) / math.sqrt(1 + beta)  # ∫ p^(1+β)
    return -(1 + beta) / beta * power + integral


def _gamma_divergence(gamma: float, y: Tensor, mu: Tensor, variance: Tensor) -> Tensor:
    r, log_variance = _scaled(y, mu, variance)
    kappa = gamma / (1 + gamma)
    log_peak = -kappa / 2 * (math.log(2 * math.pi / (1 + gamma)) + log_variance)
    return -torch.exp(log_peak - gamma / 2 * r**2) / kappa


def _student(y: Tensor, m: Tensor, nu: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """`lnΓ(α) − lnΓ(α+½) + ½ ln(2πσ) + (α+½) ln(1 + z²/(2σ))`."""
    log_sigma = torch.log(beta) + torch.log1p(1 / nu)  # eq. (4)
    r = _residual(y, m) * torch.exp(-0.5 * (math.log(2) + log_sigma))
    log_scale = 0.5 * (math.log(2 * math.pi) + log_sigma)
    return log_scale - log_gamma_ratio(alpha) + (alpha + 0.5) * log1p_square(r)


def _kl(y: Tensor, m: Tensor, nu: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """K, equation (11), as a function of the prior alone: the posterior (10) is detached.

    Each difference between prior and posterior is split into two parts. The first is 0 and carries the gradient. The
    second is constant and known exactly where the plain difference would cancel. Where two gradients cancel, as those
    of lnΓ(α) − αΨ(α′) or ν/ν′ − ln ν, their sum is written in closed form.
    """
    alpha_post, nu_post = alpha.detach() + 0.5, nu.detach() + 1  # eq. (10)
    z = _residual(y, m).detach()
    r = (z * torch.exp(-0.5 * (math.log(2) + torch.log(beta) + torch.log1p(1 / nu)))).detach()
    size = torch.hypot(r, torch.ones_like(r))  # √(β′/β)
    root = 1 / (torch.sqrt(2 * beta.detach()) * size)  # (2β′)^(−½)
    from_posterior = (_moving(m) - z / nu_post) * root  # (m − m′)/√(2β′)
    log_beta_ratio = _moving(torch.log(beta)) - log1p_square(r)  # ln(β/β′)
    beta_excess = _moving(beta) / beta.detach() / size / size - (r / size) ** 2  # (β − β′)/β′
    location_part = alpha_post * nu * from_posterior**2
    nu_part = 0.5 * torch.log1p(1 / nu) - 0.5 / nu_post  # ν/(2ν′) − ½ ln(ν/ν′) − ½
    alpha_part = 0.5 * torch.digamma(alpha_post) - log_gamma_ratio(alpha)  # lnΓ(α)/Γ(α′) − (α − α′)Ψ(α′)
    return location_part + nu_part - alpha * log_beta_ratio + alpha_part + alpha_post * beta_excess


def _moving(x: Tensor) -> Tensor:
    """0, with the gradient of x."""
    return x - x.detach()


def _residual(y: Tensor, m: Tensor) -> Tensor:
    largest = _LIMITS[y.dtype][1]
    return (y - m).clamp(-largest, largest)


def _scaled(y: Tensor, mu: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """(y − μ)/√V, limited where the density is 0 anyway, and ln V."""
    log_variance = torch.log(variance)
    largest = _LIMITS[y.dtype][2]
    r = _residual(y, mu) * torch.exp(-0.5 * log_variance)
    return r.clamp(-largest, largest), log_variance


def _prepare(parameters: Sequence[Tensor], target: Tensor, nan_policy: NanPolicy) -> tuple[Tensor, ...]:
    """Target and parameters in one precision, the positive ones above their limit."""
    dtype = working_dtype(*parameters)
    smallest = _LIMITS[dtype][0]
    location, *positive = (parameter.to(dtype) for parameter in parameters)
    y = target.to(dtype)
    if nan_policy == "omit":
        y = torch.where(
            y.isnan(), location.detach(), y
        )  # their weight is 0, and 0 times a gradient must be 0
    return (y, location, *(p.clamp(min=smallest) for p in positive))


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} is {value}; it must be positive (its limit 0 is the Gaussian likelihood)")
    return value
