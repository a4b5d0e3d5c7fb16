"""Scikit-learn estimators: robust networks, robust trees, and the Gaussian baseline."""

from levelhead.estimators.automatic import AutoRegressor
from levelhead.estimators.cleaned import CleanedRegressor
from levelhead.estimators.networks.bayes import BayesianBetaRegressor
from levelhead.estimators.networks.divergences import BetaDivergenceRegressor, GammaDivergenceRegressor
from levelhead.estimators.networks.gaussian import GaussianRegressor
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.estimators.tabular import tabular_pipeline
from levelhead.estimators.trees.boosting import GCPBoostingRegressor

__all__ = [
    "AutoRegressor",
    "BayesianBetaRegressor",
    "BetaDivergenceRegressor",
    "CleanedRegressor",
    "GCPBoostingRegressor",
    "GCPRegressor",
    "GammaDivergenceRegressor",
    "GaussianRegressor",
    "tabular_pipeline",
]
