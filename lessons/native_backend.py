"""Train with the staged CUDA kernels, compiled for the CPU by the lab's native engine."""

from collections.abc import Callable

import numba
import numpy as np

from kernels.plumbing.errors import InputError
from kernels.training.devices import cpu_name, filled, threads_label
from kernels.training.staged_backends import StagedBackend
from lessons.lab.compiled.engine import launch as launch_native
from lessons.lab.errors import InputError as LabError


def launch(kernel: Callable, blocks: object, threads: object, *arguments: object) -> None:
    """A launcher as `kernels.launch` has them. Raises `InputError` for what the engine refuses.

    Whether the kernels compile for a GPU too, the tests say, and the lessons' checks.
    """
    try:
        launch_native(kernel, blocks, threads, *arguments, ask_numba=False)
    except LabError as error:
        raise InputError(str(error)) from None


class HostBackend(StagedBackend):
    """The staged kernels on NumPy arrays; a subclass says what runs them."""

    @staticmethod
    def to_device(array: np.ndarray) -> np.ndarray:
        return np.array(array)

    @staticmethod
    def empty(shape: tuple[int, ...]) -> np.ndarray:
        # Not zeros: a kernel that forgets to write must not look right by luck.
        return filled(shape, np.nan)

    @staticmethod
    def to_host(array: np.ndarray) -> np.ndarray:
        return array.copy()


class NativeBackend(HostBackend):
    """Every kernel as it is written for the GPU, block by block on the CPU's cores.

    Gains: the very kernels of the lessons train on a machine without a GPU, with every index
    checked. Gives up: speed; `CpuBackend` does the same work in an order made for a CPU.
    """

    name = "native"
    launch = staticmethod(launch)

    @property
    def device(self) -> str:
        return f"{cpu_name()}, {threads_label(numba.get_num_threads())}"
