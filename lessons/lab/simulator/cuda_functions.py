"""What stands behind the names of `numba.cuda` in a kernel: positions, barriers, atomics, warps."""

import numpy as np

from lessons.lab.names import CudaName, unknown
from lessons.lab.numba_types import common_dtype, convert, dtype_of_type, truth
from lessons.lab.simulator.memory import Memory, View, row_major_strides
from lessons.lab.simulator.memory_access import ATOMIC_ADD
from lessons.lab.simulator.teams import MAX_SHARED_BYTES, Stop, Unsupported

AXES = "xyz"
FULL_WARP = 0xFFFFFFFF

# ---------------------------------------------------------------- positions


def value_of(machine, path):
    """The number behind "threadIdx.x" and the like, or None if the path is no number."""
    team, launch = machine.team, machine.launch
    if path == "laneid":
        return team.lane_in_warp
    if path == "warpsize":
        return np.int32(32)
    name, _, axis = path.partition(".")
    if len(axis) != 1 or axis not in AXES:
        return None
    axis = AXES.index(axis)
    if name == "threadIdx":
        return team.thread_index[axis]
    if name == "blockIdx":
        return team.block_index[axis]
    if name == "blockDim":
        return np.int32(launch.block[axis])
    if name == "gridDim":
        return np.int32(launch.grid[axis])
    return None


def grid(machine, node, arguments, mask):
    return per_axis(
        machine,
        node,
        arguments,
        lambda axis: (
            machine.team.block_index[axis].astype(np.int64) * machine.launch.block[axis]
            + machine.team.thread_index[axis]
        ),
    )


def gridsize(machine, node, arguments, mask):
    launch = machine.launch
    return per_axis(
        machine, node, arguments, lambda axis: np.int64(launch.grid[axis] * launch.block[axis])
    )


def per_axis(machine, node, arguments, value):
    dimensions = int(arguments[0]) if len(arguments) == 1 else 0
    if dimensions not in (1, 2, 3):
        raise Unsupported(node, "cuda.grid and cuda.gridsize take 1, 2 or 3, written as a number")
    if dimensions == 1:
        return value(0)
    return tuple(value(axis) for axis in range(dimensions))


# ---------------------------------------------------------------- arrays


