"""Labels that are whole multiples of a unit: grades, counts, prices in steps of five.

If clean labels only take the values start, start + step, …, the predicted label is the nearest of them
(`levelhead.prediction.lattice_prediction`). Quantiles and the ends of intervals are then values that labels can take.

>>> import numpy as np
>>> find_lattice(np.arange(1000) % 7 + 3.0, np.ones(1000))
Lattice(start=3.0, step=1.0, count=7, levels=())
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelhead._checks import FloatArray

# By judgement, not tuned.
MOST_VALUES = 100  # of a lattice; with more, the steps are small beside the noise
_LABELS_PER_VALUE = 10.0  # at least, on average; with fewer, labels may agree by chance
_MOST_GAPS = 0.5  # share of the values that no label has
_OFTEN, _LEAST_SHARE = 3, 0.002  # labels of a value that shows the step: number and share
_MOST_MISSED = 0.1  # share of trusted labels that are not on the lattice: wrong ones that nobody has found
_MOST_ELSEWHERE = 0.25  # the same for labels of which nobody has judged any
_TRUSTED = 0.5  # weight from which a label counts
_MIDDLE = (0.1, 0.9)  # levels of the quantiles between which most labels lie, wrong ones included
_NEAR = 1.5  # their distances, by which a label may differ from their middle
ROUNDING = 1e-6  # of a step, by which labels may miss it
COVERAGES = np.array([*np.arange(1, 20) / 20, 0.975, 0.99])  # for which the levels of intervals are learnt


@dataclass(frozen=True)
class Lattice:
    """The values start, start + step, …, of which there are `count`, and the levels of intervals between them.

    Parameters
    ----------
    start : float
        The smallest value.
    step : float
        Distance of neighbouring values, above 0.
    count : int
        Number of values, at least 2.
    levels : tuple of float, default=()
        For each coverage in `COVERAGES`, the probability between the two quantiles that are the ends of an interval;
        never more than the coverage. Empty: the coverage itself, so that every interval holds at least its share.
    """

    start: float
    step: float
    count: int
    levels: tuple[float, ...] = ()

    @property
    def values(self) -> FloatArray:
        """All values, in increasing order."""
        return self.start + self.step * np.arange(self.count, dtype=np.float64)

    @property
    def edges(self) -> FloatArray:
        """Limits between the cells of neighbouring values."""
        return self.values[:-1] + 0.5 * self.step

    def nearest(self, y: ArrayLike) -> FloatArray:
        """Round to the nearest value.

        Parameters
        ----------
        y : array-like
            Numbers.

        Returns
        -------
        ndarray
            Values of the lattice, of the same shape.
        """
        place = np.round((np.asarray(y, dtype=np.float64) - self.start) / self.step)
        return self.start + self.step * np.clip(place, 0, self.count - 1)

    def level(self, coverage: float) -> float:
        """Return the probability between the quantiles that are the ends of an interval.

        Parameters
        ----------
        coverage : float
            Share of the labels that intervals shall hold, strictly between 0 and 1.

        Returns
        -------
        float
            The level, linear between those of `COVERAGES`.
        """
        if not self.levels:
            return coverage
        return float(np.interp(coverage, [0.0, *COVERAGES, 1.0], [0.0, *self.levels, 1.0]))


def find_lattice(y: ArrayLike, weight: ArrayLike, most_missed: float = _MOST_MISSED) -> Lattice | None:
    """Find the values that labels take, if they are few and equally far apart.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,)
        Probability that each label is clean; those below ½ do not count.
    most_missed : float, default=0.1
        Share of the labels that may lie elsewhere, because they are wrong and nobody has found them.

    Returns
    -------
    Lattice or None
        The lattice of the labels. None if there are more than 100 values, fewer than ten labels for each of them, no
        common step, or more than `most_missed` of the labels elsewhere.
    """
    labels = np.asarray(y, dtype=np.float64)[np.asarray(weight) > _TRUSTED]
    values, counts = np.unique(labels, return_counts=True)
    often = values[counts >= max(_OFTEN, _LEAST_SHARE * len(labels))]
    if not 2 <= len(often) <= len(labels) / _LABELS_PER_VALUE:
        return None
    gaps = np.diff(often)
    steps = np.round(gaps / gaps.min())
    count = float(steps.sum()) + 1
    step = float(often[-1] - often[0]) / (count - 1)
    if np.abs(gaps / step - steps).max() > ROUNDING or len(often) < (1 - _MOST_GAPS) * count:
        return None
    found = _with_ends(Lattice(float(often[0]), step, int(count)), values)
    missed = np.abs(labels - found.nearest(labels)) > ROUNDING * step
    return found if found.count <= MOST_VALUES and missed.mean() <= most_missed else None


def find_step(y: ArrayLike) -> float:
    """Find the step of labels that are whole multiples of a unit, before any of them is judged.

    Only labels near the middle of all labels count: those in another unit are far away, or multiples of another step.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, some of which may be wrong.

    Returns
    -------
    float
        Distance of neighbouring values; 0 if there is none, as in `find_lattice`, with at most a quarter of the labels
        elsewhere.
    """
    labels = np.asarray(y, dtype=np.float64)
    low, high = np.quantile(labels, _MIDDLE)
    near = np.abs(labels - 0.5 * (low + high)) <= _NEAR * (high - low)
    found = find_lattice(labels, near, _MOST_ELSEWHERE)
    return 0.0 if found is None else found.step


def _with_ends(lattice: Lattice, values: FloatArray) -> Lattice:
    """The lattice, longer by neighbouring values at its ends that some label has."""
    place = (values - lattice.start) / lattice.step
    taken = set(np.round(place[np.abs(place - np.round(place)) < ROUNDING]).tolist())
    first, last = 0, lattice.count - 1
    while first - 1 in taken:
        first -= 1
    while last + 1 in taken:
        last += 1
    return Lattice(lattice.start + lattice.step * first, lattice.step, last - first + 1)
