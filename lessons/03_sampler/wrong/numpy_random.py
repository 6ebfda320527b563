"""Random numbers of NumPy."""
# caught by: random_uv
# diagnosis: not a function

import numpy as np
from numba.extending import register_jitable


@register_jitable(forceinline=True)
def random_uv(sample, step, seed):
    return np.random.random(), np.random.random()
