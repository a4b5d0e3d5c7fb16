import importlib
import sys

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import levelhead
from levelhead import datasets, study
from levelhead._deprecated import MOVED
from levelhead.contamination import Swapped
from levelhead.study.paper import grid_search


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_still_works_and_names_the_new_one(old, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(FutureWarning, match=f"{old} has moved to {MOVED[old]}"):
        module = importlib.import_module(old)
    new = importlib.import_module(MOVED[old])
    public = [name for name in vars(new) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(new, name) for name in public)
    assert new.__spec__.name == MOVED[old]


def test_renamed_attributes_and_arguments_still_work():
    y = np.random.default_rng(0).normal(size=100)
    with pytest.warns(FutureWarning, match="argument 'trust' of Audit.from_residuals is now called 'alpha'"):
        audit = levelhead.Audit.from_residuals(y, 0 * y, 1 + 0 * y, trust=1 + 0 * y)
    for old, new in {"epsilon": "contamination", "epsilon_interval": "contamination_interval"}.items():
        with pytest.warns(FutureWarning, match=f"Audit.{old} is now called {new}"):
            assert getattr(audit, old) == getattr(audit, new)
    with pytest.warns(FutureWarning, match="'rate' of synthetic is now called 'contamination'"):
        old_call = datasets.synthetic(50, rate=0.2, random_state=0)
    assert (old_call.y == datasets.synthetic(50, contamination=0.2, random_state=0).y).all()


def test_percentages_of_wrong_labels_and_the_kind_by_its_old_name():
    fractions = {"contamination": [0.07, 0.2], "methods": ["GCP"], "seeds": [1], "kind": Swapped()}
    specs = list(study.table1_specs(["yacht"], **fractions))
    with pytest.warns(FutureWarning) as warned:
        old = list(
            study.table1_specs(["yacht"], shares=[7, 20], methods=["GCP"], seeds=[1], contamination=Swapped())
        )
    assert old == specs
    assert {w.filename for w in warned} == {__file__}
    messages = " ".join(str(w.message) for w in warned)
    assert "'shares' of table1_specs, in percent, is now 'contamination', a fraction" in messages
    assert "the kind of wrong labels is now the argument 'kind' of table1_specs" in messages
    with pytest.warns(FutureWarning, match="'share' of Spec, in percent"):
        spec = study.Spec("yacht", share=7, method="GCP", seed=1, estimator=BayesianRidge())
    with pytest.warns(FutureWarning, match=r"Spec\.share, in percent, is now contamination"):
        assert (spec.contamination, spec.share) == (0.07, 7)


def test_old_names_of_the_study():
    with pytest.warns(FutureWarning, match="Summary.found is now called cached"):
        assert study.Summary(1, 2, (), 0.0, 0.0).found == 2
    with pytest.warns(FutureWarning, match="'honest' of chosen is now called 'held_out'"):
        assert grid_search.chosen([], honest=True) == {}
    line = grid_search.Found("Beta", "yacht", "test rows", 1, 0.5, 1e-3, 0.0, 10, 1.0, None)
    with pytest.warns(FutureWarning, match="Found.judged_by is now called scored_on"):
        assert line.judged_by == "test rows"
    row = study.Row("yacht", 0.05, "Replaced()", "GCP", 1, 1.0, 1.0, 1.0, 1.0, 0.9, 0.5, None, 1.0)
    with (
        pytest.warns(
            FutureWarning, match="measure_against_share is now called measure_against_contamination"
        ),
        pytest.raises(ValueError, match="no measure 'none'"),
    ):
        study.measure_against_share([row], "none")
