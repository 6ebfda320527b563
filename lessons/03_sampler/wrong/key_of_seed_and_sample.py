"""The sample is mixed into the key, and no counter counts."""
# caught by: random_uv
# diagnosis: key_0 is the lower half of (the seed xor the sample)

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    none, half, mask = uint64(0), uint64(32), uint64(LOW_32_BITS)
    own = seed ^ sample
    words = philox4x32(none, step & mask, step >> half, none, own & mask, own >> half)
    scale = float32(2.0**-24)
    return float32(words[0] >> uint64(8)) * scale, float32(words[1] >> uint64(8)) * scale
