"""Checks of lesson 10. What the host does is seen on the lab's stand-in, which notes each step."""

import importlib
import io
import itertools

import numpy as np
from PIL import Image

from lessons import reference
from lessons.grading.judge.case import check
from lessons.grading.judge.host_run import HostStep, run_host_code
from lessons.grading.worker.output import Output
from lessons.lab.host.steps import (
    FREE,
    HOST_WAITS,
    LAUNCH,
    RECORD,
    STREAM_WAITS,
    TIME,
    TO_DEVICE,
    TO_HOST,
)  # fmt: skip
from lessons.reference import transfers as reference_transfers

BLOCK_SHAPES = (32, 1), (1, 32), (32, 32), (16, 16), (8, 8), (1, 1)  # (x, y) threads
BLOCK = 32, 8  # (x, y) threads: that of the host's launches
GRAY_THREADS = "grid", 2, BLOCK
SIZES_AND_BLOCKS = (
    ((70, 37), (16, 8)), ((70, 37), (16, 16)), ((64, 32), (32, 1)), ((70, 37), (1, 32)),
    ((33, 1), (32, 32)), ((3, 70, 37), (3, 32, 2)), ((70, 37, 3), (1, 1, 3)),
    ((4, 9, 9), (3, 8, 4)), ((5, 4), (1, 1)),
)  # fmt: skip
# (height, width) and factor; no height or width is a multiple of the block.
SHRUNK = ((45, 70), 2), ((70, 39), 3), ((37, 90), 4), ((5, 6), 1)
TINTED = (7, 45, 3), (70, 5, 3), (9, 11, 4), (4, 6, 1)  # (height, width, channels)
LARGE = 549, 803  # height, width
LAUNCHES_TO_TIME = 5
SECTOR_NUMBERS = 8  # float32 in a sector of 32 bytes
SECTORS_OF_WIDE = 64  # allowed per 32 numbers of a wide picture
REQUESTS_TO_TINT = 3  # allowed per 32 numbers
SECTORS_TO_TINT = 3 * 32 / SECTOR_NUMBERS  # allowed per 32 numbers
MOST_THREADS = 2048  # allowed for 22 x 35 numbers: room for blocks that do not fit evenly
# Gray, then half beside quarter: what is asked for, and in which stream.
TWO_STREAMS = (
    (TO_DEVICE, 1), (LAUNCH, 1), (RECORD, 1), (STREAM_WAITS, 2), (LAUNCH, 1), (LAUNCH, 2),
    (TO_HOST, 1), (TO_HOST, 1), (TO_HOST, 2), (HOST_WAITS, -1),
)  # fmt: skip
WAITS = 2  # allowed of the host, for 5 photographs


@check("cpu_loop")
def test_cpu_loop(case):
    y, x = np.indices((16, 16))
    toy = (x // 2 + 8 * (y // 2)).astype(np.float32)
    case.expect(case.call("shrink_on_cpu", toy, 2), np.arange(64).reshape(8, 8), "the toy")
    for shape, factor in (((9, 14), 2), ((13, 10), 3), ((8, 21), 4)):
        image = case.random(shape)
        expect_small(case, case.call("shrink_on_cpu", image, factor), image, factor)


@check("shrink")
def test_shrink(case):
    # Sizes that are no multiples of the block: whether they are rounded up well is asked later.
    # The first one has more blocks each way than one, however they are counted.
    count_blocks(case, [((777, 290), (16, 16)), ((77, 37), (16, 16)), ((35, 22), (16, 16))])
    for shape, factor in SHRUNK:
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
        allowed=SECTORS_OF_WIDE,
        diagnosis="not side by side",
        sentence="threads that are neighbours along x should read and write neighbours: each "
        "number of the picture is read once, and each sum is stored once.",
        line=counts.busiest_line("sectors", wide, small),
    )


@check("few_sectors")
def test_few_sectors(case):
    for shape in TINTED:
        tinted_with(case, shape)
    image, tinted, counts = tinted_with(case, (16, 64, 3))
    touched = counts.of(image, tinted)
    full = touched.reads + touched.writes >= 24 * touched.requests  # warps of 32 threads
    case.budget(
        "requests per 32 numbers, read and written",
        yours=touched.requests * 32 / image.size,
        ours=2,
        allowed=REQUESTS_TO_TINT,
        # Where warps are full, more requests can only come of more reads and writes.
        diagnosis="read or written again" if full else "empty places in a warp",
        sentence="a thread reads its number of the image once, and stores its result once: keep "
        "what comes in between in a variable."
        if full
        else "a warp has 32 places, and most of its threads do nothing here, or are not there. "
        "Is the block smaller than a warp? Is it wider than the picture in one direction, as 32 "
        "threads for 3 channels are? Or are the two exchanged? launch(kernel, blocks, block, ...).",
        line=counts.busiest_line("reads", tinted, image) if full else 0,
    )
    case.budget(
        "sectors per 32 numbers, read and written",
        yours=touched.sectors * 32 / image.size,
        ours=2 * 32 / SECTOR_NUMBERS,
        allowed=SECTORS_TO_TINT,
        diagnosis="not side by side",
        sentence="the 32 threads of a warp read numbers that lie apart, and each sector brings "
        "others along for nothing. Threads are numbered along x first, and side by side "
        "in memory lie the channels of a pixel, then those of the next column: let x count the "
        "channels, and y the columns. Make the block as wide as there are channels.",
        line=counts.busiest_line("sectors", image),
    )


