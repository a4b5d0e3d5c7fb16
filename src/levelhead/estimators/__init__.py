"""Scikit-learn estimators: robust networks, robust trees, and the yardstick they are measured against."""

from levelhead.estimators.automatic import AutoRegressor
from levelhead.estimators.bayes import BayesianBetaRegressor
from levelhead.estimators.boosting import GCPBoostingRegressor
from levelhead.estimators.cleaned import CleanedRegressor
from levelhead.estimators.divergences import BetaDivergenceRegressor, GammaDivergenceRegressor
from levelhead.estimators.gaussian import GaussianRegressor
from levelhead.estimators.gcp import GCPRegressor
from levelhead.estimators.tabular import tabular_pipeline

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
