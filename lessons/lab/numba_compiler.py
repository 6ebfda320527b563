"""Ask Numba's own compiler whether a kernel compiles for a GPU; none is needed for that.

numba-cuda compiles in four steps: it reads the byte code, infers every type, writes the code of an
intermediate language, and has NVIDIA's library translate that. Every mistake of a kernel is found
in the first three, which take some tens of milliseconds; only those are done here.
"""

import functools
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from types import SimpleNamespace, TracebackType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types

from .errors import without_colours
from .names import SUCCESSOR
from .overloads import in_types_of

CAPABILITY = (9, 0)  # of the GPU that is compiled for, where there is none to ask
# What a broken or incomplete installation raises. It says nothing about the kernel.
INSTALLATION_ERRORS = (
    "CudaSupportError", "CudaDriverError", "NvvmSupportError", "NvrtcSupportError",
    "DynamicLibNotFoundError",
)  # fmt: skip
# Modules of numba-cuda that few kernels need, and that take long to prepare.
SELDOM_NEEDED = ("fp16", "bf16", "fp8", "libdevicedecl", "vector_types")
# Numba asks of each array whether it is one of them, and NumPy would load the module for that.
MASKED_ARRAYS = {"ma": SimpleNamespace(MaskedArray=())}
# Names that Numba's compiler gives what it is working on, in whose `loc` the place is.
WORK = ("constraint", "inst", "expr", "value", "loc", "self", "stmt", "interp")
# "File "kernel.py", line 7" or "at /home/me/kernel.py (7)", as Numba's messages tell a place.
TOLD_PLACE = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>[1-9]\d*):'
    r"|(?:at|[Rr]aised from) (?P<path>\S+) \((?P<number>[1-9]\d*)\)"
)


class CompileError(NamedTuple):
    """Why Numba refuses a kernel: its exception, and the place in the user's code."""

    kind: str  # name of the exception's class
    message: str
    filename: str
    line: int


@functools.cache
def why_not_asked() -> str | None:
    """None if Numba's compiler for GPUs can be asked; else the reason, as part of a sentence."""
    # Numba makes the attributes of its `config` at run time, where mypy does not see them.
    if numba.config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
        return "NUMBA_ENABLE_CUDASIM is set"
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed"
    return None


class CannotAsk(Exception):
    """Numba's compiler cannot be asked; the message is the reason, as part of a sentence."""


def compile_error(
    kernel: object,
    function: Callable,
    arguments: Sequence[object],
    argument_types: tuple[types.Type, ...] | None = None,
    successor: bool = False,
) -> CompileError | None:
    """Why Numba does not compile a kernel for these arguments; None if it does.

    kernel: what `@cuda.jit` made of the function, or the function. argument_types: if they are not
    those of the arguments as they are. successor: whether numba-cuda-mlir is asked. Raises
    `CannotAsk`.
    """
    obstacle = why_not_asked()
    if obstacle and not successor:
        raise CannotAsk(obstacle)
    try:
        from numba.cuda.compiler import compile_cuda
        from numba.cuda.typing.typeof import Purpose, typeof

        if successor:
            from numba_cuda_mlir.cuda import compile_ptx
            from numba_cuda_mlir.numba_cuda import types as own
            from numba_cuda_mlir.numba_cuda.typing.typeof import Purpose, typeof
    except ImportError as error:
        raise CannotAsk(f"this version of numba-cuda is not known here ({error})") from None

    given = getattr(kernel, "targetoptions", {})
    options = {name: bool(given.get(name)) for name in ("debug", "lineinfo", "fastmath")}
    try:
        if argument_types is None:
            with absent(np, MASKED_ARRAYS):
                argument_types = tuple(typeof(value, Purpose.argument) for value in arguments)
        elif successor:
            argument_types = tuple(in_types_of(own, kind) for kind in argument_types)
        with warnings.catch_warnings(), any_device():
            warnings.simplefilter("ignore")
            if successor:
                compile_ptx(function, argument_types, cc=CAPABILITY)
                return None
            ask = partial(
                compile_cuda, function, types.none, argument_types, cc=CAPABILITY, **options
            )
            calls = map(function.__globals__.get, function.__code__.co_names)
            if any(hasattr(value, "py_func") for value in calls) or not compiles_with_little(ask):
                ask()
    except TimeoutError:  # of an alarm that somebody has set: it says nothing about the kernel
        raise
    except Exception as error:  # a mistake in a kernel can raise anything inside of a compiler
        if type(error).__name__ in INSTALLATION_ERRORS:
            raise CannotAsk(f"numba-cuda could not compile here ({type(error).__name__})") from None
        text = without_colours(str(error))
        return CompileError(type(error).__name__, text, *place_of(error, function))
    return None


