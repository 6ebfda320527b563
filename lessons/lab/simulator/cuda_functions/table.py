"""Which function stands behind a name of `numba.cuda`."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ... import names
from ...libdevice import bits_of, count_leading, find_first, reverse_bits
from ...names import ARGUMENT_NAMES, VECTORS, unknown
from ...numba_types import INT32
from ..context import Context
from ..stops import Unsupported
from ..values import Call
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
    call_bfloat16,
    call_device_library,
    call_half,
    cbrt,
    fma,
    load_with_hint,
    make_vector,
    of_bits,
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

CudaFunction: TypeAlias = Callable[[Context, Call], object]  # -> the call's value

FUNCTIONS: dict[str, CudaFunction] = {
    "grid": grid, "gridsize": gridsize,
    "shared.array": shared_array, "local.array": local_array, "const.array_like": constant_array,
    "syncthreads": syncthreads, "syncthreads_count": syncthreads_count,
    "syncthreads_and": syncthreads_and, "syncthreads_or": syncthreads_or,
    "syncwarp": syncwarp, "cg.this_grid": this_grid, "grid_group.sync": grid_sync,
    "threadfence": fence, "threadfence_system": fence,
    "threadfence_block": partial(fence, only_block=True),
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
    "popc": partial(of_bits, compute=lambda value: bits_of(value).sum(axis=1), dtype=INT32),
    "clz": partial(of_bits, compute=count_leading, dtype=INT32),
    "ffs": partial(of_bits, compute=find_first, dtype=INT32),
    "brev": partial(of_bits, compute=reverse_bits), "fma": fma, "cbrt": cbrt, "selp": selp,
}  # fmt: skip


LIBRARIES = {"fp16": call_half, "bf16": call_bfloat16, "libdevice": call_device_library}


def in_order(path: str, call: Call) -> Call:
    """With all arguments in the order of the function's parameters, those given by name as well."""
    names = ARGUMENT_NAMES.get(path, ())[len(call.arguments) :]
    unknown_names = [name for name in call.keywords if name not in names]
    if unknown_names and unknown_names != ["alignment"]:
        raise Unsupported(call.node, f"cuda.{path} has no argument `{unknown_names[0]}` here")
    by_name = [call.keywords[name] for name in names if name in call.keywords]
    return call._replace(arguments=[*call.arguments, *by_name])


def call_cuda(context: Context, path: str, call: Call) -> object:
    """Value of cuda.<path>(...) for the threads that call."""
    call = in_order(path, call) if call.keywords else call
    if path in VECTORS:
        return make_vector(path, call)
    library, _, name = path.partition(".")
    if library in LIBRARIES and names.is_known(path):
        return LIBRARIES[library](name, call)
    if path not in FUNCTIONS:
        raise Unsupported(call.node, unknown(path))
    return FUNCTIONS[path](context, call)
