"""What a prediction of one row does not do again: checks, encoding of the frame, layout of the networks."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from functools import cache
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("lightgbm")

from levelhead import AutoRegressor, GCPRegressor, engine
from levelhead.estimators import _base, _tables
from levelhead.estimators.networks import _training
from levelhead.tables.encoding.columns import Columns

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(120, 3))
FRAME = pd.DataFrame({"a": NUMBERS[:, 0], "kind": RNG.choice(["x", "y"], 120)})
Y = NUMBERS[:, 0] + 0.1 * RNG.normal(size=120)
TABLES = {"array": NUMBERS, "frame": FRAME}


def model() -> AutoRegressor:
    return AutoRegressor(n_members=2, target_transform=None, random_state=0)


@cache
def fitted_to(name: str) -> AutoRegressor:
    return model().fit(TABLES[name], Y)


@pytest.fixture(params=TABLES)
def fitted(request: pytest.FixtureRequest) -> tuple[AutoRegressor, Any]:
    return fitted_to(request.param), TABLES[request.param]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the slow steps are taken."""
    count: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            count[name] += 1
            return function(*args, **settings)

        return call

    for module, name in [
        (_tables, "validate_data"),
        (_tables, "check_array"),
        (_base, "check_is_fitted"),
        (Columns, "table"),
        (engine, "Ensemble"),
    ]:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    return count


def test_a_row_is_read_once_and_networks_are_laid_out_once(
    fitted: tuple[AutoRegressor, Any], calls: Counter[str]
) -> None:
    auto, table = fitted
    n_networks = sum(hasattr(part, "networks_") for part in auto.estimators_)
    assert n_networks > 0
    _training._ENSEMBLES.clear()
    for _ in range(3):
        auto.predict_dist(table[:1])
    frame = {"table": 3} if table is FRAME else {}
    assert calls == {"Ensemble": n_networks} | frame


def test_what_is_prepared_is_no_part_of_a_model(fitted: tuple[AutoRegressor, Any]) -> None:
    auto, table = fitted
    before = len(pickle.dumps(auto))
    expected = auto.predict_dist(table).mean
    assert len(pickle.dumps(auto)) <= before + 100
    for other in (pickle.loads(pickle.dumps(auto)), copy.deepcopy(auto)):
        assert np.array_equal(other.predict_dist(table).mean, expected)


def test_a_new_fit_is_not_answered_by_the_old_networks() -> None:
    auto = model().fit(NUMBERS, Y)
    auto.predict_dist(NUMBERS)
    again = auto.fit(NUMBERS, -Y).predict_dist(NUMBERS).mean
    assert np.array_equal(again, model().fit(NUMBERS, -Y).predict_dist(NUMBERS).mean)


def test_members_with_the_same_first_network() -> None:
    network = GCPRegressor((8,), n_members=3, max_iter=5, random_state=0).fit(NUMBERS, Y)
    both = network.predict_dist(NUMBERS).member_mean
    network.networks_ = network.networks_[:2]
    assert np.array_equal(network.predict_dist(NUMBERS).member_mean, both[:2])


def test_several_threads_may_be_the_first(fitted: tuple[AutoRegressor, Any]) -> None:
    auto, table = fitted
    fresh, expected = pickle.loads(pickle.dumps(auto)), auto.predict_dist(table).mean
    found: list[np.ndarray] = []
    threads = [Thread(target=lambda: found.append(fresh.predict_dist(table).mean)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(one, expected) for one in found)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((1, 2)), "2 features"),
        (np.ones(3), "2D array"),
        (np.ones((0, 3)), "0 sample"),
        (np.array([[np.inf, 0.0, 0.0]]), "infinite"),
        (np.array([["a", "b", "c"]]), "column 0"),
    ],
)
def test_bad_rows_are_still_refused(rows: np.ndarray, message: str) -> None:
    auto = fitted_to("array")
    with pytest.raises(ValueError, match=message):
        auto.predict_dist(rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (FRAME.rename(columns={"a": "b"}), "feature names"),
        (FRAME[["kind", "a"]], "feature names"),
        (FRAME[["a"]], "feature names|features"),
        (FRAME[:0], "no rows"),
        (FRAME.assign(a=np.inf), "infinite"),
    ],
)
def test_bad_frames_are_still_refused(rows: pd.DataFrame, message: str) -> None:
    auto = fitted_to("frame")
    with pytest.raises(ValueError, match=message):
        auto.predict_dist(rows)
