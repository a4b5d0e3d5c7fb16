import importlib
import sys

import pytest

from levelhead._moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_still_works_and_says_where_it_went(old, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(FutureWarning, match=f"{old} has moved to {MOVED[old]}"):
        module = importlib.import_module(old)
    new = importlib.import_module(MOVED[old])
    public = [name for name in vars(new) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(new, name) for name in public)
    assert new.__spec__.name == MOVED[old]
