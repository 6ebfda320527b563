"""np.float32 in place of numba's."""

import numpy as np
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return np.float32(0.2126) * red + np.float32(0.7152) * green + np.float32(0.0722) * blue
