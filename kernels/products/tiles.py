"""The first rung above the tiles of lesson 5: each thread computes 4 x 4 elements of c.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

The idea: a tiled product reads two numbers of shared memory for every multiplication, and shared
memory, not arithmetic, is what it waits for. A thread that has four rows and four columns of c
reads four numbers of a and four of b, and multiplies each with each: sixteen products for eight
reads. A block of 16 x 16 threads then has 64 x 64 elements of c, so global memory is read less too.

The inner index, over which sums go, is the row of both tiles: `a_tile[inner, row]`, `b_tile[inner,
column]`. So b is copied as it is stored, and a is turned on its way into the tile.

Source: Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008.
"""

from numba import cuda, float32, uint32

from kernels.launch import blocks_for, on_gpu

SIDE = 16  # a block has SIDE x SIDE threads
PER_THREAD = 4  # rows, and columns, of c
WIDTH = SIDE * PER_THREAD  # rows, and columns, of c per block
DEPTH = SIDE  # inner indices per round
LOADS = DEPTH * WIDTH // (SIDE * SIDE)  # numbers of a tile that each thread fetches
ROWS_AT_ONCE = SIDE * SIDE // WIDTH  # rows of a tile that all threads together fetch
# Rows of a tile begin two banks apart: a warp that turns a piece of 2 x 16 meets no bank twice.
PITCH = WIDTH + 2


@cuda.jit(device=True)
def number_at(matrix, row, column):
    """matrix[row, column], or zero outside; row and column are not negative."""
    if row < matrix.shape[0] and column < matrix.shape[1]:
        # Unsigned: else each index is compared with zero, as negative ones count from the end.
        return matrix[uint32(row), uint32(column)]
    return float32(0)


@cuda.jit(device=True)
def load(matrix, inner, first, loaded):
    """Read this thread's part of a tile, whose rows are rows of `matrix`; zeros outside.

    inner, first: the row and the column of `matrix` where the tile begins. loaded: LOADS float32 of
    the thread's own. Neighbouring threads read neighbouring numbers.
    """
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    row, column = inner + thread // WIDTH, first + thread % WIDTH
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * ROWS_AT_ONCE, column)


@cuda.jit(device=True)
def keep(loaded, tile, top):
    """Store what `load` has read in tile (any, PITCH): its rows `top` to `top` + DEPTH."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        tile[top + thread // WIDTH + i * ROWS_AT_ONCE, thread % WIDTH] = loaded[i]


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    """Read this thread's part of a tile, whose rows are columns of `matrix`; zeros outside.

    first, inner: the row and the column of `matrix` where the tile begins, as in `load`: first the
    row. But here the inner index is the column. loaded: as there; neighbours read neighbours.
    """
    row, column = first + cuda.threadIdx.y, inner + cuda.threadIdx.x
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * SIDE, column)


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    """Store what `load_turned` has read, in the same way: turned, so that rows become columns."""
    for i in range(LOADS):
        tile[top + cuda.threadIdx.x, cuda.threadIdx.y + i * SIDE] = loaded[i]


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    """Add to sums (PER_THREAD, PER_THREAD) the products of one round.

    a_tile, b_tile: (any, PITCH), of which the rows `top` to `top` + DEPTH belong to this round.
    Thread (x, y) has the rows y, y + SIDE, ... of the block's part of c, and the columns x,
    x + SIDE, ...
    """
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_numbers = cuda.local.array(PER_THREAD, float32)
    b_numbers = cuda.local.array(PER_THREAD, float32)
    # In steps of four: a loop of four rounds is written out by the compiler, one of sixteen is not.
    for begin in range(top, top + DEPTH, 4):
        for inner in range(begin, begin + 4):
            for i in range(PER_THREAD):
                a_numbers[i] = a_tile[inner, y + i * SIDE]
                b_numbers[i] = b_tile[inner, x + i * SIDE]
            for i in range(PER_THREAD):
                for j in range(PER_THREAD):
                    sums[i, j] += a_numbers[i] * b_numbers[j]


@cuda.jit(device=True)
def clear(sums):
    """Set sums (PER_THREAD, PER_THREAD) to zero."""
    for i in range(PER_THREAD):
        for j in range(PER_THREAD):
            sums[i, j] = float32(0)


@cuda.jit(device=True)
def store(sums, first_row, first_column, c):
    """Write this thread's elements of c. first_row, first_column: of the block's part of it."""
    for i in range(PER_THREAD):
        row = first_row + cuda.threadIdx.y + i * SIDE
        for j in range(PER_THREAD):
            column = first_column + cuda.threadIdx.x + j * SIDE
            if row < c.shape[0] and column < c.shape[1]:
                c[uint32(row), uint32(column)] = sums[i, j]


@cuda.jit
def product_registers(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        # Both tiles have to be complete before anyone reads what others have fetched.
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # And everyone must have read before the next round overwrites them.
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


def launch_product_registers(a, b, c, launch=on_gpu):
    launch_over_parts(product_registers, c, (a, b, c), launch)


def launch_over_parts(kernel, c, arguments, launch):
    """Start a kernel whose blocks have WIDTH x WIDTH elements of c each."""
    blocks = blocks_for(c.shape[1], WIDTH), blocks_for(c.shape[0], WIDTH)
    launch(kernel, blocks, (SIDE, SIDE), *arguments)
