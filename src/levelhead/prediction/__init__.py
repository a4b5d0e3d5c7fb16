"""Predictions: for every row the distribution of its clean label."""

from levelhead.prediction.display import make_frame
from levelhead.prediction.distribution import Distribution, Interval
from levelhead.prediction.prediction import Prediction

__all__ = ["Distribution", "Interval", "Prediction", "make_frame"]
