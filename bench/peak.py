"""The fastest rate at which one thread can multiply and add, measured."""

import time

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from levelhead.engine import _simd

_CHAINS = 16  # more than latency × throughput of any processor, fewer than its registers


def _generate(context, builder, signature, arguments):
    factor = _simd._spread(builder, arguments[1])
    start = [
        _simd._spread(builder, builder.fmul(arguments[1], ir.Constant(ir.FloatType(), k)))
        for k in range(_CHAINS)
    ]
    body = lambda k, sums: [_simd._fma(builder, factor, factor, total) for total in sums]
    sums = _simd._sum_over_k(builder, arguments[0], start, body)
    total = sums[0]
    for other in sums[1:]:
        total = builder.fadd(total, other)
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


@intrinsic
def _multiply_add(typing_context, n, x):
    return types.float32(types.int64, types.float32), _generate


@njit(nogil=True)
def _run(n, x):
    return _multiply_add(n, x)


def peak_gflops(seconds: float = 1.0) -> float:
    """Best of many short runs, in 10⁹ multiplications and additions a second."""
    n = 200_000
    _run(1, np.float32(1e-9))
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        _run(n, np.float32(1e-9))
        best = min(best, time.perf_counter() - began)
    return 2 * n * _CHAINS * _simd.LANES / best / 1e9


if __name__ == "__main__":
    print(f"{peak_gflops():.1f} GFlop/s")
