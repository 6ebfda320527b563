"""What replaces the methods of a kernel: its launches go to a session instead of a GPU."""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numba.cuda

from ..dimensions import MAX_THREADS, Configuration, configuration, forall_configuration
from ..errors import InputError, refuse_names
from ..names import SUCCESSOR, is_of_successor
from ..numba_compiler import any_device
from ..overloads import in_types_of, types_of
from ..signatures import keep_signatures, signatures_of
from ..source import python_function
from .arguments import typed
from .devices import MULTIPROCESSORS, Device, blocks_at_once
from .fixed import Fixed

if TYPE_CHECKING:
    from .session import Session

INSPECTIONS = (
    "inspect_asm", "inspect_llvm", "inspect_sass", "inspect_sass_cfg", "inspect_lto_ptx",
)  # fmt: skip
UNKNOWN = (
    "get_regs_per_thread", "get_shared_mem_per_block", "get_local_mem_per_thread",
    "get_const_mem_size",
)  # fmt: skip
# The others are about compiling for a GPU.
KEPT_OPTIONS = ("device", "inline", "fastmath", "extensions")


class Launcher(metaclass=Fixed):
    """`kernel[grid, block]`: waits for the arguments."""

    def __init__(self, session: "Session", kernel: Callable, chosen: Configuration) -> None:
        self._lab_session = session
        self._lab_kernel = kernel
        self._lab_chosen = chosen

    def __call__(self, *arguments: Any, **by_name: Any) -> None:
        refuse_names(by_name)
        self._lab_session.launch(self._lab_kernel, self._lab_chosen, arguments)
        kernel = self._lab_kernel
        if not signatures_of(kernel):
            with suppress(TypeError, ValueError):  # of what has no type of its own, as cuda.In(...)
                remember_types(kernel, [tuple(typed(kernel, value) for value in arguments)])


class Overloads(dict, metaclass=Fixed):
    """`kernel.overloads`: what a program may ask of the machine code, by signature.

    There is no machine code; that of a signature which was never launched may be asked for, too.
    """

    def __init__(self, kernel: Any) -> None:
        super().__init__()
        self._lab_kernel = kernel

    def __missing__(self, types: tuple) -> "WithoutCode":
        self[types] = WithoutCode(self._lab_kernel, types)
        return self[types]


class WithoutCode(metaclass=Fixed):
    """What a program may ask of a compiled kernel; what only machine code tells is 0."""

    regs_per_thread = const_mem_size = shared_mem_per_block = local_mem_per_thread = 0
    max_threads_per_block = MAX_THREADS
    cooperative = property(lambda self: "this_grid" in names_in(self._lab_kernel))

    def __init__(self, kernel: Any, types: tuple) -> None:
        self._lab_kernel = kernel
        self._lab_types = types

    @property
    def signature(self) -> Any:
        return types_of(self._lab_kernel).void(*self._lab_types)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks a GPU could hold at once: that of `devices.Device`."""
        return MULTIPROCESSORS * blocks_at_once(blockdim)

    @functools.cached_property
    def _lab_code(self) -> Any:
        """What the compiler makes of the kernel, for which it needs no GPU."""
        kernel, types = self._lab_kernel, self._lab_types
        with any_device():
            if is_of_successor(kernel):
                anew = type(kernel)(kernel.py_func, targetoptions=dict(kernel.targetoptions))
                return anew.compile(types, output="ptx")
            dispatcher = importlib.import_module("numba.cuda.dispatcher")
            return dispatcher._Kernel(kernel.py_func, types, **kernel.targetoptions)

    metadata = property(lambda self: self._lab_code.metadata)  # what numba-cuda-mlir keeps

    def inspect_asm(self, cc: Any = None) -> str:
        """PTX, for the capability of the lab's device."""
        kernel, cc = self._lab_kernel, cc or Device.compute_capability
        if is_of_successor(kernel):
            return str(self.metadata["ptx"])
        with any_device():
            return str(numba.cuda.compile_ptx(kernel.py_func, self._lab_types, cc=cc)[0])

    def inspect_llvm(self) -> str:
        """The intermediate language from which PTX is made."""
        code = self._lab_code
        if not is_of_successor(self._lab_kernel):
            return str(code.inspect_llvm())
        make = importlib.import_module(f"{SUCCESSOR}.mlir_optimization").get_llvmir
        with any_device():
            return str(make(code))

    def inspect_sass(self) -> str:
        raise InputError(
            "inspect_sass: machine code is made for a GPU, and there is none; inspect_asm gives a "
            "kernel's PTX"
        )

    inspect_sass_cfg = inspect_lto_ptx = inspect_sass

    def inspect_types(self, file: Any = None) -> None:
        self.inspect_llvm()


