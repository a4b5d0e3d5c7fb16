"""Gauss–Legendre panels that resolve a peak of any width at any place inside a smooth density.

The integrands of the dynamics are functions of z/√(2σ) with poles at z = ±i√(2σ), so that a fixed rule fails
as soon as √(2σ) is small beside the density. Panels whose length grows in proportion to the distance from the
pole converge at one geometric rate for any ratio: 16 nodes on [a, 4a] err by 3⁻³² ≈ 5e-16.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_RATIO = 4.0
_LEVELS = 32  # ½·4³¹ ≈ 2e18: beyond that distance, in units of the width, the integrands are flat


def graded(width: FloatArray, levels: int = _LEVELS) -> FloatArray:
    """Breakpoints ±½·4ᵏ·width along a new last axis: the panels for poles at ±i·width."""
    steps = 0.5 * _RATIO ** np.arange(levels)
    breakpoints: FloatArray = width[..., None] * np.concatenate([-steps[::-1], steps])
    return breakpoints


def panels(z: FloatArray, u: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes z, their weights, and the same nodes u = z − shift, on the panels between breakpoints.

    The breakpoints (last axis, in any order, repeats allowed) are given as distances z from the pole and u
    from the centre of the density. Each panel is laid out in the smaller of the two, which is known to more
    digits: a narrow density far from the pole keeps its shape, and so does a narrow peak far out in a tail.
    """
    order = np.argsort(z, axis=-1, kind="stable")
    z, u = np.take_along_axis(z, order, axis=-1), np.take_along_axis(u, order, axis=-1)
    near = np.abs(z[..., 1:]) + np.abs(z[..., :-1]) < np.abs(u[..., 1:]) + np.abs(u[..., :-1])
    low = np.where(near, z[..., :-1], u[..., :-1])
    high = np.where(near, z[..., 1:], u[..., 1:])
    half = ((high - low) / 2)[..., None]
    v = ((high + low) / 2)[..., None] + half * _NODES
    apart = shift[..., None]
    flat = (*z.shape[:-1], -1)
    nodes = np.where(near[..., None], v, v + apart).reshape(flat)
    offsets = np.where(near[..., None], v - apart, v).reshape(flat)
    return nodes, (half * _WEIGHTS).reshape(flat), offsets
