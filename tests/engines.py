"""Where the kernel tests run: the checked simulator, the native engine, or a GPU."""

import numpy as np
from numba import cuda

from kernels.training.staged_backends import CudaBackend
from lessons.lab import checked_run
from lessons.native_backend import HostBackend, NativeBackend

SENTINEL = np.float32(-7777.25)
GUARD = 64


def launch_checked(kernel, blocks, threads, *arguments):
    """Nothing may be found; of the advice, none about double precision.

    Numba is not asked what compiles: that is what `kernels/compile_kernels.py` is for.
    """
    report = checked_run(kernel, blocks, threads, *arguments, measure=False, ask_numba=False)
    report.raise_if_problems()
    assert [finding for finding in report.findings if finding.topic == "double"] == []


class CheckedBackend(HostBackend):
    """The staged kernels on the checked simulator."""

    name = "checked"
    device = "checked simulator"
    launch = staticmethod(launch_checked)


def launch_mixed(kernel, *given):
    """Kernels on tensor cores on the checked simulator, which emulates them; others native."""
    is_raw = kernel.py_func.__module__.endswith("tensor_cores")
    (launch_checked if is_raw else NativeBackend.launch)(kernel, *given)


class Checked:
    """The simulator; any finding but advice fails the test, and doubles do."""

    backend = CheckedBackend

    @property
    def launch(self):
        return self.backend.launch

    def to_device(self, array):
        return array.copy()

    def to_host(self, array):
        return array

    def array(self, values, dtype=np.float32):
        return self.to_device(np.ascontiguousarray(values, dtype))

    def output(self, shape, initial=None, dtype=np.float32):
        return Output(self, shape, initial, dtype)


class Native(Checked):
    """The same kernels compiled for the CPU, with bounds checks."""

    backend = NativeBackend


class Cuda(Checked):
    """A real GPU."""

    backend = CudaBackend

    def to_device(self, array):
        return cuda.to_device(array)

    def to_host(self, array):
        return array.copy_to_host()


class Output:
    """An array for a kernel to write, with sentinels in it and guard zones around it."""

    def __init__(self, engine, shape, initial, dtype):
        self.sentinel = SENTINEL.astype(dtype)
        self.engine = engine
        self.shape = shape
        self.size = int(np.prod(shape))
        buffer = np.full(self.size + 2 * GUARD, self.sentinel)
        if initial is not None:
            buffer[GUARD : GUARD + self.size] = np.ravel(initial)
        self.buffer = engine.to_device(buffer)
        self.array = self.buffer[GUARD : GUARD + self.size].reshape(shape)

    def read(self):
        buffer = self.engine.to_host(self.buffer)
        assert (buffer[:GUARD] == self.sentinel).all(), "written before the array's beginning"
        assert (buffer[-GUARD:] == self.sentinel).all(), "written past the array's end"
        return buffer[GUARD : GUARD + self.size].reshape(self.shape)


ENGINES = {"checked": Checked, "native": Native, "cuda": Cuda}
