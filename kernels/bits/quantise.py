"""Numbers that are stored in few bits, and how one trains with them.

    values (n,) float32  ->  quantised (n,) float32, each one of 2^bits levels between -1 and 1
    values, quantised, moved (n,)  ->  values, moved along

The idea: rounding after training hurts, for the network has never seen a rounded grid. So round in
every step. But rounding is flat between its steps: its derivative is zero, and nothing would learn.
So there are two grids. An exact one remembers small changes. A rounded copy of it is what the
network sees, and what the optimiser moves; the exact one then follows as if rounding were nothing.
Only where a value had to be clipped does it stay: there the picture does not depend on it.

Source: Bengio, Leonard, Courville, "Estimating or propagating gradients through stochastic
neurons", 2013 (the straight-through estimator); Jacob et al., "Quantization and training of neural
networks for efficient integer-arithmetic-only inference", CVPR 2018.
"""

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def level_of(value, bits):
    """The level, of 0 to 2^bits - 1, that is nearest to a value, of two the upper one: int32.

    value: float32; what is below -1 or above 1 is clipped first. bits: 1 to MAX_BITS.
    """
    steps = float32((1 << bits) - 1)
    clipped = min(max(value, float32(-1)), float32(1))
    return int32(math.floor((clipped + float32(1)) * float32(0.5) * steps + float32(0.5)))


@register_jitable
def level_value(level, bits):
    """What a level stands for: float32, -1 for level 0, and 1 for the last one."""
    return float32(2 * level) / float32((1 << bits) - 1) - float32(1)


@cuda.jit
def quantise(values, bits, quantised):
    """Round every value to its level. One thread per value.

    values: (n,) float32. bits: 1 to MAX_BITS. Sets quantised (n,) float32.
    """
    i = cuda.grid(1)
    if i < values.shape[0]:
        quantised[i] = level_value(level_of(values[i], bits), bits)


@cuda.jit
def follow(values, quantised, moved):
    """Add to every value what the optimiser has added to its rounded copy. One thread per value.

    quantised: (n,) float32, the copy before; moved: (n,) float32, the copy after. Changes values
    (n,) float32; those below -1 or above 1 stay.
    """
    i = cuda.grid(1)
    if i >= values.shape[0]:
        return

    value = values[i]
    if float32(-1) <= value <= float32(1):
        values[i] = value + (moved[i] - quantised[i])


def launch_quantise(values, bits, quantised, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS)
    launch(quantise, blocks, BLOCK_THREADS, values, bits, quantised)


def launch_follow(values, quantised, moved, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS)
    launch(follow, blocks, BLOCK_THREADS, values, quantised, moved)
