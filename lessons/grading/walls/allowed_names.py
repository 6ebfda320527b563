"""What a student's file may name: modules, builtins, attributes. Everything else is left out.

Nothing here is about what a file computes. It is about what reaches beyond the file: the frames,
modules and functions of the process that it shares with the simulator.
"""

import builtins
import functools
import importlib
import re
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import cuda, types
from numba.core.registry import CPUDispatcher

from kernels.plumbing.errors import InputError
from lessons.course.lesson import lessons
from lessons.course.rooms import kernel_modules
from lessons.grading.walls import stand_ins

# Modules that a file may import. "kernels" is those files of it that hold kernels and constants;
# so are the files of the rooms that lessons are made of.
MODULES = {
    "__future__", "cmath", "collections", "collections.abc", "itertools", "math", "numba",
    "numba.core.types", "numba.cuda", "numba.cuda.bf16", "numba.cuda.cg", "numba.cuda.extending",
    "numba.cuda.fp16", "numba.cuda.libdevice", "numba.cuda.random", "numba.cuda.types",
    "numba.cuda.vector_types", "numba.extending", "numba.types", "numbers", "numpy", "numpy.fft",
    "numpy.linalg", "numpy.random", "numpy.typing", "operator", "random", "time", "typing",
    "kernels", "kernels.adam", "kernels.backward", "kernels.config", "kernels.encode",
    "kernels.plumbing.errors", "kernels.field_math", "kernels.histogram", "kernels.image_ops",
    "kernels.launch", "kernels.matmul", "kernels.mlp_forward", "kernels.sampler", "kernels.state",
    "kernels.training_step", *kernel_modules(lessons()), *stand_ins.MODULES,
}  # fmt: skip
# Of some modules only a few names, or all but a few: the others read files, run text, or reach
# whatever has a name.
ONLY = {
    # The instructions, and not what makes one: its emulation would be Python in the simulator.
    "kernels.fast.ptx": {"begin_copy", "multiply_bfloat16", "multiply_halves", "pack_bfloat16",
                         "pack_halves", "wait_for_copies"},
    "kernels.fast.ptx_numpy": set(),
    "numba": {"__version__", "core", "cuda", "extending", "jit", "literal_unroll", "njit",
              "prange", "types", "version_info"},
    "numba.cuda.extending": {"register_jitable"},
    "numba.extending": {"register_jitable"},
    # Not what gives a namespace, in which an attribute may have any name.
    "time": {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
             "process_time_ns", "sleep", "time", "time_ns"},
    "typing": {"Annotated", "Any", "AnyStr", "Callable", "ClassVar", "Concatenate", "Dict", "Final",
               "FrozenSet", "Generator", "Generic", "Iterable", "Iterator", "List", "Literal",
               "Mapping", "MutableMapping", "MutableSequence", "NamedTuple", "Never", "NewType",
               "NoReturn", "Optional", "ParamSpec", "Protocol", "Self", "Sequence", "Set",
               "SupportsFloat", "SupportsIndex", "SupportsInt", "TYPE_CHECKING", "Tuple", "Type",
               "TypeAlias", "TypeVar", "TypedDict", "Union", "assert_never", "cast", "overload",
               "override"},
}  # fmt: skip
WITHOUT = {
    "numba.cuda": {
        "as_cuda_array", "declare_device", "external_stream", "from_cuda_array_interface",
        "guvectorize", "mapped", "open_ipc_array", "set_memory_manager", "vectorize",
        # What holds memory at an address, and what links other programs.
        "Archive", "BaseCUDAMemoryManager", "CUSource", "Cubin", "Fatbin", "GetIpcHandleMixin",
        "HostOnlyCUDAMemoryManager", "IpcHandle", "LTOIR", "LinkableCode", "MappedMemory",
        "MemoryPointer", "Object", "PTXSource", "PinnedMemory", "current_context",
        "require_context", "runtime",
    },
    "numpy": {
        "DataSource", "fromfile", "fromregex", "genfromtxt", "info", "load", "loadtxt", "memmap",
        "save", "savetxt", "savez", "savez_compressed", "seterrcall", "source", "test",
        "add_docstring", "add_newdoc", "bmat", "deprecate", "deprecate_with_doc", "lookfor",
        "safe_eval", "set_numeric_ops", "set_string_function",
        # What views memory, or other people's.
        "asmatrix", "from_dlpack", "frombuffer", "nested_iters", "record", "setbufsize",
        "show_config", "show_runtime", "get_include",
    },
    "operator": {"attrgetter", "methodcaller"},
}  # fmt: skip
# Of NumPy's classes that are no types of numbers: the others look at memory.
CLASSES_OF_NUMPY = {
    "BitGenerator", "Generator", "LinAlgError", "PCG64", "Philox", "SFC64", "SeedSequence",
    "broadcast", "dtype", "errstate", "finfo", "flatiter", "iinfo", "ndarray", "ndenumerate",
    "ndindex", "vectorize",
}  # fmt: skip
BUILTINS_LEFT_OUT = {
    "breakpoint", "compile", "copyright", "credits", "delattr", "eval", "exec", "getattr",
    "globals", "help", "license", "locals", "open", "setattr", "vars",
}  # fmt: skip
OF_OTHER_LESSONS: set[int] = set()  # ids of functions that could do the work of the present file
BUILTINS_OF_OUR_OWN = {"getattr"}  # what a file gets in their place: see own_objects
INNER_NAMES_ALLOWED = {
    "__all__", "__author__", "__debug__", "__doc__", "__file__", "__match_args__", "__name__",
    "__slots__", "__version__",
}  # fmt: skip
# Not those that hand out memory (__array_interface__), or any name (__getattr__).
METHODS_ALLOWED = {
    *(f"__{name}__" for name in (
        "abs add and bool call ceil class_getitem complex contains delitem divmod enter eq exit "
        "float floor floordiv format ge get getitem gt hash iadd iand ifloordiv ilshift imatmul "
        "imod imul index init init_subclass int invert ior ipow irshift isub iter itruediv ixor le "
        "len length_hint lshift lt matmul missing mod mul ne neg new next or pos post_init pow "
        "radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow "
        "rrshift rshift rsub rtruediv rxor set set_name setitem str sub truediv trunc "
        "xor"
    ).split()),
}  # fmt: skip
# Those of a named tuple, and texts.
ATTRIBUTES_ALLOWED = {
    "_asdict", "_fields", "_make", "_replace", "__doc__", "__name__", "__qualname__", "__version__",
}  # fmt: skip
ATTRIBUTES_LEFT_OUT = {
    # Of an array. After `resize` without a look at who else uses it, its views are anywhere.
    "ctypes", "dump", "dumps", "resize", "setflags", "tofile",
    "capsule", "cffi",  # of NumPy's generators
    # Of what Numba has compiled, which would look at no index: see `run_as_python`.
    "compile", "entry_point", "get_compile_result", "get_overload", "overloads", "recompile",
    "func_id", "func_ir", "mro", "targetctx", "targetdescr", "typingctx",  # of classes and kernels
    "register",  # of an abstract class, which then takes anything for one of its own
    "obj",  # of an exception: whatever lacked the attribute
    "asyncio", "atexit", "builtins", "concurrent", "dis", "fcntl", "gc", "importlib",
    "inspect", "linecache", "mmap", "modules", "multiprocessing", "os", "pickle", "posix", "pty",
    "resource", "runpy", "shutil", "signal", "socket", "subprocess", "sys", "threading",
    "traceback", "warnings", "weakref",  # of a module that was come by
    "func_closure", "func_code", "func_defaults", "func_dict", "func_globals",  # of compiled Python
    "ag_await", "ag_code", "ag_frame", "cr_await", "cr_code", "cr_frame", "cr_origin",
    "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "f_trace", "gi_code", "gi_frame",
    "gi_yieldfrom", "tb_frame", "tb_next",
}  # fmt: skip


