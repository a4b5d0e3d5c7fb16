import numpy as np
import pytest

from levelhead.engine._jit import leaf
from levelhead.engine._simd import LANES, mm, mm_nt, padded, room


@leaf
def _mm(c, c0, ldc, i, i0, ldi, s, a, a0, a_row, a_col, b, b0, ldb, M, N, K):
    mm(c, c0, ldc, i, i0, ldi, s, a, a0, a_row, a_col, b, b0, ldb, M, N, K)


@leaf
def _mm_nt(c, c0, ldc, i, i0, i_row, s, a, a0, lda, b, b0, ldb, M, N, K):
    mm_nt(c, c0, ldc, i, i0, i_row, s, a, a0, lda, b, b0, ldb, M, N, K)


# Every size of block in both directions, and sums of length 0 and 1.
SHAPES = [(M, N, K) for M in (1, 2, 3, 4, 5, 6, 7, 13, 20) for N, K in ((16, 1), (32, 7), (48, 0), (112, 16))]


@pytest.mark.parametrize("turned", [False, True], ids=["A", "A transposed"])
@pytest.mark.parametrize(("M", "N", "K"), SHAPES)
def test_product(rng, M, N, K, turned):
    A, B = rng.normal(size=(M, K)).astype("f4"), rng.normal(size=(K, N)).astype("f4")
    start = rng.normal(size=(M, N)).astype("f4")
    C = np.full(M * N + 3 + 5, -7, dtype=np.float32)
    stored = np.ascontiguousarray(A.T if turned else A)
    strides = (1, M) if turned else (K, 1)
    _mm(C, 3, N, start.ravel(), 0, N, np.float32(0.5), stored.ravel(), 0, *strides, B.ravel(), 0, N, M, N, K)
    np.testing.assert_allclose(C[3:-5].reshape(M, N), 0.5 * start + A @ B, rtol=1e-4, atol=1e-5)
    assert (C[:3] == -7).all()
    assert (C[-5:] == -7).all()


@pytest.mark.parametrize(
    ("M", "N", "K"), [(M, N, K) for M in (1, 2, 3, 4, 5, 9) for N in (1, 4, 6, 11) for K in (16, 64)]
)
def test_product_with_transposed(rng, M, N, K):
    A, B = rng.normal(size=(M, K)).astype("f4"), rng.normal(size=(N, K)).astype("f4")
    bias = rng.normal(size=M).astype("f4")
    C = np.full(M * (N + 2), -7, dtype=np.float32)
    _mm_nt(C, 0, N + 2, bias, 0, 1, np.float32(1), A.ravel(), 0, K, B.ravel(), 0, K, M, N, K)
    got = C.reshape(M, N + 2)
    np.testing.assert_allclose(got[:, :N], bias[:, None] + A @ B.T, rtol=1e-4, atol=1e-5)
    assert (got[:, N:] == -7).all()


def test_a_row_of_a_product_does_not_depend_on_the_others(rng):
    A, B = rng.normal(size=(20, 33)).astype("f4"), rng.normal(size=(33, 64)).astype("f4")
    whole, alone = np.zeros((20, 64), dtype="f4"), np.zeros((1, 64), dtype="f4")
    zero = np.zeros(64, dtype="f4")
    _mm(whole.ravel(), 0, 64, zero, 0, 0, np.float32(1), A.ravel(), 0, 33, 1, B.ravel(), 0, 64, 20, 64, 33)
    for m in range(20):
        _mm(alone.ravel(), 0, 64, zero, 0, 0, np.float32(1), A[m], 0, 33, 1, B.ravel(), 0, 64, 1, 64, 33)
        np.testing.assert_allclose(alone[0], whole[m], rtol=0, atol=0 if _exact() else 1e-5)


def _exact():
    from levelhead.engine._jit import JIT

    return JIT


def test_room_begins_on_cache_lines():
    arrays = room(3, 20, 0, 5)
    assert [array.size for array in arrays] == [3, 20, 0, 5]
    assert all(array.ctypes.data % (4 * LANES) == 0 for array in arrays if array.size)
    assert not any(array.any() for array in arrays)
    assert [padded(n) for n in (0, 1, 16, 17)] == [0, 16, 16, 32]
