"""Kinds of label errors: for each suspect, the density of its label under the kind, and the repaired label.

Every kind maps a true label v, which follows the predicted distribution f of its row, to the given label y. A kind
that maps v continuously (a factor, a unit, a sign, a shift) has the density f(v) |dv/dy|. A kind that repeats an exact
value (a code, a stuck value) has a probability, which is compared with densities by the resolution of the labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.audits._digits import FINEST, on_grid, resolution, transpositions
from levelhead.prediction.transforms import Transform
from levelhead.theory.elementary import exp, log, log1p

Index = NDArray[np.intp]
Flags = NDArray[np.bool_]

FACTOR, UNIT, SIGN, EXCHANGED = "factor of ten", "other unit", "sign", "exchanged"
TRANSPOSED, CODE, STUCK, SHIFT, UNKNOWN = (
    "digits transposed",
    "missing code",
    "stuck value",
    "segment shift",
    "unknown",
)
KINDS = (FACTOR, UNIT, SIGN, EXCHANGED, TRANSPOSED, CODE, STUCK, SHIFT, UNKNOWN)

UNITS = {
    "in and cm": 2.54,
    "m and ft": 3.280839895,
    "kg and lb": 2.2046226218,
    "miles and km": 1.609344,
    "months and years": 12.0,
    "minutes and hours": 60.0,
}
CODES = frozenset(
    [
        -1.0,
        0.0,
        99.0,
        999.0,
        9999.0,
        99999.0,
        -9.0,
        -99.0,
        -999.0,
        -9999.0,
        -99999.0,
        -200.0,
        99.9,
        999.9,
        999999.0,
    ]
)
_POWERS = (1, -1, 2, -2, 3, -3)
_FREEDOM = 5.0  # of the Student distribution of a repaired label around its prediction
_MAD = 0.72668684  # median absolute deviation of that distribution in units of its scale
_STUDENT = float(np.log(0.3796066898))  # its logarithmic density at 0
_ADJACENT = 0.5  # share of the exchanged labels that were exchanged with the row before or after
_BANDWIDTH = 0.4  # of the kernel estimate
_ONE_PARTNER = 0.8  # probability from which the row that a label was exchanged with is named
_REPEATS = 3  # times that a value must occur among the suspects to be a code, unless it is a common one
_HELD = 0.05  # share of the rows with the value of a code that may be trusted
_ZEROS = float(np.log(10.0))  # evidence of trailing zeros for a factor of ten, and of other digits against it
_NOTHING = -1e9  # a logarithmic density that stands for 0


class Hypothesis(NamedTuple):
    """What may have happened to each suspect.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    detail : str
        Which factor, which unit; empty if there is one possibility only.
    repaired : ndarray of shape (n_suspects,)
        The label before the error.
    log_density : ndarray of shape (n_suspects,)
        Logarithmic density of the given label under this hypothesis.
    partner : ndarray of int of shape (n_suspects,) or None
        The row that the label was exchanged with; −1 if several may be it.
    """

    kind: str
    detail: str
    repaired: FloatArray
    log_density: FloatArray
    partner: Index | None = None


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a table and their predicted distributions.

    Attributes
    ----------
    given, centre, scale : ndarray of shape (n_samples,)
        Labels; location and scale of the distribution of the clean ones, in units of the label.
    judged_centre, judged_scale : ndarray of shape (n_samples,)
        Location and scale of that distribution on the scale on which labels are judged.
    transform : Transform or None
        That scale, if it is not the one of the labels.
    suspects : ndarray of int of shape (n_suspects,)
        Rows to diagnose.
    doubtful : ndarray of bool of shape (n_samples,)
        Labels that are not trusted.
    p_outlier : ndarray of shape (n_samples,)
        Probability that the label is wrong.
    shifts : ndarray of shape (n_samples,)
        Shift of the segment of each row, on the scale on which labels are judged; NaN outside shifted segments.
    """

    given: FloatArray
    centre: FloatArray
    scale: FloatArray
    judged_centre: FloatArray
    judged_scale: FloatArray
    transform: Transform | None
    suspects: Index
    doubtful: Flags
    p_outlier: FloatArray
    shifts: FloatArray

    def log_clean(self, value: FloatArray, rows: Index) -> FloatArray:
        """Logarithmic density of a clean label of `rows`."""
        judged = value if self.transform is None else self.transform.forward(value)
        possible = np.isfinite(judged)  # a logarithmic scale has no labels of 0 or less
        away = (np.where(possible, judged, 0.0) - self.judged_centre[rows]) / self.judged_scale[rows]
        density = (
            _STUDENT - 0.5 * (_FREEDOM + 1) * log1p(away * away / _FREEDOM) - log(self.judged_scale[rows])
        )
        return np.where(possible, density + self.log_slope(value), _NOTHING)

    def log_slope(self, value: FloatArray) -> FloatArray:
        """Logarithm of the derivative of the scale."""
        if self.transform is None:
            return np.zeros_like(value)
        slope = self.transform.log_derivative(value)
        return np.where(np.isfinite(slope), slope, 0.0)


