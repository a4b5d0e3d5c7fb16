"""Stored runs are run again: the same engine must repeat them, another must not differ on average."""

import numpy as np
import pytest

from levelhead.study import Store, run_study
from levelhead.study.store import Row
from levelhead.study.verification import Verification, Verified, engine_of_today, sample, verify


@pytest.fixture(scope="module")
def stored(make_specs, tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.db"
    specs = make_specs(3)
    run_study(specs, path, show_progress=False)
    with Store(path) as store:
        return specs, store.rows()


def found(rows, chosen):
    return Verification(tuple(verify(rows, chosen)), engine_of_today())


def test_runs_of_this_engine_are_repeated(stored):
    specs, rows = stored
    chosen = sample(rows, specs, 6, seed=1)
    assert chosen == sample(rows, specs, 6, seed=1)
    assert {row.method for row, _ in sample(rows, specs, 99)} == {"GCP", "GCP_St", "ridge"}
    result = found(rows, chosen)
    assert result.n_same == 6
    assert result.sound
    assert "6 of 6 runs are the same" in str(result)


def test_a_changed_number_of_this_engine_is_noticed(stored):
    specs, rows = stored
    changed = [row._replace(auc=row.auc * (1 + 1e-5)) for row in rows]
    result = found(changed, sample(changed, specs, 2))
    assert result.n_broken == 2
    assert not result.sound
    assert "not reproduced" in str(result)


def test_the_rounding_of_the_file_is_no_difference():
    row = Row("toy", 0.1, "r", "GCP", 1, 5.0, 3.0, 0, 0, 0, 0, None, 1.0)
    lines = [Verified(row._replace(seed=k), 5 + 1e-7 * (1 + k), 3 + 1e-7, (1.0, 1.0)) for k in range(6)]
    result = Verification(tuple(lines), "engine")
    assert result.n_same == 6
    assert result.sound
    assert set(result.p_values.values()) == {1.0}


def test_methods_without_a_variance_are_compared_by_their_rmse():
    row = Row("toy", 0.1, "r", "means", 1, 5.0, None, None, None, None, 0, None, 1.0)
    same = [Verified(row._replace(seed=k), 5.0, None, (1.0, 1.0)) for k in range(3)]
    assert Verification(tuple(same), "engine").n_same == 3
    steps = (0.9, 1.0, 1.1)
    worse = [Verified(row._replace(seed=k), 5.0 + step, None, (1.0, 1.0)) for k, step in enumerate(steps)]
    result = Verification(tuple(worse), "engine")
    assert not result.sound
    assert "AUC" not in str(result)


def of_another_engine(shift: float) -> Verification:
    """Ten runs whose numbers differ by chance, and all by `shift` standard deviations."""
    rng = np.random.default_rng(0)
    lines = [
        Verified(
            Row("toy", 0.1, "r", "GCP", k, 5.0, 3.0, 0, 0, 0, 0, None, 1.0),
            5 + shift + step,
            3 + step,
            (1.0, 1.0),
        )
        for k, step in enumerate(0.3 * rng.normal(size=10))
    ]
    return Verification(tuple(lines), "engine")


def test_runs_of_an_unknown_engine_may_differ_but_not_on_average():
    assert of_another_engine(0.0).sound
    assert of_another_engine(0.0).n_same == 0
    assert "10 of an unknown one" in str(of_another_engine(0.0))
    assert not of_another_engine(1.0).sound
    assert "systematic" in str(of_another_engine(1.0))


def test_results_of_unknown_methods_are_refused(stored):
    specs, rows = stored
    with pytest.raises(ValueError, match="belongs to the chosen methods"):
        sample([row._replace(method="mine") for row in rows], specs, 2)
