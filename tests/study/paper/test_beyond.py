"""What the paper did not try, with its recipes."""

from collections import Counter

from levelhead.contamination import Cluster, Replaced, Swapped
from levelhead.study.paper.beyond import beyond_specs
from levelhead.study.paper.table1 import SEEDS, recipe


def test_larger_shares_and_other_kinds():
    specs = list(beyond_specs(["yacht"], ["GCP", "Gaussian"], SEEDS[:3]))
    assert len(set(specs)) == len(specs) == 3 * 2 * 12
    assert Counter((s.contamination, s.share) for s in specs) == {
        (kind, share): 6
        for kind, shares in (
            (Replaced(), (30, 40)),
            (Cluster(), (5, 10, 20, 30, 40)),
            (Swapped(), (5, 10, 20, 30, 40)),
        )
        for share in shares
    }
    assert {s.estimator.max_iter for s in specs} == {recipe("GCP", "yacht").max_iter}
