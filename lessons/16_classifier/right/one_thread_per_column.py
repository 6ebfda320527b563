"""A thread goes down its whole column: no shared memory, and less to do at once."""

from numba import cuda, float32

from kernels.classifier.column_sums import STRIP_COLUMNS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def column_sums(values, sums):
    column = cuda.grid(1)
    if column >= values.shape[1]:
        return

    total = float32(0)
    for row in range(values.shape[0]):
        total += values[row, column]
    sums[column] = total


def launch_column_sums(values, sums, launch=on_gpu):
    launch(column_sums, blocks_for(values.shape[1], STRIP_COLUMNS), STRIP_COLUMNS, values, sums)
