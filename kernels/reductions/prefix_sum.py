"""Running sums of many counts, by warp shuffles and in two stages.

    counts (n,)  ->  part_sums (parts,)  ->  running (n,)      int32

The idea: running[i] is the sum of counts[0] to counts[i]. Each of them needs all that stand before
it, and yet they can be had side by side. In a warp, each lane adds what the lane one below has,
then two below, then four: after five rounds it has all that is below. The warps of a block add
what the warps before them have. And a block needs one number more, the sum of all parts before its
own: these sums are the first stage, and it adds them up itself.

Source: Hillis and Steele, "Data parallel algorithms", CACM 29 (1986); Harris, Sengupta and Owens,
"Parallel prefix sum (scan) with CUDA", GPU Gems 3, 2007.
"""

from numba import cuda, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.sums import ALL_LANES, VALUES_PER_THREAD, WARPS, add, block_reduce

PART = BLOCK_THREADS * VALUES_PER_THREAD  # counts that lie side by side, and belong to one block


@register_jitable
def warp_prefix(value):
    """The sum of `value` over the lanes of a warp up to this one, itself included."""
    lane = cuda.threadIdx.x % WARP
    step = 1
    while step < WARP:
        below = cuda.shfl_up_sync(ALL_LANES, value, step)
        if lane >= step:
            value += below
        step *= 2
    return value


@cuda.jit
def sums_of_parts(counts, part_sums):
    """part_sums (parts,): the sums of the parts of counts (n,), both int32. One block per part."""
    warp_sums = cuda.shared.array(WARPS, int32)
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for i in range(first + cuda.threadIdx.x, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        own_sum += counts[i]
    total = block_reduce(own_sum, warp_sums, add)
    if cuda.threadIdx.x == 0:
        part_sums[cuda.blockIdx.x] = total


@cuda.jit
def prefix_sum(counts, part_sums, running):
    """running (n,): the sums of counts (n,) from the first up to each. One block per part.

    part_sums (parts,): what `sums_of_parts` has written. All int32.
    """
    warp_sums = cuda.shared.array(WARPS, int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % WARP, thread // WARP
    first = cuda.blockIdx.x * PART

    own_sum = int32(0)
    for part in range(thread, cuda.blockIdx.x, BLOCK_THREADS):
        own_sum += part_sums[part]
    before = block_reduce(own_sum, warp_sums, add)

    # All threads go through every round: there are barriers in it.
    for start in range(first, min(first + PART, counts.shape[0]), BLOCK_THREADS):
        i = start + thread
        running_sum = warp_prefix(counts[i] if i < counts.shape[0] else int32(0))
        # Nobody may write to warp_sums before all have read what the last round left there.
        cuda.syncthreads()
        if lane == WARP - 1:
            warp_sums[warp] = running_sum
        cuda.syncthreads()
        for other in range(warp):
            running_sum += warp_sums[other]
        if i < counts.shape[0]:
            running[i] = before + running_sum
        for other in range(WARPS):
            before += warp_sums[other]


def parts_for(count):
    """How many parts, and so blocks, there are of so many counts."""
    return blocks_for(count, PART)


def launch_prefix_sum(counts, part_sums, running, launch=on_gpu):
    """part_sums: (parts_for(n),) int32."""
    parts = parts_for(counts.shape[0])
    launch(sums_of_parts, parts, BLOCK_THREADS, counts, part_sums)
    launch(prefix_sum, parts, BLOCK_THREADS, counts, part_sums, running)
