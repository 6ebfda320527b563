"""Random numbers of Python's own generator."""
# caught by: random_uv
# diagnosis: not a function

import random

from numba.extending import register_jitable


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    return random.random(), random.random()
