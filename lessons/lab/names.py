"""The names of `numba.cuda` that the lab knows, and what a name in a kernel's source stands for."""

import ast
import functools
import sys
import types

import numba
import numpy as np
from numba import cuda

from .bfloat16 import FUNCTIONS as FUNCTIONS_OF_BF16
from .bfloat16 import is_bfloat16
from .libdevice import names_of_libdevice
from .source import MISSING, Source

POSITIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")
FUNCTIONS_OF_FP16 = (
    "habs", "hadd", "hceil", "hcos", "hdiv", "heq", "hexp", "hexp10", "hexp2", "hfloor", "hfma",
    "hge", "hgt", "hle", "hlog", "hlog10", "hlog2", "hlt", "hmax", "hmin", "hmul", "hne", "hneg",
    "hrcp", "hrint", "hrsqrt", "hsin", "hsqrt", "hsub", "htanh", "htrunc",
)  # fmt: skip
MODULES = ("shared", "local", "const", "cg", "fp16", "bf16", "libdevice")  # that may be modules
LOADED_LATER = ("numba.cuda.fp16", "numba.cuda.bf16")  # loading one takes half a second
SUCCESSOR = "numba_cuda_mlir"  # the same names, from another package
SUCCESSORS = (f"{SUCCESSOR}.cuda",)
HOLDERS = ("shared", "local", "const", "atomic", "cg", "fp16", "bf16", "libdevice")  # of functions
FUNCTIONS = (
    "grid", "gridsize", "shared.array", "local.array", "const.array_like",
    "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp",
    "cg.this_grid", "grid_group.sync",  # a grid group is what this_grid() returns
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep",
    "atomic.add", "atomic.sub", "atomic.and_", "atomic.or_", "atomic.xor", "atomic.exch",
    "atomic.max", "atomic.min", "atomic.nanmax", "atomic.nanmin", "atomic.inc", "atomic.dec",
    "atomic.cas", "atomic.compare_and_swap",
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
    "ballot_sync", "all_sync", "any_sync", "eq_sync", "match_any_sync", "match_all_sync",
    "activemask", "lanemask_lt", "popc", "brev", "clz", "ffs", "fma", "cbrt", "selp",
    "ldca", "ldcg", "ldcs", "ldlu", "ldcv", "stcg", "stcs", "stwb", "stwt",
)  # fmt: skip
KINDS_OF_VECTORS = {  # of numbers, and what CUDA C calls them
    "int8": ("char",), "int16": ("short",), "int32": ("int",), "int64": ("long", "longlong"),
    "uint8": ("uchar",), "uint16": ("ushort",), "uint32": ("uint",),
    "uint64": ("ulong", "ulonglong"), "float16": (), "float32": ("float",), "float64": ("double",),
}  # fmt: skip
# "float32x4" -> "float32x4", "float4" -> "float32x4"
VECTORS = {
    name: f"{kind}x{count}"
    for kind, aliases in KINDS_OF_VECTORS.items()
    for count in (1, 2, 3, 4)
    for name in (f"{kind}x{count}", *(f"{alias}{count}" for alias in aliases))
}
FP16 = tuple(f"fp16.{name}" for name in FUNCTIONS_OF_FP16)
BF16 = tuple(f"bf16.{name}" for name in FUNCTIONS_OF_BF16)
LIBDEVICE = tuple(f"libdevice.{name}" for name in names_of_libdevice())
KNOWN_PATHS = (*POSITIONS, *HOLDERS, *FUNCTIONS, *VECTORS, *FP16, *BF16, *LIBDEVICE)
KNOWN = frozenset(KNOWN_PATHS) | {path.partition(".")[0] for path in KNOWN_PATHS}
OVER_NAN = {f"atomic.{name}": f"atomic.nan{name}" for name in ("max", "min")}
UNROLL = tuple(  # marks a loop for the compiler, and is its argument to everyone else
    function
    for function in (getattr(cuda, "literal_unroll", None), numba.literal_unroll)
    if function is not None
)


class CudaName:
    """A name below `cuda`, such as "threadIdx.x" or "atomic.add".

    of_successor: whether it is numba-cuda-mlir's, whose atomic max and min pass over what is no
    number, as numba-cuda's nanmax and nanmin do.
    """

    def __init__(self, path: str, of_successor: bool = False) -> None:
        self.path = OVER_NAN.get(path, path) if of_successor else path
        self.of_successor = of_successor


def recognise(value: object) -> CudaName | None:
    """The `CudaName` of a Python object that belongs to `numba.cuda`, or None."""
    if isinstance(value, types.ModuleType):
        return recognise_module(value)
    if isinstance(value, type) and issubclass(value, np.generic) and is_bfloat16(np.dtype(value)):
        return CudaName("bf16.bfloat16")  # of ml_dtypes
    if str(getattr(value, "__module__", "")).endswith("_internal.cuda_bf16"):
        name = getattr(value, "__name__", "").lstrip("_")  # as in CUDA C
        return CudaName(f"bf16.{name}") if name in FUNCTIONS_OF_BF16 else None
    path, known = known_objects(loaded_modules()).get(id(value), ("", None))
    found = known is value and known is not None
    return CudaName(path, is_of_successor(value)) if found else None


def loaded_modules() -> tuple[str, ...]:
    """Which of the modules that need not be there a kernel's author has loaded by now."""
    return tuple(name for name in (*LOADED_LATER, *SUCCESSORS) if name in sys.modules)


