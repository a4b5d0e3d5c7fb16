"""Which labels are flagged."""

import numpy as np

from levelhead.audits.flags import flagged, most_suspect, not_flagged


def test_most_suspect_is_the_largest_set_within_the_level():
    p = np.array([0.99, 0.2, 0.9, 0.0, 0.8])
    assert most_suspect(p, 0.05).tolist() == [True, False, False, False, False]
    assert most_suspect(p, 0.1).tolist() == [True, False, True, False, False]
    assert most_suspect(p, 0.11).tolist() == [True, False, True, False, True]  # 0.103 on average
    assert most_suspect(p, 0.2).tolist() == [True, False, True, False, True]
    assert most_suspect(p, 0.3).tolist() == [True, False, True, False, True]  # 0.2 is more likely right
    assert not most_suspect(np.zeros(3), 0.05).any()


def test_codes_are_flagged_and_do_not_count_for_the_level():
    p = np.array([0.99, 0.2, 0.9, 0.0, 0.8])
    is_code = np.array([False, True, True, False, False])
    assert flagged(p, is_code, 0.05).tolist() == [True, True, True, False, False]
    assert is_code.tolist() == [False, True, True, False, False]  # as it was given


def test_what_is_not_flagged_is_flagged_at_the_rate_that_is_named():
    p = np.array([0.99, 0.2, 0.6, 0.0, 0.8, 1.0])
    is_code = np.array([False, False, False, False, False, True])
    rows, rate = not_flagged(p, is_code, flagged(p, is_code, 0.05))
    assert rows.tolist() == [4, 2]
    assert rate == 0.21  # 0.2033 on average
    assert flagged(p, is_code, rate).tolist() == [True, False, True, False, True, True]
    assert not not_flagged(p, is_code, flagged(p, is_code, rate)).rows.size
