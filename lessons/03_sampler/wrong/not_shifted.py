"""The words are multiplied with 2**-24 but not shifted: up to 256."""
# caught by: random_uv
# diagnosis: not shifted

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    low_32_bits = uint64(LOW_32_BITS)
    half = uint64(32)
    word_0, word_1, _, _ = philox4x32(
        sample, step & low_32_bits, step >> half, uint64(0), seed & low_32_bits, seed >> half
    )
    unit = float32(2.0**-24)
    return float32(word_0) * unit, float32(word_1) * unit
