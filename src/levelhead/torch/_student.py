"""Distribution and quantile function of Student's t, differentiable, with fixed work and full precision.

With v = ln(1 + t²/ν) and ν degrees of freedom, the upper tail is

    P(T > t) = Γ((ν+1)/2)/(√π Γ(ν/2) ν) · e^(−νv/2) · J,   J = ∫₀^∞ 2y e^(−y²) / √(1 − e^(−v − 2y²/ν)) dy.

Every factor is positive, so the tail keeps its relative precision down to underflow, for every ν. J is a
double exponential quadrature: its nodes are dense on the logarithmic scale near y = 0, where the root comes
close to a singularity for small t.
"""

import math

import torch
from torch import Tensor

from levelhead.torch.special import log1p_square, log_gamma_ratio

_LAST_NODE = 1.85
_NEWTON_STEPS = 4  # one more than the hardest case needs
_LARGEST = {torch.float32: 1e36, torch.float64: 1e300}
_GAUSSIAN = 1e12  # with more degrees of freedom Student's t is Gaussian to the last digit


# Number of nodes and the first of them; nodes further out weigh less than a rounding error.
_NODES = {torch.float32: (32, -2.9), torch.float64: (96, -3.6)}


def _quadrature(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """y² and the weights of J at y = exp(x − e^(−x)), for equidistant x.

    They are computed where they are used: to copy them from the host would wait for the device, and to keep them
    would mix the tensors of a traced program with those of a running one.
    """
    count, first = _NODES[dtype]
    step = (_LAST_NODE - first) / (count - 1)
    x = first + step * torch.arange(count, dtype=dtype, device=device)
    y2 = torch.exp(2 * (x - torch.exp(-x)))
    return y2, step * (1 + torch.exp(-x)) * 2 * y2 * torch.exp(-y2)


def _integral(v: Tensor, dof: Tensor) -> Tensor:
    """J of the module's formula."""
    y2, weight = _quadrature(v.dtype, v.device)
    root = -torch.expm1(-v.unsqueeze(-1) - 2 * y2 / dof.unsqueeze(-1))
    return (weight * torch.rsqrt(root)).sum(-1)


def _log_constant(dof: Tensor) -> Tensor:
    """Ln of Γ((ν+1)/2)/(√π Γ(ν/2)): the density of asinh(T/√ν) at 0."""
    return log_gamma_ratio(dof / 2) - 0.5 * math.log(math.pi)


def log_density(t: Tensor, dof: Tensor) -> Tensor:
    """Logarithm of the density of the standard Student's t."""
    return _log_constant(dof) - 0.5 * torch.log(dof) - (dof + 1) / 2 * log1p_square(t / torch.sqrt(dof))


def distribution(t: Tensor, dof: Tensor) -> Tensor:
    """P(T ≤ t).

    The value, and its derivative by the degrees of freedom, come from the quadrature. The derivatives by t
    are those of the density: Simpson's rule over an interval of length 0 has the value 0, and the first four
    derivatives of the integral.
    """
    t, dof = torch.broadcast_tensors(t, dof)
    largest = _LARGEST[t.dtype]
    infinite = torch.isinf(t)  # its clamped value would still have a tail, with few degrees of freedom
    t, dof = t.clamp(-largest, largest), dof.clamp(max=_GAUSSIAN)
    at = t.detach()
    v = log1p_square(at / torch.sqrt(dof))
    tail = torch.exp(_log_constant(dof) - dof / 2 * v) / dof * _integral(v, dof)
    tail = torch.where(infinite, 0.0, tail)
    step = t - at
    density = [torch.exp(log_density(at + share * step, dof)) for share in (0, 0.5, 1)]
    return torch.where(at > 0, 1 - tail, tail) + step / 6 * (density[0] + 4 * density[1] + density[2])


def quantile(p: Tensor, dof: Tensor) -> Tensor:
    """The t with P(T ≤ t) = p; −∞ and ∞ at 0 and 1, NaN outside.

    Newton's steps on ln P find it without a graph. Two more from there, with a graph, change no digit and
    carry the derivatives of the inverse function: one step those of first, two those of second order.
    """
    p, dof = torch.broadcast_tensors(p, dof)
    dof = dof.clamp(max=_GAUSSIAN)
    lower = torch.where(p > 0.5, 1 - p, p)  # the smaller tail has the digits
    x = _search(lower.detach(), dof.detach())
    found = torch.sqrt(dof.detach()) * torch.sinh(x)
    usable = (lower.detach() > 0) & (found < _LARGEST[p.dtype])
    t = torch.where(usable, -found, -1.0)
    target = torch.where(usable, lower, 0.5)
    for _ in range(2):
        below = distribution(t, dof)
        t = t - (1 - target / below) * torch.exp(torch.log(below) - log_density(t, dof))
    t = torch.where(usable, t, torch.where(lower >= 0, -math.inf, math.nan))
    return torch.where(p > 0.5, -t, t)


def _search(q: Tensor, dof: Tensor) -> Tensor:
    """The x = asinh(t/√ν) ≥ 0 with P(T > t) = q ≤ ½.

    ln P is concave in x and at most ln(½ e^(−νv/2)). From the root of that bound, Newton's steps fall monotonically to
    the solution and need no safeguard.
    """
    log_q = torch.log(q.clamp(min=torch.finfo(q.dtype).tiny))
    v = (-2 / dof * (math.log(2) + log_q)).clamp(min=0)
    x = v / 2 + torch.log1p(torch.sqrt(-torch.expm1(-v)))  # acosh(e^(v/2))
    for _ in range(_NEWTON_STEPS):
        v = _twice_log_cosh(x)
        over_density = _integral(v, dof) / dof  # P/(−dP/dx)
        log_tail = _log_constant(dof) - dof / 2 * v + torch.log(over_density)
        x = (x + (log_tail - log_q) * over_density).clamp(min=0)
    return x


def _twice_log_cosh(x: Tensor) -> Tensor:
    near = x < 1
    by_sinh = torch.log1p(torch.sinh(torch.where(near, x, 0.0)) ** 2)
    return torch.where(near, by_sinh, 2 * (x + torch.log1p(torch.exp(-2 * x)) - math.log(2)))
