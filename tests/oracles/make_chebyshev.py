"""Writes `src/levelhead/theory/_chebyshev.py`: run it only to change the number of terms.

    python tests/oracles/make_chebyshev.py

Every function of α on (0, ∞) becomes a bounded smooth function of x = (α − 2)/(α + 2) on (−1, 1), once
its behaviour at both ends is divided out; its Chebyshev series then gives full precision everywhere.
"""

from pathlib import Path

import mpmath as mp
import reference

NODES = 96
TARGET = Path(__file__).parents[2] / "src/levelhead/theory/_chebyshev.py"

SERIES = {
    "S": ("(α − A)·(1 + α)/α²", lambda a: reference.alpha_minus_A(a) * (1 + a) / a**2),
    "A": ("A·(1 + α)/α", lambda a: reference.A(a) * (1 + a) / a),
    "DA": ("A′·(1 + α)²", lambda a: reference.dA(a) * (1 + a) ** 2),
    "PSI": ("α·(Ψ(α + ½) − Ψ(α))", lambda a: -a * reference.delta_psi(a)),
    "GAMMA": (
        "lnΓ(α + ½) − lnΓ(α + 1) + ½ ln(α + ¼)",
        lambda a: reference.log_gamma_ratio(a) - mp.log(a) + mp.log(a + mp.mpf(1) / 4) / 2,
    ),
}


def coefficients(f) -> list[mp.mpf]:
    """Chebyshev coefficients by the discrete cosine transform at the roots of T_NODES, down to 1e-18."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / NODES for k in range(NODES)]
    values = [f(2 * (1 + mp.cos(t)) / (1 - mp.cos(t))) for t in angles]
    c = [
        2 * mp.fsum(v * mp.cos(j * t) for v, t in zip(values, angles, strict=True)) / NODES
        for j in range(NODES)
    ]
    c[0] /= 2
    last = max(j for j, value in enumerate(c) if abs(value) > mp.mpf("1e-18"))
    return c[: last + 1]


HEADER = '''"""Chebyshev coefficients in x = (α − 2)/(α + 2); written by `tests/oracles/make_chebyshev.py`."""
'''


def main() -> None:
    blocks = [HEADER]
    for name, (meaning, f) in SERIES.items():
        rows = "\n".join(f"    {mp.nstr(c, 20, min_fixed=0, max_fixed=0)}," for c in coefficients(f))
        blocks.append(f"# {meaning}\n{name} = (\n{rows}\n)\n")
    TARGET.write_text("\n".join(blocks))


if __name__ == "__main__":
    main()
