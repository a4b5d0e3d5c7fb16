"""Beta_Bayes: a mean-field posterior over the weights, fitted to a β-divergence (Futami et al. 2017)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from levelhead import engine
from levelhead.estimators._base import Decoded
from levelhead.estimators._constraints import POSITIVE, Whole
from levelhead.estimators._types import Constraints, FloatArray, LearningRate
from levelhead.estimators.networks._gaussian_members import GaussianMembers
from levelhead.estimators.networks._signature import adds_to


class BayesianBetaRegressor(GaussianMembers):
    """Variational Bayesian network with a β-divergence in place of the likelihood (Futami et al. 2017).

    The weights have independent Gaussian posteriors and N(0, `prior_std`²) priors; the noise has the fixed standard
    deviation `noise_std`. The predicted variance is the variance of the mean over weight samples plus the variance
    of the noise. The authors use 10,000 steps of Adam with a learning rate that starts at 0.1 and is multiplied by
    0.9 every 100 steps; `learning_rate="stairs"` does the same.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(20, 20)
        Number of units in each hidden layer; () for none, a linear model.
    beta : float, default=0.1
        Robustness of the divergence, above 0.
    noise_std : float, default=0.3
        Standard deviation of the noise, in units of the scaled labels (see `target_scaling`).
    prior_std : float, default=1.0
        Standard deviation of the prior of every weight and bias.
    n_samples : int, default=15
        Number of weight samples in a training step.
    n_posterior : int, default=100
        Number of weight samples in a prediction.
    learning_rate_init : float, default=0.1
        Initial learning rate.
    learning_rate : {"cosine", "constant", "stairs"}, default="stairs"
        Schedule of the learning rate. "cosine" decreases it to 0 over the training; "stairs" multiplies it by 0.9
        every 100 steps.
    dropout : float, default=0.0
        Share of hidden units that are left out at random during training.
    weight_decay : float, default=0.0
        L2 penalty on weights; biases are not penalized.
    batch_size : int or "auto", default=128
        Number of rows in a minibatch. "auto" uses 16, 32 from 2,000 rows on, and 128 from 20,000 rows on.
    activation : {"relu", "tanh", "silu"}, default="relu"
        Activation function of the hidden layers.
    solver : {"adam", "rmsprop", "nesterov"}, default="adam"
        Optimizer.
    max_iter : int or "auto", default="auto"
        Number of epochs. "auto" chooses it by the number of rows.
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
        "noise_std": [POSITIVE],
        "prior_std": [POSITIVE],
        "n_samples": [Whole(1)],
        "n_posterior": [Whole(1)],
    }

    @adds_to(GaussianMembers)
    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (20, 20),
        *,
        beta: float = 0.1,
        noise_std: float = 0.3,
        prior_std: float = 1.0,
        n_samples: int = 15,
        n_posterior: int = 100,
        learning_rate_init: float = 0.1,
        learning_rate: LearningRate = "stairs",
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        batch_size: int | Literal["auto"] = 128,
        **common: Any,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            learning_rate_init=learning_rate_init,
            learning_rate=learning_rate,
            dropout=dropout,
            weight_decay=weight_decay,
            batch_size=batch_size,
            **common,
        )
        self.beta = beta
        self.noise_std = noise_std
        self.prior_std = prior_std
        self.n_samples = n_samples
        self.n_posterior = n_posterior

    @property
    def _objective(self) -> engine.Objective:
        return engine.beta_location(self.beta, std=self.noise_std)

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        return (0.0,)

    def _decode(self, outputs: FloatArray) -> Decoded:
        mean = outputs[..., 0]
        return Decoded(mean, np.full_like(mean, self.noise_std**2))

    def _recipe(self, n_visits: int, epochs: int) -> engine.Recipe:
        posterior = engine.Variational(n_samples=self.n_samples, prior_std=self.prior_std)
        return replace(super()._recipe(n_visits, epochs), variational=posterior)

    def _predicting_networks(self) -> list[engine.Network]:
        """Samples of the posterior, the same in every prediction."""
        return [
            sample
            for k, network in enumerate(self.networks_)
            for sample in engine.draw(network, self.n_posterior, seed=k)
        ]
