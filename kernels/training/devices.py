"""What this machine has to run on: the GPU, if it can be used, and the processor."""

import ctypes
import importlib.util
import math
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
import numpy as np

from kernels import image_ops
from kernels.config import COLOURS
from kernels.plumbing.front_end import by_successor, cuda

# Compute capabilities.
TENSOR_CORES_SINCE = (8, 0)  # whose tensor cores take bfloat16 and TF32
VECTOR_ATOMICS_SINCE = (9, 0)
SUCCESS = 0  # what the driver's functions return
NO_PACKAGES = "there is one, but not its packages: python -m pip install -r requirements.txt"


def why_no_gpu() -> str | None:
    """None if kernels can run, else the reason they cannot, as part of a sentence."""
    try:
        if not cuda.is_available():
            return missing_gpu_packages() or "no NVIDIA driver or GPU was found"
        gray = cuda.to_device(np.ones((1, 1), np.float32))
        white = cuda.to_device(np.ones((1, 1, COLOURS), np.float32))
        image_ops.launch_over_pixels(image_ops.grayscale, white, gray)
        cuda.synchronize()
    except Exception as error:  # whatever a broken driver or toolkit raises, the CPU still works
        failure = f"a first kernel failed ({type(error).__name__}: {first_line(error)})"
        return missing_gpu_packages() or failure
    return None


def missing_gpu_packages() -> str | None:
    """`NO_PACKAGES` where a GPU could be used if numba-cuda were installed; else None."""
    has_compiler = by_successor() or importlib.util.find_spec("numba_cuda") is not None
    if not has_compiler and driver_finds_a_gpu():
        return NO_PACKAGES
    return None


def driver_finds_a_gpu() -> bool:
    """Ask NVIDIA's driver, without any package."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        if driver.cuInit(0) != SUCCESS:
            return False
        count = ctypes.c_int(0)
        return driver.cuDeviceGetCount(ctypes.byref(count)) == SUCCESS and count.value > 0
    except (OSError, AttributeError):  # no driver, or something else of that name
        return False


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def memory_left() -> float:
    """Bytes of memory that programs may still take; infinity where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    kibibytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(kibibytes[0]) if kibibytes else math.inf


def filled(shape: int | tuple[int, ...], value: float, dtype: Any = np.float32) -> np.ndarray:
    """An array on the host that holds one value.

    Raises `MemoryError` if it does not fit. Linux would hand out memory that there is not, and kill
    the program without a word when it is used.
    """
    if np.dtype(dtype).itemsize * math.prod(np.atleast_1d(shape).tolist()) > memory_left():
        raise MemoryError
    return np.full(shape, value, dtype)


def compute_capability() -> tuple[int, int]:
    """The GPU's generation, such as (9, 0)."""
    major, minor = cuda.get_current_device().compute_capability
    return major, minor


def adds_four_at_once() -> bool:
    """Whether the GPU adds four floats to memory in one atomic instruction."""
    return compute_capability() >= VECTOR_ATOMICS_SINCE


def cuda_is_simulated() -> bool:
    """Whether Numba's own CUDA simulator is switched on, by NUMBA_ENABLE_CUDASIM."""
    # Numba makes the attributes of its `config` at run time, where mypy does not see them.
    return bool(numba.config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


def gpu_name() -> str:
    """The GPU's name, as its driver tells it."""
    if cuda_is_simulated():
        return "Numba's CUDA simulator"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def version_of(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cpu_name() -> str:
    """The processor's name as its maker writes it, where the system tells."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine() or "unknown CPU"


def threads_label(threads: int) -> str:
    """ "1 thread", "2 threads"."""
    return f"{threads} thread{'s' if threads > 1 else ''}"
