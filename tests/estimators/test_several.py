"""Several targets: one model for each or shared layers, the same folds, one audit of all labels."""

import doctest
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import cross_val_score

import levelhead
from levelhead import GCPRegressor, MultiTargetRegressor, Prediction, load, save
from levelhead.audits import Audit, MultiAudit
from levelhead.estimators import several
from levelhead.persistence import ModelFileError
from levelhead.prediction import MultiPrediction, multiple

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 160
X = RNG.uniform(-1, 1, size=(N, 2))
Y = np.column_stack([X[:, 0], 10 - 5 * X[:, 1]]) + 0.05 * RNG.normal(size=(N, 2))
Y[7, 0], Y[11, 1] = 5.0, 40.0
Y[20] = [-6.0, -30.0]
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "city": RNG.choice(["Rome", "Oslo"], N)})
QUICK = GCPRegressor((16,), max_iter=40, learning_rate_init=0.01, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return MultiTargetRegressor(QUICK).fit(X, pd.DataFrame(Y, columns=["height", "weight"]))


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(several).failed == 0
    assert doctest.testmod(multiple).failed == 0


def test_every_target_has_its_model(fitted):
    prediction = fitted.predict_dist(X)
    assert fitted.predict(X).shape == (N, 2)
    assert np.median(np.abs(fitted.predict(X) - Y), axis=0) == pytest.approx([0.04, 0.04], abs=0.1)
    mean, std = fitted.predict(X[:5], return_std=True)
    np.testing.assert_array_equal(mean, prediction.mean[:5])
    np.testing.assert_array_equal(std, prediction.std[:5])
    np.testing.assert_array_equal(prediction["weight"].mean, prediction.mean[:, 1])
    assert prediction[0] is prediction["height"] is next(iter(prediction))
    np.testing.assert_allclose(prediction.var, prediction.std**2)
    lower, upper = fitted.predict_interval(X, 0.8)
    np.testing.assert_array_equal(lower, prediction.ppf(0.1))
    np.testing.assert_array_equal(upper, prediction.interval(0.8).upper)
    np.testing.assert_array_equal(prediction.logpdf(Y)[:, 0], prediction["height"].logpdf(Y[:, 0]))
    assert list(prediction.to_frame().columns) == ["height mean", "height std", "weight mean", "weight std"]
    assert repr(prediction) == "MultiPrediction of 160 rows and 2 targets: height, weight"
    assert fitted.score(X, Y) > 0.8


def test_all_targets_hold_out_the_same_rows(monkeypatch):
    splits = []
    fit = GCPRegressor.fit

    def spy(self, X, y, *given, cv=None, **more):
        splits.append(np.asarray(cv.test_fold))
        return fit(self, X, y, *given, cv=cv, **more)

    monkeypatch.setattr(GCPRegressor, "fit", spy)
    copies = np.concatenate([X, X[:30]])
    small = GCPRegressor((4,), max_iter=1, random_state=0)
    MultiTargetRegressor(small).fit(copies, np.concatenate([Y, -Y[:30]]))
    first, second = splits
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[N:], first[:30])  # copies of a row are held out together
    assert np.bincount(first).min() > 20


def test_one_audit_names_rows_and_targets(fitted):
    verdict = fitted.audit(X, Y)
    assert {(7, "height"), (11, "weight"), (20, "height"), (20, "weight")} <= set(verdict.issues)
    assert len(verdict.issues) <= 6
    assert verdict.rows[0] == 20  # wrong in both targets
    assert verdict.is_label_issue.shape == verdict.p_outlier.shape == (N, 2)
    assert verdict.p_outlier[7, 0] > 0.99 > 0.5 > verdict.p_outlier[7, 1]
    text = verdict.summary()
    assert "160 rows with 2 targets." in text
    assert "suggests that the inputs or the whole row are wrong: 20" in text
    assert "height: about" in text
    assert repr(verdict) == text
    frame = verdict.to_frame()
    assert len(frame) == 2 * N
    flagged = frame[frame["is_label_issue"]]
    assert set(zip(flagged["row"], flagged["target"], strict=True)) == set(verdict.issues)
    assert isinstance(verdict["weight"], Audit)
    assert [type(one) for one in verdict] == [Audit, Audit]
    assert len(verdict) == N
    assert fitted.contamination_.shape == (2,)
    assert len(fitted.oof_prediction_) == N
    assert fitted.feature_importances_ == pytest.approx([0.5, 0.5], abs=0.2)


