"""The step is cut into halves of 16 bits."""
# caught by: random_uv
# diagnosis: wrong places

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    low_32_bits = uint64(LOW_32_BITS)
    half = uint64(32)
    word_0, word_1, _, _ = philox4x32(
        sample,
        step & uint64(0xFFFF),
        step >> uint64(16),
        uint64(0),
        seed & low_32_bits,
        seed >> half,
    )
    unit = float32(2.0**-24)
    return float32(word_0 >> uint64(8)) * unit, float32(word_1 >> uint64(8)) * unit
