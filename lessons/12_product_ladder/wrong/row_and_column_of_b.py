"""load_turned gets the place in b in the wrong order."""
# caught by: transposed
# diagnosis: for load_turned

from numba import cuda, float32

from kernels.products.tiles import DEPTH, LOADS, PER_THREAD, PITCH, WIDTH, clear, store


@cuda.jit
def product_nt(a, b, c):
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load_turned(b, inner, first_column, loaded)
        keep_turned(loaded, b_tile, 0)
        # Both barriers as in `product_registers`: complete before it is read ...
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # ... and read before it is overwritten.
        cuda.syncthreads()
    store(sums, first_row, first_column, c)