def why_not_module(name: str) -> str | None:
    """Why a module may not be imported; None if it may, and is there."""
    if name in MODULES:
        try:
            module_named(name)
            return None
        except ImportError:
            pass
    return f"imports {name}"


def module_named(name: str) -> ModuleType:
    """What a file gets when it imports this. Raises `ImportError`."""
    return stand_ins.MODULES.get(name) or importlib.import_module(name)


def why_not(module: ModuleType, name: str) -> str | None:
    """Why a file may not have a name of a module; None if it may."""
    known = module.__name__
    only = ONLY.get(known, {name})
    is_type = known == "numba" and isinstance(value_in(module, name), types.Type)
    if is_left_out(name) or name in WITHOUT.get(known, ()) or not (name in only or is_type):
        return f"uses {name} of {known}"
    value = value_in(module, name)
    if isinstance(value, ModuleType) and value.__name__ not in MODULES:
        return f"uses {value.__name__}"
    if id(value) in OF_OTHER_LESSONS:
        return f"uses {name} of {known}, which is another lesson's work"
    if known in stand_ins.MODULES and not hasattr(module, name):
        return f"uses {name} of {known}"
    if known.startswith("numpy") and isinstance(value, type) and name not in CLASSES_OF_NUMPY:
        if not issubclass(value, np.generic):
            return f"uses {name} of {known}"
    if known in ("numpy.random", "numpy.linalg", "numpy.fft") and name in ("test", "set_state"):
        return f"uses {name} of {known}"
    makes_classes = isinstance(value, type) and issubclass(value, type)
    is_table = isinstance(value, (dict, list, set)) and known not in stand_ins.MODULES
    is_table = is_table and not known.startswith("kernels.")
    if makes_classes or is_table:  # a table of NumPy's or Numba's own, which a file could change
        return f"uses {name} of {known}"
    return None


