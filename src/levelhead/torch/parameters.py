"""What a network with a head gives, by name, and what is read off it."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from levelhead.torch.distributions import StudentT
from levelhead.torch.special import alpha_minus_A


def _as_tuples_are(cls: Any) -> Any:
    """Let a named tuple be built from one iterable too, as `tuple` is: so skorch moves it to a device."""
    by_name = cls.__new__

    def new(cls: Any, *fields: Any, **named: Any) -> Any:
        whole = len(fields) == 1 and not named
        return by_name(cls, *fields[0]) if whole else by_name(cls, *fields, **named)

    cls.__new__ = new
    return cls


@_as_tuples_are
class GCPParameters(NamedTuple):
    """m, ν, α, β of the normal-gamma prior on the label of every row, in tensors of one shape."""

    m: Tensor
    nu: Tensor
    alpha: Tensor
    beta: Tensor

    @property
    def sigma(self) -> Tensor:
        """σ = β(ν+1)/ν, equation (4)."""
        return self.beta * (self.nu + 1) / self.nu

    def clean(self) -> Normal:
        """The clean label: N(m, V_p) with the prognostic variance (6)."""
        mean, variance, _ = prognosis(self)
        return Normal(mean, variance.sqrt())

    def contaminated(self) -> StudentT:
        """The label as it is given, wrong ones included: Student's t of equation (3)."""
        return StudentT(2 * self.alpha, self.m, torch.sqrt(self.sigma / self.alpha))


@_as_tuples_are
class NormalParameters(NamedTuple):
    """Mean and variance of a Gaussian label, in tensors of one shape."""

    mean: Tensor
    variance: Tensor

    def clean(self) -> Normal:
        """The clean label: N(μ, V)."""
        return Normal(self.mean, self.variance.sqrt())


@_as_tuples_are
class Prognosis(NamedTuple):
    """Mean m and variance V_p (6) of the clean label; variance V_St (9) of the labels as they are given."""

    mean: Tensor
    variance: Tensor
    student_variance: Tensor


def prognosis(parameters: GCPParameters) -> Prognosis:
    """What the parameters say of the clean labels: `V_p = σ/(α − A(α))`; `V_St = σ/(α−1)`, ∞ for α ≤ 1."""
    m, nu, alpha, beta = parameters
    sigma = beta * (nu + 1) / nu  # eq. (4)
    heavy = alpha <= 1
    excess = torch.where(heavy, 1.0, alpha - 1)
    student = torch.where(heavy, torch.inf, sigma / excess)
    return Prognosis(mean=m, variance=sigma / alpha_minus_A(alpha), student_variance=student)


class PrognosisLayer(nn.Module):
    """`prognosis` as the last layer of a network that is to be exported or served."""

    def forward(self, parameters: GCPParameters) -> Prognosis:
        """Mean and variances."""
        return prognosis(parameters)