def shared_array(machine, node, arguments, mask):
    shape, dtype = shape_and_dtype(machine, node, arguments)
    launch = machine.launch
    if shape == (0,):
        shape = (launch.dynamic_shared // dtype.itemsize,)
    size = int(np.prod(shape))
    if node not in launch.shared:
        address = -(-launch.shared_bytes // 16) * 16
        launch.shared_bytes = address + size * dtype.itemsize
        if launch.shared_bytes > MAX_SHARED_BYTES and not launch.dynamic_shared:
            machine.add_finding(
                "limits",
                node,
                f"the shared arrays of a block need {launch.shared_bytes:,} bytes; a block has "
                f"{MAX_SHARED_BYTES:,}: use smaller tiles",
            )
            raise Stop
        data = np.zeros(size * launch.blocks, dtype)
        launch.shared[node] = Memory(
            machine.array_name(node), "shared", data, size, shape, address, node.lineno
        )
        warn_of_double(machine, node, dtype)
    offset = machine.team.block_number.astype(np.int64) * size
    return View(launch.shared[node], offset, shape, row_major_strides(shape))


def local_array(machine, node, arguments, mask):
    shape, dtype = shape_and_dtype(machine, node, arguments)
    size = int(np.prod(shape))
    if node not in machine.local:
        data = np.zeros(size * machine.size, dtype)
        machine.local[node] = Memory(machine.array_name(node), "local", data, size, shape)
        warn_of_double(machine, node, dtype)
    offset = np.arange(machine.size, dtype=np.int64) * size
    return View(machine.local[node], offset, shape, row_major_strides(shape))


def warn_of_double(machine, node, dtype):
    if dtype == np.float64:
        machine.add_finding(
            "slow",
            node,
            "this array holds float64; most GPUs compute float32 32 or 64 times "
            "faster: write float32",
        )


def shape_and_dtype(machine, node, arguments):
    if len(arguments) < 2:
        raise Unsupported(node, "an array needs a shape and a type: (16, 16), float32")
    shape = arguments[0] if isinstance(arguments[0], tuple) else (arguments[0],)
    if any(np.ndim(length) for length in shape):
        raise Unsupported(
            node,
            "the size of this array differs from thread to thread or is known only when the "
            "kernel runs; it must be a number, or a module-level name for one",
        )
    dtype = dtype_of_type(arguments[1])
    if dtype is None:
        raise Unsupported(node, "the type of an array must be one of numba's, such as float32")
    return tuple(int(length) for length in shape), dtype


def constant_array(machine, node, arguments, mask):
    if len(arguments) != 1 or not isinstance(arguments[0], View):
        raise Unsupported(node, "cuda.const.array_like needs an array defined outside the kernel")
    return arguments[0]


# ---------------------------------------------------------------- barriers


def syncthreads(machine, node, arguments, mask):
    machine.meet_block(node, mask)


def syncthreads_count(machine, node, arguments, mask):
    return count_in_block(machine, node, arguments, mask)[0]


def syncthreads_and(machine, node, arguments, mask):
    count, all_threads = count_in_block(machine, node, arguments, mask)
    return (count == all_threads).astype(np.int32)


def syncthreads_or(machine, node, arguments, mask):
    return (count_in_block(machine, node, arguments, mask)[0] > 0).astype(np.int32)


def count_in_block(machine, node, arguments, mask):
    """(count, threads): in how many threads of the block the condition holds, as int32 vectors."""
    condition = machine.full(truth(arguments[0])) & mask
    launch, block = machine.launch, machine.team.block_number
    key = node, machine.round_of(node)
    votes = launch.votes.setdefault(key, np.zeros(launch.blocks, np.int32))
    np.add.at(votes, block[condition], 1)
    machine.meet_block(node, mask)
    return votes[block], np.int32(launch.threads)


def syncwarp(machine, node, arguments, mask):
    check_warp_mask(
        machine, node, arguments[0] if arguments else np.int64(FULL_WARP), mask, "cuda.syncwarp()"
    )
    machine.launch.clock.meet_in_warp(machine.team.lanes[mask])


def this_grid(machine, node, arguments, mask):
    return CudaName("grid_group")


def grid_sync(machine, node, arguments, mask):
    machine.meet_grid(node, mask)
    return np.int32(0)


def nothing(machine, node, arguments, mask):
    return None


# ---------------------------------------------------------------- atomics


def atomic(operation):
    def change(machine, node, arguments, mask):
        if len(arguments) != 3 or not isinstance(arguments[0], View):
            raise Unsupported(node, "an atomic needs an array, an index and a value")
        view, index, value = arguments
        return machine.change(view, as_indices(index), value, operation, mask, node)

    return change


def cas(machine, node, arguments, mask):
    view, index, expected, value = arguments
    return machine.change(view, as_indices(index), value, swap_if(machine, expected), mask, node)


def compare_and_swap(machine, node, arguments, mask):
    view, expected, value = arguments
    indices = [np.int64(0)] * len(view.shape)
    return machine.change(view, indices, value, swap_if(machine, expected), mask, node)


def swap_if(machine, expected):
    expected = machine.full(expected)
    return lambda old, new, position: new if old == expected[position] else old


def as_indices(index):
    return list(index) if isinstance(index, tuple) else [index]


ATOMICS = {
    "add": ATOMIC_ADD,
    "sub": lambda old, new, _: old - new,
    "and_": lambda old, new, _: old & new,
    "or_": lambda old, new, _: old | new,
    "xor": lambda old, new, _: old ^ new,
    "exch": lambda old, new, _: new,
    "max": lambda old, new, _: max(old, new),
    "min": lambda old, new, _: min(old, new),
    "nanmax": lambda old, new, _: np.fmax(old, new),
    "nanmin": lambda old, new, _: np.fmin(old, new),
    "inc": lambda old, new, _: old + old.dtype.type(1) if old < new else old.dtype.type(0),
    "dec": lambda old, new, _: new if old == 0 or old > new else old - old.dtype.type(1),
}

# ---------------------------------------------------------------- within a warp


def check_warp_mask(machine, node, members, mask, what):
    """Every thread that the mask names must arrive, or the warp waits for ever."""
    team = machine.team
    members = machine.full(members).astype(np.int64)
    named_by_arrived = np.where(mask, members, 0).reshape(-1, 32)
    named = (np.bitwise_or.reduce(named_by_arrived, axis=1)[team.row] >> team.lane_in_warp) & 1 == 1
    absent = named & team.present & ~mask
    if absent.any():
        position = int(np.flatnonzero(absent)[0])
        machine.add_finding(
            "barrier",
            node,
            f"{what} waits for {machine.name_position(position)}, which "
            f"{machine.explain_absence(position)}; name in the mask only the lanes that come",
        )
        raise Stop
    unnamed = mask & ((members >> team.lane_in_warp) & 1 == 0)
    if unnamed.any():
        position = int(np.flatnonzero(unnamed)[0])
        machine.add_finding(
            "barrier",
            node,
            f"{machine.name_position(position)} calls {what} with a mask that does not name it",
        )


def in_lane_order(machine, value):
    """A vector as a (warps, 32) table, column = lane number."""
    table = np.zeros((machine.size // 32, 32), machine.full(value).dtype)
    table[machine.team.row, machine.team.lane_in_warp] = machine.full(value)
    return table


def shuffle(source_lane):
    def exchange(machine, node, arguments, mask):
        members, value, argument = arguments[:3]
        check_warp_mask(machine, node, members, mask, "a shuffle")
        lane = machine.team.lane_in_warp.astype(np.int64)
        source = source_lane(lane, convert(argument, np.dtype(np.int64)))
        source = np.where((source < 0) | (source > 31), lane, source)
        absent = mask & ~in_lane_order(machine, mask)[machine.team.row, source]
        if absent.any():
            position = int(np.flatnonzero(absent)[0])
            machine.add_finding(
                "uninitialised",
                node,
                f"{machine.name_position(position)} reads the register of lane "
                f"{int(source[position])} of its warp, which does not take part in this shuffle",
            )
        return in_lane_order(machine, value)[machine.team.row, source]

    return exchange


def ballot(machine, node, arguments, mask):
    members, condition = arguments
    check_warp_mask(machine, node, members, mask, "a vote")
    votes = in_lane_order(machine, machine.full(truth(condition)) & mask).astype(np.uint64)
    bits = (votes << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
    return bits[machine.team.row]


def all_sync(machine, node, arguments, mask):
    failing = ballot(machine, node, [arguments[0], ~machine.full(truth(arguments[1]))], mask)
    return failing == 0


def any_sync(machine, node, arguments, mask):
    return ballot(machine, node, arguments, mask) != 0


def eq_sync(machine, node, arguments, mask):
    members = match_any(machine, node, arguments, mask)
    return members == activemask(machine, node, [], mask)


def match_any(machine, node, arguments, mask):
    members, value = arguments
    check_warp_mask(machine, node, members, mask, "match_any_sync")
    table, here = in_lane_order(machine, value), in_lane_order(machine, mask)
    equal = (machine.full(value)[:, None] == table[machine.team.row]) & here[machine.team.row]
    bits = (equal.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    return bits.astype(np.uint32)


def activemask(machine, node, arguments, mask):
    votes = in_lane_order(machine, mask).astype(np.uint64)
    return (votes << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)[machine.team.row]


def lanemask_lt(machine, node, arguments, mask):
    return ((np.int64(1) << machine.team.lane_in_warp.astype(np.int64)) - 1).astype(np.uint32)


# ---------------------------------------------------------------- bits and arithmetic


def bits_of(value):
    """(unsigned 64-bit value, number of bits)."""
    width = value.dtype.itemsize * 8
    unsigned = value.astype(value.dtype.str.replace("i", "u")).astype(np.uint64)
    return np.atleast_1d(unsigned), width


def bit_table(value):
    unsigned, width = bits_of(value)
    return (unsigned[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)


def popc(machine, node, arguments, mask):
    return shaped(bit_table(arguments[0]).sum(axis=1).astype(np.int32), arguments[0])


def brev(machine, node, arguments, mask):
    bits = bit_table(arguments[0])[:, ::-1]
    total = (bits << np.arange(bits.shape[1], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    return shaped(total.astype(arguments[0].dtype), arguments[0])


def clz(machine, node, arguments, mask):
    bits = bit_table(arguments[0])[:, ::-1] != 0
    leading = np.where(bits.any(axis=1), bits.argmax(axis=1), bits.shape[1])
    return shaped(leading.astype(np.int32), arguments[0])


def ffs(machine, node, arguments, mask):
    bits = bit_table(arguments[0]) != 0
    first = np.where(bits.any(axis=1), bits.argmax(axis=1) + 1, 0)
    return shaped(first.astype(np.int32), arguments[0])


def shaped(vector, like):
    return vector if np.ndim(like) else vector[0]


def fma(machine, node, arguments, mask):
    dtype = common_dtype([a.dtype for a in arguments])
    a, b, c = (convert(x, np.dtype(np.float64)) for x in arguments)
    return convert(a * b + c, dtype)


def cbrt(machine, node, arguments, mask):
    return np.cbrt(arguments[0])


def selp(machine, node, arguments, mask):
    condition, yes, no = arguments
    dtype = common_dtype([yes.dtype, no.dtype])
    return np.where(truth(condition), convert(yes, dtype), convert(no, dtype))


FUNCTIONS = {
    "grid": grid, "gridsize": gridsize,
    "shared.array": shared_array, "local.array": local_array, "const.array_like": constant_array,
    "syncthreads": syncthreads, "syncthreads_count": syncthreads_count,
    "syncthreads_and": syncthreads_and, "syncthreads_or": syncthreads_or,
    "syncwarp": syncwarp, "cg.this_grid": this_grid, "grid_group.sync": grid_sync,
    "threadfence": nothing, "threadfence_block": nothing, "threadfence_system": nothing,
    "nanosleep": nothing,
    **{f"atomic.{name}": atomic(operation) for name, operation in ATOMICS.items()},
    "atomic.cas": cas, "atomic.compare_and_swap": compare_and_swap,
    "shfl_sync": shuffle(lambda lane, source: source % 32),
    "shfl_up_sync": shuffle(lambda lane, delta: lane - delta),
    "shfl_down_sync": shuffle(lambda lane, delta: lane + delta),
    "shfl_xor_sync": shuffle(lambda lane, bits: lane ^ bits),
    "ballot_sync": ballot, "all_sync": all_sync, "any_sync": any_sync, "eq_sync": eq_sync,
    "match_any_sync": match_any, "activemask": activemask, "lanemask_lt": lanemask_lt,
    "popc": popc, "brev": brev, "clz": clz, "ffs": ffs, "fma": fma, "cbrt": cbrt, "selp": selp,
}  # fmt: skip
# Names of the arguments that people like to give by name.
KEYWORDS = {
    "shared.array": ("shape", "dtype"),
    "local.array": ("shape", "dtype"),
    "syncwarp": ("mask",),
}


def in_order(node, path, given, keywords):
    """Values of keyword arguments in the order of the function's parameters."""
    names = KEYWORDS.get(path, ())[given:]
    unknown_names = [name for name in keywords if name not in names]
    if unknown_names and unknown_names != ["alignment"]:
        raise Unsupported(node, f"cuda.{path} has no argument `{unknown_names[0]}` here")
    return [keywords[name] for name in names if name in keywords]


def call(machine, node, path, arguments, mask):
    if path in FUNCTIONS:
        return FUNCTIONS[path](machine, node, arguments, mask)
    raise Unsupported(node, unknown(path))
