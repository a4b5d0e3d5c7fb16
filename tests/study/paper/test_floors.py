"""A floor of the variance is in clean variances, whatever the wrong labels do to the scale."""

import numpy as np
import pytest

from levelhead.study.paper.floors import FLOOR, JUDGED, floor_specs, scaled_floor
from levelhead.study.paper.table1 import SEEDS, recipe


def test_the_floor_in_scaled_units():
    assert scaled_floor(FLOOR, 0.0) == FLOOR
    assert scaled_floor(FLOOR, 0.05) == pytest.approx(0.001, rel=0.02)
    assert scaled_floor(FLOOR, 0.2) == pytest.approx(0.0003, rel=0.05)


def test_specs_have_the_papers_settings_on_other_splits():
    specs = list(floor_specs(["yacht"], [0.05], ["Beta", "EnsGamma"]))
    assert {spec.seed for spec in specs} == set(JUDGED) == set(SEEDS[20:])
    beta = next(spec for spec in specs if spec.method == "Beta (floor)")
    own = beta.estimator.get_params()
    paper = recipe("Beta", "yacht").get_params()
    assert {name: own[name] for name in paper} == paper
    assert own["variance_floor"] == scaled_floor(FLOOR, 0.05)
    with pytest.raises(ValueError, match="no floor to test"):
        list(floor_specs(methods=["GCP"]))


def test_no_variance_is_below_the_floor():
    [spec] = floor_specs(["yacht"], [0.0], ["Gamma"], JUDGED[:1], floor=0.5)
    model = spec.estimator.set_params(max_iter=2)
    X = np.random.default_rng(0).normal(size=(60, 2))
    answer = model.fit(X, X[:, 0]).predict_dist(X)
    assert (answer.var >= 0.5 * X[:, 0].var() * 0.99).all()
