"""Gauss–Legendre panels that resolve a peak of any width at any place inside a smooth density.

The integrands of the dynamics are functions of z/√(2σ) with poles at z = ±i√(2σ), so that a fixed rule fails
as soon as √(2σ) is small beside the density. Panels whose length grows in proportion to the distance from the
pole converge at one geometric rate whatever the ratio is: 16 nodes on [a, 4a] err by 3⁻³² ≈ 5e-16.
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


def panels(breakpoints: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on all panels between breakpoints (last axis, in any order, repeats allowed)."""
    edges = np.sort(breakpoints, axis=-1)
    half = (edges[..., 1:] - edges[..., :-1]) / 2
    middle = (edges[..., 1:] + edges[..., :-1]) / 2
    nodes = middle[..., None] + half[..., None] * _NODES
    weights = half[..., None] * _WEIGHTS
    flat = (*edges.shape[:-1], -1)
    return nodes.reshape(flat), weights.reshape(flat)
