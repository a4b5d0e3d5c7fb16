"""The gradient conjugate prior network: robust mean and variance of the clean labels."""

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Options, StrOptions

from levelhead import engine
from levelhead.engine.elementwise import prognostic_variance
from levelhead.estimators._base import Decoded
from levelhead.estimators._tables import Location
from levelhead.estimators._types import (
    Activation,
    Constraints,
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
from levelhead.prediction import Prediction
from levelhead.theory.special import alpha_minus_A
from levelhead.theory.student import student_variance

_ALPHA_FLOOR = 0.1  # the paper's
_BETA_FLOOR = 1e-6  # keeps σ positive: residuals of exactly 0 must not make the likelihood unbounded
_SIGMA_FLOOR = 2 * _BETA_FLOOR  # σ = 2β at ν = 1
_FIRST_ALPHA = 1.0  # small: outliers have little weight from the first step on


class GCPRegressor(NetworkRegressor):
    """Robust probabilistic regression by gradient conjugate priors.

    Networks give the parameters m, ν, α, β of a normal-gamma prior for every row. The loss is −ln of Student's t
    (Algorithm 2 of the paper). The prediction describes the **clean** labels: mean m and the prognostic variance
    σ/(α − A(α)), equation (6), calibrated on held-out rows.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Number of units in each hidden layer; () for none, a linear model.
    activation : {"relu", "tanh", "silu"}, default="relu"
        Activation function of the hidden layers.
    solver : {"adam", "rmsprop", "nesterov"}, default="adam"
        Optimizer.
    learning_rate_init : float, default=0.005
        Initial learning rate.
    learning_rate : {"cosine", "constant", "stairs"}, default="cosine"
        Schedule of the learning rate. "cosine" decreases it to 0 over the training; "stairs" multiplies it by 0.9
        every 100 steps.
    batch_size : int or "auto", default="auto"
        Number of rows in a minibatch. "auto" uses 16, 32 from 2,000 rows on, and 128 from 20,000 rows on.
    max_iter : int or "auto", default="auto"
        Number of epochs. "auto" chooses it by the number of rows.
    dropout : float, default=0.025
        Share of hidden units that are left out at random during training.
    weight_decay : float, default=1e-4
        L2 penalty on weights; biases are not penalized.
    shared_trunk : bool, default=True
        Whether all outputs share one stack of hidden layers. With False, each output has its own stack (as in the
        paper).
    input_scaling : {"standard", "robust", "piecewise"}, default="standard"
        How columns become inputs. "standard" uses mean and standard deviation. "robust" uses median and quartiles, with
        a bound for extreme values. "piecewise" adds up to 16 piecewise-linear inputs per column, by which networks
        follow sharp functions; it takes about twice as long, and works best with `weight_decay=3e-3`.
    n_members : int, default=1
        Number of networks in the ensemble.
    out_of_fold : bool, default=True
        Whether to predict every training row by a network that was not trained on it. For this, at least five networks
        are trained first, each without one fold of the rows.
    contamination : float, "auto" or None, default="auto"
        Share of wrong labels, from 0 to below 1. "auto" estimates it. With a number or "auto", the variance is
        calibrated on out-of-fold residuals, which needs `out_of_fold=True`. With None, it is not calibrated.
    n_outputs : {3, 4}, default=4
        Number of quantities that a network predicts: 4 are m, ν, α, β, as in the paper; 3 are m, α, σ, the parameters
        of Student's t itself (end of Appendix A). Both describe the same distributions; with 3 a fit takes less time,
        and follows another path to the solution.
    variance : {"prognostic", "student"}, default="prognostic"
        Variance to predict: "prognostic" for the clean labels, equation (6); "student" for all labels with the wrong
        ones, equation (9).
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default=None
        Scale of the labels on which the model learns; predictions are in the units of y. "auto" chooses on held-out
        rows. A transformer has `transform` and `inverse_transform` and is monotone. None is the scale of y itself.
    target_scaling : {"robust", "standard", "none"}, default="robust"
        How labels are scaled: "robust" uses the median and the median absolute deviation, "standard" the mean and the
        standard deviation (as in the paper).
    early_stopping : bool, default=False
        Whether to stop when a robust score on held-out rows no longer improves.
    validation_fraction : float, default=0.1
        Share of the rows that are held out if `early_stopping=True`.
    n_iter_no_change : int, default=10
        Number of epochs without improvement before training stops early.
    tol : float, default=1e-4
        Smallest change of the score that counts as an improvement.
    drop_last : bool, default=False
        Whether to skip an incomplete last minibatch in each epoch (as in the paper).
    initial_outputs : {"robust", "zero"}, default="robust"
        Outputs of the untrained networks: "robust" starts at the location and scale of the labels with α = 1,
        "zero" with zero biases.
    warm_start : bool, default=False
        Whether a second call of `fit` continues with the networks of the first.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same model, for any order of the rows and any number of threads.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.
    verbose : bool, default=False
        Whether to print progress to stderr.

    Attributes
    ----------
    networks_ : list of Network
        The trained members.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows.
    contamination_ : float
        Share of wrong labels, estimated or given; NaN if `contamination=None` or there were too few rows.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`, with its standard error.
    calibration_ : Calibration
        Map from a network's variance to the variance calibrated on held-out rows.
    input_scale_ : Scale or Embedding
        How columns become inputs: center and spread of each column of X, and pieces.
    target_scale_ : Scale
        Center and spread of the labels.
    target_transform_ : Transform or None
        Scale of the labels.
    target_transform_reason_ : str
        The reason for this scale, in one sentence.
    loss_curve_ : list of float
        Mean training loss of the members after each epoch.
    n_iter_ : int
        Number of epochs.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column, with the sum 1: how much the mean changes if its cells are exchanged between rows.
        Not computed for more than 2,000 columns.
    columns_ : Columns or None
        What the columns of a frame with categories, dates or text hold; None for other tables.
    encoding_ : Encoding or None
        How a table becomes inputs; None if it is used as it is.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import GCPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 1))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> y[::20] += 5  # one label in twenty is wrong
    >>> model = GCPRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(0.07 < std[0] < 0.16)
    (True, True)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **NetworkRegressor._parameter_constraints,
        "n_outputs": [Options(Integral, {3, 4})],
        "variance": [StrOptions({"prognostic", "student"})],
    }

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
        out_of_fold: bool = True,
        contamination: Contamination = "auto",
        n_outputs: Literal[3, 4] = 4,
        variance: Literal["prognostic", "student"] = "prognostic",
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
        self.n_outputs = n_outputs
        self.variance = variance
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
    def _objective(self) -> engine.Objective:
        if self.n_outputs == 3:
            return engine.gcp_direct(alpha_floor=_ALPHA_FLOOR, sigma_floor=_SIGMA_FLOOR)
        return engine.gcp(alpha_floor=_ALPHA_FLOOR, beta_floor=_BETA_FLOOR)

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        """M = 0, α = 1, and σ such that the prognostic variance is 1, in scaled units; with four outputs ν = 1."""
        sigma = float(alpha_minus_A(_FIRST_ALPHA))  # eq. (6)
        alpha = raw(_FIRST_ALPHA - _ALPHA_FLOOR)
        if self.n_outputs == 3:
            return (0.0, alpha, raw(sigma - _SIGMA_FLOOR))
        return (0.0, raw(1.0), alpha, raw(sigma / 2 - _BETA_FLOOR))  # eq. (4) at ν = 1

    def _decode(self, outputs: FloatArray) -> Decoded:
        m, positive = outputs[..., 0], softplus(np.moveaxis(outputs[..., 1:], -1, 0))
        if self.n_outputs == 3:
            alpha, sigma = positive[0] + _ALPHA_FLOOR, positive[1] + _SIGMA_FLOOR
        else:
            nu, alpha = positive[0], positive[1] + _ALPHA_FLOOR
            sigma = (positive[2] + _BETA_FLOOR) * (nu + 1) / nu  # eq. (4)
        return Decoded(m, prognostic_variance(alpha, sigma), alpha, sigma)

    def _latent(self, decoded: Decoded, location: Location | None) -> Prediction:
        clean = super()._latent(decoded, location)
        if self.variance == "prognostic" or clean.member_alpha is None or clean.member_sigma is None:
            return clean
        spread = student_variance(clean.member_alpha, clean.member_sigma, finite=True)
        return Prediction(clean.member_mean, spread, alpha=clean.member_alpha, sigma=clean.member_sigma)
