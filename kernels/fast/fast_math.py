"""How the fused kernels are compiled."""

from functools import partial
from typing import Any

import numba
from numba import cuda


def fast_math(registers=None):
    """`cuda.jit` with approximate division and square root. registers: per thread, at most.

    Without link-time optimisation, the default of numba-cuda 0.30: it leaves the approximations out
    (a tenth of a step). And that wish is heard only where `jit` is called on the function itself.
    """
    options: dict[str, Any] = {"fastmath": True}
    if not numba.config.ENABLE_CUDASIM:
        options["lto"] = False
        if registers:
            options["max_registers"] = registers
    return partial(cuda.jit, **options)
