"""Thread 0 adds, compares and runs through everything; the others have nothing to do."""
# points: 3

import math

from numba import cuda, float32, int32

from kernels.reductions.maximum import comes_first, larger


@cuda.jit
def sum_blocks(values, partials):
    if cuda.threadIdx.x == 0:
        total = float32(0)
        if cuda.blockIdx.x == 0:
            for i in range(values.shape[0]):
                total += values[i]
        partials[cuda.blockIdx.x] = total


@cuda.jit
def max_blocks(values, partials):
    if cuda.threadIdx.x == 0:
        largest = float32(-math.inf)
        if cuda.blockIdx.x == 0:
            for i in range(values.shape[0]):
                largest = larger(largest, values[i])
        partials[cuda.blockIdx.x] = largest


@cuda.jit
def argmax_blocks(values, candidates):
    if cuda.threadIdx.x == 0:
        value, index = float32(-math.inf), int32(0)
        if cuda.blockIdx.x == 0:
            for i in range(values.shape[0]):
                if comes_first(values[i], i, value, index):
                    value, index = values[i], int32(i)
        candidates[cuda.blockIdx.x] = index


@cuda.jit
def prefix_sum(counts, part_sums, running):
    if cuda.grid(1) == 0:
        total = int32(0)
        for i in range(counts.shape[0]):
            total += counts[i]
            running[i] = total
