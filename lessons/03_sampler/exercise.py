"""Lesson 3: the sampler. Random points of the picture, and the colours there.

Write `random_uv`, `sample_batch` and `pixel_centres`; the story is in README.md beside this file.

    image (H, W, 3), seed, step  ->  uv (B, 2), target (B, 3)

Check your work with `python -m lessons check 3`.
"""

import numpy as np
from numba import cuda, float32, uint64
from numba.extending import register_jitable

from kernels.config import THREADS
from kernels.field_math import LOW_32_BITS, bilinear, philox4x32, pixel_centre
from kernels.launch import blocks_for, on_gpu


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    """Return the random coordinate (u, v) of one sample of one step, both in [0, 1).

    `sample`, `step`, `seed`: uint64. A pure function of the three, so every backend draws the
    same batch bit for bit, and a resumed run draws what an uninterrupted one would have drawn.
    """
    # 24 bits fill a float32 mantissa exactly: no value is rounded up to 1.0.
    raise NotImplementedError("write me")


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    """Fill one batch; one thread per sample.

    image: (H, W, 3) float32 in [0, 1]. seed, step: uint64; steps count from 1.
    Writes uv (B, 2) float32 in [0, 1), u to the right and v down, and target (B, 3) float32.
    """
    # The grid is rounded up to whole blocks: the last block may hold threads with no sample.
    raise NotImplementedError("write me")


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    """Fill uv with the centres of consecutive pixels, row by row, for drawing a whole image.

    first_pixel: int64, the row-major index of the first pixel. uv: (B, 2) float32. For a
    pixel below the picture, `pixel_centre` gives a coordinate of the last row: it is stored, too.
    """
    raise NotImplementedError("write me")


def launch_sample_batch(image, seed, step, uv, target, launch=on_gpu):
    blocks = blocks_for(uv.shape[0])
    launch(sample_batch, blocks, THREADS, image, np.uint64(seed), np.uint64(step), uv, target)


def launch_pixel_centres(first_pixel, width, height, uv, launch=on_gpu):
    blocks = blocks_for(uv.shape[0])
    first_pixel, width, height = np.int64(first_pixel), np.int32(width), np.int32(height)
    launch(pixel_centres, blocks, THREADS, first_pixel, width, height, uv)
