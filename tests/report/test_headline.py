"""The first lines of a page."""

from dataclasses import replace

import numpy as np

from levelhead.audits import Audit
from levelhead.report import headline


def test_labels_that_are_likely_but_not_certainly_wrong_are_mentioned():
    y = np.random.default_rng(0).normal(size=400)
    found = Audit.from_residuals(y, np.zeros(400), 1.0)
    assert "more likely" not in headline.summary(found)
    p = found.p_outlier.copy()
    p[[7, 9]] = 0.8, 0.7
    doubtful = replace(found, p_outlier=p)
    assert (
        "2 labels are more likely wrong than right; a false-alarm rate of 0.26 flags them."
        in headline.summary(doubtful)
    )
