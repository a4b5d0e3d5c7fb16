"""Robust baselines: a Gaussian fitted by β- or γ-divergence instead of likelihood."""

from collections.abc import Sequence
from typing import Any, ClassVar

from levelhead import engine
from levelhead.estimators._constraints import POSITIVE
from levelhead.estimators._types import Constraints
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR, GaussianMembers
from levelhead.estimators.networks._signature import adds_to


class BetaDivergenceRegressor(GaussianMembers):
    """Mean and variance of a Gaussian by β-divergence (Basu et al. 1998).

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Number of units in each hidden layer; () for none, a linear model.
    beta : float, default=0.4
        Robustness of the divergence, above 0. Towards 0, the loss becomes the likelihood of `GaussianRegressor`.
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
    out_of_fold : bool, default=False
        Whether to predict every training row by a network that was not trained on it. For this, at least five networks
        are trained first, each without one fold of the rows.
    contamination : float, "auto" or None, default=None
        Share of wrong labels, from 0 to below 1. "auto" estimates it. With a number or "auto", the variance is
        calibrated on out-of-fold residuals, which needs `out_of_fold=True`. With None, it is not calibrated.
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
        Outputs of the untrained networks: "robust" starts at the location and scale of the labels, "zero" with zero
        biases.
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
        Out-of-fold predictions of the training rows, if `out_of_fold=True`.
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
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **GaussianMembers._parameter_constraints,
        "beta": [POSITIVE],
    }

    @adds_to(GaussianMembers)
    def __init__(
        self, hidden_layer_sizes: int | Sequence[int] = (64, 64), *, beta: float = 0.4, **common: Any
    ) -> None:
        super().__init__(hidden_layer_sizes, **common)
        self.beta = beta

    @property
    def _objective(self) -> engine.Objective:
        return engine.beta(self.beta, variance_floor=VARIANCE_FLOOR)


class GammaDivergenceRegressor(GaussianMembers):
    """Mean and variance of a Gaussian by γ-divergence (Fujisawa and Eguchi 2008).

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Number of units in each hidden layer; () for none, a linear model.
    gamma : float, default=0.4
        Robustness of the divergence, above 0. Towards 0, the loss becomes the likelihood of `GaussianRegressor`.
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
    out_of_fold : bool, default=False
        Whether to predict every training row by a network that was not trained on it. For this, at least five networks
        are trained first, each without one fold of the rows.
    contamination : float, "auto" or None, default=None
        Share of wrong labels, from 0 to below 1. "auto" estimates it. With a number or "auto", the variance is
        calibrated on out-of-fold residuals, which needs `out_of_fold=True`. With None, it is not calibrated.
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
        Outputs of the untrained networks: "robust" starts at the location and scale of the labels, "zero" with zero
        biases.
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
        Out-of-fold predictions of the training rows, if `out_of_fold=True`.
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
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **GaussianMembers._parameter_constraints,
        "gamma": [POSITIVE],
    }

    @adds_to(GaussianMembers)
    def __init__(
        self, hidden_layer_sizes: int | Sequence[int] = (64, 64), *, gamma: float = 0.4, **common: Any
    ) -> None:
        super().__init__(hidden_layer_sizes, **common)
        self.gamma = gamma

    @property
    def _objective(self) -> engine.Objective:
        return engine.gamma(self.gamma, variance_floor=VARIANCE_FLOOR)
