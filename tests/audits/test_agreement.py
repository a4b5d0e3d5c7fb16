"""Labels that deviate as those of the nearest rows do."""

import numpy as np
import pytest
from scipy.stats import binom

from levelhead import AutoRegressor
from levelhead.auditing import judge
from levelhead.audits import Audit
from levelhead.audits._agreement import _at_least


@pytest.fixture
def table():
    """1,200 rows: in a corner of the inputs the model is 12 deviations off; 40 wrong labels lie anywhere else."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.random(1200), "site": rng.choice(list("xyz"), 1200), "noise": rng.random(1200)}
    missed = (columns["a"] > 0.97) & (columns["site"] == "x")
    wrong = np.zeros(1200, dtype=bool)
    wrong[rng.choice(np.flatnonzero(~missed), 40, replace=False)] = True
    y = rng.normal(size=1200) + 12 * missed + wrong * rng.choice([-1, 1], 1200) * rng.uniform(8, 40, 1200)
    return columns, y, missed, wrong


IMPORTANCES = (0.6, 0.4, 0.0)


def test_neighbours_that_deviate_alike_keep_a_label_from_being_flagged(table):
    columns, y, missed, wrong = table
    alone = Audit.from_residuals(y, np.zeros(1200), 1.0)
    assert alone.is_label_issue[missed].mean() > 0.9
    found = alone.by_neighbours(columns, IMPORTANCES)
    assert found.is_label_issue[missed].mean() < 0.2
    assert found.is_label_issue[wrong].mean() > 0.9
    assert (found.p_outlier[missed] >= 0.2).all()  # still in doubt
    count = int((alone.is_label_issue & (found.log_odds <= 0)).sum())
    assert found.remarks == (
        f"{count} labels deviate from the prediction as those of the nearest rows do, so the model may err there: "
        "in doubt, not flagged.",
    )


def test_the_order_of_the_rows_and_the_units_of_the_inputs_do_not_matter(table):
    columns, y, _, _ = table
    found = Audit.from_residuals(y, np.zeros(1200), 1.0).by_neighbours(columns, IMPORTANCES)
    order = np.random.default_rng(1).permutation(1200)
    moved = {name: values[order] for name, values in columns.items()} | {"a": np.exp(5 * columns["a"][order])}
    again = Audit.from_residuals(y[order], np.zeros(1200), 1.0).by_neighbours(moved, IMPORTANCES)
    np.testing.assert_array_equal(again.log_odds, found.log_odds[order])


def test_columns_that_the_model_does_not_use_make_no_neighbours(table):
    columns, y, missed, _ = table
    found = Audit.from_residuals(y, np.zeros(1200), 1.0).by_neighbours(columns, (0.0, 0.0, 1.0))
    assert found.is_label_issue[missed].mean() > 0.9


def test_rows_of_one_group_do_not_support_each_other(table):
    columns, y, missed, _ = table
    alone = Audit.from_residuals(y, np.zeros(1200), 1.0)
    groups = np.where(missed, 1200, np.arange(1200))
    np.testing.assert_array_equal(
        alone.by_neighbours(columns, IMPORTANCES, groups).is_label_issue[missed], alone.is_label_issue[missed]
    )


def test_copies_of_a_row_do_not_support_it():
    rng = np.random.default_rng(2)
    a, y = np.repeat(rng.random(300), 3), np.repeat(rng.normal(size=300), 3)
    wrong = np.arange(900) < 30
    y[wrong] = np.repeat(rng.uniform(10, 40, 10) * rng.choice([-1, 1], 10), 3)
    found = Audit.from_residuals(y, np.zeros(900), 1.0).by_neighbours({"a": a}, [1.0])
    assert found.is_label_issue[wrong].all()


def test_columns_of_every_kind(table):
    columns, y, missed, _ = table
    day = np.datetime64("2020-01-01") + (1e4 * columns["a"]).astype("timedelta64[D]")
    number = np.where(columns["noise"] > 0.9, np.nan, columns["noise"])
    mixed = {"day": day, "site": columns["site"].astype(object), "number": number, "constant": np.ones(1200)}
    found = Audit.from_residuals(y, np.zeros(1200), 1.0).by_neighbours(mixed, (0.6, 0.4, 0.001, 0.1))
    assert found.is_label_issue[missed].mean() < 0.2


def test_nothing_changes_without_suspects_or_without_agreement(table):
    columns, _, missed, _ = table
    clean = Audit.from_residuals(np.random.default_rng(4).normal(size=1200), np.zeros(1200), 1.0)
    assert clean.by_neighbours(columns, IMPORTANCES) is clean
    few = {name: values[~missed][:20] for name, values in columns.items()}
    spoilt = Audit.from_residuals(
        np.append(np.random.default_rng(5).normal(size=19), 50.0), np.zeros(20), 1.0
    )
    assert spoilt.by_neighbours(few, IMPORTANCES) is spoilt
    with pytest.raises(ValueError, match=r"importances has shape \(2,\); give one for each of 3 columns"):
        clean.by_neighbours(columns, (0.5, 0.5))


@pytest.mark.parametrize("memory", [0.6, 0.0])
def test_rows_in_order_support_each_other_only_if_residuals_of_trusted_labels_agree_in_order(memory):
    rng = np.random.default_rng(7)
    z = rng.normal(size=3000)
    for k in range(1, len(z)):
        z[k] = memory * z[k - 1] + np.sqrt(1 - memory**2) * z[k]
    run, alone = slice(1500, 1510), np.arange(100, 1300, 60)
    z[run] += 9
    z[alone] += 12 * rng.choice([-1, 1], len(alone))
    columns = {"a": rng.random(3000)}
    found = Audit.from_residuals(z, np.zeros(3000), 1.0).by_neighbours(columns, [1.0])
    assert found.is_label_issue[alone].mean() > 0.9
    assert found.is_label_issue[run].mean() == pytest.approx(0.0 if memory else 1.0, abs=0.2)
    blocks = np.arange(3000) // 100
    in_blocks = Audit.from_residuals(z, np.zeros(3000), 1.0).by_neighbours(columns, [1.0], blocks)
    assert in_blocks.is_label_issue[run].mean() > 0.8


def test_the_chance_of_an_agreement_is_binomial():
    size, count = np.meshgrid(np.arange(0, 30), np.arange(0, 30))
    for share in (0.0, 1e-5, 0.02, 0.5, 0.999):
        found = _at_least(count.ravel(), size.ravel(), np.full(900, share))
        np.testing.assert_allclose(
            found, binom.sf(count.ravel() - 1, size.ravel(), share), rtol=1e-9, atol=1e-300
        )


def test_judge_compares_with_neighbours_by_the_importances_of_the_model():
    rng = np.random.default_rng(6)
    X = rng.random((600, 2))
    y = X[:, 0] + 0.05 * rng.normal(size=600)
    model = AutoRegressor(n_members=1, random_state=0, n_jobs=1).fit(X, y)
    missed = X[:, 0] > 0.985  # the model has not seen what happens there
    y[missed] += 3
    judged = judge(model, X, y, check_rows=False)
    alone = model.audit(X, y)
    assert alone.is_label_issue[missed].all()
    assert judged.is_label_issue[missed].mean() < 0.4  # those at the edge have other neighbours