@check("there_and_back")
def test_there_and_back(case):
    for shape, factor in (((45, 70), 2), ((30, 37), 4)):
        image = case.photo((*shape, 1))[..., 0].copy()
        run = run_host_code(case, "shrink_on_gpu", image, factor, count=True)
        require_launches(case, run, 1)
        expect_small(case, run.result, image, factor)
        require_few_copies(case, run, image.shape, factor)
        require_few_threads(case, run, image.shape, factor)
    large = case.random(case.size(large=LARGE, small=(75, 90)))
    # By 1, so that there are more blocks than a block may have threads.
    for factor in (2, 1):
        run = run_host_code(case, "shrink_on_gpu", large, factor, engine="native")
        expect_small(case, run.result, large, factor)


@check("queue")
def test_queue(case):
    # Two of the same size: what one of them leaves behind may be taken for the other's.
    for shapes in (((19, 37), (19, 37), (33, 8)), ((5, 5),)):
        photos = [case.photo((*shape, 3)) for shape in shapes]
        run = run_host_code(case, "gray_in_a_queue", photos)
        require_launches(case, run, len(photos))
        expect_grays(case, run.result, photos)
    require_one_wait(case)


@check("overlap")
def test_overlap(case):
    photos = [case.photo((*shape, 3)) for shape in ((19, 37), (19, 37), (33, 8), (5, 5), (12, 70))]
    run = run_host_code(case, "gray_in_turns", photos, count=True)
    require_launches(case, run, len(photos))
    expect_grays(case, run.result, photos, "gray_in_turns")
    in_turns = [(do, 1 + n % 2) for n in range(len(photos)) for do in (TO_DEVICE, LAUNCH, TO_HOST)]
    show_timelines(case, run, [*in_turns, (HOST_WAITS, -1)])
    require_named_streams(case, run)
    require_turns(case, run)


@check("two_streams")
def test_two_streams(case):
    for shape in ((45, 70, 3), (18, 23, 3)):
        photo = case.photo(shape)
        run = run_host_code(case, "gray_half_quarter", photo, count=True)
        require_launches(case, run, 3)
        expect_three(case, run.result, photo)
        show_timelines(case, run, TWO_STREAMS)
        require_two_streams(case, run)
    large = case.photo((*case.size(large=LARGE, small=(37, 53)), 3))
    run = run_host_code(case, "gray_half_quarter", large, engine="native")
    expect_three(case, run.result, large)


@check("events")
def test_events(case):
    image, launches = case.random((21, 34)), LAUNCHES_TO_TIME
    run = run_host_code(case, "timed_shrink", image, 2, launches, count=True)
    small, milliseconds = pair(case, run.result)
    expect_small(case, small, image, 2)
    require_timed(case, run, launches)
    told = [step.value for step in run.steps if step.do == TIME][-1]
    case.require(
        float(milliseconds) > 0,
        "events exchanged",
        "the time is below zero: ask the first event, start.elapsed_time(end).",
    )
    case.expect(np.float64(milliseconds), told / launches, "milliseconds", tolerance=1e-9)
    if case.on_gpu:
        run = run_host_code(case, "timed_shrink", image, 2, launches)
        small, milliseconds = pair(case, run.result)
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


# ---------------------------------------------------------------- the kernels


