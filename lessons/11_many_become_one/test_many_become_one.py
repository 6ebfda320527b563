"""Checks of lesson 11. Sizes are no multiples of a warp or a block; sums are of numbers above zero,
but where their order is looked at."""

import math
import re
from functools import partial

import numpy as np

from lessons.grading.checks.case import check
from lessons.reference import reductions as reference

WARP, WARPS, BLOCK_THREADS = 32, 8, 256
BLOCK_VALUES = 16 * BLOCK_THREADS  # of one block, in both kernels that have several per thread
MANY_BLOCKS = 300  # more than the block of the second stage has threads
PIXELS = 440_000
READS_RUNNING = re.compile(r"reads running\[|writes running\[[^]]*\], .* reads it")
KEEPS_THE_CARRY = (
    ". What a round begins with is kept by each thread itself: it adds the sum of all warps to "
    "what it began with"
)
STEPS = "a thread's first value is cuda.grid(1), its next one cuda.gridsize(1) further on"


@check("warp_sum")
def test_warp_sum(case):
    for lanes in (32, 8, 2):
        add_groups(case, lanes)


@check("sum")
def test_sum(case):
    case.explain = why_nobody_may_leave
    # The last one has more partial sums than the second stage has threads.
    for size, blocks in ((256, 1), (1, 1), (4500, 6), (33, 1), (700, MANY_BLOCKS)):
        values, counted = add_up(case, size, blocks)
        require_no_atomics(case, counted)
        if size == 4500:
            require_work_for_all(case, counted, values)
    size = case.size(large=MANY_BLOCKS * BLOCK_VALUES - 77, small=5000)
    add_up(case, size, -(-size // BLOCK_VALUES), engine="large")


@check("max")
def test_max(case):
    case.explain = why_nobody_may_leave
    require_larger(case)
    for size, blocks in ((256, 1), (1, 1), (4500, 6), (33, 1), (700, MANY_BLOCKS)):
        values, counted = find_max(case, size, blocks)
        require_no_atomics(case, counted)
        if size == 4500:
            require_work_for_all(case, counted, values)
    require_max_of_infinities(case)
    require_max_with_nan(case)
    require_empty_blocks(case)


@check("argmax")
def test_argmax(case):
    case.explain = why_not_argmax
    require_comes_first(case)
    find_argmax(case, with_a_telling_maximum(case), 3)
    for size, blocks in ((256, 1), (1, 1), (4500, 6), (33, 1), (700, MANY_BLOCKS)):
        values = rising(case, size)
        counted = find_argmax(case, values, blocks)
        require_no_atomics(case, counted)
        if size == 4500:
            require_work_for_all(case, counted, values)
    for values, blocks, where in equal_values(case):
        case.explain = partial(why_not_argmax, has_nan=bool(np.isnan(values).any()))
        find_argmax(case, values, blocks, where)


@check("column_sums")
def test_column_sums(case):
    case.explain = why_nobody_may_leave
    rows, columns = 3 * BLOCK_THREADS - 50, 6
    for shape in ((40, 3), (1, 1), (rows, columns)):
        sums, counted = add_columns_by_blocks(case, *shape)
    case.budget(
        "atomic additions per block and column",
        yours=counted.of(sums).atomics / 3 / columns,
        ours=1,
        allowed=2,
        diagnosis="added warp by warp",
        sentence="the block should make one sum of its 256 rows first, with block_sum; then one "
        "thread adds it.",
        line=counted.busiest_line("atomics", sums),
    )
    sizes = (40, 3, 1), (1, 1, 1), (700, 128, 2), (300, 2, MANY_BLOCKS)
    # The last one has two rows more than equal parts, which are not the last row alone.
    for rows, columns, blocks in (*sizes, (50, 3, 4)):
        counted = add_columns(case, rows, columns, blocks)
        require_no_atomics(case, counted)
        if columns > WARP:
            require_one_wait(case, counted, blocks, columns)


@check("prefix_sum")
def test_prefix_sum(case):
    case.explain = why_no_part
    case.says_repair = reads_running
    # A round of 256, a warp, several rounds, several parts of 4,096.
    for size in (250, 20, 1, 700, 2 * BLOCK_VALUES + 300):
        running, counted = run_up(case, size)
        case.require_many_threads(counted, running)


@check("levels")
def test_levels(case):
    case.explain = why_not_this_bin
    # Few pixels in the first bins, and many more than bins: no level is 0 by chance.
    few_first = np.arange(60) + case.rng.integers(0, 2, 60)
    few_first[0] = 0
    find_levels(case, few_first, [0, 5, 500, 995, 1000])
    # Of 22 pixels 4.4 and 8.998 are wanted, where the first bins have 4 and 9. Of the others, 9.6
    # and 15.4, other rules for a quantile take other pixels.
    find_levels(case, np.array([0, 4, 5, 6, 7]), [200, 409, 500, 437, 700])
    for bins, most in ((10, 40), (256, 9), (1, 40), (300, 5)):
        find_levels(case, case.rng.integers(0, most, bins), [0, 5, 500, 995, 1000])
    counts = case.rng.multinomial(PIXELS, case.rng.dirichlet(np.ones(256)))
    find_levels(case, counts, [5, 995])
    find_levels(case, np.array([0, 0, 3, 0, 5]), [0, 5, 500, 1000])  # nothing in the first bins
    find_levels(case, 10 * counts, [5, 995])  # a thousand times as many pixels are no int32
    # More than a float32 can count.
    counts = case.rng.multinomial(2**24 + 3, case.rng.dirichlet(np.ones(256)))
    find_levels(case, counts, [5, 995, 1000])
    # One pixel decides, and shares as float32 do not tell the two bins apart.
    find_levels(case, np.array([99_499_999, 1, 500_000]), [5, 995])
    # More parts than a block has threads, which add up the parts before theirs.
    size = case.size(large=260 * BLOCK_VALUES, small=2 * BLOCK_VALUES + 5)
    run_up(case, size, engine="large")


@check("few_requests")
def test_few_requests(case):
    size, blocks = 2 * BLOCK_VALUES - 100, 2
    _, of_sum = add_up(case, size, blocks)
    _, of_max = find_max(case, size, blocks)
    of_argmax = find_argmax(case, case.random(size), blocks)
    for name, counted, ours in (
        ("sum", of_sum, 16),
        ("max", of_max, 16),
        ("argmax", of_argmax, 32),
    ):
        everything, all_blocks = counted.everything(), blocks + 1  # one in the second stage
        case.budget(
            f"requests for shared memory, per block, of {name}",
            yours=everything.shared_requests / all_blocks,
            ours=ours,
            allowed=2 * ours,  # 5b's tree has 45
            diagnosis="much shared memory",
            sentence="the lanes of a warp hand each other their numbers by shuffles; shared memory "
            "holds one number per warp, and each lane reads one of them.",
        )
        case.budget(
            f"barriers per block, of {name}",
            yours=everything.barriers / all_blocks / WARPS,
            ours=1,
            allowed=3,
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
    expect_columns(case, sums, matrix, 3)
    counts = case.rng.integers(1, 9, size).astype(np.int32)
    running = case.output((size,), np.int32)
    case.same_bits_in_any_order("launch_prefix_sum", counts, case.output((2,), np.int32), running)
    case.expect(running, reference.running_sums(counts), "running")


@check("float32")
def test_float32(case):
    add_groups(case, 32)
    add_up(case, 300, 1)
    find_max(case, 300, 1)
    find_argmax(case, case.random(300), 1)
    add_columns_by_blocks(case, 300, 2)
    add_columns(case, 300, 2, 2)
    run_up(case, 300)
    find_levels(case, case.rng.integers(0, 9, 40), [5, 995])


# ---------------------------------------------------------------- what all of them keep to


def require_no_atomics(case, counted):
    within_the_block = counted.shared().atomics > 0
    case.keep_within(
        "atomic operations",
        yours=counted.everything().atomics,
        ours=0,
        allowed=0,
        diagnosis="atomics",
        sentence="atomic operations wait for each other, and come in any order, in shared memory "
        "as well. Each warp stores its result at a place of its own there; after the barrier, "
        "shuffles make one of these, always in the same order."
        if within_the_block
        else "atomic operations wait for each other, and come in any order. Each block stores "
        "its result at a place of its own; the second stage makes one of them.",
        line=counted.busiest_line("atomics", *(() if within_the_block else counted.originals)),
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
        allowed=4,
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


def why_nobody_may_leave(found):
    if found.kind == "barrier" and "has returned" in found.message:
        return (
            "a thread without a value stays, and comes to the shuffles and barriers with what it "
            "began with: 0 for a sum, -inf for a maximum"
        )
    return ""


def reads_running(found):
    """Whether a race of one block is a read of a sum that another thread writes to running."""
    blocks = set(re.findall(r"of block \(?(\d+)", found.message))
    reads = READS_RUNNING.search(found.message) is not None
    return found.kind == "race" and reads and len(blocks) == 1


def why_no_part(found):
    if found.kind == "race" and "running[" in found.message:
        if len(set(re.findall(r"of block \(?(\d+)", found.message))) > 1:
            return "two blocks meet in these sums: a block's part begins at cuda.blockIdx.x * PART"
        return (
            "a thread writes its own sums to running, each once, and nobody reads them there: what "
            "threads need of each other goes through shuffles, and through warp_sums"
            + KEEPS_THE_CARRY
            * reads_running(found)
        )
    return why_nobody_may_leave(found)


def why_not_argmax(found, has_nan=False):
    if found.kind == "out-of-bounds" and "values[" in found.message and has_nan:
        return (
            "some of these values are NaN, and without one it came out right: NaN equals nothing, "
            "not even itself. Who looks for the lane whose value == the largest finds none. Let "
            "comes_first decide between two pairs, wherever two of them meet"
        )
    if found.kind == "out-of-bounds" and "values[-" in found.message:
        return (
            "an index below 0 is that of a thread without a value, which brings -inf and the index "
            "0; or it is a value in the place of an index"
        )
    return why_nobody_may_leave(found)


def why_not_this_bin(found):
    if found.kind == "out-of-bounds" and "running[-1]" in found.message:
        return "below bin 0 there is no pixel: it compares with 0, and not with another bin"
    if found.kind == "race" and "levels" in found.message:
        return (
            "of each share one bin is the first, and its thread alone stores: it has enough "
            "pixels, and the bin before it has not. One that looks only at itself is one of many; "
            "and a product that does not fit into an int32 makes more of them"
        )
    return ""


def mixed(case, size):
    """Numbers of both signs and many magnitudes: their sum depends on the order of additions."""
    return (case.rng.normal(size=size) * 10.0 ** case.rng.uniform(-3, 3, size)).astype(np.float32)


def room_for(matrix, case):
    """The tolerance for sums of the columns: relative to their sums of magnitudes."""
    return case.check.tolerance * np.abs(matrix).sum(axis=0).max()


# ---------------------------------------------------------------- sums


def add_groups(case, lanes):
    values = case.random(100, 0.5, 1.5)
    sums = case.output((100,))
    case.run("launch_sum_groups", values, lanes, sums)
    expected = reference.group_sums(values, lanes)
    candidates = wrong_groups(values.astype(np.float64), lanes)
    case.expect(sums, expected, "sums", candidates=candidates)


def wrong_groups(values, lanes):
    """What known mistakes in `warp_sum` give. The kernel has 128 threads; 28 of them have zeros."""
    start = np.zeros((4, WARP))
    start.ravel()[: values.size] = values
    steps = [16, 8, 4, 2, 1]
    right = [step for step in steps if step < lanes]

    def after(steps, move, add=np.add):
        found = start
        for step in steps:
            found = add(found, move(found, step))
        return found.ravel()[: values.size]

    return {
        "in one direction": (
            after(right, down),
            "Only the first lane of a group has its sum: shfl_down_sync goes in one direction. "
            "With shfl_xor_sync two lanes exchange their values, and all of them get the sum.",
        ),
        "upwards": (
            after(right, up),
            "These are sums of the lanes below each: shfl_up_sync goes in one direction. With "
            "shfl_xor_sync two lanes exchange their values.",
        ),
        "always 32 lanes": (
            after(steps, exchange),
            "These are the sums of whole warps: begin with step = lanes // 2.",
        ),
        "last round missing": (
            after(right[:-1], exchange),
            "The last round is missing: it goes on as long as step > 0, also with 1.",
        ),
        "first round missing": (
            after(right[1:], exchange),
            "The first round is missing: it begins with step = lanes // 2.",
        ),
        "one round too many": (
            after([lanes, *right], exchange),
            "There is a round too many: the largest step is lanes // 2, not lanes.",
        ),
        "step by step": (
            after(range(lanes // 2, 0, -1), exchange),
            "step is halved from round to round; it does not become smaller by one.",
        ),
        "not added": (
            after(right, exchange, lambda mine, other: other),
            "The value of the other lane replaces your own: add it.",
        ),
        "nothing added": (values, "Nothing was added: each lane still has its own value."),
    }


def exchange(table, step):
    """What shfl_xor_sync gives each lane of (warps, 32): where there is no other, its own value."""
    other = np.arange(WARP) ^ step
    return table[:, np.where(other < WARP, other, np.arange(WARP))]


def down(table, step):
    other = np.arange(WARP) + step
    return table[:, np.where(other < WARP, other, np.arange(WARP))]


def up(table, step):
    other = np.arange(WARP) - step
    return table[:, np.where(other >= 0, other, np.arange(WARP))]


def add_up(case, size, blocks, engine=None):
    """Returns (values, how often the kernels have touched each array)."""
    values = case.random(size, 0.5, 1.5)
    partials, total = case.output((blocks,)), case.output((1,))
    counted = run(case, engine, "launch_sum", values, partials, total)
    expected = reference.total(values)
    case.expect(total, expected, "total", candidates=wrong_sums(values, blocks, total.sentinel))
    return values, counted


def own_values(values, blocks, empty, combine):
    """(blocks, threads): what each thread makes of its own values, in steps of the whole grid."""
    threads = blocks * BLOCK_THREADS
    padded = np.full(-(-values.size // threads) * threads, empty)
    padded[: values.size] = values
    return combine(padded.reshape(-1, blocks, BLOCK_THREADS), axis=0)


def in_two_stages(values, blocks, of_block, empty=0.0, combine=np.sum):
    """(1,): what comes out if a block makes of_block(own (blocks, threads)) of its threads' own."""
    partials = of_block(own_values(values, blocks, empty, combine))
    return of_block(own_values(partials, 1, empty, combine))


def of_first_warp(combine):
    return of_first_warps(combine, 1)


def of_first_warps(combine, count):
    return lambda own: combine(own[:, : count * WARP], axis=1)


def wrong_sums(values, blocks, garbage):
    values = values.astype(np.float64)
    total = values.sum()
    in_first_round = values[: blocks * BLOCK_THREADS]
    first = own_values(in_first_round, blocks, 0.0, np.sum).sum(axis=1)[:BLOCK_THREADS]
    known = {
        "first warp only": (
            in_two_stages(values, blocks, of_first_warp(np.sum)),
            "Only the first warp of each block arrives: each warp leaves its sum in warp_sums, and "
            "these are added up after a barrier.",
        ),
        **{
            f"first {count} warps only": (
                in_two_stages(values, blocks, of_first_warps(np.sum, count)),
                f"Only the first {count} warps of each block arrive: of warp_sums, lane n reads "
                "number n, lane % WARPS, and then all WARPS of them are added up.",
            )
            for count in (2, 4)
        },
        "first thread only": (
            in_two_stages(values, blocks, lambda own: own[:, 0]),
            "Only the sum of thread 0 arrives: first the block adds up those of all.",
        ),
        "four times per stage": (
            16 * total,
            "Each stage gives four times the sum: the 32 lanes read eight sums four times over; "
            "add up groups of WARPS lanes, not of WARP.",
        ),
        "own warp eight times": (
            in_two_stages(values, blocks, lambda own: WARPS * of_first_warp(np.sum)(own)),
            "The sum of the first warp comes eight times. Either each of the eight places of "
            "warp_sums holds it: a warp stores at the place of its own number, thread // WARP. Or "
            "all lanes read one place: lane n reads number n, warp_sums[lane % WARPS].",
        ),
        "first lane of each warp": (
            in_two_stages(values, blocks, lambda own: own[:, ::WARP].sum(axis=1)),
            "Of each warp only the number of its first lane arrives: store what warp_sum gives.",
        ),
        "one warp too few": (
            in_two_stages(values, blocks, lambda own: own[:, :-WARP].sum(axis=1)),
            "The last warp of each block is missing: there are WARPS of them.",
        ),
        "first values only": (
            first.sum(),
            f"Only one value per thread is added: {STEPS}, up to the end.",
        ),
        "first values by every block": (
            min(blocks, BLOCK_THREADS) * values[:BLOCK_THREADS].sum(),
            "Every block adds the first values: cuda.threadIdx counts within a block, "
            "cuda.grid(1) over all of them.",
        ),
        "first block only": (
            values[:BLOCK_THREADS].sum(),
            "Only the first 256 values arrive. What do the other blocks add, and does the second "
            f"stage go over all partial sums? In both, {STEPS}.",
        ),
        "every block adds all": (
            total * blocks,
            f"Every block adds up all values: {STEPS}.",
        ),
        "equal parts": (
            values[: values.size // blocks * blocks].sum(),
            "Each block adds the same number of values, rounded down: what is left over is lost. "
            f"Round up and stop at the end; or: {STEPS}.",
        ),
        "steps of one block": (
            sum(values[first:].sum() for first in range(0, blocks * BLOCK_THREADS, BLOCK_THREADS)),
            "Blocks add what others have added, too: a thread's next value is cuda.gridsize(1) "
            "further on, the threads of all blocks, and not those of one.",
        ),
        "added to garbage": (
            total + garbage * (1 + blocks),
            "The sums are added to what was there before: partials holds garbage, so store.",
        ),
        "garbage and nothing": (
            garbage * np.ones(1) * blocks,
            "No block stores its sum: it belongs into partials[cuda.blockIdx.x].",
        ),
        "mean": (values.mean(), "This is the mean: add the sum itself."),
        "first block stores": (
            own_values(values, blocks, 0.0, np.sum)[0].sum() + garbage * (blocks - 1),
            "Only the first block stores its sum: cuda.threadIdx.x is 0 once per block, "
            "cuda.grid(1) only once.",
        ),
        "last value": (
            last_values(values, blocks),
            "Of each thread only its last value arrives: add to own_sum.",
        ),
        "squares": ((values * values).sum(), "The squares are added up, and not the values."),
    }
    return {name: (np.reshape(found, 1), words) for name, (found, words) in known.items()}


def last_values(values, blocks):
    """The sum, if each thread keeps the last of its values, in both stages."""
    for count in (blocks, 1):
        threads = count * BLOCK_THREADS
        place = np.arange(values.size)
        last = place >= values.size - threads
        values = np.bincount(place[last] % threads // BLOCK_THREADS, values[last], count)
    return values[0]


# ---------------------------------------------------------------- maxima


def require_larger(case):
    pairs = np.array([[1, 2], [2, 1], [-3, -2], [0.25, -7], [5, 5], [-np.inf, -8]])
    got = np.array([case.call("larger", *map(float, pair)) for pair in pairs])
    case.expect(
        got, pairs.max(axis=1), "larger",
        candidates={
            "smaller": (pairs.min(axis=1), "This is the smaller one."),
            "by magnitude": (
                np.where(abs(pairs[:, 0]) > abs(pairs[:, 1]), *pairs.T),
                "Signs count: -3 is smaller than -2.",
            ),
        },
    )  # fmt: skip
    for first, second in ((math.nan, 1.0), (1.0, math.nan), (math.nan, math.inf)):
        got = case.call("larger", first, second)
        case.require(
            bool(np.isnan(got)),
            "NaN lost",
            f"larger({first}, {second}) is {got}, and not NaN: every comparison with NaN is False. "
            "Whichever of the two is NaN, give it back: math.isnan tells. A maximum without it "
            "hides a mistake.",
        )


def find_max(case, size, blocks):
    """Returns (values, how often the kernels have touched each array)."""
    values = rising(case, size)
    largest, counted = max_of(case, values, blocks)
    case.expect(
        largest, reference.largest(values), "largest", candidates=wrong_maxima(values, blocks)
    )
    return values, counted


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


def max_of(case, values, blocks):
    """(largest, how often the kernels have touched each array)."""
    partials, largest = case.output((blocks,)), case.output((1,))
    return largest, run(case, None, "launch_max", values, partials, largest)


def wrong_maxima(values, blocks):
    def stages(of_block):
        return in_two_stages(values, blocks, of_block, -np.inf, np.max)

    first = values[: blocks * BLOCK_THREADS].astype(np.float64)
    first = own_values(first, blocks, -np.inf, np.max).max(axis=1)[:BLOCK_THREADS]
    begins = "A maximum begins at -inf: float32(-math.inf). All of these values are below "
    known = {
        "begun at zero": (0.0, f"{begins}zero."),
        "begun at minus one": (-1.0, f"{begins}-1."),
        "smallest": (values.min(), "This is the smallest value."),
        "first warp only": (
            stages(of_first_warp(np.max)),
            "Only the first warp of each block is looked at: each warp leaves its maximum in "
            "warp_maxima, and of these the largest is found after a barrier.",
        ),
        **{
            f"first {count} warps only": (
                stages(of_first_warps(np.max, count)),
                f"Only the first {count} warps of each block are looked at: of warp_maxima, lane n "
                "reads number n, lane % WARPS, and then all WARPS of them are compared.",
            )
            for count in (2, 4)
        },
        "first lane of each warp": (
            stages(lambda own: own[:, ::WARP].max(axis=1)),
            "Of each warp only the number of its first lane is looked at: store the maximum of all "
            "its lanes.",
        ),
        "first thread only": (
            stages(lambda own: own[:, 0]),
            "Only the maximum of thread 0 arrives: first the block finds that of all.",
        ),
        "first values only": (
            first.max(),
            f"Only one value per thread is looked at: {STEPS}, up to the end.",
        ),
        "first block only": (
            values[:BLOCK_THREADS].max(),
            "Only the first values are looked at: cuda.threadIdx counts within a block, "
            "cuda.grid(1) over all of them.",
        ),
        "equal parts": (
            values[: values.size // blocks * blocks].max(initial=-np.inf),
            "Each block looks at the same number of values, rounded down: what is left over is "
            f"lost. Round up and stop at the end; or: {STEPS}.",
        ),
        "last value": (values[-1], "This is the last value, and not the largest."),
        "sum": (values.sum(dtype=np.float64), "This is the sum."),
    }
    return {name: (np.reshape(found, 1), words) for name, (found, words) in known.items()}


def require_max_of_infinities(case):
    """Nothing but -inf, in fewer values than threads."""
    largest, _ = max_of(case, np.full(300, -np.inf, np.float32), 2)
    got = largest.array[0]
    case.require(
        got != np.float32(largest.sentinel),
        "nothing stored",
        "of nothing but -inf no maximum is stored: a block stores its maximum whatever it is.",
    )
    case.require(
        got == -np.inf,
        "begun too high",
        f"the maximum of nothing but -inf is {got:g}, and should be -inf: "
        + (
            "inf - inf is no number. Compare, and do not subtract."
            if math.isnan(got)
            else "a maximum begins at float32(-math.inf), below which there is nothing."
        ),
    )


def require_empty_blocks(case):
    """One value and three blocks: two of these have none."""
    value = case.random(1, 1, 9)
    partials, largest = case.output((3,)), case.output((1,))
    run(case, None, "launch_max", value, partials, largest)
    got = np.sort(partials.array)
    unwritten = bool((partials.array == np.float32(partials.sentinel)).any())
    case.require(
        bool((got == [-np.inf, -np.inf, value[0]]).all()),
        "a block without values",
        f"of one value and three blocks the partials are {', '.join(f'{x:g}' for x in got)}: a "
        "block without a value "
        + (
            "has stored nothing, and should store -inf, as the others store theirs."
            if unwritten
            else "leaves -inf, so a thread begins at float32(-math.inf)."
        ),
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


# ---------------------------------------------------------------- where the maximum is


def require_comes_first(case):
    ties = "Of equal values the one with the lower index comes first, in whichever order they meet."
    nan = "A NaN comes before every number, and of two NaN the one with the lower index."
    infinite = (
        "Two infinities of the same sign are equal, and the lower index comes first. Are they "
        "compared by their difference? inf - inf is no number: compare, and do not subtract."
    )
    for value, index, other, other_index, expected, words in (
        (2.0, 7, 1.0, 3, True, "The larger value comes first."),
        (1.0, 3, 2.0, 7, False, "The larger value comes first."),
        (-2.0, 3, -1.0, 7, False, "The larger value comes first."),
        (2.0, 3, 2.0, 7, True, ties),
        (2.0, 7, 2.0, 3, False, ties),
        (math.nan, 7, math.inf, 3, True, nan),
        (math.inf, 3, math.nan, 7, False, nan),
        (math.nan, 3, math.nan, 7, True, nan),
        (math.nan, 7, math.nan, 3, False, nan),
        (math.inf, 3, math.inf, 7, True, infinite),
        (math.inf, 7, math.inf, 3, False, infinite),
        (-math.inf, 3, -math.inf, 7, True, infinite),
        (-math.inf, 7, -math.inf, 3, False, infinite),
    ):
        got = case.call("comes_first", value, index, other, other_index)
        what = {ties: "equal values", nan: "NaN", infinite: "equal infinities"}
        case.require(
            bool(got) == expected,
            what.get(words, "the wrong one"),
            f"comes_first({value}, {index}, {other}, {other_index}) is {bool(got)}. {words}",
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
    """(values, blocks, where two pairs meet whose values are equal)."""
    size, blocks = 4 * BLOCK_THREADS, 2
    for number in (3, math.nan, math.inf):
        for places, where in equal_places(case):
            values = case.random(size, -9, -1)
            values[list(places)] = number
            yield values, blocks, where
    # In the second stage a thread has a candidate of a block: here of two warps' threads.
    blocks = WARP + 8
    values = case.random((blocks + 4) * BLOCK_THREADS, -9, -1)
    values[[(blocks - 2) * BLOCK_THREADS + 5, (blocks + 3) * BLOCK_THREADS + 9]] = 3
    yield values, blocks, "two warps of the second stage"
    yield np.full(900, -np.inf, np.float32), 4, "all threads"
    values = case.random(700, -9, -1)
    values[[300, 5]] = np.inf
    values[[511, 600, 650]] = np.nan
    yield values, 2, "two blocks"
    # Two lanes whose steps of an exchange bring the higher index to lane 0 first.
    values = case.random(BLOCK_THREADS, -9, -1)
    values[[3, 5]] = np.inf
    yield values, 1, "two lanes of a warp"


def equal_places(case):
    """Pairs of places in two rounds of two blocks, and where they meet.

    Either of two lanes, warps or blocks has the lower index: that of a second round is the higher.
    """
    rng = case.rng
    (lane, other_lane), (warp, other_warp) = (
        sorted(int(i) for i in rng.choice(of, 2, replace=False)) for of in (WARP, WARPS)
    )

    def place(turn, block, warp, lane):
        return (2 * turn + block) * BLOCK_THREADS + warp * WARP + lane

    block = int(rng.integers(2))
    for lower, higher, where in (
        ((block, warp, lane), (block, warp, lane), "the values of one thread"),
        ((block, warp, lane), (block, warp, other_lane), "two lanes of a warp"),
        ((block, warp, other_lane), (block, other_warp, lane), "two warps of a block"),
        ((0, other_warp, lane), (1, warp, other_lane), "two blocks"),
    ):
        if lower != higher:
            yield (place(0, *lower), place(0, *higher)), where
        yield (place(0, *higher), place(1, *lower)), where


def find_argmax(case, values, blocks, where=""):
    """Returns how often the kernels have touched each array. where: see `equal_values`."""
    candidates, index = case.output((blocks,), np.int32), case.output((1,), np.int32)
    counted = run(case, None, "launch_argmax", values, candidates, index)
    expected = reference.argmax(values)
    known = wrong_indices(values, blocks) | index_alone(values, blocks)
    # One number is 0 by chance, too: what the first stage has left tells more.
    if not (candidates.array == own_of_thread_0(values, blocks)).all():
        known.pop("index left behind", None)
    if not candidates.array.any():
        known.pop("index left behind", None)
        known |= nothing_found(values)
    if blocks == 1 or (candidates.array != np.arange(blocks)).any():
        known.pop("block's number", None)
    if keeps_the_smallest(values, candidates.array):
        sentence = "Of two pairs the one that comes first is lost: comes_first says what to take."
        known["the other is kept"] = (np.zeros(1), sentence)
    if keeps_numbers_of_threads(values, candidates.array):
        sentence = (
            "What goes along with a value is its index, and not the number of a thread or of a "
            "warp: of each warp, the pair of value and index is kept."
        )
        known["a thread's number in place of the index"] = (index.array.copy(), sentence)
    shown = ", ".join(map(str, candidates.array[:4]))
    sentence = (
        f"Index 0 arrives, and the largest value is elsewhere. The first stage leaves {shown}"
        f"{', ...' if blocks > 4 else ''}: is this where the largest value of each block is?"
    )
    known.setdefault("index 0", (np.zeros(1), sentence))
    found = int(index.array[0])
    if 0 <= found < values.size and found != expected[0]:
        if np.array_equal(values[found], values[expected[0]], equal_nan=True):
            sentence = undecided(where, found, int(expected[0]), values[found])
            known = {"equal ones undecided": (index.array.copy(), sentence), **known}
    case.expect(index, expected, "index", candidates=known)
    return counted


def undecided(where, found, right, value):
    """Of two indices whose values are equal, why the higher one is found."""
    both = "are NaN" if math.isnan(value) else "are equal"
    met = f"They meet between {where}: there" if where else "Wherever two pairs meet,"
    if math.isinf(value):  # equal ones that are finite have come out right
        return (
            f"values[{right}] and values[{found}] {both}, and the lower index is wanted. {met} the "
            "indices have to be compared. Are the values compared by their difference? inf - inf "
            "is no number: compare, and do not subtract."
        )
    return (
        f"values[{right}] and values[{found}] {both}, and the lower index is wanted. {met} the "
        "indices have to be compared, which went along with the values, and no numbers of threads, "
        "lanes or warps."
    )


def nothing_found(values):
    """What it means that the first stage leaves 0 for each block."""
    if values.argmax() == 0:
        return {}
    begins = "A thread begins with float32(-math.inf), below which there is nothing"
    if values.max() < 0:
        words = f"No value comes before the pair that a thread begins with. {begins}."
        return {"begun too high": (np.zeros(1), words)}
    words = (
        "What arrives is the index that a thread begins with. Does the index go along wherever a "
        f"value is taken? And can a value be taken at all? {begins}."
    )
    return {"index left behind": (np.zeros(1), words)}


def own_of_thread_0(values, blocks):
    """(blocks,): where the largest of the values of each block's thread 0 is; 0 if it has none."""
    steps = np.arange(0, values.size, blocks * BLOCK_THREADS)
    places = [steps + block * BLOCK_THREADS for block in range(blocks)]
    own = [place[place < values.size] for place in places]
    return np.array([one[values[one].argmax()] if one.size else 0 for one in own])


def keeps_numbers_of_threads(values, candidates):
    """Whether the first stage leaves the number of the best value's warp, or its first thread."""
    if values.size < candidates.size * BLOCK_THREADS / 2 or not np.isfinite(values).all():
        return False
    threads = candidates.size * BLOCK_THREADS
    places = np.arange(values.size)
    parts = [places[places % threads // BLOCK_THREADS == block] for block in range(candidates.size)]
    best = np.array([part[values[part].argmax()] if part.size else 0 for part in parts])
    warp = best % BLOCK_THREADS // WARP
    return bool(warp.any()) and any((warp * of == candidates).all() for of in (1, WARP))


def keeps_the_smallest(values, candidates):
    """Whether the first stage leaves where the smallest value of each block's part is."""
    if values.size == 1 or not np.isfinite(values).all():
        return False
    threads = len(candidates) * BLOCK_THREADS
    block = np.arange(values.size) % threads // BLOCK_THREADS
    smallest = np.full(len(candidates), np.inf)
    np.minimum.at(smallest, block, values)
    found = values[np.clip(candidates, 0, values.size - 1)]
    return bool((found == smallest)[np.isfinite(smallest)].all())


def index_alone(values, blocks):
    """The index, if pairs meet and the index moves without its value; finite values only."""
    if not np.isfinite(values).all() or blocks > BLOCK_THREADS:
        return {}
    threads = blocks * BLOCK_THREADS
    first = np.full(-(-values.size // threads) * threads, -np.inf)
    first[: values.size] = values
    rounds = first.reshape(-1, threads)
    index = np.where(
        rounds.max(axis=0) > -np.inf, rounds.argmax(axis=0) * threads + np.arange(threads), 0
    )
    candidates = met(rounds.max(axis=0).reshape(-1, BLOCK_THREADS), index.reshape(blocks, -1))
    best, of_best = np.full((1, BLOCK_THREADS), -np.inf), np.zeros((1, BLOCK_THREADS), int)
    best[0, :blocks], of_best[0, :blocks] = values[candidates], candidates
    sentence = "The index went along, and its value stayed behind: take both, value and index."
    return {"value left behind": (met(best, of_best), sentence)}


def met(value, index):
    """(blocks,): the index of thread 0, of (blocks, threads) pairs whose values never move."""
    for lanes in (WARP, WARPS):
        for step in [step for step in (16, 8, 4, 2, 1) if step < lanes]:
            other = np.arange(value.shape[1]) ^ step
            first = (value[:, other] > value) | (
                (value[:, other] == value) & (index[:, other] < index)
            )
            index = np.where(first, index[:, other], index)
        value, index = value[:, ::lanes], index[:, ::lanes]
    return index[:, 0]


def best_thread_number(values, blocks, of):
    """What the second stage finds, if the first stores numbers of threads, of `of` threads."""
    block = np.arange(values.size) % (blocks * BLOCK_THREADS) // BLOCK_THREADS
    parts = (np.flatnonzero(block == number) for number in range(block.max() + 1))
    threads = np.array([part[values[part].argmax()] % of for part in parts])
    return threads[values[threads].argmax()]


def wrong_indices(values, blocks):
    """What known mistakes give; where several are possible, the one of each rule."""
    right = int(values.argmax())
    nans = np.isnan(values)
    places = np.flatnonzero((values == values[right]) | (nans & nans[right]))
    numbers = np.where(nans, -np.inf, values)
    known = {
        "last of equal ones": (places[-1], "Of equal values, the lowest index is wanted."),
        "another of equal ones": (
            places[len(places) // 2],
            "Of equal values, the lowest index is wanted.",
        ),
        "NaN lost": (numbers.argmax(), "The first NaN comes before every number."),
        "index within the block": (
            best_thread_number(values, blocks, BLOCK_THREADS),
            "This is the thread's number in its block: the index of a value is i.",
        ),
        "index within the grid": (
            best_thread_number(values, blocks, blocks * BLOCK_THREADS),
            "This is the thread's number in the grid, cuda.grid(1), and a thread has several "
            "values: the index of a value is i.",
        ),
        **first_warps_only(numbers, blocks),
        "where the smallest is": (numbers.argmin(), "This is where the smallest value is."),
        "index left behind": (
            0,
            "This is the index that thread 0 began with: an index goes along with its value.",
        ),
        "block's number": (
            right // BLOCK_THREADS,
            "This is the number of the block: store the index of the value.",
        ),
    }
    return {
        name: (np.reshape(found, 1), words)
        for name, (found, words) in known.items()
        if int(found) != right
    }


def first_warps_only(numbers, blocks):
    """The index, if a block looks at what its first warps have found, and not at all of them."""
    if blocks > WARP:  # then the second stage leaves something out, too
        return {}
    warp = np.arange(numbers.size) % BLOCK_THREADS // WARP
    return {
        f"first {count} warps only": (
            np.where(warp < count, numbers, -np.inf).argmax(),
            f"Only the first {count} warps of each block are looked at: lane n reads what warp n "
            "has stored, lane % WARPS, and then all WARPS of them are compared.",
        )
        for count in (1, 2, 4)
    }


# ---------------------------------------------------------------- columns


def add_columns_by_blocks(case, rows, columns):
    """Returns (sums, how often the kernel has touched each array)."""
    matrix, before = case.random((rows, columns), -1, 1), case.random(columns, 5, 6)
    sums = case.output((columns,), initial=before)
    counted = case.measure("launch_column_sums_by_blocks", matrix, sums)
    expected = before + reference.column_sums(matrix)
    exact = matrix.astype(np.float64)
    block = np.arange(rows) // BLOCK_THREADS
    candidates = {
        "stored, not added to": (
            reference.column_sums(matrix),
            "What sums held before is gone: the blocks add to it, atomically.",
        ),
        "first rows by every block": (
            before + (block[-1] + 1) * exact[block == 0].sum(axis=0),
            "Every block adds the first rows: cuda.threadIdx counts within a block, cuda.grid(1) "
            "over all of them.",
        ),
        "last block only": (
            exact[block == block[-1]].sum(axis=0),
            "Only the last block is there: the blocks add to sums, atomically.",
        ),
        "first block only": (
            before + exact[block == 0].sum(axis=0),
            "Only the first block has added its sum. Each block has a thread that adds, its own "
            "thread 0: cuda.threadIdx.x is 0 once per block, cuda.grid(1) only once.",
        ),
        "added by every thread": (
            before + BLOCK_THREADS * reference.column_sums(matrix),
            "Every thread adds the sum of the block: only one of them should.",
        ),
        "added by every warp": (
            before + WARPS * reference.column_sums(matrix),
            "Every warp adds the sum of the block: only thread 0 of the block should.",
        ),
        "first warps only": (
            before + exact[np.arange(rows) % BLOCK_THREADS < WARP].sum(axis=0),
            "Only the first warp of each block is added: block_sum adds up all of them.",
        ),
        "columns before added, too": (
            before + reference.column_sums(matrix).cumsum(),
            "Each column has those before it in its sum: the total begins at zero for each one.",
        ),
        "same column again": (
            before + np.eye(columns)[0] * exact.sum(),
            "All columns are added to the first one: the index of sums is the column.",
        ),
    }
    tolerance = case.check.tolerance * (6 + np.abs(matrix).sum(axis=0).max())
    case.expect(sums, expected, "sums", tolerance=tolerance, candidates=candidates)
    return sums, counted


def add_columns(case, rows, columns, blocks):
    """Returns how often the kernels have touched each array."""
    matrix = case.random((rows, columns), -1, 1)
    partials, sums = case.output((blocks, columns)), case.output((1, columns))
    counted = case.measure("launch_column_sums", matrix, partials, sums)
    expect_columns(case, sums, matrix, blocks)
    return counted


def expect_columns(case, sums, matrix, blocks):
    known = wrong_column_sums(matrix, blocks, sums.sentinel)
    expected = reference.column_sums(matrix)[None]
    case.expect(sums, expected, "sums", tolerance=room_for(matrix, case), candidates=known)


def wrong_column_sums(matrix, blocks, garbage):
    """What known mistakes make of the sums, in two stages. garbage: what is in them before."""
    rows, columns = matrix.shape
    exact = matrix.astype(np.float64)

    def stages(of_block):
        """As `in_two_stages`, column by column."""
        columns_of = [in_two_stages(column, blocks, of_block) for column in exact.T]
        return np.reshape(columns_of, (1, columns))

    def with_a_rest(part, blocks):
        """(blocks, columns): sums that begin with what the thread's warp has of the last column."""
        own = np.stack([own_values(column, blocks, 0.0, np.sum) for column in part.T], axis=2)
        rest = own[:, :, -1].reshape(blocks, WARPS, WARP).sum(axis=2)
        return own.sum(axis=1) + rest[:, np.arange(columns) // WARP]

    first = [
        own_values(column[: blocks * BLOCK_THREADS], blocks, 0.0, np.sum).sum(axis=1)
        for column in exact.T
    ]
    return {
        "first warp only": (
            stages(of_first_warp(np.sum)),
            "Only the first warp of each block is added: warp_sums has a row for each warp; add up "
            "all WARPS of them.",
        ),
        "one warp too few": (
            stages(lambda own: own[:, :-WARP].sum(axis=1)),
            "The last warp of each block is missing: there are WARPS of them.",
        ),
        "first rows only": (
            np.reshape([found[:BLOCK_THREADS].sum() for found in first], (1, columns)),
            "Only one row per thread is added: a thread's first row is cuda.grid(1), its next one "
            "cuda.gridsize(1) further on.",
        ),
        "every block adds all": (
            reference.column_sums(matrix)[None] * blocks,
            "Every block adds up all rows: a thread's first row is cuda.grid(1), its next one "
            "cuda.gridsize(1) further on.",
        ),
        "equal parts": (
            exact[: rows // blocks * blocks].sum(axis=0)[None],
            "Each block adds the same number of rows, rounded down: what is left over is lost. "
            "Round up and stop at the end; or go on by cuda.gridsize(1) from cuda.grid(1).",
        ),
        "steps of one block": (
            sum(
                exact[first:].sum(axis=0)
                for first in range(0, blocks * BLOCK_THREADS, BLOCK_THREADS)
            )[None],
            "Blocks add rows that others have added, too: a thread's next row is "
            "cuda.gridsize(1) further on, the threads of all blocks, and not those of one.",
        ),
        "first lane of each warp": (
            stages(lambda own: own[:, ::WARP].sum(axis=1)),
            "Of each warp only the sum of its first lane arrives: store what warp_sum gives.",
        ),
        "columns of one warp": (
            np.where(np.arange(columns) < WARP, reference.column_sums(matrix), garbage)[None],
            "Only the first 32 columns are stored: thread `column` of the block stores, and there "
            "are 256 threads.",
        ),
        "added to garbage": (
            reference.column_sums(matrix)[None] + garbage * (1 + blocks),
            "The sums are added to what was there before: partials holds garbage, so store.",
        ),
        "begun with the column before": (
            reference.column_sums(matrix)[None].cumsum(axis=1).cumsum(axis=1),
            "A column's sum begins with that of the column before: begin each one at zero.",
        ),
        "begun with a rest": (
            with_a_rest(with_a_rest(exact, blocks), 1),
            "A column's sum begins with what the variable held before: begin each one at zero.",
        ),
    }


# ---------------------------------------------------------------- running sums


def run_up(case, size, engine=None):
    """Returns (running, how often the kernels have touched each array)."""
    counts = case.rng.integers(1, 9, size).astype(np.int32)
    part_sums = case.output((-(-size // BLOCK_VALUES),), np.int32)
    running = case.output((size,), np.int32)
    counted = run(case, engine, "launch_prefix_sum", counts, part_sums, running)
    expected = reference.running_sums(counts)
    case.expect(running, expected, "running", candidates=wrong_running_sums(counts, expected))
    return running, counted


def wrong_running_sums(counts, right):
    """What one gets by leaving something out. counts (n,) int32, right (n,): their running sums."""
    place = np.arange(counts.size)

    def before(group):
        """The sum of what stands before the group of `group` counts that an element is in."""
        first = place // group * group
        return right[first] - counts[first]

    in_part = right - before(BLOCK_VALUES)
    in_round = right - before(BLOCK_THREADS)
    in_warp = right - before(WARP)
    first_warp = place // WARP % WARPS == 0
    totals = warp_totals(counts)
    last = np.pad(totals, (0, -len(totals) % WARPS))[WARPS - 1 :: WARPS]  # warp of each round
    earlier = np.cumsum(last) - last
    rounds_of_part = BLOCK_VALUES // BLOCK_THREADS
    last_warps = earlier[place // BLOCK_THREADS] - earlier[place // BLOCK_VALUES * rounds_of_part]
    warps = before(WARP) - before(BLOCK_THREADS)
    rounds = before(BLOCK_THREADS) - before(BLOCK_VALUES)
    return {
        "without itself": (
            right - counts,
            "Each sum lacks its own count: running[i] should have counts[i] in it, too.",
        ),
        "warps by themselves": (
            in_warp,
            "Each warp begins at zero: add what stands before it, in warps, rounds and parts.",
        ),
        "rounds by themselves": (
            in_round,
            "Each round of 256 begins at zero: add the totals of the rounds and parts before.",
        ),
        "parts by themselves": (
            in_part,
            "Each part begins at zero: add the part_sums of all lower blocks.",
        ),
        "without the warps before": (
            right - warps,
            "The warps before this one are missing: lane 31 of each leaves its sum in warp_sums.",
        ),
        "without the rounds before": (
            right - rounds,
            "The rounds before this one are missing: add each round's total to `before`.",
        ),
        "parts for the first warp only": (
            np.where(first_warp, right, in_part),
            "Only the first warp of a block knows the parts before: block_sum has to give the sum "
            "to all threads of the block.",
        ),
        "last warp for the round": (
            right - rounds + last_warps,
            "Of the rounds before only the last warp is counted: a round has WARPS of them.",
        ),
        "last shuffle missing": (
            of_wrong_warps(counts, of_steps(1, 2, 4, 8)),
            "The last round of shuffles is missing: step goes on to 16, as long as step < WARP.",
        ),
        "steps of one": (
            of_wrong_warps(counts, of_steps(*range(1, WARP))),
            "step doubles from round to round: 1, 2, 4, 8, 16. Here it grows by one.",
        ),
        "from above": (
            of_wrong_warps(counts, of_steps(1, 2, 4, 8, 16, move=down)),
            "What is added comes from higher lanes: what is below comes by shfl_up_sync.",
        ),
        "only the warp before": (
            right - warps + np.where(first_warp, 0, np.pad(totals, (1, 0))[place // WARP]),
            "Of the warps before this one only the last is added: add the totals of all of them.",
        ),
        "only the part before": (
            in_part + np.pad(part_totals(counts), (1, 0))[place // BLOCK_VALUES],
            "Of the parts before this one only the last is added: add the part_sums of all lower "
            "blocks.",
        ),
        "own part counted": (
            right + part_totals(counts)[place // BLOCK_VALUES],
            "The part's own sum is in it as well: only those of lower blocks stand before it.",
        ),
        "parts beyond the threads left out": (
            right - beyond_threads(counts)[place // BLOCK_VALUES],
            "Of the parts before this one, only as many are added as a block has threads: a thread "
            "adds part_sums in steps of BLOCK_THREADS.",
        ),
        "parts not added up": (
            in_part + parts_of_threads(counts)[place // BLOCK_VALUES, place % BLOCK_THREADS],
            "Each thread has only the parts that it has added itself: block_sum makes of these the "
            "sum of all parts before.",
        ),
        "all parts before": (
            in_part + counts.sum(dtype=np.int64),
            "All parts are added, and not only those of lower blocks.",
        ),
        "own warp twice": (
            right + warp_totals(counts)[place // WARP],
            "The sum of the own warp is added as well: only those of lower warps stand before it.",
        ),
        "own value twice": (
            of_wrong_warps(counts, without_a_guard),
            "Where no lane is that far below, a shuffle gives a lane its own value: add only if "
            "lane >= step.",
        ),
        "partners' running sums": (
            of_wrong_warps(counts, of_partners_below),
            "A lane adds the running sum of its partner, and needs the sum of all of its "
            "partner's group, which only the last lane of that group has. With "
            "shfl_up_sync, what is below comes in steps.",
        ),
        "lanes counted in the block": (
            of_wrong_warps(counts, guarded_in_the_first_warp_only),
            "Only the first warp is right: a lane is counted within its warp, from 0 to 31. It is "
            "cuda.threadIdx.x % WARP, and in all other warps lane >= step is true for every "
            "thread.",
        ),
        "lane == step left out": (
            of_wrong_warps(counts, only_above_the_step),
            "A lane that has exactly `step` lanes below it adds, too: lane >= step, not >.",
        ),
        "first lane in place of the last": (
            of_wrong_warps(counts, lambda table: table.cumsum(axis=1), total_of_warp=0),
            "The total of a warp is what its last lane has: lane 31 stores it, WARP - 1.",
        ),
        "backwards": (
            of_wrong_warps(counts, from_above),
            "Lanes have the sum up to the end of the warp: what is below comes by shfl_up_sync.",
        ),
        "as they were": (counts, "These are the counts themselves."),
        **known_to_few(right, right - in_part, in_part - in_round),
        **wrongly_carried_on(counts, right - rounds, in_warp, warps),
    }


def known_to_few(right, parts, rounds):
    """Running sums where some threads alone have what stands before a part, or before a round.

    right, parts, rounds (n,): the sums, and what of them is in earlier parts, in earlier rounds.
    """
    place = np.arange(right.size)
    few = {
        "thread 0 of each block": place % BLOCK_THREADS == 0,
        "the last thread of each block": place % BLOCK_THREADS == BLOCK_THREADS - 1,
        "the first lane of each warp": place % WARP == 0,
        "the last lane of each warp": place % WARP == WARP - 1,
    }
    lacking = {
        "what is in the parts before": parts,
        "what is in the rounds before": rounds,
        "what is in the parts and rounds before": parts + rounds,
    }
    return {
        f"{what.removeprefix('what is in the ')} missing but in {who}": (
            np.where(they, right, right - lack),
            f"Only {who} has {what}. A variable belongs to its thread alone, and a barrier hands "
            "nothing over: each thread needs that sum. block_sum and warp_sum give theirs to all; "
            "what one thread has computed goes through shared memory.",
        )
        for what, lack in lacking.items()
        for who, they in few.items()
    }


def wrongly_carried_on(counts, without_rounds, in_warp, warps):
    """Running sums in which what stands before a round grows by something else than its total.

    in_warp, warps: of each count, the sum in its warp up to it, and of its round's warps before.
    """
    of_warp = warp_totals(counts)[np.arange(counts.size) // WARP]
    known = {
        "own sum carried on": ("a thread's own running sum", warps + in_warp),
        "own sum of the warp carried on": ("a thread's own sum within its warp", in_warp),
        "own count carried on": ("a thread's own count", counts),
        "own warp carried on": ("the total of a thread's own warp", of_warp),
        "lower warps carried on": ("the total of the warps before a thread's own", warps),
        "warps up to its own carried on": (
            "the total of the warps up to a thread's own", warps + of_warp,
        ),
    }  # fmt: skip
    return {
        code: (
            without_rounds + of_earlier_rounds(grown),
            f"What stands before a round grows by {what}. It has to grow by the total of the whole "
            "round, that of all warps, and by the same for each thread.",
        )
        for code, (what, grown) in known.items()
    }


def of_earlier_rounds(numbers):
    """(n,): what the same thread had in the earlier rounds of its part, added up."""
    table = np.zeros(-(-numbers.size // BLOCK_VALUES) * BLOCK_VALUES, np.int64)
    table[: numbers.size] = numbers
    table = table.reshape(-1, BLOCK_VALUES // BLOCK_THREADS, BLOCK_THREADS)
    return (table.cumsum(axis=1) - table).ravel()[: numbers.size]


def of_wrong_warps(counts, prefix, total_of_warp=-1):
    """Running sums of one round, of warps whose lanes have `prefix` of (warps, 32).

    total_of_warp: the lane whose number stands for the whole warp.
    """
    table = np.zeros((-(-counts.size // WARP), WARP), np.int64)
    table.ravel()[: counts.size] = counts
    table = prefix(table)
    totals = table[:, [total_of_warp]]
    return (table + np.cumsum(totals, axis=0) - totals).ravel()[: counts.size]


def without_a_guard(table):
    for step in (1, 2, 4, 8, 16):
        table = table + up(table, step)
    return table


def guarded_in_the_first_warp_only(table):
    thread = np.arange(len(table))[:, None] % WARPS * WARP + np.arange(WARP)
    for step in (1, 2, 4, 8, 16):
        table = table + np.where(thread >= step, up(table, step), 0)
    return table


def of_steps(*steps, move=up):
    def prefix(table):
        for step in steps:
            table = table + np.where(np.arange(WARP) >= step, move(table, step), 0)
        return table

    return prefix


def only_above_the_step(table):
    for step in (1, 2, 4, 8, 16):
        table = table + np.where(np.arange(WARP) > step, up(table, step), 0)
    return table


def of_partners_below(table):
    for step in (1, 2, 4, 8, 16):
        has_one = np.arange(WARP) & step > 0
        table = table + np.where(has_one, exchange(table, step), 0)
    return table


def from_above(table):
    return np.cumsum(table[:, ::-1], axis=1)[:, ::-1]


def parts_of_threads(counts):
    """(parts, threads): of the parts before each, the sum of those that a thread goes over."""
    totals = part_totals(counts)
    own = np.zeros((len(totals) + 1, BLOCK_THREADS), np.int64)
    own[np.arange(len(totals)) + 1, np.arange(len(totals)) % BLOCK_THREADS] = totals
    return own.cumsum(axis=0)[:-1]


def part_totals(counts):
    return np.add.reduceat(counts.astype(np.int64), np.arange(0, counts.size, BLOCK_VALUES))


def beyond_threads(counts):
    """(parts,): the sum of the parts before each, without the first BLOCK_THREADS of them."""
    totals = part_totals(counts)
    totals[:BLOCK_THREADS] = 0
    return np.cumsum(totals) - totals


def warp_totals(counts):
    return np.add.reduceat(counts.astype(np.int64), np.arange(0, counts.size, WARP))


# ---------------------------------------------------------------- levels


def find_levels(case, counts, shares):
    if not counts.any():
        counts = counts + 1  # one pixel or more
    running = reference.running_sums(counts).astype(np.int32)
    per_mille = np.array(shares, np.int32)
    levels = case.output((len(shares),), np.int32)
    case.run("launch_find_levels", running, per_mille, levels)
    expected = np.array([reference.level(running, share) for share in shares])
    candidates = wrong_levels(running, per_mille, levels.sentinel)
    if any("atomic.min" in line for line in case.submission.lines):
        candidates["the smaller one kept"] = (
            np.full(len(shares), levels.sentinel),
            "An atomic minimum keeps what was there before, if that is smaller; and levels holds "
            "garbage before. Store: each bin sees by itself whether it is the first with enough.",
        )
    case.expect(levels, expected, "levels", candidates=candidates)


def wrong_levels(running, per_mille, garbage):
    pixels, bins = int(running[-1]), len(running)

    def first_with(wanted, side="left"):
        return np.array([np.searchsorted(running, number, side) for number in wanted])

    exact = [pixels * int(share) / 1000 for share in per_mille]
    up = [max(1, math.ceil(number)) for number in exact]
    right, later = first_with(up), first_with(up, "right")
    none = np.equal(exact, 0)
    at_least = (
        "Of a share of no pixels, the first bin with at least one is wanted: wanted is max(1, ...)."
    )
    with np.errstate(over="ignore"):
        product = (running[-1] * per_mille + np.int32(999)) // 1000
    wrapped = first_with(np.maximum(product, 1))

    def stored(found):
        return np.where(found < bins, found, garbage)

    shares = per_mille.astype(np.float32) / np.float32(1000)
    rounded = first_with(np.maximum(np.ceil(shares * np.float32(pixels)), 1))
    reached = np.array(
        [
            np.argmax(running.astype(np.float32) / np.float32(pixels) >= share)
            for share in np.maximum(shares, np.float32(1) / np.float32(pixels))
        ]
    )
    return {
        "never the first bin": (
            np.where(right == 0, garbage, right),
            "Bin 0 is never found: there is no bin before it, so it is the first one with enough "
            "if it has enough itself.",
        ),
        "no pixel is enough": (np.where(none, garbage, right), at_least),
        "an empty bin is enough": (np.where(none, 0, right), at_least),
        "shares in float32": (
            reached,
            "Shares of the pixels are compared as float32, which have 24 bits: with many pixels "
            "one more or less is the same. Compare whole numbers, in int64.",
        ),
        "more than an int32": (
            stored(wrapped),
            "A thousand times so many pixels do not fit into an int32: int64(...) before the "
            "multiplication.",
        ),
        "counted in float32": (
            stored(rounded),
            "The number of pixels that is enough is not exact: a float32 does not hold every whole "
            "number above 16,777,216. Count in int64.",
        ),
        "rounded down": (
            np.minimum(first_with([max(1, math.floor(number)) for number in exact]), bins - 1),
            "The number of pixels that is enough has to be rounded up: (... + 999) // 1000.",
        ),
        "more than enough": (
            stored(later),
            "A bin that has just enough is the first one: wanted <= running[bin].",
        ),
        **other_quantiles(exact, pixels, lambda pixel: stored(first_with(pixel))),
        "one bin too far": (right + 1, "This is the bin behind the first one with enough pixels."),
        "one bin too early": (right - 1, "This is the last bin that has not enough pixels."),
        "per cent": (
            np.minimum(first_with([max(1, math.ceil(10 * number)) for number in exact]), bins - 1),
            "per_mille counts thousandths, not hundredths.",
        ),
        "bins counted, not pixels": (
            first_with([max(1, math.ceil(bins * int(share) / 1000)) for share in per_mille]),
            "The shares are of the number of bins: they are of all pixels, which is the last "
            "running sum.",
        ),
        "pixels, not bins": (
            np.array(up),
            "This is how many pixels are wanted: store the bin in which they are reached.",
        ),
    }


def other_quantiles(exact, pixels, bin_of):
    """code -> (levels, sentence): with another pixel of each share, as other definitions have it.

    exact: of how many pixels each share is. bin_of: numbers of pixels, counted from 1 -> bins.
    """
    wanted = (
        "Wanted is the first bin up to which at least so many of 1,000 pixels lie: that of pixel "
        "(per_mille * pixels + 999) // 1000, counted from 1, and of the first pixel for none."
    )
    share = {"pixels": exact, "(pixels - 1)": [part * (pixels - 1) / pixels for part in exact]}
    ways = {
        "rounded down": math.floor,
        "rounded up": math.ceil,
        "rounded to the nearest": round,
    }
    return {
        f"another quantile, of {of}, {how}, from {first}": (
            bin_of([way(part) + 1 - first for part in parts]),
            "These are the levels by another rule for a quantile, such as that of pixel "
            f"per_mille * {of} / 1000, {how}, counted from {first}. {wanted}",
        )
        for first in (0, 1)
        for of, parts in share.items()
        for how, way in ways.items()
    }
