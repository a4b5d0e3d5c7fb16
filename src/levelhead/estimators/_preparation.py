"""From the user's table to the engine's training data: row order, folds, scales.

Rows are put into an order that depends on their content and the seed, not on their position in the table.
So shuffled rows give the same model; a row with weight 3 gives the same model as three copies of it; and
copies of a row always fall into the same fold, so that no copy is both trained on and held out.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from levelhead.estimators._types import FloatArray, TargetScaling

_LARGEST_INPUT = 1e6  # scaled inputs and targets are clipped here: beyond, float32 networks would overflow …
_LARGEST_TARGET = 1e12  # … and a label this far off pulls no robust fit at all
# Of labels: differences must not overflow, and squares must be floats, with a margin for small and large variances.
LARGEST_LABEL = 1e300
SPREADS = (1e-140, 1e140)
_ROUNDING = 1e-9  # a spread this much smaller than the next wider one is rounding, not noise
_LEAST_SHARE = 0.1  # of the unweighted deviation of a column, which its weighted deviation may shrink to
_MOST_COPIES = 20  # integer weights become copies of rows while they make the data at most this much longer


class Scale(NamedTuple):
    """An affine map to the units in which networks are trained: (value − center)/spread."""

    center: FloatArray | np.float64
    spread: FloatArray | np.float64

    def apply(self, values: NDArray[np.floating], largest: float = _LARGEST_INPUT) -> NDArray[np.float32]:
        """Scaled values in float32, clipped at ±largest."""
        with np.errstate(over="ignore"):
            scaled = (values - self.center) / self.spread
            if not np.isfinite(scaled).all():  # a difference of two huge numbers may have overflowed
                scaled = (0.5 * values - 0.5 * self.center) / self.spread * 2
        return np.clip(scaled, -largest, largest).astype(np.float32)


class InputMap(Protocol):
    """What turns the columns of a table into inputs of a network."""

    def apply(self, values: NDArray[np.floating], /) -> NDArray[np.float32]:
        """Inputs of the rows of a table."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows a network visits in an epoch, and how they fall into groups of equal rows.

    Attributes
    ----------
    index : ndarray of int
        Rows in canonical order; a row of weight 3 occurs three times.
    weight : ndarray of float or None
        Loss weight of each row of the table (mean 1); None if `index` contains all the information.
    group : ndarray of int
        For each row of the table the rank of its content; equal rows have equal ranks.
    key : ndarray of uint64
        For each row of the table a 64-bit hash of its content.
    together : ndarray of int or None
        For each row of the table the rank of the group that the user gave it; None if there are none.
    """

    index: NDArray[np.int64]
    weight: NDArray[np.float32] | None
    group: NDArray[np.int64]
    key: NDArray[np.uint64]
    together: NDArray[np.int64] | None = None

    @property
    def n_groups(self) -> int:
        """Number of different rows that are visited."""
        return int(self.group[self.index].max()) + 1

    def weighted(self, factor: NDArray[np.floating]) -> "Rows":
        """The same rows with their loss weights multiplied by a factor for each label."""
        weight = factor if self.weight is None else factor * self.weight
        visits = weight[self.index].mean()
        return replace(self, weight=(weight / max(visits, 1e-12)).astype(np.float32))

    def without(self, held_out: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The visits to rows that are not held out; all of them if none would be left."""
        kept = self.index[~held_out[self.index]]
        return kept if kept.size else self.index

    def only(self, held_out: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The visits to rows that are held out."""
        return self.index[held_out[self.index]]

    def joined(self, groups: NDArray[np.int64] | None) -> "Rows":
        """The same rows with the groups of the user, ranked by their content, not by their order in the table."""
        if groups is None:
            return self
        first = np.full(int(groups.max()) + 1, len(self.group), dtype=np.int64)
        np.minimum.at(first, groups, self.group)
        return replace(self, together=np.argsort(np.argsort(first, kind="stable"), kind="stable")[groups])

    def sample_groups(self, share: float, seed: int) -> NDArray[np.bool_]:
        """A random share of the user's groups, or of the different rows, at least one, as a mask of rows."""
        of_row, n = self.group, self.n_groups
        if self.together is not None:
            of_row, n = self.together, int(self.together.max()) + 1
        order = np.random.default_rng(seed).permutation(n)
        chosen = np.zeros(n, dtype=bool)
        chosen[order[: max(1, round(share * n))]] = True
        return chosen[of_row]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training data in the engine's units."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]  # of shape (rows,), or (rows, targets) for several
    rows: Rows

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])


