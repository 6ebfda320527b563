"""Checks of lesson 1. Pictures are not square, no multiple of a block, and all pixels differ."""

import itertools

import numpy as np

from lessons import reference
from lessons.grading.advice.diagnosis import nice_factor
from lessons.grading.advice.written_again import why_again
from lessons.grading.checks.case import check

THREADS = ("grid", 2, (16, 16))
WEIGHTS = 0.2126, 0.7152, 0.0722
TOTALS = 128, 256, 1000, 1024, 4096, 10_000, 16_384, 32_768, 65_536  # of whole weights
OUR_SECTORS = 11.5  # per request, in a picture of 85 x 70
OR_SMALL_BLOCKS = " Or does your launch start blocks of a few threads?"


@check("luminance")
def test_luminance(case):
    colours = np.vstack([np.eye(3, dtype=np.float32), case.random((13, 3), low=0, high=1)])
    got = np.array([case.call("luminance", *map(float, colour)) for colour in colours])
    candidates = {
        "plain mean": (
            colours.mean(axis=1),
            "All three channels count the same: the eye sees green best, and blue hardly.",
        ),
        "swapped channels": (
            reference.grayscale(colours[:, ::-1]),
            "Red and blue are exchanged.",
        ),
        "maximum": (colours.max(axis=1), "This is the largest of the three channels."),
        "0-255": (
            255 * reference.grayscale(colours),
            "The values go up to 255; here colours and brightness go from 0 to 1.",
        ),
        "a product": (
            (colours * np.array(WEIGHTS)).prod(axis=1),
            "The three are multiplied with each other: they should be added.",
        ),
        **other_brightness(colours),
        **other_weights(colours, got),
        **fixed_point(colours, got),
        **bent(colours, got),
    }
    case.expect(got, reference.grayscale(colours), name="luminance", candidates=candidates)


@check("every_pixel")
def test_every_pixel(case):
    # The last is as large as a block: there the guard has nothing to do, and must not do anything.
    for height, width in ((9, 14), (1, 1), (16, 16)):
        make_gray(case, height, width)


@check("many_blocks")
def test_many_blocks(case):
    for height, width in ((20, 37), (37, 21), (33, 64)):
        make_gray(case, height, width)


@check("one_thread_per_pixel")
def test_one_thread_per_pixel(case):
    height, width = 85, 70  # six blocks down: what each of them does again is too often
    image, gray = picture(case, height, width)
    counts = case.measure("launch_over_pixels", case.student("grayscale"), image, gray)
    expect_gray(case, image, gray)
    limit_writes(case, counts, gray)
    together = counts.of(gray).writes / counts.of(gray).requests
    case.budget(
        "times that 32 threads write together, per 32 pixels",
        yours=32 / together,
        ours=32 * 5 * 43 / (height * width),  # at the edges, some of the 32 have no pixel
        allowed=8,
        diagnosis="threads without work",
        sentence=f"of 32 threads that run together, {together:.1f} write a pixel: a thread should "
        "have its own pixel, and no loop over a row or over the picture."
        + OR_SMALL_BLOCKS
        * case.own_launch(),
        line=counts.busiest_line("writes", gray),
    )
    image_reads = counts.of(image)
    case.compare(
        "sectors per request, where image is read",
        yours=image_reads.sectors / max(1, image_reads.requests),
        ours=OUR_SECTORS,
    )
    # Ten blocks in a row: what each thread does again along one direction is too often there.
    for shape in ((3, 150), (150, 3)):
        image, gray = picture(case, *shape)
        limit_writes(
            case, case.measure("launch_over_pixels", case.student("grayscale"), image, gray), gray
        )


def limit_writes(case, counts, gray):
    """A budget of how often a pixel is written."""
    writes = counts.of(gray).writes / gray.array.size
    case.budget(
        "writes per pixel",
        yours=writes,
        ours=1,
        allowed=4,  # a sum in gray itself, channel by channel, is slow but no mistake
        diagnosis="written again and again",
        sentence=lambda: (
            f"each pixel of gray is written {times(writes)}"
            f"{by_whom(case, counts.of(gray).writes, *gray.array.shape)}"
        ),
        line=counts.busiest_line("writes", gray),
    )


