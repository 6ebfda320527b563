"""Each thread counts in a local array of its own, and hands over its own counts."""
# caught by: few_additions
# diagnosis: makes an array for each thread

from numba import cuda, int32

from kernels.histogram import MAX_BINS, bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    private = cuda.local.array(MAX_BINS, int32)
    bins = counts.shape[0]
    for b in range(bins):
        private[b] = 0
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        private[bin_of(brightness[pixel], bins)] += 1
    for b in range(bins):
        if private[b] != 0:
            cuda.atomic.add(counts, b, private[b])
