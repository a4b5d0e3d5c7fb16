"""The bins in which residuals are counted, and elementary functions of them.

Residuals are counted in x = (r − center)/width, in bins of equal width in asinh x: fine near 0, of constant relative
width far out. `center` and `width` are middle and half-length of the shortest interval that holds half of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]

_REACH = 60.0  # the outermost bins end at this many widths
_BIN = 0.05  # width of a bin in asinh x
_HALF_OF_NORMAL = 0.6745  # half of a normal sample lies within so many standard deviations


def asinh(x: FloatArray) -> FloatArray:
    """The inverse hyperbolic sine, with the same bits on every computer."""
    magnitude = np.abs(x)
    with np.errstate(over="ignore"):
        root = np.where(magnitude < 1e150, np.sqrt(magnitude * magnitude + 1), magnitude)
    return np.copysign(log(magnitude + root), x)


def _sinh(u: FloatArray) -> FloatArray:
    return 0.5 * (exp(u) - exp(-u))


END = float(asinh(np.asarray(_REACH)))
_COUNT = 2 * int(np.ceil(END / _BIN))
EDGES_U = np.linspace(-END, END, _COUNT + 1)
EDGES = _sinh(EDGES_U)
KNOTS = 0.5 * (EDGES_U[1:] + EDGES_U[:-1])  # middles of the bins, in asinh x
X = _sinh(KNOTS)
WIDTHS = np.diff(EDGES)
LOG_WIDTHS = log(WIDTHS)


@dataclass(frozen=True)
class Histogram:
    """Residuals counted in bins.

    Attributes
    ----------
    counts : ndarray of shape (n_bins,)
        Number of residuals in each bin.
    center, width : float
        x = (r − center)/width.
    far : int
        Number of residuals beyond the outermost bins.
    n : int
        Number of all residuals.
    """

    counts: FloatArray
    center: float
    width: float
    far: int
    n: int

    def __add__(self, other: "Histogram") -> "Histogram":
        """The counts of two sets of residuals in the same bins."""
        return Histogram(
            self.counts + other.counts, self.center, self.width, self.far + other.far, self.n + other.n
        )


def count(r: FloatArray, weight: FloatArray | None = None) -> Histogram:
    """Count residuals; refuse those of which more than half are equal.

    Parameters
    ----------
    r : ndarray of shape (n,)
        Scaled residuals.
    weight : ndarray of shape (n,), default=None
        What each of them counts in its bin, from 0 to 1; the bins themselves are those of all residuals.

    Returns
    -------
    Histogram
        The counts, and the scale of the bins.

    Raises
    ------
    ValueError
        If the shortest interval with half of the residuals has no length.
    """
    ordered = np.sort(r)
    half = r.size // 2
    lengths = ordered[half:] - ordered[: r.size - half]
    start = int(np.argmin(lengths))
    width = 0.5 * float(lengths[start]) / _HALF_OF_NORMAL
    if not width > 0:
        value = "exactly 0" if ordered[start] == 0 else f"equal to {ordered[start]:g}"
        raise ValueError(f"more than half of the residuals are {value}: the noise has no width to estimate")
    center = float(ordered[start] + 0.5 * lengths[start])
    return count_piece(ordered, center, width) if weight is None else _weighted(r, weight, center, width)


def _weighted(r: FloatArray, weight: FloatArray, center: float, width: float) -> Histogram:
    """Sums of weights in bins; numbers of residuals are rounded."""
    place = np.searchsorted(center + width * EDGES, r, side="right")
    counts = np.bincount(place, weight, minlength=EDGES.size + 1)[1 : EDGES.size].astype(np.float64)
    n = max(round(float(weight.sum())), 1)
    return Histogram(counts, center, width, max(n - round(float(counts.sum())), 0), n)


def count_piece(r: FloatArray, center: float, width: float) -> Histogram:
    """Count residuals in bins whose scale is known; counts of several pieces add up.

    Parameters
    ----------
    r : ndarray of shape (n,)
        Scaled residuals.
    center, width : float
        x = (r − center)/width.

    Returns
    -------
    Histogram
        The counts.
    """
    counts = np.diff(np.searchsorted(np.sort(r), center + width * EDGES)).astype(np.float64)
    return Histogram(counts, center, width, r.size - int(counts.sum()), r.size)


def half_scale(mass: FloatArray) -> float:
    """Half-length of the shortest interval with half of the mass, relative to that of a unit normal."""
    below = np.concatenate([[0.0], np.cumsum(mass)])
    start = below <= 0.5
    ends = np.interp(below[start] + 0.5, below, EDGES)
    return float((ends - EDGES[start]).min()) / 2 / _HALF_OF_NORMAL
