"""One thread per number of the gradients, counted row by row; the chunks are added from the last."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu


@cuda.jit
def sum_chunks(partial, gradients):
    number = cuda.grid(1)
    rows, fan_out = gradients.shape
    if number >= rows * fan_out:
        return
    row, unit = number // fan_out, number % fan_out
    total = float32(0)
    for chunk in range(partial.shape[0] - 1, -1, -1):
        total += partial[chunk, row, unit]
    gradients[row, unit] = total


def launch_sum_chunks(partial, gradients, launch=on_gpu):
    launch(sum_chunks, blocks_for(gradients.size, 256), 256, partial, gradients)