def centre_and_scale(
    given: FloatArray, predicted: FloatArray, std: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Location and scale of the Student distributions whose median and spread agree with those of all residuals."""
    z = (given - predicted) / std
    middle = float(np.median(z))
    spread = float(np.median(np.abs(z - middle))) / _MAD
    return predicted + middle * std, std * (spread if spread > 0 else 1.0)


def hypotheses(labels: Labels, factors: Mapping[str, float]) -> Iterator[Hypothesis]:
    """All kinds, `unknown` last."""
    background = _log_background(labels)
    step = resolution(labels.given[~labels.doubtful])
    for power in _POWERS:
        yield _power(labels, power, step)
    for name, factor in (UNITS | dict(factors)).items():
        yield _scaled(labels, UNIT, name, factor)
        yield _scaled(labels, UNIT, name, 1 / factor)
    yield _affine(labels, UNIT, "°C given in °F", 1.8, 32.0)
    yield _affine(labels, UNIT, "°F given in °C", 1 / 1.8, -32 / 1.8)
    yield _scaled(labels, SIGN, "", -1.0)
    yield _shifted(labels)
    yield _exchanged(labels, background)
    yield _transposed(labels, step)
    yield _coded(labels, step)
    yield _stuck(labels, background, step)
    yield Hypothesis(UNKNOWN, "", labels.centre[labels.suspects], background)


def _power(labels: Labels, power: int, step: float) -> Hypothesis:
    """A factor of ten. A label that was multiplied ends in zeros, which few other wrong labels do."""
    words = f"{10 ** abs(power):,} times too {'large' if power > 0 else 'small'}"
    made = _scaled(labels, FACTOR, words, 10.0**power)
    if power < 0 or step <= FINEST:
        return made
    ends_in_zeros = on_grid(made.repaired, step)
    return made._replace(log_density=made.log_density + np.where(ends_in_zeros, _ZEROS, -_ZEROS))


def _scaled(labels: Labels, kind: str, detail: str, factor: float) -> Hypothesis:
    return _affine(labels, kind, detail, factor, 0.0)


def _affine(labels: Labels, kind: str, detail: str, factor: float, offset: float) -> Hypothesis:
    """The given label is factor · true + offset."""
    repaired = (labels.given[labels.suspects] - offset) / factor
    density = labels.log_clean(repaired, labels.suspects) - np.log(abs(factor))
    return Hypothesis(kind, detail, repaired, density)


def _shifted(labels: Labels) -> Hypothesis:
    """The shift of the segment removed, on the scale on which labels are judged.

    This kind occurs inside shifted segments only, other kinds anywhere: the place of a label is evidence too.
    """
    given, shift = labels.given[labels.suspects], labels.shifts[labels.suspects]
    if labels.transform is None:
        repaired = given - shift
    else:
        repaired = labels.transform.inverse(labels.transform.labels(given) - np.nan_to_num(shift))
    inside = np.isfinite(shift) & np.isfinite(repaired)
    known = np.where(inside, repaired, given)
    density = labels.log_clean(known, labels.suspects) + labels.log_slope(given) - labels.log_slope(known)
    density -= np.log(max(float(np.isfinite(labels.shifts).mean()), 1e-300))
    return Hypothesis(SHIFT, "", known, np.where(inside, density, _NOTHING))


def _log_background(labels: Labels) -> FloatArray:
    """Labels that are wrong in any other way.

    A third lies around the prediction and a third anywhere among the labels, both with wide tails; a third is as far
    from the prediction, in units of the noise, as the other suspects are.
    """
    rows = labels.suspects
    given, centre = labels.given[rows], labels.centre[rows]
    middle = float(np.median(labels.given))
    around = max(float(np.median(np.abs(given - centre))), float(np.median(labels.scale)))
    among = max(float(np.median(np.abs(labels.given - middle))), float(np.median(labels.scale)))
    wide = _cauchy(given - centre, around) + _cauchy(given - middle, among)
    return log((wide + _like_the_others(labels)) / 3)


def _like_the_others(labels: Labels) -> FloatArray:
    """A kernel estimate from all other suspects, of arsinh z because errors differ by orders of magnitude."""
    rows = labels.suspects
    z = (labels.given[rows] - labels.centre[rows]) / labels.scale[rows]
    order = np.argsort(z, kind="stable")
    at = np.sign(z[order]) * log(np.abs(z[order]) + np.sqrt(1 + z[order] ** 2))
    density = np.empty(len(z))
    weight = labels.p_outlier[rows][order]
    for place in range(len(at)):
        low, high = np.searchsorted(at, [at[place] - 4 * _BANDWIDTH, at[place] + 4 * _BANDWIDTH])
        kernel = exp(-0.5 * ((at[low:high] - at[place]) / _BANDWIDTH) ** 2) * weight[low:high]
        others = max(float(weight.sum() - weight[place]), 1e-300)
        density[order[place]] = (kernel.sum() - weight[place]) / others
    scale = _BANDWIDTH * np.sqrt(2 * np.pi) * labels.scale[rows] * np.sqrt(1 + z * z)
    estimate: FloatArray = np.maximum(density, 0.0) / scale
    return estimate


def _cauchy(away: FloatArray, scale: float) -> FloatArray:
    return 1 / (np.pi * scale * (1 + (away / scale) ** 2))


def _exchanged(labels: Labels, background: FloatArray) -> Hypothesis:
    """Two labels exchanged: with a neighbouring row, or with any other suspect.

    If i was exchanged with j, its label follows the distribution of j, and that of j the distribution of i. What the
    label of j was worth under the usual explanations is divided out, so that the density is one of the label of i.
    """
    n, suspects = len(labels.given), labels.suspects
    others = np.flatnonzero(labels.doubtful)
    at_large = np.full(n, -np.inf)
    at_large[suspects] = background
    total, partner = np.full(len(suspects), _NOTHING), np.full(len(suspects), -1)
    repaired = labels.centre[suspects].copy()
    for place, row in enumerate(suspects):
        found = np.union1d(others, [max(row - 1, 0), min(row + 1, n - 1)])
        found = found[found != row].astype(np.intp)
        density = _log_exchange(labels, row, found, at_large)
        choice = int(np.argmax(density))
        share = exp(density - density[choice])
        repaired[place] = labels.given[found[choice]]
        total[place] = density[choice] + float(log(share.sum()))
        if _ONE_PARTNER * share.sum() <= 1:
            partner[place] = found[choice]
    return Hypothesis(EXCHANGED, "", repaired, total, partner.astype(np.intp))


def _log_exchange(labels: Labels, row: int, others: Index, background: FloatArray) -> FloatArray:
    """Logarithmic densities of the label of a row, one for each row that it may have been exchanged with."""
    near = np.abs(others - row) == 1
    prior = (1 - _ADJACENT) / len(others) + _ADJACENT * near / max(int(near.sum()), 1)
    here = np.full(len(others), row)
    there = labels.log_clean(np.full(len(others), labels.given[row]), others)
    back = labels.log_clean(labels.given[others], here)
    return log(prior) + there + back - _log_own(labels, others, background)


def _log_own(labels: Labels, rows: Index, background: FloatArray) -> FloatArray:
    """Logarithmic density of labels that were not exchanged: clean, or wrong in an unknown way."""
    p = labels.p_outlier[rows]
    return log((1 - p) * exp(labels.log_clean(labels.given[rows], rows)) + p * exp(background[rows]) + 1e-300)


def _transposed(labels: Labels, step: float) -> Hypothesis:
    """Two neighbouring digits exchanged, each pair with the same probability."""
    repaired, density = labels.centre[labels.suspects].copy(), np.full(len(labels.suspects), _NOTHING)
    for place, row in enumerate(labels.suspects):
        values = transpositions(float(labels.given[row]), step)
        if len(values):
            fit = labels.log_clean(values, np.full(len(values), row))
            choice = int(np.argmax(fit))
            repaired[place] = values[choice]
            density[place] = fit[choice] + float(log(exp(fit - fit[choice]).sum())) - np.log(len(values))
    return Hypothesis(TRANSPOSED, "", repaired, density)


def _coded(labels: Labels, step: float) -> Hypothesis:
    """One value that is no usual label, and that is a common code or occurs often among the suspects."""
    given = labels.given[labels.suspects]
    trusted = labels.given[~labels.doubtful]
    value, inverse, count = np.unique(given, return_inverse=True, return_counts=True)
    runs = np.bincount(inverse, weights=_begins_run(labels), minlength=len(value))
    held = np.array([(trusted == code).sum() for code in value])
    outside = (value < trusted.min(initial=np.inf)) | (value > trusted.max(initial=-np.inf))
    common = np.isin(value, list(CODES))
    commonest = runs == np.where(outside, runs, 0).max()  # a table has one code of its own, not several
    own = outside & (runs >= _REPEATS) & commonest
    possible = (held <= _HELD * count) & (common | own)
    weight = np.where(possible, np.maximum(runs - 1, 0) + common, 0.0)
    share = weight / (len(given) + len(CODES))
    density = np.where(share > 0, log(np.maximum(share, 1e-300)) - np.log(step), _NOTHING)[inverse]
    return Hypothesis(CODE, "", labels.centre[labels.suspects], density)


def _begins_run(labels: Labels) -> FloatArray:
    """1 for suspects whose label differs from that of the row before: a stuck value is no code."""
    before = labels.given[np.maximum(labels.suspects - 1, 0)]
    begins: Flags = (labels.given[labels.suspects] != before) | (labels.suspects == 0)
    return begins.astype(np.float64)


def _stuck(labels: Labels, background: FloatArray, step: float) -> Hypothesis:
    """The label of the row before once more; equal labels may also come by chance."""
    stuck = _begins_run(labels) == 0
    same = labels.given[1:] == labels.given[:-1]
    trusted = ~labels.doubtful[1:]
    by_chance = (int(same[trusted].sum()) + 1) / (int(trusted.sum()) + 2)
    usual = np.maximum(background + np.log(step), np.log(by_chance))
    density = np.where(stuck, background - usual, _NOTHING)
    return Hypothesis(STUCK, "", labels.centre[labels.suspects], density)


def plain(value: Any) -> float:
    """A number without the noise of binary fractions."""
    return float(f"{float(value):.12g}")
