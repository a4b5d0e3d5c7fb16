"""Ratios are paired by split, weigh every data set alike, and do not depend on units."""

import math

import numpy as np
import pytest

from levelhead.study import Row, ratios, ratios_by_kind


def row(dataset: str, method: str, seed: int, rmse: float, wrong: float = 0.1) -> Row:
    return Row(dataset, wrong, "r", method, seed, rmse, rmse**2, 0, 0, 0, 0, None, 1.0)


def test_mean_and_error_by_hand():
    rows = [
        *(row("a", "GCP", s, v) for s, v in ((1, 1.0), (2, 3.0))),
        *(row("a", "Beta", s, v) for s, v in ((1, 2.0), (2, 12.0))),  # 2 and 4 times
        *(row("b", "GCP", s, v) for s, v in ((1, 100.0), (2, 300.0), (3, 500.0))),
        *(row("b", "Beta", s, v) for s, v in ((1, 100.0), (2, 300.0), (3, 500.0))),
    ]
    found = ratios(rows, "rmse", "GCP")
    beta = found[0.1, "Beta"]
    assert found[0.1, "GCP"][:3] == (1, 1, 1)
    log = math.log(math.sqrt(8)) / 2  # the mean of ln √8 and 0
    error = math.log(2) / 2 / 2  # of ln 2 and ln 4 it is ln(2)/2; b has none; two data sets
    np.testing.assert_allclose(beta[:3], np.exp([log, log - error, log + error]))
    assert (beta.n_datasets, beta.n_splits) == (2, 5)
    np.testing.assert_allclose(ratios(rows, "auc", "GCP")[0.1, "Beta"].mean, math.exp(2 * log))


def test_only_common_splits_and_data_sets_count():
    rows = [row("a", m, s, 1.0 + s) for m in ("GCP", "Beta") for s in (1, 2)]
    alone = [row("a", "Beta", 3, 1e6), row("b", "GCP", 1, 1.0), row("b", "GCP", 2, 2.0)]
    found = ratios([*rows, *alone], "rmse", "GCP")
    assert found[0.1, "Beta"] == (1, 1, 1, 1, 2, True)


def test_bold_is_what_no_other_method_beats():
    rng = np.random.default_rng(0)
    values = {"GCP": 1.0, "Beta": 1.01, "Gaussian": 3.0}
    rows = [
        row(dataset, method, seed, unit * value * math.exp(0.1 * rng.normal()))
        for dataset, unit in (("a", 1.0), ("b", 1e3))
        for method, value in values.items()
        for seed in range(20)
    ]
    found = ratios(rows, "rmse", "GCP")
    assert {method: ratio.bold for (_, method), ratio in found.items()} == {
        "GCP": True,
        "Beta": True,
        "Gaussian": False,
    }


def test_without_the_reference():
    with pytest.raises(ValueError, match="no results of 'GCP'"):
        ratios([row("a", "Beta", 1, 1.0)], "rmse", "GCP")


def test_figure_has_a_panel_for_each_measure_and_kind():
    rows = [
        row(dataset, method, seed, value, wrong)
        for dataset in "ab"
        for wrong in (0.0, 0.2)
        for method, value in (("GCP", 2.0), ("Huber", 2.0 + 10 * wrong))
        for seed in (1, 2)
    ]
    figure = ratios_by_kind({"replaced": rows, "swapped": rows}, "GCP")
    assert [axes.get_title() for axes in figure.axes] == [
        "RMSE, replaced",
        "RMSE, swapped",
        "AUC, replaced",
        "AUC, swapped",
    ]
    _, huber = figure.axes[2].containers
    np.testing.assert_allclose(huber[0].get_xydata(), [[0, 1], [20, 4]])
