"""The paper's table as specs: every cell once, with the paper's settings."""

import os
from collections import Counter

import pytest

from levelhead.contamination import Cluster, Replaced
from levelhead.datasets import ENVIRONMENT
from levelhead.study import Hyperparameters, run, table1_specs
from levelhead.study.paper.published import table1
from levelhead.study.paper.table1 import SEEDS, recipe


@pytest.fixture(scope="module")
def specs():
    return list(table1_specs())


def test_every_cell_of_the_paper_and_the_yardstick(specs):
    cells = Counter((s.dataset, s.contamination, m) for s in specs for m in (s.method, s.student) if m)
    assert set(cells.values()) == {50}
    assert set(table1()) <= set(cells)
    assert {m for _, _, m in set(cells) - set(table1())} == {"Gaussian"}
    assert len({s.digest for s in specs}) == len(specs) == 9500
    assert len(set(SEEDS)) == 50
    assert {s.kind for s in specs} == {Replaced(spread=10.0)}
    assert {(s.test_size, s.validation_size) for s in specs} == {(0.05, 0.0)}


def test_one_fit_for_both_variances_of_gcp():
    for methods in (["GCP"], ["GCP_St"], ["GCP_St", "GCP"]):
        [spec] = table1_specs(["boston"], [0.05], methods, SEEDS[:1])
        assert (spec.method, spec.student) == ("GCP", "GCP_St")


# Learning rate, dropout, epochs, minibatch, robustness: spec of the paper's appendix F.
@pytest.mark.parametrize(
    ("method", "dataset", "expected"),
    [
        ("GCP", "boston", (1e-4, 0.3, 700, 5, None)),
        ("EnsGCP", "boston", (1e-4, 0.15, 700, 5, None)),
        ("GCP", "power", (5e-5, 0.0, 150, 10, None)),
        ("EnsGCP", "kin8nm", (7e-4, 0.0, 250, 10, None)),
        ("Gaussian", "yacht", (1e-3, 0.1, 1000, 5, None)),
        ("Beta", "boston", (2e-5, 0.4, 2500, 5, ("beta", 0.2))),
        ("EnsGamma", "boston", (2e-5, 0.2, 2500, 5, ("gamma", 0.4))),
        ("Gamma", "concrete", (1e-5, 0.1, 2500, 5, ("gamma", 0.6))),
        ("EnsBeta", "yacht", (1e-4, 0.05, 2500, 5, ("beta", 0.4))),
        ("Beta", "power", (1e-4, 0.0, 400, 10, ("beta", 0.1))),
    ],
)
def test_settings(method, dataset, expected):
    model = recipe(method, dataset)
    rate, dropout, epochs, batch, robustness = expected
    assert (model.learning_rate_init, model.dropout, model.max_iter, model.batch_size) == (
        rate,
        pytest.approx(dropout),
        epochs,
        batch,
    )
    if robustness:
        assert getattr(model, robustness[0]) == robustness[1]
    assert model.n_members == (5 if method.startswith("Ens") else 1)
    assert (model.hidden_layer_sizes, model.shared_trunk, model.weight_decay) == ((50,), False, 1e-3)
    assert (model.target_scaling, model.initial_outputs, model.drop_last) == ("standard", "zero", True)
    assert (model.learning_rate, model.out_of_fold, model.contamination) == ("constant", False, None)


@pytest.mark.parametrize(
    ("dataset", "noise", "epochs"), [("boston", 1.0, 2500), ("concrete", 4.0, 1250), ("yacht", 0.5, 3333)]
)
def test_beta_bayes_has_its_own_recipe(dataset, noise, epochs):
    model = recipe("Beta_Bayes", dataset)
    assert (model.beta, model.noise_std, model.target_scaling) == (0.1, noise, "none")
    assert (model.hidden_layer_sizes, model.n_samples, model.batch_size) == ((20, 20), 15, 128)
    assert (model.learning_rate, model.learning_rate_init, model.max_iter) == ("stairs", 0.1, epochs)


def test_other_hyperparameters_stand_beside_the_papers():
    tuned = {("Beta", "yacht"): Hyperparameters(1e-3, 0.1, 500, 0.3)}
    one, other = (
        next(table1_specs(["yacht"], [0.05], ["Beta"], [1], hyperparameters=h, label=label))
        for h, label in (({}, "{method}"), (tuned, "{method} (tuned)"))
    )
    assert (one.method, other.method) == ("Beta", "Beta (tuned)")
    assert (one.estimator.learning_rate_init, other.estimator.learning_rate_init) == (1e-4, 1e-3)
    assert other.estimator.beta == 0.3


def test_other_kinds_of_wrong_labels_and_unknown_methods():
    [spec] = table1_specs(["yacht"], [0.4], ["Gaussian"], [1], kind=Cluster())
    assert spec.kind == Cluster()
    with pytest.raises(ValueError, match="no method 'GPC'"):
        list(table1_specs(methods=["GPC"]))


@pytest.mark.compiled
@pytest.mark.skipif(not os.environ.get(ENVIRONMENT), reason="needs the public data sets")
def test_a_robust_method_survives_what_bends_the_likelihood():
    """One split of Yacht with short training: wrong labels hurt the Gaussian much more than GCP."""
    short = {("GCP", "yacht"): Hyperparameters(1e-3, 0.1, 60)}
    specs = table1_specs(["yacht"], [0.2], ["GCP", "Gaussian"], SEEDS[:1], hyperparameters=short)
    gcp, gaussian = (run(spec).measures[spec.method] for spec in specs)
    assert gcp.rmse < 0.5 * gaussian.rmse
    assert gcp.auc < 0.5 * gaussian.auc
