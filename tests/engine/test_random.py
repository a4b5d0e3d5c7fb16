import math

import numpy as np
import pytest
from scipy import stats

from levelhead.engine import _random
from levelhead.engine.networks import _drop


def test_streams_differ_in_every_part_of_their_name():
    names = [(s, n, p) for s in (0, 1, 2**63, -1) for n in (0, 1, 7) for p in (1, 2)]
    assert len({int(_random.stream(*name)) for name in names}) == len(names)


def test_a_stream_is_a_chain_of_hashes():
    key = np.uint64(0)
    for part in (7, 2**64 - 1, 3):
        key = _random.at_array(key, np.array([part], dtype=np.uint64))[0]
    assert _random.stream(7, -1, 3) == key


def test_scalar_and_array_generators_agree():
    key = _random.stream(3, 1, 4)
    counters = np.array([0, 1, 2, 2**40, 2**64 - 1], dtype=np.uint64)
    with np.errstate(all="ignore"):
        one_by_one = [int(_random.at(key, counter)) for counter in counters]
    assert one_by_one == _random.at_array(key, counters).tolist()


def test_splitmix64_reference_values():
    # The first outputs of splitmix64 from the state 0, as published with the generator.
    first = _random.at_array(np.uint64(0), np.arange(3, dtype=np.uint64))
    assert [hex(x) for x in first] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_uniforms_are_uniform_and_uncorrelated():
    u = _random.uniforms(_random.stream(1, 2, 3), 40_000)
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.02
    assert 0 < u.min() < u.max() < 1


def test_normals_are_normal():
    assert stats.kstest(_random.normals(_random.stream(1, 2, 3), 20_000), "norm").pvalue > 1e-3


def test_neighbouring_streams_are_independent():
    a, b = (_random.uniforms(_random.stream(0, k, 1), 20_000) for k in (0, 1))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.03


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_order_is_equally_likely(n):
    rows, mixed = np.arange(n) + 10, np.empty(n, dtype=np.int64)
    counts: dict[tuple, int] = {}
    draws = 600 * n
    with np.errstate(all="ignore"):
        for k in range(draws):
            _random.shuffle(rows, mixed, _random.stream(0, 0, k))
            assert sorted(mixed) == rows.tolist()
            counts[tuple(mixed.tolist())] = counts.get(tuple(mixed.tolist()), 0) + 1
    assert len(counts) == math.factorial(n)
    assert n == 1 or stats.chisquare(list(counts.values())).pvalue > 1e-4


def _mask(n, rate, key):
    a, slope = np.ones(n, dtype=np.float32), np.ones(n, dtype=np.float32)
    with np.errstate(all="ignore"):
        _drop(a, slope, 0, n, np.uint64(key), np.uint32(round(rate * 65536)), np.float32(1))
    np.testing.assert_array_equal(a, slope)
    return a == 0


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
def test_dropout_leaves_out_the_right_share_independently(rate):
    masks = np.array([_mask(512, rate, int(_random.stream(5, 0, k))) for k in range(60)])
    n = masks.size
    assert abs(masks.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / n) + 1e-5
    # Neither neighbours, nor the two halves of one hash, nor steps that follow one another go together.
    for a, b in [
        (masks[:, 1:], masks[:, :-1]),
        (masks[:, :256], masks[:, 256:]),
        (masks[1:], masks[:-1]),
    ]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / np.sqrt(a.size)
    by_unit = masks.sum(axis=0)
    spread = np.sum((by_unit - by_unit.mean()) ** 2) / (60 * rate * (1 - rate))
    assert 1e-4 < stats.chi2.cdf(spread, 511) < 1 - 1e-4
