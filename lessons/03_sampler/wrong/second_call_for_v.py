"""V is drawn with a second call of Philox, counter 3 being 1, and is not the second word."""
# caught by: random_uv
# diagnosis: v is word 0 of a call in which counter_3 is 1

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def one_number(sample, step, seed, which):
    step_low = step & uint64(LOW_32_BITS)
    step_high = step >> uint64(32)
    seed_low = seed & uint64(LOW_32_BITS)
    seed_high = seed >> uint64(32)
    word, _, _, _ = philox4x32(sample, step_low, step_high, which, seed_low, seed_high)
    return float32(word >> uint64(8)) * float32(2.0**-24)


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    return one_number(sample, step, seed, uint64(0)), one_number(sample, step, seed, uint64(1))
