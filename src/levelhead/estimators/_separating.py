"""Calibrates held-out variances and separates wrong labels from clean ones; codes for missing labels take no part."""

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._factors import explained_by_factors
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination
from levelhead.estimators._types import FloatArray
from levelhead.prediction.calibration import Calibration, calibrate
from levelhead.prediction.transforms import Transform
from levelhead.tables.missing import label_codes


def is_noiseless(y: FloatArray, mean: FloatArray) -> bool:
    """Whether labels have no noise to measure: all are equal, or more than half of them are predicted exactly."""
    return bool(y.min() == y.max() or np.median(np.abs(y - mean)) == 0)


def calibrated_separation(
    y: FloatArray, mean: FloatArray, variance: FloatArray, contamination: float | None = None
) -> tuple[Calibration, ContaminationEstimate]:
    """Learn from labels and predictions that have not seen them, on the scale on which the model learns."""
    z = y - mean
    measured = ~np.isin(y, label_codes(y, z / np.sqrt(variance)))
    z, variance = z[measured], variance[measured]
    calibration = calibrate(z, variance)
    return calibration, estimate_contamination(
        z, calibration(variance), contamination=contamination, core="student"
    )


def label_quality(
    y: FloatArray, z: FloatArray, variance: FloatArray, separation: ContaminationEstimate
) -> FloatArray:
    """Probability that each label is right, from its residual z and calibrated variance; 0 for codes."""
    is_code = np.isin(y, label_codes(y, z / np.sqrt(variance)))
    return np.where(is_code, 0.0, 1 - separation.probability(z, variance))


def misplaced(
    y: FloatArray, mean: FloatArray, variance: FloatArray, scale: Transform | None
) -> NDArray[np.bool_]:
    """Labels, in their own units, that are probably a power of ten times too large or too small.

    Means and variances have not seen the labels, and are on the scale on which the model learns.
    """
    labels = y if scale is None else scale.labels(y)
    if is_noiseless(labels, mean):
        return np.zeros(len(y), dtype=bool)
    calibrated = calibrate(labels - mean, variance)(variance)
    return explained_by_factors(y, mean, np.sqrt(calibrated), scale) > 0.5
