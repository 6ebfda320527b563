"""The launch function starts a kernel of kernels/."""
# points: 5

import numpy as np
from numba import cuda
from kernels import sampler
from kernels.launch import blocks_for


@cuda.jit
def sample_batch(image, seed, step, uv, target):
    cuda.syncthreads()


def launch_sample_batch(image, seed, step, uv, target, launch):
    arguments = image, np.uint64(seed), np.uint64(step), uv, target
    launch(sampler.sample_batch, blocks_for(uv.shape[0]), 128, *arguments)
