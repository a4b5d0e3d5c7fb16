"""The audit finds planted errors, keeps to its level of false alarms, and leaves clean data alone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import levelhead
from levelhead import auditing
from levelhead.auditing import judge, missing_cells
from levelhead.audits import Audit
from levelhead.audits.separation import estimate_contamination
from levelhead.contamination import Cluster, Replaced, Swapped
from levelhead.datasets import heteroscedastic, rents, synthetic

pytestmark = pytest.mark.compiled  # trains whole networks


@pytest.fixture(scope="module")
def spoilt():
    data = heteroscedastic(2000, random_state=0)
    return data, Replaced()(data.X, data.y_clean, contamination=0.05, random_state=1)


@pytest.fixture(scope="module")
def result(spoilt):
    return levelhead.audit(spoilt[1].X, spoilt[1].y, random_state=0)


def test_planted_errors_are_found(spoilt, result):
    mask = spoilt[1].mask
    assert mask[result.is_label_issue].mean() > 0.9
    assert result.is_label_issue[mask].mean() > 0.8
    low, high = result.contamination_interval
    assert low < 0.05 < high
    assert set(result.issues) == set(np.flatnonzero(result.is_label_issue))


def test_arrays_have_the_documented_meaning(spoilt, result):
    data, noisy = spoilt
    np.testing.assert_array_equal(result.given_label, noisy.y)
    np.testing.assert_allclose(result.z * result.std, noisy.y - result.predicted_label)
    np.testing.assert_allclose(result.label_quality, 1 - result.p_outlier)
    assert np.median(result.std / data.std) == pytest.approx(1.15, abs=0.15)
    assert (result.alpha > 0).all()


@pytest.mark.parametrize("make", [synthetic, heteroscedastic])
def test_clean_data_have_few_flags(make):
    for seed in range(2):
        data = make(n=600, contamination=0.0, random_state=seed)
        assert levelhead.audit(data.X, data.y, "network", random_state=seed).is_label_issue.mean() < 0.01


# Many swapped labels are right by chance, up to the noise.
@pytest.mark.parametrize(("contamination", "least"), [(Cluster(), 0.98), (Swapped(), 0.78)])
def test_other_errors_rank_high(contamination, least):
    data = heteroscedastic(1200, random_state=3)
    noisy = contamination(data.X, data.y_clean, contamination=0.05, random_state=1)
    p = levelhead.audit(noisy.X, noisy.y, "network", random_state=0).p_outlier
    order = np.argsort(np.argsort(p))
    auroc = (order[noisy.mask].mean() - (noisy.mask.sum() - 1) / 2) / (~noisy.mask).sum()
    assert auroc > least


def test_level_of_false_alarms(spoilt, result):
    """A looser level flags more; the expected share of false alarms is what it says."""
    strict, loose = result.at(0.01), result.at(0.5)
    assert strict.is_label_issue.sum() <= result.is_label_issue.sum() <= loose.is_label_issue.sum()
    for audit in (strict, result, loose):
        assert 1 - audit.p_outlier[audit.is_label_issue].mean() <= audit.false_alarm_rate
    wrong_alarms = 1 - spoilt[1].mask[loose.is_label_issue].mean()
    assert wrong_alarms < 0.6


def test_summary_is_plain_words(result):
    text = result.summary()
    assert text == repr(result)
    assert "2,000 labels" in text
    assert f"{result.is_label_issue.sum():,} are flagged" in text
    assert f"{result.issues[0]} (" in text


def test_one_flagged_label_is_said_in_the_singular():
    y = np.random.default_rng(0).normal(size=100)
    y[3] = 60.0
    audit = Audit.from_residuals(y, np.zeros(100), 1.0)
    assert audit.issues.tolist() == [3]
    assert "1 is flagged (at most" in audit.summary()


def test_the_counts_of_the_summary_add_up():
    """A level may leave room for a label that is hardly suspect: it is flagged, and not trusted as well."""
    y = np.concatenate([np.linspace(-2, 2, 400), np.full(30, 1e3)])
    audit = Audit.from_residuals(y, np.zeros(430), np.ones(430), false_alarm_rate=0.2)
    counts = [int(word) for word in audit.summary().splitlines()[1].split() if word.isdigit()]
    assert sum(counts) == 430
    assert min(counts) >= 0


def test_a_fitted_model_judges_its_own_and_other_rows(spoilt):
    _, noisy = spoilt
    model = levelhead.GCPRegressor(n_members=5, random_state=0).fit(noisy.X, noisy.y)
    whole = model.audit(noisy.X, noisy.y)
    np.testing.assert_allclose(whole.predicted_label, model.oof_prediction_.mean)
    some = np.array([7, 3, 500])
    part = model.audit(noisy.X[some], noisy.y[some])
    np.testing.assert_allclose(part.predicted_label, whole.predicted_label[some])
    changed = noisy.y[some] + 100
    new = model.audit(noisy.X[some], changed)
    np.testing.assert_allclose(new.predicted_label, model.predict(noisy.X[some]))
    assert new.is_label_issue.all()


def test_residuals_of_any_model_can_be_judged():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    y[:10] += 30
    audit = Audit.from_residuals(y, np.zeros(500), np.ones(500))
    assert set(audit.issues) == set(range(10))
    assert np.isnan(audit.alpha).all()


def test_a_given_separation_judges_each_side_for_itself():
    z = np.random.default_rng(3).normal(size=2000)
    z[:200] = np.random.default_rng(4).uniform(4, 8, 200)
    mean = np.full(2000, 5.0)
    separation = estimate_contamination(z, np.ones(2000), core="student")
    audit = Audit.from_residuals(mean + z, mean, np.ones(2000), separation=separation)
    np.testing.assert_allclose(audit.log_odds, separation.log_odds(z, np.ones(2000)))
    assert audit.is_label_issue[:200].mean() > 0.85


def test_variances_need_only_be_right_up_to_a_factor():
    rng = np.random.default_rng(1)
    y = 2 * rng.normal(size=2000)
    y[:20] += 60
    for factor in (0.01, 1.0, 100.0):
        audit = Audit.from_residuals(y, np.zeros(2000), np.full(2000, factor))
        assert audit.std == pytest.approx(np.full(2000, 2.0), rel=0.1)
        assert set(audit.issues) >= set(range(20))


def test_the_most_suspect_label_is_named_first():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    y[[3, 200, 40]] = 7, 30, 1e3
    y[[41, 42]] = 1e7, 1e9
    audit = Audit.from_residuals(y, np.zeros(500), np.ones(500), false_alarm_rate=0.2)
    assert audit.issues[:5].tolist() == [42, 41, 40, 200, 3]
    assert audit.p_outlier[3] < audit.p_outlier[200]
    assert audit.p_outlier[41] == audit.p_outlier[42] == 1  # their order is in the log odds
    assert "Most suspect rows: 42 (1e+09 given, " in audit.summary()


def test_the_intervals_of_both_shares():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=500), rng.normal(size=500)
    few[0], many[:100] = 30, many[:100] + 30
    low, high = Audit.from_residuals(few, np.zeros(500), np.ones(500)).contamination_interval
    assert 0 <= low < 0.001
    assert 0.004 < high < 0.03
    audit = Audit.from_residuals(many, np.zeros(500), np.ones(500))
    for share, (low, high) in (
        (audit.contamination, audit.contamination_interval),
        (audit.standing_out, audit.standing_out_interval),
    ):
        assert share == pytest.approx(0.2, abs=0.005)
        assert low < 0.2 < high
        assert high - low == pytest.approx(2 * np.sqrt(6 * 0.2 * 0.8 / 500), rel=0.2)


def test_a_code_for_missing_is_found_and_does_not_count_for_the_level():
    rng = np.random.default_rng(0)
    mean = rng.normal(20, 3, 1000)
    y = mean + rng.normal(size=1000)
    y[:150] = -200
    found = Audit.from_residuals(y, mean, np.ones(1000))
    assert found.is_code.tolist() == [True] * 150 + [False] * 850
    assert set(found.issues) >= set(range(150))
    assert found.is_label_issue[150:].sum() <= 1
    assert found.contamination == pytest.approx(0.15, abs=0.005)
    assert found.separation.n == 850
    assert "150 labels are -200, which seems to stand for a missing value" in found.summary()
    ordinary = Audit.from_residuals(y, mean, np.ones(1000), codes=())
    assert not ordinary.is_code.any()
    assert ordinary.is_label_issue[:150].all()
    given = Audit.from_residuals(np.round(y), mean, np.ones(1000), codes=[20])
    assert (given.is_code == (np.round(y) == 20)).all()


def test_repeated_labels_that_are_expected_are_no_codes():
    """Rain is often exactly 0, next to other small amounts."""
    rng = np.random.default_rng(0)
    mean = rng.gamma(1.0, 3.0, 800)
    y = np.maximum(mean + rng.normal(size=800) - 2, 0)
    assert (y == 0).sum() > 50
    assert not Audit.from_residuals(y, mean, np.ones(800)).is_code.any()


def test_it_says_when_it_cannot_know():
    rng = np.random.default_rng(0)
    signal = rng.normal(0, 3, 2000)
    noise = rng.normal(size=2000)
    sound = Audit.from_residuals(signal + noise, signal, np.ones(2000))
    assert sound.reliable
    assert sound.warnings == ()
    spoilt = np.where(rng.random(2000) < 0.6, rng.normal(0, 30, 2000), signal + noise)
    many = Audit.from_residuals(spoilt, signal, np.ones(2000))
    assert not many.reliable
    assert many.contamination > 0.4
    assert many.summary().startswith("Not reliable: about ")
    useless = Audit.from_residuals(signal, rng.normal(0, 0.1, 2000), np.ones(2000))
    assert any("hardly predict" in warning for warning in useless.warnings)
    groups = np.concatenate([signal[:1000] + 40, signal[1000:]]) + noise
    shapeless = Audit.from_residuals(groups, signal, np.ones(2000))
    assert not shapeless.reliable


def test_the_frame_has_the_index_of_the_rows():
    y = np.random.default_rng(0).normal(size=50)
    names = [f"row {k}" for k in range(50)]
    audit = Audit.from_residuals(y, np.zeros(50), np.ones(50), index=names).at(0.1)
    assert audit.to_frame().index.tolist() == names
    assert audit.to_frame("polars")["index"].to_list() == names


QUICK_NETWORK = levelhead.GCPRegressor((32,), max_iter=60, random_state=0)
QUICK = levelhead.GCPRegressor((8,), max_iter=5)


def test_audit_hands_its_settings_on(spoilt, monkeypatch):
    X, y = spoilt[1].X[:200], spoilt[1].y[:200]
    made = lambda kind, **settings: levelhead.GCPRegressor((8,), max_iter=5, **settings)
    monkeypatch.setattr(auditing, "make", made)
    one, two, other = (levelhead.audit(X, y, random_state=seed, n_members=1) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.predicted_label, two.predicted_label)
    assert not np.array_equal(one.predicted_label, other.predicted_label)
    loose = levelhead.audit(X, y, random_state=0, n_members=1, false_alarm_rate=0.6)
    assert loose.false_alarm_rate == 0.6
    np.testing.assert_array_equal(loose.is_label_issue, one.at(0.6).is_label_issue)
    assert loose.is_label_issue.sum() >= one.is_label_issue.sum()


def test_an_estimator_that_is_given_is_not_changed(spoilt):
    levelhead.audit(spoilt[1].X[:100], spoilt[1].y[:100], QUICK)
    assert not hasattr(QUICK, "networks_")


def test_what_cannot_be_judged_is_refused():
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    model = levelhead.GaussianRegressor(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="out_of_fold=True"):
        model.audit(X, y)
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="LinearRegression cannot audit"):
        levelhead.audit(X, y, LinearRegression())
    with pytest.raises(ValueError, match="false_alarm_rate"):
        Audit.from_residuals(y, y + 1, np.ones(40), false_alarm_rate=2)


def test_frame(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns[:2]) == ["given_label", "predicted_label"]
    assert frame.is_label_issue.sum() == result.is_label_issue.sum()


def test_plot_shows_every_suspect(result):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    figure = result.plot()
    labels = figure.axes[0]
    assert len(labels.lines[1].get_xdata()) == result.is_label_issue.sum()
    assert sum(patch.get_height() for patch in figure.axes[2].patches) == len(result)
    plt.close(figure)


@pytest.mark.slow
def test_guessed_inputs_are_not_taken_for_wrong_labels():
    pytest.importorskip("skrub")
    alarms, found = np.zeros(2), []
    for seed in range(3):
        X, y, wrong = rents(missing=0.05, random_state=seed)[:3]
        model = levelhead.tabular_pipeline(levelhead.GCPRegressor(n_members=5, random_state=seed)).fit(X, y)
        plain = model[-1].audit(model[:-1].transform(X), y)
        fair = judge(model, X, y)
        for k, audit in enumerate((plain, fair)):
            alarms[k] += (audit.is_label_issue & ~wrong).sum()
        found.append(fair.is_label_issue[wrong].mean())
        full = ~np.isnan(X).any(axis=1)
        np.testing.assert_allclose(np.diff(np.log(fair.std / plain.std)[full]), 0, atol=1e-9)
    assert alarms[0] > 15  # else there would be nothing to fix
    assert alarms[1] < 0.7 * alarms[0]
    assert np.mean(found) > 0.9


def test_missing_cells_of_any_table():
    pandas, polars, sparse = map(pytest.importorskip, ("pandas", "polars", "scipy.sparse"))
    columns = {"a": [1.0, None, 3.0], "b": ["x", "y", None]}
    expected = [[False, False], [True, False], [False, True]]
    assert missing_cells(pandas.DataFrame(columns)).tolist() == expected
    assert missing_cells(polars.DataFrame(columns)).tolist() == expected
    assert missing_cells(polars.DataFrame({"a": [1.0, float("nan"), None]})).tolist() == [
        [False],
        [True],
        [True],
    ]
    assert missing_cells(np.array([[1.0, np.nan]])).tolist() == [[False, True]]
    assert missing_cells(np.array([[1.0, None, np.nan, "x"]], dtype=object)).tolist() == [
        [False, True, True, False]
    ]
    assert missing_cells([[1, 2]]).tolist() == [[False, False]]
    assert missing_cells(sparse.csr_array(np.eye(2))).size == 0


def test_rows_that_belong_together_are_judged_together():
    """Four sensors read too high; each has inputs of its own, by which a model recognises it."""
    rng = np.random.default_rng(0)
    sensor = np.repeat(np.arange(60), 8)
    place = rng.normal(size=(60, 2))[sensor]
    y = place[:, 0] + 0.1 * rng.normal(size=480)
    wrong = np.isin(sensor, [7, 20, 33, 51])
    y[wrong] += 6
    grouped = levelhead.audit(place, y, QUICK_NETWORK, groups=sensor)
    assert grouped.is_label_issue[wrong].mean() > 0.9
    assert grouped.remarks == ("In 4 of 60 groups most labels look wrong.",)
    alone = levelhead.audit(place, y, QUICK_NETWORK)
    assert any("lie above their predictions together" in remark for remark in alone.remarks)


def test_pipelines_take_groups_and_weights(spoilt):
    X, y = spoilt[1].X[:100], spoilt[1].y[:100]
    pipeline = make_pipeline(StandardScaler(), QUICK_NETWORK)
    audit = levelhead.audit(X, y, pipeline, groups=np.arange(100) // 4, sample_weight=np.ones(100))
    assert len(audit) == 100


def test_the_table_has_the_index_of_the_inputs():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=60)}, index=[f"row {k}" for k in range(60)])
    frame = levelhead.audit(X, X["x"] + 0.1 * rng.normal(size=60), QUICK_NETWORK).to_frame()
    assert frame.index.tolist() == X.index.tolist()


def test_the_scale_is_in_the_summary_and_survives_gaps_and_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.exp(5 + X[:, 0] + 0.2 * rng.normal(size=200))
    y[:3] *= [10, 10, 0.1]
    audit = levelhead.audit(X, y, clone(QUICK_NETWORK).set_params(target_transform="log"))
    assert "Labels were judged on a log scale" in audit.summary()
    assert {0, 1, 2} <= set(audit.issues)
    gaps = rng.random((200, 2)) < 0.1
    allowed = audit.allowing_for(gaps)
    assert allowed.scale is not None
    np.testing.assert_allclose(np.sign(allowed.z), np.sign(audit.z))
    assert allowed.remarks == audit.remarks
    assert audit.at(0.4).scale is audit.scale


def test_the_share_of_wrong_labels_is_at_least_that_of_the_codes():
    rng = np.random.default_rng(0)
    y = rng.normal(50, 1, size=400)
    y[:30] = -200.0
    fitted = estimate_contamination(y - 50, np.ones(400), core="student")
    for separation in (None, fitted):
        result = Audit.from_residuals(y, np.full(400, 50.0), 1.0, separation=separation)
        assert result.is_code.sum() == 30
        assert result.contamination >= 30 / 400
        assert result.contamination_interval[1] >= 30 / 400


def test_models_are_not_trained_on_codes_for_missing_labels():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = 3 + X[:, 0] + 0.1 * rng.normal(size=500)
    coded = X[:, 1] > 0.6  # where a model could learn them
    y[coded] = -200.0
    result = levelhead.audit(X, y, QUICK, sample_weight=np.ones(500), groups=np.arange(500) // 2)
    assert result.is_label_issue[coded].all()
    assert not result.is_label_issue[~coded].any()
    assert (result.predicted_label > 0).all()


def test_a_run_of_codes_for_missing_labels_does_not_mean_that_rows_belong_together():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = 3 + X[:, 0] + 0.1 * rng.normal(size=600)
    y[100:180] = -200.0
    result = levelhead.audit(X, y, QUICK)
    assert result.is_code.sum() == 80
    assert not [remark for remark in result.remarks if "together" in remark]


@pytest.mark.parametrize("make_model", [levelhead.GCPBoostingRegressor, levelhead.GCPRegressor])
def test_codes_take_no_part_in_a_direct_fit(make_model):
    """A user who calls fit with −200 among the labels gets the share of wrong labels among the others."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = 20 + 5 * X[:, 0] + 0.5 * rng.normal(size=400)
    y[:30] = -200.0
    y[30:36] += 15
    model = make_model(n_members=1, random_state=0).fit(X, y)
    assert model.separation_.n == 370
    assert model.separation_.contamination < 0.05
    result = model.audit(X, y)
    assert result.is_code[:30].all()
    assert result.contamination == pytest.approx(36 / 400, abs=0.015)
    assert abs(model.predict(X)[36:] - 20 - 5 * X[36:, 0]).mean() < 1