def assembled(
    kernel: Callable, arguments: Sequence[object], argument_types: tuple | None
) -> tuple[str, int] | None:
    """The text that NVIDIA's compiler makes of a kernel (PTX), and registers per thread.

    argument_types: if they are not those of the arguments as they are. Returns None where compiler
    or assembler cannot be asked.
    """
    if why_not_asked():
        return None
    from numba.cuda.typing.typeof import Purpose, typeof

    types_ = argument_types or tuple(typeof(one, Purpose.argument) for one in arguments)
    try:
        return assembled_for(kernel, types_)
    except Exception:  # as above: whatever a broken installation raises
        return None


@functools.lru_cache(maxsize=128)
def assembled_for(kernel: Callable, argument_types: tuple) -> tuple[str, int]:
    from cuda.bindings import nvjitlink
    from numba import cuda

    function = getattr(kernel, "py_func", kernel)
    options = getattr(kernel, "targetoptions", {})
    fast = bool(options.get("fastmath"))
    with warnings.catch_warnings(), any_device():
        warnings.simplefilter("ignore")
        ptx, _ = cuda.compile_ptx(
            function, argument_types, cc=CAPABILITY, fastmath=fast, lineinfo=True
        )
    given = ["-arch=sm_{}{}".format(*CAPABILITY), "-verbose"]
    if options.get("max_registers"):
        given.append(f"-maxrregcount={options['max_registers']}")
    linker = nvjitlink.create(len(given), given)
    try:
        text = ptx.encode()
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text, len(text), "kernel")
        nvjitlink.complete(linker)
        log = bytearray(nvjitlink.get_info_log_size(linker))
        nvjitlink.get_info_log(linker, log)
    finally:
        nvjitlink.destroy(linker)
    return ptx, int(re.findall(r"used (\d+) registers", log.decode())[0])


# ---------------------------------------------------------------- asking with less

# Before it compiles its first kernel, numba-cuda prepares everything that a kernel may need: for
# most programs that are checked, a fifth of their time. What compiles with half of it compiles with
# all of it. What does not is asked again, with everything.


def compiles_with_little(ask: Callable[[], object]) -> bool:
    """Whether a kernel is known to compile. If not, it may do so all the same."""
    from numba.cuda.descriptor import cuda_target

    whole = tuple(getattr(cuda_target, name, False) for name in ("_typingctx", "_targetctx"))
    if False in whole or getattr(whole[1], "_registries", None):
        return False  # another version of numba-cuda, or everything is prepared already
    try:
        cuda_target._typingctx, cuda_target._targetctx = contexts_of_little()
        with absent(numba.cuda, dict.fromkeys(SELDOM_NEEDED, stub_of_declarations())):
            ask()
    except TimeoutError:
        raise
    except Exception:  # of whatever kind, for it means little here
        return False
    finally:
        cuda_target._typingctx, cuda_target._targetctx = whole
    return True


@functools.cache
def contexts_of_little() -> tuple[Any, Any]:
    """What numba-cuda keeps all declarations in, for types and for code."""
    from numba.cuda.target import CUDATargetContext, CUDATypingContext

    class Little:
        """New declarations come with new modules, and are looked for only then."""

        modules = 0

        def refresh(self) -> None:
            if self.modules != len(sys.modules):
                self.modules = len(sys.modules)
                super().refresh()  # type: ignore[misc]
                self.modules = len(sys.modules)

    class Typing(Little, CUDATypingContext):
        def resolve_value_type(self, value: Any) -> Any:
            if hasattr(value, "py_func"):
                raise NotImplementedError  # another kernel could not use it, once it is compiled
            return super().resolve_value_type(value)

    class Target(Little, CUDATargetContext):
        pass

    typing = Typing()
    return typing, Target(typing)


