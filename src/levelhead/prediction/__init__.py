"""Predictions: for every row the distribution of its clean label."""

from levelhead.prediction.prediction import Distribution, Interval, Prediction, make_frame

__all__ = ["Distribution", "Interval", "Prediction", "make_frame"]
