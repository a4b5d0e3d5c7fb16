"""Heads: the last layer of a network, which returns the parameters of each label's distribution by name."""

import math
from typing import Literal, Self, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from levelhead.theory.special import alpha_minus_A
from levelhead.torch.parameters import GCPParameters, NormalParameters
from levelhead.torch.special import working_dtype

Device: TypeAlias = torch.device | str | int | None

_EXACT = 40.0  # beyond it softplus(u) is u to the last digit of double precision
_INITIAL_SPREAD = 0.1  # shapes start almost equal for all rows: the trunk has learnt nothing yet


class _Head(nn.Module):
    """A linear layer with one block of outputs per parameter, in the units of the targets.

    The outputs describe standardised targets; `location` and `scale` transform them to the units of the targets.
    """

    n_parameters: int

    def __init__(
        self,
        in_features: int,
        out_features: int,
        as_tensor: bool = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("in_features", in_features), ("out_features", out_features)):
            if value < 1:
                raise ValueError(f"{name} is {value}; give at least 1")
        self.in_features = in_features
        self.out_features = out_features
        self.as_tensor = as_tensor
        self.linear = nn.Linear(in_features, self.n_parameters * out_features, device=device, dtype=dtype)
        self.register_buffer("location", torch.zeros(out_features, device=device, dtype=dtype))
        self.register_buffer("scale", torch.ones(out_features, device=device, dtype=dtype))

    def start_from(self, targets: Tensor) -> Self:
        """Start at the median of the targets, with the width of the bulk of them.

        Call it once before training if the targets are not standardised. Median and median deviation ignore wrong
        labels; mean and standard deviation would follow them.

        Parameters
        ----------
        targets : Tensor of shape (n_samples, out_features), or (n_samples,) for one output
            The training targets.

        Returns
        -------
        Self
            This head.

        Raises
        ------
        ValueError
            If targets are not finite, or all targets of an output are equal.
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
            raise ValueError(
                f"targets of output {constant} are all equal; at least two different ones are needed"
            )
        self.location.copy_(median)
        self.scale.copy_(width)
        return self

    def extra_repr(self) -> str:
        """Return the sizes, for `repr`.

        Returns
        -------
        str
            The sizes.
        """
        return f"in_features={self.in_features}, out_features={self.out_features}"

    def _blocks(self, raw: Tensor) -> tuple[Tensor, ...]:
        """One tensor per parameter, in single precision at least: half precision has too few digits for a variance."""
        raw = raw.to(working_dtype(raw))
        blocks: tuple[Tensor, ...] = raw.unflatten(-1, (self.n_parameters, self.out_features)).unbind(-2)
        return blocks

    def _start(self, *constants: float) -> None:
        """Make all parameters but the first almost constant at the start."""
        with torch.no_grad():
            self.linear.weight[self.out_features :] *= _INITIAL_SPREAD
            for k, value in enumerate(constants):
                block = slice(k * self.out_features, (k + 1) * self.out_features)
                self.linear.bias[block] = value


class GCPHead(_Head):
    """Returns m, ν, α, β of every row by name, with the paper's links: softplus for all but m.

    For standardised targets the head starts at m near 0, α = 1 and V_p = 1. From this small α training finds the
    solution that ignores wrong labels. For other targets, see `start_from`.

    Parameters
    ----------
    in_features : int
        Width of the trunk's output.
    out_features : int, default=1
        Number of targets. Parameters have the shape (…, out_features), and so must the targets.
    n_outputs : {3, 4}, default=4
        Number of raw outputs per target: 4 are m, ν, α, β; 3 are m, α, σ, the parameters of Student's t itself, for the
        same distributions with less to compute. Then ν is 1 and β = σ/2, so that losses and `prognosis` are the same.
    alpha_floor : float, default=0.1
        Added to the softplus of α.
    beta_floor : float, default=1e-6
        Added to the softplus of β, in units of the squared target scale. It keeps the likelihood bounded where many
        residuals are exactly 0.
    nu_floor : float, default=1e-6
        Added to the softplus of ν.
    as_tensor : bool, default=False
        Whether to return one tensor, with the parameters side by side along the last axis, for libraries that want
        one. Losses and `prognosis` take it too.
    device : torch.device or str, default=None
        Device of the weights.
    dtype : torch.dtype, default=None
        Type of the weights.

    Raises
    ------
    ValueError
        If a size is below 1 or a floor is negative.

    Examples
    --------
    >>> head = GCPHead(16, 2).start_from(torch.tensor([[300.0, 0.1], [310.0, 0.2], [290.0, 0.3]]))
    >>> head(torch.zeros(5, 16)).m.shape, head.scale
    (torch.Size([5, 2]), tensor([14.8260,  0.1483]))
    """

    n_parameters = 4

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        *,
        n_outputs: Literal[3, 4] = 4,
        alpha_floor: float = 0.1,
        beta_floor: float = 1e-6,
        nu_floor: float = 1e-6,
        as_tensor: bool = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if n_outputs not in (3, 4):
            raise ValueError(f"n_outputs is {n_outputs}; give 4 (m, ν, α, β) or 3 (m, α, σ)")
        self.n_parameters = n_outputs
        super().__init__(in_features, out_features, as_tensor, device, dtype)
        for name, floor in (("alpha", alpha_floor), ("beta", beta_floor), ("nu", nu_floor)):
            if not floor >= 0:
                raise ValueError(f"{name}_floor is {floor}; it must not be negative")
        self.alpha_floor, self.beta_floor, self.nu_floor = alpha_floor, beta_floor, nu_floor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, and start at α = 1, ν = 1, V_p = 1, or just above larger floors."""
        self.linear.reset_parameters()
        alpha = max(1.0, 2 * self.alpha_floor)
        nu = 1.0 if self.n_parameters == 3 else max(1.0, 2 * self.nu_floor)
        sigma = float(alpha_minus_A(alpha))  # V_p = 1 in (6)
        beta = max(sigma * nu / (nu + 1), 2 * self.beta_floor)  # eq. (4)
        shape = (alpha, self.alpha_floor), (beta, self.beta_floor)
        started = shape if self.n_parameters == 3 else ((nu, self.nu_floor), *shape)
        self._start(0.0, *(_softplus_inverse(value - floor) for value, floor in started))

    def forward(self, features: Tensor) -> GCPParameters | Tensor:
        """Parameters from features.

        Parameters
        ----------
        features : Tensor of shape (…, in_features)
            Outputs of the trunk.

        Returns
        -------
        GCPParameters or Tensor
            Tensors of shape (…, out_features); one of shape (…, 4·out_features) with `as_tensor=True`.
        """
        parameters = self.link(self.linear(features))
        return parameters.to_tensor() if self.as_tensor else parameters

    def link(self, raw: Tensor) -> GCPParameters:
        """Parameters from raw outputs, for a network with its own last layer.

        Parameters
        ----------
        raw : Tensor of shape (…, n_outputs·out_features)
            Raw outputs.

        Returns
        -------
        GCPParameters
            Tensors of shape (…, out_features).
        """
        m, *first, alpha, beta = self._blocks(raw)  # with three outputs the last is σ/2 before its link
        return GCPParameters(
            m=self.location + self.scale * m,
            nu=_softplus(first[0]) + self.nu_floor if first else torch.ones_like(m),
            alpha=_softplus(alpha) + self.alpha_floor,
            beta=self.scale**2 * (_softplus(beta) + self.beta_floor),
        )


