"""Checks of lesson 10. What the host does is seen on the lab's stand-in, which notes each step."""

import math
import re
from functools import partial

import numpy as np

from lessons import reference
from lessons.grading.advice.launch_lines import line_of_blocks
from lessons.grading.checks.case import check
from lessons.grading.checks.host_run import run_host_code
from lessons.grading.checks.mistakes import same
from lessons.grading.exchange.output import Output
from lessons.lab.host.steps import FREE, LAUNCH, RECORD, STREAM_WAITS, TIME, TO_DEVICE
from lessons.reference import transfers as reference_transfers

BLOCK_SHAPES = (32, 1), (1, 32), (32, 32), (16, 16), (8, 8), (1, 1)
BLOCK = 32, 8  # x, y: that of the host's launches
SIZES_AND_BLOCKS = (
    ((70, 37), (16, 8)), ((70, 37), (16, 16)), ((64, 32), (32, 1)), ((70, 37), (1, 32)),
    ((33, 1), (32, 32)), ((3, 70, 37), (3, 32, 2)), ((70, 37, 3), (1, 1, 3)),
    ((4, 9, 9), (3, 8, 4)), ((5, 4), (1, 1)),
)  # fmt: skip
SECTOR_NUMBERS = 8  # float32 in a sector of 32 bytes
LEFT_OVER = (
    "Rows and columns that do not fill a square are taken into the last squares: leave them out. A "
    "square is factor x factor numbers, everywhere."
)
MOST_THREADS = 2048  # for 22 x 35 numbers: room for blocks that do not fit evenly
SHRUNK_AGAIN = re.compile(
    r"the kernel shrink on stream \d+ reads an array that the kernel shrink on stream \d+ "
)
ONE_THREAD = (
    "each number of small has one thread of its own: that adds up the whole square in a variable, "
    "and stores it once. Then no two threads meet, and nothing has to be atomic."
)


