"""The losses of `levelhead.losses` for tensors, as functions and as modules.

Each takes the parameters that a head returns, and targets of the same shape. Nothing is broadcast: a target of shape
(n,) against parameters (n, 1) would silently become (n, n). All are computed in logarithms of scales, in single
precision at least, and have finite values and gradients for residuals up to 1e15 and beyond.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from levelhead.torch.parameters import GCPParameters, NormalParameters
from levelhead.torch.special import log1p_square, log_gamma_ratio, working_dtype

Form = Literal["student", "kl"]
Reduction = Literal["mean", "sum", "none"]

# Scales are limited to at least the first number, residuals to the second, and scaled residuals that are squared
# to the third: no product of them overflows, and no 0·∞ occurs in a gradient.
_LIMITS = {torch.float32: (1e-18, 1e18, 1e15), torch.float64: (1e-100, 1e150, 1e120)}


def gcp_loss(
    parameters: GCPParameters | Sequence[Tensor],
    target: Tensor,
    *,
    form: Form = "student",
    reduction: Reduction = "mean",
) -> Tensor:
    """The GCP loss.

    Parameters
    ----------
    parameters : GCPParameters or sequence of Tensor
        m, ν, α, β, as a `GCPHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    form : {"student", "kl"}, default="student"
        "student" is −ln t(y) (Algorithm 2), "kl" is K, equation (11) (Algorithm 1). Both have the same gradient. The
        value of "kl" does not measure progress; monitor "student".
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, or a name is not known.
    """
    _one_of("form", form, ("student", "kl"))
    function = _student if form == "student" else _kl
    return _reduce(function(*_prepare(("m", "nu", "alpha", "beta"), parameters, target)), reduction)


def beta_divergence_loss(
    parameters: NormalParameters | Sequence[Tensor],
    target: Tensor,
    *,
    beta: float,
    reduction: Reduction = "mean",
) -> Tensor:
    """The β-divergence `−(1+β)/β · p(y)^β + ∫p^(1+β)` for p = N(μ, V).

    Parameters
    ----------
    parameters : NormalParameters or sequence of Tensor
        Mean and variance, as a `NormalHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    beta : float
        β > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, β is not positive, or the reduction is not known.
    """
    _positive("beta", beta)
    y, mu, variance = _prepare(("mean", "variance"), parameters, target)
    r, log_variance = _scaled(y, mu, variance)
    log_peak = -beta / 2 * (math.log(2 * math.pi) + log_variance)
    power = torch.exp(log_peak - beta / 2 * r**2)  # p(y)^β
    integral = torch.exp(log_peak) / math.sqrt(1 + beta)  # ∫ p^(1+β)
    return _reduce(-(1 + beta) / beta * power + integral, reduction)


def gamma_divergence_loss(
    parameters: NormalParameters | Sequence[Tensor],
    target: Tensor,
    *,
    gamma: float,
    reduction: Reduction = "mean",
) -> Tensor:
    """The γ-divergence `−(1+γ)/γ · p(y)^γ / (∫p^(1+γ))^(γ/(1+γ))` for p = N(μ, V).

    Parameters
    ----------
    parameters : NormalParameters or sequence of Tensor
        Mean and variance, as a `NormalHead` returns them.
    target : Tensor
        Labels, of the shape of each parameter.
    gamma : float
        γ > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Returns
    -------
    Tensor
        A scalar; of the shape of `target` for "none".

    Raises
    ------
    ValueError
        If shapes differ, γ is not positive, or the reduction is not known.
    """
    _positive("gamma", gamma)
    y, mu, variance = _prepare(("mean", "variance"), parameters, target)
    r, log_variance = _scaled(y, mu, variance)
    kappa = gamma / (1 + gamma)
    log_peak = -kappa / 2 * (math.log(2 * math.pi / (1 + gamma)) + log_variance)
    return _reduce(-torch.exp(log_peak - gamma / 2 * r**2) / kappa, reduction)


class GCPLoss(nn.Module):
    """`gcp_loss` as a module, for a `GCPHead`: `GCPLoss()(network(x), y)`.

    Parameters
    ----------
    form : {"student", "kl"}, default="student"
        See `gcp_loss`.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Raises
    ------
    ValueError
        If a name is not known.
    """

    def __init__(self, form: Form = "student", reduction: Reduction = "mean") -> None:
        super().__init__()
        _one_of("form", form, ("student", "kl"))
        self.form: Form = form
        self.reduction: Reduction = _known(reduction)

    def forward(self, parameters: GCPParameters | Sequence[Tensor], target: Tensor) -> Tensor:
        """The loss of the parameters m, ν, α, β at the targets.

        Parameters
        ----------
        parameters : GCPParameters or sequence of Tensor
            m, ν, α, β, as a `GCPHead` returns them.
        target : Tensor
            Labels, of the shape of each parameter.

        Returns
        -------
        Tensor
            A scalar; of the shape of `target` for the reduction "none".
        """
        return gcp_loss(parameters, target, form=self.form, reduction=self.reduction)


class BetaDivergenceLoss(nn.Module):
    """`beta_divergence_loss` as a module, for a `NormalHead`.

    Parameters
    ----------
    beta : float
        β > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Raises
    ------
    ValueError
        If β is not positive or the reduction is not known.
    """

    def __init__(self, beta: float, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.beta = _positive("beta", beta)
        self.reduction: Reduction = _known(reduction)

    def forward(self, parameters: NormalParameters | Sequence[Tensor], target: Tensor) -> Tensor:
        """The loss of mean and variance at the targets.

        Parameters
        ----------
        parameters : NormalParameters or sequence of Tensor
            Mean and variance, as a `NormalHead` returns them.
        target : Tensor
            Labels, of the shape of each parameter.

        Returns
        -------
        Tensor
            A scalar; of the shape of `target` for the reduction "none".
        """
        return beta_divergence_loss(parameters, target, beta=self.beta, reduction=self.reduction)


class GammaDivergenceLoss(nn.Module):
    """`gamma_divergence_loss` as a module, for a `NormalHead`.

    Parameters
    ----------
    gamma : float
        γ > 0; larger values give outliers less weight.
    reduction : {"mean", "sum", "none"}, default="mean"
        How the losses of all labels are combined.

    Raises
    ------
    ValueError
        If γ is not positive or the reduction is not known.
    """

    def __init__(self, gamma: float, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.gamma = _positive("gamma", gamma)
        self.reduction: Reduction = _known(reduction)

    def forward(self, parameters: NormalParameters | Sequence[Tensor], target: Tensor) -> Tensor:
        """The loss of mean and variance at the targets.

        Parameters
        ----------
        parameters : NormalParameters or sequence of Tensor
            Mean and variance, as a `NormalHead` returns them.
        target : Tensor
            Labels, of the shape of each parameter.

        Returns
        -------
        Tensor
            A scalar; of the shape of `target` for the reduction "none".
        """
        return gamma_divergence_loss(parameters, target, gamma=self.gamma, reduction=self.reduction)


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


def _prepare(names: tuple[str, ...], parameters: Sequence[Tensor], target: Tensor) -> tuple[Tensor, ...]:
    """Target and parameters in one precision and of one shape, the positive ones above their limit."""
    if isinstance(parameters, Tensor) or len(parameters) != len(names):
        given = "one tensor" if isinstance(parameters, Tensor) else f"{len(parameters)} tensors"
        raise ValueError(
            f"the loss needs the tensors {', '.join(names)}, as a head returns them; got {given}"
        )
    for name, parameter in zip(names, parameters, strict=True):
        if parameter.shape != target.shape:
            raise ValueError(
                f"target has shape {tuple(target.shape)} but {name} has {tuple(parameter.shape)}; nothing is "
                "broadcast: reshape the target (for one output, target.unsqueeze(-1))"
            )
    dtype = working_dtype(*parameters)
    smallest = _LIMITS[dtype][0]
    location, *positive = (parameter.to(dtype) for parameter in parameters)
    return (target.to(dtype), location, *(p.clamp(min=smallest) for p in positive))


def _reduce(loss: Tensor, reduction: Reduction) -> Tensor:
    _known(reduction)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _known(reduction: Reduction) -> Reduction:
    _one_of("reduction", reduction, ("mean", "sum", "none"))
    return reduction


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}")


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} is {value}; it must be positive (its limit 0 is the Gaussian likelihood)")
    return value
