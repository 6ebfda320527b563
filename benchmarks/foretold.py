"""Foretold and measured: what `report.predict` says of launches that it has not seen.

    python -m benchmarks.foretold --predict h200-blind     anywhere: writes what is foretold
    python -m benchmarks.foretold --measure h200-blind     on a GPU: adds what it takes
    python -m benchmarks.foretold --show h200-blind        the table again

All kernels are the course's. The simulator runs one to some blocks of the very launch that is
measured, and `predict` says what the whole launch would take. That is written down first. The
launches of `h200-foretold` are others, measured before: the model was fitted to them.
"""

import argparse
import json
import math
import statistics
import sys
import time
from functools import partial

import numpy as np

from benchmarks.machine import RESULTS, description, text_of
from kernels import adam, encode, histogram, image_ops, matmul, mlp_forward, sampler
from kernels import backward as learn_back
from kernels.attention import backward, layer_norm
from kernels.attention import forward as attention
from kernels.bits import cells, quantise
from kernels.classifier import gelu, sgd
from kernels.classifier.column_sums import launch_column_sums as strips
from kernels.config import Config
from kernels.inline import fused as inline_fused
from kernels.inline import learn, paint, scatter, sizes
from kernels.neighbours import convolve, gradients, pool, product
from kernels.palette import accumulate, assign
from kernels.products import double_buffered, epilogue, large_tiles, tensor_cores, tiles, transposed
from kernels.reductions import columns, contrast, maximum, prefix_sum, sums
from kernels.siren import layers
from kernels.state import initial_state
from kernels.transfers import block_shapes
from lessons import lab


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


def empty(*shape, kind=np.float32):
    return np.zeros(shape, kind)


def blocks_of(kernel, blocks, threads):
    """A function that launches a kernel with its last argument, in so many blocks."""
    return lambda *given, launch: launch(kernel, blocks, threads, *given)


# Each yields (name, function that launches, its arguments, blocks to run). Of the first launches,
# and of others: those are for a blind test.