def test_notebooks_show_tables(fitted):
    page = ElementTree.fromstring(f"<div>{fitted.predict_dist(X)._repr_html_()}</div>")
    assert [cell.text for cell in page.iter("th")][:3] == ["row", "height mean", "height std"]
    assert page.findtext(".//caption") == "Prediction of 160 rows, 2 targets"
    assert page.findtext("p") == "… 152 more"
    verdict = fitted.audit(X, Y)
    page = ElementTree.fromstring(f"<div>{verdict._repr_html_()}</div>")
    assert page.findtext("p").startswith("160 rows with 2 targets.")
    lines = [[cell.text for cell in line][:2] for line in page.iter("tr")][1:]
    assert lines == [[str(row), target] for row, target in verdict.issues]
    clean = Audit.from_residuals(Y[:, 0], np.where(np.abs(Y[:, 0]) > 2, Y[:, 0], X[:, 0]), np.full(N, 0.0025))
    nothing = MultiAudit((clean,), ("<y>",))
    assert "<table" not in nothing._repr_html_()
    assert "&lt;y&gt;" in nothing._repr_html_()


def test_audit_takes_several_targets():
    index = [f"row {k}" for k in range(N)]
    verdict = levelhead.audit(FRAME.set_axis(index), pd.DataFrame(Y, columns=["height", "weight"]), QUICK)
    assert isinstance(verdict, MultiAudit)
    assert (20, "weight") in verdict.issues
    assert verdict.to_frame()["row"].iloc[0] == "row 0"


def test_frames_weights_and_files(tmp_path):
    weight = np.where(np.arange(N) < 120, 1.0, 0.0)
    model = MultiTargetRegressor(QUICK).fit(FRAME, Y, sample_weight=weight)
    assert model.targets_ == ["target 1", "target 2"]
    with pytest.raises(ValueError, match=r"was fitted to a frame with categories.*not 'ndarray'$"):
        model.estimators_[0].predict(FRAME.to_numpy())
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert again.audit(FRAME, Y).issues == model.audit(FRAME, Y).issues
    model.targets_ = ["one"]
    with pytest.raises(ModelFileError, match="contradict"):
        save(model, tmp_path / "other")


def test_one_target_has_one_dimension():
    model = MultiTargetRegressor(QUICK).fit(X, Y[:, 0])
    assert model.predict(X).shape == (N,)
    assert model.predict_interval(X).lower.shape == (N,)
    column = MultiTargetRegressor(QUICK).fit(X, Y[:, :1])
    assert column.predict(X).shape == (N, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], model.predict(X))
    small = MultiTargetRegressor(GCPRegressor((8,), max_iter=5, random_state=0))
    assert np.isfinite(cross_val_score(small, X, Y, cv=2)).all()


def test_regressors_of_scikit_learn_that_know_their_uncertainty():
    model = MultiTargetRegressor(BayesianRidge()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X)[:, 1], BayesianRidge().fit(X, Y[:, 1]).predict(X))


def test_what_does_not_fit_is_explained(fitted):
    with pytest.raises(ValueError, match=r"y has 2 columns; use MultiTargetRegressor for several targets"):
        QUICK.fit(X, Y)
    with pytest.raises(ValueError, match=r"y has 1 NaN or infinite labels, the first at row 3, column 1"):
        MultiTargetRegressor(QUICK).fit(X, np.where(np.arange(2 * N).reshape(N, 2) == 7, np.inf, Y))
    for table, estimator in ((X, MultiTargetRegressor(QUICK)), (FRAME, QUICK)):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[150, 160\]$"):
            estimator.fit(table[:150], Y if estimator is not QUICK else Y[:, 0])
    with pytest.raises(ValueError, match=r"X has no rows \(shape \(0, 3\)\)"):
        QUICK.fit(FRAME[:0], Y[:0, 0])
    with pytest.raises(ValueError, match=r"y has shape \(160, 3\); needed are labels of shape \(160, 2\)"):
        fitted.audit(X, np.zeros((N, 3)))
    with pytest.raises(KeyError, match="there is no target 'age'; choose one of height, weight"):
        fitted.predict_dist(X)["age"]
    with pytest.raises(ValueError, match="y has shape"):
        MultiPrediction((Prediction([0.0], [1.0]),), ("y",)).logpdf([1.0])
    with pytest.raises(ValueError, match="y has several columns named 'a'; give each target a name"):
        MultiTargetRegressor(QUICK).fit(X, pd.DataFrame(Y, columns=["a", "a"]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        MultiTargetRegressor(QUICK).fit(X, None)
    assert MultiTargetRegressor().estimator is None
