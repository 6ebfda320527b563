"""Lesson 5's first kernel for every product: no tiles, nothing turned."""
# points: 3

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu


@cuda.jit
def product_registers(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for inner in range(a.shape[1]):
        total += a[row, inner] * b[inner, column]
    c[row, column] = total


def launch_product_registers(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], 16), blocks_for(c.shape[0], 16)
    launch(product_registers, blocks, (16, 16), a, b, c)


@cuda.jit
def product_double_buffered(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for inner in range(a.shape[1]):
        total += a[row, inner] * b[inner, column]
    c[row, column] = total


def launch_product_double_buffered(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], 16), blocks_for(c.shape[0], 16)
    launch(product_double_buffered, blocks, (16, 16), a, b, c)


@cuda.jit
def product_nt(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for inner in range(a.shape[1]):
        total += a[row, inner] * b[column, inner]
    c[row, column] = total


def launch_product_nt(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], 16), blocks_for(c.shape[0], 16)
    launch(product_nt, blocks, (16, 16), a, b, c)


@cuda.jit
def product_tn(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for inner in range(a.shape[0]):
        total += a[inner, row] * b[inner, column]
    c[row, column] = total


def launch_product_tn(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], 16), blocks_for(c.shape[0], 16)
    launch(product_tn, blocks, (16, 16), a, b, c)
