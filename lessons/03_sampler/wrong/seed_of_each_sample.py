"""Each sample has a seed of its own, seed + sample, and the counter is always 0."""
# caught by: random_uv
# diagnosis: counter_0 is 0

from numba import float32, uint64
from numba.extending import register_jitable

from kernels.field_math import LOW_32_BITS, philox4x32


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    """Return the random coordinate (u, v) of one sample of one step, both in [0, 1)."""
    # CALL RANDOM_SEED, and then the first two numbers of the sequence
    iseed = seed + sample
    ilow = uint64(LOW_32_BITS)
    nbits = uint64(32)
    k0 = iseed & ilow
    k1 = iseed >> nbits
    c1 = step & ilow
    c2 = step >> nbits
    n1, n2, n3, n4 = philox4x32(uint64(0), c1, c2, uint64(0), k0, k1)
    x = float32(n1 >> uint64(8)) * float32(2.0**-24)
    y = float32(n2 >> uint64(8)) * float32(2.0**-24)
    return x, y
