"""The sums of the columns of a tall matrix: the gradient of a bias, in four ways.

    gradient (rows, columns)  ->  sums (columns,)      float32; the first three add to `sums`

The idea: a bias is added to every sample of a batch, so its gradient is the sum over the batch. One
thread has one sample, and all of them want the same few numbers. With an atomic addition per
thread, 262,144 samples of 16 columns make 4,194,304 of them. A warp that adds up first, by
shuffles, makes 131,072; a block makes 16,384. And a block that stores its sums in a row of its own,
for a second stage, makes none, and has the same bits in every run.

A thread goes along its own row, so the numbers that a warp reads together are `columns` apart.
While columns are few, little is lost by that: the rows of a warp lie one after the other in memory,
and what a read fetches holds the numbers of the next columns, too, which then come from the L1
cache. With hundreds of columns they do not stay there so long; then a thread should have a column,
and go down: `kernels/classifier/column_sums.py`.

Source: Luitjens, "Faster parallel reductions on Kepler", NVIDIA, 2014.
"""

from numba import cuda, float32

from kernels.config import BLOCK_THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.sums import WARPS, add, block_reduce, warp_reduce

MAX_COLUMNS = 128  # a block has room for so many sums of each warp


@cuda.jit
def column_sums_by_threads(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per number.
    """
    row = cuda.grid(1)
    if row >= gradient.shape[0]:
        return

    for column in range(gradient.shape[1]):
        cuda.atomic.add(sums, column, gradient[row, column])


@cuda.jit
def column_sums_by_warps(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per warp and column.
    """
    row = cuda.grid(1)
    rows, columns = gradient.shape

    # A thread without a row stays: the others of its warp wait for it in each shuffle.
    for column in range(columns):
        value = gradient[row, column] if row < rows else float32(0)
        total = warp_reduce(value, WARP, add)
        if cuda.threadIdx.x % WARP == 0:
            cuda.atomic.add(sums, column, total)


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    """Add the columns of gradient (rows, columns) to sums (columns,), both float32.

    One thread per row, and one atomic addition per block of BLOCK_THREADS rows, and column.
    """
    warp_sums = cuda.shared.array(WARPS, float32)
    row = cuda.grid(1)
    rows, columns = gradient.shape

    for column in range(columns):
        value = gradient[row, column] if row < rows else float32(0)
        total = block_reduce(value, warp_sums, add)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(sums, column, total)
        # The next round writes to warp_sums; each warp must have read what this one wrote.
        cuda.syncthreads()


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    """partials (blocks, columns): the column sums of each block's rows of gradient (rows, columns).

    Both float32; no atomics, one barrier. Every warp has room for the sums of MAX_COLUMNS columns.
    """
    warp_sums = cuda.shared.array((WARPS, MAX_COLUMNS), float32)
    thread = cuda.threadIdx.x
    rows, columns = gradient.shape

    for column in range(columns):
        own_sum = float32(0)
        for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
            own_sum += gradient[row, column]
        total = warp_reduce(own_sum, WARP, add)
        if thread % WARP == 0:
            warp_sums[thread // WARP, column] = total
    # The sums of all warps must be there before they are added up.
    cuda.syncthreads()

    for column in range(thread, columns, BLOCK_THREADS):
        total = float32(0)
        for warp in range(WARPS):
            total += warp_sums[warp, column]
        partials[cuda.blockIdx.x, column] = total


def launch_column_sums_by_threads(gradient, sums, launch=on_gpu):
    blocks = blocks_for(gradient.shape[0], BLOCK_THREADS)
    launch(column_sums_by_threads, blocks, BLOCK_THREADS, gradient, sums)


def launch_column_sums_by_warps(gradient, sums, launch=on_gpu):
    blocks = blocks_for(gradient.shape[0], BLOCK_THREADS)
    launch(column_sums_by_warps, blocks, BLOCK_THREADS, gradient, sums)


def launch_column_sums_by_blocks(gradient, sums, launch=on_gpu):
    blocks = blocks_for(gradient.shape[0], BLOCK_THREADS)
    launch(column_sums_by_blocks, blocks, BLOCK_THREADS, gradient, sums)


def launch_column_sums(gradient, partials, sums, launch=on_gpu):
    """Sets sums (1, columns). partials: (blocks, columns), with any number of blocks.

    Raises `ValueError` for more than MAX_COLUMNS columns: their sums would not fit into a block.
    """
    if gradient.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"{gradient.shape[1]} columns, and a block has room for the sums of {MAX_COLUMNS}: "
            "take kernels.classifier.column_sums, where a thread has a column"
        )
    launch(column_sums_of_blocks, partials.shape[0], BLOCK_THREADS, gradient, partials)
    launch(column_sums_of_blocks, 1, BLOCK_THREADS, partials, sums)