def test_a_shifted_day_is_found_in_a_table_ordered_by_time():
    """Models that have seen the hours before and after learn the shift; those that have not flag it."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    when = pandas.date_range("2024-03-01", periods=1200, freq="h")
    x = rng.normal(size=1200)
    y = 2 * x + 0.3 * rng.normal(size=1200)
    y[500:524] += 3
    X = pandas.DataFrame({"when": when, "x": x})
    result = levelhead.audit(X, y, "trees", n_members=1, random_state=0)
    assert result.is_label_issue[500:524].sum() >= 20
    assert result.is_label_issue.sum() <= 26
    assert any("ordered by 'when'" in remark for remark in result.remarks)
    assert auditing.groups_in_table(X.sample(frac=1, random_state=0), y) == (None, ())
    assert auditing.groups_in_table(X[["x"]].to_numpy(), y) == (None, ())
    assert auditing.groups_in_table(X[:150], y[:150]) == (None, ())


def test_a_drift_that_only_neighbours_show_leaves_random_folds():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"when": pandas.date_range("2024-03-01", periods=600, freq="h")})
    drift = 3 * np.cumsum(rng.normal(size=600)) / np.sqrt(20)
    groups, remarks = auditing.groups_in_table(X, drift + 0.1 * rng.normal(size=600))
    assert groups is None
    assert "--time when" in remarks[0]


def patients(shifted=2.5):
    """120 patients with 8 visits; all labels of eight patients are wrong. The inputs of a patient are always equal."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(120), 8)
    fixed = rng.normal(size=(120, 2))[patient]
    y = fixed[:, 0] + np.sin(fixed[:, 1]) + 0.3 * rng.normal(size=960)
    wrong = np.isin(patient, [3, 50, 51, 52, 90, 100, 110, 117])
    return patient, fixed, np.where(wrong, y + shifted * (-1) ** patient, y), wrong


