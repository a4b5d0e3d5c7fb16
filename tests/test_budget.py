"""A time budget shortens the training, never the number of rows that are judged."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor, datasets, progress, report_progress
from levelhead.budget import fit_within
from levelhead.estimators.networks import pace as pace_of_networks

DATA = datasets.synthetic(1200, contamination=0.05, random_state=0)


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
        pace_of_networks, "pace", lambda *given: (100.0, 50.0)
    )  # seconds besides the epochs, and for each
    model = fit_within(GCPRegressor(n_members=1, random_state=0), DATA.X[:100], DATA.y[:100], 500)
    assert model.max_iter == 6  # (0.9 · 500 − 100)/50, and a moment for the preparation
    assert model.n_iter_ == 6


def test_more_rows_and_more_networks_take_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts epochs, rows and networks, so that other programs on the machine do not matter."""
    clock = [0.0]
    monkeypatch.setattr(pace_of_networks.time, "perf_counter", lambda: clock[0])

    class Counted(GCPRegressor):
        def fit(self, X, y, sample_weight=None):
            clock[0] += 0.1 + 1e-6 * self.max_iter * len(y) * self.n_members
            return self

    def pace(rows: int, members: int) -> tuple[float, float]:
        X, y = np.resize(DATA.X, (rows, 1)), np.resize(DATA.y, rows)
        return pace_of_networks.pace(Counted(n_members=members), X, y)

    overhead, one = pace(1000, 5)
    assert overhead == pytest.approx(0.105)
    assert one == pytest.approx(1e-6 * 1000 * (2 * 5 + 5) / 3)
    assert pace(30_000, 5)[1] == pytest.approx(30 * one)
    assert pace(1000, 20)[1] == pytest.approx(4 * one)


@pytest.mark.compiled
@pytest.mark.parametrize("cls", [GCPBoostingRegressor, AutoRegressor])
def test_trees_and_both_take_a_limit(cls: type) -> None:
    pytest.importorskip("lightgbm")
    hasty = fit_within(cls(n_members=1, random_state=0), DATA.X, DATA.y, 0.01)
    assert len(hasty.audit(DATA.X, DATA.y)) == 1200
    _, *networks = getattr(hasty, "estimators_", [hasty])
    assert all(network.n_iter_ <= 2 for network in networks)  # one epoch in each phase
    patient = cls(n_members=1, random_state=0, time_limit=1e6).fit(DATA.X, DATA.y)
    same = cls(n_members=1, random_state=0).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(patient.predict(DATA.X), same.predict(DATA.X))
    if not networks:
        assert hasty.n_iter_ < patient.n_iter_
    through = fit_within(
        make_pipeline(StandardScaler(), cls(n_members=1, random_state=0)), DATA.X, DATA.y, 0.01
    )
    assert len(through.predict(DATA.X)) == 1200


def test_an_estimator_without_a_limit_is_named() -> None:
    with pytest.raises(ValueError, match="LinearRegression has no time limit; use AutoRegressor"):
        fit_within(LinearRegression(), DATA.X, DATA.y, 60)


def test_progress_is_written_at_most_every_ten_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lightgbm")
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now.append(now[-1] + 4.0) or now[-1])
    GCPBoostingRegressor(max_iter=45, verbose=True, random_state=0).fit(DATA.X[:200], DATA.y[:200])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "levelhead: fold models of trees, 20%"
    assert lines[-1].startswith("levelhead: trees of member 1 of 1, ")
    assert 4 < len(lines) < 50 / 2


def test_progress_of_networks_and_trees_goes_to_a_listener_inside_the_block_alone() -> None:
    pytest.importorskip("lightgbm")
    seen: dict[str, list[float]] = {}
    model = AutoRegressor(n_members=1, random_state=0)
    with report_progress(lambda stage, share: seen.setdefault(stage, []).append(share)):
        model.fit(DATA.X[:200], DATA.y[:200])
    assert set(seen) == {"fold models of trees", "trees of member 1 of 1", "networks"}
    assert all(0 < share <= 1 for shares in seen.values() for share in shares)
    assert seen["networks"][-1] == 1
    before = {stage: len(shares) for stage, shares in seen.items()}
    again = AutoRegressor(n_members=1, random_state=0).fit(DATA.X[:200], DATA.y[:200])
    assert {stage: len(shares) for stage, shares in seen.items()} == before
    np.testing.assert_array_equal(again.predict(DATA.X), model.predict(DATA.X))


def test_no_time_is_no_budget() -> None:
    with pytest.raises(ValueError, match="time budget is 0"):
        fit_within(GCPRegressor(), DATA.X, DATA.y, 0)
