"""The inputs and results of the engine: plain immutable descriptions, checked when they are created.

`Architecture` and `Recipe` say what is trained and how. A `Job` says on which rows and with which random stream. A
`Network` is the result. All arrays are plain numpy arrays, so that a network is stored by writing its fields.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from levelhead.engine._types import Float32, Float64
from levelhead.engine.objectives import Objective, gcp

ACTIVATIONS = ("relu", "tanh", "silu")
OPTIMIZERS = ("adam", "rmsprop", "nesterov")
INITIALIZERS = ("glorot", "he")
SCHEDULES = ("constant", "exponential", "cosine")


@dataclass(frozen=True)
class Architecture:
    """Sizes of a network.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    hidden : tuple of int
        Sizes of the hidden layers, first to last; may be empty.
    n_outputs : int
        Number of outputs, of all targets together.
    shared_trunk : bool, default=False
        Whether all outputs share one stack of hidden layers. The paper uses a separate stack for each output.
    activation : {"relu", "tanh", "silu"}, default="relu"
        Activation after every hidden layer.

    Raises
    ------
    ValueError
        If a size is not a positive whole number, or the activation is not known.

    Examples
    --------
    >>> Architecture(n_features=8, hidden=(50,), n_outputs=4).n_weights
    2004
    """

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int
    shared_trunk: bool = False
    activation: Literal["relu", "tanh", "silu"] = "relu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(int(h) for h in self.hidden))
        for name, size in [("n_features", self.n_features), ("n_outputs", self.n_outputs)]:
            _at_least(1, **{name: size})
        for size in self.hidden:
            _at_least(1, **{"every size in hidden": size})
        _one_of(ACTIVATIONS, activation=self.activation)

    @property
    def n_trunks(self) -> int:
        """Number of separate stacks of hidden layers."""
        return 1 if self.shared_trunk else self.n_outputs

    @property
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each layer of one trunk, output layer last."""
        sizes = (self.n_features, *self.hidden, self.n_outputs // self.n_trunks)
        return tuple(pairwise(sizes))

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of all trunks together."""
        return self.n_trunks * sum((n_in + 1) * n_out for n_in, n_out in self.layer_shapes)

    def unpack(self, weights: Float32) -> list[list[tuple[Float32, Float32]]]:
        """Split a flat weight vector into layers.

        Parameters
        ----------
        weights : ndarray of float32, of shape (n_weights,)
            The flat vector.

        Returns
        -------
        list of list of tuple of ndarray
            Views: for each trunk and layer, W (inputs × outputs) and bias.

        Raises
        ------
        ValueError
            If the vector does not have `n_weights` entries.
        """
        if weights.shape != (self.n_weights,):
            raise ValueError(f"weights have shape {weights.shape}; this architecture has {self.n_weights}")
        trunks, start = [], 0
        for _ in range(self.n_trunks):
            layers = []
            for n_in, n_out in self.layer_shapes:
                end = start + n_in * n_out
                layers.append((weights[start:end].reshape(n_in, n_out), weights[end : end + n_out]))
                start = end + n_out
            trunks.append(layers)
        return trunks


@dataclass(frozen=True)
class Schedule:
    """How the step size changes with the number of steps.

    Parameters
    ----------
    kind : {"constant", "exponential", "cosine"}, default="constant"
        "exponential" multiplies it by `rate` after every `every` steps. "cosine" lowers it along a half cosine from 1
        to `rate` over the first `every` steps, and then keeps `rate`.
    rate : float, default=1.0
        Factor, from 0 to 1.
    every : int, default=1
        Number of steps.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    kind: Literal["constant", "exponential", "cosine"] = "constant"
    rate: float = 1.0
    every: int = 1

    def __post_init__(self) -> None:
        _one_of(SCHEDULES, kind=self.kind)
        _at_least(1, every=self.every)
        _between(0, 1, rate=self.rate)


@dataclass(frozen=True)
class Variational:
    """Mean-field Gaussian weights N(w, softplus(ρ)²), trained by reparametrised samples.

    The loss is the mean over `n_samples` weight samples of the mean loss of the minibatch, plus the divergence
    KL(q‖N(0, prior_std²)) of all weights and biases divided by the number of training rows.

    Parameters
    ----------
    n_samples : int, default=15
        Weight samples per step.
    prior_std : float, default=1.0
        Standard deviation of the prior.
    init_std : float, default=0.01
        Locations and ρ start at N(0, init_std²).

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    n_samples: int = 15
    prior_std: float = 1.0
    init_std: float = 0.01

    def __post_init__(self) -> None:
        _at_least(1, n_samples=self.n_samples)
        _positive(prior_std=self.prior_std, init_std=self.init_std)


@dataclass(frozen=True)
class Stopping:
    """Early stopping on held-out rows.

    The score is the mean loss of the held-out rows, without dropout. The loss of each row is capped at Tukey's upper
    fence q₇₅ + 1.5 (q₇₅ − q₂₅) of all of them, so that wrong labels among the held-out rows (up to a quarter) cannot
    decide it. With several targets, it is the sum of their scores. The weights of the best epoch are restored. The
    state of the optimiser stays that of the last epoch, in case the training is continued.

    Parameters
    ----------
    patience : int, default=10
        A network stops when its score has not improved for this many epochs.
    tol : float, default=1e-4
        Smallest improvement that counts.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    patience: int = 10
    tol: float = 1e-4

    def __post_init__(self) -> None:
        _at_least(1, patience=self.patience)
        _between(0, np.inf, tol=self.tol)


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Parameters
    ----------
    objective : Objective, default=gcp()
        The loss with its constants, see `objectives`.
    optimizer : {"adam", "rmsprop", "nesterov"}, default="adam"
        "adam" and "rmsprop" use `betas[1]` for the squares, "adam" also `betas[0]` for the mean; "nesterov" uses
        `momentum`.
    learning_rate : float, default=1e-3
        Step size.
    schedule : Schedule, default=Schedule()
        How the step size changes.
    batch_size : int, default=32
        Rows of a minibatch; limited to the number of rows.
    epochs : int, default=100
        Passes through the rows, counted from the first epoch of the network.
    dropout : float, default=0.0
        Share of hidden units dropped at random, after every hidden layer.
    weight_decay : float, default=0.0
        λ of the penalty λ·Σw² that is added to the loss; weights only, not biases.
    clip : float, default=None
        Largest Euclidean norm of the gradient, penalty included. No limit by default.
    init : {"glorot", "he"}, default="glorot"
        Initial weights: "glorot" (uniform) or "he" (normal). Biases start at 0.
    drop_last : bool, default=False
        Whether to skip an incomplete last minibatch of each epoch.
    betas : tuple of float, default=(0.9, 0.999)
        Decay rates of the running means of the gradient and of its square.
    epsilon : float, default=1e-8
        Added to the root of the mean square in "adam" and "rmsprop".
    momentum : float, default=0.9
        Momentum of "nesterov".
    variational : Variational, default=None
        Mean-field Gaussian weights. Point weights by default.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    objective: Objective = field(default_factory=gcp)
    optimizer: Literal["adam", "rmsprop", "nesterov"] = "adam"
    learning_rate: float = 1e-3
    schedule: Schedule = field(default_factory=Schedule)
    batch_size: int = 32
    epochs: int = 100
    dropout: float = 0.0
    weight_decay: float = 0.0
    clip: float | None = None
    init: Literal["glorot", "he"] = "glorot"
    drop_last: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    momentum: float = 0.9
    variational: Variational | None = None

    def __post_init__(self) -> None:
        _one_of(OPTIMIZERS, optimizer=self.optimizer)
        _one_of(INITIALIZERS, init=self.init)
        _at_least(1, batch_size=self.batch_size)
        _at_least(0, epochs=self.epochs)
        _positive(learning_rate=self.learning_rate, epsilon=self.epsilon)
        _between(0, np.inf, weight_decay=self.weight_decay)
        if self.clip is not None:
            _positive(clip=self.clip)
        shares = {"dropout": self.dropout, "momentum": self.momentum}
        shares |= {"betas[0]": self.betas[0], "betas[1]": self.betas[1]}
        for name, share in shares.items():
            if not 0 <= share < 1:
                raise ValueError(f"{name} is {share}; it must be at least 0 and below 1")


@dataclass(frozen=True, eq=False)
class OptimizerState:
    """State of the optimiser, to continue training exactly where it stopped.

    Parameters
    ----------
    first : ndarray of float32
        Running mean of the gradient, or the velocity.
    second : ndarray of float32
        Running mean of the squared gradient.
    steps : int
        Steps done.
    """

    first: Float32
    second: Float32
    steps: int


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network.

    Parameters
    ----------
    architecture : Architecture
        Its sizes.
    weights : ndarray of float32, of shape (n_weights,)
        Flat weight vector, see `Architecture.unpack`; the locations if variational.
    rho : ndarray of float32, of shape (n_weights,), default=None
        ρ of the scales softplus(ρ) if variational.
    state : OptimizerState, default=None
        State of the optimiser. None for weights from elsewhere.
    epochs : int, default=0
        Epochs done.
    loss_curve : ndarray of shape (epochs,), default=empty
        Mean training loss of each epoch, with dropout and without penalty.
    score_curve : ndarray of shape (epochs,), default=empty
        Score on the held-out rows after each epoch; empty without them.
    best_epoch : int, default=0
        Epoch (counted from 1) of the weights if early stopping chose them, else `epochs`.
    stopped : bool, default=False
        Whether early stopping ended the training.

    Raises
    ------
    ValueError
        If `weights` or `rho` has the wrong type or shape.
    """

    architecture: Architecture
    weights: Float32
    rho: Float32 | None = None
    state: OptimizerState | None = None
    epochs: int = 0
    loss_curve: Float64 = field(default_factory=lambda: np.empty(0))
    score_curve: Float64 = field(default_factory=lambda: np.empty(0))
    best_epoch: int = 0
    stopped: bool = False

    def __post_init__(self) -> None:
        for name, flat in [("weights", self.weights), ("rho", self.rho)]:
            expected = (self.architecture.n_weights,)
            if flat is not None and (flat.shape != expected or flat.dtype != np.float32):
                raise ValueError(f"{name}: need float32 of shape {expected}, got {flat.dtype} {flat.shape}")


@dataclass(frozen=True, eq=False)
class Job:
    """One network to train: its random stream, its rows, and its start.

    Parameters
    ----------
    seed : int, default=0
        Every random number of this network is derived from `seed` and `network`.
    network : int, default=0
        Number of the network.
    rows : ndarray of int, default=None
        Indices of the training rows, all by default. A row may be named twice.
    held_out : ndarray of int, default=None
        Indices of the rows for early stopping.
    X : ndarray of float32, of shape (n_samples, n_features), default=None
        Inputs of this job. By default those given to `train`, which are shared, not copied. A job with its own X uses
        none of the shared data.
    y : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets), default=None
        Labels of this job. By default those given to `train`.
    sample_weight : ndarray of float32, of shape (n_samples,) or (n_samples, n_targets), default=None
        Weights of this job. By default those given to `train`.
    initial_outputs : tuple of float, default=None
        Outputs of the untrained network at a typical input (biases of the output layer).
    start : Network, default=None
        A network to continue from. With the same seed, rows and recipe the result is that of one long run.
    """

    seed: int = 0
    network: int = 0
    rows: NDArray[np.integer] | None = None
    held_out: NDArray[np.integer] | None = None
    X: Float32 | None = None
    y: Float32 | None = None
    sample_weight: Float32 | None = None
    initial_outputs: tuple[float, ...] | None = None
    start: Network | None = None


def _one_of(choices: tuple[str, ...], **named: str) -> None:
    for name, value in named.items():
        if value not in choices:
            raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}")


def _at_least(least: int, **named: int) -> None:
    for name, value in named.items():
        if int(value) != value or value < least:
            raise ValueError(f"{name} is {value}; it must be a whole number, {least} or more")


def _positive(**named: float) -> None:
    for name, value in named.items():
        if not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}; it must be a positive number")


def _between(low: float, high: float, **named: float) -> None:
    for name, value in named.items():
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}; it must lie between {low} and {high}")
