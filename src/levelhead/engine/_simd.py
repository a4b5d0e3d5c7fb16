"""The two matrix products that networks are made of, on rows padded to whole vectors."""

from levelhead.engine._jit import inline

LANES = 16


def padded(n: int) -> int:
    """The smallest multiple of LANES that is at least n."""
    return -(-n // LANES) * LANES


@inline
def mm(c, c0, ldc, i, i0, ldi, s, a, a0, a_row, a_col, b, b0, ldb, M, N, K):
    """C = s·I + A·B, with row strides ldc, ldi, ldb and both strides of A free; N a multiple of LANES."""
    for m in range(M):
        for n in range(N):
            c[c0 + m * ldc + n] = s * i[i0 + m * ldi + n]
        for k in range(K):
            x = a[a0 + m * a_row + k * a_col]
            for n in range(N):
                c[c0 + m * ldc + n] += x * b[b0 + k * ldb + n]


@inline
def mm_nt(c, c0, ldc, i, i0, i_row, s, a, a0, lda, b, b0, ldb, M, N, K):
    """C = s·I + A·Bᵀ, where I is a column and rows of A and B are K long, a multiple of LANES."""
    for m in range(M):
        for n in range(N):
            total = s * i[i0 + m * i_row]
            for k in range(K):
                total += a[a0 + m * lda + k] * b[b0 + n * ldb + k]
            c[c0 + m * ldc + n] = total
