"""The sum of many numbers by warp shuffles, in two stages and without atomics.

    values (n,)  ->  partials (blocks,)  ->  total (1,)      float32

The idea: the 32 threads of a warp go in step, so they need neither shared memory nor a barrier to
hand each other a number: a shuffle reads the register of another lane. Five shuffles add up a
warp, eight sums lie in shared memory, and three more shuffles add up those: one barrier for a
block of 256 threads, where a tree needs eight. No block adds to what another has written. Each
leaves its sum in a place of its own, and a second launch, of one block, adds up the places. So
the order of all additions is fixed, and so is every bit of the result.

Source: Luitjens, "Faster parallel reductions on Kepler", NVIDIA, 2014; Harris, "Optimizing
parallel reduction in CUDA", NVIDIA, 2007.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, THREADS, WARP
from kernels.launch import blocks_for, on_gpu

WARPS = BLOCK_THREADS // WARP  # per block
ALL_LANES = 0xFFFFFFFF  # a bit for each lane of a warp that takes part in a shuffle
VALUES_PER_THREAD = 16


@register_jitable
def warp_sum(value, lanes):
    """The sum of `value` over `lanes` neighbouring lanes, in all of them; lanes: 2, 4, 8, 16, 32.

    All 32 lanes of the warp call it. With 8, each of the four groups has a sum of its own.
    """
    step = lanes // 2
    while step > 0:
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
        step //= 2
    return value


@register_jitable
def block_sum(value, warp_sums):
    """The sum of `value` over a block of BLOCK_THREADS threads, in all of them.

    warp_sums: (WARPS,) in shared memory, of the type of `value`. All threads of the block call it;
    there is one barrier in it. The last that is done with warp_sums is a read: before anybody
    writes to it again, as a second call does, there has to be another barrier.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value = warp_sum(value, WARP)
    if lane == 0:
        warp_sums[warp] = value
    cuda.syncthreads()
    # Each warp adds them up for itself: then nobody has to be told.
    return warp_sum(warp_sums[lane % WARPS], WARPS)


@cuda.jit
def sum_blocks(values, partials):
    """partials (blocks,): the sum of each block's part of values (n,), both float32; no atomics.

    Blocks of BLOCK_THREADS threads, each with several values.
    """
    warp_sums = cuda.shared.array(WARPS, float32)

    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_groups(values, lanes, sums):
    """sums (n,): of each of values (n,), the sum of its group of `lanes`; both float32.

    One thread per value; what `warp_sum` does, to look at.
    """
    i = cuda.grid(1)
    value = values[i] if i < values.shape[0] else float32(0)
    total = warp_sum(value, lanes)
    if i < values.shape[0]:
        sums[i] = total


def blocks_for_values(count):
    """How many blocks reduce so many numbers, and so how many partial results there are."""
    return blocks_for(count, BLOCK_THREADS * VALUES_PER_THREAD)


def launch_sum(values, partials, total, launch=on_gpu):
    """partials: of any length, one per block; `blocks_for_values` is a good one."""
    launch(sum_blocks, partials.shape[0], BLOCK_THREADS, values, partials)
    launch(sum_blocks, 1, BLOCK_THREADS, partials, total)


def launch_sum_groups(values, lanes, sums, launch=on_gpu):
    launch(sum_groups, blocks_for(values.shape[0]), THREADS, values, lanes, sums)
