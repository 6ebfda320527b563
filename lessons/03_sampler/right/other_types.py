"""np.uint64 everywhere, and the division by 2**24."""

import numpy as np
from numba import float32
from numba.extending import register_jitable
from kernels.field_math import philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    mask, half, eight = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(8)
    words = philox4x32(sample, step & mask, step >> half, np.uint64(0), seed & mask, seed >> half)
    return float32(words[0] >> eight) / float32(16777216), float32(words[1] >> eight) / float32(
        16777216
    )
