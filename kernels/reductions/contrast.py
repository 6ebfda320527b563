"""Auto-contrast: the darkest of a picture becomes black, the brightest white.

    running (bins,) int32  ->  levels (2,) int32;      colours (n,)  ->  stretched (n,) float32

The idea: the running sum of a histogram says how many pixels are not brighter than a bin. So the
bin at which it passes 5 of 1,000 pixels is what counts as black, and a few odd pixels decide
nothing. Each bin sees by itself, from two neighbouring sums, whether it is that one: nobody has to
search.

Source: the inverse of the cumulative distribution, `numpy.percentile(..., "inverted_cdf")`.
"""

from numba import cuda, float32, int64

from kernels.config import THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def find_levels(running, per_mille, levels):
    """levels (k,): the first bin up to which per_mille[k] of 1,000 pixels lie, at least one pixel.

    running (bins,): the running sum of a histogram of one pixel or more. per_mille (k,): 0 to
    1,000. All int32; a thousand times a running sum may not fit into one. One thread per bin.
    """
    bin_number = cuda.grid(1)
    bins = running.shape[0]
    if bin_number >= bins:
        return

    below = running[bin_number - 1] if bin_number > 0 else 0
    for k in range(per_mille.shape[0]):
        # Rounded up; 1,000 times the pixels of a picture may be too much for int32.
        wanted = max(1, (int64(running[bins - 1]) * per_mille[k] + 999) // 1000)
        if below < wanted and wanted <= running[bin_number]:
            levels[k] = bin_number


@cuda.jit
def stretch(colours, levels, bins, stretched):
    """stretched (n,): colours (n,) with the bin levels[0] at 0 and levels[1] at 1, both float32.

    levels (2,) int32: bins of a histogram of `bins` bins. What lies beyond them is 0 or 1.
    """
    i = cuda.grid(1)
    if i >= colours.shape[0]:
        return

    dark = float32(levels[0]) / float32(bins)
    bright = float32(levels[1] + 1) / float32(bins)
    value = (colours[i] - dark) / (bright - dark)
    stretched[i] = min(max(value, float32(0)), float32(1))


def launch_find_levels(running, per_mille, levels, launch=on_gpu):
    blocks = blocks_for(running.shape[0])
    launch(find_levels, blocks, THREADS, running, per_mille, levels)


def launch_stretch(colours, levels, bins, stretched, launch=on_gpu):
    blocks = blocks_for(colours.shape[0])
    launch(stretch, blocks, THREADS, colours, levels, bins, stretched)
