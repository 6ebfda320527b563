"""The names of `numba.cuda` that the lab knows, and what a name in a kernel's source stands for."""

import ast
import types

from numba import cuda

from lessons.lab.source import MISSING

# Places in a launch and what holds functions; then the functions themselves.
KNOWN_PATHS = [
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize",
    "shared", "local", "const", "atomic", "cg",
    "grid", "gridsize", "shared.array", "local.array", "const.array_like",
    "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp",
    "cg.this_grid", "grid_group.sync",
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep",
    "atomic.add", "atomic.sub", "atomic.and_", "atomic.or_", "atomic.xor", "atomic.exch",
    "atomic.max", "atomic.min", "atomic.nanmax", "atomic.nanmin", "atomic.inc", "atomic.dec",
    "atomic.cas", "atomic.compare_and_swap",
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
    "ballot_sync", "all_sync", "any_sync", "eq_sync", "match_any_sync", "activemask", "lanemask_lt",
    "popc", "brev", "clz", "ffs", "fma", "cbrt", "selp",
]  # fmt: skip


class CudaName:
    """A name below `cuda`, such as "threadIdx.x" or "atomic.add"."""

    def __init__(self, path):
        self.path = path


def recognise(value):
    """The `CudaName` of a Python object that belongs to `numba.cuda`, or None."""
    if isinstance(value, types.ModuleType):
        if value is cuda or value.__name__ in ("numba.cuda", "numba_cuda.numba.cuda"):
            return CudaName("")
        if value.__name__.startswith(("numba.cuda", "numba_cuda")) and value.__name__.endswith(
            "cg"
        ):
            return CudaName("cg")
        return None
    for path in KNOWN_PATHS:
        target = cuda
        for part in path.split("."):
            target = getattr(target, part, None)
        if target is not None and target is value:
            return CudaName(path)
    return None


def resolve(source, node):
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


def is_known(path):
    return any(known == path or known.startswith(f"{path}.") for known in KNOWN_PATHS)


def unknown(path):
    target = cuda
    for part in path.split("."):
        target = getattr(target, part, None)
    if target is None:
        return f"there is no cuda.{path}; is it misspelt?"
    return f"the checked simulator does not know cuda.{path}"
