"""The kernels that cases are made of: a small launch of each, and what is right.

A subject's function gets the sizes of a launch and `draw`, which makes arrays of random float32 in [-1, 1). It
returns the arguments of the launch function in their order, and what the outputs should be, from
`lessons.reference` or from NumPy.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.worker.output import Output
from lessons.reference import attention, bits, classifier, neighbours, palette, products, siren
from lessons.reference import reductions, transfers, warm_ups

Expected = dict[str, np.ndarray]
Made = tuple[dict[str, Any], Expected]  # name -> argument, and name -> what it should hold


class Draw:
    """Random numbers. constants: those that a case has changed, as shapes may depend on them."""

    def __init__(self, seed: int | list[int], constants: Mapping[str, int]) -> None:
        self.random = np.random.default_rng(seed)
        self.constants = constants

    def __call__(self, *shape: int) -> np.ndarray:
        return self.random.uniform(-1, 1, shape).astype(np.float32)


class Subject(NamedTuple):
    """A right kernel, and a launch of it.

    lesson: its number. module, launch: where its launch function is. does: a sentence, with names
    of arguments in braces. sizes: name -> (least, most). vary: a constant's name -> other values.
    """

    name: str
    lesson: str
    level: int
    module: str
    launch: str
    does: str
    sizes: Mapping[str, tuple[int, int]]
    vary: Mapping[str, tuple[int, ...]]
    make: Callable[..., Made]


SUBJECTS: dict[str, Subject] = {}
OWN = "lessons.detective.own_kernels"


def subject(
    lesson: str, level: int, module: str, sizes: str, vary: str = "", launch: str = ""
) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Adds a function to `SUBJECTS`; its docstring is the sentence.

    sizes: such as "n 20-90". vary: such as "TILE 8 12". launch: the name, if not launch_ and its.
    """

    def add(make: Callable[..., Made]) -> Callable[..., Made]:
        name = make.__name__
        words = (part.split() for part in sizes.split(","))
        ranges = {word[0]: tuple(map(int, word[1].split("-"))) for word in words}
        parts = (part.split() for part in vary.split(",") if part)
        varied = {part[0]: tuple(map(int, part[1:])) for part in parts}
        does = " ".join((make.__doc__ or "").split())
        SUBJECTS[name] = Subject(
            name, lesson, level, module, launch or f"launch_{name}", does, ranges, varied, make
        )
        return make

    return add


def empty(*shape: int, dtype: Any = np.float32) -> Output:
    """An array that nobody has written yet."""
    return Output(shape, dtype, None)


def begun(values: np.ndarray) -> Output:
    """An array that holds something, and is changed."""
    return Output(values.shape, values.dtype, values)


def zeros(*shape: int, dtype: Any = np.float32) -> Output:
    return begun(np.zeros(shape, dtype))


# ---------------------------------------------------------------- level 1: a thread by itself


@subject("1", 1, OWN, "height 9-40,width 9-40", "SIDE 8 16")
def grayscale(draw: Draw, height: int, width: int) -> Made:
    """`{gray}` (height, width): the brightness 0.2126 red + 0.7152 green + 0.0722 blue of each
    pixel of `{image}` (height, width, 3)."""
    image = draw(height, width, 3)
    right = {"gray": reference.grayscale(image)}
    return {"image": image, "gray": empty(height, width)}, right


@subject("2", 1, OWN, "height 9-20,width 9-20,rows 4-8,columns 4-8", "SIDE 4 8 16")
def downsample(draw: Draw, height: int, width: int, rows: int, columns: int) -> Made:
    """`{small}` (rows, columns, 3): each pixel the mean of the part of `{image}`
    (height, width, 3) that it covers; a pixel that is covered in part counts in part."""
    image = draw(height, width, 3)
    right = {"small": reference.area_downsample(image, columns, rows)}
    return {"image": image, "small": empty(rows, columns, 3)}, right


