"""Checks of lesson 3. Random numbers have known answers, and are compared bit for bit."""

import itertools
from functools import partial

import numpy as np

from lessons import reference
from lessons.grading.advice.blends import (
    at_another_point,
    other_blends,
    other_pixels_beyond,
    positions_in,
)
from lessons.grading.advice.guarded_store import condition_with
from lessons.grading.advice.messages import quoted
from lessons.grading.checks.case import check
from lessons.grading.exchange.output import sentinel_of

THREADS = ("grid", 1, 128)
# Three blocks have no equal shares of 257, and blocks that overlap do not reach its end.
SMALL_BATCH, RAGGED_BATCH, FULL_BATCH = 37, 257, 16_384
MANY_BLOCKS = 4_200  # where each block does the work of all after it, that is too often
HEIGHT = 2  # its number among the arguments of pixel_centres
BIG_SEED, BIG_STEP = 0xB5297A4D_9B56C4E9, 0x68E31DA4_9E3779B9  # all of their 64 bits matter
LOW, ALL = 2**32 - 1, 2**64 - 1
OF_A_THREAD = "threadIdx.x", "blockIdx.x", "the sample"
# In what a compiler says of a name, or of how many there are.
NO_MATTER_OF_TYPES = "is not defined", "required arg", "many positional", "names on the", "is used"
PROBE = 11  # a sample that is equal to no step


@check("random_uv")
def test_random_uv(case):
    case.explain = explained
    for seed, step in ((BIG_SEED, BIG_STEP), (case.seed, 7)):
        got = np.array([draw(case, sample, step, seed) for sample in range(12)])
        expected = reference.draw_uv(12, step, seed)
        again = np.array([draw(case, sample, step, seed) for sample in range(12)])
        case.require(
            bool((got == again).all()),
            "not a function",
            "the same sample, step and seed gave other numbers when asked again: a generator with "
            "a state (random, np.random) does that. Make them with philox4x32.",
        )
        known = {**other_draws(got, expected, step, seed), **only_sample_0(got, expected)}
        case.expect(got, expected, "uv", candidates=known)


@check("batch")
def test_batch(case):
    for batch, step, shape in ((SMALL_BATCH, 5, (9, 14, 3)), (RAGGED_BATCH, 400, (12, 5, 3))):
        check_batch(case, batch, step, shape)


@check("pixel_centres")
def test_pixel_centres(case):
    for first, height, width in ((0, 19, 17), (30, 19, 17), (7, 47, 6)):
        check_centres(case, first, height, width)
    check_below(case, 30, 61, 67)


@check("float32")
def test_float32(case):
    check_batch(case, SMALL_BATCH, 2, (6, 7, 3))
    check_centres(case, 0, 19, 17)


@check("large_batch")
def test_large_batch(case):
    check_batch(case, MANY_BLOCKS, 3, (15, 10, 3))
    batch = case.size(large=FULL_BATCH, small=700)
    check_batch(case, batch, 3, (15, 10, 3), engine="large")


