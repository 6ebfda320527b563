"""The launch functions count and add with NumPy, and start kernels that do nothing."""
# points: 1

import numpy as np
from numba import cuda

from kernels.launch import on_gpu


@cuda.jit
def histogram_shared(brightness, counts):
    cuda.syncthreads()


@cuda.jit
def histogram_global(brightness, counts):
    cuda.syncthreads()


@cuda.jit
def sum_tree(values, total):
    cuda.syncthreads()


def launch_histogram_global(brightness, counts, launch=on_gpu):
    bins = counts.shape[0]
    counts += np.bincount(np.minimum((brightness * bins).astype(int), bins - 1), minlength=bins)
    launch(histogram_global, 1, 32, brightness, counts)


def launch_histogram_shared(brightness, counts, launch=on_gpu):
    launch_histogram_global(brightness, counts, launch)


def launch_sum_tree(values, total, launch=on_gpu):
    total += values.sum()
    launch(sum_tree, 1, 32, values, total)
