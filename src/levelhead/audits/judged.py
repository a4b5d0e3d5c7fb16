"""Labels and predictions on the scale on which labels are judged, such as a log scale."""

from typing import NamedTuple

import numpy as np

from levelhead._checks import FloatArray
from levelhead.prediction.transforms import Transform


class Judged(NamedTuple):
    """Labels, predictions and standard deviations on the scale on which labels are judged; one entry per row."""

    given: FloatArray
    predicted: FloatArray
    std: FloatArray


class JudgedScale(NamedTuple):
    """Another scale on which labels are judged, with the predictions on it.

    Attributes
    ----------
    transform : Transform
        The scale.
    predicted : ndarray of shape (n_samples,)
        Predicted means on the scale.
    std : ndarray of shape (n_samples,)
        Standard deviations of the clean noise on the scale.
    """

    transform: Transform
    predicted: FloatArray
    std: FloatArray

    @property
    def predicted_label(self) -> FloatArray:
        """Predictions in the units of the labels: the medians."""
        return self.transform.inverse(self.predicted)

    @property
    def label_std(self) -> FloatArray:
        """Standard deviations of the clean label in its own units."""
        return np.sqrt(self.transform.moments(self.predicted, self.std)[1])
