"""Right kernels for cases that the course has no kernel for: a ring of rows, fences, locks, flags.

Nobody sees them as they stand here: a case is made of them as of those of `kernels/`.
"""

from numba import cuda, float32, int32

from kernels.image_ops import grayscale, upsample
from kernels.launch import blocks_for, on_gpu

SIDE = 16
WIDE, HIGH = 32, 4  # threads of blocks that need no square
PITCH = SIDE + 1
STRIP = 32  # columns of a block that walks down its rows
FETCHED = STRIP + 2  # with a column more on both sides
RING = 3  # rows that it keeps
GROUP = 64  # threads of a block


@cuda.jit
def transpose(matrix, turned):
    """turned (n, m) = matrix (m, n) by tiles in shared memory; blocks of SIDE x SIDE threads."""
    tile = cuda.shared.array((SIDE, PITCH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * SIDE, cuda.blockIdx.y * SIDE
    if top + y < matrix.shape[0] and left + x < matrix.shape[1]:
        tile[y, x] = matrix[top + y, left + x]
    cuda.syncthreads()
    if left + y < turned.shape[0] and top + x < turned.shape[1]:
        turned[left + y, top + x] = tile[x, y]


@cuda.jit
def blur_by_rows(image, blurred):
    """blurred (H, W): sums of 3 x 3 numbers of image (H, W), zero beyond it.

    A block has STRIP columns, and walks down all rows with the last RING of them in a ring.
    """
    ring = cuda.shared.array((RING, FETCHED), float32)
    thread = cuda.threadIdx.x
    left = cuda.blockIdx.x * STRIP
    height, width = image.shape
    for i in range(thread, FETCHED, STRIP):
        column = left + i - 1
        inside = 0 <= column and column < width
        ring[RING - 1, i] = float32(0)
        ring[0, i] = image[0, column] if inside else float32(0)
    for row in range(height):
        following = row + 1
        for i in range(thread, FETCHED, STRIP):
            column = left + i - 1
            inside = following < height and 0 <= column and column < width
            ring[following % RING, i] = image[following, column] if inside else float32(0)
        cuda.syncthreads()
        total = float32(0)
        for back in range(RING):
            slot = (following + back) % RING
            total += ring[slot, thread] + ring[slot, thread + 1] + ring[slot, thread + 2]
        if left + thread < width:
            blurred[row, left + thread] = total
        cuda.syncthreads()


@cuda.jit
def sum_by_last_block(values, partials, finished, total):
    """total (1,): the sum of values (n,); the block that ends last adds up what all have left."""
    shared = cuda.shared.array(GROUP, float32)
    last = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    shared[thread] = own
    active = GROUP // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = shared[0]
        cuda.threadfence()
        before = cuda.atomic.add(finished, 0, 1)
        last[0] = before == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and thread == 0:
        result = float32(0)
        for block in range(cuda.gridDim.x):
            result += partials[block]
        total[0] = result


@cuda.jit
def best_under_lock(values, lock, best, place):
    """best (1,), place (1,): the largest of values (n,) and where it is; a lock guards the two."""
    shared = cuda.shared.array(GROUP, int32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[thread] = i if i < values.shape[0] else 0
    active = GROUP // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active and values[shared[thread + active]] > values[shared[thread]]:
            shared[thread] = shared[thread + active]
        active //= 2
    if thread == 0:
        own = shared[0]
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        if values[own] > best[0]:
            best[0] = values[own]
            place[0] = own
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def running_sums_in_a_chain(values, carries, flags, running):
    """running (n,): the sums of values (n,) up to each; a block waits for the one before it."""
    shared = cuda.shared.array((2, GROUP), float32)
    carried = cuda.shared.array(1, float32)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    i = block * GROUP + thread
    shared[0, thread] = values[i] if i < values.shape[0] else float32(0)
    source = 0
    step = 1
    while step < GROUP:
        cuda.syncthreads()
        own = shared[source, thread]
        if thread >= step:
            own += shared[source, thread - step]
        shared[1 - source, thread] = own
        source = 1 - source
        step *= 2
    cuda.syncthreads()
    if thread == 0:
        before = float32(0)
        if block > 0:
            while cuda.atomic.add(flags, block - 1, 0) == 0:
                pass
            cuda.threadfence()
            before = carries[block - 1]
        carries[block] = before + shared[source, GROUP - 1]
        cuda.threadfence()
        cuda.atomic.exch(flags, block, 1)
        carried[0] = before
    cuda.syncthreads()
    if i < values.shape[0]:
        running[i] = carried[0] + shared[source, thread]


def launch_grayscale(image, gray, launch=on_gpu):
    blocks = blocks_for(gray.shape[1], WIDE), blocks_for(gray.shape[0], HIGH)
    launch(grayscale, blocks, (WIDE, HIGH), image, gray)


def launch_upsample(small, large, launch=on_gpu):
    blocks = blocks_for(large.shape[1], WIDE), blocks_for(large.shape[0], HIGH)
    launch(upsample, blocks, (WIDE, HIGH), small, large)


def launch_transpose(matrix, turned, launch=on_gpu):
    blocks = blocks_for(matrix.shape[1], SIDE), blocks_for(matrix.shape[0], SIDE)
    launch(transpose, blocks, (SIDE, SIDE), matrix, turned)


def launch_blur_by_rows(image, blurred, launch=on_gpu):
    launch(blur_by_rows, blocks_for(image.shape[1], STRIP), STRIP, image, blurred)


def launch_sum_by_last_block(values, partials, finished, total, launch=on_gpu):
    launch(sum_by_last_block, partials.shape[0], GROUP, values, partials, finished, total)


def launch_best_under_lock(values, lock, best, place, launch=on_gpu):
    blocks = blocks_for(values.shape[0], GROUP)
    launch(best_under_lock, blocks, GROUP, values, lock, best, place)


def launch_running_sums_in_a_chain(values, carries, flags, running, launch=on_gpu):
    blocks = blocks_for(values.shape[0], GROUP)
    launch(running_sums_in_a_chain, blocks, GROUP, values, carries, flags, running)