def names_in(kernel: Any) -> tuple[str, ...]:
    return python_function(kernel).__code__.co_names


def kernel_methods(session: "Session") -> dict[str, Callable]:
    """name -> method of the class of kernels."""

    def configure(
        kernel: Callable, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Launcher:
        return Launcher(session, kernel, configuration((griddim, blockdim, stream, sharedmem)))

    def getitem(kernel: Callable, dimensions: Any) -> Launcher:
        return Launcher(session, kernel, configuration(dimensions))

    def forall(
        kernel: Callable, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        chosen = forall_configuration(ntasks, tpb, stream, sharedmem)
        return Launcher(session, kernel, chosen) if ntasks else lambda *arguments: None

    def specialize(kernel: Callable, *arguments: Any) -> Callable:
        return kernel  # each launch looks at its arguments anyway

    def inspect(name: str) -> Callable:
        def method(kernel: Any, signature: Any = None) -> Any:
            if signature is not None:
                return getattr(kernel.overloads[tuple(signature)], name)()
            return {types: getattr(code, name)() for types, code in kernel.overloads.items()}

        return method

    return {
        **{name: inspect(name) for name in INSPECTIONS},
        **{name: unknown_without_gpu(name) for name in UNKNOWN},
        "configure": configure,
        "__getitem__": getitem,
        "forall": forall,
        "specialize": specialize,
    }


def unknown_without_gpu(name: str) -> Callable:
    """A method that only a GPU's compiler could answer."""

    def method(kernel: Callable, signature: Any = None) -> int:
        warnings.warn(f"{name}: only a GPU's compiler knows; without one it is 0", stacklevel=2)
        return 0

    return method


def without_code(kernel: Any) -> Any:
    options = getattr(kernel, "targetoptions", None)  # kernels of Numba's simulator have none
    if options is not None and hasattr(kernel, "overloads") and not options.get("device"):
        annotated = list(kernel.overloads)  # numba-cuda-mlir compiles for the types of annotations
        kernel.overloads = Overloads(kernel)
        if annotated:
            keep_signatures(kernel, annotated)
            remember_types(kernel, annotated)
    return kernel


def remember_types(kernel: Any, launched: Iterable[tuple]) -> None:
    """Note the types that a kernel was made for, or launched with, as a compiler would."""
    code = getattr(kernel, "overloads", None)
    if not isinstance(code, Overloads):
        return
    for given in launched:
        types = tuple(in_types_of(types_of(kernel), kind) for kind in given)
        if types not in code:
            code[types] = WithoutCode(kernel, types)


def jit_replacement(original: Callable) -> Callable:
    """`cuda.jit` that compiles nothing: explicit signatures are kept for the launches."""

    def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
        kept = {name: value for name, value in options.items() if name in KEPT_OPTIONS}
        make = partial(original, device=device, **kept)
        if inspect.isfunction(func_or_sig):
            return without_code(make(func_or_sig))
        signatures = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]

        def decorate(function: Callable) -> Any:
            kernel = without_code(make(function))
            if func_or_sig is not None:
                keep_signatures(kernel, signatures)
                remember_types(kernel, [signature.arguments for signature in signatures_of(kernel)])
            return kernel

        return decorate

    return jit
