"""Where wrong labels lie: a dictionary of densities on the bins, each with its price.

Slabs through 0 are wide; their labels are also found among the clean ones. Rings lie from c to 2c on one or both sides,
bumps around ±c. To be added to a model, a background must gain `EXISTENCE`, price · ln(1 + N) and
`per_label(price)` · N for its N labels: it must explain them clearly better than a heavier or more skewed core, or it
only corrects the shape of the core. In the average over models a background costs less (`PAID_IN_THE_AVERAGE`): with
the full price the probabilities of the average are too low.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._bins import EDGES, WIDTHS, X
from levelhead.theory.elementary import exp

FloatArray = NDArray[np.float64]

# Chosen on simulated residuals: noise that is Gaussian, Student (5 and 3.5 degrees of freedom), log-normal, gamma, a
# normal scale mixture and two opposite log-normals, with wrong labels that are wide, one-sided or a cluster. The price
# per label was lowered from 0.1 after one run of bench/audits.py over all noises and wrong labels, n = 200 and 1,000.
EXISTENCE = 2.0
PAID_IN_THE_AVERAGE = (
    0.5  # part of the price per label that decides on the weight of a model, chosen on the same cells
)
_PER_LABEL, _PER_LABEL_OF_SLAB = 0.06, 0.03
_SLAB, RING, _BUMP = 1.0, 1.5, 2.0  # prices

_NORMAL_SLABS = (5.0, 10.0, 20.0, 40.0)  # standard deviations
_FLAT_SLABS = (15.0, 30.0, 60.0)  # half-widths
_RINGS = tuple(2.5 * 2 ** (k / 2) for k in range(9))
_BUMPS = tuple(3.0 * 1.25**k for k in range(13))
_SOFTNESS = 0.55  # scale of the logistic edges of a ring: wrong labels have noise too
_RELATIVE_WIDTH, _LEAST_WIDTH = 1 / 8, 0.4  # of bumps


@cache
def dictionary(scale: float) -> tuple[FloatArray, FloatArray]:
    """All backgrounds for a core of this scale.

    Parameters
    ----------
    scale : float
        Scale of the clean noise, in units of x.

    Returns
    -------
    tuple of ndarray
        Shares of the bins, shape (n_backgrounds, n_bins), and prices, shape (n_backgrounds,).
    """
    shapes = [_normal(0.0, scale * sd) for sd in _NORMAL_SLABS] + [_flat(scale * w) for w in _FLAT_SLABS]
    prices = [_SLAB] * len(shapes)
    for c in _RINGS:
        right, left = _ring(scale * c, scale), _ring(-scale * c, scale)
        shapes += [right, left, 0.5 * (right + left)]
        prices += [RING] * 3
    for c in _BUMPS:
        sd = scale * max(c * _RELATIVE_WIDTH, _LEAST_WIDTH)
        shapes += [_normal(scale * c, sd), _normal(-scale * c, sd)]
        prices += [_BUMP] * 2
    return np.array(shapes), np.array(prices)


def per_label(prices: FloatArray) -> FloatArray:
    """What each label in a background costs, by the price of the background."""
    cost: FloatArray = np.where(prices > _SLAB, _PER_LABEL, np.where(prices > 0, _PER_LABEL_OF_SLAB, 0.0))
    return cost


def outside(center: float, reach: float) -> FloatArray:
    """Flat in asinh x beyond |x − center| > reach: labels that lie outside the bulk, nothing else being known."""
    beyond = (np.abs(X - center) > reach).astype(np.float64)
    return beyond / max(float(beyond.sum()), 1.0)


def _normal(center: float, sd: float) -> FloatArray:
    y = (X - center) / sd
    return _normalised(exp(-0.5 * y * y) * WIDTHS)


def _flat(half_width: float) -> FloatArray:
    return _normalised(np.diff(np.clip(EDGES, -half_width, half_width)))


def _ring(inner: float, scale: float) -> FloatArray:
    soft = _SOFTNESS * scale
    inside = _logistic((X - inner) / soft) - _logistic((X - 2 * inner) / soft)
    return _normalised(np.abs(inside) * WIDTHS)


def _logistic(x: FloatArray) -> FloatArray:
    return 1 / (1 + exp(-x))


def _normalised(mass: FloatArray) -> FloatArray:
    normalised: FloatArray = mass / mass.sum()
    return normalised
