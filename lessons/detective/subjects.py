"""The kernels that cases are made of: a small launch of each, and what is right.

A subject is a function of `draw`, which makes arrays of random float32 in [-1, 1), and of sizes. It
returns the arguments of the launch function in their order, and what outputs should hold, from
`lessons.reference` or from NumPy. Its docstring begins with a line

    lesson level module launch function | sizes, least-most | constants with other values

and a colon, and goes on with the task, in which names of arguments stand in braces.
"""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.worker.output import Output
from lessons.reference import (
    attention,
    bits,
    classifier,
    neighbours,
    palette,
    reductions,
    siren,
    warm_ups,
)

OWN = "lessons.detective.case_kernels"
TYPES = {"f": np.float32, "i": np.int32, "u": np.uint32}  # of outputs
Made = tuple[dict[str, Any], dict[str, Any]]  # name -> argument, and name -> what it should hold


class Draw:
    """Random numbers. constants: those that a case has changed, as shapes may depend on them."""

    def __init__(self, seed: int, constants: Mapping[str, int]) -> None:
        self.random = np.random.default_rng(seed)
        self.constants = constants

    def __call__(self, *shape: int) -> np.ndarray:
        return self.random.uniform(-1, 1, shape).astype(np.float32)


class Subject(NamedTuple):
    name: str
    lesson: str  # its number
    level: int
    module: str  # of the launch function
    launch: str
    sizes: Mapping[str, tuple[int, ...]]  # the least and the most of each
    vary: Mapping[str, tuple[int, ...]]  # a constant's name -> other values
    does: str
    make: Callable[..., Made]


def subject(make: FunctionType) -> Subject:
    """What a function's docstring says."""
    head, _, does = (make.__doc__ or "").partition(":")
    words, sizes, vary = (part.strip() for part in head.split("|"))
    lesson, level, module, launch = words.split()
    ranges, values = (
        [part.split() for part in listed.split(",") if part] for listed in (sizes, vary)
    )
    return Subject(
        make.__name__, lesson, int(level), OWN if module == "own" else f"kernels.{module}",
        f"launch_{launch}", {name: tuple(map(int, size.split("-"))) for name, size in ranges},
        {name: tuple(map(int, more)) for name, *more in values}, " ".join(does.split()), make,
    )  # fmt: skip


def empty(*shape: int, dtype: Any = np.float32) -> Output:
    """An array that nobody has written yet."""
    return Output(shape, dtype, None)


def begun(values: np.ndarray) -> Output:
    """An array that holds something, and is changed."""
    return Output(values.shape, values.dtype, values)


def zeros(count: int) -> Output:
    return begun(np.zeros(count, np.int32))


def made(right: Mapping[str, Any], **inputs: Any) -> Made:
    """A launch whose last arguments are outputs that nobody has written yet, and what is right."""
    types = {name: TYPES[np.asarray(value).dtype.kind] for name, value in right.items()}
    outputs = {name: empty(*np.shape(value), dtype=types[name]) for name, value in right.items()}
    return {**inputs, **outputs}, dict(right)


# ---------------------------------------------------------------- level 1: a thread by itself


def grayscale(draw: Draw, height: int, width: int) -> Made:
    """1 1 own grayscale | height 9-40, width 9-40 | WIDE 8 16 32, HIGH 2 4 8:
    `{gray}` (height, width): the brightness 0.2126 red + 0.7152 green + 0.0722 blue of each pixel
    of `{image}` (height, width, 3)."""
    image = draw(height, width, 3)
    return made({"gray": reference.grayscale(image)}, image=image)


def upsample(draw: Draw, height: int, width: int, rows: int, columns: int) -> Made:
    """2 1 own upsample | height 9-30, width 9-30, rows 3-6, columns 3-6 | WIDE 8 16 32, HIGH 2 4 8:
    `{large}` (height, width, 3): `{small}` (rows, columns, 3) between its pixels' centres,
    bilinearly, at each pixel centre of the large picture."""
    small = draw(rows, columns, 3)
    return made({"large": reference.bilinear_upsample(small, width, height)}, small=small)


