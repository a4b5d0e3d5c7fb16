"""Groups of rows most of whose labels are wrong: a label is more suspect if those of its group are.

Every group is either ordinary or spoilt, with a share of wrong labels of its own for each class. Three numbers, the
share of spoilt groups and the two shares of wrong labels, are fitted to the likelihood ratios of all labels by
expectation maximisation. The prior probability that a label is wrong is then that of its group, as the other labels of
the group show it. Residuals of one group agree in clean groups too, because a model errs alike in rows that are alike:
m labels count as m/(1 + (m − 1)ρ), with the correlation ρ of residuals within groups.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.theory.elementary import exp, log, log1p

FloatArray = NDArray[np.float64]

_STEPS = 100
_SPOILT, _MOSTLY = 0.05, 0.9  # to start from: share of spoilt groups, and of wrong labels in them
_LEAST_SPOILT = 0.5  # share of wrong labels of a spoilt group
_GAIN = 3.0  # in log likelihood, beyond the logarithm of the number of groups
_LARGEST_RATIO = 30.0  # of log likelihoods: one label must not decide alone about its group


class GroupOdds(NamedTuple):
    """Log odds that each label is wrong, and the groups that are probably spoilt."""

    log_odds: FloatArray
    spoilt: NDArray[np.intp]


class _Classes(NamedTuple):
    """Prior probabilities of the two classes of groups, and their shares of wrong labels."""

    prior: FloatArray
    share: FloatArray


def group_odds(log_odds: FloatArray, share: float, codes: NDArray[np.intp], correlation: float) -> GroupOdds:
    """Log odds that each label is wrong, given those of its group.

    Parameters
    ----------
    log_odds : ndarray of shape (n_samples,)
        Log odds that each label is wrong by itself.
    share : float
        Share of wrong labels.
    codes : ndarray of int of shape (n_samples,)
        Number of the group of each label, from 0.
    correlation : float
        Correlation of residuals within groups.

    Returns
    -------
    GroupOdds
        The same log odds, and no group, if there is no sign that wrong labels gather in groups.
    """
    sizes = np.bincount(codes)
    usual = min(max(share, 0.5 / len(codes)), _LEAST_SPOILT)
    ratio = log_odds - float(log(usual / (1 - usual)))
    bounded = np.minimum(ratio, _LARGEST_RATIO)
    part = 1 / (1 + (sizes - 1) * max(correlation, 0.0))
    one = _Classes(np.array([1.0]), np.array([usual]))
    alone = float(_by_group(bounded, one, codes, part)[1].sum())
    classes = _fitted(bounded, usual, codes, part)
    evidence, of_groups = _by_group(bounded, classes, codes, part)
    if of_groups.sum() - alone < _GAIN + float(log(float(len(sizes)))):
        return GroupOdds(log_odds, np.empty(0, dtype=np.intp))
    own = part[codes] * _log_densities(bounded, classes)
    by_others = evidence[:, codes] - own
    weight = classes.prior[:, None] * exp(by_others - by_others.max(axis=0))
    wrong, clean = ((weight * each[:, None]).sum(axis=0) for each in (classes.share, 1 - classes.share))
    chance = classes.prior[:, None] * exp(evidence - of_groups)
    return GroupOdds(ratio + log(wrong) - log(clean), np.flatnonzero(chance[-1] > 0.5))


def _fitted(ratio: FloatArray, usual: float, codes: NDArray[np.intp], part: FloatArray) -> _Classes:
    classes = _Classes(np.array([1 - _SPOILT, _SPOILT]), np.array([usual, _MOSTLY]))
    least = 0.5 / len(codes)
    for _ in range(_STEPS):
        evidence, total = _by_group(ratio, classes, codes, part)
        chance = classes.prior[:, None] * exp(evidence - total)
        wrong = 1 / (1 + exp(-(ratio + log(classes.share / (1 - classes.share))[:, None])))
        held = chance[:, codes] * part[codes]
        share = (held * wrong).sum(axis=1) / np.maximum(held.sum(axis=1), least)
        prior = np.clip(chance.mean(axis=1), 1e-6, 1.0)
        ordinary = min(max(float(share[0]), least), _LEAST_SPOILT)
        spoilt = min(max(float(share[1]), _LEAST_SPOILT), 0.99)
        classes = _Classes(prior / prior.sum(), np.array([ordinary, spoilt]))
    return classes


def _log_densities(ratio: FloatArray, classes: _Classes) -> FloatArray:
    """Log density of each label in each class of groups, over that of a clean label; shape (n_classes, n)."""
    x = ratio + log(classes.share / (1 - classes.share))[:, None]
    found: FloatArray = np.maximum(x, 0.0) + log1p(exp(-np.abs(x))) + log(1 - classes.share)[:, None]
    return found


def _by_group(
    ratio: FloatArray, classes: _Classes, codes: NDArray[np.intp], part: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log likelihood of each group by class, shape (n_classes, n_groups), and over both classes."""
    labels = _log_densities(ratio, classes)
    evidence = part * np.array([np.bincount(codes, each, minlength=len(part)) for each in labels])
    largest = evidence.max(axis=0)
    total = largest + log((classes.prior[:, None] * exp(evidence - largest)).sum(axis=0))
    return evidence, total
