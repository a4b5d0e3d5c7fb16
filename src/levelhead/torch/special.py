"""A(α), α − A(α), b(α), ΔΨ(α) and lnΓ(α+½) − lnΓ(α) as differentiable functions of tensors.

Each is a polynomial in `x = (α − 2)/(α + 2)`, the same series as in `levelhead.theory.special`, times its behaviour at
both ends. Only sums, products and quotients occur, so that PyTorch itself provides derivatives of every order, `vmap`,
`torch.compile` and ONNX. For α in [1e-6, 1e6] the relative error is below 1e-6 in single and 1e-12 in double precision.
Half precision is computed, and returned, in single precision.

>>> import torch
>>> alpha = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
>>> round(A(alpha).item(), 15)
0.463288014523543
>>> (slope,) = torch.autograd.grad(alpha_minus_A(alpha), alpha)
>>> round(float(slope), 6)  # 2(α − A)/((2α+1)A), the implicit derivative of equation (7)
0.772323
"""

import numpy as np
import torch
from numpy.polynomial.chebyshev import cheb2poly
from torch import Tensor

from levelhead.theory import _chebyshev

# Terms below this would not change the last digit.
_SMALLEST_TERM = {torch.float32: 1e-9, torch.float64: 1e-18}


def _powers(series: tuple[float, ...], smallest: float) -> tuple[float, ...]:
    """Coefficients of xᵏ, highest first.

    The Chebyshev coefficients fall like 0.32ᵏ and those of the powers grow like 2.41ᵏ. So nothing cancels, and a power
    needs one operation per term where Clenshaw's recurrence needs two.
    """
    kept = max(k for k, c in enumerate(series) if abs(c) >= smallest) + 1
    return tuple(float(c) for c in cheb2poly(np.array(series[:kept]))[::-1])


_TABLES = {
    dtype: {name: _powers(getattr(_chebyshev, name), smallest) for name in ("S", "A", "PSI", "GAMMA")}
    for dtype, smallest in _SMALLEST_TERM.items()
}
_TENSORS = {
    dtype: {name: torch.tensor(powers, dtype=dtype, device="cpu") for name, powers in table.items()}
    for dtype, table in _TABLES.items()
}
_EXPONENTS = torch.arange(max(map(len, _TABLES[torch.float64].values())) - 1, -1, -1, device="cpu")
# At α = 2, higher derivatives of xᵏ would be formed as 0·x^(−n) with x = 0; this is below rounding.
_NUDGE = {torch.float32: 1e-9, torch.float64: 1e-18}
_MINIBATCH = 4096  # up to this size, calling an operation costs more than carrying it out


def working_dtype(*tensors: Tensor) -> torch.dtype:
    """Double precision if one of the tensors has it, else single.

    Parameters
    ----------
    *tensors : Tensor
        The tensors.

    Returns
    -------
    torch.dtype
        float64 or float32.
    """
    return torch.float64 if any(t.dtype == torch.float64 for t in tensors) else torch.float32


def _series(name: str, alpha: Tensor) -> Tensor:
    """The polynomial of that name: for a minibatch all powers at once, else by Horner's rule."""
    x = 1 - 4 / (alpha + 2)
    # Asked first whether it is compiled: a question about the size would fix the size in an exported program.
    if not torch.compiler.is_compiling() and alpha.device.type == "cpu" and alpha.numel() <= _MINIBATCH:
        coefficients = _TENSORS[alpha.dtype][name]
        x = x + _NUDGE[x.dtype] * (x == 0)
        return (coefficients * x.unsqueeze(-1) ** _EXPONENTS[-len(coefficients) :]).sum(-1)
    highest, *rest = _TABLES[alpha.dtype][name]
    total = torch.full_like(x, highest)
    for c in rest:
        total = total * x + c
    return total


def _fraction(alpha: Tensor) -> Tensor:
    """α/(1 + α), written so that its derivative does not cancel for large α."""
    return 1 / (1 + 1 / alpha)


def A(alpha: Tensor) -> Tensor:
    """A(α), the unique root of equation (7); rises from 0 to 1.

    Parameters
    ----------
    alpha : Tensor
        α > 0.

    Returns
    -------
    Tensor
        A(α), of the same shape.
    """
    alpha = alpha.to(working_dtype(alpha))
    return _series("A", alpha) * _fraction(alpha)


def alpha_minus_A(alpha: Tensor) -> Tensor:
    """α − A(α), the denominator of the prognostic variance (6), without forming the difference.

    Parameters
    ----------
    alpha : Tensor
        α > 0.

    Returns
    -------
    Tensor
        α − A(α), of the same shape.
    """
    alpha = alpha.to(working_dtype(alpha))
    return _series("S", alpha) * alpha * _fraction(alpha)


def b(alpha: Tensor) -> Tensor:
    """b(α) = 2α/A(α), the coefficient of V_g = (1 − bε)V_p + O(ε²), equation (8).

    Parameters
    ----------
    alpha : Tensor
        α > 0.

    Returns
    -------
    Tensor
        b(α), of the same shape.
    """
    alpha = alpha.to(working_dtype(alpha))
    return 2 * (1 + alpha) / _series("A", alpha)


def delta_psi(alpha: Tensor) -> Tensor:
    """ΔΨ(α) = Ψ(α) − Ψ(α + ½).

    Parameters
    ----------
    alpha : Tensor
        α > 0.

    Returns
    -------
    Tensor
        ΔΨ(α), of the same shape.
    """
    alpha = alpha.to(working_dtype(alpha))
    return -_series("PSI", alpha) / alpha


def log_gamma_ratio(alpha: Tensor) -> Tensor:
    """lnΓ(α + ½) − lnΓ(α), whose derivative is −ΔΨ(α).

    Parameters
    ----------
    alpha : Tensor
        α > 0.

    Returns
    -------
    Tensor
        The difference, of the same shape.
    """
    alpha = alpha.to(working_dtype(alpha))
    return torch.log(alpha) - 0.5 * torch.log(alpha + 0.25) + _series("GAMMA", alpha)


def log1p_square(r: Tensor) -> Tensor:
    """ln(1 + r²), precise for small r and without overflow for large r.

    Parameters
    ----------
    r : Tensor
        Any numbers.

    Returns
    -------
    Tensor
        ln(1 + r²), of the same shape.
    """
    near = r.abs() < 1
    inner = torch.where(near, r, 1.0)
    outer = torch.where(near, 1.0, r.abs())
    return torch.log1p((inner / outer) ** 2) + 2 * torch.log(outer)
