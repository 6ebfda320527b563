"""The last rung for float32: 8 x 8 elements of c per thread, and four numbers per read.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

The idea: more registers, fewer reads. A thread with 8 x 8 elements reads 16 numbers of shared
memory for 64 products: 0.25 per product. And as its columns come in fours, side by side, one
instruction reads four of them. For that a tile begins at a multiple of 16 bytes, and so do its
rows. The price: a thread needs more than 128 registers, so only one block fits on a processor at a
time. And a matrix has to be large before its parts of 128 x 128 keep all of a GPU busy.

Source: NVIDIA, CUTLASS, "Efficient GEMM in CUDA".
"""

from numba import cuda, float32, uint32

from kernels.launch import blocks_for, on_gpu
from kernels.products.tiles import number_at

SIDE = 16  # a block has SIDE x SIDE threads
THREADS = SIDE * SIDE
PER_THREAD = 8  # rows, and columns, of c: twice four side by side
WIDTH = SIDE * PER_THREAD
HALF = WIDTH // 2  # how far apart the two fours are
DEPTH = 8
LOADS = DEPTH * WIDTH // THREADS
PITCH = WIDTH + 4  # a multiple of four; and eight rows begin in eight different groups of banks
ROWS = 2 * DEPTH  # two rounds


@cuda.jit(device=True)
def load_rows(matrix, inner, first, loaded):
    """As `tiles.load`, for tiles of this size."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    row, column = inner + thread // WIDTH, first + thread % WIDTH
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * (THREADS // WIDTH), column)


@cuda.jit(device=True)
def keep_rows(loaded, tile, top):
    """As `tiles.keep`: store what `load_rows` has read in the rows of a tile from `top` on."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        tile[top + thread // WIDTH + i * (THREADS // WIDTH), thread % WIDTH] = loaded[i]


@cuda.jit(device=True)
def load_columns(matrix, first, inner, loaded):
    """As `tiles.load_turned`: eight neighbours read the eight numbers of one row."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    row, column = first + thread // DEPTH, inner + thread % DEPTH
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * (THREADS // DEPTH), column)


@cuda.jit(device=True)
def keep_columns(loaded, tile, top):
    """As `tiles.keep_turned`: store what `load_columns` has read, turned."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        tile[top + thread % DEPTH, thread // DEPTH + i * (THREADS // DEPTH)] = loaded[i]


@cuda.jit(device=True)
def add_large_products(a_tile, b_tile, top, sums):
    """Add to sums (PER_THREAD, PER_THREAD) the products of one round."""
    x, y = uint32(4 * cuda.threadIdx.x), uint32(4 * cuda.threadIdx.y)
    a_numbers = cuda.local.array(PER_THREAD, float32)
    b_numbers = cuda.local.array(PER_THREAD, float32)
    for begin in range(top, top + DEPTH, 2):
        for inner in range(begin, begin + 2):
            for half in range(2):
                for i in range(4):
                    a_numbers[4 * half + i] = a_tile[inner, y + uint32(half * HALF + i)]
                    b_numbers[4 * half + i] = b_tile[inner, x + uint32(half * HALF + i)]
            for i in range(PER_THREAD):
                for j in range(PER_THREAD):
                    sums[i, j] += a_numbers[i] * b_numbers[j]


@cuda.jit(device=True)
def store_large(sums, first_row, first_column, c):
    """As `tiles.store`; a thread's rows and columns are twice four, HALF apart."""
    for i in range(PER_THREAD):
        row = first_row + i // 4 * HALF + 4 * cuda.threadIdx.y + i % 4
        for j in range(PER_THREAD):
            column = first_column + j // 4 * HALF + 4 * cuda.threadIdx.x + j % 4
            if row < c.shape[0] and column < c.shape[1]:
                c[uint32(row), uint32(column)] = sums[i, j]


@cuda.jit
def product_large_tiles(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
    a_tile = cuda.shared.array((ROWS, PITCH), float32, alignment=16)
    b_tile = cuda.shared.array((ROWS, PITCH), float32, alignment=16)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    a_loaded = cuda.local.array(LOADS, float32)
    b_loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    for i in range(PER_THREAD):
        for j in range(PER_THREAD):
            sums[i, j] = float32(0)
    load_columns(a, first_row, 0, a_loaded)
    load_rows(b, 0, first_column, b_loaded)
    for inner in range(0, a.shape[1], DEPTH):
        top = inner % ROWS
        keep_columns(a_loaded, a_tile, top)
        keep_rows(b_loaded, b_tile, top)
        # All must have stored their part of this round. The other half of the tiles is free after
        # it, too: whoever arrives here has multiplied what the last round left there.
        cuda.syncthreads()
        load_columns(a, first_row, inner + DEPTH, a_loaded)
        load_rows(b, inner + DEPTH, first_column, b_loaded)
        add_large_products(a_tile, b_tile, top, sums)
    store_large(sums, first_row, first_column, c)


def launch_product_large_tiles(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], WIDTH), blocks_for(c.shape[0], WIDTH)
    launch(product_large_tiles, blocks, (SIDE, SIDE), a, b, c)
