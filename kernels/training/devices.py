"""What this machine has to run on: the GPU, if it can be used, and the processor."""

import math
import platform
from pathlib import Path
from typing import Any

import numba
import numpy as np

from kernels import image_ops
from kernels.config import COLOURS
from kernels.front_end import cuda
from kernels.training.driver import missing_gpu_packages

VECTOR_ATOMICS_SINCE = (9, 0)  # compute capability


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
