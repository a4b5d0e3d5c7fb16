"""Heads: the last layer of a network, which gives the parameters of each label's distribution by name."""

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from levelhead.theory.special import alpha_minus_A
from levelhead.torch.parameters import GCPParameters, NormalParameters
from levelhead.torch.special import working_dtype

_EXACT = 40.0  # beyond it softplus(u) is u to the last digit of double precision
_TIMID = 0.1  # shapes start almost alike for every row: the trunk knows nothing yet


class _Head(nn.Module):
    """A linear layer with one block of outputs per parameter, in the units of the targets.

    The outputs describe standardised targets; `location` and `scale` carry them to the units of the targets.
    """

    n_parameters: int

    def __init__(self, in_features: int, out_features: int, device=None, dtype=None) -> None:
        super().__init__()
        for name, value in (("in_features", in_features), ("out_features", out_features)):
            if value < 1:
                raise ValueError(f"{name} is {value}; give at least 1")
        self.in_features = in_features
        self.out_features = out_features
        self.linear = nn.Linear(in_features, self.n_parameters * out_features, device=device, dtype=dtype)
        self.register_buffer("location", torch.zeros(out_features, device=device, dtype=dtype))
        self.register_buffer("scale", torch.ones(out_features, device=device, dtype=dtype))

    def start_from(self, targets: Tensor) -> Self:
        """Start at the median of the targets, with the width that most of them have.

        Call it once before training if the targets are not standardised. Median and median deviation are
        blind to wrong labels, which mean and standard deviation would follow.

        Parameters
        ----------
        targets : the training targets, shape (n, out_features), or (n,) for one output.
        """
        columns = torch.as_tensor(targets).detach().reshape(-1, self.out_features).double()
        if not columns.isfinite().all():
            raise ValueError("targets hold NaN or infinite values; remove or fix them")
        median = columns.median(dim=0).values
        away = (columns - median).abs()
        robust = 1.4826 * away.median(dim=0).values
        # More than half of the targets may be equal, as with counts; the mean deviation still has a width.
        width = torch.where(robust > 0, robust, math.sqrt(math.pi / 2) * away.mean(dim=0))
        if not (width > 0).all():
            constant = int(torch.argmin(width))
            raise ValueError(f"targets of output {constant} are all equal: there is nothing to learn")
        self.location.copy_(median)
        self.scale.copy_(width)
        return self

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"

    def _blocks(self, raw: Tensor) -> tuple[Tensor, ...]:
        """One tensor per parameter; half precision ends here, as it has too few digits for a variance."""
        raw = raw.to(working_dtype(raw))
        return raw.unflatten(-1, (self.n_parameters, self.out_features)).unbind(-2)

    def _start(self, *constants: float) -> None:
        """Let the parameters behind the first be almost constant at the beginning."""
        with torch.no_grad():
            self.linear.weight[self.out_features :] *= _TIMID
            for k, value in enumerate(constants):
                block = slice(k * self.out_features, (k + 1) * self.out_features)
                self.linear.bias[block] = value


class GCPHead(_Head):
    """Gives m, ν, α, β of every row by name, with the paper's links: softplus for all but m.

    For standardised targets the head starts at m near 0, α = 1 and V_p = 1: a small α, from which training
    finds the solution that ignores wrong labels. For others, see `start_from`.

    >>> head = GCPHead(16, 2).start_from(torch.tensor([[300.0, 0.1], [310.0, 0.2], [290.0, 0.3]]))
    >>> head(torch.zeros(5, 16)).m.shape, head.scale
    (torch.Size([5, 2]), tensor([14.8260,  0.1483]))

    Parameters
    ----------
    in_features : width of the trunk's output.
    out_features : number of targets; parameters have the shape (…, out_features), and so must the targets.
    alpha_floor, beta_floor, nu_floor : what is added to the softplus. The floor of β, in units of the squared
        target scale, keeps the likelihood bounded where many residuals are exactly 0.
    """

    n_parameters = 4

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        *,
        alpha_floor: float = 0.1,
        beta_floor: float = 1e-6,
        nu_floor: float = 1e-6,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(in_features, out_features, device, dtype)
        for name, floor in (("alpha", alpha_floor), ("beta", beta_floor), ("nu", nu_floor)):
            if not floor >= 0:
                raise ValueError(f"{name}_floor is {floor}; it must not be negative")
        self.alpha_floor, self.beta_floor, self.nu_floor = alpha_floor, beta_floor, nu_floor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, and start at α = 1, ν = 1, V_p = 1 (or just above floors that exclude this)."""
        self.linear.reset_parameters()
        alpha = max(1.0, 2 * self.alpha_floor)
        nu = max(1.0, 2 * self.nu_floor)
        sigma = float(alpha_minus_A(alpha))  # V_p = 1 in (6)
        beta = max(sigma * nu / (nu + 1), 2 * self.beta_floor)  # eq. (4)
        links = [
            _softplus_inverse(value - floor)
            for value, floor in ((nu, self.nu_floor), (alpha, self.alpha_floor), (beta, self.beta_floor))
        ]
        self._start(0.0, *links)

    def forward(self, features: Tensor) -> GCPParameters:
        """Parameters of shape (…, out_features) from features of shape (…, in_features)."""
        return self.link(self.linear(features))

    def link(self, raw: Tensor) -> GCPParameters:
        """Parameters from raw outputs (…, 4·out_features), for those who compute these otherwise."""
        m, nu, alpha, beta = self._blocks(raw)
        return GCPParameters(
            m=self.location + self.scale * m,
            nu=_softplus(nu) + self.nu_floor,
            alpha=_softplus(alpha) + self.alpha_floor,
            beta=self.scale**2 * (_softplus(beta) + self.beta_floor),
        )


class NormalHead(_Head):
    """Gives mean and variance of every row by name: for the divergences, and for Gaussian likelihood."""

    n_parameters = 2

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        *,
        variance_floor: float = 1e-6,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(in_features, out_features, device, dtype)
        if not variance_floor >= 0:
            raise ValueError(f"variance_floor is {variance_floor}; it must not be negative")
        self.variance_floor = variance_floor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, and start at V = 1 (or just above a floor that excludes this)."""
        self.linear.reset_parameters()
        variance = max(1.0, 2 * self.variance_floor)
        self._start(0.0, _softplus_inverse(variance - self.variance_floor))

    def forward(self, features: Tensor) -> NormalParameters:
        """Parameters of shape (…, out_features) from features of shape (…, in_features)."""
        return self.link(self.linear(features))

    def link(self, raw: Tensor) -> NormalParameters:
        """Parameters from raw outputs (…, 2·out_features), for those who compute these otherwise."""
        mean, variance = self._blocks(raw)
        return NormalParameters(
            mean=self.location + self.scale * mean,
            variance=self.scale**2 * (_softplus(variance) + self.variance_floor),
        )


def _softplus(u: Tensor) -> Tensor:
    return functional.softplus(u, threshold=_EXACT)


def _softplus_inverse(value: float) -> float:
    return value + math.log(-math.expm1(-value))
