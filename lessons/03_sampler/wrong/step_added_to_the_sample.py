"""The step is added to the sample, too."""
# caught by: random_uv
# diagnosis: the sample + the step

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    low = uint64(LOW_32_BITS)
    word_0, word_1, _, _ = philox4x32(
        sample + step, step & low, step >> uint64(32), uint64(0), seed & low, seed >> uint64(32)
    )
    scale = float32(2.0**-24)
    return float32(word_0 >> uint64(8)) * scale, float32(word_1 >> uint64(8)) * scale
