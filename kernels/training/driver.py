"""The NVIDIA driver, asked without any package: is there a GPU that only lacks its packages?"""

import ctypes
import importlib.util
import sys

from kernels.front_end import by_successor

SUCCESS = 0
NO_PACKAGES = "there is one, but not its packages: python -m pip install -r requirements.txt"


def missing_gpu_packages() -> str | None:
    """`NO_PACKAGES` where a GPU could be used if numba-cuda were installed; else None."""
    has_compiler = by_successor() or importlib.util.find_spec("numba_cuda") is not None
    if not has_compiler and driver_finds_a_gpu():
        return NO_PACKAGES
    return None


def driver_finds_a_gpu() -> bool:
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        if driver.cuInit(0) != SUCCESS:
            return False
        count = ctypes.c_int(0)
        return driver.cuDeviceGetCount(ctypes.byref(count)) == SUCCESS and count.value > 0
    except (OSError, AttributeError):  # no driver, or something else of that name
        return False
