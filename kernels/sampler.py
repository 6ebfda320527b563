"""Stage 1, the sampler: draw a batch of random coordinates and look up their colours.

    seed, step, image (H, W, 3)  ->  uv (B, 2), target (B, 3)

The idea: every training step wants fresh random points of the picture. One thread draws one
point. Its random numbers come from a counter-based generator, so they depend on nothing but
(seed, step, sample): no thread waits for another, and any batch can be drawn again at any time.
The colour between pixel centres is the bilinear blend of the four nearest pixels.
"""

import numpy as np
from numba import cuda, uint64

from kernels.config import THREADS
from kernels.field_math import bilinear, pixel_centre, random_uv
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    """Fill one batch; one thread per sample.

    image: (H, W, 3) float32 in [0, 1]. seed, step: uint64; steps count from 1.
    Writes uv (B, 2) float32 in [0, 1), u to the right and v down, and target (B, 3) float32.
    """
    sample = cuda.grid(1)
    # The grid is rounded up to whole blocks: the last block may hold threads with no sample.
    if sample >= uv.shape[0]:
        return

    u, v = random_uv(uint64(sample), step, seed)
    uv[sample, 0] = u
    uv[sample, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[sample, 0] = red
    target[sample, 1] = green
    target[sample, 2] = blue


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    """Fill uv with the centres of consecutive pixels, row by row, for drawing a whole image.

    first_pixel: int64, the row-major index of the first pixel. uv: (B, 2) float32. For a
    pixel below the picture, `pixel_centre` gives a coordinate of the last row: it is stored, too.
    """
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    uv[sample, 0], uv[sample, 1] = pixel_centre(first_pixel + sample, width, height)


def launch_sample_batch(image, seed, step, uv, target, launch=on_gpu):
    blocks = blocks_for(uv.shape[0])
    launch(sample_batch, blocks, THREADS, image, np.uint64(seed), np.uint64(step), uv, target)


def launch_pixel_centres(first_pixel, width, height, uv, launch=on_gpu):
    blocks = blocks_for(uv.shape[0])
    first_pixel, width, height = np.int64(first_pixel), np.int32(width), np.int32(height)
    launch(pixel_centres, blocks, THREADS, first_pixel, width, height, uv)