@check("cpu_loop")
def test_cpu_loop(case):
    case.advice = {
        "is out of bounds for axis": "small is (H // factor, W // factor), height first: what does "
        "not fill a square is left out. The square of small[y, x] is rows y * factor to (y + 1) * "
        "factor - 1 of the image, and columns x * factor to (x + 1) * factor - 1."
    }
    y, x = np.indices((16, 16))
    toy = (x // 2 + 8 * (y // 2)).astype(np.float32)
    small = case.call("shrink_on_cpu", toy, 2)
    expected = np.arange(64).reshape(8, 8)
    known = {}
    if not np.array_equal(small, expected):
        fitting = wrong_in_general(case, 2)
        small = case.call("shrink_on_cpu", toy, 2)  # again: the message shows it
        known = {code: toys for code, toys in wrong_means(toy, 2).items() if code in fitting}
    case.expect(small, expected, "the toy", candidates=known)
    for shape, factor in (((9, 14), 2), ((13, 10), 3), ((8, 21), 4)):
        image = case.random(shape)
        small = case.call("shrink_on_cpu", image, factor)
        expect_small(case, small, image, factor)


@check("shrink")
def test_shrink(case):
    # Sizes that are no multiples of the block: whether they are rounded up well is asked later.
    # The first one has more blocks each way than one, however they are counted.
    count_blocks(case, [((777, 290), (16, 16)), ((77, 37), (16, 16)), ((35, 22), (16, 16))])
    for shape, factor in (((45, 70), 2), ((70, 39), 3), ((37, 90), 4), ((5, 6), 1)):
        shrink_in_blocks(case, case.random(shape), factor, (16, 16))


@check("shapes")
def test_shapes(case):
    count_blocks(case, SIZES_AND_BLOCKS)
    image = case.random((75, 142))
    for block in BLOCK_SHAPES:
        small, counts = shrink_in_blocks(case, image, 2, block)
        if block != (1, 1):
            case.require_many_threads(counts, small)
        sectors = counts.of(image, small).sectors * 32 / small.array.size
        case.notes.append(f"block {block}: {sectors:.1f} sectors per 32 numbers")
    wide = case.random((16, 128))  # whole warps and whole sectors
    small, counts = shrink_in_blocks(case, wide, 2, (32, 1))
    case.budget(
        "sectors per 32 numbers of a wide picture, in blocks of 32 x 1",
        yours=counts.of(wide, small).sectors * 32 / small.array.size,
        ours=4 * 8 + 4,  # 4 reads of every other number of 64 in a row, one write of 32
        allowed=64,
        diagnosis="not side by side",
        sentence="threads that are neighbours along x should read and write neighbours"
        + and_only_once(counts, wide, small),
        line=counts.busiest_line("sectors", wide, small),
    )


@check("few_sectors")
def test_few_sectors(case):
    for shape in ((7, 45, 3), (70, 5, 3), (9, 11, 4), (4, 6, 1)):
        tinted_with(case, shape)
    image, tinted, counts = tinted_with(case, (16, 64, 3))
    touched = counts.of(image, tinted)
    full = touched.reads + touched.writes >= 24 * touched.requests
    case.keep_within(
        "requests per 32 numbers, read and written",
        yours=touched.requests * 32 / image.size,
        ours=2,
        # Where warps are full, more requests can only come of more reads and writes.
        allowed=3 if full else math.inf,
        diagnosis="read or written again",
        sentence="a thread reads its number of the image once, and stores its result once: keep "
        "what comes in between in a variable.",
        line=counts.busiest_line("reads", tinted, image),
    )
    case.budget(
        "requests per 32 numbers, read and written",
        yours=counts.of(image, tinted).requests * 32 / image.size,
        ours=2,
        allowed=3,
        diagnosis="empty places in a warp",
        sentence="a warp has 32 places, and most of its threads do nothing here, or are not there. "
        "Is the block smaller than a warp? Is it wider than the picture in one direction, as 32 "
        "threads for 3 channels are? Or are the two exchanged? launch(kernel, blocks, block, ...).",
    )
    case.budget(
        "sectors per 32 numbers, read and written",
        yours=counts.of(image, tinted).sectors * 32 / image.size,
        ours=2 * 32 / SECTOR_NUMBERS,
        allowed=1.5 * 2 * 32 / SECTOR_NUMBERS,
        diagnosis="not side by side",
        sentence="the 32 threads of a warp read numbers that lie apart, and each sector brings "
        "others along for nothing. Threads are numbered along x first, and side by side "
        "in memory lie the channels of a pixel, then those of the next column: let x count the "
        "channels, and y the columns. Make the block as wide as there are channels.",
        line=counts.busiest_line("sectors", image),
    )


@check("there_and_back")
def test_there_and_back(case):
    case.explain = explained_on_host
    sizes = [((45, 70), 2), ((30, 37), 4)]
    for shape, factor in sizes:
        image = case.photo((*shape, 1))[..., 0].copy()
        run = run_host_code(case, "shrink_on_gpu", image, factor, count=True)
        require_launches(case, run, 1)
        expect_small(case, run.result, image, factor)
        require_few_copies(case, run, image.nbytes + np.asarray(run.result).nbytes)
        require_few_threads(case, run, image.shape, factor)
    case.advice = {
        "the hardware allows": "In kernel[blocks, threads](...) the blocks come first: are the two "
        "exchanged?"
    }
    large = case.random(case.size(large=(549, 803), small=(75, 90)))
    # By 1, so that there are more blocks than a block may have threads.
    for factor in (2, 1):
        run = run_host_code(case, "shrink_on_gpu", large, factor, engine="native")
        expect_small(case, run.result, large, factor)


@check("queue")
def test_queue(case):
    case.explain = why_not_queued
    # Two of the same size: what one of them leaves behind may be taken for the other's.
    for shapes in (((19, 37), (19, 37), (33, 8)), ((5, 5),)):
        photos = [case.photo((*shape, 3)) for shape in shapes]
        run = run_host_code(case, "gray_in_a_queue", photos)
        require_launches(case, run, len(photos))
        expect_grays(case, run.result, photos)


@check("one_wait")
def test_one_wait(case):
    case.explain = why_not_queued
    photos = [case.photo((9, 14, 3)) for _ in range(5)]
    run = run_host_code(case, "gray_in_a_queue", photos, count=True)
    expect_grays(case, run.result, photos)
    require_named_streams(case, run)
    waits = run.waits()
    hidden = [step for step in waits if step.do not in ("host waits", LAUNCH)]
    launches = [number for number, step in enumerate(run.steps) if step.do == LAUNCH]
    between = any(step.waits for step in run.steps[: max(launches, default=0)])
    case.budget(
        "times that the host waits, for 5 photographs",
        yours=len(waits),
        ours=1,
        allowed=2,
        diagnosis="hidden waits" if hidden else "waits for each" if between else "several waits",
        sentence="a copy that names no stream, or that goes to ordinary memory, makes the host "
        "wait: name the stream, and copy into cuda.pinned_array."
        if hidden
        else "the host waits before it has asked for all photographs: ask for all of them first, "
        "then wait once."
        if between
        else "the host has asked for all photographs, and then it waits several times: put all of "
        "them into one stream, and wait once for that.",
        line=(hidden or waits)[0].line if waits else 0,
    )
    require_kept(case, run.steps)


@check("two_streams")
def test_two_streams(case):
    case.explain = why_not_half
    for shape in ((45, 70, 3), (18, 23, 3)):
        photo = case.photo(shape)
        run = run_host_code(case, "gray_half_quarter", photo, count=True)
        require_launches(case, run, 3)
        expect_three(case, run.result, photo)
        require_two_streams(case, run)
    large = case.photo((*case.size(large=(549, 803), small=(37, 53)), 3))
    run = run_host_code(case, "gray_half_quarter", large, engine="native")
    expect_three(case, run.result, large)


@check("events")
def test_events(case):
    case.explain = explained_on_host
    image, launches = case.random((21, 34)), 5
    run = run_host_code(case, "timed_shrink", image, 2, launches, count=True)
    small, milliseconds = pair(case, run.result)
    expect_small(case, small, image, 2)
    require_timed(case, run, launches)
    (told,) = [step.value for step in run.steps if step.do == TIME][-1:]
    case.require(
        float(milliseconds) > 0,
        "events exchanged",
        "the time is below zero: ask the first event, start.elapsed_time(end).",
    )
    candidates = {
        "all launches together": (
            np.array(told),
            "This is the time of all launches: divide it by how many there were.",
        ),
        "seconds": (
            np.array(told / launches / 1000),
            "elapsed_time gives milliseconds already.",
        ),
        "first launch counted": (
            np.array(told / (launches + 1)),
            "The first launch is not between the events: divide by `launches`.",
        ),
    }
    expected = np.array(told / launches)
    case.expect(
        np.float64(milliseconds), expected, "milliseconds", tolerance=1e-9, candidates=candidates
    )
    if case.on_gpu:
        small, milliseconds = pair(case, run_host_code(case, "timed_shrink", image, 2, 5).result)
        expect_small(case, small, image, 2)
        case.require(milliseconds > 0, "no time", "a launch takes more than 0 milliseconds.")


@check("float32")
def test_float32(case):
    image = case.random((20, 22))
    shrink_in_blocks(case, image, 2, (16, 16))
    tinted_with(case, (6, 9, 3))
    results = {
        "shrink_on_cpu": case.call("shrink_on_cpu", image, 2),
        "shrink_on_gpu": run_host_code(case, "shrink_on_gpu", image, 2).result,
    }
    for name, small in results.items():
        expect_small(case, small, image, 2)
        kind = np.asarray(small).dtype
        case.require(
            kind == np.float32,
            "float64 array",
            f"what {name} returns holds {kind}: say np.float32 where you make the array.",
        )


def wrong_in_general(case, factor):
    """Which of the `wrong_means` fit a picture of random numbers, of a `shrink_on_cpu` like that.

    The squares of the toy hold one number each: there many mistakes leave the same.
    """
    image = case.random((12, 14))
    small = case.as_array(
        case.call("shrink_on_cpu", image, factor),
        reference_transfers.shrink(image, factor),
        "small",
    )
    return {
        code
        for code, (wrong, _) in wrong_means(image, factor).items()
        if same(small, wrong, case.usual_tolerance(wrong))
    }


def explained(found):
    """What a finding within `shrink` says in this lesson."""
    if found.kind == "out-of-bounds" and found.message.startswith(("image[", "small[")):
        return (
            "small has as many rows and columns as whole squares fit into the image, shape // "
            "factor. A thread beyond small.shape goes home: x is compared with shape[1], y with "
            "shape[0]."
        )
    adds_in_small = found.kind == "race" and "read-modify-write of small[" in found.message
    if adds_in_small or (found.kind == "uninitialised" and found.message.startswith("small[")):
        return ONE_THREAD
    return ""


def explained_on_host(found):
    """The same where the student launches it, with arrays of his own."""
    if found.kind == "compile" and "an array of float32 with 1 dimension" in found.message:
        return "shrink takes a gray picture (H, W): is it given the photograph (H, W, 3)?"
    return explained(found)


def outside(small, factor, block, found):
    """The same where shape and factor are known: small (h, w), in blocks of this shape."""
    thread = re.search(r"thread \((\d+), (\d+)\) of block \((\d+), (\d+)\)", found.message)
    if found.kind != "out-of-bounds" or not found.message.startswith("image[") or not thread:
        return explained(found)
    across, down, block_across, block_down = map(int, thread.groups())
    x, y = block_across * block[0] + across, block_down * block[1] + down
    if y >= small[0] or x >= small[1]:
        return explained(found)
    rows, columns = (f"{factor * i} to {factor * (i + 1) - 1}" for i in (y, x))
    return (
        f"this thread has small[{y}, {x}], whose square is rows {rows} and columns {columns} of "
        "the image: what goes further?"
    )


def why_not_tinted(found):
    """What an index outside an array says in `tint`."""
    if found.kind == "out-of-bounds" and found.message.startswith(("image[", "tinted[")):
        return (
            "tinted is (rows, columns, channels): the row goes first, and each number is compared "
            "with its own length, the row with shape[0], the column with shape[1], the channel "
            "with shape[2]."
        )
    return ""


def why_not_queued(found):
    """What a result that is read too early says in `gray_in_a_queue`."""
    several = "waits for stream", "puts the two streams in order"
    if found.kind == "unsynchronised" and any(words in found.message for words in several):
        return (
            "All work of this function should go to one stream: then the host waits once, for it."
        )
    if found.kind == "unsynchronised" and found.message.startswith("the host reads this array"):
        return (
            "The host waits once, when all photographs have been asked for, and reads no result "
            "before: until then each result needs a pinned array of its own, and those arrays are "
            "what is returned."
        )
    return explained(found)


def why_not_half(found):
    """The same for `gray_half_quarter`, where the kernel itself has passed its check."""
    if SHRUNK_AGAIN.match(found.message):
        return (
            "Here shrink reads what another shrink writes: half and quarter are both made of gray, "
            "with factors of 2 and 4, and neither has to wait for the other."
        )
    if found.kind == "out-of-bounds" and found.message.startswith("image["):
        return (
            "shrink is given an array of another size than its factor says: half is made of gray "
            "with a factor of 2, quarter of gray with a factor of 4, and each of them has "
            "(height // factor, width // factor) numbers."
        )
    return explained_on_host(found)


# ---------------------------------------------------------------- the kernels


def and_only_once(counts, wide, small):
    """What else makes many sectors of `shrink`: it reads or stores again; the end of a sentence."""
    of_small, of_wide = counts.of(small), counts.of(wide)
    stored = (of_small.reads + of_small.writes) / small.array.size
    read = of_wide.reads / wide.size
    if stored > 8:
        return (
            f". Here they do, perhaps, and read or write each number of small {stored:.0f} times: "
            "add up in a variable, and store once."
        )
    if read > 1.8:
        return f", each number once: here each number of the picture is read {read:.1f} times."
    return "."


def shrink_in_blocks(case, image, factor, block):
    """Returns (small, how often the kernel has touched what)."""
    small = case.output((image.shape[0] // factor, image.shape[1] // factor))
    case.explain = partial(outside, small.array.shape, factor, block)
    counts = case.measure("launch_shrink", image, small, factor, block)
    case.keep_within(
        "atomic additions to small",
        yours=counts.of(small).atomics,
        ours=0,
        allowed=0,
        diagnosis="atomics",
        sentence=ONE_THREAD,
        line=counts.busiest_line("atomics", small),
    )
    require_thread_per_square(case, small, factor, block)
    expect_small(case, small, image, factor, block)
    return small, counts


def require_thread_per_square(case, small, factor, block):
    """That no thread stands for a number of the image: then those that there are come less far."""
    shape = small.array.shape
    started = [-(-size // of) * of for size, of in zip(shape, block[::-1], strict=True)]
    ends = [min(size, -(-n // factor)) for size, n in zip(shape, started, strict=True)]
    front = np.zeros(shape, bool)
    front[: ends[0], : ends[1]] = True
    written = small.array != np.float32(small.sentinel)
    case.require(
        front.all() or not (written == front).all(),
        "threads of the image",
        f"only {ends[0]} rows and {ends[1]} columns of small were written: so far one comes if "
        f"each thread stands for a number of the image, and small[y // {factor}, x // {factor}] is "
        "stored by that at (x, y). But the launch has one thread for each number of small: thread "
        "(x, y) stores small[y, x], whose square begins at row y * factor, column x * factor.",
    )


def expect_small(case, small, image, factor, block=(16, 16)):
    expected = reference_transfers.shrink(image, factor)
    require_whole_squares(case, small, expected.shape, image.shape)
    # What the host computes, or launches as it likes, is not told as that of a thread.
    threads = ("grid", 2, block) if isinstance(small, Output) else None
    require_started(case, small, expected, "small")
    case.expect(small, expected, "small", threads, candidates=wrong_means(image, factor))


def require_whole_squares(case, small, right, image):
    """That `small` has as many rows and columns as whole squares fit into the image."""
    shape = np.shape(small.array if isinstance(small, Output) else small)
    causes = {
        image: "this is the shape of the image, and",
        right[::-1]: "height and width are exchanged, and",
    }
    larger = len(shape) == 2 and all(0 <= a - b <= 1 for a, b in zip(shape, right, strict=True))
    cause = causes.get(shape, "what does not fill a square is left out:" if larger else "")
    case.require(
        shape == right or not cause,
        "wrong shape",
        f"small has the shape {shape}: {cause} (H // factor, W // factor) is {right}.",
    )


def wrong_means(image, factor):
    height, width = (size // factor for size in image.shape)
    exact = np.asarray(image, np.float64)[: height * factor, : width * factor]
    squares = exact.reshape(height, factor, width, factor)
    wide = np.pad(np.asarray(image, np.float64), ((0, factor), (0, factor)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (factor, factor))
    mean = squares.mean(axis=(1, 3))
    left_over, numbers = with_what_is_left_over(image, factor)
    return {
        "rows and columns left over": (left_over / numbers, LEFT_OVER),
        "rows and columns left over, too": (left_over / factor**2, LEFT_OVER),
        "sum, not mean": (
            squares.sum(axis=(1, 3)),
            "This is the sum of each square: divide by factor * factor.",
        ),
        "divided by factor": (
            squares.sum(axis=(1, 3)) / factor,
            "A square has factor * factor numbers: divide by that, not by factor.",
        ),
        "first of each square": (
            squares[:, 0, :, 0],
            "Only the first number of each square arrives: add up all of them.",
        ),
        "last of each square": (
            squares[:, -1, :, -1] / (factor * factor),
            "Only the last number of each square is left: add to total, with +=, which begins once "
            "for a square, before the loops.",
        ),
        "squares overlap": (
            windows[:height, :width].mean(axis=(2, 3)),
            "The squares overlap: that of small[y, x] begins at row y * factor, column x * factor.",
        ),
        "last row of each square missing": (
            squares[:, :-1].sum(axis=(1, 3)) / (factor * factor),
            "The last row of each square is missing: range(a, b) ends before b.",
        ),
        "last column of each square missing": (
            squares[:, :, :, :-1].sum(axis=(1, 3)) / (factor * factor),
            "The last column of each square is missing: range(a, b) ends before b.",
        ),
        "total begins anew in each row": (
            squares.sum(axis=(1, 3)).cumsum(axis=1) / factor**2,
            "Each number has those to its left in it: total begins at zero for each square, and "
            "not for each row.",
        ),
        "numbers as they lie in memory": (
            exact.reshape(height, width, factor * factor).mean(axis=2),
            "Numbers that lie one after the other are taken for a square: its rows lie apart. A "
            "picture is reshaped to (h, factor, w, factor), and the mean goes over axes 1 and 3.",
        ),
        "numbers far apart": (
            exact.reshape(factor, height, factor, width).mean(axis=(0, 2)),
            "The numbers of a square lie far apart: a square is `factor` neighbouring rows and "
            "columns, from y * factor and x * factor on.",
        ),
        "total never begins anew": (
            squares.sum(axis=(1, 3)).cumsum().reshape(height, width) / factor**2,
            "Each number has those before it in it: total begins at zero for each square.",
        ),
        "squares begin too early": (
            np.roll(exact, 1, axis=(0, 1)).reshape(height, factor, width, factor).mean(axis=(1, 3)),
            "The squares begin one too early: that of small[y, x] begins at row y * factor, column "
            "x * factor.",
        ),
        "two rows and columns of each square": (
            squares[:, :2, :, :2].sum(axis=(1, 3)) / factor**2,
            "Only two rows and two columns of each square are added up: both loops have `factor` "
            "rounds.",
        ),
        "divided by 4": (
            squares.sum(axis=(1, 3)) / 4,
            "The sum is divided by 4, always: divide by factor * factor.",
        ),
        "row 0 of each square": (
            squares[:, 0].mean(axis=2),
            "Only one row of each square is added up: there are factor rows and factor columns.",
        ),
        "rows begin at y": (
            windows[:height, : width * factor : factor].mean(axis=(2, 3)),
            "The squares begin at row y: that of small[y, x] begins at row y * factor, column "
            "x * factor.",
        ),
        "columns begin at x": (
            windows[: height * factor : factor, :width].mean(axis=(2, 3)),
            "The squares begin at column x: that of small[y, x] begins at row y * factor, column "
            "x * factor.",
        ),
        "diagonal of each square": (
            np.einsum("yixi->yx", squares) / factor,
            "Only the numbers on the diagonal of each square are added up: the loop over its "
            "columns stands within the loop over its rows.",
        ),
        "diagonal of each square, divided by all": (
            np.einsum("yixi->yx", squares) / factor**2,
            "Only the numbers on the diagonal of each square are added up: the loop over its "
            "columns stands within the loop over its rows.",
        ),
        "a factor of 2": (
            np.asarray(image, np.float64)[: 2 * height, : 2 * width]
            .reshape(height, 2, width, 2)
            .mean(axis=(1, 3))
            if factor >= 2
            else mean + 1,
            "This is made with a factor of 2: the factor is an argument, and here it is another.",
        ),
    }


def with_what_is_left_over(image, factor):
    """(sums, how many numbers): of the squares, the last of which take all to the image's edge."""
    height, width = (size // factor for size in image.shape)
    y, x = np.indices(image.shape) // factor
    square = np.minimum(y, height - 1) * width + np.minimum(x, width - 1)
    sums = np.bincount(square.ravel(), np.asarray(image, np.float64).ravel(), height * width)
    numbers = np.bincount(square.ravel(), minlength=height * width)
    return sums.reshape(height, width), numbers.reshape(height, width)


def not_whole_numbers(got, directions):
    """What is not so of something that should be a tuple of whole numbers, one per direction."""
    if not isinstance(got, tuple):
        return "not a tuple"
    return "not whole numbers" if len(got) == directions else "not one per direction"


def count_blocks(case, sizes_and_blocks):
    for size, block in sizes_and_blocks:
        got = case.call("blocks_to_cover", size, block)
        both = np.array([size, block])
        case.require(
            isinstance(got, tuple)
            and len(got) == len(size)
            and all(isinstance(number, (int, np.integer)) for number in got),
            not_whole_numbers(got, len(size)),
            f"blocks_to_cover({size}, {block}) gives {str(got)[:60]}: it should be a tuple of "
            f"{len(size)} whole numbers, one for each direction.",
        )
        candidates = {
            "rounded down": (
                both[0] // both[1],
                "The numbers of blocks are rounded down: the last threads would be missing.",
            ),
            "one block too many": (
                both[0] // both[1] + 1,
                "One block too many where the size is a multiple of the block: round up, which is "
                "(items + threads - 1) // threads.",
            ),
            "threads, not blocks": (
                -(-both[0] // both[1]) * both[1],
                "These are threads: divide by the block's size, rounded up, and leave it at that.",
            ),
            "swapped": (
                -(-both[0][::-1] // both[1]),
                "x and y are exchanged: the sizes come in the order of the block's shape.",
            ),
            "one number for all directions": (
                -(-both[0] // both[1][0]),
                "Every direction is divided by the block's x: each has a size of its own.",
            ),
            "size and block exchanged": (
                -(-both[1] // both[0]),
                "The two are exchanged: a size is divided by that of the block, rounded up.",
            ),
            "divided by all threads": (
                -(-both[0] // both[1].prod()),
                "Divided by the number of all threads of a block: each direction is divided by "
                "the block's size in that direction.",
            ),
            "rounded to the nearest": (
                np.rint(both[0] / both[1]),
                "Rounded to the nearest: up is what covers everything.",
            ),
        }
        name = f"blocks_to_cover({size}, {block})"
        case.expect(np.array(got), -(-both[0] // both[1]), name, candidates=candidates)


def tinted_with(case, shape):
    """Returns (image, tinted, how often the kernel has touched them)."""
    image = case.random(shape, 0.1, 1)
    gains = case.random(shape[2], 0.4, 1.6)
    tinted = case.output(shape)
    case.explain = why_not_tinted
    counts = case.measure("launch_tint", image, gains, tinted)
    exact = np.asarray(image, np.float64)
    rolled = np.roll(gains, 1) if shape[2] > 1 else gains + 1
    candidates = {
        "not held at 1": (
            exact * gains,
            "Some colours are above 1: of the product and 1, take the smaller one.",
        ),
        "red's gain for all": (
            np.minimum(exact * gains[0], 1),
            "Every channel gets the gain of red: gains[channel].",
        ),
        "another channel's gain": (
            np.minimum(exact * rolled, 1),
            "The channels get each other's gains.",
        ),
        "gain held at 1": (
            exact * np.minimum(gains, 1),
            "The gain is held at 1: it is the product that may not be above 1.",
        ),
        "larger, not smaller": (
            np.maximum(exact * gains, 1),
            "Of the product and 1, take the smaller one: min, not max.",
        ),
        "added": (np.minimum(exact + gains, 1), "The gain is added: multiply."),
        **gains_by_place(exact, gains),
        "as it was": (exact, "This is the image as it was: multiply each channel by its gain."),
    }
    require_three_directions(case, tinted)
    case.expect(tinted, reference_transfers.tint(image, gains), "tinted", candidates=candidates)
    return image, tinted, counts


def gains_by_place(exact, gains):
    """What comes out if the row or the column says whose gain it is; only where that is wrong."""
    known = {}
    for axis, name in enumerate(("row", "column")):
        number = np.arange(exact.shape[axis]) % len(gains)
        by_place = np.expand_dims(gains[number], (1 - axis, 2))
        known[f"gain by the {name}"] = (
            np.minimum(exact * by_place, 1),
            f"The gain is chosen by the {name}: gains has one number for each channel.",
        )
    return known


def require_three_directions(case, tinted):
    """That no direction ends too early: sizes are exchanged then, if only the front is written."""
    written = tinted.array != np.float32(tinted.sentinel)
    if not written.any():
        return
    ends = [
        int(np.flatnonzero(written.any(axis=others))[-1]) + 1 for others in ((1, 2), (0, 2), (0, 1))
    ]
    front = written[tuple(map(slice, ends))]
    for end, length, what in zip(ends, written.shape, ("rows", "columns", "channels"), strict=True):
        case.require(
            end == length or not front.all(),
            "a direction too short",
            f"only {end} of {length} {what} were written: are there too few blocks, or does a "
            "guard take another size? What the kernel gets from cuda.grid(3) first has to come "
            "first in the block and in blocks_to_cover, too: channel, x, y go with (channels, "
            "width, height).",
        )


# ---------------------------------------------------------------- the host


def require_launches(case, run, needed):
    """That so many kernels were started. Nobody tells what was started on a GPU."""
    started = len(run.launches())
    case.require(
        started >= needed or not run.steps,
        "kernels missing",
        f"kernels were started {started} times, where {needed} times are needed: "
        "kernel[blocks, threads](...) starts one.",
    )


def require_started(case, got, expected, name):
    """That each number was written; on the stand-in, what is not written on the device is NaN."""
    values = np.asarray(got.array if isinstance(got, Output) else got)
    if values.dtype.kind != "f" or values.shape != np.shape(expected):
        return  # the comparison tells what it is
    missing = np.isnan(values)
    height, width = values.shape
    y, x = np.indices(values.shape)
    columns, rows = BLOCK

    def started(across, down):  # where threads are, if so many blocks are started
        return (x < across * columns) & (y < down * rows)

    causes = (
        (
            started(-(-height // columns), -(-width // rows)),
            "exchanged",
            "width and height are exchanged: the blocks are counted for (width, height), x first",
        ),
        (started(1, 1), "one block", "only one block was started: blocks_to_cover says how many"),
        (
            started(width // columns, height // rows),
            "rounded down",
            "the number of blocks is rounded down",
        ),
    )
    for threads, code, cause in causes:
        case.require(
            not missing.any() or not (missing == ~threads).all(),
            code,
            f"{int(missing.sum()):,} of {values.size:,} numbers of {name} were never written: "
            f"{cause}.",
        )
    case.require(
        not missing.any(),
        "never written",
        f"{int(missing.sum()):,} of {values.size:,} numbers of {name} were never written: are "
        "there too few blocks, or are blocks and threads of the launch exchanged?",
    )


def require_few_threads(case, run, shape, factor):
    height, width = (size // factor for size in shape)
    columns, rows = BLOCK
    launches = run.launches()
    case.keep_within(
        "launches",
        yours=len(launches),
        ours=1,
        # So few threads may be started twice: of them nothing is asked.
        allowed=1 if sum(step.size for step in launches) > MOST_THREADS else len(launches),
        diagnosis="started again",
        sentence="the kernel is started more than once, and each time it does all of the work.",
        line=launches[-1].line if launches else 0,
    )
    case.budget(
        "threads started",
        yours=sum(step.size for step in launches),
        ours=-(-width // columns) * -(-height // rows) * columns * rows,
        allowed=MOST_THREADS,
        diagnosis="threads without work",
        sentence="many threads have nothing to do: there should be one for each number of small, "
        "not one for each number of the image. Count the blocks for the shape of small.",
        line=line_of_blocks(launches[0].line, case.submission.lines) if run.steps else 0,
    )


def require_few_copies(case, run, needed):
    there = [step for step in run.copies() if step.do == TO_DEVICE]
    copied = sum(step.size for step in run.copies())
    case.budget(
        "bytes copied between host and device",
        yours=copied,
        ours=needed,
        allowed=needed + 64,
        diagnosis="copied for nothing",
        sentence="more is copied than the image there and the result back. cuda.device_array makes "
        "room on the device without copying anything.",
        line=there[-1].line if len(there) > 1 else 0,
    )


def expect_grays(case, grays, photos):
    case.require(
        isinstance(grays, (list, tuple)) and len(grays) == len(photos),
        "not a list",
        f"gray_in_a_queue should return a list of {len(photos)} arrays, one for each photograph.",
    )
    expected = [reference.grayscale(photo) for photo in photos]
    for number, gray in enumerate(grays):
        others = other_photographs(number, grays, expected)
        name = f"gray of photograph {number}"
        require_started(case, gray, expected[number], name)
        case.expect(gray, expected[number], name, ("grid", 2, (32, 8)), candidates=others)


def other_photographs(number, grays, expected):
    """What one finds in the place of a photograph: another one of its size, perhaps everywhere."""
    alike = [i for i, gray in enumerate(expected) if gray.shape == expected[number].shape]
    known = {
        f"photograph {i}": (
            expected[i],
            f"This is photograph {i}: the results come in the order of the photographs.",
        )
        for i in alike
        if i != number
    }
    last = alike[-1]
    of_its_size = " of its size" * (len(alike) < len(expected))
    for i in alike:
        others = [np.asarray(grays[j]) for j in alike if j != number]
        if i not in (number, last) and all(
            gray.shape == expected[i].shape and np.allclose(gray, expected[i], rtol=0, atol=1e-5)
            for gray in others
        ):
            known[f"photograph {i}"] = (
                expected[i],
                f"Every array{of_its_size} holds photograph {i}: is each photograph copied there, "
                "and each result back from an array of its own?",
            )
    if len(alike) > 1 and all(np.array_equal(grays[i], grays[last]) for i in alike):
        which = f"the last photograph{of_its_size}"
        known.pop(f"photograph {last}", None)
        known["the last photograph"] = (
            expected[last],
            f"Every array holds {which}: each needs an array of its own.",
        )
    return known


def expect_three(case, result, photo):
    case.require(
        isinstance(result, (list, tuple)) and len(result) == 3,
        "not three",
        "gray_half_quarter should return three arrays: gray, half, quarter.",
    )
    gray = reference.grayscale(photo)
    shapes = [(gray.shape[0] // factor, gray.shape[1] // factor) for factor in (1, 2, 4)]
    got = [np.shape(array) for array in result]
    case.require(
        got == shapes or sorted(got) != sorted(shapes),
        "another order",
        "the three arrays come in another order: return gray, half, quarter.",
    )
    require_started(case, result[0], gray, "gray")
    case.expect(result[0], gray, "gray", ("grid", 2, (32, 8)))
    for small, factor, name in ((result[1], 2, "half"), (result[2], 4, "quarter")):
        candidates = wrong_means(gray, factor)
        expected = reference_transfers.shrink(gray, factor)
        require_started(case, small, expected, name)
        case.expect(small, expected, name, candidates=candidates)


def require_two_streams(case, run):
    launches = [number for number, step in enumerate(run.steps) if step.do == LAUNCH]
    steps = [run.steps[number] for number in launches]
    between = [step for step in run.steps[launches[0] : launches[-1]] if step.waits]
    chained = made_of_the_other(*steps[-2:])
    case.budget(
        "times that the host waits between the kernels",
        yours=len(between),
        ours=0,
        allowed=0,
        diagnosis="waits in between",
        sentence="the host stands still between the kernels: what one stream needs of another, an "
        "event tells it, event.record(stream) and event.wait(the other), and the host goes on."
        + (chained and f" And {chained}"),
        line=between[0].line if between else 0,
    )
    require_kept(case, run.steps[launches[0] : launches[-1]])
    streams = {step.stream for step in steps[-2:]}
    case.require(
        len(streams) == 2,
        "one stream",
        "half and quarter are in the same stream, so one begins when the other has ended: give "
        f"quarter a stream of its own.{chained and ' And ' + chained}",
        line=steps[-1].line,
    )
    require_side_by_side(case, run.steps, *launches[-2:])
    require_named_streams(case, run)


def require_side_by_side(case, steps, first, second):
    """That the later of two launches, numbers of steps, does not wait for the earlier one, too.

    What reads what the earlier one has made can only run when that is done.
    If all that is recorded before it waits comes behind the earlier launch, it waits for that.
    """
    waits = [
        number
        for number in range(first, second)
        if steps[number].do == STREAM_WAITS and steps[number].stream == steps[second].stream
    ]
    records = [n for n in range(max(waits, default=0)) if steps[n].do == RECORD]
    late = bool(records) and min(records) > first
    chained = made_of_the_other(steps[first], steps[second])
    case.require(
        not chained,
        "quarter made of half",
        f"half and quarter do not run at the same time: {chained} Then an event right behind "
        "grayscale is enough, and neither waits for the other.",
        line=steps[second].line,
    )
    case.require(
        not late,
        "recorded too late",
        f"half and quarter do not run at the same time: the event is recorded in line "
        f"{steps[min(records)].line if late else 0}, behind the launch of one of them, so the "
        "other waits for that, too. Both need gray only: record it right behind grayscale.",
        line=steps[min(records)].line if late else None,
    )


def made_of_the_other(one, other):
    """What is said if the later launch of shrink reads what the earlier one has written, or ""."""
    written, read = one.arrays[1:2], other.arrays[:1]
    if not one.name == other.name == "shrink" or not read or written != read:
        return ""
    which = f"line {other.line}" if other.line != one.line else "the later shrink"
    before = f"line {one.line}" if other.line != one.line else "the one before it"
    return (
        f"{which} makes its result of what {before} has made, so it has to wait for that. "
        "Make both of gray: half with a factor of 2, quarter with a factor of 4."
    )


def require_kept(case, steps):
    """That the arrays of the device are there as long as the queue uses them."""
    freed = [step for step in steps if step.do == FREE]
    case.keep_within(
        "arrays freed while the queue is at work",
        yours=len(freed),
        ours=0,
        allowed=0,
        diagnosis="freed in use",
        sentence="nothing in your program holds this array of the device any more, while the queue "
        "still works with it. Numba collects a few such arrays, and to free them the device has "
        "to finish all its work, while the host waits: keep them in a list until the host has "
        "waited for the queue.",
        line=freed[0].line if freed else 0,
    )


def require_named_streams(case, run):
    default = [step.line for step in run.launches() if step.stream == 0]
    case.require(
        not default,
        "default stream",
        "a kernel is in the default stream, which waits for all others, and they for it: name the "
        "stream, kernel[blocks, threads, stream].",
        line=default[0] if default else None,
    )


def pair(case, result):
    case.require(
        isinstance(result, (list, tuple)) and len(result) == 2,
        "not a pair",
        "timed_shrink should return two things: small, and milliseconds.",
    )
    return result


def require_compiled(case, timed, before):
    """That each kernel that is timed was started before with arguments of the same types."""
    compiled = {(step.name, step.types) for step in before}
    new = [step for step in timed if (step.name, step.types) not in compiled]
    if not new:
        return
    others = [other for other in before if other.name == new[0].name]
    case.require(
        False,
        "compiled by the clock",
        "Numba compiles a kernel once for each combination of types that it is given. "
        f"{how_otherwise(others[-1], new[0])} So it is compiled anew between the events: start it "
        "once before with what is timed."
        if others
        else f"{new[0].name} is compiled by its first launch, in line {new[0].line}, and that is "
        "between the events: start it once before.",
    )


def how_otherwise(before, timed):
    """Which argument of two launches has another type, in a sentence."""
    both = zip(before.types.split("; "), timed.types.split("; "), strict=False)
    other = [(number, pair) for number, pair in enumerate(both, 1) if pair[0] != pair[1]]
    place, (first, then) = other[0]
    further = "".join(f" Argument {number} changes, too." for number, _ in other[1:])
    return (
        f"Argument {place} of {timed.name} is {first} before the events (line {before.line}), and "
        f"{then} between them (line {timed.line}).{further}"
    )


def require_recorded_once(case, lines, times):
    """That no event is recorded in a loop. lines: of each record; times: how often one is asked."""
    # Two may come from one line, of a helper.
    turns = [line for line in lines if lines.count(line) > 1 and len(lines) > 2]
    first, last = lines[0] in turns, lines[-1] in turns
    case.require(
        not (turns and times > 1),
        "each launch by itself",
        "each launch is timed by itself, with marks and waits in between: record one event before "
        "all launches and one behind them, and ask for the time once.",
    )
    case.require(
        not first,
        "recorded in the loop",
        f"line {lines[0]} records the first event again in each turn of the loop. An event keeps "
        "only its last mark, so only what comes behind that is in the time: record it once, before "
        "the loop, and the other event once, behind it.",
    )
    case.require(
        first or not last,
        "recorded in the loop",
        f"line {lines[-1]} records the last event again in each turn of the loop, and only the "
        "last of these marks counts: record it once, behind the loop.",
    )


def require_timed(case, run, launches):
    """That there are two events, and between them the launches and nothing else."""
    times = [step for step in run.steps if step.do == TIME]
    asked = {event for step in times for event in step.events}
    marks = [number for number, step in enumerate(run.steps) if step.do == RECORD]
    # Others may be there to wait for.
    records = [number for number in marks if {*run.steps[number].events} & asked]
    case.require(
        len(records) >= 2 and bool(times),
        "no events",
        "the time between two events is asked for: record one before the launches and one after "
        "them, then start.elapsed_time(end).",
    )
    before, timed = run.steps[: records[0]], run.steps[records[0] + 1 : records[-1]]
    started = [step for step in timed if step.do == LAUNCH]
    case.require(
        any(step.do == LAUNCH for step in before),
        "compiled by the clock",
        "the first launch of a kernel compiles it, which takes longer than all others together: "
        "start it once before the first event.",
    )
    case.require(
        len(started) == launches,
        "launches not timed",
        f"{len(started)} launches are between the events: it should be {launches}.",
    )
    require_compiled(case, started, [step for step in before if step.do == LAUNCH])
    others = [step for step in timed if step.do != LAUNCH]
    require_recorded_once(case, [run.steps[number].line for number in records], len(times))
    case.require(
        not others,
        "more by the clock",
        f"between the events is something else than the launches ({others[0].do if others else ''},"
        f" line {others[0].line if others else 0}): only what is to be timed belongs there.",
    )
    streams = {run.steps[number].stream for number in (records[0], records[-1])}
    case.require(
        streams == {step.stream for step in started},
        "events of another stream",
        "the events are recorded in another stream than the launches, and tell its time: "
        "event.record(stream), with the stream of the launches.",
    )
