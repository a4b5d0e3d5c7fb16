"""Base of the estimators with a Gaussian model: two outputs, the mean and a softplus variance."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from levelhead.estimators._base import Decoded
from levelhead.estimators._types import (
    Activation,
    Contamination,
    FloatArray,
    InitialOutputs,
    InputScaling,
    LearningRate,
    Seed,
    Solver,
    TargetScaling,
    TargetTransform,
)
from levelhead.estimators.networks._links import raw, softplus
from levelhead.estimators.networks._training import NetworkRegressor

VARIANCE_FLOOR = 1e-6


class GaussianMembers(NetworkRegressor):
    """Networks that predict μ and V of a Gaussian; parameters as in `GaussianRegressor`."""

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (64, 64),
        *,
        activation: Activation = "relu",
        solver: Solver = "adam",
        learning_rate_init: float = 0.005,
        learning_rate: LearningRate = "cosine",
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        dropout: float = 0.025,
        weight_decay: float = 1e-4,
        shared_trunk: bool = True,
        input_scaling: InputScaling = "standard",
        n_members: int = 1,
        out_of_fold: bool = False,
        contamination: Contamination = None,
        target_transform: TargetTransform = None,
        target_scaling: TargetScaling = "robust",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        drop_last: bool = False,
        initial_outputs: InitialOutputs = "robust",
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: bool | int = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.shared_trunk = shared_trunk
        self.input_scaling = input_scaling
        self.n_members = n_members
        self.out_of_fold = out_of_fold
        self.contamination = contamination
        self.target_transform = target_transform
        self.target_scaling = target_scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.drop_last = drop_last
        self.initial_outputs = initial_outputs
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        return (0.0, raw(1.0 - VARIANCE_FLOOR))

    def _decode(self, outputs: FloatArray) -> Decoded:
        mu, o_variance = np.moveaxis(outputs, -1, 0)
        return Decoded(mu, softplus(o_variance) + VARIANCE_FLOOR)
