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
from kernels import histogram, image_ops, matmul
from kernels.attention import forward as attention
from kernels.attention import layer_norm
from kernels.classifier import gelu
from kernels.neighbours import convolve, pool, product
from kernels.products import double_buffered, large_tiles, tensor_cores, tiles, transposed
from kernels.reductions import columns, maximum, sums
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


FAMILIES = {
    "shapes": shapes, "products": products, "histograms": histograms, "reductions": reductions,
    "convolutions": convolutions, "attention": attentions, "pixels": pixels,
}  # fmt: skip


def cases(wanted=""):
    """Yields (family, name, kernel, grid, block, arguments, blocks to run)."""
    for family, made in FAMILIES.items():
        for name, (kernel, grid, block, arguments), blocks in made():
            if wanted in f"{family}: {name}":
                yield family, name, kernel, grid, block, arguments, blocks


def foretell(wanted):
    rows = []
    for family, name, kernel, grid, block, arguments, few in cases(wanted):
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


def measure(rows):
    from numba import cuda

    from benchmarks.graph_time import microseconds

    by_name = {row["name"]: row for row in rows}
    for _, name, kernel, grid, block, arguments, _ in cases():
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
    if options.predict and not path.exists():
        result = {"foretold": description(), "rows": foretell(options.only)}
    else:
        result = json.loads(path.read_text())
    if options.predict and "measured" in result:  # the blind figures stay, and what it says now
        now = {row["name"]: row["foretold_us"] for row in foretell(options.only)}
        for row in result["rows"]:
            row["now_us"] = now[row["name"]]
        result["summary_now"] = summary(result["rows"], "now_us")
    if options.measure:
        measure(result["rows"])
        result |= {"measured": description(), "summary": summary(result["rows"])}
    if options.measure or options.show:
        show(result["rows"])
    if not options.show:
        path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
