"""Fifty-digit values of the special functions, straight from their definitions, by mpmath.

Everything here starts from the defining equation (7) or from the gamma function; nothing is shared with
`levelhead.theory.special`.
"""

import mpmath as mp

mp.mp.dps = 60


def alpha_minus_A(alpha: mp.mpf) -> mp.mpf:
    """Root s² of √π·s·erfcx(s) = 2α/(2α+1), which is equation (7) after the integral is done."""
    target = 2 * alpha / (2 * alpha + 1)

    def gap(log_s: mp.mpf) -> mp.mpf:
        s = mp.exp(log_s)
        return mp.sqrt(mp.pi) * s * scaled_erfc(s) - target

    rough = mp.sqrt(alpha * alpha / (alpha + mp.mpf(3) / 2) + alpha * mp.mpf("1e-3") / (1 + alpha) ** 2)
    log_s = mp.findroot(gap, mp.log(rough), tol=mp.mpf(10) ** (-2 * mp.mp.dps + 50))
    return mp.exp(2 * log_s)


def scaled_erfc(s: mp.mpf) -> mp.mpf:
    """exp(s²)·erfc(s); for large s by its continued fraction, where the product would be 0·∞."""
    if s < 20:
        return mp.exp(s * s) * mp.erfc(s)
    tail = mp.mpf(0)
    for k in range(400, 0, -1):
        tail = mp.mpf(k) / 2 / (s + tail)
    return 1 / (mp.sqrt(mp.pi) * (s + tail))


def A(alpha: mp.mpf) -> mp.mpf:
    return alpha - alpha_minus_A(alpha)


def dA(alpha: mp.mpf) -> mp.mpf:
    s = alpha_minus_A(alpha)
    return 1 - 2 * s / ((2 * alpha + 1) * (alpha - s))


def b(alpha: mp.mpf) -> mp.mpf:
    """Equation (56): 2α over (2α+1)·E[2s y²/(2s + y²)²], whose Gaussian integral is done by parts twice.

    E[c/(c+y²)] = J, E[(c/(c+y²))²] = ((1−c)J + c)/2 with c = 2s and J = √π·s½·erfcx(s½), s½ = √s.
    """
    c = 2 * alpha_minus_A(alpha)
    root = mp.sqrt(c / 2)
    J = mp.sqrt(mp.pi) * root * scaled_erfc(root)
    return 2 * alpha / ((2 * alpha + 1) * (J - ((1 - c) * J + c) / 2))


def delta_psi(alpha: mp.mpf) -> mp.mpf:
    return mp.digamma(alpha) - mp.digamma(alpha + mp.mpf(1) / 2)


def log_gamma_ratio(alpha: mp.mpf) -> mp.mpf:
    return mp.loggamma(alpha + mp.mpf(1) / 2) - mp.loggamma(alpha)
