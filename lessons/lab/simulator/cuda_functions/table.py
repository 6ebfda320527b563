"""Which function stands behind a name of `numba.cuda`."""

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from ... import names
from ...names import VECTORS, unknown
from ..context import Context
from ..stops import Unsupported
from ..teams import Mask
from .arguments import in_order
from .arrays import (
    OPERATIONS,
    atomic,
    cas,
    compare_and_swap,
    constant_array,
    local_array,
    shared_array,
)
from .numbers import (
    brev,
    call_bfloat16,
    call_device_library,
    call_half,
    cbrt,
    clz,
    ffs,
    fma,
    load_with_hint,
    make_vector,
    popc,
    selp,
    store_with_hint,
)
from .threads import (
    activemask,
    all_sync,
    any_sync,
    ballot,
    eq_sync,
    fence,
    fence_of_block,
    grid,
    grid_sync,
    gridsize,
    lanemask_lt,
    match_all,
    match_any,
    nothing,
    shuffle,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    this_grid,
)

# (context, where the call is, arguments, threads that call) -> the call's value
CudaFunction: TypeAlias = Callable[[Context, ast.Call, Sequence[object], Mask], object]

FUNCTIONS: dict[str, CudaFunction] = {
    "grid": grid, "gridsize": gridsize,
    "shared.array": shared_array, "local.array": local_array, "const.array_like": constant_array,
    "syncthreads": syncthreads, "syncthreads_count": syncthreads_count,
    "syncthreads_and": syncthreads_and, "syncthreads_or": syncthreads_or,
    "syncwarp": syncwarp, "cg.this_grid": this_grid, "grid_group.sync": grid_sync,
    "threadfence": fence, "threadfence_block": fence_of_block, "threadfence_system": fence,
    "nanosleep": nothing,
    **{f"atomic.{name}": partial(atomic, operation=f) for name, f in OPERATIONS.items()},
    "atomic.cas": cas, "atomic.compare_and_swap": compare_and_swap,
    "shfl_sync": partial(shuffle, source_lane=lambda lane, source: source % 32),
    "shfl_up_sync": partial(shuffle, source_lane=lambda lane, delta: lane - delta),
    "shfl_down_sync": partial(shuffle, source_lane=lambda lane, delta: lane + delta),
    "shfl_xor_sync": partial(shuffle, source_lane=lambda lane, bits: lane ^ bits),
    "ballot_sync": ballot, "all_sync": all_sync, "any_sync": any_sync, "eq_sync": eq_sync,
    "match_any_sync": match_any, "match_all_sync": match_all, "activemask": activemask,
    "lanemask_lt": lanemask_lt,
    **dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), load_with_hint),
    **dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), store_with_hint),
    "popc": popc, "brev": brev, "clz": clz, "ffs": ffs, "fma": fma, "cbrt": cbrt, "selp": selp,
}  # fmt: skip


def call_cuda(
    context: Context,
    node: ast.Call,
    path: str,
    arguments: Sequence[object],
    keywords: dict[str, object],
    mask: Mask,
) -> object:
    """Value of cuda.<path>(...) for the threads in `mask`."""
    arguments = in_order(node, path, arguments, keywords)
    if path in VECTORS:
        return make_vector(path, node, arguments)
    library, _, name = path.partition(".")
    if library == "fp16" and names.is_known(path):
        return call_half(name, node, arguments)
    if library == "bf16" and names.is_known(path):
        return call_bfloat16(name, node, arguments)
    if library == "libdevice" and names.is_known(path):
        return call_device_library(name, node, arguments)
    if path not in FUNCTIONS:
        raise Unsupported(node, unknown(path))
    return FUNCTIONS[path](context, node, arguments, mask)
