"""Beta_Bayes: a mean-field posterior over the weights, fitted to a β-divergence (Futami et al. 2017)."""

from dataclasses import replace

import numpy as np

from levelhead import engine
from levelhead.estimators._base import Reading
from levelhead.estimators.networks._gaussian_members import GaussianMembers
from levelhead.estimators.networks._signature import adds_to


class BayesianBetaRegressor(GaussianMembers):
    """Variational Bayesian network with a β-divergence in place of the likelihood.

    The weights have independent Gaussian posteriors and N(0, `prior_std`²) priors; the noise has the fixed
    standard deviation `noise_std`. The predicted variance is that of the mean over weight samples, plus the
    noise's.

    Parameters
    ----------
    beta : robustness of the divergence.
    noise_std : standard deviation of the noise, in units of the scaled labels (see `target_scaling`).
    prior_std : standard deviation of the prior of every weight and bias.
    n_samples : weight samples in a training step.
    n_posterior : weight samples in a prediction.
    **common : as in `GaussianRegressor`; the authors use 10,000 steps of Adam from 0.1, × 0.9 every 100 steps,
        which `learning_rate="stairs"` repeats.
    """

    @adds_to(GaussianMembers)
    def __init__(
        self,
        hidden_layer_sizes=(20, 20),
        *,
        beta=0.1,
        noise_std=0.3,
        prior_std=1.0,
        n_samples=15,
        n_posterior=100,
        learning_rate_init=0.1,
        learning_rate="stairs",
        dropout=0.0,
        weight_decay=0.0,
        batch_size=128,
        **common,
    ):
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

    def _read(self, outputs: np.ndarray) -> Reading:
        mean = outputs[..., 0]
        return Reading(mean, np.full_like(mean, self.noise_std**2))

    def _recipe(self, n_visits: int, epochs: int) -> engine.Recipe:
        posterior = engine.Variational(n_samples=self.n_samples, prior_std=self.prior_std)
        return replace(super()._recipe(n_visits, epochs), variational=posterior)

    def _answering_networks(self) -> list[engine.Network]:
        """Samples of the posterior: the same ones in every prediction."""
        return [
            sample
            for k, network in enumerate(self.networks_)
            for sample in engine.draw(network, self.n_posterior, seed=k)
        ]
