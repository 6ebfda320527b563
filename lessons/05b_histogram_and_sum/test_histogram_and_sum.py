"""Checks of lesson 5b. Each brightness is well inside a bin that is known before it is computed."""

import numpy as np

from lessons.grading.judge.case import Curve, check

BLOCK_THREADS, PIXELS_PER_THREAD = 256, 16
BLOCK_PIXELS = BLOCK_THREADS * PIXELS_PER_THREAD
GLOBAL, SHARED, SUM = "launch_histogram_global", "launch_histogram_shared", "launch_sum_tree"
BINS = 10, 256, 1, 300
EXACT_BINS = 8  # their borders are exact in float32, multiplied or divided
# Pixels, bins, and how many of the bins are used.
FOR_GLOBAL = (700, 10, 10), (1, 5, 5), (512, 300, 300), (257, 8, 1)
FOR_SHARED = (
    (1000, 10, 10),  # one block, with fewer bins than threads
    (BLOCK_PIXELS + 1, 300, 300),  # the last block has one pixel, and there are more bins
    (2 * BLOCK_PIXELS, 7, 1),  # all pixels in one bin
    (3 * BLOCK_PIXELS - 100, 256, 256),
    (1, 1024, 1024),  # as many bins as there is room for
)
# Values. First one block, whose threads have several: a mistake in them shows, and few threads.
SUMS = 1000, 2 * BLOCK_PIXELS + 77, 1, BLOCK_THREADS, BLOCK_PIXELS + BLOCK_THREADS
BLOCKS = 3  # of the runs that are counted, with 100 pixels or values less than fill them
COUNTED_BINS = 64
LARGE, SMALL = 549 * 803, BLOCK_PIXELS + 803  # pixels or values

ALLOWED_ADDITIONS = 4 * COUNTED_BINS  # to counts per block: for blocks of fewer pixels
ALLOWED_REQUESTS = 4  # per 32 numbers that a warp could read at once
ALLOWED_QUEUE = BLOCK_THREADS / 8  # atomics in shared memory per block: one per warp is no queue
# A tree that begins with neighbours needs about 130, one thread alone 256.
ALLOWED_WAITING = 180  # requests per block in which a whole warp waits for one thread


@check("bin_of")
def test_bin_of(case):
    for bins in BINS:
        numbers = case.rng.integers(0, bins, 4)
        brightness = [*inside(case, numbers, bins), 0, 1]
        got = np.array([case.call("bin_of", float(value), bins) for value in brightness])
        bins_of = np.array([*numbers, 0, bins - 1])
        case.expect(got, bins_of, "bin_of", over=Curve(np.array(brightness)))
    # A border belongs to the bin above it.
    numbers = np.arange(1, EXACT_BINS)
    got = [case.call("bin_of", float(number / EXACT_BINS), EXACT_BINS) for number in numbers]
    case.expect(np.array(got), numbers, "bin_of")


@check("global")
def test_global(case):
    for pixels, bins, used in FOR_GLOBAL:
        brightness, _, counted = count(case, GLOBAL, pixels, bins, used)
    require_work_for_all(case, counted, brightness)


@check("shared")
def test_shared(case):
    for pixels, bins, used in FOR_SHARED:
        count(case, SHARED, pixels, bins, used)


@check("few_additions")
def test_few_additions(case):
    pixels = BLOCKS * BLOCK_PIXELS - 100
    brightness, counts, counted = count(case, SHARED, pixels, COUNTED_BINS, COUNTED_BINS)
    require_work_for_all(case, counted, brightness)
    additions = counted.of(counts).atomics
    by_pixel = additions >= pixels
    case.budget(
        "additions to counts per block of 4,096 pixels",
        yours=additions / BLOCKS,
        ours=COUNTED_BINS,
        allowed=ALLOWED_ADDITIONS,
        diagnosis="added pixel by pixel" if by_pixel else "handed over again and again",
        sentence=f"a block adds {additions / BLOCKS:,.0f} times to counts: it should count all of "
        "its pixels in shared memory first, in one cuda.shared.array for all of its threads, and "
        "then add each of its counts to global memory, once.",
        line=counted.busiest_line("atomics", counts),
    )


@check("sum_tree")
def test_sum_tree(case):
    for size in SUMS:
        add_up(case, size)


