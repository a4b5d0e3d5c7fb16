"""Audits and fits of tables that are read in pieces."""

import numpy as np
import pandas as pd
import pytest

from levelhead import load, persistence, save
from levelhead.large import LargeTable, Stages, audit_table, fit_table, judging, needs_pieces
from levelhead.tables import TableError

pytestmark = pytest.mark.compiled
SAMPLE = 1500


def table(path, rows=1000, **settings):
    return LargeTable(path, "y", sample_rows=SAMPLE, piece_rows=rows, **settings)


def verdicts(result):
    parts = list(result.pieces())
    return (
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.audit.log_odds for part in parts]),
        np.concatenate([part.audit.is_label_issue for part in parts]),
    )


@pytest.fixture(scope="module")
def audited(planted, estimator):
    return audit_table(table(planted.parquet), estimator)


@pytest.fixture(scope="module")
def fitted(planted, estimator):
    return fit_table(table(planted.parquet), estimator)


def test_wrong_labels_of_all_pieces_are_found(audited, planted):
    row, _, flagged = verdicts(audited)
    np.testing.assert_array_equal(row, np.arange(1, len(planted.frame) + 1))
    assert planted.wrong[flagged].mean() > 0.9
    assert flagged[planted.wrong].mean() > 0.9
    assert 0.035 < audited.contamination < 0.07
    low, high = audited.contamination_interval
    assert low < audited.contamination < high
    assert audited.counts.flagged == flagged.sum()
    counts = audited.counts
    assert counts.flagged + counts.in_doubt + counts.trusted == counts.labels == counts.rows == len(row)
    assert f"{counts.flagged:,} are flagged" in str(audited)


@pytest.mark.parametrize(("which", "rows"), [("csv", 777), ("folder", 5000), ("parquet", 6000)])
def test_file_format_and_pieces_do_not_change_the_verdict(which, rows, audited, planted, estimator):
    other = audit_table(table(getattr(planted, which), rows), estimator)
    for one, two in zip(verdicts(audited), verdicts(other), strict=True):
        np.testing.assert_array_equal(one, two)
    assert other.counts == audited.counts


def test_pieces_do_not_change_the_model(fitted, planted, estimator):
    other = fit_table(table(planted.csv, 2345), estimator)
    inputs = planted.frame.drop(columns="y")
    np.testing.assert_array_equal(other.predict(inputs), fitted.predict(inputs))


def test_trees_learn_from_all_rows(fitted, audited, planted, tmp_path):
    inputs = planted.frame.drop(columns="y")
    errors = [
        np.sqrt(np.mean((model.predict(inputs) - planted.clean) ** 2))
        for model in (fitted, audited.judge.model)
    ]
    assert errors[0] < 0.92 * errors[1]
    again = load(save(fitted, tmp_path / "model"), n_jobs=1)
    np.testing.assert_array_equal(again.predict(inputs), fitted.predict(inputs))


def test_the_most_suspect_rows(audited, planted):
    most = audited.most_suspect(20)
    assert len(most.row) == 20
    assert planted.wrong[most.row - 1].all()
    some = audited.rows(most.row)
    np.testing.assert_array_equal(some.audit.log_odds, most.audit.log_odds)


def test_a_table_not_larger_than_the_sample_is_fitted_as_in_memory(planted, estimator):
    small = LargeTable(planted.parquet, "y", sample_rows=len(planted.frame), piece_rows=1000)
    model = fit_table(small, estimator)
    assert not hasattr(model[-1], "judge_")


def test_finished_pieces_are_not_scored_again(planted, estimator, tmp_path, monkeypatch):
    stages = Stages(tmp_path / "stages", {"seed": 0})
    real, calls = judging.unseen, []

    def fails_at_the_third(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(judging, "unseen", fails_at_the_third)
    monkeypatch.setattr(persistence, "_MOST_ROWS", SAMPLE // 2)  # a stage keeps all of the judge
    with pytest.raises(KeyboardInterrupt):
        audit_table(table(planted.parquet), estimator, stages=stages)
    monkeypatch.setattr(judging, "_fitted", lambda *_: pytest.fail("the judge is there"))
    resumed = Stages(tmp_path / "stages", {"seed": 0})
    result = audit_table(table(planted.parquet), estimator, stages=resumed)
    assert len(calls) == 3 + 4 + 1  # the four other pieces, and the sample
    assert planted.wrong[verdicts(result)[2]].mean() > 0.9
    other = Stages(tmp_path / "stages", {"seed": 1})
    assert other.arrays(0) is None


def test_labels_that_are_no_numbers_are_counted_and_refused_if_they_are_many(planted, estimator, tmp_path):
    gaps = planted.frame.astype({"y": object})
    gaps.loc[:99, "y"] = None
    gaps.loc[100:149, "y"] = "unknown"
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    result = audit_table(table(tmp_path / "gaps.csv"), estimator)
    assert (result.counts.rows, result.counts.labels) == (len(gaps), len(gaps) - 150)
    assert "of 6,000 labels" in result.summary()
    gaps["y"] = gaps["y"].where(np.arange(len(gaps)) % 2 == 0)
    gaps.to_csv(tmp_path / "half.csv", index=False)
    with pytest.raises(TableError, match="--allow-missing-labels"):
        audit_table(table(tmp_path / "half.csv"), estimator)


def test_codes_for_missing_labels_are_flagged_and_not_learnt(planted, estimator, tmp_path):
    coded = planted.frame.copy()
    coded.loc[::15, "y"] = -999.0
    coded.to_parquet(tmp_path / "coded.parquet")
    result = audit_table(table(tmp_path / "coded.parquet"), estimator)
    assert result.counts.codes == (coded["y"] == -999).sum()
    assert verdicts(result)[2][::15].all()
    model = fit_table(table(tmp_path / "coded.parquet"), estimator)
    assert model.predict(coded.drop(columns="y")).min() > -10


def test_only_tables_that_do_not_fit_are_read_in_pieces(planted, tmp_path):
    for path in (planted.parquet, planted.csv, planted.folder):
        assert needs_pieces(path, 1e5)
        assert not needs_pieces(path, 1e9)
    assert not needs_pieces("-", 1.0)


def test_a_sample_that_is_a_large_table_itself_is_refused(planted):
    with pytest.raises(ValueError, match="sample_rows is 100,000; it must be below 100,000"):
        LargeTable(planted.parquet, "y", sample_rows=100_000)


def test_progress_is_reported_for_every_stage(planted, estimator):
    seen = {}
    fit_table(
        table(planted.parquet),
        estimator,
        report=lambda stage, share: seen.setdefault(stage, []).append(share),
    )
    assert list(seen) == [
        "drawing a sample",
        "fitting a model to 1,500 rows",
        "fold models of trees",
        "trees of member 1 of 1",
        "judging all rows",
        "fitting trees to all rows",
        "trees of all rows",
    ]
    assert seen["judging all rows"][-1] == 1


def test_an_empty_table_is_refused(estimator, tmp_path):
    pd.DataFrame({"a": [], "y": []}).to_csv(tmp_path / "empty.csv", index=False)
    with pytest.raises(ValueError, match="no rows"):
        audit_table(table(tmp_path / "empty.csv"), estimator)