def stub_of_declarations() -> SimpleNamespace:
    from numba.cuda.core.imputils import Registry as Code
    from numba.cuda.typing.templates import Registry as Typing

    names = SimpleNamespace(target_registry=Code("none"), impl_registry=Code("none"))
    names.registry = names.typing_registry = Typing()
    return names


@contextmanager
def absent(package: Any, stubs: Mapping[str, object]) -> Iterator[None]:
    """Modules that nobody has loaded yet are stubs, and so are not loaded now."""
    loaded = vars(package)
    stubs = {
        name: stub for name, stub in stubs.items()
        if name not in loaded and f"{package.__name__}.{name}" not in sys.modules
    }  # fmt: skip
    for name, stub in stubs.items():
        setattr(package, name, stub)
    try:
        yield
    finally:
        for name in [name for name, stub in stubs.items() if loaded.get(name) is stub]:
            delattr(package, name)


def fingerprint(argument: object) -> Hashable:
    """What decides the type that Numba gives an argument."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        # An array of one row is both, and its type the same as that of many rows.
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return argument.dtype, argument.ndim, layout, flags.aligned, flags.writeable
    if isinstance(argument, tuple):
        return type(argument), tuple(map(fingerprint, argument))
    if isinstance(argument, np.generic):
        return argument.dtype
    return type(argument), type(argument) is int and argument >= 1 << 63


@contextmanager
def any_device() -> Iterator[None]:
    """A compiler asks which GPU to compile for: let it ask without a GPU."""
    from numba.cuda import dispatcher

    ask, tools = dispatcher.get_current_device, sys.modules.get(f"{SUCCESSOR}.tools")
    dispatcher.get_current_device = lambda: current_device(ask)
    known = getattr(tools, "_cached_cc", None)
    if tools is not None and known is None:
        tools._cached_cc = current_device(ask).compute_capability  # type: ignore[attr-defined]
    try:
        yield
    finally:
        dispatcher.get_current_device = ask
        if tools is not None:
            tools._cached_cc = known  # type: ignore[attr-defined]


@functools.cache
def current_device(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception:  # whatever a missing or broken driver raises
        return SimpleNamespace(compute_capability=CAPABILITY)


def place_of(error: Exception, function: Callable) -> tuple[str, int]:
    """(filename, line) of the user's code that Numba could not compile.

    The message tells it for some errors, and for the others what the compiler was working on.
    """
    places = places_in(error.__traceback__)
    filenames = [function.__code__.co_filename, *(filename for filename, _ in places)]
    told = TOLD_PLACE.search(without_colours(str(error)))
    if told:
        end = PurePath(told["file"] or told["path"]).name
        for filename in filenames:
            if PurePath(filename).name == end:
                return filename, int(told["line"] or told["number"])
    if places:
        return places[-1]
    return function.__code__.co_filename, function.__code__.co_firstlineno


def places_in(traceback: TracebackType | None) -> list[tuple[str, int]]:
    """The places in the user's code that the compiler was working on, the innermost last."""
    places = []
    while traceback is not None:
        for name in WORK:
            location = location_of(traceback.tb_frame.f_locals.get(name))
            if location is not None and is_of_user(location.filename):
                places.append((location.filename, location.line))
                break
        traceback = traceback.tb_next
    return places


def location_of(work: object) -> Any:
    location = getattr(work, "loc", work)
    return location if type(location).__name__ == "Loc" else None


@functools.cache
def is_of_user(filename: str) -> bool:
    """Whether a file is not one of Numba's, which implements much in Python itself."""
    packages = ("/numba/", "/numba_cuda/", "/numba_cuda_mlir/")
    unified = filename.replace("\\", "/")
    return not any(package in unified for package in packages) and not unified.startswith("unknown")
