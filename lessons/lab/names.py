"""The names of `numba.cuda` that the lab knows, and what a name in a kernel's source stands for."""

import ast
import functools
import types

from numba import cuda

from lessons.lab.source import MISSING, Source

POSITIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")
HOLDERS = ("shared", "local", "const", "atomic", "cg")  # of functions
FUNCTIONS = (
    "grid", "gridsize", "shared.array", "local.array", "const.array_like",
    "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp",
    "cg.this_grid", "grid_group.sync",  # a grid group is what this_grid() returns
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep",
    "atomic.add", "atomic.sub", "atomic.and_", "atomic.or_", "atomic.xor", "atomic.exch",
    "atomic.max", "atomic.min", "atomic.nanmax", "atomic.nanmin", "atomic.inc", "atomic.dec",
    "atomic.cas", "atomic.compare_and_swap",
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
    "ballot_sync", "all_sync", "any_sync", "eq_sync", "match_any_sync", "activemask", "lanemask_lt",
    "popc", "brev", "clz", "ffs", "fma", "cbrt", "selp",
)  # fmt: skip
KNOWN_PATHS = (*POSITIONS, *HOLDERS, *FUNCTIONS)


class CudaName:
    """A name below `cuda`, such as "threadIdx.x" or "atomic.add"."""

    def __init__(self, path: str) -> None:
        self.path = path


def recognise(value: object) -> CudaName | None:
    """The `CudaName` of a Python object that belongs to `numba.cuda`, or None."""
    if isinstance(value, types.ModuleType):
        return recognise_module(value)
    for path, known in known_objects():
        if known is value:
            return CudaName(path)
    return None


@functools.cache
def known_objects() -> list[tuple[str, object]]:
    """(path, object) of each known name that this version of Numba has."""
    found = [(path, object_at(path)) for path in KNOWN_PATHS]
    return [(path, known) for path, known in found if known is not None]


def recognise_module(module: types.ModuleType) -> CudaName | None:
    # With the package numba-cuda installed, `numba.cuda` is a module of that package.
    name = module.__name__
    if module is cuda or name in ("numba.cuda", "numba_cuda.numba.cuda"):
        return CudaName("")
    if name.startswith(("numba.cuda", "numba_cuda")) and name.endswith("cg"):
        return CudaName("cg")
    return None


def object_at(path: str) -> object | None:
    """What Numba has at `cuda.path`; None if there is nothing."""
    target: object | None = cuda
    for part in path.split("."):
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
        return CudaName(f"{owner.path}.{node.attr}" if owner.path else node.attr)
    if isinstance(owner, types.ModuleType):
        return getattr(owner, node.attr, MISSING)
    return MISSING


def is_known(path: str) -> bool:
    """Whether `path`, or something below it, is a name that the lab knows."""
    return any(known == path or known.startswith(f"{path}.") for known in KNOWN_PATHS)


def unknown(path: str) -> str:
    """Why a name cannot be used: part of a finding."""
    if object_at(path) is None:
        return f"there is no cuda.{path}; is it misspelt?"
    return f"the checked simulator does not know cuda.{path}"
