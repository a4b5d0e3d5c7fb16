"""Trees stand beside the paper's methods: the same splits, the same spoilt labels."""

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from levelhead.study.paper.table1 import SEEDS, table1_specs
from levelhead.study.paper.trees import METHODS, boosting_specs, specs_of
from levelhead.study.runs import split_rows
from levelhead.study.specs import Data, Spec


def test_the_whole_study_has_a_spec_for_every_cell():
    specs = list(boosting_specs())
    assert len(specs) == len(set(specs)) == 5 * 5 * 50 * 2
    assert {spec.estimator.n_members for spec in specs if spec.method == "EnsGCPBoost"} == {5}
    assert {spec.estimator.n_members for spec in specs if spec.method == "GCPBoost"} == {1}


def test_labels_are_contaminated_as_for_the_networks():
    part = {"datasets": ["yacht"], "contamination": [0.2], "seeds": SEEDS[:1]}
    (trees,) = boosting_specs(**part, methods=["GCPBoost"])
    (network,) = table1_specs(**part, methods=["GCP"])
    assert trees.stream("contamination") == network.stream("contamination")
    assert trees.digest != network.digest


def test_a_run_on_a_table_of_ones_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    (first, *_) = boosting_specs(["yacht"], [0.1], METHODS[:1], SEEDS[:1])
    spec = Spec(
        Data("mine", X, np.sign(X[:, 0])), 0.1, "GCPBoost", 1, first.estimator.set_params(max_iter=20)
    )
    rows = split_rows(spec)
    assert np.isfinite(spec.estimator.fit(rows.X, rows.y).predict(rows.X_test)).all()


def test_a_method_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no method 'Boost' of trees; choose from GCPBoost, EnsGCPBoost"):
        list(boosting_specs(methods=["Boost"]))


def test_trees_and_networks_by_name():
    specs = list(specs_of(["yacht"], [0.05], ["GCP", "GCPBoost"], SEEDS[:2]))
    assert [spec.method for spec in specs] == ["GCP", "GCP", "GCPBoost", "GCPBoost"]
    assert list(specs_of(["yacht"], [0.05], ["GCPBoost"], SEEDS[:2])) == specs[2:]
    with pytest.raises(ValueError, match="GCPBoost has no hyperparameters to choose"):
        list(specs_of(["yacht"], [0.05], ["GCPBoost"], SEEDS[:1], label="{method} (tuned)"))
