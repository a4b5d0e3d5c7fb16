"""Scikit-learn estimators: robust networks, robust trees, and the Gaussian baseline."""

from levelhead.estimators.automatic import AutoRegressor as AutoRegressor
from levelhead.estimators.cleaned import CleanedRegressor as CleanedRegressor
from levelhead.estimators.networks.baselines import BaselineRegressor as BaselineRegressor
from levelhead.estimators.networks.bayes import BayesianBetaRegressor as BayesianBetaRegressor
from levelhead.estimators.networks.divergences import BetaDivergenceRegressor as BetaDivergenceRegressor
from levelhead.estimators.networks.divergences import GammaDivergenceRegressor as GammaDivergenceRegressor
from levelhead.estimators.networks.gaussian import GaussianRegressor as GaussianRegressor
from levelhead.estimators.networks.gcp import GCPRegressor as GCPRegressor
from levelhead.estimators.registry import REGISTRY
from levelhead.estimators.several import MultiTargetRegressor as MultiTargetRegressor
from levelhead.estimators.tabular import TabularRegressor as TabularRegressor
from levelhead.estimators.tabular import tabular_pipeline as tabular_pipeline
from levelhead.estimators.trees.boosting import GCPBoostingRegressor as GCPBoostingRegressor

__all__ = sorted([*(entry.name for entry in REGISTRY), "tabular_pipeline"])
