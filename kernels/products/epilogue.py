"""A layer in one kernel: what follows a product is done before its numbers leave the registers.

    a (m, k), b (k, n), bias (n,)  ->  c (m, n) = gelu(a @ b + bias)

The idea: a bias and an activation need one number each, and hardly any arithmetic. In a kernel of
their own they read all of c and write it again. The thread that has just finished an element of c
has it in a register: this is the *epilogue* of the product, and it costs no traffic at all.

Source: NVIDIA, CUTLASS, epilogues.
"""

from numba import cuda, float32

from kernels.field_math import GELU_CUBE, GELU_SCALE, gelu
from kernels.launch import on_gpu
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    SIDE,
    WIDTH,
    add_products,
    clear,
    keep,
    keep_turned,
    launch_over_parts,
    load,
    load_turned,
    store,
)

SLOPE, CUBE = GELU_SCALE, GELU_CUBE  # what older exercises import


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    """sums = gelu(sums + bias), in registers. first_column: of the block's part of c."""
    for j in range(PER_THREAD):
        column = first_column + cuda.threadIdx.x + j * SIDE
        if column < bias.shape[0]:
            own_bias = bias[column]
            for i in range(PER_THREAD):
                sums[i, j] = gelu(sums[i, j] + own_bias)


@cuda.jit
def product_bias_gelu(a, b, bias, c):
    """c (m, n) = gelu(a (m, k) @ b (k, n) + bias (n,)), all float32; any sizes."""
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
        # Both barriers as in `product_registers`: complete before it is read ...
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # ... and read before it is overwritten.
        cuda.syncthreads()
    add_bias_and_activate(sums, bias, first_column)
    store(sums, first_row, first_column, c)


def launch_product_bias_gelu(a, b, bias, c, launch=on_gpu):
    launch_over_parts(product_bias_gelu, c, (a, b, bias, c), launch)
