"""The parameters that a head returns, by name, and the distributions they describe."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from levelhead.torch.distributions import StudentT
from levelhead.torch.special import alpha_minus_A


def _as_tuples_are(cls: Any) -> Any:
    """Let a named tuple also be built from one iterable, like `tuple`; skorch needs this to move it to a device."""
    by_name = cls.__new__

    def new(cls: Any, *fields: Any, **named: Any) -> Any:
        whole = len(fields) == 1 and not named
        return by_name(cls, *fields[0]) if whole else by_name(cls, *fields, **named)

    cls.__new__ = new
    return cls


def _blocks(tensor: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """One block of the last axis per name."""
    if tensor.ndim == 0 or tensor.shape[-1] % len(names):
        raise ValueError(
            f"the tensor has shape {tuple(tensor.shape)}; its last axis must hold {', '.join(names)}, that is "
            f"{len(names)} numbers per output"
        )
    blocks: tuple[Tensor, ...] = tensor.chunk(len(names), dim=-1)
    return blocks


@_as_tuples_are
class GCPParameters(NamedTuple):
    """m, ν, α, β of the normal-gamma prior on the label of every row, in tensors of one shape.

    Attributes
    ----------
    m : Tensor
        Location.
    nu : Tensor
        ν > 0.
    alpha : Tensor
        α > 0.
    beta : Tensor
        β > 0.
    """

    m: Tensor
    nu: Tensor
    alpha: Tensor
    beta: Tensor

    @classmethod
    def from_tensor(cls, tensor: Tensor) -> "GCPParameters":
        """Split one tensor, as a head with `as_tensor=True` returns it.

        Parameters
        ----------
        tensor : Tensor of shape (…, 4·out_features)
            m, ν, α, β, side by side.

        Returns
        -------
        GCPParameters
            Tensors of shape (…, out_features).

        Raises
        ------
        ValueError
            If the last axis is not a multiple of 4.
        """
        return cls(*_blocks(tensor, cls._fields))

    def to_tensor(self) -> Tensor:
        """Join the parameters to one tensor, for libraries that want one.

        Returns
        -------
        Tensor of shape (…, 4·out_features)
            m, ν, α, β, side by side.
        """
        return torch.cat(tuple(self), dim=-1)

    @property
    def sigma(self) -> Tensor:
        """σ = β(ν+1)/ν, equation (4)."""
        return self.beta * (self.nu + 1) / self.nu

    def clean(self) -> Normal:
        """Distribution of the clean label: N(m, V_p) with the prognostic variance (6).

        Returns
        -------
        torch.distributions.Normal
            One distribution per entry.
        """
        mean, variance, _ = prognosis(self)
        return Normal(mean, variance.sqrt())

    def contaminated(self) -> StudentT:
        """Distribution of the label as it is given, wrong ones included: Student's t of equation (3).

        Returns
        -------
        StudentT
            One distribution per entry.
        """
        return StudentT(2 * self.alpha, self.m, torch.sqrt(self.sigma / self.alpha))


@_as_tuples_are
class NormalParameters(NamedTuple):
    """Mean and variance of a Gaussian label, in tensors of one shape.

    Attributes
    ----------
    mean : Tensor
        Mean μ.
    variance : Tensor
        Variance V > 0.
    """

    mean: Tensor
    variance: Tensor

    @classmethod
    def from_tensor(cls, tensor: Tensor) -> "NormalParameters":
        """Split one tensor, as a head with `as_tensor=True` returns it.

        Parameters
        ----------
        tensor : Tensor of shape (…, 2·out_features)
            Mean and variance, side by side.

        Returns
        -------
        NormalParameters
            Tensors of shape (…, out_features).

        Raises
        ------
        ValueError
            If the last axis is not a multiple of 2.
        """
        return cls(*_blocks(tensor, cls._fields))

    def to_tensor(self) -> Tensor:
        """Join the parameters to one tensor, for libraries that want one.

        Returns
        -------
        Tensor of shape (…, 2·out_features)
            Mean and variance, side by side.
        """
        return torch.cat(tuple(self), dim=-1)

    def clean(self) -> Normal:
        """Distribution of the clean label: N(μ, V).

        Returns
        -------
        torch.distributions.Normal
            One distribution per entry.
        """
        return Normal(self.mean, self.variance.sqrt())


@_as_tuples_are
class Prognosis(NamedTuple):
    """Mean and variance of the clean label, and variance of the label as it is given.

    Attributes
    ----------
    mean : Tensor
        Mean m of the clean label.
    variance : Tensor
        Variance V_p of the clean label, equation (6).
    student_variance : Tensor
        Variance V_St of the label as it is given, equation (9); ∞ for α ≤ 1.
    """

    mean: Tensor
    variance: Tensor
    student_variance: Tensor


def prognosis(parameters: GCPParameters | Tensor) -> Prognosis:
    """Compute mean and variance of the clean labels: `V_p = σ/(α − A(α))`; `V_St = σ/(α−1)`, ∞ for α ≤ 1.

    Parameters
    ----------
    parameters : GCPParameters or Tensor
        m, ν, α, β, as a `GCPHead` returns them.

    Returns
    -------
    Prognosis
        Tensors of the same shape.
    """
    named = GCPParameters.from_tensor(parameters) if isinstance(parameters, Tensor) else parameters
    m, nu, alpha, beta = named
    sigma = beta * (nu + 1) / nu  # eq. (4)
    heavy = alpha <= 1
    excess = torch.where(heavy, 1.0, alpha - 1)
    student = torch.where(heavy, torch.inf, sigma / excess)
    return Prognosis(mean=m, variance=sigma / alpha_minus_A(alpha), student_variance=student)


class PrognosisLayer(nn.Module):
    """`prognosis` as the last layer of a network, for export or serving."""

    def forward(self, parameters: GCPParameters | Tensor) -> Prognosis:
        """Compute mean and variances.

        Parameters
        ----------
        parameters : GCPParameters or Tensor
            m, ν, α, β, as a `GCPHead` returns them.

        Returns
        -------
        Prognosis
            Tensors of the same shape.
        """
        return prognosis(parameters)