def test_rows_of_one_patient_are_found_and_judged_together():
    pandas = pytest.importorskip("pandas")
    _, fixed, y, wrong = patients()
    X = pandas.DataFrame(fixed, columns=["age", "weight"]).assign(visit=np.tile(np.arange(8), 120))
    result = levelhead.audit(X, y, "trees", n_members=1, random_state=0)
    assert result.is_label_issue[wrong].mean() > 0.6
    assert wrong[result.is_label_issue].mean() > 0.8
    assert any("'age', 'weight' are equal in the same rows" in remark for remark in result.remarks)
    alone = levelhead.audit(X, y, "trees", n_members=1, random_state=0, cv=5)
    assert alone.is_label_issue[wrong].mean() < 0.2


def test_patients_unlike_all_others_leave_random_folds():
    pandas = pytest.importorskip("pandas")
    patient, fixed, _, _ = patients()
    rng = np.random.default_rng(0)
    y = 3 * rng.normal(size=120)[patient] + 0.1 * rng.normal(size=960)
    groups, remarks = auditing.groups_in_table(pandas.DataFrame(fixed, columns=["age", "weight"]), y)
    assert groups is None
    assert "--group age" in remarks[0]


def test_copies_of_rows_are_no_sign_that_rows_belong_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    rows = np.repeat(np.arange(300), 2)
    network = levelhead.GCPRegressor(max_iter=30, random_state=0)
    result = levelhead.audit(X[rows], y[rows], network)
    assert result.remarks == ()
