"""Predictions: for every row the distribution of its clean label."""

from levelhead.prediction.display import make_frame
from levelhead.prediction.distribution import Distribution, Interval
from levelhead.prediction.monotone import MonotoneTransform
from levelhead.prediction.multiple import MultiPrediction
from levelhead.prediction.prediction import Prediction
from levelhead.prediction.transformed import TransformedPrediction
from levelhead.prediction.transforms import LogTransform, Transform
from levelhead.prediction.yeo_johnson import YeoJohnsonTransform

__all__ = [
    "Distribution",
    "Interval",
    "LogTransform",
    "MonotoneTransform",
    "MultiPrediction",
    "Prediction",
    "Transform",
    "TransformedPrediction",
    "YeoJohnsonTransform",
    "make_frame",
]
