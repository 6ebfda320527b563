"""Blocks of 32 threads, and a device function for the work."""

import numpy as np
from numba import cuda, uint64
from kernels.field_math import bilinear
from kernels.launch import blocks_for, on_gpu


@cuda.jit(device=True)
def one_sample(i, image, seed, step, uv, target):
    u, v = random_uv(uint64(i), step, seed)
    uv[i, 0] = u
    uv[i, 1] = v
    red, green, blue = bilinear(image, u, v)
    target[i, 0] = red
    target[i, 1] = green
    target[i, 2] = blue


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    i = cuda.grid(1)
    if i < uv.shape[0]:
        one_sample(i, image, seed, step, uv, target)


def launch_sample_batch(image, seed, step, uv, target, launch=on_gpu):
    launch(
        sample_batch,
        blocks_for(uv.shape[0], 32),
        32,
        image,
        np.uint64(seed),
        np.uint64(step),
        uv,
        target,
    )