@functools.cache
def known_objects(loaded: tuple[str, ...]) -> dict[int, tuple[str, object]]:
    """id -> (path, object) of each known name that this version of Numba has.

    loaded: what `loaded_modules` says.
    """
    fronts = [cuda, *(sys.modules[name] for name in SUCCESSORS if name in loaded)]
    found = [(path, object_at(path, front)) for path in reversed(KNOWN_PATHS) for front in fronts]
    found += [("bf16.bfloat16", object_at("types.bfloat16", front)) for front in fronts]
    return {id(known): (path, known) for path, known in found if is_distinctive(known)}


def is_distinctive(value: object) -> bool:
    """Whether an object tells where it comes from: `warpsize` may be the number 32."""
    return value is not None and not isinstance(value, int)


def recognise_module(module: types.ModuleType) -> CudaName | None:
    # With the package numba-cuda installed, `numba.cuda` is a module of that package.
    name = module.__name__
    if module is cuda or name in ("numba.cuda", "numba_cuda.numba.cuda", *SUCCESSORS):
        return CudaName("", name in SUCCESSORS)
    package, _, last = name.rpartition(".")
    if package.startswith(("numba.cuda", "numba_cuda")) and last in MODULES:
        return CudaName(last)
    return None


def object_at(path: str, front: types.ModuleType = cuda) -> object | None:
    """What Numba has at `cuda.path`; None if there is nothing."""
    first, *rest = path.split(".")
    target = getattr(front, first, None)
    if target is None:
        target = sys.modules.get(f"{front.__name__}.{first}")
    for part in rest:
        target = getattr(target, part, None)
    return target


def resolve(source: Source, node: ast.AST) -> object:
    """The object a name or dotted name of a function stands for; MISSING if it is not known."""
    if isinstance(node, ast.Name):
        if node.id in source.function.__code__.co_varnames:
            return MISSING
        value = source.lookup(node.id)
        return recognise(value) or value
    if not isinstance(node, ast.Attribute):
        return MISSING
    owner = resolve(source, node.value)
    if isinstance(owner, CudaName):
        return below(owner, node.attr)
    if isinstance(owner, types.ModuleType):
        value = getattr(owner, node.attr, MISSING)
        return recognise(value) or value  # such as `numba.cuda`
    return MISSING


def cuda_path(source: Source, node: ast.AST) -> str:
    """ "atomic.add" of what stands for `cuda.atomic.add`; "" of what is no name below cuda."""
    found = resolve(source, node)
    return found.path if isinstance(found, CudaName) else ""


def below(owner: CudaName, name: str) -> object:
    """What `owner.name` stands for: a name of cuda, or one of the types that cuda repeats."""
    path = f"{owner.path}.{name}" if owner.path else name
    value = None if owner.path or is_known(path) else object_at(path)
    is_type = isinstance(value, numba.types.Number)
    return value if is_type else CudaName(path, owner.of_successor)


def type_of_numba(value: object) -> object | None:
    """Numba's own type for a type of its successor or of `cuda`; None for all other values."""
    if type(value).__module__.startswith(SUCCESSOR):
        value = getattr(numba, str(value), None)
    return value if isinstance(value, (numba.types.Number, numba.types.Boolean)) else None


def is_of_successor(value: object) -> bool:
    """Whether a module, a type, a function or a kernel belongs to numba-cuda-mlir."""
    homes = type(value).__module__, getattr(value, "__module__", ""), getattr(value, "__name__", "")
    return any(str(home).startswith(SUCCESSOR) for home in homes)


def package_of(value: object) -> str:
    """The package in which the compiler of a kernel, a type or a function has its parts."""
    return f"{SUCCESSOR}.numba_cuda" if is_of_successor(value) else "numba.cuda"


def is_known(path: str) -> bool:
    """Whether `path`, or something below it, is a name that the lab knows."""
    return path in KNOWN


def for_host(name: str) -> str:
    """Of a function of cuda that a kernel cannot call."""
    instead = INSTEAD_OF_HOST.get(name, "")
    return f"cuda.{name} is for the host, and does not exist in a kernel{instead}"


def unknown(path: str) -> str:
    """Why a name cannot be used: part of a finding."""
    if object_at(path) is None:
        return f"there is no cuda.{path}; is it misspelt?"
    if path in INSTEAD_OF_HOST:
        return for_host(path)
    return f"the checked simulator does not know cuda.{path}"


INSTEAD_OF_HOST = {
    "synchronize": "; cuda.syncthreads() waits for the threads of a block",
    "device_array": "; cuda.local.array and cuda.shared.array make arrays in a kernel",
    "to_device": "; pass the array to the kernel",
}


# ---------------------------------------------------------------- arguments by name

# Of the functions of `numba.cuda` that take arguments by name: the names.
ARGUMENT_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("shared.array", "local.array"), ("shape", "dtype")),
    **dict.fromkeys(("grid", "gridsize"), ("ndim",)),
    "shfl_sync": ("mask", "value", "src_lane"),
    **dict.fromkeys(("shfl_up_sync", "shfl_down_sync"), ("mask", "value", "delta")),
    "shfl_xor_sync": ("mask", "value", "lane_mask"),
    **dict.fromkeys(("syncthreads_count", "syncthreads_and", "syncthreads_or"), ("predicate",)),
    **dict.fromkeys(
        ("all_sync", "any_sync", "eq_sync", "ballot_sync"), ("mask_type", "predicate_type")
    ),
    **dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), ("array", "i")),
    **dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), ("array", "i", "value")),
}
