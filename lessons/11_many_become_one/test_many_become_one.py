"""Checks of lesson 11. Sizes are no multiples of a warp or a block; sums are of numbers above zero,
but where their order is looked at."""

import math

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import reductions as reference

WARP, WARPS, BLOCK_THREADS = 32, 8, 256
BLOCK_VALUES = 16 * BLOCK_THREADS  # of one block, in both kernels that have several per thread
MANY_BLOCKS = 300  # more than the block of the second stage has threads
# (values, blocks); the last one has more partial sums than the second stage has threads.
SIZES = (256, 1), (1, 1), (4500, 6), (33, 1), (700, MANY_BLOCKS)
SIZE_WITH_WORK = 4500  # values enough for all threads: here reads are counted
GROUPS = 32, 8, 2  # lanes
BY_BLOCKS = (40, 3), (1, 1), (3 * BLOCK_THREADS - 50, 6)  # (rows, columns)
# (rows, columns, blocks); the last one has two rows more than equal parts.
COLUMNS = (40, 3, 1), (1, 1, 1), (700, 128, 2), (300, 2, MANY_BLOCKS), (50, 3, 4)
# A round of 256, a warp, several rounds, several parts of 4,096.
RUNNING = 250, 20, 1, 700, 2 * BLOCK_VALUES + 300
PIXELS = 440_000
ATOMICS = 2  # allowed per block and column
REQUESTS = 4  # allowed to global memory per 32 numbers
SHARED_REQUESTS = 16  # ours per block; allowed are twice as many, and 5b's tree has 45
BARRIERS = 3  # allowed per block


@check("warp_reduce")
def test_warp_reduce(case):
    for lanes in GROUPS:
        add_groups(case, lanes)


