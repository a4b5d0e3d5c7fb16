import importlib
import sys

import numpy as np
import pytest

import levelhead
from levelhead import datasets
from levelhead._deprecated import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_still_works_and_says_where_it_went(old, monkeypatch):
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
