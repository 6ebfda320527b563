"""A device function in a module of its own."""

from numba import cuda, float32


@cuda.jit(device=True)
def smooth_step(t):
    return t * t * (float32(3) - float32(2) * t)