@check("one_addition")
def test_one_addition(case):
    values, total, counted = add_up(case, BLOCKS * BLOCK_PIXELS - 100)
    require_work_for_all(case, counted, values)
    additions = counted.of(total).atomics
    case.require(additions > 0, "no atomic", "the blocks add to total: atomically, each once.")
    by_many = additions > PIXELS_PER_THREAD * BLOCKS  # fewer may be one thread's, round by round
    case.budget(
        "additions to total per 4,096 values",
        yours=additions / BLOCKS,
        ours=1,
        # The student's own launch may have blocks of 256 values.
        allowed=BLOCK_PIXELS / BLOCK_THREADS if case.own_launch() else 1.5,
        diagnosis="added by many threads" if by_many else "added again and again",
        sentence=f"a block adds {additions / BLOCKS:,.1f} times to total: its threads should first "
        "make one sum of all their values, in shared memory; then one of them adds it, once.",
        line=counted.busiest_line("atomics", total),
    )
    case.budget(
        "atomic additions in shared memory, per block",
        yours=counted.shared().atomics / additions,
        ours=0,
        allowed=ALLOWED_QUEUE,
        diagnosis="a queue, not a tree",
        sentence="the threads of a block all add to one number, and wait for each other; in a "
        "tree, each round adds pairs, and nobody waits.",
    )
    require_tree(case, counted.shared(), additions)


@check("float32")
def test_float32(case):
    for launch in (GLOBAL, SHARED):
        count(case, launch, 300, 10, 10)
    add_up(case, 300)


@check("large")
def test_large(case):
    size = case.size(large=LARGE, small=SMALL)
    for launch in (GLOBAL, SHARED):
        count(case, launch, size, 256, 256, engine="large")
    add_up(case, size, engine="large")


def inside(case, numbers, bins):
    """A random brightness in each of these bins, too far from its borders to be rounded over."""
    return ((numbers + case.rng.uniform(0.1, 0.9, len(numbers))) / bins).astype(np.float32)


def count(case, launch, pixels, bins, used, engine=None):
    """Count random pixels, all in the first `used` bins. What `counts` held before stays in it.

    If all bins are used, the last pixel is white: 1.0, which is of the last bin.

    Returns (brightness, counts, how often the kernel has touched them; None for a large input).
    """
    numbers = case.rng.integers(0, used, pixels)
    before = case.rng.integers(0, 50, bins).astype(np.int32)
    counts = case.output((bins,), np.int32, initial=before)
    brightness = inside(case, numbers, bins)
    if used == bins:
        numbers[-1], brightness[-1] = bins - 1, 1
    counted = run(case, launch, brightness, counts, engine)
    case.expect(counts, before + np.bincount(numbers, minlength=bins), "counts")
    return brightness, counts, counted


def add_up(case, size, engine=None):
    """Returns (values, total, how often the kernel has touched them; see `count`)."""
    values, before = case.random(size), case.random(1, 5, 6)
    total = case.output((1,), initial=before)
    counted = run(case, SUM, values, total, engine)
    case.expect(total, before.astype(np.float64) + values.astype(np.float64).sum(), "total")
    return values, total, counted


def run(case, launch, values, result, engine):
    if engine:
        case.run(launch, values, result, engine=engine)
        return None
    return case.measure(launch, values, result)


def require_work_for_all(case, counted, array):
    """That the threads of a warp read together, and each number is read about once."""
    reads = counted.of(array).reads / array.size
    case.budget(
        "requests per 32 numbers",
        yours=counted.of(array).requests * 32 / array.size,
        ours=1,
        allowed=ALLOWED_REQUESTS,
        diagnosis="threads without work",
        sentence=f"each number is read {reads:.3g} times. The 32 threads of a warp could read 32 "
        "numbers at once: each thread should have its own, read them once, and add each where it "
        "belongs.",
        line=counted.busiest_line("requests", array),
    )


def require_tree(case, shared, blocks):
    """That few threads of a warp wait while others add.

    Blocks may add to shared memory more often than ours, if all threads of a warp do it together.
    """
    waiting = 32 * shared.shared_requests - shared.shared_reads - shared.shared_writes
    case.budget(
        "requests for shared memory in which a whole warp waits for one thread, per block",
        yours=waiting / 31 / blocks,
        ours=14,
        allowed=ALLOWED_WAITING,
        diagnosis="one thread adds up",
        sentence="one thread of a warp, or a few, add up what others have stored, and the rest of "
        "the warp waits: in a tree, half of the threads add in the first round, a quarter in the "
        "second, and so on.",
    )