def pixel_centres(draw: Draw, first: int, height: int, width: int, n: int) -> Made:
    """3 1 sampler pixel_centres | first 3-90, height 9-20, width 9-20, n 40-150 | THREADS 32 64:
    `{uv}` (n, 2): the place (u, v), from 0 to 1, of the centres of n pixels of a picture of
    `{height}` x `{width}`, counted row by row, from pixel number `{first_pixel}` on. Pixels below
    the picture have the v of its last row."""
    pixel = first + np.arange(n)
    row = np.minimum(pixel // width, height - 1)
    right = np.stack([(pixel % width + 0.5) / width, (row + 0.5) / height], axis=1)
    return made({"uv": right}, first_pixel=first, width=width, height=height)


def matmul_naive(draw: Draw, m: int, k: int, n: int) -> Made:
    """5 1 matmul matmul_naive | m 9-24, k 5-20, n 9-24 | TILE 8 16:
    `{c}` (m, n) = `{a}` (m, k) @ `{b}` (k, n), the product of two matrices."""
    a, b = draw(m, k), draw(k, n)
    return made({"c": a.astype(float) @ b}, a=a, b=b)


def histogram_global(draw: Draw, n: int, bins: int) -> Made:
    """5b 1 histogram histogram_global | n 300-600, bins 5-20 | BLOCK_THREADS 64 128:
    Adds to `{counts}` (bins,) how many numbers of `{brightness}` (n,), which are from 0 to 1, lie
    in each of so many equal parts."""
    brightness = np.abs(draw(n)) * np.float32(0.999)
    before = np.arange(bins, dtype=np.int32)
    found = (brightness * np.float32(bins)).astype(np.int32)
    right = before + np.bincount(found, minlength=bins)
    return {"brightness": brightness, "counts": begun(before)}, {"counts": right}


def bias_gelu(draw: Draw, samples: int, units: int) -> Made:
    """16 1 classifier.gelu bias_gelu | samples 9-20, units 20-50 |:
    `{hidden}` (samples, units) = gelu(`{sums}` (samples, units) + `{bias}` (units,)), with
    gelu(x) = x / 2 * (1 + tanh(0.797885 * (x + 0.044715 x^3)))."""
    sums, bias = 3 * draw(samples, units), draw(units)
    return made({"hidden": classifier.gelu(sums.astype(float) + bias)}, sums=sums, bias=bias)


def average_pool(draw: Draw, batch: int, height: int, width: int, c: int) -> Made:
    """17 1 neighbours.pool average_pool | batch 1-2, height 5-9, width 5-9, c 2-4 |
    BLOCK_THREADS 32 64:
    `{pooled}` (batch, height // 2, width // 2, c): the mean of each window of 2 x 2 numbers of
    `{images}` (batch, height, width, c)."""
    images = draw(batch, height, width, c)
    return made({"pooled": neighbours.windows(images).mean(axis=-1)}, images=images)


def pack_cells(draw: Draw, n: int, width: int) -> Made:
    """20 1 bits.cells pack_cells | n 40-200, width 2-7 | BLOCK_THREADS 8 16:
    `{words}` (m,): the levels of `{values}` (n,), from -1 to 1, as whole numbers of `{bits}` bits
    each, one behind the other in words of 32 bits, the first one lowest."""
    values = draw(n)
    right = bits.packed(bits.levels_of(values, width), width).astype(np.uint32)
    return made({"words": right}, values=values, bits=width)


# ---------------------------------------------------------------- level 2: a block together


def matmul_tiled(draw: Draw, m: int, k: int, n: int) -> Made:
    """5 2 matmul matmul_tiled | m 9-20, k 9-20, n 9-20 | TILE 4 8:
    `{c}` (m, n) = `{a}` (m, k) @ `{b}` (k, n), the product of two matrices, by tiles."""
    return matmul_naive(draw, m, k, n)


def transpose(draw: Draw, m: int, n: int) -> Made:
    """5 2 own transpose | m 9-30, n 9-30 | SIDE 4 8:
    `{turned}` (n, m): the rows of `{matrix}` (m, n) are its columns."""
    matrix = draw(m, n)
    return made({"turned": matrix.T}, matrix=matrix)


def histogram_shared(draw: Draw, n: int, bins: int) -> Made:
    """5b 2 histogram histogram_shared | n 300-600, bins 40-150 |
    BLOCK_THREADS 32 64, PIXELS_PER_THREAD 2 3, MAX_BINS 256 512:
    Adds to `{counts}` (bins,) how many numbers of `{brightness}` (n,), which are from 0 to 1, lie
    in each of so many equal parts; a block counts by itself first."""
    return histogram_global(draw, n, bins)


def sum_tree(draw: Draw, n: int) -> Made:
    """5b 2 histogram sum_tree | n 150-600 | BLOCK_THREADS 32 64 128, PIXELS_PER_THREAD 2 3:
    Adds to `{total}` (1,) the sum of `{values}` (n,)."""
    values, before = draw(n), np.ones(1, np.float32)
    return {"values": values, "total": begun(before)}, {"total": before + values.sum(dtype=float)}


def relu_unit(draw: Draw, batch: int) -> Made:
    """6 2 warm_ups.layers relu_unit | batch 20-90 |:
    `{outputs}` (batch,) = max(0, `{sums}`) (batch, 16) @ `{weights}` (16,)."""
    sums, weights = draw(batch, 16), draw(16)
    return made({"outputs": warm_ups.relu_unit(sums, weights)}, sums=sums, weights=weights)


def add_weight_gradients(draw: Draw, batch: int) -> Made:
    """7 2 warm_ups.gradients add_weight_gradients | batch 70-150 |:
    Adds to `{grad_weights}` (16, 16) the product `{activations}`^T @ `{deltas}`, both
    (batch, 16)."""
    activations, deltas, before = draw(batch, 16), draw(batch, 16), draw(16, 16)
    right = before + warm_ups.add_weight_gradients(activations, deltas)
    given = {"activations": activations, "deltas": deltas, "grad_weights": begun(before)}
    return given, {"grad_weights": right}


def column_sums(draw: Draw, rows: int, columns: int) -> Made:
    """16 2 classifier.column_sums column_sums | rows 9-60, columns 20-70 | STRIP_WARPS 4 6:
    `{sums}` (columns,): the sums of the columns of `{values}` (rows, columns)."""
    values = draw(rows, columns)
    return made({"sums": values.sum(axis=0, dtype=float)}, values=values)


def assign(draw: Draw, n: int, k: int, d: int) -> Made:
    """18 2 palette.assign assign | n 70-200, k 9-30, d 2-4 | BLOCK_THREADS 32 64:
    `{labels}` (n,): which of `{centres}` (k, d) is nearest to each of `{points}` (n, d), and
    `{distances}` (n,): the squared distance."""
    points, centres = draw(n, d), draw(k, d)
    labels, distances = palette.nearest(points, centres)
    return made({"labels": labels, "distances": distances}, points=points, centres=centres)


# ---------------------------------------------------------------- level 3: warps, rounds, stages


def mix_units(draw: Draw, batch: int, layers: int) -> Made:
    """6 3 warm_ups.layers mix_units | batch 20-70, layers 2-4 |:
    `{outputs}` (batch, 16): `{features}` (batch, 16) after `{layers}` layers, in each of which unit
    u becomes max(0, unit u - unit u + 1); after the last unit comes unit 0."""
    features = draw(batch, 16)
    right = warm_ups.mix_units(features, layers)
    return made({"outputs": right}, features=features, layers=layers)


def column_sums_of_blocks(draw: Draw, rows: int, columns: int, blocks: int) -> Made:
    """11 3 reductions.columns column_sums | rows 150-300, columns 3-9, blocks 2-4 |
    BLOCK_THREADS 64 128, MAX_COLUMNS 32 64:
    `{sums}` (1, columns): the sums of the columns of `{gradient}` (rows, columns), in two stages;
    `{partials}` (blocks, columns) is room for the first."""
    gradient = draw(rows, columns)
    right = gradient.sum(axis=0, keepdims=True, dtype=float)
    return made({"sums": right}, gradient=gradient, partials=empty(blocks, columns))


def chunk_sums(draw: Draw, samples: int, ins: int, units: int) -> Made:
    """13 3 siren.sums chunk_sums | samples 40-70, ins 9-14, units 20-36 | CHUNK_SAMPLES 16 32:
    `{partial}` (chunks, ins + 1, units): for each chunk of samples, the product `{inputs}`^T @
    `{deltas}` of (samples, ins) and (samples, units), and in the last row the sums of the latter.
    """
    inputs, deltas = draw(samples, ins), draw(samples, units)
    right = siren.chunk_sums(inputs, deltas, draw.constants["CHUNK_SAMPLES"])
    return made({"partial": right}, inputs=inputs, deltas=deltas)


def softmax_cross_entropy(draw: Draw, samples: int, classes: int) -> Made:
    """16 3 classifier.softmax softmax_cross_entropy | samples 3-9, classes 9-70 |
    CLASS_THREADS 16 32:
    With z = `{logits}` (samples, classes) + `{bias}` (classes,): `{probabilities}` = exp(z) / sum
    of exp(z), row by row; `{delta}`: the same, less 1 at the label of `{labels}`; `{losses}`
    (samples,): -log of the label's probability. z may be large."""
    logits, bias = 90 * draw(samples, classes), draw(classes)
    labels = np.minimum(np.abs(draw(samples)) * classes, classes - 1).astype(np.int32)
    z = logits.astype(float) + bias
    probabilities, losses = classifier.softmax(z), classifier.cross_entropy(z, labels)
    right = {"probabilities": probabilities, "delta": probabilities.copy(), "losses": losses}
    right["delta"][np.arange(samples), labels] -= 1
    return made(right, logits=logits, bias=bias, labels=labels)


def layer_norm(draw: Draw, rows: int, width: int) -> Made:
    """19 3 attention.layer_norm layer_norm | rows 3-9, width 20-90 | BLOCK_THREADS 64 128:
    `{out}` (rows, width): each row of `{x}` less its mean, over its deviation, times `{gain}`
    (width,); `{means}` (rows,): the means; `{scales}` (rows,): one over the deviations. A mean may
    be large beside its deviation."""
    x, gain = draw(rows, width) + 90 * draw(rows, 1), draw(width)
    means, scales = attention.statistics(x)
    right = {"out": attention.layer_norm(x, gain), "means": means, "scales": scales}
    return made(right, x=x, gain=gain)


# ---------------------------------------------------------------- level 4: fences, rings, locks


def prefix_sum(draw: Draw, n: int) -> Made:
    """11 4 reductions.prefix_sum prefix_sum | n 150-500 | BLOCK_THREADS 64, VALUES_PER_THREAD 2 3:
    `{running}` (n,): the sums of `{counts}` (n,) up to each, in parts; `{part_sums}` has room for
    the sum of each part."""
    counts = (np.abs(draw(n)) * 9).astype(np.int32)
    parts = -(-n // (draw.constants["BLOCK_THREADS"] * draw.constants["VALUES_PER_THREAD"]))
    room = empty(parts, dtype=np.int32)
    return made({"running": reductions.running_sums(counts)}, counts=counts, part_sums=room)


def blur_by_rows(draw: Draw, height: int, width: int) -> Made:
    """17 4 own blur_by_rows | height 5-12, width 20-80 | STRIP 16 24 32 48:
    `{blurred}` (height, width): for each number of `{image}` the sum of the 3 x 3 numbers around
    it, zeros beyond the edges. A block keeps the last rows that it has read."""
    image = draw(height, width)
    right = neighbours.convolve(image[np.newaxis, :, :, np.newaxis], np.ones((3, 3, 1, 1)), [0])
    return made({"blurred": right[0, :, :, 0]}, image=image)


def sum_by_last_block(draw: Draw, n: int, blocks: int) -> Made:
    """11 4 own sum_by_last_block | n 150-500, blocks 2-4 | GROUP 32 64:
    `{total}` (1,): the sum of `{values}` (n,) in one launch: each block leaves its sum in
    `{partials}` (blocks,), and the one that comes last adds them up; `{finished}` (1,) counts."""
    values = draw(n)
    right = {"total": values.sum(keepdims=True, dtype=float)}
    return made(right, values=values, partials=empty(blocks), finished=zeros(1))


def best_under_lock(draw: Draw, n: int) -> Made:
    """11 4 own best_under_lock | n 100-250 | GROUP 32 64:
    `{best}` (1,) and `{place}` (1,): the largest of `{values}` (n,), and where it is; `{lock}` (1,)
    is 0 while nobody changes the two."""
    values = draw(n)
    outputs = {"best": begun(np.full(1, -9, np.float32)), "place": zeros(1)}
    right = {"best": values[[values.argmax()]], "place": [values.argmax()]}
    return {"values": values, "lock": zeros(1), **outputs}, right


def running_sums_in_a_chain(draw: Draw, n: int) -> Made:
    """11 4 own running_sums_in_a_chain | n 70-180 | GROUP 32 64:
    `{running}` (n,): the sums of `{values}` (n,) up to each, in one launch: a block leaves the sum
    up to its end in `{carries}`, and says so in `{flags}`, for which the next one waits."""
    values, blocks = draw(n), -(-n // draw.constants["GROUP"])
    right = {"running": np.cumsum(values, dtype=float)}
    return made(right, values=values, carries=empty(blocks), flags=zeros(blocks))


SUBJECTS = {
    name: subject(made)
    for name, made in list(vars().items())
    if isinstance(made, FunctionType) and "|" in (made.__doc__ or "")
}