def value_in(module: ModuleType, name: str) -> object:
    """What a name of a module stands for, None if for nothing; also one of its own modules."""
    if is_inner(name):
        return None
    if f"{module.__name__}.{name}" in MODULES:
        try:
            return module_named(f"{module.__name__}.{name}")
        except ImportError:
            return None
    return getattr(module, name, None)


def is_left_out(name: str) -> bool:
    if name in ATTRIBUTES_ALLOWED:
        return False
    return name.startswith("_") or name in ATTRIBUTES_LEFT_OUT


def is_inner(name: str) -> bool:
    """Whether it is one of Python's inner names, or of what the lab's stand-ins keep of a run."""
    return name.startswith("_lab_") or (name.startswith("__") and name.endswith("__"))


def safe_builtins() -> dict[str, object]:
    """What stands for Python's builtins in a file that `plain_code` has looked at."""
    own = {"__build_class__": stand_ins.build_class, "__import__": stand_ins.imported}
    known = {name: value for name, value in vars(builtins).items() if name not in BUILTINS_LEFT_OUT}
    return {**known, **own}


# ---------------------------------------------------------------- types in text


def prepare_numba(has_gpu: bool) -> None:
    """Before a file is loaded: what it gives Numba as text, and where there is no GPU."""
    guard_signatures()
    run_as_python()
    if not has_gpu:
        compile_when_launched()


def guard_signatures() -> None:
    """Have Numba read types such as "void(float32[:])" as types only: it evaluates that text."""
    for name, module in list(sys.modules.items()):
        if name.startswith("numba") and name.endswith(".sigutils"):
            vars(module)["eval"] = evaluate_types


class InPython(CPUDispatcher):
    """What `numba.njit` gives to a file: kernels may call it, and the host runs it in Python."""

    def __call__(self, *arguments: object, **keywords: object) -> object:
        return self.py_func(*arguments, **keywords)

    def compile(self, sig: Any) -> Any:
        """For Numba itself, which looks for what it has compiled elsewhere."""
        super().compile(sig)


def run_as_python() -> None:
    """Let nothing that a file compiles for the CPU run there.

    Compiled code looks at no index, so it reads and writes all of the process's memory. In kernels
    the lab looks at each of them, in Python there is an IndexError.
    """
    for name in ("jit", "njit"):
        vars(numba)[name] = in_python(vars(numba)[name])


def in_python(decorator: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(decorator)
    def wrapped(*arguments: object, **options: object) -> object:
        made = decorator(*arguments, **options)
        if isinstance(made, CPUDispatcher):
            made.__class__ = InPython
            return made
        return in_python(made) if callable(made) else made

    return wrapped


def compile_when_launched() -> None:
    """Let `@cuda.jit("void(float32[:])")` wait: it compiles at once, for which it needs a GPU."""
    jit = cuda.jit

    @functools.wraps(jit)
    def wrapped(first: object = None, *others: object, **options: object) -> object:
        if first is None or isinstance(first, FunctionType):
            return jit(first, *others, **options)
        return jit(*others, **options)

    vars(cuda)["jit"] = wrapped


def evaluate_types(text: str, names: dict[str, object], types: dict[str, object]) -> object:
    """What `eval` gives for a text of types. Raises `InputError` for any other text."""
    words = re.findall(r"[^\W\d]\w*", text)
    known = all(word in types and not isinstance(types[word], ModuleType) for word in words)
    if not known or re.search(r"[^\w\s()\[\],:=]", text):
        raise InputError(f"{text[:60]!r} names no types: write such as 'void(float32[:], int32)'")
    return eval(text, {"__builtins__": {}, **names}, types)
