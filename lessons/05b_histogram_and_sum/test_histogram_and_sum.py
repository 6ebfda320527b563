"""Checks of lesson 5b. Each brightness is well inside a bin that is known before it is computed."""

import ast
import re
from functools import partial

import numpy as np

from lessons.grading.advice.cleared import line_that_stores
from lessons.grading.advice.shared_out import Launch, shared_out, told
from lessons.grading.checks.case import check

BLOCK_THREADS, PIXELS_PER_THREAD = 256, 16
BLOCK_PIXELS = BLOCK_THREADS * PIXELS_PER_THREAD
SEVERAL = 4  # threads that read the same number: more than an edge of a block explains
NUMBER_OF_BINS = (
    "How many bins there are is an argument: multiply by `bins`, not by a fixed number."
)
THREADS_OF_PIXELS = (
    "a thread's first pixel is cuda.grid(1), its next one cuda.gridsize(1) further on"
)

INDEX_OF_A_SUM = (
    "a block's array has a place for each of its threads, cuda.threadIdx.x, and in the first round "
    "`active` is 128, half of them."
)


@check("bin_of")
def test_bin_of(case):
    for bins in (10, 256, 1, 300):
        numbers = case.rng.integers(0, bins, 4)
        brightness = [*inside(case, numbers, bins), np.float32(0), np.float32(1)]
        got = np.array([case.call("bin_of", float(value), bins) for value in brightness])
        expected = np.array([*numbers, 0, bins - 1])
        exact = np.asarray(brightness, np.float64)
        case.expect(got, expected, "bin_of", candidates=wrong_bins(exact, bins))
    # Borders that are exact in float32, multiplied or divided: one belongs to the bin above it.
    bins = 8
    numbers = np.arange(1, bins)
    got = np.array([case.call("bin_of", float(number / bins), bins) for number in numbers])
    case.expect(got, numbers, "bin_of", candidates=wrong_borders(numbers))


@check("global")
def test_global(case):
    # In the last one, all threads add to one bin.
    for pixels, bins, used in ((700, 10, 10), (1, 5, 5), (512, 300, 300), (257, 8, 1)):
        brightness, _, counted = count(case, "launch_histogram_global", pixels, bins, used)
    require_work_for_all(case, counted, brightness)


@check("shared")
def test_shared(case):
    sizes = (
        (1000, 10, 10),  # one block, with fewer bins than threads
        (BLOCK_PIXELS + 1, 300, 300),  # the last block has one pixel, and there are more bins
        (2 * BLOCK_PIXELS, 7, 1),  # all pixels in one bin
        (3 * BLOCK_PIXELS - 100, 256, 256),
        (1, 1024, 1024),  # as many bins as there is room for
    )
    for pixels, bins, used in sizes:
        count(case, "launch_histogram_shared", pixels, bins, used)


@check("few_additions")
def test_few_additions(case):
    bins, blocks = 64, 3
    pixels = blocks * BLOCK_PIXELS - 100
    brightness, counts, counted = count(case, "launch_histogram_shared", pixels, bins, bins)
    require_work_for_all(case, counted, brightness)
    by_pixel = counted.of(counts).atomics >= pixels
    case.budget(
        "additions to counts per block of 4,096 pixels",
        yours=counted.of(counts).atomics / blocks,
        ours=bins,
        allowed=4 * bins,  # for blocks of fewer pixels
        diagnosis="added pixel by pixel" if by_pixel else "handed over again and again",
        sentence=f"a block adds {counted.of(counts).atomics / blocks:,.0f} times to counts: it "
        "should count all of its pixels in shared memory first, and then add each of its counts to "
        f"global memory, once.{counted_thread_by_thread(case.submission.lines)}",
        line=counted.busiest_line("atomics", counts),
    )


def counted_thread_by_thread(source):
    """Which line gives each thread counts of its own, in histogram_shared; "" if none does."""
    for function in ast.parse("\n".join(source)).body:  # it has counted, so it can be read
        for node in ast.walk(function):
            its_own = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("local.array")
            if its_own and getattr(function, "name", "") == "histogram_shared":
                return (
                    f" Line {node.lineno} makes an array for each thread: one for all threads of "
                    "the block is a cuda.shared.array."
                )
    return ""


