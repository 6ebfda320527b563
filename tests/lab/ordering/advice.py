"""Wrong kernels where the first advice that comes to mind would be wrong, too."""

import numpy as np
from numba import cuda, float32, int32

from tests.lab.ordering.cases import floats, ints, zeros
from tests.lab.ordering.wrong import WRONG, wrong

__all__ = ["WRONG"]

# ---------------------------------------------------------------- no return before a barrier


def fifty_of_64():
    return floats(50), np.zeros(64, np.float32)


NO_RETURN = "no `return`: a barrier follows"
RETURN = "such as `if i >= n: return`"


@wrong(1, 64, fifty_of_64, "out-of-bounds", NO_RETURN, "float32(0)", never=(RETURN,))
def tile_without_a_guard(values, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = values[i]  # here
    cuda.syncthreads()
    out[i] = tile[63 - cuda.threadIdx.x]


@wrong(1, 64, fifty_of_64, "out-of-bounds", NO_RETURN, never=(RETURN,))
def load_behind_a_barrier_of_the_same_loop(values, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    total = float32(0)
    for _ in range(2):
        cuda.syncthreads()
        tile[cuda.threadIdx.x] = values[i]  # here
    out[i] = total


@cuda.jit(device=True)
def meet():
    cuda.syncthreads()


@wrong(1, 64, fifty_of_64, "out-of-bounds", NO_RETURN, never=(RETURN,))
def barrier_in_a_function(values, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = values[i]  # here
    meet()
    out[i] = tile[63 - cuda.threadIdx.x]


@wrong(1, 64, fifty_of_64, "out-of-bounds", NO_RETURN, never=(RETURN,))
def load_before_a_shuffle(values, out):
    i = cuda.grid(1)
    value = values[i]  # here
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    out[i] = value


@wrong(
    (1, 1), (16, 16), lambda: (np.zeros((12, 10), np.float32), np.zeros((16, 16), np.float32)),
    "out-of-bounds", "Along axis 0 a guard stops such threads", never=(RETURN,),
    also="uninitialised",
)  # fmt: skip
def guard_of_one_axis_only(values, out):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    if y < values.shape[0]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = values[y, x]  # here
    cuda.syncthreads()
    out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@wrong(1, 64, lambda: (floats(64), np.zeros(50, np.float32)), "out-of-bounds", RETURN)
def store_behind_the_last_barrier(values, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = values[i]
    cuda.syncthreads()
    out[i] = tile[63 - cuda.threadIdx.x]  # here


# ---------------------------------------------------------------- sums in shared memory


@wrong(
    1, 64, lambda: (floats(64), np.zeros(1, np.float32)), "race",
    "read-modify-write", "element of its own", "cuda.syncthreads()",
)  # fmt: skip
def one_sum_in_shared_memory(values, out):
    total = cuda.shared.array(1, float32)
    thread = cuda.threadIdx.x
    if thread == 0:
        total[0] = 0
    cuda.syncthreads()
    total[0] += values[thread]  # here
    cuda.syncthreads()
    if thread == 0:
        out[0] = total[0]


@wrong(
    1, (8, 8), lambda: (floats(64), np.zeros(8, np.float32)), "race",
    "element of its own", "threadIdx.y",
)  # fmt: skip
def slot_of_a_column(values, out):
    partial = cuda.shared.array(8, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if y == 0:
        partial[x] = 0
    cuda.syncthreads()
    partial[x] += values[y * 8 + x]  # here
    cuda.syncthreads()
    if y == 0:
        out[x] = partial[x]


@wrong(
    1, 64, lambda: (floats(64), np.zeros(64, np.float32)), "race",
    "different rounds", "into the loop", never=("atomic",),
)  # fmt: skip
def slots_that_move_on_each_round(values, out):
    sums = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    sums[thread] = 0
    cuda.syncthreads()
    for step in range(4):
        sums[(thread + step) % 64] += values[thread]  # here
    cuda.syncthreads()
    out[thread] = sums[thread]


@wrong(
    1, 64, lambda: (floats(64), np.zeros(64, np.float32)), "race",
    "put cuda.syncthreads() between them", never=("atomic",),
)  # fmt: skip
def both_ends_of_a_spring(positions, out):
    force = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    force[thread] = 0
    cuda.syncthreads()
    force[thread] += positions[thread]
    force[(thread + 1) % 64] -= positions[thread]  # here
    cuda.syncthreads()
    out[thread] = force[thread]


@wrong(
    1, 64, lambda: (floats(64), np.zeros(32, np.float32)), "race", "element of its own",
    never=("syncthreads() between",),
)  # fmt: skip
def two_branches_add_to_one_slot(values, out):
    sums = cuda.shared.array(32, float32)
    thread = cuda.threadIdx.x
    if thread < 32:
        sums[thread] = 0
    cuda.syncthreads()
    if thread < 32:
        sums[thread] += values[thread]
    else:
        sums[thread - 32] -= values[thread]  # here
    cuda.syncthreads()
    if thread < 32:
        out[thread] = sums[thread]


@wrong(
    1, 64, lambda: (ints(64, 9), zeros(64)), "race", "element of its own", never=("atomic.add",),
)  # fmt: skip
def slot_of_a_half(values, out):
    tile = cuda.shared.array(32, int32)
    thread = cuda.threadIdx.x
    tile[thread % 32] = values[thread]  # here
    cuda.syncthreads()
    out[thread] = tile[31 - thread % 32]


@wrong(
    2,
    32,
    lambda: (ints(64, 4), zeros(4)),
    "race",
    "leave out the store",
    never=("both atomic", "syncthreads"),
)
def counts_that_each_block_clears(values, counts):
    thread = cuda.threadIdx.x
    if thread < 4:
        counts[thread] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, values[cuda.grid(1)], 1)  # here


@wrong(
    1, 64, lambda: (ints(64, 4), zeros(4)), "race", "cuda.syncthreads()", never=("both atomic",),
)  # fmt: skip
def counts_that_are_cleared_too_late(values, out):
    counts = cuda.shared.array(4, int32)
    thread = cuda.threadIdx.x
    if thread < 4:
        counts[thread] = 0
    cuda.atomic.add(counts, values[thread], 1)  # here
    cuda.syncthreads()
    if thread < 4:
        out[thread] = counts[thread]


@wrong(
    1, 64, lambda: (floats(64), np.zeros(64, np.float32)), "race", "a second array",
)  # fmt: skip
def layers_in_one_array(values, out):
    units = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    units[thread] = values[thread]
    for _ in range(3):
        cuda.syncthreads()
        total = float32(0)
        for k in range(4):
            total += units[(thread + k) % 64]
        units[thread] = total  # here
    out[thread] = units[thread]


@wrong(
    2, 8, lambda: (floats(16), np.zeros(16, np.float32)), "race", "The index is the same in all",
    "cuda.atomic.add",
)  # fmt: skip
def sums_of_all_blocks_in_one_place(values, out):
    thread = cuda.threadIdx.x
    out[thread] += values[cuda.grid(1)]  # here


@wrong(
    2, 32, lambda: (floats(64), np.zeros(64, np.float32)), "race",
    never=("cuda.gridsize", "of one block"),
)  # fmt: skip
def pieces_of_blocks_that_overlap(values, out):
    begin = cuda.blockIdx.x * 16
    for i in range(begin + cuda.threadIdx.x, begin + 32, cuda.blockDim.x):
        out[i] = values[i] * float32(cuda.blockIdx.x + 2)  # here


@wrong(
    1, 64, lambda: (floats(64), np.zeros(1, np.float32)), "race",
    "all threads of a block add the same", "if cuda.threadIdx.x == 0",
)  # fmt: skip
def everybody_adds_up(values, out):
    tile = cuda.shared.array(64, float32)
    tile[cuda.threadIdx.x] = values[cuda.threadIdx.x]
    cuda.syncthreads()
    for k in range(64):
        out[0] += tile[k]  # here


@wrong(
    1, 64, lambda: (floats(64), zeros(1)), "race", "different rounds", "into the loop",
    never=("belong together", "atomic"),
)  # fmt: skip
def tree_of_pairs_without_a_barrier(values, where):
    best = cuda.shared.array(64, float32)
    place = cuda.shared.array(64, int32)
    thread = cuda.threadIdx.x
    best[thread], place[thread] = values[thread], thread
    cuda.syncthreads()
    active = 32
    while active > 0:
        if thread < active and best[thread + active] > best[thread]:
            best[thread] = best[thread + active]  # here
            place[thread] = place[thread + active]
        active //= 2
    if thread == 0:
        where[0] = place[0]


# ---------------------------------------------------------------- numbers that belong together


PAIR = "belong together"


@wrong(1, 64, lambda: (floats(64), np.full(1, -9, np.float32), zeros(1)), "race", PAIR)
def best_and_where(values, best, where):
    i = cuda.grid(1)
    if values[i] > best[0]:
        best[0] = values[i]  # here
        where[0] = i


@wrong(4, 16, lambda: (floats(64), np.full(1, -9, np.float32), zeros(1)), "race", PAIR)
def where_and_best_between_blocks(values, best, where):
    i = cuda.grid(1)
    if values[i] > best[0]:
        where[0] = i  # here
        best[0] = values[i]


@wrong(4, 16, lambda: (floats(64), np.full(1, -9, np.float32), zeros(1)), "race", PAIR)
def where_behind_an_atomic(values, best, where):
    i = cuda.grid(1)
    if values[i] > cuda.atomic.max(best, 0, values[i]):
        where[0] = i  # here


@wrong(4, 16, lambda: (floats(64), np.full(1, -9, np.float32), zeros(1)), "race", PAIR)
def where_behind_an_atomic_by_a_name(values, best, where):
    i = cuda.grid(1)
    before = cuda.atomic.max(best, 0, values[i])
    if values[i] > before:
        where[0] = i  # here


@wrong(
    1, 64, lambda: (floats(64), np.zeros(1, np.float32), zeros(1)), "race", PAIR,
    "cuda.syncthreads()",
)  # fmt: skip
def best_and_where_in_shared_memory(values, out, where):
    best = cuda.shared.array(1, float32)
    place = cuda.shared.array(1, int32)
    i = cuda.threadIdx.x
    if i == 0:
        best[0] = -9
    cuda.syncthreads()
    if values[i] > best[0]:
        best[0], place[0] = values[i], i  # here
    cuda.syncthreads()
    if i == 0:
        out[0], where[0] = best[0], place[0]


@wrong(4, 16, lambda: (floats(64), np.full(2, -9, np.float32)), "race", PAIR)
def best_and_where_in_one_array(values, out):
    i = cuda.grid(1)
    if values[i] > out[0]:
        out[0] = values[i]  # here
        out[1] = i


@wrong(
    4,
    16,
    lambda: (ints(64, 99), np.full(1, 99, np.int32)),
    "race",
    "cuda.atomic.min(best, 0",
    never=("syncthreads",),
)
def only_the_best(values, best):
    i = cuda.grid(1)
    if values[i] < best[0]:
        best[0] = values[i]  # here


@wrong(4, 16, lambda: (ints(64, 9), zeros(1), zeros(1)), "race", "cuda.atomic.cas(done, 0, 0, 1)")
def first_come(values, done, winner):
    i = cuda.grid(1)
    if values[i] > 4 and done[0] == 0:
        done[0] = 1
        winner[0] = i  # here


@wrong(
    1, 32, lambda: (ints(32, 9), zeros(1), zeros(32)), "race",
    "cuda.atomic.add(count, 0, 1) is one step, and returns what was there before",
    never=("syncthreads",),
)  # fmt: skip
def place_that_others_get_too(values, count, out):
    i = cuda.grid(1)
    if values[i] > 4:
        place = count[0]
        count[0] += 1  # here
        out[place] = values[i]


@wrong(
    1, 32, lambda: (ints(32, 9), zeros(1), zeros(32)), "race",
    "cuda.atomic.add(count, 0, 1)", "returns what was there before", never=("syncthreads",),
)  # fmt: skip
def place_that_is_put_back(values, count, out):
    i = cuda.grid(1)
    if values[i] > 4:
        place = count[0]
        out[place] = values[i]
        count[0] = place + 1  # here


@wrong(
    1, 32, lambda: (floats(32), np.zeros(1, np.float32), np.zeros(32, np.float32)), "race",
    "cuda.atomic.add(total, 0", never=("returns",),
)  # fmt: skip
def total_that_is_read_too_early(values, total, out):
    i = cuda.grid(1)
    total[0] += values[i]  # here
    out[i] = total[0]


# ---------------------------------------------------------------- what no atomic of CUDA does


@wrong(2, 32, lambda: (floats(64), np.zeros(1, np.float32)), "race", "lock", never=("atomic.add",))
def moving_average(values, mean):
    mean[0] += (values[cuda.grid(1)] - mean[0]) * float32(0.1)  # here


@wrong(2, 32, lambda: (floats(64), np.zeros(1, np.float32)), "race", "lock", never=("atomic.add",))
def horner(values, out):
    out[0] = out[0] * float32(0.5) + values[cuda.grid(1)]  # here


@wrong(2, 32, lambda: (ints(64, 9), zeros(1)), "race", "lock", never=("atomic.sub",))
def taken_from_the_value(values, out):
    out[0] = values[cuda.grid(1)] - out[0]  # here


@wrong(2, 32, lambda: (floats(64), np.ones(1, np.float32)), "race", "lock", never=("atomic.max",))
def largest_of_three_things(values, out):
    out[0] = max(out[0] * float32(0.9), values[cuda.grid(1)])  # here


@wrong(2, 32, lambda: (ints(64, 4), zeros(4, dtype=np.uint8)), "race", "cuda.atomic.add", "int32")
def counts_in_bytes(values, counts):
    counts[values[cuda.grid(1)]] += 1  # here


@wrong(
    2, 32, lambda: (floats(64), zeros(1), np.zeros(1, np.float32)), "race", PAIR,
    never=("atomic.add",),
)  # fmt: skip
def mean_that_is_kept_up(values, count, mean):
    count[0] += 1  # here
    mean[0] += (values[cuda.grid(1)] - mean[0]) / count[0]
