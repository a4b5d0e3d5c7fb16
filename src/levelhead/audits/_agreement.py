"""Labels that deviate as those of the nearest rows do: there the model errs, or the labels are wrong together.

Wrong labels lie anywhere in a table, so the neighbours of a wrong label deviate from their predictions like any other
rows. If more of them deviate in the same direction and by about as much than chance explains, the label has their
support. Neighbours are near in the columns that the model uses, each of which counts by its importance. If residuals of
trusted labels agree in neighbouring rows of the file, the model misses something that lasts for some rows, and the rows
before and after are neighbours too, unless groups are known: then these explain it.

A clean label may be far from its prediction because of the noise, or because the model errs there. For a label with
likelihoods w (wrong) and c (noise), and κ·w for an error of the model, the odds w/(c + κ·w) become B·w/(c + κ·w) if its
neighbours agree, where B is the ratio of the probabilities of such an agreement for wrong and for clean labels. Without
agreement there is no sign that the model errs, and the odds stay w/c.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import FloatArray
from levelhead.audits.dependence import level_codes, neighbours_agree
from levelhead.theory.elementary import exp, log, log1p

Index = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Chosen on planted errors in twelve public tables (bench/planted.py, seeds 0 and 1); that file judges with others.
_NEIGHBOURS = 4
_ALIKE = 2.0  # largest ratio of two deviations that agree
_MODEL_ERRS = (
    0.01  # κ: labels that the model mispredicts together with their neighbours, for each wrong label
)
_MOST_COLUMNS = 10  # the most important ones
_MOST_IDENTICAL = 50  # columns, the most important ones, in which copies of a row agree
_MOST_NEIGHBOURS = 100  # at the same distance: with more, the columns do not show which rows are near
_CELLS_AT_A_TIME = 2**22
_TINY = 1e-300


class _Column(NamedTuple):
    """Ranks of numbers and dates, or codes of levels; and what a squared difference, or another level, counts."""

    values: FloatArray
    is_level: bool
    scale: float


def supported_odds(
    log_odds: FloatArray,
    z: FloatArray,
    suspects: Index,
    trusted: Flags,
    columns: Mapping[str, ArrayLike],
    importances: ArrayLike,
    apart: NDArray[np.intp] | None = None,
) -> FloatArray:
    """Log odds that the labels of suspects are wrong, given those of their neighbours.

    Let T be the probability that as many of the neighbours agree by chance. B is −e·T·ln T, the smallest ratio of
    likelihoods that a p-value of T can stand for (Sellke, Bayarri and Berger, 2001).

    Parameters
    ----------
    log_odds : ndarray of shape (n_suspects,)
        Log odds without neighbours.
    z : ndarray of shape (n_samples,)
        Residuals in units of the noise.
    suspects : ndarray of int of shape (n_suspects,)
        Rows whose labels are judged.
    trusted : ndarray of bool of shape (n_samples,)
        Labels that nobody doubts: whether neighbouring rows agree is taken from these.
    columns : mapping of str to array-like of shape (n_samples,)
        Inputs of the model.
    importances : array-like of shape (n_columns,)
        Importance of each of them.
    apart : ndarray of int of shape (n_samples,), default=None
        Group of each row; rows of one group are no neighbours, because their labels may be wrong together.

    Returns
    -------
    ndarray of shape (n_suspects,)
        Log odds; as they were where neighbours do not agree more than by chance.
    """
    weights = np.asarray(importances, dtype=np.float64)
    order = np.argsort(-weights, kind="stable")
    values = list(columns.values())
    copies = _identity([z, *(values[k] for k in order[:_MOST_IDENTICAL])])
    ways = [[_comparable(values[k], float(weights[k])) for k in order[:_MOST_COLUMNS] if weights[k] > 0]]
    if apart is None and neighbours_agree(z, trusted & _first(copies)):
        ways.append([_comparable(np.arange(len(z)), 1.0)])
    chance = np.min([_chance_of_agreement(z, suspects, way, copies, apart) for way in ways], axis=0)
    agree = chance < 1 / np.e
    chance = np.clip(chance, _TINY, 1 / np.e)
    ratio = 1 + log(chance) + log(-log(chance))
    return np.where(agree, ratio - log(exp(-log_odds) + _MODEL_ERRS), log_odds)


def _chance_of_agreement(
    z: FloatArray, suspects: Index, used: list[_Column], copies: Index, apart: Index | None
) -> FloatArray:
    """Probability that as many of the neighbours of each suspect deviate as it does by chance."""
    sign, size = np.sign(z[suspects]), np.abs(z[suspects])
    ends = np.sort(np.stack([sign * size / _ALIKE, sign * size * _ALIKE]), axis=0)[:, :, None]
    chance = np.ones(len(suspects))
    step = max(1, _CELLS_AT_A_TIME // len(z))
    for start in range(0, len(suspects), step):
        part = slice(start, start + step)
        near = _neighbours(suspects[part], used, copies, apart)
        alike = (z >= ends[0, part]) & (z <= ends[1, part])
        usual = (alike.sum(axis=1) - 1) / max(len(z) - 1, 1)  # the suspect is like itself
        chance[part] = _at_least((near & alike).sum(axis=1), near.sum(axis=1), usual)
    return chance


def _first(copies: Index) -> Flags:
    """Rows that are no copies of earlier ones."""
    found = np.zeros(len(copies), dtype=bool)
    found[np.unique(copies, return_index=True)[1]] = True
    return found


def _at_least(count: Index, size: Index, share: FloatArray) -> FloatArray:
    """Probability of at least `count` of `size` independent events, each of probability `share`."""
    odds = share / np.maximum(1 - share, _TINY)
    one = exp(size * log1p(-np.minimum(share, 1 - 1e-12)))
    total = np.zeros_like(share)
    for k in range(int(size.max(initial=0)) + 1):
        total += np.where(k >= count, one, 0.0)
        one = one * odds * np.maximum(size - k, 0) / (k + 1)
    return total


def _identity(columns: list[ArrayLike]) -> Index:
    """Equal numbers for rows that agree in all columns."""
    number = np.zeros(len(np.asarray(columns[0])), dtype=np.intp)
    for values in columns:
        codes = level_codes(values)
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1]
    return number


def _neighbours(rows: Index, used: list[_Column], copies: Index, apart: Index | None) -> Flags:
    """Whether each row of the table is a neighbour of each of `rows`; rows at the same distance are all, or none."""
    n = len(copies)
    away = np.zeros((len(rows), n))
    for column in used:
        difference = column.values[rows][:, None] - column.values
        away += column.scale * ((difference != 0) if column.is_level else difference * difference)
    away[copies[rows][:, None] == copies] = np.inf  # the row itself too
    if apart is not None:
        away[apart[rows][:, None] == apart] = np.inf
    last = min(_NEIGHBOURS, n) - 1
    limit = np.partition(away, last, axis=1)[:, last]
    near: Flags = (away <= limit[:, None]) & np.isfinite(away)
    near[near.sum(axis=1) > _MOST_NEIGHBOURS] = False
    return near


def _comparable(values: ArrayLike, importance: float) -> _Column:
    """A column, whose mean squared difference between two rows counts by its importance."""
    column = np.asarray(values)
    if column.dtype.kind in "mM":
        column = column.astype(np.int64)
    is_level = column.dtype.kind not in "iufb"
    codes = level_codes(column) if is_level else np.unique(column, return_inverse=True)[1]
    counts = np.bincount(codes)
    share = counts / counts.sum()
    ranks = codes if is_level else (np.cumsum(share) - 0.5 * share)[codes]
    spread = (1 - float((share * share).sum())) / 2 if is_level else float(ranks.var())
    return _Column(ranks.astype(np.float64), is_level, importance / spread if spread > 0 else 0.0)