@check("sum_tree")
def test_sum_tree(case):
    # First one block, whose threads have several values: a mistake in them shows, and few threads.
    for size in (1000, 2 * BLOCK_PIXELS + 77, 1, BLOCK_THREADS, BLOCK_PIXELS + BLOCK_THREADS):
        add_up(case, size)


@check("one_addition")
def test_one_addition(case):
    blocks = 3
    size = blocks * BLOCK_PIXELS - 100
    values, total, counted = add_up(case, size)
    require_work_for_all(case, counted, values)
    additions = counted.of(total).atomics
    case.require(additions > 0, "no atomic", "the blocks add to total: atomically, each once.")
    by_many = additions > PIXELS_PER_THREAD * blocks  # fewer may be one thread's, round by round
    case.budget(
        "additions to total per 4,096 values",
        yours=additions / blocks,
        ours=1,
        # The student's own launch may have blocks of 256 values.
        allowed=BLOCK_PIXELS / BLOCK_THREADS if case.own_launch() else 1.5,
        diagnosis="added by many threads" if by_many else "added again and again",
        sentence=f"a block adds {additions / blocks:,.1f} times to total: its threads should first "
        "make one sum of all their values, in shared memory; then one of them adds it, once.",
        line=counted.busiest_line("atomics", total),
    )
    case.budget(
        "atomic additions in shared memory, per block",
        yours=counted.shared().atomics / additions,
        ours=0,
        allowed=BLOCK_THREADS / 8,  # one per warp is no queue
        diagnosis="a queue, not a tree",
        sentence="the threads of a block all add to one number, and wait for each other; in a "
        "tree, each round adds pairs, and nobody waits.",
    )
    require_tree(case, counted.shared(), additions)


def require_tree(case, shared, blocks):
    """That few threads of a warp wait while others add.

    Blocks may add to shared memory more often than ours, if all threads of a warp do it together.
    """
    waiting = 32 * shared.shared_requests - shared.shared_reads - shared.shared_writes
    case.budget(
        "requests for shared memory in which a whole warp waits for one thread, per block",
        yours=waiting / 31 / blocks,
        ours=14,
        allowed=180,  # a tree that begins with neighbours has about 130, one thread alone 256
        diagnosis="one thread adds up",
        sentence="one thread of a warp, or a few, add up what others have stored, and the rest of "
        "the warp waits: in a tree, half of the threads add in the first round, a quarter in the "
        "second, and so on.",
    )


def require_work_for_all(case, counted, array):
    """That the threads of a warp read together, and each number is read about once."""
    reads = counted.of(array).reads / array.size
    again = (
        f"each number is read {reads:.0f} times: do several threads go over the same ones, as if "
        "each had a bin, or a result, and looked for what belongs to it? Share out the numbers: a "
        "number belongs to one thread, which adds it where it belongs."
    )
    case.budget(
        "requests per 32 numbers",
        yours=counted.of(array).requests * 32 / array.size,
        ours=1,
        allowed=4,
        diagnosis="threads without work",
        sentence=again
        if reads >= SEVERAL
        else "the 32 threads of a warp could read 32 numbers at once: each thread should have "
        "its own, and read them once.",
        line=counted.busiest_line("requests", array),
    )


@check("float32")
def test_float32(case):
    for launch in ("launch_histogram_global", "launch_histogram_shared"):
        count(case, launch, 300, 10, 10)
    add_up(case, 300)


@check("large")
def test_large(case):
    size = case.size(large=549 * 803, small=BLOCK_PIXELS + 803)
    for launch in ("launch_histogram_global", "launch_histogram_shared"):
        count(case, launch, size, 256, 256, engine="large")
    add_up(case, size, engine="large")


def inside(case, numbers, bins):
    """A random brightness in each of these bins, too far from its borders to be rounded over."""
    return ((numbers + case.rng.uniform(0.1, 0.9, len(numbers))) / bins).astype(np.float32)


def outside_shared(found, advice):
    """What an index outside shared memory, or outside total, says in this lesson."""
    if found.kind == "out-of-bounds" and found.message.startswith("total["):
        return "total has one element, total[0]: all blocks add to the same."
    unset = re.search(r"\w+\[(\d+)\] is read", found.message)
    if found.kind == "uninitialised" and unset and int(unset[1]) >= BLOCK_THREADS:
        return (
            "Each block sets all of its own counts to zero, also where there are more bins than "
            f"its {BLOCK_THREADS} threads: a thread takes several, from cuda.threadIdx.x on, in "
            "steps of BLOCK_THREADS."
        )
    handed_in = found.message.startswith(("brightness[", "counts[", "values["))
    outside = found.kind == "out-of-bounds" and not handed_in
    inside_block = outside and f"({BLOCK_THREADS},)" in found.message
    return f"Shared memory: {advice}" if inside_block else ""


