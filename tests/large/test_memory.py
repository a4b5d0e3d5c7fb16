"""Sizes in words, and how many rows are held at a time."""

import pytest

from levelhead.large.memory import allowed_memory, free_memory, plan, size_in_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("3GB", 3e9), ("500 mb", 5e8), ("1.5G", 1.5e9), ("2000", 2000), ("4GiB", 4e9)]
)
def test_sizes(text, size):
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "many", "-3GB", "0", "3 XB"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="not a size"):
        size_in_bytes(text)


def test_half_of_the_free_memory_is_used():
    assert free_memory() > 1e6
    assert allowed_memory("1GB") == 1e9
    assert 0 < allowed_memory(None) < 1e15


def test_a_small_memory_means_fewer_rows(planted):
    assert plan(planted.parquet, 1e12) == (50_000, 50_000)
    little = plan(planted.parquet, 1e7)
    assert 2000 <= little.sample_rows < 50_000
    assert 500 <= little.piece_rows < 50_000
