"""What a caller hands to the engine and gets back: plain immutable descriptions, checked when they are made.

`Architecture` and `Recipe` say what is trained and how, a `Job` says on what and from which random stream,
and a `Network` is the answer. All arrays are plain numpy arrays, so that a network is stored by writing its
fields.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from levelhead.engine.objectives import Objective, gcp

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

ACTIVATIONS = ("relu", "tanh", "silu")
OPTIMIZERS = ("adam", "rmsprop", "nesterov")
INITIALIZERS = ("glorot", "he")
SCHEDULES = ("constant", "exponential", "cosine")


@dataclass(frozen=True)
class Architecture:
    """Sizes of a network.

    Attributes
    ----------
    n_features : number of inputs.
    hidden : sizes of the hidden layers, first to last; may be empty.
    n_outputs : number of output quantities.
    shared_trunk : one stack of hidden layers for all outputs, or (the paper) a separate one for each.
    activation : "relu", "tanh" or "silu", after every hidden layer.
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
        """(inputs, outputs) of each layer of one trunk, the output layer last."""
        sizes = (self.n_features, *self.hidden, self.n_outputs // self.n_trunks)
        return tuple(pairwise(sizes))

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of all trunks together."""
        return self.n_trunks * sum((n_in + 1) * n_out for n_in, n_out in self.layer_shapes)

    def unpack(self, weights: Float32) -> list[list[tuple[Float32, Float32]]]:
        """Views of a flat weight vector: for each trunk and layer, W (inputs × outputs) and bias."""
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
    """How the step size moves with the number of steps done.

    "constant"; "exponential": × `rate` after every `every` steps, in stairs; "cosine": down a half cosine
    from 1 to `rate` over the first `every` steps, then `rate`.
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

    The loss is the mean over `n_samples` weight samples of the mean loss of the minibatch, plus the
    divergence KL(q‖N(0, prior_std²)) of all weights and biases divided by the number of training rows.
    Locations and ρ start at N(0, init_std²).
    """

    n_samples: int = 15
    prior_std: float = 1.0
    init_std: float = 0.01

    def __post_init__(self) -> None:
        _at_least(1, n_samples=self.n_samples)
        _positive(prior_std=self.prior_std, init_std=self.init_std)


@dataclass(frozen=True)
class Stopping:
    """Stop a network when its score on its held-out rows has not improved by `tol` for `patience` epochs.

    The score is the mean loss of the held-out rows, without dropout, each row's loss capped at Tukey's upper
    fence q₇₅ + 1.5 (q₇₅ − q₂₅) of all of them, so that wrong labels among the held-out rows (up to a quarter)
    cannot decide it. The weights of the best epoch are restored; the state of the optimiser stays that of the
    last one, should the training go on.
    """

    patience: int = 10
    tol: float = 1e-4

    def __post_init__(self) -> None:
        _at_least(1, patience=self.patience)
        _between(0, np.inf, tol=self.tol)


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes
    ----------
    objective : the loss with its constants, see `objectives`.
    optimizer : "adam", "rmsprop" (both with `betas[1]` for the squares, adam with `betas[0]` for the mean) or
        "nesterov" (with `momentum`).
    learning_rate, schedule : the step size and how it moves.
    batch_size : rows of a minibatch; never more than there are rows.
    epochs : passes through the rows, counted from the network's very first epoch.
    dropout : share of hidden units left out at random, after every hidden layer.
    weight_decay : λ of the penalty λ·Σw² that is added to the loss; weights only, not biases.
    clip : largest Euclidean norm of the gradient (with the penalty), or None.
    init : "glorot" (uniform) or "he" (normal) for the weights; biases start at 0.
    drop_last : leave out an incomplete last minibatch of each epoch.
    variational : mean-field Gaussian weights instead of point weights.
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
    """Running means of the gradient and of its square (or the velocity), and the steps done."""

    first: Float32
    second: Float32
    steps: int


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network.

    Attributes
    ----------
    architecture : its sizes.
    weights : flat float32 vector, laid out as `Architecture.unpack` says; the locations if variational.
    rho : the same for ρ of the scales softplus(ρ) if variational, else None.
    state : what the optimiser needs to go on exactly, or None for weights that come from elsewhere.
    epochs : epochs done.
    loss_curve : mean training loss of each epoch (dropout on, without penalty), float64.
    score_curve : score on the held-out rows after each epoch, empty without them.
    best_epoch : 1-based epoch of the weights if early stopping chose them, else `epochs`.
    stopped : early stopping ended the training.
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
    """One network to train: its random stream, its rows, and where it starts.

    Attributes
    ----------
    seed, network : the two integers from which every random number of this network is derived.
    rows : indices of its training rows, or None for all; a row may be named twice.
    held_out : indices of the rows that early stopping watches.
    X, y, sample_weight : its own data; None means those given to `train`, which are shared, never copied. A
        job with its own X shares nothing; it may bring its own y or weights for the shared X.
    initial_outputs : the outputs of the untrained network at a typical input (biases of the output layer).
    start : a network to go on from; with the same seed, rows and recipe the result is that of one long run.
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