def explained_sum(found):
    if found.kind == "race" and "one statement reads" in found.message:
        return (
            "In a round of the tree half of the threads that are left add a partial sum of the "
            "other half, as many places further on as threads add: those are read, and nobody "
            "writes them."
        )
    return outside_shared(found, INDEX_OF_A_SUM)


# ---------------------------------------------------------------- histograms


def count(case, launch, pixels, bins, used, engine=None):
    """Count random pixels, all in the first `used` bins. What `counts` held before stays in it.

    Returns (brightness, counts, how often the kernel has touched them; None for a large input).
    """
    numbers = case.rng.integers(0, used, pixels)
    before = case.rng.integers(0, 50, bins).astype(np.int32)
    counts = case.output((bins,), np.int32, initial=before)
    brightness = inside(case, numbers, bins)
    counted = run(case, launch, brightness, counts, engine)

    def result(weights=None):
        return before + np.bincount(numbers, weights, minlength=bins)

    several = launch == "launch_histogram_shared"
    case.explain = partial(outside_shared, advice="there may be more bins than threads: MAX_BINS.")
    blocks = -(-pixels // (BLOCK_PIXELS if several else BLOCK_THREADS))
    candidates = {
        **wrong_pixels(result, pixels, blocks, bins),
        **handed_over_by_grid(result, numbers, blocks),
        **wrong_additions(result() - before, before, blocks),
        **handed_over_again(result, pixels, blocks),
        **first_pixel_again(result, pixels, blocks),
        **(handed_over_by_pixel(before, numbers, blocks) if several else {}),
        **(last_run_missing(result, numbers, blocks) if several and engine is None else {}),
        "bins added": (
            result(numbers),
            "What is added is the bin of the pixel: add 1, since a pixel is one more in its bin.",
        ),
    }
    for code, place in (("index and value exchanged", 1), ("index written in", 0)):
        if place < bins:
            candidates[code] = added_at(place, before, numbers)

    def known():
        of_one, _ = candidates["first pixels only"]  # which says more than a range of pixels
        if not several or engine or np.array_equal(counts.array, of_one):
            return candidates
        tolerance = case.usual_tolerance(result())
        return candidates | taken_otherwise("pixels", counts, blocks, pixels, result, tolerance)

    gone, sentence = candidates["stored, not added to"]
    store = told_store(case, launch.removeprefix("launch_"))
    candidates["stored, not added to"] = gone, f"{sentence}{store}"
    case.expect(counts, result(), "counts", candidates=known)
    return brightness, counts, counted


def told_store(case, kernel):
    """Which line of a kernel stores with `=` to the array that all add to; "" if it is not one."""
    line = line_that_stores(kernel, 1, case.submission.lines)
    return f" Line {line} stores into it." if line else ""


def taken_otherwise(what, output, blocks, size, result, tolerance):
    """code -> (result, sentence), if threads take others than they should, and only one way fits.

    result: how often each of `size` numbers is taken -> what `output` then holds.
    """
    launch = Launch(size, blocks, BLOCK_THREADS, PIXELS_PER_THREAD)
    done = "counted" if what == "pixels" else "added"
    fitting = [
        (result(times), told(times, launch, what, done, ways))
        for times, ways in shared_out(launch)
        if np.abs(output.array - result(times)).max() <= tolerance
    ]
    right = (
        "One right way: a thread begins at cuda.grid(1) and goes on in steps of "
        "cuda.gridsize(1), up to the end."
    )
    if len(fitting) != 1:
        return {}
    # The code names a mistake, and no mere look of the values: no other place has to be found.
    return {f"{what} shared out otherwise": (fitting[0][0], f"{fitting[0][1]} {right}")}


def added_at(place, before, numbers):
    """What one gets by adding to this place always, and its sentence."""
    counts = before.astype(np.float64)
    counts[place] += numbers.sum() if place else len(numbers)
    if place:
        return (
            counts,
            "The bins were added to counts[1]: cuda.atomic.add(array, index, value), the index "
            "first.",
        )
    return counts, "All pixels are counted in bin 0: the index is the pixel's bin."


def run(case, launch, values, result, engine):
    if engine:
        case.run(launch, values, result, engine=engine)
        return None
    return case.measure(launch, values, result)


def wrong_pixels(result, pixels, blocks, bins):
    """What one counts by mistaking which pixels are whose. result: weight of each -> counts."""
    pixel = np.arange(pixels)
    block, threads = pixel // BLOCK_THREADS, blocks * BLOCK_THREADS
    whose = "cuda.threadIdx counts within a block, cuda.grid(1) over all of them."
    of_blocks = {
        "first block only": (result(block == 0), f"Only the first pixels are counted: {whose}"),
        "first block again": (
            result((block == 0) * float(blocks)),
            f"Every block counts the pixels of the first one: {whose}",
        ),
        "first threads only": (
            result((pixel % threads < BLOCK_THREADS) * float(blocks)),
            f"Every block counts the pixels of the first one: {whose}",
        ),
    }
    return {
        "first pixels only": (
            result(pixel < threads),
            f"Only one pixel per thread is counted: {THREADS_OF_PIXELS}, up to the end.",
        ),
        **{
            code: (result(taken), f"Only the first {few} pixels of each thread are counted, {rest}")
            for code, few, taken, rest in first_few(pixels, blocks)
        },
        **(of_blocks if blocks > 1 else {}),  # in one, both numbers are the same
        "guard of the bins": (
            result(pixel < bins),
            "As many pixels are counted as there are bins: the guard is about pixels, "
            "brightness.shape[0].",
        ),
        "pixels of other blocks": (
            result(np.minimum(block, blocks - 1) + 1.0),
            f"Pixels are counted by several blocks: {THREADS_OF_PIXELS}, not cuda.blockDim.x.",
        ),
        "every block counts all": (
            result(np.full(pixels, float(blocks))),
            f"Every block counts all pixels: {THREADS_OF_PIXELS}.",
        ),
        "first block's counts": (
            result(pixel % threads < BLOCK_THREADS),
            "Only the pixels of block 0 arrive: every block counts its own, and hands over its "
            "counts.",
        ),
        "last pixel missing": (
            result(pixel < pixels - 1),
            "The last pixel is missing: a guard or a loop ends one too early.",
        ),
    }


def first_few(size, blocks):
    """(code, how many, which of `size` numbers, sentence) if each thread has only its first few.

    They lie one after another, or at the beginning of each block's 4,096.
    """
    number = np.arange(size)
    most = -(-size // (blocks * BLOCK_THREADS))
    for few in (2, 3, 4, 8):
        if 2 * few <= most:
            whole = f"of up to {most}: {THREADS_OF_PIXELS}, in a loop up to the end."
            yield f"first {few}", few, number < few * blocks * BLOCK_THREADS, whole
            place = number % BLOCK_PIXELS < few * BLOCK_THREADS
            yield f"first {few} of its piece", few, place, whole


def last_run_missing(result, numbers, blocks):
    """A thread that adds when its bin changes, and not once more at the end."""
    threads = blocks * BLOCK_THREADS
    rounds = np.full((-(-len(numbers) // threads), threads), -1)
    rounds.flat[: len(numbers)] = numbers
    rounds[-1] = np.where(rounds[-1] < 0, rounds[-2:][0], rounds[-1])
    last_run = np.logical_and.accumulate((rounds == rounds[-1])[::-1])[::-1]
    sentence = (
        "What each thread has at the end is missing: one that adds when the bin changes has to add "
        "once more after its loop."
    )
    last = np.arange(len(numbers)) >= len(numbers) - threads
    ends = "The last pixel of each thread is missing: a loop ends one round too early."
    return {
        "last run missing": (result(~last_run.ravel()[: len(numbers)]), sentence),
        "last round missing": (result(~last), ends),
    }


def handed_over_by_grid(result, numbers, blocks):
    """Bins are handed over from the number in the grid on: later blocks leave the first out."""
    pixel = np.arange(len(numbers))
    block = pixel % (blocks * BLOCK_THREADS) // BLOCK_THREADS
    sentence = (
        "Blocks after the first leave bins out when they hand over: each begins at "
        "cuda.threadIdx.x, not at cuda.grid(1)."
    )
    return {"handed over by grid": (result(numbers >= block * BLOCK_THREADS), sentence)}


def handed_over_again(result, pixels, blocks):
    """The block's counts are added to global memory after each of its pixels, and not once."""
    pixel = np.arange(pixels)
    of_grid = pixel // (blocks * BLOCK_THREADS)
    of_block = pixel % BLOCK_PIXELS // BLOCK_THREADS
    sentence = (
        "The block hands over its counts again and again, and with them those of before: hand them "
        "over once, after the loop over pixels."
    )
    return {
        f"handed over {rounds} times": (result(np.maximum(rounds - done, 0)), sentence)
        for done in (of_grid, of_block)
        for rounds in sorted({PIXELS_PER_THREAD, int(done.max()) + 1})
        if rounds > 1
    }


def handed_over_by_pixel(before, numbers, blocks):
    """A block's count is added once for each pixel that is in it: its square."""
    pixel = np.arange(len(numbers))
    found = {}
    for code, block in (
        ("handed over pixel by pixel", pixel % (blocks * BLOCK_THREADS) // BLOCK_THREADS),
        ("handed over pixel by pixel of its piece", pixel // BLOCK_PIXELS),
    ):
        bins = len(before)
        counted = np.bincount(block * bins + numbers, minlength=blocks * bins)
        of_blocks = counted.reshape(blocks, bins)
        bin_, most = int(of_blocks[0].argmax()), int(of_blocks[0].max())
        found[code] = (
            before + (of_blocks**2).sum(axis=0),
            "A block adds the count of a bin once for each of the bin's pixels, and so its square: "
            f"{most:,} x {most:,} in place of {most:,} for bin {bin_} of block 0. The loop that "
            "hands over is about bins, each of which one thread takes once; not about pixels.",
        )
    return found


def first_pixel_again(result, pixels, blocks):
    """Each thread counts its first pixel as often as it has pixels."""
    pixel = np.arange(pixels)
    ways = {
        "first pixel again": pixel % (blocks * BLOCK_THREADS),
        "first pixel of the block's piece again": (
            pixel // BLOCK_PIXELS * BLOCK_PIXELS + pixel % BLOCK_THREADS
        ),
    }
    sentence = "A thread counts its first pixel again and again: the index goes on in the loop."
    return {
        code: (result(np.bincount(first, minlength=pixels)), sentence)
        for code, first in ways.items()
        if blocks * BLOCK_THREADS < pixels
    }


def wrong_additions(added, before, blocks):
    """What one gets by mistaking how counts are added to those that were there before."""
    number = np.arange(len(added))
    return {
        "nothing added": (
            before,
            "counts is as it was: nothing was added to it, or only numbers below 1, which become 0 "
            "there.",
        ),
        "counted twice": (before + 2 * added, "Each pixel is counted twice."),
        "subtracted": (before - added, "Each pixel takes 1 away instead of adding it."),
        "largest, not sum": (
            np.maximum(before, added > 0),
            "cuda.atomic.max keeps the larger number; to count, add.",
        ),
        "one per block": (
            before + blocks,
            "Each block adds 1 to every bin: what it hands over is own_counts[i].",
        ),
        "begun at one": (
            before + added + blocks,
            "Each block counts one too many in every bin: its own counts begin at zero.",
        ),
        "first thread only": (
            before + added * (number % BLOCK_THREADS == 0),
            "Only the bins of thread 0 are handed over: every thread hands over its own.",
        ),
        "counts of another bin": (
            before + added[number % BLOCK_THREADS % len(added)],
            f"From bin {BLOCK_THREADS} on, the counts of other bins are handed over: in the loop, "
            "the index is the bin, not the thread.",
        ),
        "stored, not added to": (
            added,
            "What counts held before is gone: add to it, so that several launches add up.",
        ),
        "set to one": (
            np.where(added, 1, before),
            "Each thread stores a one in its bin: cuda.atomic.add adds to what is there.",
        ),
        "bins beyond the threads": (
            before + added * (number < BLOCK_THREADS),
            f"Only the first {BLOCK_THREADS} bins get anything: with more bins than threads, a "
            "thread hands over several, in a loop.",
        ),
        "handed over by every thread": (
            before + added * BLOCK_THREADS,
            "Every thread hands over all bins: each bin of a block is added once, by one thread.",
        ),
        "last bin missing": (
            before + added * (number < len(added) - 1),
            "The last bin gets nothing: a guard, or a loop that hands over, ends one too early.",
        ),
    }


UPPER_BIN = (
    "A brightness on the border of two bins is in the upper one, as 0.5 is in bin 4 of 8, and 0 in "
    "bin 0: cut off what is behind the point, int32(brightness * float32(bins)), "
    "and take no bin above bins - 1."
)


def wrong_borders(numbers):
    return {"border in the lower bin": (numbers - 1, UPPER_BIN)}


def wrong_bins(exact, bins):
    return {
        "bin past the last": (
            np.floor(exact * bins),
            "A brightness of 1 is in the last bin, bins - 1: the formula alone gives one more.",
        ),
        "rounded": (
            np.minimum(np.rint(exact * bins), bins - 1),
            "Rounded to the nearest: cut off what is behind the point, as int32 does.",
        ),
        "nearest of bins points": (
            np.floor(exact * (bins - 1) + 0.5),
            "Rounded to the nearest of `bins` points: multiply by bins, not by bins - 1, add "
            "nothing, and cut off what is behind the point.",
        ),
        "not cut off": (
            np.minimum(exact.astype(np.float32) * np.float32(bins), np.float32(bins - 1)),
            "These are no whole numbers: int32 cuts off what is behind the point.",
        ),
        "cut off too early": (
            np.minimum(np.floor(exact) * bins, bins - 1),
            "brightness itself is cut off, to 0: first multiply, then int32.",
        ),
        "from white to black": (
            bins - 1 - np.minimum(np.floor(exact * bins), bins - 1),
            "The bins are counted from the wrong end: bin 0 is the darkest.",
        ),
        "border in the lower bin": (np.ceil(exact * bins) - 1, UPPER_BIN),
        "white in bin 0": (
            np.floor(exact * bins) % bins,
            "A brightness of 1 is in the last bin, and not in bin 0, where a remainder puts it.",
        ),
        "larger, not smaller": (
            np.maximum(np.floor(exact * bins), bins - 1),
            "Of the formula and bins - 1, take the smaller one: min, not max.",
        ),
        "bins - 1": (
            np.floor(exact * (bins - 1)),
            "There are `bins` parts of equal size: multiply by bins, not by "
            + ("255, one less." if bins == 256 else "bins - 1."),
        ),
        "divided": (
            np.minimum(np.floor(exact / bins), bins - 1),
            "Every brightness is in bin 0: is it divided by the number of bins, which makes it "
            "smaller? Multiply.",
        ),
        "256 bins": (np.minimum(np.floor(exact * 256), 255), NUMBER_OF_BINS),
        "255 bins": (np.minimum(np.floor(exact * 255), 254), NUMBER_OF_BINS),
        "fixed bins": (np.minimum(np.floor(exact * 256), bins - 1), NUMBER_OF_BINS),
        "fixed bins, one less": (np.minimum(np.floor(exact * 255), bins - 1), NUMBER_OF_BINS),
        "one too high": (
            np.minimum(np.floor(exact * bins) + 1, bins - 1),
            "Each brightness is one bin too high: bin 0 goes from 0 to 1 / bins.",
        ),
        "from 1": (np.minimum(np.floor(exact * bins), bins - 1) + 1, "Bins are counted from 0."),
    }


# ---------------------------------------------------------------- sums


def add_up(case, size, engine=None):
    """Returns (values, total, how often the kernel has touched them; see `count`)."""
    values = case.random(size)
    before = case.random(1, 5, 6)
    total = case.output((1,), initial=before)
    case.explain = explained_sum
    counted = run(case, "launch_sum_tree", values, total, engine)
    exact = values.astype(np.float64)
    blocks = -(-size // BLOCK_PIXELS)
    # The sum of each thread's own values, block by block.
    padded = np.zeros(blocks * BLOCK_PIXELS)
    padded[:size] = exact
    sums = padded.reshape(PIXELS_PER_THREAD, blocks, BLOCK_THREADS).sum(axis=0)
    candidates = {
        name: (before + added, sentence)
        for name, (added, sentence) in wrong_sums(exact, sums).items()
        if np.isfinite(added).all()
    }
    candidates["stored, not added to"] = (
        np.array([exact.sum()]),
        "What total held before is gone: no line may store into it, all only add to it, so that "
        f"several blocks and launches add up.{told_store(case, 'sum_tree')}",
    )

    right = before.astype(np.float64) + exact.sum()

    def result(times):
        return before + (exact * times).sum()

    def known():
        if engine:
            return candidates
        tolerance = case.usual_tolerance(right)
        return candidates | taken_otherwise("values", total, blocks, size, result, tolerance)

    case.expect(total, right, "total", candidates=known)
    return values, total, counted


def wrong_sums(exact, sums):
    """What known mistakes add up. sums: (blocks, threads), the sum of each thread's values."""
    threads = sums.shape[1]
    blocks = sums.shape[0]
    known = {
        "tree stops early": (
            sums[:, ::2].sum(),
            "Of each two neighbours only one partial sum arrives: the round in which they are "
            "added is missing. Where active is halved from 128 on, that is the last one: it goes "
            "on as long as active > 0, also with 1.",
        ),
        "tree begins too small": (
            sums[:, : threads // 2].sum(),
            "Half of the partial sums never arrive, those of threads 128 to 255: in one round of "
            "the tree, the first if active is halved, 128 threads add those of 128 others.",
        ),
        "rounds left out": (
            tree(sums, (128, 32, 8, 2))[:, 0].sum(),
            "Every second round of the tree is left out: halve active once per round.",
        ),
        "other rounds left out": (
            tree(sums, (64, 16, 4, 1))[:, 0].sum(),
            "Every second round of the tree is left out: halve active once per round.",
        ),
        "tree upside down": (
            tree(sums, (1, 2, 4, 8, 16, 32, 64, 128))[:, 0].sum(),
            "The rounds of the tree run the wrong way: active is 128 first, then 64, down to 1.",
        ),
        "one thread less in each round": (
            tree(sums, range(128, 0, -1))[:, 0].sum(),
            "The tree goes on with one thread less in each round: it goes on with half of them.",
        ),
        **{
            f"tree stops at {left}": (
                tree(sums, [a for a in (128, 64, 32, 16, 8, 4) if a >= left])[:, 0].sum(),
                f"The tree stops early, and {left} partial sums are left, of which the first "
                "arrives: it goes on as long as active > 0, also with 1.",
            )
            for left in (4, 8, 16, 32, 64)
        },
        **{
            f"{less} threads less in each round": (
                tree(sums, range(threads // 2, 0, -less))[:, 0].sum(),
                f"The tree goes on with {less} threads less in each round: it goes on with half of "
                "them.",
            )
            for less in (2, 4, 8, 16, 32)
        },
        "one sum for all": (
            one_sum_for_all(sums),
            "All threads of a round add the same partial sum: thread i adds number i + active.",
        ),
        "begun at one": (
            exact.sum() + sums.size,
            "Each thread's own sum is one too large: it begins at float32(0).",
        ),
        "last thread only": (
            sums[:, -1].sum(),
            "Only the partial sum of the last thread arrives: in each round, add to what is there, "
            "and in the end take the sum at 0.",
        ),
        "first block's sum": (
            sums[0].sum(),
            "Only the sum of block 0 arrives: in each block there is a thread that adds to total, "
            "number 0, cuda.threadIdx.x == 0. Or do the threads of other blocks add up nothing?",
        ),
        "indices added": (
            np.arange(exact.size).sum(),
            "The indices are added up, and not the values.",
        ),
        "last value of each thread": (
            exact[-sums.size :].sum(),
            "Of each thread only its last value arrives: add to own_sum, with +=, which begins "
            "once, before the loop.",
        ),
        "squares": ((exact * exact).sum(), "The squares are added up, and not the values."),
        "cubes": ((exact**3).sum(), "The cubes are added up, and not the values."),
        "roots": (np.sqrt(exact).sum(), "The roots are added up, and not the values."),
        "values of other blocks": (
            (exact * (np.minimum(np.arange(exact.size) // threads, blocks - 1) + 1)).sum(),
            f"Values are added by several blocks: {THREADS_OF_PIXELS}, not cuda.blockDim.x.",
        ),
        "no tree": (
            sums[:, 0].sum(),
            "Only the partial sum of thread 0 arrives: first the tree adds up those of all.",
        ),
        "every thread adds": (
            tree(sums).sum(),
            "Every thread adds its partial sum to total: after the tree, only thread 0 does.",
        ),
        "every thread adds the block's sum": (
            sums.sum() * threads,
            "Every thread adds the sum of the block to total: only thread 0 does.",
        ),
        "first values only": (
            exact[: sums.size].sum(),
            f"Only one value per thread is added: {THREADS_OF_PIXELS}, up to the end.",
        ),
        **{
            code: (exact[taken].sum(), f"Only {few} values per thread are added, {rest}")
            for code, few, taken, rest in first_few(exact.size, blocks)
        },
        "first block only": (
            exact[:threads].sum(),
            "Only the first values are added: cuda.threadIdx counts within a block, cuda.grid(1) "
            "over all of them.",
        ),
        "every block adds all": (
            exact.sum() * blocks,
            f"Every block adds up all values: {THREADS_OF_PIXELS}.",
        ),
        "every block adds the first threads' values": (
            sums[0].sum() * blocks,
            "Every block adds the values of the first one: cuda.threadIdx counts within a block, "
            "cuda.grid(1) over all of them.",
        ),
        "whole numbers": (
            np.floor(sums).sum(),
            "The partial sums lose what is behind the point: their array holds float32.",
        ),
        "first value of each thread missing": (
            exact[sums.size :].sum(),
            "The first value of each thread is missing: it begins at cuda.grid(1).",
        ),
        "mean": (exact.mean(), "This is the mean: add the sum itself."),
    }
    known |= {**other_partners(sums), **some_threads(sums)}
    return {name: (np.array([added]), sentence) for name, (added, sentence) in known.items()}


def some_threads(sums):
    """The partial sums of some threads alone, of the first ones or of every second, fourth, ..."""
    found = {}
    for width in (2, 4, 8, 16, 32, 64):
        found[f"first {width} threads"] = (
            sums[:, :width].sum(),
            f"Only the partial sums of the first {width} threads of each block arrive in total, of "
            f"{BLOCK_THREADS}.",
        )
        found[f"every {2 * width}th thread"] = (
            sums[:, :: 2 * width].sum(),
            f"Only the partial sums of every {2 * width}th thread arrive in total.",
        )
    found["first 32 threads"] = (
        found["first 32 threads"][0],
        "Only the values of the first 32 threads of each block arrive, those of one warp: the sums "
        "of the other seven have to be added, too.",
    )
    return found


PARTNERS = {
    "BLOCK_THREADS - 1 - thread": lambda thread, active: BLOCK_THREADS - 1 - thread,
    "BLOCK_THREADS - active + thread": lambda thread, active: BLOCK_THREADS - active + thread,
    "thread + BLOCK_THREADS // 2": lambda thread, active: thread + BLOCK_THREADS // 2,
    "thread + 1": lambda thread, active: thread + 1,
    "thread + active - 1": lambda thread, active: thread + active - 1,
    "thread + active + 1": lambda thread, active: np.minimum(thread + active + 1, 255),
    "2 * thread": lambda thread, active: 2 * thread,
    "2 * thread + 1": lambda thread, active: 2 * thread + 1,
    "thread": lambda thread, active: thread,
}


def other_partners(sums):
    """Trees in which a thread adds the partial sum of another place in all rounds."""
    found = {}
    for name, place in PARTNERS.items():
        left = sums.copy()
        for active in (128, 64, 32, 16, 8, 4, 2, 1):
            thread = np.arange(active)
            left[:, :active] += left[:, place(thread, active)]
        found[f"partner {name}"] = (
            left[:, 0].sum(),
            f"In each round, a thread adds the partial sum at {name}: with `active` threads left, "
            "that is thread + active, or 2 * active - 1 - thread.",
        )
    return found


def one_sum_for_all(sums):
    sums = sums.copy()
    for active in (128, 64, 32, 16, 8, 4, 2, 1):
        sums[:, :active] += sums[:, active : active + 1]
    return sums[:, 0].sum()


def tree(sums, rounds=(128, 64, 32, 16, 8, 4, 2, 1)):
    """What is in shared memory after these rounds of the tree."""
    sums = sums.copy()
    for active in rounds:
        sums[:, :active] += sums[:, active : 2 * active]
    return sums
