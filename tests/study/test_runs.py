"""A run follows the protocol and is a function of its spec."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from levelhead import GCPRegressor, metrics
from levelhead.study import Spec, run
from levelhead.study.runs import _one_thread, attempt, seeded, split_rows


def test_the_protocol_step_by_step(data):
    spec = Spec(data, 0.1, "ridge", 3, BayesianRidge(), test_size=0.2)
    rows = split_rows(spec)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.2, random_state=3)
    np.testing.assert_array_equal(rows.X, X)
    np.testing.assert_array_equal(rows.X_test, X_test)
    np.testing.assert_array_equal(rows.y_test, y_test)  # test labels stay clean
    assert (rows.y != y).sum() == int(0.1 * len(y))
    mean, std = BayesianRidge().fit(rows.X, rows.y).predict(X_test, return_std=True)
    found = run(spec).measures["ridge"]
    assert found.rmse == metrics.rmse(y_test, mean)
    assert found.auc == metrics.retention_auc(y_test, mean, std**2)
    assert found.nll == pytest.approx(metrics.nll(y_test, mean, std**2), rel=1e-12)
    assert found.coverage == pytest.approx(np.mean(np.abs(y_test - mean) <= 1.6448536 * std))
    assert found.mean_alpha is None
    np.testing.assert_allclose(found.curve, metrics.retention_curve(y_test, mean, std**2), rtol=1e-6)


def test_methods_see_the_same_rows(data):
    one = Spec(data, 0.1, "ridge", 3, BayesianRidge())
    other = Spec(data, 0.1, "GCP", 3, GCPRegressor())
    np.testing.assert_array_equal(split_rows(one).y, split_rows(other).y)


def test_two_readings_of_one_fit(make_specs):
    spec = make_specs(1)[2]
    found = run(spec).measures
    assert list(found) == ["GCP", "GCP_St"]
    clean, student = found.values()
    assert clean.rmse == student.rmse
    assert clean.mean_alpha == student.mean_alpha > 0.1
    rows = split_rows(spec)
    alone = seeded(spec).set_params(variance="student").fit(rows.X, rows.y).predict_dist(rows.X_test)
    assert student.auc == metrics.retention_auc(rows.y_test, alone.mean, alone.var)


def test_a_run_is_a_function_of_its_spec(make_specs):
    spec = make_specs(1)[2]
    again = replace(spec, estimator=spec.estimator.set_params(random_state=7, n_jobs=2))
    assert run(spec).measures == run(again).measures
    other = run(replace(spec, seed=99)).measures
    assert other["GCP"].rmse != run(spec).measures["GCP"].rmse


def test_a_spec_that_was_tampered_with_is_not_run(make_specs):
    """Else its result would be stored under the digest of another estimator."""
    spec = make_specs(1)[0]
    spec.estimator.set_params(max_iter=3)
    with pytest.raises(ValueError, match="changed after the spec was created"):
        run(spec)
    with pytest.raises(ValueError, match="read-only"):
        spec.dataset.y[0] = 7.0


def test_every_stream_inside_an_estimator_is_seeded(data):
    nested = make_pipeline(StandardScaler(), BaggingRegressor(GCPRegressor(), n_jobs=4))
    parameters = seeded(Spec(data, 0, "bag", 1, nested)).get_params()
    streams = {v for k, v in parameters.items() if k.endswith("random_state")}
    assert len(streams) == 2
    assert None not in streams
    assert {v for k, v in parameters.items() if k.endswith("n_jobs")} == {1}


def test_held_out_training_rows_leave_the_test_rows_alone(data):
    spec = Spec(data, 0.2, "ridge", 3, BayesianRidge(), test_size=0.2)
    held = split_rows(replace(spec, validation_size=0.25))
    rows = split_rows(spec)
    seen = np.concatenate([held.X, held.X_test])
    np.testing.assert_array_equal(np.sort(seen, axis=0), np.sort(rows.X, axis=0))
    assert len(held.y_test) == len(rows.y) // 4
    together = np.sort(np.concatenate([held.y, held.y_test]))
    np.testing.assert_array_equal(together, np.sort(rows.y))  # wrong labels on both sides


def test_any_regressor_with_a_standard_deviation(data):
    kernel = RBF() + WhiteKernel()
    found = run(Spec(data, 0, "GP", 1, GaussianProcessRegressor(kernel, normalize_y=True), test_size=0.2))
    assert found.measures["GP"].rmse < 0.8 * data.y.std()


def test_failures_are_outcomes(data):
    outcome = attempt(Spec(data, 0, "ridge", 1, BayesianRidge(max_iter=0)))
    assert outcome.result is None
    assert "The 'max_iter' parameter of BayesianRidge must be" in outcome.error
    assert "Traceback" in outcome.error
    with pytest.raises(ValueError, match="fits no Student's t"):
        run(Spec(data, 0, "ridge", 1, BayesianRidge(), student="St"))


def test_linear_algebra_has_one_thread_until_the_last_run_ends():
    threads = lambda: {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    before = threads()
    with _one_thread():
        with _one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
