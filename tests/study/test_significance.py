"""Tests keep their level, alone and in a column of many."""

import numpy as np
import pytest

from levelhead.study.significance import best_methods, holm, p_value


def test_the_level_of_the_test_is_five_percent():
    rng = np.random.default_rng(1)
    found = [p_value(*(dict(enumerate(rng.normal(size=20))) for _ in range(2))) for _ in range(2000)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.02)


def test_holm_keeps_the_error_of_a_column():
    """Ten equal methods: without correction most columns lose a method by chance, with it one in twenty or fewer."""
    rng = np.random.default_rng(2)
    columns = [{f"m{k}": dict(enumerate(rng.normal(size=20))) for k in range(10)} for _ in range(100)]
    wrong = {
        rule: np.mean([len(best_methods(c, bold=rule)) < 10 for c in columns]) for rule in ("holm", "paper")
    }
    assert wrong["holm"] < 0.12
    assert wrong["paper"] > 0.4
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    with pytest.raises(ValueError, match="choose 'holm'"):
        best_methods(columns[0], bold="bonferroni")


def test_corner_cases_of_the_test():
    same = {1: 2.0, 2: 3.0}
    assert p_value(same, same) == 1
    assert p_value({1: 1.0, 2: 2.0}, same) == 0  # the same difference everywhere
    assert p_value({1: 0.0}, {1: 1.0}) == 1  # one split proves nothing
    assert p_value({1: 0.0, 2: 0.0}, {3: 1.0, 4: 1.0}) == 1  # no split in common
