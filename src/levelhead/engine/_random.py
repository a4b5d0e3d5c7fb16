"""Counter-based random numbers: every number is a hash of a key and a counter, so that order does not matter.

The streams of a network have keys made of (seed, network, purpose). `at(key, counter)` is the splitmix64 generator at
any place of its sequence. The same arithmetic works on numpy arrays, in kernels, and in plain Python.
"""

import numpy as np
from numpy.typing import NDArray

from levelhead.engine._jit import inline, leaf
from levelhead.engine._types import Rows
from levelhead.theory.elementary import cos_turns, log

INIT, SHUFFLE, DROPOUT, POSTERIOR, DRAW = range(1, 6)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_ONE = np.uint64(1)


@inline
def at(key: np.uint64, counter: np.uint64) -> np.uint64:
    """64 random bits from two uint64."""
    x = key + (counter + _ONE) * _GOLDEN
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return x ^ (x >> _31)


def stream(seed: int, network: int, purpose: int) -> np.uint64:
    """The key of one stream of one network."""
    key = 0
    for part in (seed, network, purpose):  # `at` in whole numbers
        x = (key + (part + 1) * int(_GOLDEN)) % 2**64
        x = (x ^ (x >> 30)) * int(_FIRST) % 2**64
        x = (x ^ (x >> 27)) * int(_SECOND) % 2**64
        key = x ^ (x >> 31)
    return np.uint64(key)


def at_array(key: np.uint64, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`at` for an array of counters."""
    x: NDArray[np.uint64] = np.asarray(key, dtype=np.uint64) + (counters + _ONE) * _GOLDEN
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return x ^ (x >> _31)


def uniforms(key: np.uint64, n: int) -> NDArray[np.float64]:
    """Draw n uniform numbers in (0, 1), in steps of 2⁻⁵³."""
    bits = at_array(key, np.arange(n, dtype=np.uint64))
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normals(key: np.uint64, n: int) -> NDArray[np.float64]:
    """Draw n standard normal numbers, by Box and Muller."""
    u = uniforms(key, 2 * n)
    return np.sqrt(-2 * log(u[:n])) * cos_turns(u[n:])


@leaf
def shuffle(rows: Rows, mixed: Rows, key: np.uint64) -> None:
    """The rows in uniformly random order (Fisher and Yates), written to mixed."""
    n = len(rows)
    for i in range(n):
        mixed[i] = rows[i]
    for i in range(n - 1, 0, -1):
        high = at(key, np.uint64(i)) >> _32
        j = np.int64((high * np.uint64(i + 1)) >> _32)
        held = mixed[i]
        mixed[i] = mixed[j]
        mixed[j] = held