@check("float32")
def test_float32(case):
    make_gray(case, 18, 37)


@check("whole_photo")
def test_whole_photo(case):
    make_gray(case, *case.size(large=(549, 803), small=(49, 83)), engine="large")


def make_gray(case, height, width, engine=None):
    image, gray = picture(case, height, width)
    arguments = case.student("grayscale"), image, gray
    if engine:
        case.run("launch_over_pixels", *arguments, engine=engine)
        expect_gray(case, image, gray)
        return
    counts = case.measure("launch_over_pixels", *arguments)
    expect_gray(case, image, gray)
    case.require_many_threads(counts, gray)


def picture(case, height, width):
    return case.photo((height, width, 3)), case.output((height, width))


def expect_gray(case, image, gray):
    candidates = {}
    if image.size < 10_000:
        for order in itertools.product(range(3), repeat=3):
            if order != (0, 1, 2):
                candidates[f"channels {order}"] = (
                    reference.grayscale(image[:, :, order]),
                    f"Red, green and blue are taken from the channels {order} of image, and not "
                    "from (0, 1, 2).",
                )
        candidates["plain mean"] = (image.mean(axis=2), "All three channels count the same.")
    expected = reference.grayscale(image)
    case.expect(gray, expected, name="gray", threads=THREADS, candidates=candidates)


