"""Many numbers become one by warp shuffles, in two stages and without atomics: first, the sum.

    values (n,)  ->  partials (blocks,)  ->  total (1,)      float32

The idea: the 32 threads of a warp go in step, so they need neither shared memory nor a barrier to
hand each other a number: a shuffle reads the register of another lane. Five shuffles add up a
warp, eight sums lie in shared memory, and three more shuffles add up those: one barrier for a
block of 256 threads, where a tree needs eight. No block adds to what another has written. Each
leaves its sum in a place of its own, and a second launch, of one block, adds up the places. So
the order of all additions is fixed, and so is every bit of the result.

Nothing of that is about additions. So what two numbers become is an argument, the operator:
`add` here, and in `maximum.py` others. In which order it meets the numbers must not matter for it,
but for rounding.

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
def add(first, second):
    """The operator of a sum, which begins at 0."""
    return first + second


@register_jitable
def warp_reduce(value, lanes, operator):
    """What the `value` of `lanes` neighbouring lanes become, in all of them.

    lanes: 2, 4, 8, 16 or 32; all 32 of the warp call it. operator: a function of two values.
    """
    step = lanes // 2
    while step > 0:
        value = operator(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    return value


@register_jitable
def block_reduce(value, of_warps, operator):
    """What the `value` of the BLOCK_THREADS threads of a block become, in all of them.

    All threads of the block call it. of_warps: (WARPS,) in shared memory, of the type of `value`;
    it is read behind the only barrier, and before a second call there has to be another one.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value = warp_reduce(value, WARP, operator)
    if lane == 0:
        of_warps[warp] = value
    cuda.syncthreads()
    # Each warp makes one of them for itself: then nobody has to be told.
    return warp_reduce(of_warps[lane % WARPS], WARPS, operator)


@register_jitable
def reduce_blocks(values, partials, begin, operator):
    """partials (blocks,): what each block's part of values (n,) becomes, both float32; no atomics.

    begin: float32 with which the operator changes no value; the result of a block without values.
    """
    of_warps = cuda.shared.array(WARPS, float32)

    own = begin
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = operator(own, values[i])
    result = block_reduce(own, of_warps, operator)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = result


@cuda.jit
def sum_blocks(values, partials):
    """partials (blocks,): the sum of each block's part of values (n,), both float32."""
    reduce_blocks(values, partials, float32(0), add)


@cuda.jit
def sum_groups(values, lanes, sums):
    """sums (n,): of each of values (n,) float32, the sum of its group of `lanes`, to look at."""
    i = cuda.grid(1)
    value = values[i] if i < values.shape[0] else float32(0)
    total = warp_reduce(value, lanes, add)
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
