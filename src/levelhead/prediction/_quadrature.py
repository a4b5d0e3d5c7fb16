"""Integrals over Gaussians, by Gauss-Legendre quadrature."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from levelhead.theory.elementary import exp

FloatArray = NDArray[np.float64]

_REACH, _PANEL, _NODES = 12.0, 1.5, 6  # standard deviations each side, width of a panel, points in it
_BLOCK = 2**14  # distributions integrated at a time


def moments(
    inverse: Callable[[FloatArray], FloatArray], mean: FloatArray, std: FloatArray, kinks: tuple[float, ...]
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a function of Gaussian variables.

    Parameters
    ----------
    inverse : callable
        The function, elementwise.
    mean : ndarray
        Means of the Gaussians.
    std : ndarray of the same shape
        Standard deviations.
    kinks : tuple of float
        Places where the function is not smooth.

    Returns
    -------
    tuple of two ndarray
        Means and variances.
    """
    m, s = np.ravel(mean), np.ravel(std)
    parts = [
        _integrated(inverse, m[k : k + _BLOCK], s[k : k + _BLOCK], kinks)
        for k in range(0, max(m.size, 1), _BLOCK)
    ]
    first, second = (np.concatenate(part).reshape(mean.shape) for part in zip(*parts, strict=True))
    return first, second


def _integrated(
    inverse: Callable[[FloatArray], FloatArray], m: FloatArray, s: FloatArray, kinks: tuple[float, ...]
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of inverse(m + s·u) for standard normal u, by Gauss-Legendre panels that end at kinks."""
    ends = np.arange(-_REACH, _REACH + _PANEL / 2, _PANEL)
    with np.errstate(over="ignore"):
        inner = [np.clip((kink - m) / s, -_REACH, _REACH) for kink in kinks]
    edges = np.sort(np.column_stack([np.broadcast_to(ends, (m.size, ends.size)), *inner]), axis=1)
    u, width = panels(edges, _NODES)
    weight = width * exp(-0.5 * u * u)
    weight /= weight.sum(axis=1, keepdims=True)
    values = inverse(m[:, None] + s[:, None] * u)
    mean = (weight * values).sum(axis=1)
    return mean, (weight * (values - mean[:, None]) ** 2).sum(axis=1)


def panels(edges: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of Gauss-Legendre quadrature between consecutive edges.

    Parameters
    ----------
    edges : ndarray of shape (n_rows, n_edges)
        Ascending in each row.
    n_nodes : int
        Points between two edges.

    Returns
    -------
    tuple of two ndarray, of shape (n_rows, (n_edges − 1) · n_nodes)
        Points and weights.
    """
    at, weight = np.polynomial.legendre.leggauss(n_nodes)
    half = 0.5 * np.diff(edges, axis=1)[..., None]
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None]
    shape = (len(edges), -1)
    return (middle + half * at).reshape(shape), (half * weight).reshape(shape)