def arrange(X: NDArray[np.floating], y: FloatArray, sample_weight: FloatArray | None, seed: int) -> Rows:
    """Canonical order of the rows, with copies and groups."""
    n = len(y)
    key = row_keys(X, y, seed)
    counts = np.ones(n, dtype=np.int64)
    weight = None
    if sample_weight is not None:
        largest = float(sample_weight.max())
        relative = sample_weight / largest  # sums of huge weights would overflow
        few = relative.sum() <= _MOST_COPIES * n / largest
        if few and (np.trunc(sample_weight) == sample_weight).all():
            counts = sample_weight.astype(np.int64)
        else:
            counts = (sample_weight > 0).astype(np.int64)
            weight = (relative * (counts.sum() / relative.sum())).astype(np.float32)
    order = np.argsort(key, kind="stable")
    order = order[counts[order] > 0]
    new = np.diff(key[order], prepend=key[order[0]] ^ np.uint64(1)) != 0
    group = (key % np.uint64(2**31)).astype(np.int64)  # rows that are never visited need a group, too
    group[order] = np.cumsum(new) - 1
    unvisited = counts == 0
    group[unvisited] %= max(1, int(new.sum()))
    return Rows(np.repeat(order, counts[order]), weight, group, key)


def input_scale(X: NDArray[np.floating], rows: Rows) -> Scale:
    """Mean and standard deviation of each column; constant columns keep their unit."""
    center, spread = np.empty(X.shape[1]), np.empty(X.shape[1])
    for j in range(X.shape[1]):
        column = X[rows.index, j].astype(np.float64)
        largest = np.abs(column).max() or 1.0  # so that squares cannot overflow
        column /= largest
        weight = None if rows.weight is None else rows.weight[rows.index]
        mean = np.average(column, weights=weight)
        center[j] = mean * largest
        deviation = np.sqrt(np.average((column - mean) ** 2, weights=weight))
        # One row with a large weight must not scale all others to values at which networks overflow.
        spread[j] = max(deviation, _LEAST_SHARE * column.std()) * largest
    constant = ~(spread > 1e-12 * np.abs(center))
    spread[constant] = np.maximum(np.abs(center[constant]), 1.0)
    return Scale(center, spread)


def target_scale(y: FloatArray, rows: Rows, how: TargetScaling) -> Scale:
    """Center and spread of the labels: median and median deviation, the paper's mean and deviation, or 0, 1."""
    if how == "none":
        return Scale(np.float64(0), np.float64(1))
    visited = np.clip(y[rows.index], -LARGEST_LABEL, LARGEST_LABEL)
    weight = None if rows.weight is None else rows.weight[rows.index]
    if how == "standard":
        largest = np.abs(visited).max() or 1.0
        mean = np.average(visited / largest, weights=weight)
        spread = np.sqrt(np.average((visited / largest - mean) ** 2, weights=weight))
        return _squarable(Scale(np.float64(mean * largest), np.float64(spread * largest or 1.0)))
    center = _quantile(visited, 0.5, weight)
    deviation = np.abs(visited - center)
    # The median deviation is 0 if half of the labels are equal, or rounding error if they differ only by that; then
    # a higher quantile is used.
    levels = ((0.5, 0.6745), (0.8, 1.2816), (0.95, 1.96), (1.0, 3.0))
    spreads = [_quantile(deviation, level, weight) / of_normal for level, of_normal in levels]
    for spread, wider in zip(spreads, [*spreads[1:], spreads[-1]], strict=True):
        if spread > _ROUNDING * wider:
            return _squarable(Scale(np.float64(center), np.float64(spread)))
    return _squarable(Scale(np.float64(center), np.float64(max(abs(center), 1.0))))


def _squarable(scale: Scale) -> Scale:
    """Return the scale; raise an error if variances in the units of y would overflow or underflow."""
    if not SPREADS[0] < scale.spread < SPREADS[1]:
        raise ValueError(
            f"the labels y have a spread of {scale.spread:.3g}, and their variance would not fit into a float; "
            f"fit y / {scale.spread:.0e} instead"
        )
    return scale


def prepare(
    X: NDArray[np.floating], y: FloatArray, rows: Rows, of_inputs: InputMap, of_targets: Scale
) -> Prepared:
    """Scale everything to float32."""
    return Prepared(of_inputs.apply(X), of_targets.apply(y, _LARGEST_TARGET), rows)


def _quantile(values: FloatArray, level: float, weight: NDArray[np.floating] | None) -> float:
    if weight is None:
        return float(np.quantile(values, level))
    return float(np.quantile(values, level, weights=weight.astype(np.float64), method="inverted_cdf"))


def row_keys(X: NDArray[np.floating], y: FloatArray, seed: int) -> NDArray[np.uint64]:
    """A 64-bit hash of each row, from its content and the seed (the mixing steps of splitmix64).

    y may have several columns.
    """
    key = np.full(len(y), seed, dtype=np.uint64)
    for column in (*X.T, *np.atleast_2d(y.T)):
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: −0 and 0 are one number
        key = (key ^ bits) + np.uint64(0x9E3779B97F4A7C15)
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key
