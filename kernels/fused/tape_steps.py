"""What kernels that a machine has written call, beside `few_samples`: values of one sample.

    a row of an array  ->  numbers of the threads  ->  a row of shared memory, a row of an array

The idea: a warp has one sample, and a value of it, up to 64 numbers, lies in the registers of its
lanes, two in each: units `lane` and `lane + 32`. A step that takes one number of each value needs
nothing else. Only what a product takes must be seen by other warps, and goes to shared memory.
"""

from numba import cuda, float32, uint32

from kernels.config import WARP
from kernels.fused.few_samples import ROWS_AT_ONCE, SHARE, finished, total_of_blocks
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import FIRST_STEP


@cuda.jit(device=True)
def read_sample(array, row, units, own):
    """own (SHARE,): the thread's numbers of array[row], float32; zeros from `units` on."""
    lane = cuda.threadIdx.x % WARP
    for j in range(SHARE):
        own[j] = array[row, lane + j * WARP] if lane + j * WARP < units else float32(0)


@cuda.jit(device=True)
def write_sample(own, units, inside, row, array):
    """The way back of `read_sample`, for a sample that is `inside` the batch."""
    lane = cuda.threadIdx.x % WARP
    for j in range(SHARE):
        if inside and lane + j * WARP < units:
            array[row, lane + j * WARP] = own[j]


@cuda.jit(device=True)
def put(own, units, inside, top, shared):
    """To the warp's row of shared (any, FOURS, 4), in which the samples' rows begin at `top`.

    Zeros from `units` on, and for a sample that is not inside.
    """
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for j in range(SHARE):
        unit = lane + j * WARP
        value = own[j] if inside and unit < units else float32(0)
        shared[uint32(top + sample), uint32(unit // 4), uint32(unit % 4)] = value


@cuda.jit(device=True)
def take(parts, own):
    """own (SHARE,): sums of a product, from all warps' parts."""
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for j in range(SHARE):
        own[j] = finished(parts, sample, lane + j * WARP)


@cuda.jit(device=True)
def add_taken(parts, own):
    """The same, added to what is there."""
    lane, sample = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for j in range(SHARE):
        own[j] += finished(parts, sample, lane + j * WARP)


@cuda.jit(device=True)
def add_biases(flat, begin, units, own):
    """Add biases, that begin at flat[begin], to own (SHARE,)."""
    lane = cuda.threadIdx.x % WARP
    for j in range(SHARE):
        if lane + j * WARP < units:
            own[j] += flat[uint32(begin + lane + j * WARP)]


@cuda.jit
def add_sums(sums, gradients):
    """Add the totals of all blocks, of sums (blocks, n), to gradients (n,): float32.

    Blocks as in `total_of_blocks`; always in the same order, so the bits are the same.
    """
    i = cuda.blockIdx.x * WARP + cuda.threadIdx.x
    total = total_of_blocks(sums, i)
    if cuda.threadIdx.y == 0 and i < gradients.shape[0]:
        gradients[i] += total


def launch_add_sums(sums, gradients, launch=on_gpu):
    blocks = blocks_for(gradients.shape[0], WARP)
    launch(add_sums, blocks, (WARP, ROWS_AT_ONCE), sums, gradients)


@cuda.jit
def count_step(clock):
    """One step more on clock (3,) int64, see `kernels/plumbing/recording`; one thread."""
    clock[FIRST_STEP] += 1
