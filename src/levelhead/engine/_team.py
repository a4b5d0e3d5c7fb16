"""Several threads on one network, synchronised by a barrier twice per step.

A minibatch of more than one block of rows is distributed block by block. The partition into blocks and the order in
which their gradients are added do not depend on the number of threads, and so neither does the result. Waiting threads
spin, since a step takes less time than waking a sleeping thread.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from levelhead.engine._jit import JIT

_INT = ir.IntType(64)
_SPINS = 4000  # then the processor is offered to others: there may be fewer cores than threads


class Team(NamedTuple):
    """The place of a thread among those that train one network."""

    rank: int
    size: int
    gate: np.ndarray  # arrivals and rounds of the barrier
    sums: np.ndarray  # losses of the blocks of a minibatch


def team(size: int, n_blocks: int) -> list[Team]:
    """The members of a team of threads for minibatches of n_blocks blocks."""
    gate, sums = np.zeros(16, dtype=np.int64), np.zeros(max(n_blocks, 1))
    return [Team(rank, size, gate, sums) for rank in range(size)]


def _write_barrier(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    gate, size = arguments
    data = context.make_array(signature.args[0])(context, builder, gate).data
    arrived, rounds = data, builder.gep(data, [ir.Constant(_INT, 8)])  # on two cache lines
    with builder.if_then(builder.icmp_signed(">", size, ir.Constant(_INT, 1))):
        now = builder.load_atomic(rounds, "acquire", 8)
        before = builder.atomic_rmw("add", arrived, ir.Constant(_INT, 1), "acq_rel")
        last = builder.icmp_signed("==", before, builder.sub(size, ir.Constant(_INT, 1)))
        with builder.if_else(last) as (open_gate, wait):
            with open_gate:
                builder.store_atomic(ir.Constant(_INT, 0), arrived, "release", 8)
                builder.store_atomic(builder.add(now, ir.Constant(_INT, 1)), rounds, "release", 8)
            with wait:
                _spin(builder, rounds, now)
    return context.get_dummy_value()


def _spin(builder: Any, rounds: Any, now: Any) -> None:
    test, idle = builder.append_basic_block("spin"), builder.append_basic_block("idle")
    end = builder.append_basic_block("open")
    count = cgutils.alloca_once_value(builder, ir.Constant(_INT, 0))
    builder.store(ir.Constant(_INT, 0), count)
    builder.branch(test)
    builder.position_at_end(test)
    closed = builder.icmp_signed("==", builder.load_atomic(rounds, "acquire", 8), now)
    builder.cbranch(closed, idle, end)
    builder.position_at_end(idle)
    spins = builder.add(builder.load(count), ir.Constant(_INT, 1))
    builder.store(spins, count)
    if os.name == "posix":
        with builder.if_then(builder.icmp_signed(">", spins, ir.Constant(_INT, _SPINS)), likely=False):
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
    builder.branch(test)
    builder.position_at_end(end)


def _barrier(typing_context: Any, gate: Any, size: Any) -> Any:
    return types.void(types.int64[::1], types.int64), _write_barrier


# barrier(gate, size): waits until all `size` threads have reached it.
barrier: Any = intrinsic(_barrier) if JIT else lambda gate, size: None
