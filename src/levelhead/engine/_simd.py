"""The two matrix products that networks consist of, written in vector instructions.

A compiler guards every inner loop against overlapping arrays and treats its incomplete end separately, which costs more
than the fifty multiplications inside. Here rows are padded to whole vectors, and a block of results stays in registers
during the sum. So a minibatch of five rows and a product of two 256 × 256 matrices both run near the speed of the
processor. The sum over k always runs in the same order, and a sum along a row always in sixteen lanes that are added in
pairs. Results depend neither on the partition of a product into blocks nor on the width of the processor's vectors.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, registry
from numba.extending import intrinsic

from levelhead.engine._jit import JIT

BLOCK = 128  # rows that pass through a network together; also the grain of the sum over a minibatch
LANES = 16  # float32 numbers in a vector of 512 bits; two vectors each on processors with 256
_WIDE = JIT and "+avx512f" in registry.cpu_target.target_context.codegen().magic_tuple()[-1]
_ROWS = 6  # 6 × 4 sums, 4 vectors of B and one number of A fill the 32 registers
_COLUMNS = (4, 2, 1) if _WIDE else (1,)
_SQUARE = 4 if _WIDE else 2

_FLOAT, _INT = ir.FloatType(), ir.IntType(64)
_POINTER = _FLOAT.as_pointer()
_VECTOR = ir.VectorType(_FLOAT, LANES)


def padded(n: int) -> int:
    """The smallest multiple of LANES that is at least n."""
    return -(-n // LANES) * LANES


def n_blocks(n: int) -> int:
    """Number of blocks of n rows."""
    return -(-n // BLOCK)


def room(*sizes: int) -> list[np.ndarray]:
    """Zeroed float32 arrays, one behind the other, each starting on a cache line.

    Arrays that the system allocates one by one start at the same place of a page and evict each other from the cache.
    """
    starts = [0, *accumulate(map(padded, sizes))]
    arena = np.zeros(starts[-1] + LANES, dtype=np.float32)
    first = -(arena.ctypes.data // 4) % LANES
    return [arena[first + start : first + start + size] for start, size in zip(starts, sizes, strict=False)]


def _int(value: Any) -> Any:
    return ir.Constant(_INT, value)


def _at(builder: Any, pointer: Any, *terms: Any) -> Any:
    """Pointer + Σ terms, a term being an index or a pair of index and stride."""
    for term in terms:
        index = builder.mul(*term) if isinstance(term, tuple) else term
        pointer = builder.gep(pointer, [index])
    return pointer


def _load(builder: Any, pointer: Any) -> Any:
    return builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, builder.bitcast(pointer, _VECTOR.as_pointer()), align=4)


def _spread(builder: Any, number: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    instruction = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f32")
    return builder.call(instruction, [a, b, c])


def _total(builder: Any, vector: Any) -> Any:
    """The sum of the lanes: the upper half is added to the lower until one is left."""
    width = LANES
    while width > 1:
        width //= 2
        halves = [
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(k, k + width)))
            )
            for k in (0, width)
        ]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _sum_over_k(builder: Any, K: Any, start: Any, body: Any) -> Any:
    """The loop `for k in range(K)` whose sums stay in registers; body(k, sums) gives the new sums."""
    before = builder.block
    head = builder.append_basic_block("k")
    after = builder.append_basic_block("k.end")
    builder.cbranch(builder.icmp_signed(">", K, _int(0)), head, after)
    builder.position_at_end(head)
    k = builder.phi(_INT)
    sums = [builder.phi(_VECTOR) for _ in start]
    new = body(k, sums)
    following = builder.add(k, _int(1))
    k.add_incoming(_int(0), before)
    k.add_incoming(following, head)
    for phi, first, value in zip(sums, start, new, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(value, head)
    builder.cbranch(builder.icmp_signed("<", following, K), head, after)
    builder.position_at_end(after)
    results = []
    for first, value in zip(start, new, strict=True):
        result = builder.phi(_VECTOR)
        result.add_incoming(first, before)
        result.add_incoming(value, head)
        results.append(result)
    return results


def _blocks(builder: Any, M: Any, largest: Any, body: Any) -> None:
    """Cut range(M) into blocks of nearly equal size ≤ largest; body(first, size) has a fixed size."""
    place = cgutils.alloca_once_value(builder, _int(0))
    builder.store(_int(0), place)
    test, end = builder.append_basic_block("m"), builder.append_basic_block("m.end")
    builder.branch(test)
    builder.position_at_end(test)
    m = builder.load(place)
    left = builder.sub(M, m)
    start = builder.append_basic_block("m.block")
    builder.cbranch(builder.icmp_signed(">", left, _int(0)), start, end)
    builder.position_at_end(start)
    up: Any = lambda a, b: builder.udiv(builder.sub(builder.add(a, b), _int(1)), b)
    size = up(left, up(left, _int(largest)))
    builder.store(builder.add(m, size), place)
    cases = [builder.append_basic_block(f"m.{n}") for n in range(1, largest + 1)]
    switch = builder.switch(size, cases[-1])
    for n, case in enumerate(cases, 1):
        if n < largest:
            switch.add_case(_int(n), case)
        builder.position_at_end(case)
        body(m, n)
        builder.branch(test)
    builder.position_at_end(end)


def _tile(builder: Any, arguments: Any, factor: Any, m: Any, rows: Any, offsets: Any) -> None:
    """`rows` rows of C from row m on, in the columns at the given offsets."""
    C, ldc, start0, ldi, _, A, a_row, a_col, B, ldb, _, _, K = arguments
    row = [builder.add(m, _int(r)) for r in range(rows)]
    heads = [_at(builder, A, (r, a_row)) for r in row]
    start = [
        builder.fmul(factor, _load(builder, _at(builder, start0, (r, ldi), n))) for r in row for n in offsets
    ]

    def product(k: Any, sums: Any) -> Any:
        b = [_load(builder, _at(builder, B, (k, ldb), n)) for n in offsets]
        a = [_spread(builder, builder.load(_at(builder, head, (k, a_col)))) for head in heads]
        pairs = [(x, y) for x in a for y in b]
        return [_fma(builder, x, y, z) for (x, y), z in zip(pairs, sums, strict=True)]

    sums = iter(_sum_over_k(builder, K, start, product))
    for r in row:
        for n in offsets:
            _store(builder, next(sums), _at(builder, C, (r, ldc), n))


def _mm(builder: Any, arguments: Any) -> None:
    M, N = arguments[-3], arguments[-2]
    factor = _spread(builder, arguments[4])
    done = _int(0)
    for columns in _COLUMNS:
        step = columns * LANES
        count = builder.udiv(builder.sub(N, done), _int(step))
        with cgutils.for_range(builder, count) as panel:
            n0 = builder.add(done, builder.mul(panel.index, _int(step)))
            offsets = [builder.add(n0, _int(v * LANES)) for v in range(columns)]
            body = lambda m, rows, at=offsets: _tile(builder, arguments, factor, m, rows, at)
            _blocks(builder, M, _ROWS, body)
        done = builder.add(done, builder.mul(count, _int(step)))


def _tile_nt(builder: Any, arguments: Any, m: Any, n_rows: Any, n: Any, n_columns: Any) -> None:
    """A block of C = s·I + A·Bᵀ: sums over whole vectors, each added up at the end."""
    C, ldc, start0, i_row, s, A, lda, B, ldb, _, _, K = arguments
    left = [_at(builder, A, (builder.add(m, _int(r)), lda)) for r in range(n_rows)]
    right = [_at(builder, B, (builder.add(n, _int(c)), ldb)) for c in range(n_columns)]

    def product(k: Any, sums: Any) -> Any:
        place = builder.mul(k, _int(LANES))
        a = [_load(builder, _at(builder, pointer, place)) for pointer in left]
        b = [_load(builder, _at(builder, pointer, place)) for pointer in right]
        pairs = [(x, y) for x in a for y in b]
        return [_fma(builder, x, y, z) for (x, y), z in zip(pairs, sums, strict=True)]

    zeros = [ir.Constant(_VECTOR, None)] * (n_rows * n_columns)
    sums = iter(_sum_over_k(builder, builder.udiv(K, _int(LANES)), zeros, product))
    for r in range(n_rows):
        row = builder.add(m, _int(r))
        first = builder.fmul(s, builder.load(_at(builder, start0, (row, i_row))))
        for c in range(n_columns):
            value = builder.fadd(first, _total(builder, next(sums)))
            builder.store(value, _at(builder, C, (row, ldc), builder.add(n, _int(c))))


def _mm_nt(builder: Any, arguments: Any) -> None:
    M, N = arguments[-3], arguments[-2]

    def rows(m: Any, n_rows: Any) -> None:
        tile = lambda n, n_columns: _tile_nt(builder, arguments, m, n_rows, n, n_columns)
        _blocks(builder, N, _SQUARE, tile)

    _blocks(builder, M, _SQUARE, rows)


def _lane_sum(builder: Any, arguments: Any) -> None:
    total, array, K = arguments
    add = lambda k, sums: [builder.fadd(sums[0], _load(builder, _at(builder, array, (k, _int(LANES)))))]
    (lanes,) = _sum_over_k(builder, builder.udiv(K, _int(LANES)), [ir.Constant(_VECTOR, None)], add)
    builder.store(_total(builder, lanes), total)


def _compiled(name: Any, kinds: Any, write: Any) -> Any:
    """An intrinsic that calls the function `write` writes; kinds: p (array, offset), i (int), f (float)."""
    numba_types: dict[str, list[Any]] = {
        "p": [types.float32[::1], types.int64],
        "i": [types.int64],
        "f": [types.float32],
    }
    llvm_types = {"p": _POINTER, "i": _INT, "f": _FLOAT}

    def define(module: Any) -> Any:
        if name in module.globals:
            return module.globals[name]
        kind = ir.FunctionType(ir.VoidType(), [llvm_types[k] for k in kinds])
        function = ir.Function(module, kind, name)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        write(builder, list(function.args))
        builder.ret_void()
        return function

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        values, place = [], 0
        for kind in kinds:
            if kind == "p":
                array = context.make_array(signature.args[place])(context, builder, given[place])
                values.append(builder.gep(array.data, [given[place + 1]]))
            else:
                values.append(given[place])
            place += len(numba_types[kind])
        builder.call(define(builder.module), values)
        return context.get_dummy_value()

    return types.void(*(one for kind in kinds for one in numba_types[kind])), generate


def _view(array: Any, start: Any, shape: Any, strides: Any) -> Any:
    bytes_apart = tuple(4 * stride for stride in strides)
    return np.lib.stride_tricks.as_strided(array[start:], shape, bytes_apart)


def _plain_mm(
    c: Any,
    c0: Any,
    ldc: Any,
    i: Any,
    i0: Any,
    ldi: Any,
    s: Any,
    a: Any,
    a0: Any,
    a_row: Any,
    a_col: Any,
    b: Any,
    b0: Any,
    ldb: Any,
    M: Any,
    N: Any,
    K: Any,
) -> None:
    product = _view(a, a0, (M, K), (a_row, a_col)) @ _view(b, b0, (K, N), (ldb, 1))
    _view(c, c0, (M, N), (ldc, 1))[...] = s * _view(i, i0, (M, N), (ldi, 1)) + product


def _plain_mm_nt(
    c: Any,
    c0: Any,
    ldc: Any,
    i: Any,
    i0: Any,
    i_row: Any,
    s: Any,
    a: Any,
    a0: Any,
    lda: Any,
    b: Any,
    b0: Any,
    ldb: Any,
    M: Any,
    N: Any,
    K: Any,
) -> None:
    product = _view(a, a0, (M, K), (lda, 1)) @ _view(b, b0, (N, K), (ldb, 1)).T
    _view(c, c0, (M, N), (ldc, 1))[...] = s * _view(i, i0, (M, 1), (i_row, 1)) + product


def _plain_lane_sum(total: Any, total0: Any, array: Any, array0: Any, K: Any) -> None:
    total[total0] = array[array0 : array0 + K].sum()


_LANE_SUM = _compiled("levelhead_lane_sum", "ppi", _lane_sum)
_MM = _compiled("levelhead_mm", "pipifpiipiiii", _mm)
_MM_NT = _compiled("levelhead_mm_nt", "pipifpipiiii", _mm_nt)


def _vector_lane_sum(typing_context: Any, total: Any, total0: Any, array: Any, array0: Any, K: Any) -> Any:
    return _LANE_SUM


def _vector_mm(
    typing_context: Any,
    c: Any,
    c0: Any,
    ldc: Any,
    i: Any,
    i0: Any,
    ldi: Any,
    s: Any,
    a: Any,
    a0: Any,
    a_row: Any,
    a_col: Any,
    b: Any,
    b0: Any,
    ldb: Any,
    M: Any,
    N: Any,
    K: Any,
) -> Any:
    return _MM


def _vector_mm_nt(
    typing_context: Any,
    c: Any,
    c0: Any,
    ldc: Any,
    i: Any,
    i0: Any,
    i_row: Any,
    s: Any,
    a: Any,
    a0: Any,
    lda: Any,
    b: Any,
    b0: Any,
    ldb: Any,
    M: Any,
    N: Any,
    K: Any,
) -> Any:
    return _MM_NT


# C = s·I + A·B, with row strides ldc, ldi, ldb and both strides of A free; N in whole vectors.
mm: Any = intrinsic(_vector_mm) if JIT else _plain_mm

# C = s·I + A·Bᵀ, where I is a column with stride i_row and rows of A and B are K long, in whole vectors.
mm_nt: Any = intrinsic(_vector_mm_nt) if JIT else _plain_mm_nt

# total[total0] = the sum of K numbers, in whole vectors.
lane_sum: Any = intrinsic(_vector_lane_sum) if JIT else _plain_lane_sum
