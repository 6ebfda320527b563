"""Foretold and measured: what `report.predict` says of kernels that its constants have not seen.

    python -m benchmarks.foretold --predict h200-foretold     anywhere: writes what is foretold
    python -m benchmarks.foretold --measure h200-foretold     on a GPU: adds what it takes
    python -m benchmarks.foretold --show h200-foretold        the table again

All kernels are the course's. The simulator runs one to some blocks of the very launch that is
measured, and `predict` says what the whole launch would take. That is written down first.
"""

import argparse
import json
import math
import statistics
import sys
import time
from functools import partial

import numpy as np

from benchmarks.machine import RESULTS, description
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


def caught(start, *arguments):
    """(kernel, grid, block, arguments) of what a function launches."""
    found = []
    start(*arguments, launch=lambda *launch: found.append((*launch[:3], launch[3:])))
    return found[-1]


def shapes():
    for side in (2048, 4096):
        image, small = drawn(side, side), empty(side // 4, side // 4)
        for block in (*block_shapes.BLOCK_SHAPES, (128, 1), (4, 64)):
            name = f"shrink {side}, blocks of {block[0]} x {block[1]}"
            yield name, caught(block_shapes.launch_shrink, image, small, 4, block), 1


def products():
    rungs = {
        "naive": matmul.launch_matmul_naive, "tiled": matmul.launch_matmul_tiled,
        "registers": tiles.launch_product_registers,
        "double buffered": double_buffered.launch_product_double_buffered,
        "large tiles": large_tiles.launch_product_large_tiles,
        "nt": transposed.launch_product_nt,
    }  # fmt: skip
    for size in (512, 1024, 2048):
        given = drawn(size, size), drawn(size, size, seed=1), empty(size, size)
        for name, start in rungs.items():
            if size < 2048 or name in ("naive", "tiled", "registers"):
                yield f"product {name} {size}", caught(start, *given), 1
        halves = [tensor_cores.words_of_halves(one) for one in given[:2]]
        launch = caught(tensor_cores.launch_product_halves, *halves, given[2])
        yield f"product halves {size}", launch, 1


def histograms():
    for bins in (1, 16, 256, 1024):
        for name in ("global", "shared"):
            start = getattr(histogram, f"launch_histogram_{name}")
            given = drawn(1 << 22), empty(bins, kind=np.int32)
            yield f"histogram {name}, {bins} bins", caught(start, *given), 8
    dark = np.full(1 << 22, 0.5, np.float32)
    for name in ("global", "shared"):
        start = getattr(histogram, f"launch_histogram_{name}")
        given = dark, empty(256, kind=np.int32)
        yield f"histogram {name}, 256 bins, one colour", caught(start, *given), 8


def reductions():
    for power in (20, 24):
        values, total = drawn(1 << power), empty(1)
        yield f"sum tree 2^{power}", caught(histogram.launch_sum_tree, values, total), 4
        for blocks in (132, 1056):
            partial_sums = empty(blocks)
            launch = sums.sum_blocks, blocks, 256, (values, partial_sums)
            yield f"sum blocks 2^{power}, {blocks} blocks", launch, 1
            yield (
                f"max blocks 2^{power}, {blocks} blocks",
                (maximum.max_blocks, blocks, 256, (values, partial_sums)), 1,
            )  # fmt: skip
    for width in (16, 128):
        gradient, totals = drawn(1 << 16, width), empty(width)
        for name in ("threads", "warps", "blocks"):
            start = getattr(columns, f"launch_column_sums_by_{name}")
            yield f"column sums by {name}, {width} columns", caught(start, gradient, totals), 2


def convolutions():
    for count, side, channels, filters in ((256, 32, 8, 16), (16, 64, 32, 32)):
        images, weights = drawn(count, side, side, channels), drawn(3, 3, channels, filters)
        bias, out = drawn(filters), empty(count, side, side, filters)
        shape = f"{count} x {side} x {side} x {channels}"
        start = convolve.launch_convolve_naive
        yield f"convolve naive {shape}", caught(start, images, weights, bias, 1, 1, out), 2
        start = convolve.launch_convolve_tiled
        yield f"convolve tiled {shape}", caught(start, images, weights, bias, out), 1
        start = product.launch_convolve_as_product
        yield f"convolve as product {shape}", caught(start, images, weights, bias, 1, 1, out), 1
        half = empty(count, side // 2, side // 2, filters)
        yield f"convolve, stride 2 {shape}", caught(start, images, weights, bias, 2, 1, half), 1
        pooled, winners = (empty(count, side // 2, side // 2, channels, kind=kind)
                           for kind in (np.float32, np.int32))  # fmt: skip
        yield f"max pool {shape}", caught(pool.launch_max_pool, images, 0, pooled, winners), 4
        yield f"unpool {shape}", caught(pool.launch_unpool, pooled, winners, images.copy()), 4
        yield f"average pool {shape}", caught(pool.launch_average_pool, images, pooled), 4


def attentions():
    for count, width in ((128, 32), (128, 64), (512, 32), (512, 64)):
        q, k, v = (drawn(2, 4, count, width, seed=seed) for seed in range(3))
        out, log_sums = empty(*q.shape), empty(2, 4, count)
        launch = caught(attention.launch_flash_attention, q, k, v, out, log_sums)
        yield f"flash attention {count} x {width}", launch, 1
        weights = empty(2, 4, count, count)
        launch = caught(attention.launch_attention_naive, q, k, v, weights, out)
        yield f"naive attention {count} x {width}", launch, 1
    for rows, width in ((1 << 14, 64), (1 << 14, 256), (1 << 12, 1024)):
        x, gain, out = drawn(rows, width), drawn(width), empty(rows, width)
        means, scales = empty(rows), empty(rows)
        launch = caught(layer_norm.launch_layer_norm, x, gain, out, means, scales)
        yield f"layer norm {rows} x {width}", launch, 2
        given = x, gain, drawn(rows), drawn(rows), drawn(rows, width), out
        launch = caught(layer_norm.launch_layer_norm_backward, *given)
        yield f"layer norm backward {rows} x {width}", launch, 2


def pixels():
    image, gray = drawn(1080, 1920, 3), empty(1080, 1920)
    start = partial(image_ops.launch_over_pixels, image_ops.grayscale)
    yield "grayscale", caught(start, image, gray), 2
    small = empty(137, 200, 3)
    start = partial(image_ops.launch_over_pixels, image_ops.downsample)
    yield "downsample", caught(start, image, small), 1
    start = partial(image_ops.launch_over_pixels, image_ops.upsample)
    yield "upsample", caught(start, drawn(137, 200, 3), empty(1080, 1920, 3)), 2
    yield "tint", caught(block_shapes.launch_tint, image, drawn(3), empty(1080, 1920, 3)), 4
    x, bias = drawn(1 << 14, 256), drawn(256)
    yield "bias and gelu", caught(gelu.launch_bias_gelu, x, bias, empty(1 << 14, 256)), 2


# ---------------------------------------------------------------- others, for a blind test


def other_shapes():
    for side, factor in ((3072, 2), (2560, 8)):
        image, small = drawn(side, side), empty(side // factor, side // factor)
        for block in ((64, 4), (2, 64), (16, 8), (256, 2), (1, 256)):
            name = f"shrink {side} by {factor}, blocks of {block[0]} x {block[1]}"
            yield name, caught(block_shapes.launch_shrink, image, small, factor, block), 1


def other_products():
    rungs = {
        "naive": matmul.launch_matmul_naive, "tiled": matmul.launch_matmul_tiled,
        "registers": tiles.launch_product_registers,
        "double buffered": double_buffered.launch_product_double_buffered,
        "large tiles": large_tiles.launch_product_large_tiles,
    }  # fmt: skip
    for m, k, n in ((768, 768, 768), (256, 2048, 1280)):
        size, c = f"{m} x {k} x {n}", empty(m, n)
        for name, start in rungs.items():
            yield f"product {name} {size}", caught(start, drawn(m, k), drawn(k, n), c), 1
        launch = caught(transposed.launch_product_tn, drawn(k, m), drawn(k, n), c)
        yield f"product tn {size}", launch, 1
        launch = caught(epilogue.launch_product_bias_gelu, drawn(m, k), drawn(k, n), drawn(n), c)
        yield f"product, bias and gelu {size}", launch, 1
        halves = (
            tensor_cores.words_of_halves(drawn(m, k)),
            tensor_cores.words_of_halves(drawn(n, k)),
        )
        yield f"product halves {size}", caught(tensor_cores.launch_product_halves, *halves, c), 1


def other_histograms():
    pixels = drawn(1 << 21)
    for colours, bins in (("even", 3), ("even", 64), ("even", 700), ("dark", 64), ("dark", 1000)):
        shown = pixels**4 if colours == "dark" else pixels
        for name in ("global", "shared"):
            start = getattr(histogram, f"launch_histogram_{name}")
            launch = caught(start, shown, empty(bins, kind=np.int32))
            yield f"histogram {name}, {colours} colours, {bins} bins", launch, 8


def other_reductions():
    values, counts = drawn(1 << 22), np.ones(1 << 22, np.int32)
    yield "sum tree 2^22", caught(histogram.launch_sum_tree, values, empty(1)), 4
    for blocks in (264, 528):
        indices = empty(blocks, kind=np.int32)
        yield (
            f"sum blocks 2^22, {blocks} blocks",
            (sums.sum_blocks, blocks, 256, (values, empty(blocks))),
            1,
        )
        yield (
            f"argmax blocks 2^22, {blocks} blocks",
            (maximum.argmax_blocks, blocks, 256, (values, indices)),
            1,
        )
    for lanes in (4, 32):
        launch = caught(sums.launch_sum_groups, values, np.int32(lanes), empty(1 << 22))
        yield f"sums of groups of {lanes}", launch, 4
    parts = prefix_sum.parts_for(1 << 22)
    given = counts, empty(parts, kind=np.int32)
    yield (
        "sums of parts 2^22",
        (prefix_sum.sums_of_parts, parts, prefix_sum.BLOCK_THREADS, given),
        2,
    )
    launch = caught(prefix_sum.launch_prefix_sum, *given, empty(1 << 22, kind=np.int32))
    yield "prefix sum 2^22", launch, 2
    gradient, totals = drawn(1 << 15, 48), empty(48)
    for name in ("threads", "warps", "blocks"):
        start = getattr(columns, f"launch_column_sums_by_{name}")
        yield f"column sums by {name}, 48 columns", caught(start, gradient, totals), 2
    launch = columns.column_sums_of_blocks, 256, columns.BLOCK_THREADS, (gradient, empty(256, 48))
    yield "column sums of 256 blocks, 48 columns", launch, 1
    yield "column sums of strips, 640 columns", caught(strips, drawn(2048, 640), empty(640)), 1


def other_convolutions():
    count, side, channels, filters = 64, 48, 16, 24
    images, weights = drawn(count, side, side, channels), drawn(5, 5, channels, filters)
    bias, out = drawn(filters), empty(count, side, side, filters)
    launch = caught(convolve.launch_convolve_naive, images, weights, bias, 1, 2, out)
    yield "convolve naive, 5 x 5", launch, 1
    launch = caught(
        convolve.launch_convolve_tiled, images, drawn(3, 3, channels, filters), bias, out
    )
    yield "convolve tiled 64 x 48 x 48 x 16", launch, 1
    launch = caught(product.launch_convolve_as_product, images, weights, bias, 1, 2, out)
    yield "convolve as product, 5 x 5", launch, 1
    launch = caught(gradients.launch_image_gradients, out, weights, 1, 2, empty(*images.shape))
    yield "image gradients, 5 x 5", launch, 1
    small = drawn(count, 24, 24, filters)
    launch = caught(gradients.launch_image_gradients, small, drawn(3, 3, channels, filters), 2, 1,
                    empty(*images.shape))  # fmt: skip
    yield "image gradients, stride 2", launch, 1
    for name, deltas, stride in (("", out, 1), (", stride 2", small, 2)):
        parts = empty(deltas[..., 0].size // gradients.CHUNK, 9 * channels + 1, filters)
        launch = caught(gradients.launch_filter_gradients, images, deltas, 3, stride, 1, parts)
        yield f"filter gradients{name}", launch, 1
    pooled, winners = (empty(count, 24, 24, channels, kind=kind) for kind in (np.float32, np.int32))
    yield "max pool 64 x 48 x 48 x 16", caught(pool.launch_max_pool, images, 0, pooled, winners), 4
    yield "unpool 64 x 48 x 48 x 16", caught(pool.launch_unpool, pooled, winners, images), 4
    launch = caught(pool.launch_global_average_pool, images, empty(count, channels))
    yield "global average pool", launch, 1


def other_attentions():
    for count, width in ((192, 40), (320, 64)):
        q, k, v, slope = (drawn(3, 2, count, width, seed=seed) for seed in range(4))
        out, log_sums = empty(*q.shape), empty(3, 2, count)
        size = f"{count} x {width}"
        launch = caught(attention.launch_flash_attention, q, k, v, out, log_sums)
        yield f"flash attention {size}", launch, 1
        launch = caught(attention.launch_attention_naive, q, k, v, empty(3, 2, count, count), out)
        yield f"naive attention {size}", launch, 1
        given = q, k, v, slope, log_sums, log_sums
        launch = caught(backward.launch_flash_backward_queries, *given, out)
        yield f"attention backward, queries {size}", launch, 1
        launch = caught(backward.launch_flash_backward_keys, *given, out, empty(*q.shape))
        yield f"attention backward, keys {size}", launch, 1
        launch = caught(backward.launch_output_products, out, slope, log_sums)
        yield f"attention backward, products {size}", launch, 2
    for rows, width in ((1 << 13, 128), (1 << 11, 768)):
        x, gain, of_row = drawn(rows, width), drawn(width), drawn(rows)
        launch = caught(layer_norm.launch_layer_norm, x, gain, empty(*x.shape), of_row, of_row)
        yield f"layer norm {rows} x {width}", launch, 2
        launch = caught(layer_norm.launch_gain_gradients, x, of_row, of_row, x, empty(64, width))
        yield f"gain gradients {rows} x {width}", launch, 1


def other_pixels():
    image = drawn(1440, 2560, 3)
    start = partial(image_ops.launch_over_pixels, image_ops.grayscale)
    yield "grayscale 1440", caught(start, image, empty(1440, 2560)), 2
    start = partial(image_ops.launch_over_pixels, image_ops.downsample)
    yield "downsample 720", caught(start, image, empty(720, 1280, 3)), 2
    start = partial(image_ops.launch_over_pixels, image_ops.upsample)
    yield "upsample 1440", caught(start, drawn(300, 400, 3), image), 2
    yield "tint 1440", caught(block_shapes.launch_tint, image, drawn(3), image), 4
    levels = np.array([3, 200], np.int32)
    flat = drawn(3 << 20)
    yield "stretch", caught(contrast.launch_stretch, flat, levels, np.int32(256), empty(3 << 20)), 2
    yield "pixel centres", caught(sampler.launch_pixel_centres, 0, 1024, 1024, empty(1 << 20, 2)), 2
    x = drawn(3000, 192)
    yield "gelu backward", caught(gelu.launch_gelu_backward, x, drawn(192), empty(3000, 192)), 2
    yield "sgd", caught(sgd.launch_sgd, drawn(5 << 20), drawn(5 << 20), 0.1), 2
    points, centres = drawn(1 << 19, 3), drawn(24, 3)
    labels = np.random.default_rng(0).integers(0, 24, 1 << 19, np.int32)
    launch = caught(assign.launch_assign, points, centres, labels.copy(), empty(1 << 19))
    yield "palette, nearest of 24", launch, 2
    launch = caught(
        accumulate.launch_accumulate, points, labels, empty(24, 3), empty(24, kind=np.int32)
    )
    yield "palette, sums of 24", launch, 2
    words = empty(5 << 17, kind=np.uint32)
    yield "pack cells of 5 bits", caught(cells.launch_pack_cells, drawn(1 << 22), 5, words), 2
    yield "quantise to 3 bits", caught(quantise.launch_quantise, flat, 3, empty(3 << 20)), 2


def training():
    config = Config()
    state, batch = initial_state(config), 1 << 15
    uv, target, features = drawn(batch, 2), drawn(batch, 3), drawn(batch, 16)
    hidden, outputs = drawn(2, batch, 32), drawn(batch, 16)
    gradient, table = np.ones_like(state.feature_grid), adam.bias_corrections(0.9, 0.99)
    rates, photo = config.adam_rates, drawn(1096, 1600, 3)
    yield (
        "sample a batch",
        caught(sampler.launch_sample_batch, photo, 1, 1, uv, target),
        2,
    )
    yield "encode", caught(encode.launch_encode, uv, state.feature_grid, features), 2
    launch = caught(mlp_forward.launch_mlp_forward, features, state.weights, hidden, outputs)
    yield "MLP forward", launch, 1
    launch = caught(learn_back.launch_backward, uv, features, hidden, outputs, target, state.weights,
                    empty(len(state.weights)), gradient, empty(1))  # fmt: skip
    yield "MLP backward", launch, 1
    given = state.weights, state.weights, state.weights_m, state.weights_v, 1, table, 0.01
    yield (
        "Adam, weights",
        caught(adam.launch_adam_weights, *given, rates),
        2,
    )
    given = state.feature_grid, gradient, state.grid_m, state.grid_v, state.grid_steps, table, 0.01
    yield "Adam, grid", caught(adam.launch_adam_grid, *given, rates), 2
    for width in (64, 128):
        x, weights, bias = drawn(1 << 13, width), drawn(width, width), drawn(width)
        launch = caught(
            layers.launch_sine_layer, x, weights, bias, 30, empty(*x.shape), empty(*x.shape)
        )
        yield f"sine layer, {width} units", launch, 1
        launch = caught(layers.launch_sine_backward, x, weights, x, empty(*x.shape))
        yield f"sine layer backward, {width} units", launch, 1
    picture, slopes = drawn(512, 768, 3), drawn(512, 768, 14)
    grid, grad = (drawn(*sizes.grid_shape(512, 768)) for _ in range(2))
    weights, total = drawn(*sizes.WEIGHTS_SHAPE), empty(1)
    yield "paint by cells", caught(paint.launch_paint, grid, weights, picture), 1
    yield "scatter, each pixel", caught(scatter.launch_scatter_direct, slopes, grad), 2
    yield "scatter, each block", caught(scatter.launch_scatter_block, slopes, grad), 1
    given = picture, grid, weights, grad, weights.copy(), total
    yield "learn by cells, fused", caught(learn.launch_learn, *given), 1
    yield "learn by warps, fused", caught(inline_fused.launch_learn_by_warps, *given), 1


FIRST = {
    "shapes": shapes, "products": products, "histograms": histograms, "reductions": reductions,
    "convolutions": convolutions, "attention": attentions, "pixels": pixels,
}  # fmt: skip
BLIND = {
    "shapes": other_shapes, "products": other_products, "histograms": other_histograms,
    "reductions": other_reductions, "convolutions": other_convolutions,
    "attention": other_attentions, "pixels": other_pixels, "training": training,
}  # fmt: skip


def cases(families, wanted=""):
    """Yields (family, name, kernel, grid, block, arguments, blocks to run)."""
    for family, made in families.items():
        for name, (kernel, grid, block, arguments), blocks in made():
            if wanted in f"{family}: {name}":
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
            "family": family, "name": name, "foretold_us": found.us, "bound": found.sentence,
            "parts": {part: float(f"{us:.4g}") for part, us in found.parts.items() if us},
            "registers": found.registers, "warps": found.warps,
        }  # fmt: skip
        rows.append(row)
        seconds = time.perf_counter() - begin
        print(f"{name:48} {found.us:10.2f} us {found.sentence} ({seconds:.1f} s)", flush=True)
    return rows


def measure(families, rows):
    from numba import cuda

    from benchmarks.graph_time import microseconds

    by_name = {row["name"]: row for row in rows}
    for _, name, kernel, grid, block, arguments, _ in cases(families):
        given = [cuda.to_device(one) if isinstance(one, np.ndarray) else one for one in arguments]
        us, *spread = microseconds(partial(start, kernel, grid, block, given))
        by_name[name] |= {"us": us, "spread": spread}
        row = by_name[name]
        print(f"{name:48} {us:10.2f} us, foretold {row['foretold_us']:10.2f}", flush=True)


def start(kernel, grid, block, arguments, stream):
    kernel[grid, block, stream](*arguments)


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
        path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
