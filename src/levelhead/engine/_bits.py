"""Reinterpretation of the 32 bits of a float as an integer and back."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from levelhead.engine._jit import JIT

if not JIT:

    def as_int(x):
        """The bits of a float32 as an int32."""
        return np.float32(x).view(np.int32)

    def as_float(x):
        """The bits of an int32 as a float32."""
        return np.int32(x).view(np.float32)

else:

    @intrinsic
    def as_int(typing_context, x):
        """The bits of a float32 as an int32."""

        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], ir.IntType(32))

        return types.int32(types.float32), generate

    @intrinsic
    def as_float(typing_context, x):
        """The bits of an int32 as a float32."""

        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], ir.FloatType())

        return types.float32(types.int32), generate
