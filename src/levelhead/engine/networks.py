"""The forward and backward pass of a block of rows, and the outputs of trained networks."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.engine import _random
from levelhead.engine._instructions import fma
from levelhead.engine._jit import inline, kernel, leaf, part
from levelhead.engine._layout import ACT, LD_IN, LD_OUT, N_IN, B, Buffers, Net, W, layout
from levelhead.engine._math import sigmoid, tanh
from levelhead.engine._simd import BLOCK, LANES, lane_sum, mm, mm_nt, room
from levelhead.engine._types import Float32
from levelhead.engine.descriptions import Network

F = np.float32
_ZERO, _ONE = F(0), F(1)
_U16 = np.uint32(16)
RELU, TANH, SILU = range(3)
_LEAST_GRAIN = 1024  # rows of a task
_SMALL_WORK = 2**27  # multiplications, a few milliseconds: threads would not save any time


@leaf
def _activate(activation: int, a: Float32, slope: Float32, start: int, n: int) -> None:
    # An unsigned index cannot count from the end of an array, and without that case the loops become vectors.
    if activation == RELU:
        for i in range(n):
            j = np.uint64(start + i)
            z = a[j]
            slope[j] = _ONE if z > _ZERO else _ZERO
            a[j] = _ZERO if z < _ZERO else z
    elif activation == TANH:
        for i in range(n):
            j = np.uint64(start + i)
            t = tanh(a[j])
            a[j] = t
            slope[j] = fma(-t, t, _ONE)
    else:
        for i in range(n):
            j = np.uint64(start + i)
            z = a[j]
            s = sigmoid(z)
            a[j] = z * s
            slope[j] = fma(z * s, _ONE - s, s)


@inline
def _hash(i: int, low: np.uint32, high: np.uint32) -> np.uint32:
    """32 random bits from a counter and 64 bits of key (the constants are those of Wellons' lowbias32)."""
    x = np.uint32(np.uint32(i) ^ low)
    x = np.uint32(np.uint32(x ^ np.uint32(x >> _U16)) * np.uint32(0x7FEB352D))
    x = np.uint32(x + high)
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ np.uint32(x >> _U16))


@leaf
def _drop(
    a: Float32, slope: Float32, start: int, n: int, key: np.uint64, threshold: np.uint32, scale: F
) -> None:
    """Leave out entries at random: the two 16-bit halves of hash i serve entries i and i + n/2."""
    low, high = np.uint32(key & np.uint64(0xFFFFFFFF)), np.uint32(key >> np.uint64(32))
    half = n // 2
    for i in range(half):
        bits = _hash(i, low, high)
        j, k = np.uint64(start + i), np.uint64(start + half + i)
        first = scale if np.uint32(bits & np.uint32(0xFFFF)) >= threshold else _ZERO
        second = scale if np.uint32(bits >> _U16) >= threshold else _ZERO
        a[j] *= first
        slope[j] *= first
        a[k] *= second
        slope[k] *= second


@leaf
def _times(a: Float32, a0: int, b: Float32, b0: int, n: int) -> None:
    for i in range(n):
        a[np.uint64(a0 + i)] *= b[np.uint64(b0 + i)]


@part
def forward_block(
    net: Net, w: Float32, n: int, work: Buffers, threshold: np.uint32, scale: F, key: np.uint64
) -> None:
    """Outputs of the n rows in work.acts; output q of row i is written to work.out[q·BLOCK + i].

    An entry is dropped if its 16 random bits are below the threshold; 0 means no dropout.
    """
    table, acts, slopes = net.table, work.acts, work.slopes
    last = len(table) - 1
    for trunk in range(net.n_trunks):
        w0 = trunk * net.trunk_size
        source = np.int64(0)
        for layer in range(last):
            ld_in, ld, n_in = table[layer, LD_IN], table[layer, LD_OUT], table[layer, N_IN]
            W0, bias0 = w0 + table[layer, W], w0 + table[layer, B]
            here = trunk * work.stride + table[layer, ACT] * work.rows
            mm(acts, here, ld, w, bias0, 0, _ONE, acts, source, ld_in, 1, w, W0, ld, n, ld, n_in)
            _activate(net.activation, acts, slopes, here, n * ld)
            if threshold > 0:
                place = np.uint64(trunk * last + layer)
                _drop(acts, slopes, here, n * ld, _random.at(key, place), threshold, scale)
            source = here
        ld, out0 = table[last, LD_IN], trunk * net.per_trunk * BLOCK
        W0, bias0 = w0 + table[last, W], w0 + table[last, B]
        mm_nt(work.out, out0, BLOCK, w, bias0, 1, _ONE, w, W0, ld, acts, source, ld, net.per_trunk, n, ld)


