"""The native engine: what threads of a warp and of a block tell each other, and where they wait."""

import numpy as np
import pytest
from numba import cuda, float32, int32
from numba.extending import register_jitable

from lessons.lab import native
from lessons.lab.compiled.messages import NativeRefusal
from tests.lab.helpers import line_of_comment

FULL = 0xFFFFFFFF


@cuda.jit
def exchanges(values, out):
    """A row of `out` per warp function; each thread writes its own column."""
    thread = cuda.threadIdx.x
    mine = values[thread]
    out[0, thread] = cuda.shfl_sync(FULL, mine, 3)
    out[1, thread] = cuda.shfl_up_sync(FULL, mine, 2)
    out[2, thread] = cuda.shfl_down_sync(FULL, mine, 5)
    out[3, thread] = cuda.shfl_xor_sync(FULL, mine, 16)
    out[4, thread] = cuda.shfl_sync(FULL, cuda.shfl_sync(FULL, mine, 1), 0) + cuda.laneid
    out[5, thread] = cuda.ballot_sync(FULL, mine > 50) & 0xFFFF
    out[6, thread] = cuda.all_sync(FULL, mine >= 0)
    out[7, thread] = cuda.any_sync(FULL, mine == 63)
    out[8, thread] = cuda.eq_sync(FULL, mine > 31)
    out[9, thread] = cuda.match_any_sync(FULL, int32(mine) % 16) & 0xFFFF
    out[10, thread] = cuda.syncthreads_count(int32(mine > 20))
    out[11, thread] = cuda.syncthreads_and(int32(mine < 63))
    out[12, thread] = cuda.syncthreads_or(int32(mine == 63))


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.int64, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_warp_functions(dtype):
    out = np.zeros((13, 64), np.int64)
    native(exchanges)[1, 64](np.arange(64, dtype=dtype), out)
    thread = np.arange(64)
    lane, warp = thread % 32, thread // 32 * 32
    expected = [
        warp + 3,
        np.where(lane >= 2, thread - 2, thread),
        np.where(lane < 27, thread + 5, thread),
        thread ^ 16,
        warp + 1 + lane,
        np.where(warp == 0, 0, 0),
        np.ones(64),
        warp > 0,
        np.ones(64),
        1 << lane % 16,
        np.full(64, 43),
        np.zeros(64),
        np.ones(64),
    ]
    for row, right in enumerate(expected):
        np.testing.assert_array_equal(out[row], right, f"row {row}")


@register_jitable
def warp_sum(value):
    distance = 16
    while distance > 0:
        value += cuda.shfl_down_sync(FULL, value, distance)
        distance //= 2
    return value


@register_jitable
def block_sum(value):
    sums = cuda.shared.array(32, float32)
    thread = cuda.threadIdx.x
    value = warp_sum(value)
    if thread % 32 == 0:
        sums[thread // 32] = value
    cuda.syncthreads()
    if thread >= 32:
        return float32(0)
    return warp_sum(sums[thread] if thread < cuda.blockDim.x // 32 else float32(0))


@cuda.jit
def sums(values, out):
    total = block_sum(values[cuda.grid(1)])
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@pytest.mark.slow
def test_functions_may_wait():
    values = np.random.default_rng(1).integers(0, 100, (3, 96)).astype(np.float32)
    out = np.zeros(3, np.float32)
    native(sums)[3, 96](values.ravel(), out)
    np.testing.assert_array_equal(out, values.sum(axis=1))


@cuda.jit
def halves(out):
    lane = cuda.laneid
    if lane < 16:
        out[lane] = cuda.shfl_xor_sync(0xFFFF, lane, 1)
        cuda.syncwarp(0xFFFF)
        out[lane] += cuda.popc(cuda.activemask()) * 100
    else:
        out[lane] = cuda.shfl_xor_sync(0xFFFF0000, lane, 2)
    cuda.syncwarp()


@pytest.mark.slow
def test_halves_of_a_warp_go_their_own_ways():
    out = np.zeros(32, np.int32)
    native(halves)[1, 32](out)
    lane = np.arange(32)
    np.testing.assert_array_equal(out, np.where(lane < 16, (lane ^ 1) + 1600, lane ^ 2))


@cuda.jit
def never_meets(out):
    if cuda.laneid < 16:
        out[0] = cuda.shfl_sync(FULL, 1, 0)  # here
    cuda.syncthreads()


@pytest.mark.slow
def test_a_shuffle_that_some_lanes_miss_is_an_error():
    with pytest.raises(NativeRefusal, match="waits for ever") as caught:
        native(never_meets)[1, 32](np.zeros(1))
    assert f"line {line_of_comment(never_meets)}" in str(caught.value)
