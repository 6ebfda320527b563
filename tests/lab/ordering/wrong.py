"""Wrong kernels: each must be found, on the line that says `# here`, with advice that fits."""

import numpy as np
from numba import cuda, float32, int32, uint32

from tests.lab.ordering.cases import decorators, floats, ints, zeros

WRONG = {}
_, wrong = decorators(WRONG)


# ---------------------------------------------------------------- order between blocks


def for_last_block():
    return floats(128), np.zeros(4, np.float32), zeros(1), np.zeros(1, np.float32)


@wrong(4, 32, for_last_block, "race", "cuda.threadfence()", never=("syncthreads",))
def last_block_without_a_fence(values, partial, count, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = values[cuda.grid(1)]
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            for k in range(cuda.gridDim.x):
                out[0] += partial[k]  # here


@wrong(4, 32, for_last_block, "race", "cuda.threadfence()", never=("syncthreads",))
def fence_behind_the_atomic(values, partial, count, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = values[cuda.grid(1)]
        place = cuda.atomic.add(count, 0, 1)
        cuda.threadfence()
        if place == cuda.gridDim.x - 1:
            for k in range(cuda.gridDim.x):
                out[0] += partial[k]  # here


@wrong(4, 32, for_last_block, "race", "threadfence_block() orders nothing", never=("syncthreads",))
def fence_of_a_block_only(values, partial, count, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = values[cuda.grid(1)]
        cuda.threadfence_block()
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            for k in range(cuda.gridDim.x):
                out[0] += partial[k]  # here


@wrong(
    4,
    32,
    for_last_block,
    "race",
    "read-modify-write",
    "cuda.atomic.add(count, 0",
    never=("syncthreads",),
)
def last_block_with_a_plain_counter(values, partial, count, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = values[cuda.grid(1)]
        cuda.threadfence()
        count[0] += 1  # here


@wrong(4, 32, for_last_block, "race", "cuda.threadfence()", never=("syncthreads",))
def only_one_thread_fences_what_all_have_written(values, partial, count, out):
    thread = cuda.threadIdx.x
    values[cuda.grid(1)] *= float32(2)
    if thread == 0:
        cuda.threadfence()
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            for k in range(128):
                out[0] += values[k]  # here


@wrong(2, 32, lambda: (zeros(1), zeros(1)), "race", "cuda.threadfence()", never=("read-modify",))
def lock_without_fences(mutex, total):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    total[0] += 1  # here
    cuda.atomic.exch(mutex, 0, 0)


@wrong(
    2,
    1,
    lambda: (zeros(1), zeros(1)),
    "race",
    "cuda.threadfence()",
    never=("syncthreads", "read-modify"),
)
def lock_with_a_fence_at_the_wrong_end(mutex, total):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] += 1  # here
    cuda.atomic.exch(mutex, 0, 0)


@wrong(6, 8, lambda: (zeros(6), zeros(6)), "race", "cuda.threadfence()", never=("syncthreads",))
def hand_over_without_a_fence(flags, data):
    block = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        value = 0
        if block > 0:
            while cuda.atomic.add(flags, block - 1, 0) == 0:
                pass
            value = data[block - 1]  # here
        data[block] = value + 1
        cuda.atomic.exch(flags, block, 1)


@wrong(
    2, 32, lambda: (zeros(64), zeros(64)), "race", "does not reach across",
    "of block 0", "of block 1", never=("syncthreads",),
)  # fmt: skip
def neighbour_of_another_block(values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.syncthreads()
    out[i] = values[63 - i]  # here


@wrong(2, 32, lambda: (floats(64),), "race", "across", never=("syncthreads", "syncwarp"))
def stencil_in_place_between_blocks(values):
    i = cuda.grid(1)
    left = values[i - 1] if i > 0 else float32(0)
    cuda.syncthreads()
    values[i] = left  # here


@wrong(
    4, 1, lambda: (zeros(4), zeros(1), zeros(4)), "race", "read in a second launch", "both atomic",
    never=("syncthreads",),
)  # fmt: skip
def counter_read_plainly_by_other_blocks(values, count, out):
    cuda.atomic.add(count, 0, 1)
    out[cuda.blockIdx.x] = count[0]  # here


@wrong(2, 1, lambda: (zeros(1), zeros(1), zeros(1)), "race", "both atomic", never=("syncthreads",))
def flag_written_plainly(flag, data, out):
    if cuda.blockIdx.x == 0:
        data[0] = 5
        cuda.threadfence()
        flag[0] = 1
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:  # here
            pass
        out[0] = 1


@wrong(
    4,
    16,
    lambda: (zeros(1), zeros(64), zeros(64)),
    "race",
    "cuda.threadfence()",
    never=("syncthreads",),
)
def barrier_of_the_grid_without_a_fence(count, values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(count, 0, 1)
        while cuda.atomic.add(count, 0, 0) < cuda.gridDim.x:
            pass
    cuda.syncthreads()
    out[i] = values[63 - i]  # here


@wrong(4, 16, lambda: (zeros(1), zeros(64), zeros(64)), "race")
def barrier_of_the_grid_that_nobody_waits_at(count, values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    out[i] = values[63 - i]  # here


# ---------------------------------------------------------------- changes in several steps


@wrong(
    1,
    64,
    lambda: (ints(64, 9), zeros(1)),
    "race",
    "read-modify-write",
    "cuda.atomic.add(total, 0, ...)",
    never=("syncthreads",),
)
def sum_within_a_block(values, total):
    total[0] += values[cuda.grid(1)]  # here


@wrong(
    4,
    16,
    lambda: (ints(64, 9), zeros(1)),
    "race",
    "read-modify-write",
    "total[0]",
    "cuda.atomic.add",
    never=("syncthreads",),
)
def sum_of_several_blocks(values, total):
    total[0] = total[0] + values[cuda.grid(1)]  # here


@wrong(
    2,
    32,
    lambda: (ints(64, 5), zeros(5)),
    "race",
    "read-modify-write",
    "cuda.atomic.add(counts, values[i], ...)",
)
def plain_histogram(values, counts):
    i = cuda.grid(1)
    counts[values[i]] += 1  # here


@wrong(1, 64, lambda: (ints(64, 5), zeros(5)), "race", "cuda.atomic.add(own, values[thread], ...)")
def plain_histogram_in_shared_memory(values, counts):
    own = cuda.shared.array(5, int32)
    thread = cuda.threadIdx.x
    if thread < 5:
        own[thread] = 0
    cuda.syncthreads()
    own[values[thread]] += 1  # here
    cuda.syncthreads()
    if thread < 5:
        counts[thread] = own[thread]


@wrong(2, 32, lambda: (ints(64, 99), zeros(1)), "race", "cuda.atomic.max(out, 0, ...)")
def plain_maximum(values, out):
    out[0] = max(out[0], values[cuda.grid(1)])  # here


@wrong(
    2,
    32,
    lambda: (floats(64), np.ones(1, np.float32)),
    "race",
    "read-modify-write",
    "lock",
    never=("atomic.mul",),
)
def plain_product(values, out):
    out[0] *= values[cuda.grid(1)]  # here


@wrong(2, 32, lambda: (ints(64, 9), zeros(1), zeros(64)), "race", "cuda.atomic.add(count, 0")
def compaction_with_a_plain_counter(values, count, out):
    i = cuda.grid(1)
    if values[i] > 4:
        place = count[0]
        count[0] += 1  # here
        out[i] = place


@wrong(1, 32, lambda: (zeros(4),), "race", "only one of them stays")
def threads_that_store_different_values(out):
    out[cuda.threadIdx.x % 4] = cuda.threadIdx.x  # here


# ---------------------------------------------------------------- barriers of a block


@wrong(
    1,
    64,
    lambda: (floats(64), np.zeros(64, np.float32)),
    "race",
    "put cuda.syncthreads() between them", "tile[63]", "thread 0 ", "thread 63 ",
    never=("second", "syncwarp"),
)  # fmt: skip
def missing_barrier(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]  # there
    out[thread] = tile[63 - thread]  # here


@wrong(
    1,
    64,
    lambda: (floats(128), np.zeros(64, np.float32)),
    "race",
    "next round of the loop", "second cuda.syncthreads()", "writes", "reads",
)  # fmt: skip
def missing_second_barrier(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for first in range(0, 128, 64):
        tile[thread] = values[first + thread]  # here
        cuda.syncthreads()
        total += tile[63 - thread]
    out[thread] = total


@wrong(
    2,
    64,
    lambda: (floats(128), np.zeros(2, np.float32)),
    "race",
    "round",
    "into the loop",
    never=("atomic", "syncwarp"),
)
def reduction_without_a_barrier_in_its_loop(values, out):
    partial = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    partial[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    active = 32
    while active > 0:
        if thread < active:
            partial[thread] += partial[thread + active]  # here
        active //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = partial[0]


@wrong(
    1, 64, lambda: (ints(64, 9), zeros(64)), "race", "in step", "syncthreads",
    never=("atomic", "syncwarp"),
)  # fmt: skip
def scan_with_one_buffer(values, out):
    sums = cuda.shared.array(64, int32)
    thread = cuda.threadIdx.x
    sums[thread] = values[thread]
    cuda.syncthreads()
    step = 1
    while step < 64:
        if thread >= step:
            sums[thread] += sums[thread - step]  # here
        cuda.syncthreads()
        step *= 2
    out[thread] = sums[thread]


@wrong(1, 64, lambda: (zeros(64),), "race", "outside the `if` of line")
def race_under_a_guard(values):
    thread = cuda.threadIdx.x
    if thread < 40:
        values[thread] = thread
        values[thread + 64 - 40] = values[thread + 1]  # here


@wrong(
    1, 64, lambda: (zeros(64), zeros(64)), "race", "cuda.syncthreads()", "values[",
    never=("syncwarp",),
)  # fmt: skip
def neighbour_in_a_warp_by_somebody_new(values, out):
    thread = cuda.threadIdx.x
    values[thread] = thread
    out[thread] = values[thread ^ 1]  # here


@wrong(1, 64, lambda: (zeros(64), zeros(64)), "race", "cuda.syncwarp()", never=("syncthreads",))
def neighbour_in_a_warp_by_somebody_who_shuffles(values, out):
    thread = cuda.threadIdx.x
    values[thread] = cuda.shfl_xor_sync(0xFFFFFFFF, thread, 2)
    out[thread] = values[thread ^ 1]  # here


@wrong(
    1,
    64,
    lambda: (zeros(64), zeros(64)),
    "race",
    "cuda.syncthreads()",
    never=("syncwarp()", "fence"),
)
def syncwarp_where_a_block_has_to_meet(values, out):
    thread = cuda.threadIdx.x
    values[thread] = thread
    cuda.syncwarp()
    out[thread] = values[63 - thread]  # here


@wrong(
    1,
    64,
    lambda: (zeros(1), zeros(64)),
    "race",
    "an atomic protects only against other atomics",
    "cuda.syncthreads()",
)
def counter_read_before_all_have_counted(count, out):
    cuda.atomic.add(count, 0, 1)
    out[cuda.threadIdx.x] = count[0]  # here


@wrong(
    1,
    64,
    lambda: (floats(50), np.zeros(50, np.float32)),
    "barrier",
    "has returned in line", "thread 50 of block 0", "in place of the `return`",
)  # fmt: skip
def return_before_a_barrier(values, out):
    i = cuda.grid(1)
    if i >= values.shape[0]:
        return  # there
    cuda.syncthreads()  # here
    out[i] = values[i]


@wrong(
    1, 64, lambda: (zeros(64),), "barrier", "thread 32", "another way at the `if`",
    "out of the branch",
)  # fmt: skip
def barrier_in_a_branch(out):
    if cuda.threadIdx.x < 32:
        cuda.syncthreads()  # here
    out[cuda.threadIdx.x] = 1


@wrong(1, 64, lambda: (zeros(64),), "barrier", "has left the loop", "as many rounds")
def barrier_in_a_loop_of_uneven_length(out):
    k = 0
    while k < cuda.threadIdx.x:
        cuda.syncthreads()  # here
        k += 1
    out[cuda.threadIdx.x] = k


# ---------------------------------------------------------------- waiting for ever


@wrong(2, 8, lambda: (zeros(1), zeros(1)), "deadlock", "no other thread changes it")
def waits_for_a_flag_that_nobody_sets(flag, out):
    while cuda.atomic.add(flag, 0, 0) == 0:  # here
        pass
    out[0] = 1


@wrong(2, 8, lambda: (zeros(1), zeros(1)), "deadlock", "no other thread changes it")
def a_lock_that_is_never_given_back(mutex, total):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:  # here
        pass
    cuda.threadfence()
    total[0] += 1


@wrong(2, 1, lambda: (zeros(2), zeros(1)), "deadlock", "waiting for")
def two_locks_in_opposite_order(locks, total):
    first = cuda.blockIdx.x
    second = 1 - first
    while cuda.atomic.cas(locks, first, 0, 1) != 0:
        pass
    meeting = cuda.atomic.add(total, 0, 1)
    while cuda.atomic.add(total, 0, 0) < 2:
        pass
    while cuda.atomic.cas(locks, second, 0, 1) != 0:  # here
        pass
    cuda.atomic.exch(locks, second, meeting * 0)
    cuda.atomic.exch(locks, first, 0)


@wrong(1, 40, lambda: (zeros(1), zeros(1)), "deadlock", "waiting for")
def counts_its_rounds_while_it_waits(flag, out):
    rounds = 0
    while cuda.atomic.cas(flag, 0, 1, 1) != 1:  # here
        rounds += 1
        cuda.nanosleep(rounds)
    out[0] = rounds


@wrong(4, 8, lambda: (zeros(4), zeros(4)), "deadlock", "waiting for")
def the_first_waits_for_the_last_and_so_on(flags, out):
    block = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(flags, (block + 1) % 4, 0) == 0:  # here
            pass
        cuda.atomic.exch(flags, block, 1)


@wrong(2, 64, lambda: (zeros(1), zeros(2)), "deadlock", "waiting for")
def waits_while_its_block_is_at_a_barrier(flag, out):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:  # here
            pass
    cuda.syncthreads()
    if cuda.threadIdx.x == 1:
        cuda.atomic.exch(flag, 0, 1)
    out[cuda.blockIdx.x] = 1


@wrong(
    1, 32, lambda: (zeros(32),), "endless", "n < 10", "times",
    "each round is like the one before", budget=300,
)  # fmt: skip
def never_ends(out):
    n = 0
    while n < 10:  # here
        out[cuda.threadIdx.x] = n


@wrong(1, 32, lambda: (zeros(32),), "endless", "times", "n != 7", budget=300)
def steps_over_its_end(out):
    n = 0
    while n != 7:  # here
        n += 2
    out[cuda.threadIdx.x] = n


@wrong(2, 32, lambda: (zeros(64),), "deadlock", "grid-wide barrier", "of block 1")
def barrier_of_the_grid_for_one_block(out):
    if cuda.blockIdx.x == 0:
        cuda.cg.this_grid().sync()  # here
    out[cuda.grid(1)] = 1


# ---------------------------------------------------------------- indices


@wrong(
    1,
    32,
    lambda: (ints(32, 9), zeros(32)),
    "out-of-bounds",
    "values[-1]",
    "negative",
    negative=False,
)
def the_element_before_the_first(values, out):
    i = cuda.grid(1)
    out[i] = values[i - 1]  # here


@wrong(1, 32, lambda: (ints(4, 9), zeros(32)), "out-of-bounds", "values[-5]")
def further_back_than_the_array_is_long(values, out):
    out[cuda.grid(1)] = values[-5]  # here


# ---------------------------------------------------------------- memory


@wrong(
    1,
    16,
    lambda: (floats(16), np.zeros(16, np.float32)),
    "uninitialised",
    "written through second",
    "begin at the first byte",
    dynamic_shared=128,
)
def two_dynamic_arrays_that_overlap(values, out):
    first = cuda.shared.array(0, float32)
    second = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    first[i] = values[i]
    second[i] = float32(i)
    out[i] = first[i] + second[i]  # here


@wrong(
    1,
    16,
    lambda: (floats(16), np.zeros(16, np.float32)),
    "race",
    "first[15]",
    also="uninitialised",
    dynamic_shared=64,
)
def dynamic_arrays_of_two_types_that_overlap(values, out):
    first = cuda.shared.array(0, float32)
    second = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    second[i] = i
    out[i] = first[15 - i]  # here


@wrong(
    1,
    32,
    lambda: (floats(32), np.zeros(32, np.float32)),
    "out-of-bounds",
    "dynamic_shared=",
    dynamic_shared=64,
)
def dynamic_memory_that_is_too_small(values, out):
    tile = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    tile[i] = values[i]  # here
    cuda.syncthreads()
    out[i] = tile[31 - i]


@wrong(
    1,
    32,
    lambda: (zeros(32),),
    "limits",
    "50,176 bytes",
    "40,960 of them dynamic",
    dynamic_shared=40960,
)
def static_and_dynamic_memory_together(out):
    dynamic = cuda.shared.array(0, int32)
    static = cuda.shared.array(2304, int32)  # here
    i = cuda.threadIdx.x
    dynamic[i] = i
    static[i] = i
    out[i] = dynamic[i] + static[i]


@wrong(1, 32, lambda: (zeros(32),), "limits", "60,000 bytes", "49,152", dynamic_shared=60_000)
def more_dynamic_memory_than_there_is(out):  # here
    dynamic = cuda.shared.array(0, int32)
    dynamic[cuda.threadIdx.x] = 1
    out[cuda.threadIdx.x] = dynamic[cuda.threadIdx.x]


@wrong(2, 32, lambda: (zeros(50), 50_000_000), "overflow", "int32", "int64", also="out-of-bounds")
def index_that_overflows(out, width):
    i = cuda.grid(1)
    place = int32(i * width)  # here
    if place < out.shape[0]:
        out[place % 50] = 1
        out[place] = 1


@wrong(2, 32, lambda: (zeros(50), 1 << 27), "overflow", "uint32", "uint64")
def unsigned_index_that_overflows(out, width):
    i = cuda.grid(1)
    row = uint32(i)
    if uint32(row * uint32(width)) < uint32(50):
        out[uint32(row * uint32(width))] = 1  # here


@wrong(2, 32, lambda: (zeros(50), 50_000_000), "overflow", "places[0]")
def element_that_overflows(out, width):
    places = cuda.local.array(1, int32)
    places[0] = cuda.grid(1) * width  # here
    if 0 <= places[0] < 50:
        out[places[0]] = 1


@wrong(
    2,
    32,
    lambda: (floats(80), np.zeros(80, np.float32)),
    "unwritten",
    "out[64]",
    "15 more",
    expect_written="out",
)
def grid_that_is_too_small(values, out):  # here
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = values[i]


@wrong(
    1,
    32,
    lambda: (floats(32), np.zeros(32, np.float32)),
    "uninitialised",
    "sums[0]",
    "device_array",
    uninitialised=["sums"],
)
def adds_to_garbage(values, sums):
    i = cuda.grid(1)
    cuda.atomic.add(sums, 0, values[i])  # here


@wrong(
    1,
    32,
    lambda: (floats((4, 8)), np.zeros((4, 8), np.float32)),
    "uninitialised",
    "scratch[1, 0]",
    uninitialised="scratch",
)
def reads_a_row_that_is_written_by_nobody(values, scratch):
    i = cuda.grid(1)
    if i < 8:
        scratch[0, i] = values[0, i]
        values[1, i] = scratch[1, i]  # here