def shapes(sizes, blocks):
    for side, factor in sizes:
        image, small = drawn(side, side), empty(side // factor, side // factor)
        by = "" if factor == 4 else f" by {factor}"
        for block in blocks:
            name = f"shrink {side}{by}, blocks of {block[0]} x {block[1]}"
            yield name, block_shapes.launch_shrink, (image, small, factor, block), 1


RUNGS = {
    "naive": matmul.launch_matmul_naive, "tiled": matmul.launch_matmul_tiled,
    "registers": tiles.launch_product_registers,
    "double buffered": double_buffered.launch_product_double_buffered,
    "large tiles": large_tiles.launch_product_large_tiles,
}  # fmt: skip


def products():
    for size in (512, 1024, 2048):
        a, b, c = drawn(size, size), drawn(size, size, seed=1), empty(size, size)
        for name, start in {**RUNGS, "nt": transposed.launch_product_nt}.items():
            if size < 2048 or name in ("naive", "tiled", "registers"):
                yield f"product {name} {size}", start, (a, b, c), 1
        a, b = map(tensor_cores.words_of_halves, (a, b))
        yield f"product halves {size}", tensor_cores.launch_product_halves, (a, b, c), 1


def other_products():
    for m, k, n in ((768, 768, 768), (256, 2048, 1280)):
        size, a, b, c = f"{m} x {k} x {n}", drawn(m, k), drawn(k, n), empty(m, n)
        for name, start in RUNGS.items():
            yield f"product {name} {size}", start, (a, b, c), 1
        yield f"product tn {size}", transposed.launch_product_tn, (drawn(k, m), b, c), 1
        start = epilogue.launch_product_bias_gelu
        yield f"product, bias and gelu {size}", start, (a, b, drawn(n), c), 1
        a, b = map(tensor_cores.words_of_halves, (a, drawn(n, k)))
        yield f"product halves {size}", tensor_cores.launch_product_halves, (a, b, c), 1


def histograms(count, colours):
    for words, shown, bins in colours:
        for name in ("global", "shared"):
            start = getattr(histogram, f"launch_histogram_{name}")
            given = shown(drawn(count)), empty(bins, kind=np.int32)
            yield f"histogram {name}, {words.format(bins)}", start, given, 8


def reductions():
    for power in (20, 24):
        values = drawn(1 << power)
        yield f"sum tree 2^{power}", histogram.launch_sum_tree, (values, empty(1)), 4
        for blocks in (132, 1056):
            for name, kernel in (("sum", sums.sum_blocks), ("max", maximum.max_blocks)):
                words = f"{name} blocks 2^{power}, {blocks} blocks"
                yield words, blocks_of(kernel, blocks, 256), (values, empty(blocks)), 1
    yield from column_sums((16, 128), 1 << 16)


def column_sums(widths, rows):
    for width in widths:
        for name in ("threads", "warps", "blocks"):
            start = getattr(columns, f"launch_column_sums_by_{name}")
            given = drawn(rows, width), empty(width)
            yield f"column sums by {name}, {width} columns", start, given, 2


def other_reductions():
    values, counts = drawn(1 << 22), np.ones(1 << 22, np.int32)
    yield "sum tree 2^22", histogram.launch_sum_tree, (values, empty(1)), 4
    for blocks in (264, 528):
        for name, kernel, kind in (("sum", sums.sum_blocks, np.float32),
                                   ("argmax", maximum.argmax_blocks, np.int32)):  # fmt: skip
            given = values, empty(blocks, kind=kind)
            yield f"{name} blocks 2^22, {blocks} blocks", blocks_of(kernel, blocks, 256), given, 1
    for lanes in (4, 32):
        given = values, np.int32(lanes), empty(1 << 22)
        yield f"sums of groups of {lanes}", sums.launch_sum_groups, given, 4
    parts = prefix_sum.parts_for(1 << 22)
    given = counts, empty(parts, kind=np.int32)
    start = blocks_of(prefix_sum.sums_of_parts, parts, prefix_sum.BLOCK_THREADS)
    yield "sums of parts 2^22", start, given, 2
    given = *given, empty(1 << 22, kind=np.int32)
    yield "prefix sum 2^22", prefix_sum.launch_prefix_sum, given, 2
    yield from column_sums((48,), 1 << 15)
    start = blocks_of(columns.column_sums_of_blocks, 256, columns.BLOCK_THREADS)
    given = drawn(1 << 15, 48), empty(256, 48)
    yield "column sums of 256 blocks, 48 columns", start, given, 1
    yield "column sums of strips, 640 columns", strips, (drawn(2048, 640), empty(640)), 1


def convolutions():
    for count, side, channels, filters in ((256, 32, 8, 16), (16, 64, 32, 32)):
        images, weights = drawn(count, side, side, channels), drawn(3, 3, channels, filters)
        bias, out = drawn(filters), empty(count, side, side, filters)
        given, shape = (images, weights, bias), f"{count} x {side} x {side} x {channels}"
        yield f"convolve naive {shape}", convolve.launch_convolve_naive, (*given, 1, 1, out), 2
        yield f"convolve tiled {shape}", convolve.launch_convolve_tiled, (*given, out), 1
        start = product.launch_convolve_as_product
        yield f"convolve as product {shape}", start, (*given, 1, 1, out), 1
        half = empty(count, side // 2, side // 2, filters)
        yield f"convolve, stride 2 {shape}", start, (*given, 2, 1, half), 1
        yield from pools(images, shape)
        pooled = empty(count, side // 2, side // 2, channels)
        yield f"average pool {shape}", pool.launch_average_pool, (images, pooled), 4


def pools(images, shape):
    count, side, _, channels = images.shape
    pooled, winners = (empty(count, side // 2, side // 2, channels, kind=kind)
                       for kind in (np.float32, np.int32))  # fmt: skip
    yield f"max pool {shape}", pool.launch_max_pool, (images, 0, pooled, winners), 4
    yield f"unpool {shape}", pool.launch_unpool, (pooled, winners, images.copy()), 4


def other_convolutions():
    count, side, channels, filters = 64, 48, 16, 24
    images, weights = drawn(count, side, side, channels), drawn(5, 5, channels, filters)
    bias, out = drawn(filters), empty(count, side, side, filters)
    small_weights, small = drawn(3, 3, channels, filters), drawn(count, 24, 24, filters)
    given = images, weights, bias, 1, 2, out
    yield "convolve naive, 5 x 5", convolve.launch_convolve_naive, given, 1
    start = convolve.launch_convolve_tiled
    yield "convolve tiled 64 x 48 x 48 x 16", start, (images, small_weights, bias, out), 1
    yield "convolve as product, 5 x 5", product.launch_convolve_as_product, given, 1
    start, back = gradients.launch_image_gradients, empty(*images.shape)
    yield "image gradients, 5 x 5", start, (out, weights, 1, 2, back), 1
    yield "image gradients, stride 2", start, (small, small_weights, 2, 1, back), 1
    for name, deltas, stride in (("", out, 1), (", stride 2", small, 2)):
        parts = empty(deltas[..., 0].size // gradients.CHUNK, 9 * channels + 1, filters)
        given = images, deltas, 3, stride, 1, parts
        yield f"filter gradients{name}", gradients.launch_filter_gradients, given, 1
    yield from pools(images, "64 x 48 x 48 x 16")
    given = images, empty(count, channels)
    yield "global average pool", pool.launch_global_average_pool, given, 1


def both_attentions(q, k, v, out, log_sums):
    batch, heads, count, width = q.shape
    given, weights = (q, k, v), empty(batch, heads, count, count)
    start = attention.launch_flash_attention
    yield f"flash attention {count} x {width}", start, (*given, out, log_sums), 1
    start = attention.launch_attention_naive
    yield f"naive attention {count} x {width}", start, (*given, weights, out), 1


def attentions():
    for count, width in ((128, 32), (128, 64), (512, 32), (512, 64)):
        q, k, v = (drawn(2, 4, count, width, seed=seed) for seed in range(3))
        yield from both_attentions(q, k, v, empty(*q.shape), empty(2, 4, count))
    for rows, width in ((1 << 14, 64), (1 << 14, 256), (1 << 12, 1024)):
        x, gain, out, of_row = drawn(rows, width), drawn(width), empty(rows, width), empty(rows)
        given = x, gain, out, of_row, of_row.copy()
        yield f"layer norm {rows} x {width}", layer_norm.launch_layer_norm, given, 2
        given = x, gain, drawn(rows), drawn(rows), drawn(rows, width), out
        start = layer_norm.launch_layer_norm_backward
        yield f"layer norm backward {rows} x {width}", start, given, 2


def other_attentions():
    for count, width in ((192, 40), (320, 64)):
        q, k, v, slope = (drawn(3, 2, count, width, seed=seed) for seed in range(4))
        out, log_sums, size = empty(*q.shape), empty(3, 2, count), f"{count} x {width}"
        yield from both_attentions(q, k, v, out, log_sums)
        given = q, k, v, slope, log_sums, log_sums, out
        start = backward.launch_flash_backward_queries
        yield f"attention backward, queries {size}", start, given, 1
        start = backward.launch_flash_backward_keys
        yield f"attention backward, keys {size}", start, (*given, empty(*q.shape)), 1
        start = backward.launch_output_products
        yield f"attention backward, products {size}", start, (out, slope, log_sums), 2
    for rows, width in ((1 << 13, 128), (1 << 11, 768)):
        x, of_row = drawn(rows, width), drawn(rows)
        given = x, drawn(width), empty(*x.shape), of_row, of_row
        yield f"layer norm {rows} x {width}", layer_norm.launch_layer_norm, given, 2
        given = x, of_row, of_row, x, empty(64, width)
        yield f"gain gradients {rows} x {width}", layer_norm.launch_gain_gradients, given, 1


GRAY, DOWN, UP = (
    partial(image_ops.launch_over_pixels, kernel)
    for kernel in (image_ops.grayscale, image_ops.downsample, image_ops.upsample)
)


def pixels():
    image = drawn(1080, 1920, 3)
    yield "grayscale", GRAY, (image, empty(1080, 1920)), 2
    yield "downsample", DOWN, (image, empty(137, 200, 3)), 1
    yield "upsample", UP, (drawn(137, 200, 3), empty(1080, 1920, 3)), 2
    yield "tint", block_shapes.launch_tint, (image, drawn(3), empty(1080, 1920, 3)), 4
    x = drawn(1 << 14, 256)
    yield "bias and gelu", gelu.launch_bias_gelu, (x, drawn(256), empty(1 << 14, 256)), 2


def other_pixels():
    image, levels, flat = drawn(1440, 2560, 3), np.array([3, 200], np.int32), drawn(3 << 20)
    yield "grayscale 1440", GRAY, (image, empty(1440, 2560)), 2
    yield "downsample 720", DOWN, (image, empty(720, 1280, 3)), 2
    yield "upsample 1440", UP, (drawn(300, 400, 3), image), 2
    yield "tint 1440", block_shapes.launch_tint, (image, drawn(3), image), 4
    given = flat, levels, np.int32(256), empty(3 << 20)
    yield "stretch", contrast.launch_stretch, given, 2
    given = 0, 1024, 1024, empty(1 << 20, 2)
    yield "pixel centres", sampler.launch_pixel_centres, given, 2
    given = drawn(3000, 192), drawn(192), empty(3000, 192)
    yield "gelu backward", gelu.launch_gelu_backward, given, 2
    yield "sgd", sgd.launch_sgd, (drawn(5 << 20), drawn(5 << 20), 0.1), 2
    points, labels = drawn(1 << 19, 3), np.random.default_rng(0).integers(0, 24, 1 << 19, np.int32)
    given = points, drawn(24, 3), labels.copy(), empty(1 << 19)
    yield "palette, nearest of 24", assign.launch_assign, given, 2
    given = points, labels, empty(24, 3), empty(24, kind=np.int32)
    yield "palette, sums of 24", accumulate.launch_accumulate, given, 2
    given = drawn(1 << 22), 5, empty(5 << 17, kind=np.uint32)
    yield "pack cells of 5 bits", cells.launch_pack_cells, given, 2
    yield "quantise to 3 bits", quantise.launch_quantise, (flat, 3, empty(3 << 20)), 2


def training():
    config = Config()
    state, batch = initial_state(config), 1 << 15
    uv, target, features = drawn(batch, 2), drawn(batch, 3), drawn(batch, 16)
    hidden, outputs, weights = drawn(2, batch, 32), drawn(batch, 16), state.weights
    gradient, grid = np.ones_like(state.feature_grid), state.feature_grid
    rest = adam.bias_corrections(0.9, 0.99), 0.01, config.adam_rates
    given = drawn(1096, 1600, 3), 1, 1, uv, target
    yield "sample a batch", sampler.launch_sample_batch, given, 2
    yield "encode", encode.launch_encode, (uv, grid, features), 2
    given = features, weights, hidden, outputs
    yield "MLP forward", mlp_forward.launch_mlp_forward, given, 1
    given = uv, features, hidden, outputs, target, weights, empty(len(weights)), gradient, empty(1)
    yield "MLP backward", learn_back.launch_backward, given, 1
    given = weights, weights, state.weights_m, state.weights_v, 1, *rest
    yield "Adam, weights", adam.launch_adam_weights, given, 2
    given = grid, gradient, state.grid_m, state.grid_v, state.grid_steps, *rest
    yield "Adam, grid", adam.launch_adam_grid, given, 2
    for width in (64, 128):
        x, weights, out = drawn(1 << 13, width), drawn(width, width), empty(1 << 13, width)
        given = x, weights, drawn(width), 30, out, out.copy()
        yield f"sine layer, {width} units", layers.launch_sine_layer, given, 1
        given = x, weights, x, out
        yield f"sine layer backward, {width} units", layers.launch_sine_backward, given, 1
    picture, slopes = drawn(512, 768, 3), drawn(512, 768, 14)
    grid, grad = (drawn(*sizes.grid_shape(512, 768)) for _ in range(2))
    weights = drawn(*sizes.WEIGHTS_SHAPE)
    yield "paint by cells", paint.launch_paint, (grid, weights, picture), 1
    yield "scatter, each pixel", scatter.launch_scatter_direct, (slopes, grad), 2
    yield "scatter, each block", scatter.launch_scatter_block, (slopes, grad), 1
    given = picture, grid, weights, grad, weights.copy(), empty(1)
    yield "learn by cells, fused", learn.launch_learn, given, 1
    yield "learn by warps, fused", inline_fused.launch_learn_by_warps, given, 1


FEW_SHAPES = *block_shapes.BLOCK_SHAPES, (128, 1), (4, 64)
OTHER_SHAPES = (64, 4), (2, 64), (16, 8), (256, 2), (1, 256)
BINS = [("{} bins", np.asarray, bins) for bins in (1, 16, 256, 1024)]
ONE_COLOUR = "{} bins, one colour", lambda values: np.full_like(values, 0.5), 256
EVEN = [("even colours, {} bins", np.asarray, bins) for bins in (3, 64, 700)]
DARK = [("dark colours, {} bins", lambda values: values**4, bins) for bins in (64, 1000)]
FIRST = {
    "shapes": partial(shapes, ((2048, 4), (4096, 4)), FEW_SHAPES), "products": products,
    "histograms": partial(histograms, 1 << 22, [*BINS, ONE_COLOUR]), "reductions": reductions,
    "convolutions": convolutions, "attention": attentions, "pixels": pixels,
}  # fmt: skip
BLIND = {
    "shapes": partial(shapes, ((3072, 2), (2560, 8)), OTHER_SHAPES), "products": other_products,
    "histograms": partial(histograms, 1 << 21, [*EVEN, *DARK]), "reductions": other_reductions,
    "convolutions": other_convolutions, "attention": other_attentions, "pixels": other_pixels,
    "training": training,
}  # fmt: skip


def cases(families, wanted=""):
    """Yields (family, name, kernel, grid, block, arguments, blocks to run)."""
    for family, made in families.items():
        for name, start, given, blocks in made():
            if wanted in f"{family}: {name}":
                caught = []
                start(*given, launch=lambda *launch, to=caught: to.append(launch))
                kernel, grid, block, *arguments = caught[-1]
                yield family, name, kernel, grid, block, arguments, blocks


def foretell(families, wanted):
    rows = []
    for family, name, kernel, grid, block, arguments, few in cases(families, wanted):
        begin = time.perf_counter()
        whole = int(np.prod(grid))
        threads = int(np.prod(block))
        few = min(whole, few if threads > 1 else 64)
        first = (whole - few) // 2
        given = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
        report = lab.checked_run(
            kernel, grid, block, *given, only_blocks=range(first, first + few), ask_numba=False,
            negative=False, without=("race", "slow", "uninitialised"),
        )  # fmt: skip
        try:
            found = report.predict("H200")
        except lab.InputError as error:
            sys.exit(f"{name}: {error}: {report}")
        row = {
            "family": family, "name": name, "foretold_us": short(found.us), "bound": found.sentence,
            "parts": {k: short(us) for k, us in found.parts.items() if us > found.us / 20},
            "registers": found.registers, "warps": found.warps,
        }  # fmt: skip
        rows.append(row)
        seconds = time.perf_counter() - begin
        print(f"{name:48} {found.us:10.2f} us {found.sentence} ({seconds:.1f} s)", flush=True)
    return rows


def measure(families, rows):
    from numba import cuda

    from benchmarks.graph_time import microseconds, start

    by_name = {row["name"]: row for row in rows}
    for _, name, kernel, grid, block, arguments, _ in cases(families):
        given = [cuda.to_device(one) if isinstance(one, np.ndarray) else one for one in arguments]
        us, *spread = map(short, microseconds(partial(start, kernel, grid, block, given)))
        by_name[name] |= {"us": us, "spread": spread}
        row = by_name[name]
        print(f"{name:48} {us:10.2f} us, foretold {row['foretold_us']:10.2f}", flush=True)


def short(number):
    return float(f"{number:.6g}")


def ranks(values):
    order = np.argsort(values)
    found = np.empty(len(values))
    found[order] = np.arange(len(values))
    return found


def correlation(rows, key):
    """Spearman's: of the ranks."""
    one, other = (ranks([row[name] for row in rows]) for name in (key, "us"))
    return float(np.corrcoef(one, other)[0, 1]) if len(rows) > 1 else math.nan


def summary(rows, key="foretold_us"):
    """Rows (family, kernels, correlation, median factor, worst factor, its name)."""
    found = []
    for family in (*dict.fromkeys(row["family"] for row in rows), "all"):
        these = [row for row in rows if family in (row["family"], "all")]
        factors = {row["name"]: max(row["us"] / row[key], row[key] / row["us"]) for row in these}
        worst = max(factors, key=factors.get)
        middle = statistics.median(factors.values())
        found.append((family, len(these), correlation(these, key), middle, factors[worst], worst))
    return found


def show(rows):
    for row in rows:
        ratio = row["foretold_us"] / row["us"]
        print(f"{row['name']:48} {row['us']:10.2f} us  foretold {row['foretold_us']:10.2f} "
              f"{ratio:6.2f}  {row['bound']}")  # fmt: skip
    for key in [key for key in ("foretold_us", "now_us") if key in rows[0]]:
        print("before they were measured" if key == "foretold_us" else "now")
        for family, count, rank, middle, worst, name in summary(rows, key):
            print(f"{family:14} {count:3} kernels, rank correlation {rank:5.3f}, median factor "
              f"{middle:4.2f}, worst {worst:5.2f} ({name})")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("predict", "measure", "show"):
        parser.add_argument(f"--{option}", metavar="NAME", help=f"{option}: results/NAME.json")
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    name = options.predict or options.measure or options.show
    if name is None:
        parser.error("say --predict, --measure or --show")
    path = RESULTS / f"{name}.json"
    families = BLIND if "blind" in name else FIRST
    if options.predict and not path.exists():
        result = {"foretold": description(), "rows": foretell(families, options.only)}
    else:
        result = json.loads(path.read_text())
    if options.predict and "measured" in result:  # the blind figures stay, and what it says now
        now = {row["name"]: row["foretold_us"] for row in foretell(families, options.only)}
        for row in result["rows"]:
            row["now_us"] = now[row["name"]]
        result["summary_now"] = summary(result["rows"], "now_us")
    if options.measure:
        measure(families, result["rows"])
        result |= {"measured": description(), "summary": summary(result["rows"])}
    if options.measure or options.show:
        show(result["rows"])
    if not options.show:
        path.write_text(text_of(result))


if __name__ == "__main__":
    main()
