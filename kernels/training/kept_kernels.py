"""Kernels compiled for a GPU are kept on the disk: a second start does not compile them again.

Numba can keep kernels too, but it tells them apart by what their closures hold, and a kernel made
by a function holds other kernels, which look new in every process. Here a kernel is told apart by
what its closure *means*: the names of functions, and the values of numbers. That is enough, because
the folder is named after the source of all of them (see `kernels.cpu.compile`).

A kept kernel is a pickle, which can run any program when it is read. So it is read only if it, and
the folder, belong to whoever reads it, and nobody else may write there.
"""

import copy
import hashlib
import os
import pickle
import stat
import types
from pathlib import Path
from typing import Any

from numba import cuda
from numba.core.types import Type

from kernels.cpu.compile import folder_for
from kernels.files.atomic import write_atomically
from kernels.plumbing.front_end import by_successor
from kernels.training.devices import version_of

OURS = "kernels."
PLAIN = (int, float, bool, str, type(None))
PACKAGES = (
    "numba", "llvmlite", "numba-cuda", "cuda-core", "cuda-bindings",
    "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12",
)  # fmt: skip
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnknownMeaning(Exception):
    """A closure holds what cannot be told apart from start to start: the kernel is not kept."""


class KeptKernels:
    """In place of the cache that Numba gives a kernel: one file for each signature."""

    def __init__(self, kernel: Any, folder: Path) -> None:
        self.kernel = kernel
        self.folder = folder

    def path(self, signature: Any) -> Path:
        device = cuda.get_current_device()
        parts = (
            meaning_of(self.kernel.py_func),
            sorted(self.kernel.targetoptions.items(), key=str),
            str(signature),
            tuple(device.compute_capability),
            [version_of(package) for package in PACKAGES],
        )
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
        return self.folder / f"{self.kernel.py_func.__name__}-{digest}.kernel"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The kernel for arguments of these types, or None if it is not there, or not ours."""
        try:
            path = self.path(signature)
            if not (only_ours(self.folder) and only_ours(path)):
                return None
            return kernel_class()._rebuild(**pickle.loads(path.read_bytes()))
        except Exception:  # whatever is wrong with it, the compiler makes another
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            data = pickle.dumps(essential_parts(compiled))
            path = self.path(signature)
            write_atomically(path, lambda file: file.write(data))
            path.chmod(0o600)
        except Exception:  # a full disk, say: then the next start compiles again
            return


def keep(*kernels: Any) -> None:
    """Keep what these kernels will be compiled to, where that is possible."""
    # The successor's compiled kernels are not of a kind that is known here.
    folder = None if by_successor() else folder_for("gpu")
    for kernel in kernels:
        if folder is not None and can_be_kept(kernel):
            kernel._cache = KeptKernels(kernel, folder)


def awaited(kernel: Any, signature: Any) -> bool:
    """Whether a kernel that is to be kept has not been compiled for these arguments yet."""
    kept = getattr(kernel, "_cache", None)
    return isinstance(kept, KeptKernels) and not kept.path(signature).exists()


def can_be_kept(kernel: Any) -> bool:
    # A student's kernel, or one of Numba's simulator, is none of ours.
    function = getattr(kernel, "py_func", None)
    if not hasattr(kernel, "_cache") or not getattr(function, "__module__", "").startswith(OURS):
        return False
    try:
        meaning_of(function)
    except UnknownMeaning:
        return False
    return True


def meaning_of(value: Any) -> Any:
    """The same in each process, and different where the compiled code may be."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, tuple):
        return tuple(meaning_of(part) for part in value)
    if isinstance(value, (Type, type)):
        return str(value)
    if isinstance(value, types.ModuleType):
        return value.__name__
    function = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    if not isinstance(function, types.FunctionType) or not function.__module__.startswith(OURS):
        raise UnknownMeaning(repr(value))
    cells = function.__closure__ or ()
    held = tuple(meaning_of(cell.cell_contents) for cell in cells)
    return function.__module__, function.__qualname__, held, meaning_of(function.__defaults__)


def essential_parts(compiled: Any) -> dict[str, Any]:
    """What makes a kernel run: machine code, not the megabytes of text that it was made from."""
    library = copy.copy(compiled._codelibrary)
    library._llvm_strs = []
    library._ptx_cache = {}
    return {**compiled._reduce_states(), "codelibrary": library}


def kernel_class() -> Any:
    from numba.cuda.dispatcher import _Kernel

    return _Kernel


def only_ours(path: Path) -> bool:
    """Whether nobody else can have written there."""
    if not hasattr(os, "geteuid"):  # Windows: a folder of the user's is the user's
        return True
    found = path.lstat()
    ours = found.st_uid == os.geteuid() and not found.st_mode & OTHERS_MAY_WRITE
    return ours and not stat.S_ISLNK(found.st_mode)
