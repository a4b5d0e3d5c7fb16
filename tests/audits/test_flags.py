"""Which labels are flagged."""

import numpy as np

from levelhead.audits.flags import flagged, most_suspect


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
