"""What the atomic addition returns, the old count, is stored back."""
# caught by: global
# diagnosis: leave out the assignment

from numba import cuda


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel < brightness.shape[0]:
        i = bin_of(brightness[pixel], counts.shape[0])
        counts[i] = cuda.atomic.add(counts, i, 1)
