"""A time budget shortens the training, never the number of rows that are judged."""

import numpy as np
import pytest

from levelhead import GCPRegressor, budget, datasets
from levelhead.budget import fit_within

DATA = datasets.synthetic(1200, rate=0.05, random_state=0)


@pytest.mark.compiled
def test_a_small_budget_takes_fewer_epochs_than_a_large_one() -> None:
    hasty = fit_within(GCPRegressor(n_members=2, random_state=0), DATA.X, DATA.y, 0.01)
    assert hasty.max_iter == 1
    assert len(hasty.audit(DATA.X, DATA.y)) == 1200
    patient = fit_within(GCPRegressor(n_members=2, random_state=0), DATA.X, DATA.y, 1e6)
    assert patient.max_iter == GCPRegressor()._epochs(1200) > 50
    same = GCPRegressor(n_members=2, random_state=0).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(patient.predict(DATA.X), same.predict(DATA.X))


def test_epochs_fill_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        budget, "_pace", lambda *given: (100.0, 50.0)
    )  # seconds besides the epochs, and for each
    model = fit_within(GCPRegressor(n_members=1, random_state=0), DATA.X[:100], DATA.y[:100], 500)
    assert model.max_iter == 6  # (0.9 · 500 − 100)/50, and a moment for the preparation
    assert model.n_iter_ == 6


@pytest.mark.compiled
def test_more_rows_and_more_networks_take_more_time() -> None:
    def pace(rows: int, members: int) -> float:
        X, y = np.resize(DATA.X, (rows, 1)), np.resize(DATA.y, rows)
        return min(budget._pace(GCPRegressor(n_members=members, n_jobs=1), X, y)[1] for _ in range(3))

    one = pace(1000, 5)
    assert 4 < pace(30_000, 5) / one < 200  # 15 to 30, were it not for other programs on the machine
    assert pace(1000, 20) > 1.5 * one


def test_no_time_is_no_budget() -> None:
    with pytest.raises(ValueError, match="time budget is 0"):
        fit_within(GCPRegressor(), DATA.X, DATA.y, 0)
