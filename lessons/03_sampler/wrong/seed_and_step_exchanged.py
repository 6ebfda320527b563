"""The step is the key, and the seed a counter."""
# caught by: random_uv
# diagnosis: seed and step exchanged

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    low_32_bits = uint64(LOW_32_BITS)
    half = uint64(32)
    word_0, word_1, _, _ = philox4x32(
        sample, seed & low_32_bits, seed >> half, uint64(0), step & low_32_bits, step >> half
    )
    unit = float32(2.0**-24)
    return float32(word_0 >> uint64(8)) * unit, float32(word_1 >> uint64(8)) * unit