@check("sum")
def test_sum(case):
    of_all_sizes(case, lambda size, blocks: add_up(case, size, blocks))
    size = case.size(large=MANY_BLOCKS * BLOCK_VALUES - 77, small=5000)
    add_up(case, size, -(-size // BLOCK_VALUES), engine="large")


@check("max")
def test_max(case):
    require_larger(case)
    of_all_sizes(case, lambda size, blocks: find_max(case, rising(case, size), blocks))
    require_max_of_infinities(case)
    require_max_with_nan(case)
    require_empty_blocks(case)


@check("argmax")
def test_argmax(case):
    require_comes_first(case)
    find_argmax(case, with_a_telling_maximum(case), 3)
    of_all_sizes(case, lambda size, blocks: find_argmax(case, rising(case, size), blocks))
    for values, blocks in equal_values(case):
        find_argmax(case, values, blocks)


@check("column_sums")
def test_column_sums(case):
    for rows, columns in BY_BLOCKS:
        sums, counted = add_columns_by_blocks(case, rows, columns)
    case.budget(
        "atomic additions per block and column",
        yours=counted.of(sums).atomics / -(-rows // BLOCK_THREADS) / columns,
        ours=1,
        allowed=ATOMICS,
        diagnosis="added warp by warp",
        sentence="the block should make one sum of its 256 rows first, with block_reduce; then one "
        "thread adds it.",
        line=counted.busiest_line("atomics", sums),
    )
    case.require_many_threads(counted, sums)
    for rows, columns, blocks in COLUMNS:
        counted = add_columns(case, rows, columns, blocks)
        require_no_atomics(case, counted)
        if columns > WARP:
            require_one_wait(case, counted, blocks, columns)
            case.require_many_threads(counted, counted.originals[-1])


@check("prefix_sum")
def test_prefix_sum(case):
    for size in RUNNING:
        running, counted = run_up(case, size)
        case.require_many_threads(counted, running)


@check("levels")
def test_levels(case):
    # Few pixels in the first bins, and many more than bins: no level is 0 by chance.
    few_first = np.arange(60) + case.rng.integers(0, 2, 60)
    few_first[0] = 0
    find_levels(case, few_first, [0, 5, 500, 995, 1000])
    # Of 22 pixels 4.4 and 8.998 are wanted, where the first bins have 4 and 9. Of the others, 9.6
    # and 15.4, other rules for a quantile take other pixels.
    find_levels(case, np.array([0, 4, 5, 6, 7]), [200, 409, 500, 437, 700])
    for bins, most in ((10, 40), (256, 9), (1, 40), (300, 5)):
        find_levels(case, case.rng.integers(0, most, bins), [0, 5, 100, 250, 500, 750, 995, 1000])
    counts = case.rng.multinomial(PIXELS, case.rng.dirichlet(np.ones(256)))
    find_levels(case, counts, [5, 995])
    find_levels(case, np.array([0, 0, 3, 0, 5]), [0, 5, 500, 1000])  # nothing in the first bins
    find_levels(case, 10 * counts, [5, 995])  # a thousand times as many pixels are no int32
    # More than a float32 can count.
    counts = case.rng.multinomial(2**24 + 3, case.rng.dirichlet(np.ones(256)))
    find_levels(case, counts, [5, 995, 1000])
    # One pixel decides, and shares as float32 do not tell the bins beside it apart.
    shares = np.array([500, 600, 700, 800, 900, 995])
    find_levels(case, np.diff([0, *(100_000 * shares - 1), 100_000_000]), shares)
    # More parts than a block has threads, which add up the parts before theirs.
    size = case.size(large=260 * BLOCK_VALUES, small=2 * BLOCK_VALUES + 5)
    run_up(case, size, engine="large")


@check("few_requests")
def test_few_requests(case):
    size, blocks = 2 * BLOCK_VALUES - 100, 2
    counts = {
        "sum": add_up(case, size, blocks),
        "max": find_max(case, rising(case, size), blocks),
        "argmax": find_argmax(case, case.random(size), blocks),
    }
    for name, counted in counts.items():
        everything, all_blocks = counted.everything(), blocks + 1  # one in the second stage
        require_work_for_all(case, counted, counted.originals[0])
        case.budget(
            f"requests for shared memory, per block, of {name}",
            yours=everything.shared_requests / all_blocks,
            ours=SHARED_REQUESTS,
            allowed=2 * SHARED_REQUESTS,
            diagnosis="much shared memory",
            sentence="the lanes of a warp hand each other their numbers by shuffles; shared memory "
            "holds one number per warp, and each lane reads one of them.",
        )
        case.budget(
            f"barriers per block, of {name}",
            yours=everything.barriers / all_blocks / WARPS,
            ours=1,
            allowed=BARRIERS,
            diagnosis="a barrier per round",
            sentence="shuffles need no barrier; the block waits once, until each warp has stored "
            "its number.",
        )


@check("same_bits")
def test_same_bits(case):
    size, blocks = BLOCK_VALUES + 700, 2
    values = mixed(case, size)
    for launch, dtype in (
        ("launch_sum", np.float32),
        ("launch_max", np.float32),
        ("launch_argmax", np.int32),
    ):
        result = case.output((1,), dtype)
        case.same_bits_in_any_order(launch, values, case.output((blocks,), dtype), result)
    matrix = mixed(case, 701 * 3).reshape(701, 3)
    sums = case.output((1, 3))
    case.same_bits_in_any_order("launch_column_sums", matrix, case.output((3, 3)), sums)
    expect_columns(case, sums, matrix)
    counts = case.rng.integers(1, 9, size).astype(np.int32)
    running = case.output((size,), np.int32)
    case.same_bits_in_any_order("launch_prefix_sum", counts, case.output((2,), np.int32), running)
    case.expect(running, reference.running_sums(counts), "running")


@check("float32")
def test_float32(case):
    add_groups(case, 32)
    add_up(case, 300, 1)
    find_max(case, rising(case, 300), 1)
    find_argmax(case, case.random(300), 1)
    add_columns_by_blocks(case, 300, 2)
    add_columns(case, 300, 2, 2)
    run_up(case, 300)
    find_levels(case, case.rng.integers(0, 9, 40), [5, 995])


# ---------------------------------------------------------------- what all of them keep to


def of_all_sizes(case, find):
    """find(size, blocks): how often the kernels have touched each array, values first."""
    for size, blocks in SIZES:
        counted = find(size, blocks)
        require_no_atomics(case, counted)
        if size == SIZE_WITH_WORK:
            require_work_for_all(case, counted, counted.originals[0])


def require_no_atomics(case, counted):
    case.keep_within(
        "atomic operations",
        yours=counted.everything().atomics,
        ours=0,
        allowed=0,
        diagnosis="atomics",
        sentence="atomic operations wait for each other, and come in any order, in shared memory "
        "as well. Each warp, and each block, stores its result at a place of its own; after the "
        "barrier, or in the second stage, shuffles make one of them, always in the same order.",
        line=counted.busiest_line("atomics"),
    )


def require_one_wait(case, counted, blocks, columns):
    """That the blocks of `launch_column_sums` do not wait for each column anew."""
    waits = counted.everything().barriers / (blocks + 1) / WARPS  # one in the second stage
    case.keep_within(
        f"barriers per block, for {columns} columns",
        yours=waits,
        ours=1,
        allowed=columns / 8,  # room for trees over warps, and for columns in a few groups
        diagnosis="a barrier for each column",
        sentence="the block waits for each column anew, and one barrier is asked for: let each "
        "warp keep its sums of all columns in shared memory first, at a place for each warp and "
        "column. Then the block waits once, and adds up all columns.",
    )


def require_work_for_all(case, counted, array):
    """That the threads of a warp read together, and each number is read about once."""
    case.budget(
        "requests per 32 numbers",
        yours=counted.of(array).requests * 32 / array.size,
        ours=1,
        allowed=REQUESTS,
        diagnosis="threads without work",
        sentence="the 32 threads of a warp could read 32 numbers at once: each thread of each "
        "block should have its own, and read them once.",
        line=counted.busiest_line("requests", array),
    )


def run(case, engine, launch, *arguments):
    """How often the kernels have touched each array; None for a large input."""
    if engine:
        case.run(launch, *arguments, engine=engine)
        return None
    return case.measure(launch, *arguments)


def mixed(case, size):
    """Numbers of both signs and many magnitudes: their sum depends on the order of additions."""
    return (case.rng.normal(size=size) * 10.0 ** case.rng.uniform(-3, 3, size)).astype(np.float32)


def room_for(matrix, case):
    """The tolerance for sums of the columns: relative to their sums of magnitudes."""
    return case.check.tolerance * np.abs(matrix).sum(axis=0).max()


# ---------------------------------------------------------------- sums


def add_groups(case, lanes):
    values, sums = case.random(100, 0.5, 1.5), case.output((100,))
    case.run("launch_sum_groups", values, lanes, sums)
    case.expect(sums, reference.group_sums(values, lanes), "sums")


def add_up(case, size, blocks, engine=None):
    """Returns how often the kernels have touched each array."""
    values = case.random(size, 0.5, 1.5)
    partials, total = case.output((blocks,)), case.output((1,))
    counted = run(case, engine, "launch_sum", values, partials, total)
    case.expect(total, reference.total(values), "total")
    return counted


# ---------------------------------------------------------------- maxima


def require_larger(case):
    pairs = np.array([[1, 2], [2, 1], [-3, -2], [0.25, -7], [5, 5], [-np.inf, -8]])
    got = np.array([case.call("larger", *map(float, pair)) for pair in pairs])
    case.expect(got, pairs.max(axis=1), "larger")
    for first, second in ((math.nan, 1.0), (1.0, math.nan), (math.nan, math.inf)):
        got = case.call("larger", first, second)
        case.require(
            bool(np.isnan(got)),
            "NaN lost",
            f"larger({first}, {second}) is {got}, and not NaN: every comparison with NaN is False. "
            "Whichever of the two is NaN, give it back: math.isnan tells. A maximum without it "
            "hides a mistake.",
        )


def rising(case, size):
    """Values below -1; each whole warp's largest is above that of the one before.

    So what is left out at the end is noticed, and of one, two or four warps the largest differ. It
    is never that of a first lane.
    """
    values = case.random(size, -9, -1)
    warps = values[: size // WARP * WARP].reshape(-1, WARP)
    warps[:] = warps[warps.max(axis=1).argsort()]
    first = warps.argmax(axis=1) == 0
    warps[first] = np.roll(warps[first], 5, axis=1)
    return values


def find_max(case, values, blocks):
    """Returns how often the kernels have touched each array."""
    largest, counted = max_of(case, values, blocks)
    case.expect(largest, reference.largest(values), "largest")
    return counted


def max_of(case, values, blocks):
    """(largest, how often the kernels have touched each array)."""
    partials, largest = case.output((blocks,)), case.output((1,))
    return largest, run(case, None, "launch_max", values, partials, largest)


def require_max_of_infinities(case):
    """Nothing but -inf, in fewer values than threads."""
    largest, _ = max_of(case, np.full(300, -np.inf, np.float32), 2)
    case.require(
        largest.array[0] != largest.sentinel,
        "nothing stored",
        "the maximum of nothing but -inf is -inf, and a maximum, too: it has to be stored.",
    )
    case.require(
        largest.array[0] == -np.inf,
        "begun too high",
        f"the maximum of nothing but -inf is {largest.array[0]:g}, and should be -inf: a maximum "
        "begins at float32(-math.inf), below which there is nothing.",
    )


def require_max_with_nan(case):
    """A NaN in the second block, in its last warp, and larger numbers before and behind it."""
    values = case.random(700, -9, -1)
    values[300] = np.inf
    values[[511, 600]] = np.nan
    for blocks in (1, 2):
        largest, _ = max_of(case, values, blocks)
        case.require(
            bool(np.isnan(largest.array[0])),
            "NaN lost",
            f"among the values are two NaN, and the maximum is {largest.array[0]:g}: use larger "
            "wherever two numbers meet, as NumPy's maximum says NaN then.",
        )


def require_empty_blocks(case):
    """One value and three blocks: two of these have none."""
    value = case.random(1, 1, 9)
    partials, largest = case.output((3,)), case.output((1,))
    run(case, None, "launch_max", value, partials, largest)
    got = np.sort(partials.array)
    case.require(
        bool((got == [-np.inf, -np.inf, value[0]]).all()),
        "a block without values",
        f"of one value and three blocks the partials are {', '.join(f'{x:g}' for x in got)}: a "
        "block without a value stores -inf, so a thread begins at float32(-math.inf).",
    )


# ---------------------------------------------------------------- where the maximum is


def require_comes_first(case):
    inf, nan = math.inf, math.nan
    wrong_one = "the wrong one", "The larger value comes first."
    ties = (
        "equal values",
        "Of equal values, also of two infinities, the one with the lower index comes first, in "
        "whichever order they meet. Compare, and do not subtract: inf - inf is no number.",
    )
    nans = "NaN", "A NaN comes before every number, and of two NaN the one with the lower index."
    for pairs, expected, (diagnosis, sentence) in (
        ((2.0, 7, 1.0, 3), True, wrong_one),
        ((1.0, 3, 2.0, 7), False, wrong_one),
        ((-2.0, 3, -1.0, 7), False, wrong_one),
        ((2.0, 3, 2.0, 7), True, ties),
        ((2.0, 7, 2.0, 3), False, ties),
        ((nan, 7, inf, 3), True, nans),
        ((inf, 3, nan, 7), False, nans),
        ((nan, 3, nan, 7), True, nans),
        ((nan, 7, nan, 3), False, nans),
        ((inf, 3, inf, 7), True, ties),
        ((inf, 7, inf, 3), False, ties),
        ((-inf, 3, -inf, 7), True, ties),
        ((-inf, 7, -inf, 3), False, ties),
    ):
        got = bool(case.call("comes_first", *pairs))
        case.require(
            got == expected,
            diagnosis,
            f"comes_first({', '.join(map(str, pairs))}) is {got}. {sentence}",
        )


def with_a_telling_maximum(case):
    """A value per thread; the largest is in no block's first warp, and has no warp's first lane.

    It is above zero: a thread that begins with zero finds it, and one whose index stays behind does
    not.
    """
    values = rising(case, 3 * BLOCK_THREADS)
    block, warp, lane = case.rng.integers((0, 1, 1), (3, WARPS, WARP))
    values[block * BLOCK_THREADS + warp * WARP + lane] = 1
    return values


def equal_values(case):
    """(values, blocks), where two or more values are equal, and the largest."""
    size, blocks = 4 * BLOCK_THREADS, 2
    for number in (3, math.nan, math.inf):
        for places in equal_places(case):
            values = case.random(size, -9, -1)
            values[list(places)] = number
            yield values, blocks
    # In the second stage a thread has a candidate of a block: here of two warps' threads.
    blocks = WARP + 8
    values = case.random((blocks + 4) * BLOCK_THREADS, -9, -1)
    values[[(blocks - 2) * BLOCK_THREADS + 5, (blocks + 3) * BLOCK_THREADS + 9]] = 3
    yield values, blocks
    yield np.full(900, -np.inf, np.float32), 4
    values = case.random(700, -9, -1)
    values[[300, 5]] = np.inf
    values[[511, 600, 650]] = np.nan
    yield values, 2
    # Two lanes whose steps of an exchange bring the higher index to lane 0 first.
    values = case.random(BLOCK_THREADS, -9, -1)
    values[[3, 5]] = np.inf
    yield values, 1


def equal_places(case):
    """Pairs of places in two rounds of two blocks: of one thread, two lanes, two warps, two blocks.

    Either of two lanes, warps or blocks has the lower index: that of a second round is the higher.
    """
    rng = case.rng
    (lane, other_lane), (warp, other_warp) = (
        sorted(int(i) for i in rng.choice(of, 2, replace=False)) for of in (WARP, WARPS)
    )

    def place(turn, block, warp, lane):
        return (2 * turn + block) * BLOCK_THREADS + warp * WARP + lane

    block = int(rng.integers(2))
    for lower, higher in (
        ((block, warp, lane), (block, warp, lane)),
        ((block, warp, lane), (block, warp, other_lane)),
        ((block, warp, other_lane), (block, other_warp, lane)),
        ((0, other_warp, lane), (1, warp, other_lane)),
    ):
        if lower != higher:
            yield place(0, *lower), place(0, *higher)
        yield place(0, *higher), place(1, *lower)


def find_argmax(case, values, blocks):
    """Returns how often the kernels have touched each array."""
    candidates, index = case.output((blocks,), np.int32), case.output((1,), np.int32)
    counted = run(case, None, "launch_argmax", values, candidates, index)
    case.expect(index, reference.argmax(values), "index")
    return counted


# ---------------------------------------------------------------- columns


def add_columns_by_blocks(case, rows, columns):
    """Returns (sums, how often the kernel has touched each array)."""
    matrix, before = case.random((rows, columns), -1, 1), case.random(columns, 5, 6)
    sums = case.output((columns,), initial=before)
    counted = case.measure("launch_column_sums_by_blocks", matrix, sums)
    tolerance = case.check.tolerance * (6 + np.abs(matrix).sum(axis=0).max())
    expected = before + reference.column_sums(matrix)
    case.expect(sums, expected, "sums", tolerance=tolerance)
    return sums, counted


def add_columns(case, rows, columns, blocks):
    """Returns how often the kernels have touched each array."""
    matrix = case.random((rows, columns), -1, 1)
    partials, sums = case.output((blocks, columns)), case.output((1, columns))
    counted = case.measure("launch_column_sums", matrix, partials, sums)
    expect_columns(case, sums, matrix)
    return counted


def expect_columns(case, sums, matrix):
    expected = reference.column_sums(matrix)[None]
    case.expect(sums, expected, "sums", tolerance=room_for(matrix, case))


# ---------------------------------------------------------------- running sums, and levels


def run_up(case, size, engine=None):
    """Returns (running, how often the kernels have touched each array)."""
    counts = case.rng.integers(1, 9, size).astype(np.int32)
    part_sums = case.output((-(-size // BLOCK_VALUES),), np.int32)
    running = case.output((size,), np.int32)
    counted = run(case, engine, "launch_prefix_sum", counts, part_sums, running)
    case.expect(running, reference.running_sums(counts), "running")
    return running, counted


def find_levels(case, counts, shares):
    if not counts.any():
        counts = counts + 1  # one pixel or more
    running = reference.running_sums(counts).astype(np.int32)
    levels = case.output((len(shares),), np.int32)
    case.run("launch_find_levels", running, np.array(shares, np.int32), levels)
    case.expect(levels, [reference.level(running, share) for share in shares], "levels")
