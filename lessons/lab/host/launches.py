"""What replaces the methods of a kernel: its launches go to a session instead of a GPU."""

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..dimensions import (
    MAX_THREADS,
    Configuration,
    as_dim3,
    configuration,
    forall_configuration,
    volume,
)
from ..errors import refuse_names
from ..signatures import keep_signatures
from .devices import ATTRIBUTES, MULTIPROCESSORS
from .fixed import Fixed

if TYPE_CHECKING:
    from .session import Session

KEPT_OPTIONS = ("device", "inline", "fastmath")  # the others are about compiling for a GPU


class Launcher(metaclass=Fixed):
    """`kernel[grid, block]`: waits for the arguments."""

    def __init__(self, session: "Session", kernel: Callable, chosen: Configuration) -> None:
        self._lab_session = session
        self._lab_kernel = kernel
        self._lab_chosen = chosen

    def __call__(self, *arguments: Any, **by_name: Any) -> None:
        refuse_names(by_name)
        self._lab_session.launch(self._lab_kernel, self._lab_chosen, arguments)


class Overloads(dict, metaclass=Fixed):
    """`kernel.overloads`: machine code by signature, of which there is none."""

    def __missing__(self, signature: object) -> "WithoutCode":
        return WithoutCode()


class WithoutCode(metaclass=Fixed):
    """What a program may ask of a compiled kernel; what only a compiler knows is 0."""

    regs_per_thread = const_mem_size = shared_mem_per_block = local_mem_per_thread = 0
    max_threads_per_block = MAX_THREADS

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks a GPU could hold at once: that of `devices.Device`."""
        threads = volume(as_dim3(blockdim, "block"))
        return MULTIPROCESSORS * max(1, ATTRIBUTES["MAX_THREADS_PER_MULTI_PROCESSOR"] // threads)


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
    ) -> Launcher:
        chosen = forall_configuration(ntasks, tpb, stream, sharedmem)
        return Launcher(session, kernel, chosen)

    def specialize(kernel: Callable, *arguments: Any) -> Callable:
        return kernel  # each launch looks at its arguments anyway

    methods: dict[str, Callable] = {
        "configure": configure,
        "__getitem__": getitem,
        "forall": forall,
        "specialize": specialize,
    }
    for name in (
        "get_regs_per_thread", "get_shared_mem_per_block", "get_local_mem_per_thread",
        "get_const_mem_size",
    ):  # fmt: skip
        methods[name] = unknown_without_gpu(name)
    return methods


def unknown_without_gpu(name: str) -> Callable:
    """A method that only a GPU's compiler could answer."""

    def method(kernel: Callable, signature: Any = None) -> int:
        warnings.warn(f"{name}: only a GPU's compiler knows; without one it is 0", stacklevel=2)
        return 0

    return method


def without_code(kernel: Any) -> Any:
    options = getattr(kernel, "targetoptions", None)  # kernels of Numba's simulator have none
    if options is not None and hasattr(kernel, "overloads") and not options.get("device"):
        kernel.overloads = Overloads(kernel.overloads)
    return kernel


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
            return kernel

        return decorate

    return jit
