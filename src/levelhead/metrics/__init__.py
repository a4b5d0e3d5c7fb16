"""Measures of a prediction: of the mean, of the variance, and of the whole distribution.

Every measure takes the labels first and returns one number, averaged over the rows with `sample_weight` where that
makes sense. `mean` and `var` of a distribution have the shape (n_samples,) for a Gaussian, or (n_members, n_samples)
for an equal-weight mixture of Gaussians; these are `member_mean` and `member_var` of a `Prediction`.

| question | measures |
|---|---|
| how far off is the mean? | `rmse`, `robust_r2` (not misled by wrong labels in the test set) |
| does the variance predict the error? | `retention_curve`, `retention_auc`, `oracle_curve`, `ause` |
| is the distribution right? | `nll`, `crps`, `coverage`, `pit`, `calibration_curve`, `calibration_error` |

`get_scorer` returns each of them as a scorer for scikit-learn. Greater is better, so losses are negated.

>>> round(retention_auc(y=[0.0, 0.0, 0.0], mean=[3.0, 1.0, 0.0], var=[9.0, 4.0, 1.0]), 6)
0.809989
>>> round(crps(y=[0.0], mean=[0.0], var=[1.0]), 6)
0.233695
"""

from levelhead.metrics.composition import predict_dist, predict_interval
from levelhead.metrics.distributions import (
    CalibrationCurve,
    calibration_curve,
    calibration_error,
    coverage,
    crps,
    nll,
    pit,
)
from levelhead.metrics.means import rmse, robust_r2
from levelhead.metrics.retention import ause, oracle_curve, retention_auc, retention_curve
from levelhead.metrics.scorers import SCORERS, Scorer, get_scorer

__all__ = [
    "SCORERS",
    "CalibrationCurve",
    "Scorer",
    "ause",
    "calibration_curve",
    "calibration_error",
    "coverage",
    "crps",
    "get_scorer",
    "nll",
    "oracle_curve",
    "pit",
    "predict_dist",
    "predict_interval",
    "retention_auc",
    "retention_curve",
    "rmse",
    "robust_r2",
]
