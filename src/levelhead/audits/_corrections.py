"""Corrections of an audit by what single residuals do not show: gaps in the inputs, powers of ten, groups, neighbours.

Each takes an audit and returns a new one, or the same one if there is nothing to correct. The methods of `Audit` that
call them say what they do.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from levelhead._checks import FloatArray
from levelhead.audits._agreement import supported_odds
from levelhead.audits._factors import find_factors
from levelhead.audits._groups import group_odds
from levelhead.audits.dependence import correlation_within, level_codes
from levelhead.audits.flags import flagged
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination
from levelhead.prediction.calibration import added_variance
from levelhead.theory.elementary import exp

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

_SUPPORTED_ODDS = -1.0986122886681098  # log odds, of a probability of ¼: supported labels stay in doubt
_LARGEST_IN_GROUPS = 2.0  # residuals beyond it count as this in the correlation within groups of clean labels


def allowing_for(audit: "Audit", gaps: ArrayLike) -> "Audit":
    """See `Audit.allowing_for`."""
    missing = np.asarray(gaps, dtype=bool)
    missing = missing[:, missing.any(axis=0)]
    judged = audit.judged
    residual = judged.given - judged.predicted
    if not missing.any() or np.median(np.abs(residual)) == 0:
        return audit
    variance = judged.std**2 + added_variance(residual, judged.std**2, missing)
    known = audit.separation.contamination if audit.separation.standard_error == 0 else None
    rest = ~audit.is_code
    separation = estimate_contamination(residual[rest], variance[rest], contamination=known, core="student")
    return _separated_by(audit, separation, variance)


def by_factors(audit: "Audit") -> "Audit":
    """See `Audit.by_factors`."""
    if audit._is_given:
        return audit
    rest = ~audit.is_code
    given, (_, predicted, std) = audit.given_label[rest], (values[rest] for values in audit.judged)
    transform = None if audit.scale is None else audit.scale.transform
    factors = find_factors(given, predicted, std, transform)
    if factors is None:
        return audit
    found = _separated_by(audit, factors.separation, audit.judged.std**2)
    odds = found.log_odds.copy()
    odds[rest] = factors.log_odds
    return _with_odds(found, odds)


def by_groups(audit: "Audit", groups: ArrayLike) -> "Audit":
    """See `Audit.by_groups`."""
    names = np.asarray(groups)
    if names.shape != (len(audit),):
        raise ValueError(f"groups has shape {names.shape}; give one entry for each of {len(audit)} labels")
    rest = ~audit.is_code
    codes = level_codes(names[rest])
    if codes.size == 0 or codes.max() + 1 in (1, codes.size):
        return audit
    correlation = correlation_within(audit.z[rest], codes, _LARGEST_IN_GROUPS)
    found = group_odds(audit.log_odds[rest], audit.separation.contamination, codes, correlation)
    if not len(found.spoilt):
        return audit
    odds = audit.log_odds.copy()
    odds[rest] = found.log_odds
    return _with_odds(audit, odds).with_remarks(
        f"In {len(found.spoilt):,} of {codes.max() + 1:,} groups most labels look wrong."
    )


def by_neighbours(
    audit: "Audit", columns: Mapping[str, ArrayLike], importances: ArrayLike, groups: ArrayLike | None
) -> "Audit":
    """See `Audit.by_neighbours`."""
    weights = np.asarray(importances, dtype=np.float64)
    if weights.shape != (len(columns),):
        raise ValueError(
            f"importances has shape {weights.shape}; give one for each of {len(columns)} columns"
        )
    suspects = np.flatnonzero((audit.log_odds > 0) & ~audit.is_code)
    if not suspects.size:
        return audit
    apart = None if groups is None else level_codes(np.asarray(groups))
    trusted = (audit.log_odds < 0) & ~audit.is_code
    supported = supported_odds(audit.log_odds[suspects], audit.z, suspects, trusted, columns, weights, apart)
    odds = audit.log_odds.copy()
    odds[suspects] = np.maximum(supported, np.minimum(odds[suspects], _SUPPORTED_ODDS))
    if (odds == audit.log_odds).all():
        return audit
    found = _with_odds(audit, odds)
    fewer = int((audit.is_label_issue & (odds <= 0)).sum())
    return found.with_remarks(_in_doubt(fewer)) if fewer else found


def _in_doubt(count: int) -> str:
    return (
        f"{count:,} {'label deviates' if count == 1 else 'labels deviate'} from the prediction as those of the "
        "nearest rows do, so the model may err there: in doubt, not flagged."
    )


def _separated_by(audit: "Audit", separation: ContaminationEstimate, variance: FloatArray) -> "Audit":
    """The same labels and predictions, judged by another separation of their residuals."""
    return audit.from_residuals(
        audit.given_label,
        audit.judged.predicted,
        variance,
        alpha=audit.alpha,
        transform=None if audit.scale is None else audit.scale.transform,
        separation=separation,
        false_alarm_rate=audit.false_alarm_rate,
        codes=np.unique(audit.given_label[audit.is_code]),
        index=audit.index,
    ).with_remarks(*audit.remarks)


def _with_odds(audit: "Audit", log_odds: FloatArray) -> "Audit":
    """The same audit with other log odds, and the flags that follow from them."""
    p = 1 / (1 + exp(-log_odds))
    flags = flagged(p, audit.is_code, audit.false_alarm_rate)
    return replace(audit, log_odds=log_odds, p_outlier=p, is_label_issue=flags)