def by_whom(case, writes, height, width):
    """Who writes a pixel, if the number of times tells it: blocks and threads of the launch."""
    blocks = -(-width // 16), -(-height // 16)
    known = {
        blocks[0] * blocks[1]: "by each block, so every block goes through the whole picture",
        blocks[0] * 16: "by all threads of its row, so each thread goes through a whole row",
        blocks[1] * 16: "by all threads of its column, so each thread goes through a whole column",
        blocks[0] * blocks[1] * 256: "by all threads, each of which goes through the whole picture",
        **again_by_blocks(height, width),
    }
    once = "a thread writes its own pixel, once, and no other."
    for number, words in known.items():
        if abs(writes / (height * width) - number) < 1e-9:
            return f", {words}: {once}"
    by_blocks = case.clues().steps_by_blocks
    again = why_again(writes, (height, width), THREADS, steps_by_blocks=by_blocks)
    return f": {again or once}"


def again_by_blocks(height, width):
    """Writes per pixel of loops that begin at the thread's own pixel and go on by one block."""
    down, across = (np.mean(np.arange(length) // 16 + 1) for length in (height, width))
    by = "by its own thread and those of the blocks before it, so each thread goes on by a block"
    should = "(a loop that shares the work has to go on by the grid, cuda.gridsize(2))"
    return {
        across * down: f"{by}, to the right and down {should}",
        across: f"{by}, to the right {should}",
        down: f"{by}, down {should}",
    }


def times(number):
    """ "9 times"; of a mean, "8.6 times on average"."""
    return f"{number:.0f} times" if number == round(number) else f"{number:.1f} times on average"


def other_brightness(colours):
    """Brightness by other rules than a weighted sum."""
    weights, pixels = np.array(WEIGHTS), colours.astype(np.float64)
    instead = "here brightness is the weighted sum itself, 0.2126 red + 0.7152 green + 0.0722 blue."
    rules = {
        "root of squares": (
            np.sqrt(pixels**2 @ weights),
            "the colours are squared, and a root is taken of the sum",
        ),
        "root of weighted squares": (
            np.sqrt((pixels * weights) ** 2 @ np.ones(3)),
            "the weighted colours are squared, and a root is taken of the sum, as of a length",
        ),
        "largest of the weighted": (
            (pixels * weights).max(axis=1),
            "this is the largest of the three products",
        ),
        "length": (np.sqrt((pixels**2).sum(axis=1)), "this is the length of the colour, a root"),
        "middle of both ends": (
            (pixels.max(axis=1) + pixels.min(axis=1)) / 2,
            "this is the middle of the largest and the smallest channel",
        ),
        "linear light": (
            (pixels**2.2) @ weights,
            "the colours are raised to the power 2.2 first",
        ),
        "linear light of sRGB": (
            of_srgb(pixels) @ weights,
            "the colours are put through the curve of sRGB first",
        ),
        "linear light of sRGB, and back": (
            to_srgb(of_srgb(pixels) @ weights),
            "the colours are put through the curve of sRGB first, and the sum back through it",
        ),
        "linear light, and back": (
            ((pixels**2.2) @ weights) ** (1 / 2.2),
            "the colours are raised to the power 2.2 first, and the sum to 1 / 2.2",
        ),
    }
    return {
        code: (values, f"{say[0].upper()}{say[1:]}: {instead}")
        for code, (values, say) in rules.items()
    }


def of_srgb(values):
    """The light that a number of a picture file stands for."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def to_srgb(light):
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def fixed_point(colours, got):
    """A candidate with whole colours up to 255 and whole weights, if one fits."""
    pixels, values = colours.astype(np.float64), np.asarray(got)
    if values.dtype.kind != "f" or values.shape != (len(colours),):
        return {}
    for total, to_whole, cut in itertools.product(TOTALS, (np.floor, np.rint), (True, False)):
        for weights in whole_weights(total):
            sums = to_whole(pixels * 255) @ weights / total
            result = (np.floor(sums) if cut else sums) / 255
            if np.allclose(values, result, rtol=0, atol=1e-6):
                return {"rounded": (result, of_whole_numbers(weights, total, cut))}
    return {}


def whole_weights(total):
    """Weights of so many in all: rounded, cut off, or with the rest given to green or blue."""
    rounded = np.rint(np.array(WEIGHTS) * total)
    rest = total - rounded.sum()
    cut = np.floor(np.array(WEIGHTS) * total)
    to_green, to_blue = (rest * np.array(one) for one in ((0, 1, 0), (0, 0, 1)))
    return rounded, cut, rounded + to_green, rounded + to_blue


def of_whole_numbers(weights, total, cut):
    parts = ["The colours are made whole numbers up to 255"]
    if not np.allclose(weights, np.array(WEIGHTS) * total, rtol=0, atol=1e-6):
        red, green, blue = weights.astype(int)
        parts.append(f"the weights are rounded to {red}, {green} and {blue} of {total}")
    if cut:
        parts.append("the sum is cut to a whole number, too")
    return (
        f"{'; '.join(parts)}. Brightness is 0.2126 red + 0.7152 green + 0.0722 blue, of the "
        "colours as they are, in float32."
    )


def bent(colours, got):
    """A candidate, after all others, in which pure colours alone are right."""
    values, expected = np.asarray(got), reference.grayscale(colours)
    if values.dtype.kind != "f" or values.shape != expected.shape:
        return {}
    right = np.isclose(values, expected, rtol=0, atol=1e-5)
    if not right[:3].all() or right[3:].any():
        return {}
    known = (result for result, _ in other_brightness(colours).values())
    if any(np.allclose(values, result, rtol=0, atol=1e-5) for result in known):
        return {}
    sentence = (
        "Pure red, green and blue come out right, and no other colour does: is something done to "
        "the channels, or to the sum, that leaves 0 and 1 as they are, such as a curve or a power? "
        "Brightness is the weighted sum itself."
    )
    return {"pure colours alone": (values, sentence)}


def other_weights(colours, got):
    """What luminance returns if it is a sum with other weights: those of the pure colours."""
    try:
        weights = np.asarray(got[:3], np.float64)
    except (TypeError, ValueError):
        return {}
    pairs = zip(("red", "green", "blue"), weights, WEIGHTS, strict=True)
    different = [
        f"{colour} counts {weight:.4f}, and should count {right:.4f}"
        for colour, weight, right in pairs
        if abs(weight - right) > 1e-6
    ]
    if weights.shape != (3,) or not different or not np.isfinite(weights).all():
        return {}
    if not weights.any():  # whole numbers, or nothing at all
        return {}
    times = weights / WEIGHTS
    if np.ptp(times) < 1e-4:
        sentence = f"All three weights are {nice_factor(times[0])} times what they should be."
        return {"weights times a number": (colours @ weights, sentence)}
    return {"wrong weights": (colours @ weights, f"{'; '.join(different)}.")}
