"""Elementary functions in float32 without branches and calls, so that loops over them become vector code.

All have a relative error of about 1e-7. A NaN stays a NaN, and an infinite argument gives a non-finite or the limiting
value, so that a diverged network is noticed. They consist of additions, multiplications and `fma` only and call no
library of the system, so that every computer gives the same bits. The same holds for the two functions in float64 at
the end, which the schedules and optimisers need.
"""

import numpy as np

from levelhead.engine._instructions import as_float, as_int, fma
from levelhead.engine._jit import inline
from levelhead.theory import _chebyshev
from levelhead.theory.elementary import SINE

F = np.float32
_ZERO, _HALF, _ONE, _TWO = F(0), F(0.5), F(1), F(2)

_LOWEST, _HIGHEST = F(-87.3), F(88.3)
_LOG2E, _LN2_HIGH, _LN2_LOW = F(1.44269504), F(0.693359375), F(-2.12194440e-4)
_BIAS, _SHIFT = np.int32(127), np.int32(23)
_MANTISSA, _SQRT_HALF = np.int32(0x007FFFFF), np.int32(0x3F3504F3)
_SMALLEST = F(1.1754944e-38)

# The coefficients fall by factors of 3 and 2.2 per term: the omitted rest is below half a unit in the last place.
_PSI_0, _PSI = F(_chebyshev.PSI[0]), tuple(F(c) for c in _chebyshev.PSI[1:16])
# Two pieces, each short enough for the compiler to unroll: a function with a loop inside does not become vector code.
_GAMMA_0, _GAMMA_LOW = F(_chebyshev.GAMMA[0]), tuple(F(c) for c in _chebyshev.GAMMA[1:11])
_GAMMA_HIGH = tuple(F(c) for c in _chebyshev.GAMMA[11:20])
_SINE = tuple(F(c) for c in SINE[:7])


@inline
def exp(x: F) -> F:
    """eˣ, kept inside the normal range of float32."""
    x = _LOWEST if x < _LOWEST else x
    x = _HIGHEST if x > _HIGHEST else x
    n = F(np.floor(fma(x, _LOG2E, _HALF)))
    r = fma(-n, _LN2_LOW, fma(-n, _LN2_HIGH, x))
    p = fma(F(1.9875691500e-4), r, F(1.3981999507e-3))
    p = fma(p, r, F(8.3334519073e-3))
    p = fma(p, r, F(4.1665795894e-2))
    p = fma(p, r, F(1.6666665459e-1))
    p = fma(p, r, F(5.0000001201e-1))
    p = fma(p, r * r, r) + _ONE
    scale = as_float(np.int32((np.int32(n) + _BIAS) << _SHIFT))
    return p * scale


@inline
def log(x: F) -> F:
    """The natural logarithm for x > 0; below the normal range as at its lower end, NaN for infinity."""
    safe = _SMALLEST if x < _SMALLEST else x
    bits = np.int32(as_int(safe) - _SQRT_HALF)
    e = F(np.int32(bits >> _SHIFT))
    m = as_float(np.int32((bits & _MANTISSA) + _SQRT_HALF)) - _ONE  # in [√½, √2) − 1
    p = fma(F(7.0376836292e-2), m, F(-1.1514610310e-1))
    p = fma(p, m, F(1.1676998740e-1))
    p = fma(p, m, F(-1.2420140846e-1))
    p = fma(p, m, F(1.4249322787e-1))
    p = fma(p, m, F(-1.6668057665e-1))
    p = fma(p, m, F(2.0000714765e-1))
    p = fma(p, m, F(-2.4999993993e-1))
    p = fma(p, m, F(3.3333331174e-1))
    square = m * m
    p = fma(-_HALF, square, fma(p * m, square, e * _LN2_LOW))
    return fma(e, _LN2_HIGH, p + m) + (x - x)


@inline
def log1p(t: F) -> F:
    """ln(1 + t) for t ≥ 0, to full relative precision for small t."""
    u = _ONE + t
    return log(u) + (t - (u - _ONE)) / u


@inline
def log1p_square(r: F) -> F:
    """ln(1 + r²), also where r² overflows."""
    a = abs(r)
    t = a * a
    far = a > F(1e4)
    u = a if far else _ONE + t
    logarithm = log(u)
    return _TWO * logarithm if far else logarithm + (t - (u - _ONE)) / u


@inline
def softplus(x: F) -> F:
    """ln(1 + eˣ), to full relative precision."""
    return (x if x > _ZERO else _ZERO * x) + log1p(exp(-abs(x)))


@inline
def sigmoid(x: F) -> F:
    """1/(1 + e⁻ˣ), to full relative precision."""
    t = exp(-abs(x))
    return (_ONE if x > _ZERO else t) / (_ONE + t)


@inline
def tanh(x: F) -> F:
    """The hyperbolic tangent 1 − 2/(e²ˣ + 1), and its Taylor series near 0."""
    a = abs(x)
    square = x * x
    t = exp(_TWO * a)
    p = fma(F(-5.70498872745e-3), square, F(2.06390887954e-2))
    p = fma(p, square, F(-5.37397155531e-2))
    p = fma(p, square, F(1.33314422036e-1))
    p = fma(p, square, F(-3.33332819422e-1))
    near = fma(x, square * p, x)
    far = _ONE - _TWO / (t + _ONE)
    far = far if x > _ZERO else -far
    return near if a < F(0.625) else far


@inline
def _clenshaw(coefficients: tuple[F, ...], twice_x: F, now: F, before: F) -> tuple[F, F]:
    for k in range(len(coefficients) - 1, -1, -1):
        now, before = coefficients[k] + fma(twice_x, now, -before), now
    return now, before


@inline
def _argument(alpha: F) -> F:
    return _ONE - F(4) / (alpha + _TWO)  # (α − 2)/(α + 2)


@inline
def delta_psi(alpha: F) -> F:
    """ΔΨ(α) = Ψ(α) − Ψ(α + ½)."""
    x = _argument(alpha)
    now, before = _clenshaw(_PSI, _TWO * x, _ZERO, _ZERO)
    return -(_PSI_0 + fma(x, now, -before)) / alpha


@inline
def log_gamma_ratio(alpha: F) -> F:
    """lnΓ(α + ½) − lnΓ(α)."""
    x = _argument(alpha)
    now, before = _clenshaw(_GAMMA_HIGH, _TWO * x, _ZERO, _ZERO)
    now, before = _clenshaw(_GAMMA_LOW, _TWO * x, now, before)
    return fma(-_HALF, log(alpha + F(0.25)), log(alpha)) + (_GAMMA_0 + fma(x, now, -before))


@inline
def _horner(coefficients: tuple[F, ...], x: F) -> F:
    total = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = fma(total, x, coefficients[k])
    return total


@inline
def cos_turns(t: F) -> F:
    """The cosine of 2πt for 0 ≤ t ≤ 1."""
    u = F(0.25) - (t if t <= _HALF else _ONE - t)  # cos 2πt = sin 2πu, |u| ≤ ¼
    return u * _horner(_SINE, u * u)


@inline
def cos_half_turns(t: float) -> float:
    """The cosine of πt for 0 ≤ t ≤ 1, in float64."""
    u = 0.25 - 0.5 * t
    total = 0.0
    for k in range(len(SINE) - 1, -1, -1):
        total = total * (u * u) + SINE[k]
    return total * u


@inline
def power(base: float, n: int) -> float:
    """baseⁿ for a whole n ≥ 0, by squaring, in float64."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= base
        base *= base
        n >>= 1
    return result
