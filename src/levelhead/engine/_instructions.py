"""Single instructions that Python cannot express: bits of floats and integers, and the fused multiply-add."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from levelhead.engine._jit import JIT

_intrinsic: Any = intrinsic


def _cast(to: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], to)

    return generate


def _to_int(typing_context: Any, x: Any) -> Any:
    return types.int32(types.float32), _cast(ir.IntType(32))


def _to_float(typing_context: Any, x: Any) -> Any:
    return types.float32(types.int32), _cast(ir.FloatType())


def _to_int64(typing_context: Any, x: Any) -> Any:
    return types.int64(types.float64), _cast(ir.IntType(64))


def _to_float64(typing_context: Any, x: Any) -> Any:
    return types.float64(types.int64), _cast(ir.DoubleType())


def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


def _count_zeros(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint32(types.uint32), generate


def _plain_count(x: Any) -> Any:
    return np.uint32((int(x) & -int(x)).bit_length() - 1)


def _plain_fma(a: Any, b: Any, c: Any) -> Any:
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


as_int: Callable[[np.float32], np.int32] = (
    _intrinsic(_to_int) if JIT else lambda x: np.float32(x).view(np.int32)
)
as_float: Callable[[np.int32], np.float32] = (
    _intrinsic(_to_float) if JIT else lambda x: np.int32(x).view(np.float32)
)
as_int64: Callable[[float], np.int64] = (
    _intrinsic(_to_int64) if JIT else lambda x: np.float64(x).view(np.int64)
)
as_float64: Callable[[np.int64], float] = (
    _intrinsic(_to_float64) if JIT else lambda x: np.int64(x).view(np.float64)
)

# a·b + c, rounded once, on every processor.
fma: Callable[[np.float32, np.float32, np.float32], np.float32] = _intrinsic(_fused) if JIT else _plain_fma

# Position of the lowest bit that is set; one must be.
trailing_zeros: Callable[[np.uint32], np.uint32] = _intrinsic(_count_zeros) if JIT else _plain_count
