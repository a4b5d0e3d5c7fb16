"""The paper's Table 1 as a study: data sets × contamination × methods × splits.

The hyperparameters are those of the paper (appendix F).

GCP and GCP_St are two readings of one fit, so their specs are one. `Gaussian`, the likelihood without any
robustness, is not in the paper; it has the training of GCP.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from levelhead import estimators
from levelhead._deprecated import percentages
from levelhead.contamination import Contamination, Replaced
from levelhead.datasets import TABLES
from levelhead.study.paper.rrnet import RRNet
from levelhead.study.specs import Spec

DATASETS = ("boston", "concrete", "yacht", "power", "kin8nm")  # the quick ones first
CONTAMINATIONS = (0.0, 0.05, 0.1, 0.15, 0.2)  # the paper's λ, as fractions
METHODS = ("Beta", "Gamma", "Beta_Bayes", "GCP_St", "GCP", "EnsBeta", "EnsGamma", "EnsGCP", "Gaussian")
# Not in the paper: GCP with three outputs, and other methods of the field. Each is trained like GCP, with its settings
# unless others are given, and has an ensemble (Ens…) like the methods of the paper.
OTHERS: Mapping[str, str] = MappingProxyType(
    {
        "BetaNLL": "beta-nll",
        "Faithful": "faithful",
        "Natural": "natural",
        "Evidential": "evidential",
        "Huber": "huber",
        "Student": "student",
    }
)
DIRECT = "GCP3"
RRNET = "RRNet"
OTHER_METHODS = tuple(ensemble + name for ensemble in ("", "Ens") for name in (DIRECT, *OTHERS, RRNET))
# Random states of the 50 splits: those of the authors' public script for Boston (github.com/hstuk/GCP). Only these
# numbers are theirs.
SEEDS = (
    41631779, 68230795, 49590161, 54924514, 71045363, 66211075, 61684656, 50278163, 20937475,
    46627605, 46397998, 31878001, 69581679, 23089777, 62161373, 25311839, 80691142, 78448556,
    80439117, 85557277, 78373174, 55052651, 88729554, 93387946, 90286980, 15157026, 32768491,
    12545534, 21375697, 35006917, 72287407, 63216512, 79603427, 94805126, 83292164, 28393302,
    32477506, 14487582, 82539449, 70189663, 80556908, 62494106, 54818891, 21108579, 55669982,
    72039172, 17086712, 25450472, 89338559, 48416038,
)  # fmt: skip
TEST_SIZE = 0.05
N_MEMBERS = 5
_BAYES_STEPS, _BAYES_BATCH = 10_000, 128


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of a method on a data set, as chosen by the grid search of the paper.

    Parameters
    ----------
    learning_rate : float
        Learning rate.
    dropout : float
        Dropout rate.
    epochs : int
        Number of epochs.
    robustness : float or None, default=None
        β or γ.
    """

    learning_rate: float
    dropout: float
    epochs: int
    robustness: float | None = None


@dataclass(frozen=True)
class BayesHyperparameters:
    """Hyperparameters of Beta_Bayes on a data set.

    Parameters
    ----------
    beta : float
        β.
    noise_std : float
        Standard deviation of the likelihood, in units of the label.
    """

    beta: float
    noise_std: float


PAPER: Mapping[tuple[str, str], Hyperparameters | BayesHyperparameters] = MappingProxyType(
    {
        ("Beta", "boston"): Hyperparameters(2e-5, 0.4, 2500, 0.2),
        ("Beta", "concrete"): Hyperparameters(1e-5, 0.1, 2500, 0.6),
        ("Beta", "power"): Hyperparameters(1e-4, 0.0, 400, 0.1),
        ("Beta", "yacht"): Hyperparameters(1e-4, 0.1, 2500, 0.4),
        ("Beta", "kin8nm"): Hyperparameters(1e-4, 0.0, 400, 0.2),
        ("Gamma", "boston"): Hyperparameters(2e-5, 0.4, 2500, 0.4),
        ("Gamma", "concrete"): Hyperparameters(1e-5, 0.1, 2500, 0.6),
        ("Gamma", "power"): Hyperparameters(1e-4, 0.0, 400, 0.1),
        ("Gamma", "yacht"): Hyperparameters(1e-4, 0.1, 2500, 0.4),
        ("Gamma", "kin8nm"): Hyperparameters(1e-4, 0.0, 400, 0.2),
        ("GCP", "boston"): Hyperparameters(1e-4, 0.3, 700),
        ("GCP", "concrete"): Hyperparameters(1e-4, 0.1, 1000),
        ("GCP", "power"): Hyperparameters(5e-5, 0.0, 150),
        ("GCP", "yacht"): Hyperparameters(1e-3, 0.1, 1000),
        ("GCP", "kin8nm"): Hyperparameters(7e-4, 0.0, 250),
        ("Beta_Bayes", "boston"): BayesHyperparameters(0.1, 1.0),
        ("Beta_Bayes", "concrete"): BayesHyperparameters(0.1, 4.0),
        ("Beta_Bayes", "yacht"): BayesHyperparameters(0.1, 0.5),
    }
)
BATCH_SIZE = {"boston": 5, "concrete": 5, "yacht": 5, "power": 10, "kin8nm": 10}
_REGRESSORS = {
    "GCP": estimators.GCPRegressor,
    DIRECT: estimators.GCPRegressor,
    "Beta": estimators.BetaDivergenceRegressor,
    "Gamma": estimators.GammaDivergenceRegressor,
    "Gaussian": estimators.GaussianRegressor,
    RRNET: RRNet,
}
_ROBUSTNESS = {"Beta": "beta", "Gamma": "gamma", RRNET: "beta"}
Chosen = Mapping[tuple[str, str], Hyperparameters | BayesHyperparameters]


