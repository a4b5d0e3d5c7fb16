"""Robust probabilistic regression with gradient conjugate priors.

Each public name is imported from its module when it is first used, so that `import levelhead` is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

from levelhead import _deprecated

__version__ = "0.2.0"

_HOME = {
    "Audit": "audits",
    "AutoRegressor": "estimators",
    "BaselineRegressor": "estimators",
    "BayesianBetaRegressor": "estimators",
    "BetaDivergenceRegressor": "estimators",
    "CleanedRegressor": "estimators",
    "GCPBoostingRegressor": "estimators",
    "GCPRegressor": "estimators",
    "GammaDivergenceRegressor": "estimators",
    "GaussianRegressor": "estimators",
    "MultiTargetRegressor": "estimators",
    "Prediction": "prediction",
    "TabularRegressor": "estimators",
    "audit": "auditing",
    "audit_file": "files",
    "fit_file": "files",
    "load": "persistence",
    "predict_dist": "metrics",
    "predict_interval": "metrics",
    "report_progress": "progress",
    "save": "persistence",
    "tabular_pipeline": "estimators",
}

_MODULES = ("contamination", "datasets", "metrics", "plots")

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from levelhead import contamination as contamination
    from levelhead import datasets as datasets
    from levelhead import metrics as metrics
    from levelhead import plots as plots
    from levelhead.auditing import audit as audit
    from levelhead.audits import Audit as Audit
    from levelhead.estimators import AutoRegressor as AutoRegressor
    from levelhead.estimators import BaselineRegressor as BaselineRegressor
    from levelhead.estimators import BayesianBetaRegressor as BayesianBetaRegressor
    from levelhead.estimators import BetaDivergenceRegressor as BetaDivergenceRegressor
    from levelhead.estimators import CleanedRegressor as CleanedRegressor
    from levelhead.estimators import GammaDivergenceRegressor as GammaDivergenceRegressor
    from levelhead.estimators import GaussianRegressor as GaussianRegressor
    from levelhead.estimators import GCPBoostingRegressor as GCPBoostingRegressor
    from levelhead.estimators import GCPRegressor as GCPRegressor
    from levelhead.estimators import MultiTargetRegressor as MultiTargetRegressor
    from levelhead.estimators import TabularRegressor as TabularRegressor
    from levelhead.estimators import tabular_pipeline as tabular_pipeline
    from levelhead.files import audit_file as audit_file
    from levelhead.files import fit_file as fit_file
    from levelhead.metrics import predict_dist as predict_dist
    from levelhead.metrics import predict_interval as predict_interval
    from levelhead.persistence import load as load
    from levelhead.persistence import save as save
    from levelhead.prediction import Prediction as Prediction
    from levelhead.progress import report_progress as report_progress


_deprecated.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"levelhead.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'levelhead' has no attribute {name!r}")
    return getattr(importlib.import_module(f"levelhead.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))