@inline
def whole_vectors(n: int) -> int:
    """`padded`, for kernels."""
    return (n + LANES - 1) // LANES * LANES


@part
def _output_backward(
    net: Net, w: Float32, n: int, work: Buffers, trunk: int, g: Float32, g0: int, decay: F
) -> None:
    """Gradient of an output layer, and of the activations that it reads, in the first half of work.delta."""
    grad, last = work.grad, len(net.table) - 1
    ld, w0, out0 = net.table[last, LD_IN], trunk * net.trunk_size, trunk * net.per_trunk * BLOCK
    W0 = w0 + net.table[last, W]
    source = trunk * work.stride + net.table[last - 1, ACT] * work.rows if last > 0 else 0
    mm(g, g0 + W0, ld, w, W0, ld, decay, grad, out0, BLOCK, 1, work.acts, source, ld, net.per_trunk, ld, n)
    n_full = whole_vectors(n)  # beyond n the gradients are 0
    for q in range(net.per_trunk):
        lane_sum(g, g0 + w0 + net.table[last, B] + q, grad, out0 + q * BLOCK, n_full)
    if last > 0:
        mm(work.delta, 0, ld, w, W0, 0, _ZERO, grad, out0, 1, BLOCK, w, W0, ld, n, ld, net.per_trunk)


@part
def backward_block(net: Net, w: Float32, n: int, work: Buffers, g: Float32, g0: int, decay: F) -> None:
    """Gradient of the weights from work.grad, plus decay·W for weight matrices, written to g[g0:]."""
    table, delta, slopes = net.table, work.delta, work.slopes
    for trunk in range(net.n_trunks):
        _output_backward(net, w, n, work, trunk, g, g0, decay)
        w0 = trunk * net.trunk_size
        now: Any
        other: Any
        now, other = np.int64(0), work.rows * net.width
        for layer in range(len(table) - 2, -1, -1):
            ld_in, ld, n_in = table[layer, LD_IN], table[layer, LD_OUT], table[layer, N_IN]
            W0, bias0 = w0 + table[layer, W], w0 + table[layer, B]
            here = trunk * work.stride + table[layer, ACT] * work.rows
            _times(delta, now, slopes, here, n * ld)
            source = trunk * work.stride + table[layer - 1, ACT] * work.rows if layer > 0 else 0
            mm(g, g0 + W0, ld, w, W0, ld, decay, work.acts, source, 1, ld_in, delta, now, ld, n_in, ld, n)
            mm(g, g0 + bias0, ld, w, bias0, 0, _ZERO, work.one, 0, 0, 0, delta, now, ld, 1, ld, n)
            if layer > 0:
                mm_nt(delta, other, ld_in, w, w0, 0, _ZERO, delta, now, ld, w, W0, ld, n, n_in, ld)
                now, other = other, now


@kernel
def _forward_rows(
    net: Net, weights: Float32, X: Float32, first: int, last: int, outputs: Float32, work: Buffers
) -> None:
    ld = net.table[0, LD_IN]
    for start in range(first, last, work.rows):
        n = min(work.rows, last - start)
        for i in range(n):
            for k in range(X.shape[1]):
                work.acts[i * ld + k] = X[start + i, k]
        for network in range(len(weights)):
            forward_block(net, weights[network], n, work, np.uint32(0), _ONE, np.uint64(0))
            for i in range(n):
                for q in range(outputs.shape[2]):
                    outputs[network, start + i, q] = work.out[q * BLOCK + i]