@percentages("shares")
def table1_specs(
    datasets: Sequence[str] = DATASETS,
    contamination: Sequence[float] = CONTAMINATIONS,
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] = SEEDS,
    *,
    kind: Contamination | None = None,
    hyperparameters: Chosen = PAPER,
    label: str = "{method}",
) -> Iterator[Spec]:
    """Create the specs of Table 1 or of a part of it, data set by data set, all methods of a split together.

    Parameters
    ----------
    datasets : sequence of str, default=DATASETS
        Data sets.
    contamination : sequence of float, default=CONTAMINATIONS
        Shares of wrong labels, fractions.
    methods : sequence of str, default=METHODS
        Methods of Table 1 or of `OTHER_METHODS`. Beta_Bayes is left out on data sets for which the paper has no
        settings.
    seeds : sequence of int, default=SEEDS
        Seeds of the splits.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper.
    hyperparameters : mapping, default=PAPER
        Hyperparameters by (method, data set); missing ones are taken from the paper.
    label : str, default="{method}"
        Name of the methods in tables, so that rows with other hyperparameters can be distinguished.

    Yields
    ------
    Spec
        One run.
    """
    known = (*METHODS, *OTHER_METHODS)
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} in Table 1; choose from {', '.join(known)}")
    kind = Replaced() if kind is None else kind
    chosen = {**PAPER, **hyperparameters}
    for dataset in datasets:
        fits = {
            fit: student for fit, student in _fits(methods) if fit != "Beta_Bayes" or (fit, dataset) in chosen
        }
        built = {fit: recipe(fit, dataset, chosen) for fit in fits}
        for seed in seeds:
            for wrong in contamination:
                for fit, student in fits.items():
                    yield Spec(
                        dataset,
                        wrong,
                        label.format(method=fit),
                        seed,
                        built[fit],
                        kind=kind,
                        student=None if student is None else label.format(method=student),
                        test_size=TEST_SIZE,
                    )


def recipe(method: str, dataset: str, hyperparameters: Chosen = PAPER) -> Any:
    """Create the estimator of a method as the paper trains it on a data set.

    Members of ensembles have half the dropout.

    Parameters
    ----------
    method : str
        Name of the method.
    dataset : str
        Name of the data set.
    hyperparameters : mapping, default=PAPER
        Hyperparameters by (method, data set).

    Returns
    -------
    estimator
        Unfitted estimator.
    """
    if method == "Beta_Bayes":
        return _bayes(dataset, hyperparameters)
    family = method.removeprefix("Ens")
    chosen = settings_of(family, dataset, hyperparameters)
    ensemble = family != method
    return paper_network(family, chosen, BATCH_SIZE[dataset], n_members=N_MEMBERS if ensemble else 1)


def settings_of(family: str, dataset: str, hyperparameters: Chosen = PAPER) -> Hyperparameters:
    """Return the hyperparameters of a family of networks; those without settings of their own have those of GCP."""
    found = hyperparameters.get((family, dataset)) or hyperparameters["GCP", dataset]
    assert isinstance(found, Hyperparameters)
    return found


def paper_network(family: str, chosen: Hyperparameters, batch_size: int, n_members: int = 1) -> Any:
    """Create the network of appendix F: one hidden layer of 50 units for each predicted quantity."""
    own: dict[str, Any] = {}
    if family in _ROBUSTNESS and chosen.robustness is not None:
        own = {_ROBUSTNESS[family]: chosen.robustness}
    if family == DIRECT:
        own = {"n_outputs": 3}
    if family in OTHERS:
        own = {"loss": OTHERS[family]}
    return _REGRESSORS.get(family, estimators.BaselineRegressor)(
        (50,),
        shared_trunk=False,
        learning_rate="constant",
        learning_rate_init=chosen.learning_rate,
        dropout=chosen.dropout if n_members == 1 else chosen.dropout / 2,
        max_iter=chosen.epochs,
        batch_size=batch_size,
        weight_decay=1e-3,
        out_of_fold=False,
        contamination=None,
        target_scaling="standard",
        initial_outputs="zero",
        drop_last=True,
        n_members=n_members,
        **own,
    )


def _bayes(dataset: str, hyperparameters: Chosen) -> Any:
    chosen = hyperparameters["Beta_Bayes", dataset]
    assert isinstance(chosen, BayesHyperparameters)
    n_rows = TABLES[dataset].n_rows
    return paper_bayes(chosen, n_rows - math.ceil(n_rows * TEST_SIZE))


def paper_bayes(chosen: BayesHyperparameters, n_train: int) -> Any:
    """Create Beta_Bayes with the settings of its authors: 10,000 steps, labels in their own units."""
    return estimators.BayesianBetaRegressor(
        (20, 20),
        beta=chosen.beta,
        noise_std=chosen.noise_std,
        prior_std=1.0,
        n_samples=15,
        learning_rate_init=0.1,
        learning_rate="stairs",
        batch_size=_BAYES_BATCH,
        max_iter=round(_BAYES_STEPS / math.ceil(n_train / _BAYES_BATCH)),
        target_scaling="none",
        initial_outputs="zero",
    )


def _fits(methods: Sequence[str]) -> list[tuple[str, str | None]]:
    """What must be fitted for these rows of the table, and what its Student variance is called, if wanted."""
    fits = dict.fromkeys("GCP" if name == "GCP_St" else name for name in methods)
    return [(fit, "GCP_St" if fit == "GCP" else None) for fit in fits]
