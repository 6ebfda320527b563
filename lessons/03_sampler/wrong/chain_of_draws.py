"""The words of one draw are the counters of the next: a state, in a loop over the samples."""
# caught by: random_uv
# diagnosis: only sample 0

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    low, half = uint64(LOW_32_BITS), uint64(32)
    word_0, word_1 = step & low, step >> half
    for _ in range(sample + uint64(1)):
        word_0, word_1, _, _ = philox4x32(
            sample, word_0, word_1, uint64(0), seed & low, seed >> half
        )
    unit = float32(2.0**-24)
    return float32(word_0 >> uint64(8)) * unit, float32(word_1 >> uint64(8)) * unit