def check_centres(case, first, height, width):
    uv = case.output((RAGGED_BATCH, 2))
    counts = case.measure("launch_pixel_centres", first, width, height, uv)
    part = slice(first, first + RAGGED_BATCH)
    expected = reference.pixel_centres(width, height)[part]
    number = np.arange(RAGGED_BATCH)
    numbers = number + first
    half = np.array([0.5 / width, 0.5 / height])
    candidates = {
        "corner": (
            expected - half,
            "These are the corners of the pixels: their centres are half a pixel further.",
        ),
        "axes exchanged": (expected[:, ::-1], "u and v are exchanged."),
        "width and height exchanged": (
            centres(numbers % height, np.minimum(numbers // height, width - 1), height, width),
            "Width and height are exchanged: it is pixel_centre(pixel, width, height).",
        ),
        "divided by height": (
            centres(numbers % width, np.minimum(numbers // height, height - 1), width, height),
            "The row is pixel // width: a row has `width` pixels.",
        ),
        "column by column": (
            centres(numbers // height, numbers % height, width, height),
            "The pixels are counted down the columns: they go row by row.",
        ),
        "not divided": (
            expected * [width, height],
            "These are numbers of pixels: divide by the width and by the height.",
        ),
        "a row too early": (
            centres(numbers % width, np.minimum(numbers // width, height - 2), width, height),
            "The last row is never reached: rows are counted to height - 1.",
        ),
        "one column late": (
            expected + np.array([1 / width, 0]),
            "Everything is one pixel too far to the right: pixels are counted from 0.",
        ),
    }
    if width != 17:
        candidates["always 17 wide"] = (
            centres(numbers % 17, np.minimum(numbers // 17, height - 1), 17, height),
            f"The width 17 is written in; this picture is {width} wide.",
        )
    if first:
        candidates["first pixel ignored"] = (
            centres(number % width, number // width, width, height),
            "The pixels are counted from 0: the first one of this part is first_pixel.",
        )
        for code, start, pixel in (
            ("offset from the front", 0, "sample"),
            ("stored at the pixel", first, "first_pixel + sample"),
        ):
            moved = np.full(expected.shape, float(uv.sentinel))
            later = number[: len(moved) - first] + start
            moved[first:] = centres(later % width, later // width, width, height)
            candidates[code] = (
                moved,
                f"Pixel {pixel} is stored at uv[first_pixel + sample]: it should be pixel "
                "first_pixel + sample, stored at uv[sample]. uv holds this part alone, so its rows "
                "are counted from 0.",
            )
        candidates["first pixel subtracted"] = (
            centres((number - first) % width, (number - first) // width, width, height),
            "first_pixel is subtracted: add it.",
        )
    known = partial(other_centres, candidates, uv.array, first, width, height)
    case.expect(uv, expected, name="uv", threads=THREADS, candidates=known)
    case.require_many_threads(counts, uv, THREADS)


def check_below(case, first, height, width):
    """Pixels of the last batch that lie below the picture: any coordinate will do."""
    uv = case.output((MANY_BLOCKS, 2))
    counts = case.measure("launch_pixel_centres", first, width, height, uv)
    inside = height * width - first
    expected = reference.pixel_centres(width, height)[first:]
    case.expect(uv.array[:inside], expected, name="uv", threads=THREADS)
    below = uv.array[inside:]
    left_out = (below == uv.sentinel).any(axis=1)
    row = inside + int(left_out.argmax())
    source = case.submission.lines
    line = "\n".join(["", *quoted(condition_with("pixel_centres", HEIGHT, source), source)])
    case.require(
        not left_out.any(),
        "below the picture",
        f"uv[{row}] is never written. Its pixel, number {first + row}, lies below the picture of "
        f"{width} x {height}, but uv has a row for it, and the network is asked about all rows: "
        f"the guard is about uv alone.{line.rstrip()}",
    )
    case.require(
        bool(np.isfinite(below).all()),
        "below the picture",
        "of a pixel below the picture, u or v is no finite number: `pixel_centre` gives one.",
    )
    case.require_many_threads(counts, uv, THREADS)


PARTS_OF_CENTRES = (
    "the pixel is {}", "the column is pixel % {}", "the row is pixel // {}",
    "u is divided by {}", "v is divided by {}",
)  # fmt: skip


def other_centres(known, got, first, width, height):
    """The known candidates, and one with a size or the first pixel used otherwise, if one fits."""
    batch = np.arange(RAGGED_BATCH)
    numbers = {
        "first_pixel + sample": first + batch,
        "sample": batch,
        "first_pixel * the batch + sample": first * len(batch) + batch,
        "first_pixel * sample": first * batch,
        "first_pixel * width + sample": first * width + batch,
        "first_pixel * height + sample": first * height + batch,
        **{
            f"first_pixel + {name}": first + number
            for name, number in by_blocks(RAGGED_BATCH).items()
        },
    }
    sizes = {"width": width, "height": height}
    right = "first_pixel + sample", "width", "width", "width", "height"
    for given in itertools.product(numbers, *[sizes] * 4):
        if given == right:
            continue
        number = numbers[given[0]]
        of_column, of_row, under_u, under_v = (sizes[name] for name in given[1:])
        for row in (np.minimum(number // of_row, height - 1), number // of_row):
            result = centres(number % of_column, row, under_u, under_v)
            if np.allclose(got, result, rtol=0, atol=1e-5):
                wrong = [
                    f"{part.format(way)}, not {best}"
                    for part, way, best in zip(PARTS_OF_CENTRES, given, right, strict=True)
                    if way != best
                ]
                return {**known, "made of something else": (result, f"{'; '.join(wrong)}.")}
    apart = row_and_column_apart(got, first, width, height)
    return {**known, **(apart or at_another_place(got, first, width, height))}


def at_another_place(got, first, width, height):
    """A candidate in which u or v is another place of the right pixel than its centre, if any fits.

    Each of the two by itself, since only one of them may be wrong.
    """
    number = first + np.arange(RAGGED_BATCH)
    columns = places_along("column", "width", number % width, width)
    rows = places_along("row", "height", number // width, height)  # all lie in the picture
    found = [
        next((way for way in ways if np.allclose(got[:, axis], way[1], rtol=0, atol=1e-5)), None)
        for axis, ways in enumerate((columns, rows))
    ]
    if None in found:
        return {}
    names = columns[0][0], rows[0][0]  # the right ones
    wrong = [
        f"{letter} is {name}, and should be {right}"
        for letter, (name, _), right in zip("uv", found, names, strict=True)
        if name != right
    ]
    sentence = (
        f"{'; '.join(wrong)}: pixels are small squares that fill the picture from 0 to 1, and "
        "their centres lie half a pixel inside. `pixel_centre` is given."
    )
    result = np.stack([values for _, values in found], axis=1)
    return {"another place in the pixel": (result, sentence)} if wrong else {}


def places_along(what, size, number, length):
    """[how a coordinate may be made of a column or row, its values], the right one first."""
    ways = []
    for added, less in itertools.product((0.5, 0, 1, -0.5), (0, 1, -1)):
        above = f"({what} {'-' if added < 0 else '+'} {abs(added):g})" if added else what
        under = {0: size, 1: f"({size} - 1)", -1: f"({size} + 1)"}[less]
        values = (number + added) / max(1, length - less)
        ways += [(f"{above} / {under}", values), (f"1 - {above} / {under}", 1 - values)]
    return ways


def row_and_column_apart(got, first, width, height):
    """A candidate in which first_pixel and sample are divided apart from each other, if one fits.

    Where first_pixel begins a row, such a file is right.
    """
    sample = np.arange(RAGGED_BATCH)
    whole = "first_pixel + sample"
    columns = {
        f"({whole}) % width": (first + sample) % width,
        "sample % width": sample % width,
        "first_pixel % width + sample % width": first % width + sample % width,
    }
    rows = {
        f"({whole}) // width": (first + sample) // width,
        "sample // width": sample // width,
        "first_pixel // width + sample // width": first // width + sample // width,
    }
    right = f"({whole}) % width", f"({whole}) // width"
    for given in itertools.product(columns, rows):
        result = centres(columns[given[0]], rows[given[1]], width, height)
        held = centres(columns[given[0]], np.minimum(rows[given[1]], height - 1), width, height)
        for one in (result, held):
            if given != right and np.allclose(got, one, rtol=0, atol=1e-5):
                parts = zip(("column", "row"), given, right, strict=True)
                wrong = [
                    f"the {part} is {way}, not {best}" for part, way, best in parts if way != best
                ]
                sentence = (
                    f"{'; '.join(wrong)}: a batch may begin in the middle of a row. Add the two "
                    "first, then divide."
                )
                return {"row and column apart": (one, sentence[0].upper() + sentence[1:])}
    return {}


def by_blocks(batch):
    """Numbers of threads that are made of block and thread in other ways: words -> numbers."""
    block, thread = np.divmod(np.arange(batch), THREADS[2])
    blocks = block[-1] + 1
    return {
        "threadIdx.x * gridDim.x + blockIdx.x": thread * blocks + block,
        "blockIdx.x * gridDim.x + threadIdx.x": block * blocks + thread,
        "threadIdx.x * blockDim.x + blockIdx.x": thread * THREADS[2] + block,
        "blockIdx.x + threadIdx.x": block + thread,
        "threadIdx.x": thread,
        "blockIdx.x": block,
    }


def centres(column, row, width, height):
    return np.stack([(column + 0.5) / width, (row + 0.5) / height], axis=1)


def check_batch(case, batch, step, shape, engine=None):
    case.explain = explained
    image = case.photo(shape)
    uv, target = case.output((batch, 2)), case.output((batch, 3))
    arguments = image, case.seed, step, uv, target
    counts = None
    if engine:
        case.run("launch_sample_batch", *arguments, engine=engine)
    else:
        counts = case.measure("launch_sample_batch", *arguments)
    expected_uv, expected = reference.sample(image, step, case.seed, batch)
    known = partial(known_batches, uv.array, expected_uv, step, case.seed, shape)
    drawn = known if batch <= RAGGED_BATCH else None
    case.expect(uv, expected_uv, name="uv", threads=THREADS, tolerance=0, candidates=drawn)
    height, width, _ = shape
    rows = np.minimum((expected_uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((expected_uv[:, 0] * width).astype(int), width - 1)
    candidates = {
        "nearest pixel": (
            image[rows, columns],
            "Each sample got the colour of the nearest pixel: it should be a blend of four.",
        ),
        "axes exchanged": (
            reference.bilinear(image, expected_uv[:, ::-1]),
            "u and v are exchanged in the lookup: u goes to the right, v down.",
        ),
        "red and blue exchanged": (expected[:, ::-1], "Red and blue are exchanged."),
        "nothing but red": (expected[:, [0, 0, 0]], "All three channels hold red."),
        **{
            f"order {order}": (
                expected[:, order],
                "The channels are in another order: red, green and blue go into 0, 1 and 2.",
            )
            for order in itertools.permutations(range(3))
        },
        "no colours": (
            np.full(expected.shape, float(target.sentinel)),
            "target is never written: it gets the colours that bilinear returns.",
        ),
    }
    if batch <= RAGGED_BATCH:
        _, next_colours = reference.sample(image, step + 1, case.seed, batch)
        candidates["colours of other points"] = (
            next_colours,
            "These are the colours of the next step's points: draw once, and look up that point.",
        )
    known = partial(blends, candidates, target.array, image, expected_uv)
    case.expect(target, expected, name="target", threads=THREADS, candidates=known)
    if counts:
        case.require_many_threads(counts, uv, THREADS)


def known_batches(got, expected, step, seed, shape):
    """The candidates for wrong points of a batch.

    First what `random_uv` is called with: where it is wrong itself, its own check says so.
    """
    known = other_arguments(got, step, seed) or joined_arguments(got, step, seed)
    known["stored in the other order"] = (
        expected[:, ::-1],
        "u and v are exchanged: u, from the first word, belongs into uv[sample, 0], v into "
        "uv[sample, 1].",
    )
    for code, candidate in other_draws(got, expected, step, seed).items():
        if code != "axes exchanged":
            known.setdefault(code, candidate)
    return known | other_points(got, expected, shape) | only_sample_0(got, expected)


def blends(known, got, image, uv):
    """The known candidates, and one with other pixels, or other weights of them, if one fits."""
    if len(uv) > RAGGED_BATCH:
        return known
    positions = positions_in(image, uv)
    found = (
        other_pixels_beyond(got, image, next(iter(positions.values())), "pixel")
        or at_another_point(got, image, uv, "image", "pixel")
        or other_blends(got, image, positions)
    )
    return {**known, **found}


# ---------------------------------------------------------------- draws, right and wrong


def explained(found):
    """What a refusal within the given functions says of the student's own."""
    of_types = not any(words in found.message for words in NO_MATTER_OF_TYPES)
    drawn = any(name in found.message for name in ("philox4x32", "random_uv"))
    if found.kind == "compile" and drawn and of_types:
        return (
            "philox4x32 computes with uint64 alone: write uint64(...) around each bare number that "
            "it gets (0, LOW_32_BITS), and around the sample of cuda.grid"
        )
    if found.kind == "out-of-bounds" and "in blend" in found.message:
        return (
            "bilinear takes u and v from 0 to 1, and multiplies them with the image's size itself: "
            "what do random_uv and the lookup give it?"
        )
    return ""


def other_draws(got, expected, step, seed):
    """The candidates for wrong draws; where u or v is right, it is taken as it is."""
    batch = len(got)
    right = (np.asarray(got) == expected).all(axis=0)
    if right.all():
        return {}
    known = {code: (f(batch, step, seed), say) for code, (f, say) in KNOWN_DRAWS.items()}
    known.update(other_wirings(got, step, seed))
    known.update(other_shifts(got, step, seed))
    exact = {
        **of_other_samples(got, step, seed),
        **of_two_calls(got, step, seed),
        **of_other_bits(got, step, seed),
        **of_more_bits(got, step, seed),
        **of_a_stream(got, step, seed),
    }
    known["around zero"] = expected - 0.5, "0.5 is subtracted: u and v go from 0 to 1."
    known["from -1 to 1"] = 2 * expected - 1, "These go from -1 to 1: u and v go from 0 to 1."
    middles = (expected + 2.0**-25).astype(np.float32).astype(np.float64)
    known["half added"] = (
        middles,
        "Half is added to a word: it is word >> 8, times 2**-24, no more.",
    )
    if not right.any():
        return {**known, **exact}
    # What is told of both has to be true of one alone; what tells of each goes first.
    wrong = "v" if right[0] else "u"
    alone = {
        code: (np.where(right, expected, result), f"Of {wrong} alone: {sentence}")
        for code, (result, sentence) in known.items()
    }
    same = known["one word"][1] if right[0] else alone["one word"][1]
    return {"one word": (alone["one word"][0], same), **exact, **alone}


def only_sample_0(got, expected):
    """A candidate, after all others, for draws of which the first alone is right."""
    right = np.asarray(got == expected)
    unwritten = np.asarray(got == sentinel_of(np.dtype(np.float32)))
    if not right[0].all() or right[1:].any() or unwritten.any():
        return {}
    sentence = (
        "Only sample 0 has its numbers. Each sample takes one call of philox4x32, with the sample "
        "as counter_0, and the halves of step and seed as they are: is one of these places another "
        "number from sample 1 on, or do the words go on from those of the samples before?"
    )
    return {"only sample 0": (np.asarray(got, np.float64), sentence)}


def other_points(got, expected, shape):
    """Candidates in which u and v have been changed after they were drawn."""
    height, width, _ = shape
    sizes, places = np.array([width, height]), np.arange(len(got))[:, None]
    changed = {
        "centres of pixels": (
            (np.floor(expected * sizes) + 0.5) / sizes,
            "These are the centres of the pixels in which the random points lie: store u and v as "
            "random_uv returns them. A sample may lie anywhere in a pixel.",
        ),
        "corners of pixels": (
            np.floor(expected * sizes) / sizes,
            "These are the corners of the pixels in which the random points lie: store u and v as "
            "random_uv returns them. A sample may lie anywhere in a pixel.",
        ),
        "in pixels": (
            expected * sizes,
            "These are positions in pixels: u and v go from 0 to 1, whatever the size of the "
            "image.",
        ),
        "spread evenly": (
            (places + expected) / len(got),
            "These are spread evenly, (sample + u) / B: a good idea for later, but here the points "
            "are those of random_uv, as they are.",
        ),
    }
    found = {}
    for code, (points, sentence) in changed.items():
        # One of the two may be as it should be.
        right = np.isclose(got, expected, rtol=0, atol=0)
        if (right | np.isclose(got, points, rtol=1e-5, atol=1e-6)).all():
            found[code] = got.astype(np.float64), sentence
    return found


def other_arguments(got, step, seed):
    """A candidate in which random_uv is given other numbers than the sample, step and seed."""
    sample = np.arange(len(got))
    numbers = {"the sample": sample, **by_blocks(len(got))}
    added = {"": 0 * sample, **{f" + {one}": numbers[one] for one in OF_A_THREAD}}
    if not numbers["blockIdx.x"].any():
        del numbers["blockIdx.x"]
    numbers |= {"0 for each sample": 0 * sample, "the sample + 1": sample + 1}
    steps, seeds = (
        {
            **{f"{name}{more}": [number + int(n) & ALL for n in added[more]] for more in added},
            **{other: [value] * len(got) for other, value in others.items()},
        }
        for name, number, others in (
            ("the step", step, {"the seed": seed, "0": 0, **beside("the step", step)}),
            ("the seed", seed, {"the step": step, "0": 0, **beside("the seed", seed)}),
        )
    )
    for first, second, third in itertools.product(numbers, steps, seeds):
        result = drawn_with(numbers[first], steps[second], seeds[third])
        if np.array_equal(result, got):
            sentence = (
                f"random_uv gets {first}, {second} and {third}: it should get uint64(sample), step "
                "and seed, where the sample is counted over all blocks."
            )
            return {"other arguments": (result, sentence)}
    return {}


def beside(name, number):
    return {f"{name} - 1": number - 1 & ALL, f"{name} + 1": number + 1 & ALL}


def joined_arguments(got, step, seed):
    """A candidate in which the three numbers are joined before random_uv gets them, if one fits."""
    batch, sample, nothing = len(got), np.arange(len(got)), [0] * len(got)
    started = -(-batch // THREADS[2]) * THREADS[2]
    running = {
        "step * B + sample": step * batch + sample,
        "(step - 1) * B + sample": (step - 1) * batch + sample,
        "(step + 1) * B + sample": (step + 1) * batch + sample,
        "step * cuda.gridsize(1) + sample": step * started + sample,
        "sample * B + step": sample * batch + step,
        "step + sample": step + sample,
        "step * sample": step * sample,
        "the step, xor the sample": step ^ sample,
    }
    steps = {"the step": [step] * batch, "0": nothing}
    seeds = {"the seed": [seed] * batch, "0": nothing}
    joined = {"seed + step": seed + step, "the seed, xor the step": seed ^ step}
    ways = [
        *itertools.product(running.items(), steps.items(), seeds.items()),
        *itertools.product(
            {**running, "the sample": sample}.items(),
            steps.items(),
            {name: [number & ALL] * batch for name, number in joined.items()}.items(),
        ),
    ]
    for given in ways:
        result = drawn_with(*(numbers for _, numbers in given))
        if np.array_equal(result, got):
            samples, of_step, key = (name for name, _ in given)
            sentence = (
                f"random_uv gets {samples} as the sample, {of_step} as the step and {key} as the "
                "seed: it should get uint64(sample), step and seed, each by itself. Philox has a "
                "place for each of them, so no draws have to be numbered through."
            )
            return {"other arguments, joined": (result, sentence)}
    return {}


def drawn_with(samples, steps, seeds):
    """The points that random_uv returns if each thread gives it numbers of its own."""
    counters = [
        (int(sample), step & LOW, step >> 32, 0)
        for sample, step in zip(samples, steps, strict=True)
    ]
    keys = [seed & LOW for seed in seeds], [seed >> 32 for seed in seeds]
    return as_unit(reference.philox4x32(counters, keys)[:, :2])


def draw(case, sample, step, seed):
    numbers = map(np.uint64, (sample, step, seed))
    return [float(number) for number in case.call("random_uv", *numbers)]


def words(batch, step, seed, counter=None):
    """(B, 4) random words; counter: sample -> the four counters."""
    low = 0xFFFFFFFF
    key = seed & low, seed >> 32
    counter = counter or (lambda sample: (sample, step & low, step >> 32, 0))
    return np.array([reference.philox4x32(counter(sample), key) for sample in range(batch)])


def as_unit(pair, bits=24):
    return np.asarray(pair, np.float64) // 2 ** (32 - bits) / 2**bits


def step_ignored(batch, step, seed):
    return as_unit(words(batch, 0, seed)[:, :2])


def seed_ignored(batch, step, seed):
    return as_unit(words(batch, step, 0)[:, :2])


def one_word(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, [0, 0]])


def exchanged(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, [1, 0]])


def all_bits(batch, step, seed):
    values = words(batch, step, seed)[:, :2].astype(np.float32) * np.float32(2.0**-32)
    return values.astype(np.float64)


def one_block(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (i % 128, step % 2**32, step >> 32, 0))
    return as_unit(drawn[:, :2])


def other_order(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (step % 2**32, i, step >> 32, 0))
    return as_unit(drawn[:, :2])


def upper_halves_lost(batch, step, seed):
    return as_unit(words(batch, step % 2**32, seed % 2**32)[:, :2])


def other_words(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, 2:])


def not_shifted(batch, step, seed):
    values = words(batch, step, seed)[:, :2].astype(np.float32) * np.float32(2.0**-24)
    return values.astype(np.float64)


def lower_bits(batch, step, seed):
    return (words(batch, step, seed)[:, :2] % 2**24) / 2**24


def too_many_bits(batch, step, seed):
    values = (words(batch, step, seed)[:, :2] // 2**7).astype(np.float32) * np.float32(2.0**-25)
    return values.astype(np.float64)


def whole_numbers(batch, step, seed):
    return (words(batch, step, seed)[:, :2] // 2**8).astype(np.float64)


def seed_and_step_exchanged(batch, step, seed):
    return as_unit(words(batch, seed, step)[:, :2])


def sample_ignored(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (0, step % 2**32, step >> 32, 0))
    return as_unit(drawn[:, :2])


def from_one(batch, step, seed):
    return as_unit(words(batch + 1, step, seed)[1:, :2])


KNOWN_DRAWS = {
    "other words": (other_words, "These are the third and fourth word: take the first two."),
    "not shifted": (
        not_shifted,
        "The words are not shifted: a word has 32 bits, and >> 8 keeps the upper 24.",
    ),
    "lower bits": (lower_bits, "These are the lower 24 bits of a word: word >> 8 keeps the upper."),
    "25 bits": (too_many_bits, "25 bits are kept: a float32 holds 24, so shift by 8."),
    "whole numbers": (
        whole_numbers,
        "These are whole numbers: float32(word >> 8) times 2**-24 lies in [0, 1).",
    ),
    "seed and step exchanged": (
        seed_and_step_exchanged,
        "Seed and step are exchanged: the seed is the key, the step the second and third counter.",
    ),
    "sample ignored": (
        sample_ignored,
        "All samples are the same point: the first counter has to be the sample.",
    ),
    "counted from one": (from_one, "The samples are counted from 1: the first is number 0."),
    "step ignored": (
        step_ignored,
        "The same points in every step: the step has to be one of Philox's counters.",
    ),
    "seed ignored": (
        seed_ignored,
        "The same points for every seed: the seed is Philox's key.",
    ),
    "one word": (
        one_word,
        "u and v are the same number: take two of the four words, and store both.",
    ),
    "axes exchanged": (exchanged, "u and v are exchanged: u is made from the first word."),
    "32 bits": (
        all_bits,
        "A float32 holds 24 bits: more are rounded, sometimes up to 1.0, outside the picture.",
    ),
    "counters exchanged": (
        other_order,
        "The first counter is the sample, the second and third are the step.",
    ),
    "upper halves lost": (
        upper_halves_lost,
        "Only the lower 32 bits of step and seed are used: larger ones repeat what was there.",
    ),
    "same in every block": (
        one_block,
        "Every block draws the same points: threadIdx counts within a block.",
    ),
}


# ---------------------------------------------------------------- what goes where, wrongly

PLACES = "counter_0", "counter_1", "counter_2", "counter_3", "key_0", "key_1"
RIGHT_PLACES = (
    "the sample", "the lower half of the step", "the upper half of the step", "0",
    "the lower half of the seed", "the upper half of the seed",
)  # fmt: skip


def parts_of(name, number):
    """What can be made of a step or a seed: words -> number."""
    return {
        f"the lower half of the {name}": number & LOW,
        f"the upper half of the {name}": number >> 32,
        f"the whole {name}": number,
        f"the {name} shifted to the left": number << 32 & ALL,
        f"16 bits of the {name}": number & 0xFFFF,
        f"31 bits of the {name}": number & 0x7FFFFFFF,
        f"the {name} without its lower 16 bits": number >> 16,
        f"the {name} - 1": number - 1 & ALL,
        f"the {name} + 1": number + 1 & ALL,
        f"the lower half of the {name} - 1": number - 1 & LOW,
        f"the lower half of the {name} + 1": number + 1 & LOW,
        f"the upper half of the {name} - 1": (number - 1 & ALL) >> 32,
        f"the upper half of the {name} + 1": (number + 1 & ALL) >> 32,
    }


def parts_of_sample(sample, step):
    return {
        "the sample": sample,
        "the sample + 1": sample + 1,
        "the sample + the step": sample + step & ALL,
        "the sample times the step": sample * step & ALL,
        "the sample xor the step": sample ^ step,
    }


def joined_numbers(sample, step, seed):
    """What sample, step and seed may be joined to, where each has places of its own."""
    numbers = {
        "(the seed + the step)": seed + step,
        "(the seed xor the step)": seed ^ step,
        "(the seed * the step)": seed * step,
        "(the seed + the sample)": seed + sample,
        "(the seed xor the sample)": seed ^ sample,
        "(the seed * the sample)": seed * sample,
        "(the sample + the step)": sample + step,
        "(the sample xor the step)": sample ^ step,
        "(the sample * the step)": sample * step,
        "(the sample + the step + the seed)": sample + step + seed,
        **{
            f"(the step * {n} + the sample)": step * n + sample for n in (16384, 128, 1000, 1 << 20)
        },
        **{f"(the sample * {n} + the step)": sample * n + step for n in (16384, 1000, 40000)},
    }
    halves = {}
    for name, number in numbers.items():
        halves[f"the lower half of {name}"] = number & LOW
        halves[f"the upper half of {name}"] = number >> 32 & LOW
        halves[name] = number & ALL
    return halves


def joined_wirings():
    """Two of the three numbers joined to one, in the counters or as the key."""
    names = list(joined_numbers(0, 0, 0))
    for lower, upper, whole in zip(names[::3], names[1::3], names[2::3], strict=True):
        for counters in (
            RIGHT_PLACES[:4],
            ("the sample", "0", "0", "0"),
            ("0", *RIGHT_PLACES[1:4]),
            ("0", "0", "0", "0"),
        ):
            yield (*counters, lower, upper)
            yield (*counters, whole, "0")
            yield (*counters, whole, RIGHT_PLACES[5])
        for first in ((lower, upper), (lower, "0"), (whole, "0")):
            yield (*first, "0", "0", *RIGHT_PLACES[4:])
            yield (*first, "0", "0", "0", "0")
        yield (lower, *RIGHT_PLACES[1:])
        yield (whole, *RIGHT_PLACES[1:])


def wirings():
    """What may go into the six places of Philox instead: one place wrong, or some exchanged."""
    yield from joined_wirings()
    parts = [*parts_of_sample(0, 0), "0", *parts_of("step", 0), *parts_of("seed", 0)]
    for place, part in itertools.product(range(6), parts):
        yield (*RIGHT_PLACES[:place], part, *RIGHT_PLACES[place + 1 :])
    counters, keys = RIGHT_PLACES[:4], RIGHT_PLACES[4:]
    for order, pair in itertools.product(itertools.permutations(counters), (keys, keys[::-1])):
        yield (*order, *pair)
    for name, first in (("step", 1), ("seed", 4)):
        for pair in itertools.product(parts_of(name, 0), repeat=2):
            yield (*RIGHT_PLACES[:first], *pair, *RIGHT_PLACES[first + 2 :])
    for other in ("- 1", "+ 1"):
        halves = (f"the {half} half of the step {other}" for half in ("lower", "upper"))
        yield ("the sample", *halves, "0", *RIGHT_PLACES[4:])
    for of_step, of_seed in zip(parts_of("step", 0), parts_of("seed", 0), strict=True):
        yield ("the sample", of_step, RIGHT_PLACES[2], "0", of_seed, RIGHT_PLACES[5])
        yield ("the sample", RIGHT_PLACES[1], of_step, "0", RIGHT_PLACES[4], of_seed)


def other_wirings(got, step, seed):
    """Candidates with one place of Philox filled wrongly, or several; those that fit one sample."""
    found = {}
    for wiring in wirings():
        if wiring == RIGHT_PLACES:
            continue
        if np.array_equal(wired(wiring, PROBE, step, seed), got[PROBE]):
            wrong = [
                f"{place} is {part}{UPPER * (part == '0' and 'counter' in place)}, and should be "
                f"{right}"
                for place, part, right in zip(PLACES, wiring, RIGHT_PLACES, strict=True)
                if part != right
            ]
            result = np.array([wired(wiring, sample, step, seed) for sample in range(len(got))])
            found["wrong places"] = result, f"{'; '.join(wrong)}."
            break
    return found


UPPER = " (or the upper half of the sample)"  # which is 0 in all batches
NUMBERS = {str(number): number for number in range(4)}


def wired(wiring, sample, step, seed, words=2):
    values = {
        **parts_of_sample(sample, step),
        **NUMBERS,
        **parts_of("step", step),
        **parts_of("seed", seed),
        **joined_numbers(sample, step, seed),
    }
    numbers = [values[part] for part in wiring]
    return as_unit(philox_of_64_bits(numbers[:4], numbers[4:])[:words])


SAMPLES = {
    "the sample": lambda sample, batch: sample,
    "the sample + 1": lambda sample, batch: sample + 1,
    "2 * the sample": lambda sample, batch: 2 * sample,
    "2 * the sample + 1": lambda sample, batch: 2 * sample + 1,
    "sample 0": lambda sample, batch: 0,
    "half the sample, rounded down": lambda sample, batch: sample // 2,
    "a quarter of the sample, rounded down": lambda sample, batch: sample // 4,
    "the sample of the block's first thread": lambda sample, batch: sample // 128 * 128,
    "the last sample": lambda sample, batch: batch - 1,
    "the even one of two samples": lambda sample, batch: sample // 2 * 2,
    "the sample + the batch": lambda sample, batch: sample + batch,
}


def of_other_samples(got, step, seed):
    """A candidate in which u and v are words of any two samples, if one fits."""
    batch = len(got)
    drawn = words(2 * batch + 1, step, seed)
    sources = {
        f"word {word} of {name}": as_unit(drawn[[number(i, batch) for i in range(batch)], word])
        for word in range(4)
        for name, number in SAMPLES.items()
    }
    halves = np.arange(batch) // 2
    for even, odd in itertools.permutations(range(4), 2):
        of_both = np.where(np.arange(batch) % 2, drawn[halves, odd], drawn[halves, even])
        told = (
            f"word {even} of sample // 2 where the sample is even, and word {odd} where it is odd"
        )
        sources[told] = as_unit(of_both)
    parts = []
    for axis in range(2):
        fits = (name for name, values in sources.items() if np.array_equal(values, got[:, axis]))
        parts.append(next(fits, None))
    if None in parts:
        return {}
    u, v = parts
    sentence = f"u is {u}; v is {v}: they should be word 0 and word 1 of the sample itself."
    return {"of other samples": (np.stack([sources[u], sources[v]], axis=1), sentence)}


def of_two_calls(got, step, seed):
    """A candidate in which u and v are words of calls that differ in one place, if one fits."""
    found = []
    for axis in range(2):
        fits = (
            (wiring, word)
            for wiring in wirings_of_a_second_call()
            for word, value in enumerate(wired(wiring, PROBE, step, seed, words=4))
            if value == got[PROBE, axis]
        )
        found.append(next(fits, None))
    if None in found:
        return {}
    told, results = [], []
    for name, (wiring, word) in zip("uv", found, strict=True):
        places = zip(PLACES, wiring, RIGHT_PLACES, strict=True)
        other = [f"{place} is {part}" for place, part, right in places if part != right]
        told.append(f"{name} is word {word}{' of a call in which '.join(['', *other])}")
        samples = range(len(got))
        results.append([wired(wiring, sample, step, seed, words=4)[word] for sample in samples])
    sentence = (
        f"{'; '.join(told)}: one call gives four words, of which word 0 becomes u, and word 1 v."
    )
    return {"two calls": (np.array(results).T, sentence)}


def wirings_of_a_second_call():
    """The right places, and those with another number in one of them."""
    yield RIGHT_PLACES
    parts = [*parts_of_sample(0, 0), *NUMBERS, *parts_of("step", 0), *parts_of("seed", 0)]
    for place, part in itertools.product((3, 0, 1, 2, 4, 5), parts):
        yield (*RIGHT_PLACES[:place], part, *RIGHT_PLACES[place + 1 :])


def of_more_bits(got, step, seed):
    """A candidate in which u or v has more bits of a word than a float32 holds, if one fits."""
    drawn = words(len(got), step, seed)
    found = []
    for axis, word in itertools.product(range(2), range(4)):
        upper = as_unit(drawn[:, word])
        if np.array_equal(got[:, axis], upper):
            found.append((axis, f"the upper 24 bits of word {word}"))
        elif np.allclose(got[:, axis], drawn[:, word] / 2**32, rtol=2.0**-24, atol=2.0**-27):
            found.append((axis, f"more than 24 bits of word {word}"))
    if [axis for axis, _ in found] != [0, 1] or not any("more" in what for _, what in found):
        return {}
    sentence = (
        f"u is made of {found[0][1]}, and v of {found[1][1]}: a float32 holds 24, so u is the "
        "upper 24 bits of word 0, and v those of word 1."
    )
    return {"more bits": (got.copy(), sentence)}


def of_a_stream(got, step, seed):
    """A candidate in which a number is made of bits of two words, put one behind the other."""
    drawn = words(len(got), step, seed).astype(np.uint64)
    right = as_unit(drawn[:, :2])
    told, results = [], []
    for axis, name in enumerate("uv"):
        if np.array_equal(got[:, axis], right[:, axis]):
            results.append(right[:, axis])
            continue
        ways = itertools.product(itertools.permutations(range(4), 2), range(1, 32))
        for (upper, lower), first in ways:
            result = as_fraction(drawn[:, upper] << np.uint64(32) | drawn[:, lower], first, 24)
            taken = min(24, 32 - first)  # bits of the lower word
            if taken < 24 and np.array_equal(result, got[:, axis]):
                results.append(result)
                told.append(
                    f"{name} is made of the lower {24 - taken} bits of word {upper} and the upper "
                    f"{taken} bits of word {lower}, and should be the upper 24 bits of word {axis}"
                )
                break
    if len(results) < 2 or not told:
        return {}
    sentence = f"{'; '.join(told)}: a word for each, not the bits that come next."
    return {"of two words": (np.stack(results, axis=1), sentence)}


def of_other_bits(got, step, seed):
    """A candidate in which u and v are some bits of a word, as a fraction, if one fits."""
    drawn = words(len(got), step, seed).astype(np.uint64)
    found = []
    for axis in range(2):
        ways = itertools.product((axis, 1 - axis, 2, 3), range(32), range(32, 7, -1))
        for word, first, bits in ways:
            result = as_fraction(drawn[:, word], first, bits)
            if first + bits <= 32 and np.array_equal(result, got[:, axis]):
                found.append((result, f"bits {first} to {first + bits - 1} of word {word}"))
                break
    if len(found) < 2:
        return {}
    (u, of_u), (v, of_v) = found
    sentence = (
        f"u is made of {of_u}, and v of {of_v}: it should be the upper 24 bits of word 0 for "
        "u, and of word 1 for v."
    )
    return {"other bits": (np.stack([u, v], axis=1), sentence)}


def as_fraction(word, first, bits):
    """Some bits of words, as a float32 in [0, 1)."""
    part = (word >> first) % 2**bits
    return part.astype(np.float32).astype(np.float64) * 2.0**-bits


def philox_of_64_bits(counter, key):
    """As in a kernel, where counters and keys may have more than 32 bits, and products wrap."""
    counter_0, counter_1, counter_2, counter_3 = counter
    key_0, key_1 = key
    for _ in range(10):
        product_a, product_b = 0xD2511F53 * counter_0 & ALL, 0xCD9E8D57 * counter_2 & ALL
        counter_0, counter_1 = product_b >> 32 ^ counter_1 ^ key_0, product_b & LOW
        counter_2, counter_3 = product_a >> 32 ^ counter_3 ^ key_1, product_a & LOW
        key_0, key_1 = key_0 + 0x9E3779B9 & LOW, key_1 + 0xBB67AE85 & LOW
    return counter_0, counter_1, counter_2, counter_3


def other_shifts(got, step, seed):
    """Candidates with the right words, shifted and multiplied by other numbers than 8 and 2**-24.

    More than one may fit a single sample; all of them have to fit in the end.
    """
    drawn = words(len(got), step, seed)[:, :2]
    found = {}
    for shift, power in itertools.product(range(32), range(8, 41)):
        result = (drawn >> shift).astype(np.float32).astype(np.float64) * 2.0**-power
        if (shift, power) != (8, 24) and np.array_equal(result[PROBE], got[PROBE]):
            found[f"shifted by {shift}"] = (
                result,
                f"A word is shifted to the right by {shift} bits and multiplied by 2**-{power}: it "
                "should be 8 bits, and 2**-24.",
            )
    for shift in range(32):
        largest = 2 ** (32 - shift) - 1
        result = ((drawn >> shift).astype(np.float32) / np.float32(largest)).astype(np.float64)
        if np.allclose(result[PROBE], got[PROBE], rtol=2.0**-23, atol=0):
            found[f"divided by {largest}"] = (
                np.where(np.isclose(got, result, rtol=2.0**-23, atol=0), got, result),
                f"A word is divided by {largest:,}, the largest that it can be, so 1.0 can occur, "
                "and lies outside the picture: it is (word >> 8), times 2**-24.",
            )
    return found