class Ensemble:
    """Networks of one architecture, laid out for the kernels once, for many predictions.

    Parameters
    ----------
    networks : sequence of Network
        The networks. Changes of their weights after this do not count.

    Raises
    ------
    ValueError
        If there are no networks, or if they differ in architecture.
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        if not networks:
            raise ValueError("no networks given; forward needs at least one")
        self.architecture = networks[0].architecture
        if any(network.architecture != self.architecture for network in networks):
            raise ValueError("the networks differ in architecture; call forward once for each architecture")
        self._plan = layout(self.architecture)
        (arena,) = room(len(networks) * self._plan.size)
        self._weights = arena.reshape(len(networks), self._plan.size)
        for row, network in zip(self._weights, networks, strict=True):
            row[self._plan.place] = network.weights

    def forward(self, X: Float32, *, n_threads: int | None = None) -> Float32:
        """Raw outputs, without dropout.

        X is read in blocks, so that memory beyond the result does not grow with it. The result does not depend on the
        number of threads.

        Parameters
        ----------
        X : ndarray of float32, of shape (n_samples, n_features)
            Inputs.
        n_threads : int, default=None
            Number of threads; all cores by default.

        Returns
        -------
        ndarray of float32, of shape (n_networks, n_samples, n_outputs)
            The outputs, before any link.

        Raises
        ------
        ValueError
            If X has another number of features.
        """
        X, n_threads = as_matrix(X, self.architecture.n_features), cores(n_threads)
        plan, n_networks = self._plan, len(self._weights)
        outputs = np.empty((n_networks, len(X), self.architecture.n_outputs), dtype=np.float32)

        def run(networks: slice, start: int, end: int) -> None:
            rows = max(1, min(end - start, BLOCK))
            with np.errstate(all="ignore"):
                _forward_rows(
                    plan.net, self._weights[networks], X, start, end, outputs[networks], plan.buffers(rows)
                )

        if n_threads == 1 or self._weights.size * len(X) < _SMALL_WORK:
            run(slice(None), 0, len(X))
            return outputs
        grain = max(_LEAST_GRAIN, min(2**15, -(-len(X) // (4 * n_threads) // BLOCK) * BLOCK))
        tasks = [(k, start) for k in range(n_networks) for start in range(0, len(X), grain)]
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda at: run(slice(at[0], at[0] + 1), at[1], min(at[1] + grain, len(X))), tasks))
        return outputs


def forward(networks: Sequence[Network], X: Float32, *, n_threads: int | None = None) -> Float32:
    """Raw outputs of networks of one architecture, without dropout; see `Ensemble.forward`.

    Parameters
    ----------
    networks : sequence of Network
        The networks.
    X : ndarray of float32, of shape (n_samples, n_features)
        Inputs.
    n_threads : int, default=None
        Number of threads; all cores by default.

    Returns
    -------
    ndarray of float32, of shape (n_networks, n_samples, n_outputs)
        The outputs, before any link.

    Raises
    ------
    ValueError
        If there are no networks, if they differ in architecture, or if X has another number of features.
    """
    return Ensemble(list(networks)).forward(X, n_threads=n_threads)


def cores(n_threads: int | None) -> int:
    """Number of threads to use.

    Parameters
    ----------
    n_threads : int or None
        The number wanted; None for as many as there are cores for this process.

    Returns
    -------
    int
        The number of threads, at least 1.

    Raises
    ------
    ValueError
        If `n_threads` is below 1.
    """
    if n_threads is not None:
        if n_threads < 1:
            raise ValueError(f"n_threads is {n_threads}; it must be 1 or more, or None for all cores")
        return n_threads
    available = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(available(0)) if available else os.cpu_count() or 1


class _Writable:
    def __init__(self, array: NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def one_type(array: np.ndarray) -> np.ndarray:
    """Return the same memory as a writable array: kernels only read it, but are compiled again for another type.

    Parameters
    ----------
    array : ndarray
        Any array.

    Returns
    -------
    ndarray
        The array, or a writable view of its memory.
    """
    return array if array.flags.writeable else np.asarray(_Writable(array))


def as_matrix(X: ArrayLike, n_features: int) -> Float32:
    """Return X as the kernels read it: float32 in C order, copied only if necessary.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.
    n_features : int
        Number of features that the architecture needs.

    Returns
    -------
    ndarray of float32, of shape (n_samples, n_features)
        The inputs.

    Raises
    ------
    ValueError
        If X has another shape.
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"X has shape {X.shape}; this architecture needs (rows, {n_features})")
    return one_type(X)
