"""Experiments beyond the paper, with its estimators."""

from collections import Counter

from levelhead.contamination import Cluster, Replaced, Swapped
from levelhead.study.paper.beyond import beyond_specs
from levelhead.study.paper.table1 import SEEDS, recipe


def test_more_wrong_labels_and_other_kinds():
    specs = list(beyond_specs(["yacht"], ["GCP", "Gaussian"], SEEDS[:3]))
    assert len(set(specs)) == len(specs) == 3 * 2 * 12
    assert Counter((s.kind, s.contamination) for s in specs) == {
        (kind, wrong): 6
        for kind, contamination in (
            (Replaced(), (0.3, 0.4)),
            (Cluster(), (0.05, 0.1, 0.2, 0.3, 0.4)),
            (Swapped(), (0.05, 0.1, 0.2, 0.3, 0.4)),
        )
        for wrong in contamination
    }
    assert {s.estimator.max_iter for s in specs} == {recipe("GCP", "yacht").max_iter}