@subject("2", 1, OWN, "height 9-30,width 9-30,rows 3-6,columns 3-6", "SIDE 8 16")
def upsample(draw: Draw, height: int, width: int, rows: int, columns: int) -> Made:
    """`{large}` (height, width, 3): `{small}` (rows, columns, 3) between its pixels' centres,
    bilinearly, at each pixel centre of the large picture."""
    small = draw(rows, columns, 3)
    right = {"large": reference.bilinear_upsample(small, width, height)}
    return {"small": small, "large": empty(height, width, 3)}, right


@subject("3", 1, "kernels.sampler", "first 3-90,height 9-20,width 9-20,n 40-150", "THREADS 32 64")
def pixel_centres(draw: Draw, first: int, height: int, width: int, n: int) -> Made:
    """`{uv}` (n, 2): the place (u, v), from 0 to 1, of the centres of n pixels of a picture of
    `{height}` x `{width}`, counted row by row, from pixel number `{first_pixel}` on. Pixels below
    the picture have the v of its last row."""
    pixel = first + np.arange(n)
    row = np.minimum(pixel // width, height - 1)
    right = np.stack([(pixel % width + 0.5) / width, (row + 0.5) / height], axis=1)
    given = {"first_pixel": first, "width": width, "height": height, "uv": empty(n, 2)}
    return given, {"uv": right}


@subject("5", 1, "kernels.matmul", "m 9-24,k 5-20,n 9-24", "TILE 8 16")
def matmul_naive(draw: Draw, m: int, k: int, n: int) -> Made:
    """`{c}` (m, n) = `{a}` (m, k) @ `{b}` (k, n), the product of two matrices."""
    a, b = draw(m, k), draw(k, n)
    return {"a": a, "b": b, "c": empty(m, n)}, {"c": products.product(a, b)}


@subject("5b", 1, "kernels.histogram", "n 300-600,bins 5-20", "BLOCK_THREADS 64 128")
def histogram_global(draw: Draw, n: int, bins: int) -> Made:
    """Adds to `{counts}` (bins,) how many numbers of `{brightness}` (n,), which are from 0 to 1,
    lie in each of so many equal parts."""
    return counted(draw, n, bins)


def counted(draw: Draw, n: int, bins: int) -> Made:
    brightness = np.abs(draw(n)) * np.float32(0.999)
    before = np.arange(bins, dtype=np.int32)
    found = (brightness * np.float32(bins)).astype(np.int32)
    right = before + np.bincount(found, minlength=bins)
    return {"brightness": brightness, "counts": begun(before)}, {"counts": right}


@subject("10", 1, "kernels.transfers.block_shapes", "height 20-50,width 20-50,channels 2-5")
def tint(draw: Draw, height: int, width: int, channels: int) -> Made:
    """`{tinted}` (height, width, channels): each channel of `{image}` times its number of
    `{gains}` (channels,), at most 1."""
    image, gains = draw(height, width, channels), draw(channels) + np.float32(1.5)
    right = {"tinted": transfers.tint(image, gains)}
    return {"image": image, "gains": gains, "tinted": empty(height, width, channels)}, right


@subject("16", 1, "kernels.classifier.gelu", "samples 9-20,units 20-50")
def bias_gelu(draw: Draw, samples: int, units: int) -> Made:
    """`{hidden}` (samples, units) = gelu(`{sums}` (samples, units) + `{bias}` (units,)), with
    gelu(x) = x / 2 * (1 + tanh(0.797885 * (x + 0.044715 x^3)))."""
    sums, bias = 3 * draw(samples, units), draw(units)
    right = {"hidden": classifier.gelu(sums.astype(float) + bias)}
    return {"sums": sums, "bias": bias, "hidden": empty(samples, units)}, right


@subject(
    "17",
    1,
    "kernels.neighbours.pool",
    "batch 1-2,height 5-9,width 5-9,c 2-4",
    "BLOCK_THREADS 32 64",
)
def average_pool(draw: Draw, batch: int, height: int, width: int, c: int) -> Made:
    """`{pooled}` (batch, height // 2, width // 2, c): the mean of each window of 2 x 2 numbers of
    `{images}` (batch, height, width, c)."""
    images = draw(batch, height, width, c)
    right = neighbours.windows(images).mean(axis=-1)
    return {"images": images, "pooled": empty(*right.shape)}, {"pooled": right}


@subject(
    "17", 1, "kernels.neighbours.convolve", "batch 1-2,height 5-7,width 5-7,c 2-3,f 2-4,stride 1-2",
    "BLOCK_THREADS 32 64",
)  # fmt: skip
def convolve_naive(
    draw: Draw, batch: int, height: int, width: int, c: int, f: int, stride: int
) -> Made:
    """`{out}` (batch, rows, columns, f): `{images}` (batch, height, width, c) with a margin of
    `{padding}` zeros, convolved with `{filters}` (3, 3, c, f), at every `{stride}`-th place, and
    `{bias}` (f,) added."""
    images, filters, bias = draw(batch, height, width, c), draw(3, 3, c, f), draw(f)
    right = neighbours.convolve(images, filters, bias, stride, 1)
    given = {"images": images, "filters": filters, "bias": bias, "stride": stride, "padding": 1}
    return {**given, "out": empty(*right.shape)}, {"out": right}


@subject("20", 1, "kernels.bits.cells", "n 40-200,bits 2-7", "BLOCK_THREADS 8 16")
def pack_cells(draw: Draw, n: int, bits: int) -> Made:
    """`{words}` (m,): the levels of `{values}` (n,), from -1 to 1, as whole numbers of `{bits}`
    bits each, one behind the other in words of 32 bits, the first one lowest."""
    values = draw(n)
    right = packed(values, bits)
    return {"values": values, "bits": bits, "words": empty(len(right), dtype=np.uint32)}, {
        "words": right
    }


def packed(values: np.ndarray, number: int) -> np.ndarray:
    return bits.packed(bits.levels_of(values, number), number)


# ---------------------------------------------------------------- level 2: a block together


@subject("5", 2, "kernels.matmul", "m 9-20,k 9-20,n 9-20", "TILE 4 8")
def matmul_tiled(draw: Draw, m: int, k: int, n: int) -> Made:
    """`{c}` (m, n) = `{a}` (m, k) @ `{b}` (k, n), the product of two matrices, by tiles."""
    return matmul_naive(draw, m, k, n)


@subject("5", 2, OWN, "m 9-30,n 9-30", "SIDE 4 8")
def transpose(draw: Draw, m: int, n: int) -> Made:
    """`{turned}` (n, m): the rows of `{matrix}` (m, n) are its columns."""
    matrix = draw(m, n)
    return {"matrix": matrix, "turned": empty(n, m)}, {"turned": matrix.T}


@subject(
    "5b", 2, "kernels.histogram", "n 300-600,bins 40-150",
    "BLOCK_THREADS 32 64, PIXELS_PER_THREAD 2 3, MAX_BINS 256 512",
)  # fmt: skip
def histogram_shared(draw: Draw, n: int, bins: int) -> Made:
    """Adds to `{counts}` (bins,) how many numbers of `{brightness}` (n,), which are from 0 to 1,
    lie in each of so many equal parts; a block counts by itself first."""
    return counted(draw, n, bins)


@subject("5b", 2, "kernels.histogram", "n 150-600", "BLOCK_THREADS 32 64 128,PIXELS_PER_THREAD 2 3")
def sum_tree(draw: Draw, n: int) -> Made:
    """Adds to `{total}` (1,) the sum of `{values}` (n,)."""
    values = draw(n)
    before = np.ones(1, np.float32)
    return {"values": values, "total": begun(before)}, {"total": before + values.sum(dtype=float)}


@subject("6", 2, "kernels.warm_ups.layers", "batch 20-90")
def relu_unit(draw: Draw, batch: int) -> Made:
    """`{outputs}` (batch,) = max(0, `{sums}`) (batch, 16) @ `{weights}` (16,)."""
    sums, weights = draw(batch, 16), draw(16)
    right = {"outputs": warm_ups.relu_unit(sums, weights)}
    return {"sums": sums, "weights": weights, "outputs": empty(batch)}, right


@subject("7", 2, "kernels.warm_ups.gradients", "batch 70-150")
def add_weight_gradients(draw: Draw, batch: int) -> Made:
    """Adds to `{grad_weights}` (16, 16) the product `{activations}`^T @ `{deltas}`, both
    (batch, 16)."""
    activations, deltas, before = draw(batch, 16), draw(batch, 16), draw(16, 16)
    right = before + warm_ups.add_weight_gradients(activations, deltas)
    given = {"activations": activations, "deltas": deltas, "grad_weights": begun(before)}
    return given, {"grad_weights": right}


@subject("16", 2, "kernels.classifier.column_sums", "rows 9-60,columns 20-70", "STRIP_WARPS 4 6")
def column_sums(draw: Draw, rows: int, columns: int) -> Made:
    """`{sums}` (columns,): the sums of the columns of `{values}` (rows, columns)."""
    values = draw(rows, columns)
    right = {"sums": values.sum(axis=0, dtype=float)}
    return {"values": values, "sums": empty(columns)}, right


@subject("18", 2, "kernels.palette.assign", "n 70-200,k 9-30,d 2-4", "BLOCK_THREADS 32 64")
def assign(draw: Draw, n: int, k: int, d: int) -> Made:
    """`{labels}` (n,): which of `{centres}` (k, d) is nearest to each of `{points}` (n, d), and
    `{distances}` (n,): the squared distance."""
    points, centres = draw(n, d), draw(k, d)
    labels, distances = palette.nearest(points, centres)
    outputs = {"labels": empty(n, dtype=np.int32), "distances": empty(n)}
    right = {"labels": labels, "distances": distances}
    return {"points": points, "centres": centres, **outputs}, right


@subject("18", 2, "kernels.palette.accumulate", "n 70-200,k 9-20,d 2-4", "BLOCK_THREADS 32 64")
def accumulate(draw: Draw, n: int, k: int, d: int) -> Made:
    """Adds to `{sums}` (k, d) the `{points}` (n, d) of each of k groups, and to `{counts}` (k,)
    how many they are; `{labels}` (n,) says which group a point is in."""
    points = draw(n, d)
    labels = np.minimum(np.abs(draw(n)) * k, k - 1).astype(np.int32)
    sums, counts = palette.sums_of(points, labels, k)
    given = {"points": points, "labels": labels}
    before = draw(k, d)
    outputs = {"sums": begun(before), "counts": zeros(k, dtype=np.int32)}
    return {**given, **outputs}, {"sums": before + sums, "counts": counts}


# ---------------------------------------------------------------- level 3: warps, rounds, stages


@subject("6", 3, "kernels.warm_ups.layers", "batch 20-90,layers 2-4")
def mix_units(draw: Draw, batch: int, layers: int) -> Made:
    """`{outputs}` (batch, 16): `{features}` (batch, 16) after `{layers}` layers, in each of which
    unit u becomes max(0, unit u - unit u + 1); after the last unit comes unit 0."""
    features = draw(batch, 16)
    right = {"outputs": warm_ups.mix_units(features, layers)}
    return {"features": features, "layers": layers, "outputs": empty(batch, 16)}, right


@subject(
    "11", 3, "kernels.reductions.sums", "n 300-900,blocks 2-5", "BLOCK_THREADS 64 128", "launch_sum"
)
def sum_in_two_stages(draw: Draw, n: int, blocks: int) -> Made:
    """`{total}` (1,): the sum of `{values}` (n,), by warps, in two stages; `{partials}` (blocks,)
    is room for the first."""
    values = draw(n)
    right = {"total": [values.sum(dtype=float)]}
    return {"values": values, "partials": empty(blocks), "total": empty(1)}, right


@subject(
    "11", 3, "kernels.reductions.columns", "rows 150-300,columns 3-9,blocks 2-4",
    "BLOCK_THREADS 64 128,MAX_COLUMNS 32 64", "launch_column_sums",
)  # fmt: skip
def column_sums_in_two_stages(draw: Draw, rows: int, columns: int, blocks: int) -> Made:
    """`{sums}` (1, columns): the sums of the columns of `{gradient}` (rows, columns), in two
    stages; `{partials}` (blocks, columns) is room for the first."""
    gradient = draw(rows, columns)
    right = {"sums": gradient.sum(axis=0, dtype=float)[np.newaxis]}
    given = {"gradient": gradient, "partials": empty(blocks, columns), "sums": empty(1, columns)}
    return given, right


@subject("11", 3, "kernels.reductions.columns", "rows 70-200,columns 3-7", "BLOCK_THREADS 64 128")
def column_sums_by_blocks(draw: Draw, rows: int, columns: int) -> Made:
    """Adds to `{sums}` (columns,) the sums of the columns of `{gradient}` (rows, columns)."""
    gradient, before = draw(rows, columns), draw(columns)
    right = {"sums": before + gradient.sum(axis=0, dtype=float)}
    return {"gradient": gradient, "sums": begun(before)}, right


@subject(
    "13", 3, "kernels.siren.sums", "samples 50-99,inputs 9-20,units 20-40", "CHUNK_SAMPLES 16 32"
)
def chunk_sums(draw: Draw, samples: int, inputs: int, units: int) -> Made:
    """`{partial}` (chunks, inputs + 1, units): for each chunk of samples, the product
    `{inputs}`^T @ `{deltas}` of (samples, inputs) and (samples, units), and in the last row the
    sums of the deltas."""
    given, deltas = draw(samples, inputs), draw(samples, units)
    arrays = {"inputs": given, "deltas": deltas}
    chunk = draw.constants.get("CHUNK_SAMPLES", 64)
    right = siren.chunk_sums(given, deltas, chunk)
    return {**arrays, "partial": empty(*right.shape)}, {"partial": right}


@subject("16", 3, "kernels.classifier.softmax", "samples 3-9,classes 9-70", "CLASS_THREADS 16 32")
def softmax_cross_entropy(draw: Draw, samples: int, classes: int) -> Made:
    """With z = `{logits}` (samples, classes) + `{bias}` (classes,): `{probabilities}` = exp(z) /
    sum of exp(z), row by row; `{delta}`: the same, less 1 at the label of `{labels}`;
    `{losses}` (samples,): -log of the label's probability. z may be large."""
    logits, bias = 90 * draw(samples, classes), draw(classes)
    labels = np.minimum(np.abs(draw(samples)) * classes, classes - 1).astype(np.int32)
    z = logits.astype(float) + bias
    probabilities, losses = classifier.softmax(z), classifier.cross_entropy(z, labels)
    delta = probabilities.copy()
    delta[np.arange(samples), labels] -= 1
    outputs = {"probabilities": empty(*z.shape), "delta": empty(*z.shape), "losses": empty(samples)}
    right = {"probabilities": probabilities, "delta": delta, "losses": losses}
    return {"logits": logits, "bias": bias, "labels": labels, **outputs}, right


@subject("19", 3, "kernels.attention.layer_norm", "rows 3-9,width 20-90", "BLOCK_THREADS 64 128")
def layer_norm(draw: Draw, rows: int, width: int) -> Made:
    """`{out}` (rows, width): each row of `{x}` less its mean, over its deviation, times `{gain}`
    (width,); `{means}` (rows,) and `{scales}` (rows,), one over the deviation. The mean may be
    large beside the deviation."""
    x, gain = draw(rows, width) + 90 * draw(rows, 1), draw(width)
    means, scales = attention.statistics(x)
    outputs = {"out": empty(rows, width), "means": empty(rows), "scales": empty(rows)}
    right = {"out": attention.layer_norm(x, gain), "means": means, "scales": scales}
    return {"x": x, "gain": gain, **outputs}, right


@subject(
    "19", 3, "kernels.attention.layer_norm", "rows 9-40,width 20-70,blocks 1-3",
    "BLOCK_THREADS 64 128",
)  # fmt: skip
def gain_gradients(draw: Draw, rows: int, width: int, blocks: int) -> Made:
    """`{partials}` (blocks, width), whose columns add up to the sums over all rows of `{grad_out}`
    * (`{x}` - `{means}`) * `{scales}`; block b takes every blocks-th group of rows from b on."""
    x, grad_out = draw(rows, width), draw(rows, width)
    means, scales = draw(rows), draw(rows)
    terms = grad_out.astype(float) * (x - means[:, np.newaxis]) * scales[:, np.newaxis]
    warps = draw.constants.get("BLOCK_THREADS", 256) // 32
    block = np.arange(rows) // warps % blocks
    right = np.stack([terms[block == one].sum(axis=0) for one in range(blocks)])
    given = {"x": x, "means": means, "scales": scales, "grad_out": grad_out}
    return {**given, "partials": empty(blocks, width)}, {"partials": right}


# ---------------------------------------------------------------- level 4: fences, rings, locks


@subject(
    "11", 4, "kernels.reductions.prefix_sum", "n 150-500", "BLOCK_THREADS 64,VALUES_PER_THREAD 2 3"
)
def prefix_sum(draw: Draw, n: int) -> Made:
    """`{running}` (n,): the sums of `{counts}` (n,) up to each, in parts; `{part_sums}` has room
    for the sum of each part."""
    counts = (np.abs(draw(n)) * 9).astype(np.int32)
    parts = -(
        -n
        // (draw.constants.get("BLOCK_THREADS", 256) * draw.constants.get("VALUES_PER_THREAD", 16))
    )
    outputs = {"part_sums": empty(parts, dtype=np.int32), "running": empty(n, dtype=np.int32)}
    return {"counts": counts, **outputs}, {"running": reductions.running_sums(counts)}


@subject(
    "12", 4, "kernels.products.double_buffered", "m 9-20,k 9-30,n 9-20", "SIDE 4 8,PER_THREAD 2"
)
def product_double_buffered(draw: Draw, m: int, k: int, n: int) -> Made:
    """`{c}` (m, n) = `{a}` (m, k) @ `{b}` (k, n), with two pairs of tiles that take turns."""
    return matmul_naive(draw, m, k, n)


@subject("17", 4, OWN, "height 5-12,width 20-80", "STRIP 16 24 32 48")
def blur_by_rows(draw: Draw, height: int, width: int) -> Made:
    """`{blurred}` (height, width): for each number of `{image}` the sum of the 3 x 3 numbers
    around it, zeros beyond the edges. A block keeps the last rows that it has read."""
    image = draw(height, width)
    right = neighbours.convolve(image[np.newaxis, :, :, np.newaxis], np.ones((3, 3, 1, 1)), [0])
    return {"image": image, "blurred": empty(height, width)}, {"blurred": right[0, :, :, 0]}


@subject("11", 4, OWN, "n 150-500,blocks 2-4", "GROUP 32 64")
def sum_by_last_block(draw: Draw, n: int, blocks: int) -> Made:
    """`{total}` (1,): the sum of `{values}` (n,) in one launch: each block leaves its sum in
    `{partials}` (blocks,), and the one that comes last adds them up; `{finished}` (1,) counts."""
    values = draw(n)
    given = {"values": values, "partials": empty(blocks), "finished": zeros(1, dtype=np.int32)}
    return {**given, "total": empty(1)}, {"total": np.array([values.sum(dtype=float)])}


@subject("11", 4, OWN, "n 100-250", "GROUP 32 64")
def best_under_lock(draw: Draw, n: int) -> Made:
    """`{best}` (1,) and `{place}` (1,): the largest of `{values}` (n,), and where it is; `{lock}`
    (1,) is 0 while nobody changes the two."""
    values = draw(n)
    outputs = {"best": begun(np.full(1, -9, np.float32)), "place": zeros(1, dtype=np.int32)}
    right = {"best": values[[values.argmax()]], "place": values.argmax()[np.newaxis]}
    return {"values": values, "lock": zeros(1, dtype=np.int32), **outputs}, right


@subject("11", 4, OWN, "n 70-180", "GROUP 32 64")
def running_sums_in_a_chain(draw: Draw, n: int) -> Made:
    """`{running}` (n,): the sums of `{values}` (n,) up to each, in one launch: a block leaves the
    sum up to its end in `{carries}`, and says so in `{flags}`, for which the next one waits."""
    values = draw(n)
    blocks = -(-n // draw.constants.get("GROUP", 64))
    given = {"values": values, "carries": empty(blocks), "flags": zeros(blocks, dtype=np.int32)}
    return {**given, "running": empty(n)}, {"running": np.cumsum(values, dtype=float)}
