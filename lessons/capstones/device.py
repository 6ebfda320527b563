"""Where a command's kernels run: on a GPU, or compiled for the CPU by the lab's native engine."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from kernels.launch import on_gpu
from kernels.plumbing.errors import InputError
from kernels.plumbing.recording import OneByOne, Recorded
from kernels.training.devices import cpu_name, filled, gpu_name, threads_label, why_no_gpu
from lessons.native_launch import launch as launch_native

BACKENDS = ("auto", "native", "cuda")
FUSED = "fused"  # cuda, with kernels that do a whole step, where a lesson has them

# An array where the kernels run: NumPy's on the CPU, Numba's on a GPU (which has no types).
DeviceArray = Any


class Device(NamedTuple):
    """What runs kernels, and where their arrays lie.

    name: "native" or "cuda". description: the processor or GPU, in words. launch(kernel, blocks,
    threads, *arguments): what every `launch_NAME` takes. to_device(array): a copy where the kernels
    run. empty(shape, dtype=float32): an array there, which holds anything. to_host(array): a copy
    as a NumPy array. synchronize(): wait until every launch is done. records: whether launches may
    be recorded as a CUDA graph. fused: whether a lesson that has kernels which do a whole step
    takes those, and not the readable ones.
    """

    name: str
    description: str
    launch: Callable[..., None]
    to_device: Callable[[np.ndarray], DeviceArray]
    empty: Callable[..., DeviceArray]
    to_host: Callable[[DeviceArray], np.ndarray]
    synchronize: Callable[[], None]
    records: bool = False
    fused: bool = False

    def repeated(
        self, work: Callable[..., None], proof: Sequence[DeviceArray] = ()
    ) -> OneByOne | Recorded:
        """What does `work(launch)` each time it is called, as a graph where that can be had.

        work, proof: see `kernels.plumbing.recording.Recorded`.
        """
        return Recorded(work, proof) if self.records else OneByOne(work, self.launch)


def choose_device(name: str) -> Device:
    """The device that --backend names. Raises `InputError` if it cannot be had."""
    if name == "native":
        return native_device()
    obstacle = why_no_gpu()
    if obstacle and name != "auto":
        raise InputError(
            f"--backend {name} needs a usable NVIDIA GPU, but {obstacle}; "
            "without one take --backend native"
        )
    return native_device() if obstacle else cuda_device()._replace(fused=name != "cuda")


def native_device() -> Device:
    return Device(
        name="native",
        description=f"{cpu_name()}, {threads_label(numba.get_num_threads())}",
        launch=launch_native,
        to_device=np.array,
        empty=empty_on_host,
        to_host=np.array,
        synchronize=lambda: None,
    )


def cuda_device() -> Device:
    # Small networks mean small grids; Numba's advice to use larger ones is well meant.
    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]
    return Device(
        name="cuda",
        description=gpu_name(),
        launch=on_gpu,
        to_device=cuda.to_device,
        empty=empty_on_gpu,
        to_host=lambda array: array.copy_to_host(),
        synchronize=cuda.synchronize,
        records=True,
    )


def empty_on_host(shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    # Not zeros: a kernel that forgets to write must not look right by luck.
    whole = np.issubdtype(dtype, np.integer)
    return filled(shape, np.iinfo(dtype).max if whole else np.nan, dtype)


def empty_on_gpu(shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
    return cuda.device_array(shape, dtype)
