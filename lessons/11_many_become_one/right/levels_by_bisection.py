"""A thread per level, which halves the range of bins; one block."""

from numba import cuda, int64

from kernels.config import THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def find_levels(running, per_mille, levels):
    k = cuda.grid(1)
    if k >= per_mille.shape[0]:
        return
    pixels = int64(running[running.shape[0] - 1])
    wanted = max(1, -((-pixels * per_mille[k]) // 1000))
    low, high = 0, running.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if running[middle] >= wanted:
            high = middle
        else:
            low = middle + 1
    levels[k] = low


def launch_find_levels(running, per_mille, levels, launch=on_gpu):
    launch(
        find_levels, blocks_for(per_mille.shape[0], THREADS), THREADS, running, per_mille, levels
    )