class NormalHead(_Head):
    """Returns mean and variance of every row by name: for the divergences, and for Gaussian likelihood.

    Parameters
    ----------
    in_features : int
        Width of the trunk's output.
    out_features : int, default=1
        Number of targets. Parameters have the shape (…, out_features), and so must the targets.
    variance_floor : float, default=1e-6
        Added to the softplus of the variance, in units of the squared target scale.
    as_tensor : bool, default=False
        Whether to return one tensor, with the parameters side by side along the last axis, for libraries that want
        one. Losses and `prognosis` take it too.
    device : torch.device or str, default=None
        Device of the weights.
    dtype : torch.dtype, default=None
        Type of the weights.

    Raises
    ------
    ValueError
        If a size is below 1 or the floor is negative.
    """

    n_parameters = 2

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        *,
        variance_floor: float = 1e-6,
        as_tensor: bool = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, as_tensor, device, dtype)
        if not variance_floor >= 0:
            raise ValueError(f"variance_floor is {variance_floor}; it must not be negative")
        self.variance_floor = variance_floor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, and start at V = 1, or just above a larger floor."""
        self.linear.reset_parameters()
        variance = max(1.0, 2 * self.variance_floor)
        self._start(0.0, _softplus_inverse(variance - self.variance_floor))

    def forward(self, features: Tensor) -> NormalParameters | Tensor:
        """Parameters from features.

        Parameters
        ----------
        features : Tensor of shape (…, in_features)
            Outputs of the trunk.

        Returns
        -------
        NormalParameters or Tensor
            Tensors of shape (…, out_features); one of shape (…, 2·out_features) with `as_tensor=True`.
        """
        parameters = self.link(self.linear(features))
        return parameters.to_tensor() if self.as_tensor else parameters

    def link(self, raw: Tensor) -> NormalParameters:
        """Parameters from raw outputs, for a network with its own last layer.

        Parameters
        ----------
        raw : Tensor of shape (…, 2·out_features)
            Raw outputs.

        Returns
        -------
        NormalParameters
            Tensors of shape (…, out_features).
        """
        mean, variance = self._blocks(raw)
        return NormalParameters(
            mean=self.location + self.scale * mean,
            variance=self.scale**2 * (_softplus(variance) + self.variance_floor),
        )


def _softplus(u: Tensor) -> Tensor:
    return functional.softplus(u, threshold=_EXACT)


def _softplus_inverse(value: float) -> float:
    return value + math.log(-math.expm1(-value))
