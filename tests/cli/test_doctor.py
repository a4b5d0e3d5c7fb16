"""`levelhead doctor` without the extra for downloads."""

import pytest

from levelhead.cli import doctor


def test_without_pooch_there_is_no_cache_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available", lambda library: False)
    monkeypatch.delenv("LEVELHEAD_DATA", raising=False)
    found = doctor._data()
    assert "pip install '.[datasets]'" in found["cache"]
    assert found["yacht"] == "not found"
