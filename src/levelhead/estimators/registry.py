"""The list of all estimators. The public names, the contract tests and the kinds of `make` come from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sklearn.linear_model import LinearRegression

from levelhead.estimators._types import Seed, TargetTransform
from levelhead.estimators.automatic import AutoRegressor
from levelhead.estimators.cleaned import CleanedRegressor
from levelhead.estimators.networks.baselines import BaselineRegressor
from levelhead.estimators.networks.bayes import BayesianBetaRegressor
from levelhead.estimators.networks.divergences import BetaDivergenceRegressor, GammaDivergenceRegressor
from levelhead.estimators.networks.gaussian import GaussianRegressor
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.estimators.several import MultiTargetRegressor
from levelhead.estimators.tabular import TabularRegressor
from levelhead.estimators.trees.boosting import GCPBoostingRegressor

Kind = Literal["auto", "network", "trees"]


@dataclass(frozen=True)
class Entry:
    """One estimator.

    Attributes
    ----------
    cls : type
        The class.
    small : mapping of str to object
        Settings for a quick fit in tests.
    kind : {"auto", "network", "trees"} or None
        The name of the estimator in `make`, if it has one.
    extra : str or None
        The optional library that it needs, if any.
    slow : bool
        Whether the contract tests of the small estimator take long.
    """

    cls: type[Any]
    small: Mapping[str, Any] = field(default_factory=lambda: {"max_iter": 200})
    kind: Kind | None = None
    extra: str | None = None
    slow: bool = False

    @property
    def name(self) -> str:
        """The public name of the class."""
        return self.cls.__name__


REGISTRY = (
    Entry(AutoRegressor, {"n_members": 1}, kind="auto", extra="lightgbm", slow=True),
    Entry(GCPRegressor, kind="network"),
    Entry(GCPBoostingRegressor, {"max_iter": 40}, kind="trees", extra="lightgbm"),
    Entry(
        CleanedRegressor,
        {"regressor": LinearRegression(), "auditor": GCPRegressor(max_iter=30)},
    ),
    Entry(MultiTargetRegressor, {"estimator": GCPRegressor(max_iter=30, random_state=0)}),
    Entry(TabularRegressor, {"regressor": GCPRegressor(max_iter=30, random_state=0)}, extra="skrub"),
    Entry(GaussianRegressor),
    Entry(BetaDivergenceRegressor),
    Entry(GammaDivergenceRegressor),
    Entry(BayesianBetaRegressor),
    Entry(BaselineRegressor, {"loss": "student", "max_iter": 200}),
)
_KINDS = {entry.kind: entry.cls for entry in REGISTRY if entry.kind is not None}


def make(
    kind: Kind = "auto",
    n_members: int = 5,
    random_state: Seed = None,
    n_jobs: int | None = -1,
    target_transform: TargetTransform = "auto",
) -> Any:
    """Create the estimator of a kind: "network", "trees", or "auto", which chooses between them.

    Parameters
    ----------
    kind : {"auto", "network", "trees"}, default="auto"
        The kind of estimator.
    n_members : int, default=5
        Number of members of the ensemble.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale of the labels on which the model learns.

    Returns
    -------
    estimator
        An unfitted estimator.
    """
    if kind not in _KINDS:
        raise ValueError(f"estimator is {kind!r}; choose one of {', '.join(_KINDS)}")
    return _KINDS[kind](
        n_members=n_members, target_transform=target_transform, random_state=random_state, n_jobs=n_jobs
    )
