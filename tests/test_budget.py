"""A time budget shortens the training, never the number of rows that are judged."""

import time

import numpy as np
import pytest

from levelhead import GCPRegressor, datasets
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


@pytest.mark.compiled
def test_the_budget_is_kept_about() -> None:
    X, y = np.repeat(DATA.X, 20, axis=0), np.repeat(DATA.y, 20)
    X = X + 1e-9 * np.arange(len(X))[:, None]  # rows that differ, so that they count as many
    fit_within(GCPRegressor(n_members=5), X, y, 0.01)  # compiles
    began = time.process_time()
    model = fit_within(GCPRegressor(n_members=5, n_jobs=1), X, y, 6)
    assert model.max_iter < GCPRegressor()._epochs(len(X))
    assert time.process_time() - began < 12  # processor time: a busy machine makes the wall clock meaningless


def test_no_time_is_no_budget() -> None:
    with pytest.raises(ValueError, match="time budget is 0"):
        fit_within(GCPRegressor(), DATA.X, DATA.y, 0)
