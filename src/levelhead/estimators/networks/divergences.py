"""Robust rivals of GCP: a Gaussian fitted by β- or γ-divergence instead of likelihood."""

from levelhead import engine
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR, GaussianMembers
from levelhead.estimators.networks._signature import adds_to


class BetaDivergenceRegressor(GaussianMembers):
    """Mean and variance of a Gaussian by β-divergence (Basu et al. 1998).

    Parameters
    ----------
    beta : robustness; towards 0 the loss becomes the likelihood of `GaussianRegressor`.
    **common : as in `GaussianRegressor`.
    """

    @adds_to(GaussianMembers)
    def __init__(self, hidden_layer_sizes=(64, 64), *, beta=0.4, **common):
        super().__init__(hidden_layer_sizes, **common)
        self.beta = beta

    @property
    def _objective(self) -> engine.Objective:
        return engine.beta(self.beta, variance_floor=VARIANCE_FLOOR)


class GammaDivergenceRegressor(GaussianMembers):
    """Mean and variance of a Gaussian by γ-divergence (Fujisawa and Eguchi 2008).

    Parameters
    ----------
    gamma : robustness; towards 0 the loss becomes the likelihood of `GaussianRegressor`.
    **common : as in `GaussianRegressor`.
    """

    @adds_to(GaussianMembers)
    def __init__(self, hidden_layer_sizes=(64, 64), *, gamma=0.4, **common):
        super().__init__(hidden_layer_sizes, **common)
        self.gamma = gamma

    @property
    def _objective(self) -> engine.Objective:
        return engine.gamma(self.gamma, variance_floor=VARIANCE_FLOOR)
