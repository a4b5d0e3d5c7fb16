"""Types in the signatures of the estimators."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Table = NDArray[Any]  # a checked X, in float64 or float32
Weights = ArrayLike | None
Seed = int | np.random.RandomState | None
Contamination = float | Literal["auto"] | None
Constraints = dict[str, list[Any]]

Activation = Literal["relu", "tanh", "silu"]
Solver = Literal["adam", "rmsprop", "nesterov"]
LearningRate = Literal["cosine", "constant", "stairs"]
InputScaling = Literal["standard", "robust", "piecewise"]
TargetScaling = Literal["robust", "standard", "none"]
InitialOutputs = Literal["robust", "zero"]
TargetTransform = Any  # "auto", "log", "yeo-johnson", None, a transformer, or a Transform