def shrink_in_blocks(case, image, factor, block):
    """Returns (small, how often the kernel has touched what)."""
    small = case.output((image.shape[0] // factor, image.shape[1] // factor))
    counts = case.measure("launch_shrink", image, small, factor, block)
    case.keep_within(
        "atomic additions to small",
        yours=counts.of(small).atomics,
        ours=0,
        allowed=0,
        diagnosis="atomics",
        sentence="each number of small has one thread of its own: that adds up the whole square "
        "in a variable, and stores it once. Then no two threads meet, and nothing has to be "
        "atomic.",
        line=counts.busiest_line("atomics", small),
    )
    expect_small(case, small, image, factor, block)
    return small, counts


def expect_small(case, small, image, factor, block=(16, 16), name="small"):
    expected = reference_transfers.shrink(image, factor)
    # What the host computes, or launches as it likes, is not told as that of a thread.
    threads = ("grid", 2, block) if isinstance(small, Output) else None
    require_written(case, small, name)
    case.expect(small, expected, name, threads)


def count_blocks(case, sizes_and_blocks):
    for size, block in sizes_and_blocks:
        got = case.call("blocks_to_cover", size, block)
        case.require(
            isinstance(got, tuple)
            and len(got) == len(size)
            and all(isinstance(number, (int, np.integer)) for number in got),
            "not whole numbers",
            f"blocks_to_cover({size}, {block}) gives {str(got)[:60]}: it should be a tuple of "
            f"{len(size)} whole numbers, one for each direction.",
        )
        expected = -(-np.array(size) // np.array(block))
        case.expect(np.array(got), expected, f"blocks_to_cover({size}, {block})")


def tinted_with(case, shape):
    """Returns (image, tinted, how often the kernel has touched them)."""
    image = case.random(shape, 0.1, 1)
    gains = case.random(shape[2], 0.4, 1.6)
    tinted = case.output(shape)
    counts = case.measure("launch_tint", image, gains, tinted)
    case.expect(tinted, reference_transfers.tint(image, gains), "tinted")
    return image, tinted, counts


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


def require_written(case, got, name):
    """That each number was written; on the stand-in, what is not written on the device is NaN."""
    values = np.asarray(got.array if isinstance(got, Output) else got)
    missing = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
    case.require(
        not missing,
        "never written",
        f"{missing:,} of {values.size:,} numbers of {name} were never written: are there too few "
        "blocks, or are blocks and threads of the launch, or width and height, exchanged?",
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
        line=launches[0].line if launches else 0,
    )


def require_few_copies(case, run, shape, factor):
    height, width = shape
    numbers = height * width + (height // factor) * (width // factor)
    needed = numbers * np.dtype(np.float32).itemsize
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


def require_one_wait(case):
    """That the host waits once for five photographs, after it has asked for all of them."""
    photos = [case.photo((9, 14, 3)) for _ in range(5)]
    run = run_host_code(case, "gray_in_a_queue", photos, count=True)
    expect_grays(case, run.result, photos)
    one_by_one = [(TO_DEVICE, 1), (LAUNCH, 1), (TO_HOST, 1)] * len(photos)
    show_timelines(case, run, [*one_by_one, (HOST_WAITS, 1)])
    require_named_streams(case, run)
    waits = run.waits()
    hidden = [step for step in waits if step.do not in ("host waits", LAUNCH)]
    case.budget(
        f"times that the host waits, for {len(photos)} photographs",
        yours=len(waits),
        ours=1,
        allowed=WAITS,
        diagnosis="hidden waits" if hidden else "several waits",
        sentence="a copy that names no stream, or that goes to ordinary memory, makes the host "
        "wait: name the stream, and copy into cuda.pinned_array."
        if hidden
        else "ask for all photographs first, in one stream, then wait once for that stream.",
        line=(hidden or waits)[0].line if waits else 0,
    )
    require_kept(case, run.steps)


def require_turns(case, run):
    """That each photograph's copies and kernel are asked for before the host waits, in turns."""
    asked = [number for number, step in enumerate(run.steps) if step.do in (TO_DEVICE, LAUNCH)]
    require_no_wait(
        case,
        run.steps[: asked[-1]],
        "before it has asked for the last photograph",
        "while the host waits for one photograph, nobody asks for the copy of the next, so nothing "
        "overlaps: ask for all first, then wait for the streams.",
    )
    launches, copies = run.launches(), [step for step in run.copies() if step.do == TO_DEVICE]
    for steps in (launches, copies):
        pairs = itertools.pairwise(steps)
        alike = [later for one, later in pairs if one.stream == later.stream]
        case.require(
            not alike,
            "no turns",
            "a photograph is in the same stream as the one before it, so its copy begins when all "
            "of that one is done: give them streams in turns.",
            line=alike[0].line if alike else None,
        )
    require_kept(case, run.steps)


def require_no_wait(case, steps, when, sentence):
    waits = [step for step in steps if step.waits]
    case.budget(
        f"times that the host waits {when}",
        yours=len(waits),
        ours=0,
        allowed=0,
        diagnosis="waits in between",
        sentence=sentence,
        line=waits[0].line if waits else 0,
    )


def expect_grays(case, grays, photos, function="gray_in_a_queue"):
    case.require(
        isinstance(grays, (list, tuple)) and len(grays) == len(photos),
        "not a list",
        f"{function} should return a list of {len(photos)} arrays, one for each photograph.",
    )
    for number, (gray, photo) in enumerate(zip(grays, photos, strict=True)):
        expect_gray(case, gray, photo, f"gray of photograph {number}")


def expect_gray(case, gray, photo, name):
    require_written(case, gray, name)
    case.expect(gray, reference.grayscale(photo), name, GRAY_THREADS)


def expect_three(case, result, photo):
    case.require(
        isinstance(result, (list, tuple)) and len(result) == 3,
        "not three",
        "gray_half_quarter should return three arrays: gray, half, quarter.",
    )
    expect_gray(case, result[0], photo, "gray")
    for small, factor, name in ((result[1], 2, "half"), (result[2], 4, "quarter")):
        expect_small(case, small, reference.grayscale(photo), factor, name=name)


def show_timelines(case, run, ours):
    """Draw who works when if a check fails: the student's steps, and below them ours.

    ours: (what is asked for, stream).
    """
    steps = [HostStep(do, 0, stream, do == HOST_WAITS, "", 0, 0.0) for do, stream in ours]

    def drawn():
        timeline = importlib.import_module("lessons.10_two_computers.timeline")
        file = io.BytesIO()
        picture = timeline.timeline_picture({"yours": run.steps, "ours": steps})
        Image.fromarray(picture).save(file, "PNG")
        return file.getvalue()

    case.show(drawn)


def require_two_streams(case, run):
    launches = [number for number, step in enumerate(run.steps) if step.do == LAUNCH]
    steps = [run.steps[number] for number in launches]
    require_no_wait(
        case,
        run.steps[launches[0] : launches[-1]],
        "between the kernels",
        "the host stands still between the kernels: what one stream needs of another, an event "
        "tells it, event.record(stream) and event.wait(the other), and the host goes on.",
    )
    require_kept(case, run.steps[launches[0] : launches[-1]])
    case.require(
        len({step.stream for step in steps[-2:]}) == 2,
        "one stream",
        "half and quarter are in the same stream, so one begins when the other has ended: give "
        "quarter a stream of its own.",
        line=steps[-1].line,
    )
    require_side_by_side(case, run.steps, *launches[-2:])
    require_named_streams(case, run)


def require_side_by_side(case, steps, first, second):
    """That the later of two launches, numbers of steps, does not wait for the earlier one, too."""
    one, other = steps[first], steps[second]
    both_shrink = one.name == other.name == "shrink"
    case.require(
        not (both_shrink and other.arrays[:1] and one.arrays[1:2] == other.arrays[:1]),
        "quarter made of half",
        "half and quarter do not run at the same time: the later one reads what the earlier one "
        "writes. Make both of gray, half with a factor of 2, quarter with a factor of 4.",
        line=other.line,
    )
    waits = [
        number
        for number in range(first, second)
        if steps[number].do == STREAM_WAITS and steps[number].stream == other.stream
    ]
    records = [n for n in range(max(waits, default=0)) if steps[n].do == RECORD]
    # If all that is recorded before it waits comes behind the earlier launch, it waits for that.
    late = bool(records) and min(records) > first
    case.require(
        not late,
        "recorded too late",
        "half and quarter do not run at the same time: this event is recorded behind the launch "
        "of one of them, so the other waits for that, too. Both need gray only: record it right "
        "behind grayscale.",
        line=steps[min(records)].line if late else None,
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


def require_timed(case, run, launches):
    """That there are two events, and between them the launches and nothing else."""
    asked = {event for step in run.steps if step.do == TIME for event in step.events}
    marks = [number for number, step in enumerate(run.steps) if step.do == RECORD]
    # Others may be there to wait for.
    records = [number for number in marks if {*run.steps[number].events} & asked]
    case.require(
        len(records) >= 2 and bool(asked),
        "no events",
        "the time between two events is asked for: record one before the launches and one after "
        "them, then start.elapsed_time(end).",
    )
    before, timed = run.steps[: records[0]], run.steps[records[0] + 1 : records[-1]]
    started = [step for step in timed if step.do == LAUNCH]
    case.require(
        len(started) == launches,
        "launches not timed",
        f"{len(started)} launches are between the events: it should be {launches}.",
    )
    compiled = {(step.name, step.types) for step in before if step.do == LAUNCH}
    new = [step for step in started if (step.name, step.types) not in compiled]
    case.require(
        not new,
        "compiled by the clock",
        "Numba compiles a kernel at its first launch, once for each combination of types that it "
        "is given, and that takes longer than all launches together: start it once before the "
        "first event, with arguments of the same types.",
        line=new[0].line if new else None,
    )
    others = [step for step in timed if step.do != LAUNCH]
    case.require(
        not others,
        "more by the clock",
        "between the events is something else than the launches: only what is to be timed belongs "
        "there. Record one event before all launches and one behind them, and ask for the time "
        "once.",
        line=others[0].line if others else None,
    )
    streams = {run.steps[number].stream for number in (records[0], records[-1])}
    case.require(
        streams == {step.stream for step in started},
        "events of another stream",
        "the events are recorded in another stream than the launches, and tell its time: "
        "event.record(stream), with the stream of the launches.",
    )
