"""Records of version 0.1 whose fields are others today."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from levelhead.audits import Audit
from levelhead.audits._bins import KNOTS, X
from levelhead.audits._known_noise import power_law_odds
from levelhead.audits.separation import ContaminationEstimate
from levelhead.persistence._archive import ModelFileError
from levelhead.persistence._checks import Check, array, number, whole
from levelhead.theory.elementary import log
from levelhead.theory.student import StudentT

_GAUSSIAN_TAIL = 1e-3  # a tail below this is none
_ESTIMATE: Mapping[str, Check] = MappingProxyType(
    {
        "contamination": number(0, 1),
        "standard_error": number(0, 1e9),
        "scale": number(1e-140, 1e140),
        "tail": number(0, 0.49),
        "background": number(0, 1),
        "slope": number(0, 1000),
        "window": number(1e-300, 1e300),
        "n": whole(1),
    }
)


def converted(cls: type, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that a record has today; unchanged if the file is of today."""
    if cls is ContaminationEstimate and set(fields) == set(_ESTIMATE):
        return _estimate(fields)
    if cls is Audit and "log_odds" not in fields:
        return fields | _of_audit(fields.get("p_outlier"))
    return fields


def _of_audit(p: Any) -> dict[str, Any]:
    """What version 0.1 did not store: odds from probabilities; it knew no codes and gave no warnings."""
    if not array(np.float64)(p):
        raise ModelFileError("Audit.p_outlier is not an array of numbers")
    sure = np.clip(p, 1e-300, 1 - 2**-53)
    return {
        "log_odds": log(sure) - log(1 - sure),
        "is_code": np.zeros(p.shape, dtype=bool),
        "warnings": (),
        "index": None,
    }


def _estimate(fields: dict[str, Any]) -> dict[str, Any]:
    """A symmetric core on a power-law background as a table of log odds."""
    for name, check in _ESTIMATE.items():
        if not check(fields[name]):
            raise ModelFileError(f"ContaminationEstimate.{name} cannot be {str(fields[name])[:80]}")
    share, error, scale, tail, background, slope, window, n = (float(fields[name]) for name in _ESTIMATE)
    half = np.asarray(0.5 / max(tail, _GAUSSIAN_TAIL))
    r = np.abs(scale * X)
    log_core = StudentT(np.zeros(()), half, half).logpdf(r / scale)
    log_clean = log(max(2 * (1 - share), 1e-300)) - log(scale) + log_core
    odds = power_law_odds(r, log_clean, max(background, 0.5 / n), slope, window)
    ends = max(0.0, share - 1.96 * error), min(1.0, share + 1.96 * error)
    return {
        "contamination": share,
        "standard_error": error,
        "contamination_interval": ends,
        "standing_out": share,
        "standing_out_interval": ends,
        "variance_ratio": scale * scale / (1 - 2 * tail),
        "tail": tail,
        "center": 0.0,
        "scale": scale,
        "knots": tuple(KNOTS.tolist()),
        "odds": tuple(np.clip(odds, -1e6, 1e6).tolist()),
        "n": int(n),
        "warnings": (),
    }
