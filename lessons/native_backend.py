"""Train with the staged CUDA kernels, compiled for the CPU by the lab's native engine."""

import numba
import numpy as np

from kernels.training.devices import cpu_name, filled, threads_label
from kernels.training.staged_backends import StagedBackend
from lessons.native_launch import launch


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
