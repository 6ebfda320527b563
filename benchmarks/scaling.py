"""How the persistent backend scales with batch and width, and how fast it paints.

    python -m benchmarks.scaling --save h200-scaling
    python -m benchmarks.scaling --channels 4 --tiny-cuda-nn \
        "../tiny-cuda-nn/build/mlp_learning_an_image {image} {hidden}.json {steps} x {batch}"

Writes the rows and results/NAME.png: microseconds per step against the batch, with two limits
drawn in. The *barrier floor* is what two barriers of the whole GPU cost, measured with the same
kernel and nothing to do. The *tensor-core limit* is the useful arithmetic of a step (no padding
counted) over the rate of the tensor cores. With `--tiny-cuda-nn` each point is measured beside a
program of it, which `benchmarks/README.md` says how to build.
"""

from functools import partial

import numpy as np
from numba import cuda
from PIL import Image

from benchmarks.compare import figures_of
from benchmarks.cpu_step import multiply_adds_per_sample
from benchmarks.graph_time import best_of
from benchmarks.machine import RESULTS, parser_of, save
from kernels.config import COLOURS, Config
from kernels.fast.persistent_two_barriers import arrive_at_barrier, wait_at_barrier
from kernels.files.images import load_image
from kernels.files.plot import Sheet
from kernels.files.style import GRID, INK, MUTED
from kernels.state import initial_state
from kernels.training.gpu_backends import PersistentBackend
from kernels.training.persistent_backends import persistent_backend

LAKE = "images/lake.png"
WIDTHS = (16, 32, 64, 128)
BATCHES = [1 << power for power in range(10, 21)]
TENSOR_FLOPS = 990e12  # dense, 16-bit operands, H200 datasheet
COLOUR_OF = {16: (0, 140, 100), 32: (0, 114, 178), 64: (196, 88, 28), 128: (150, 60, 140)}
PAINTED = ((800, 550), (7680, 4320))


def useful_flops(hidden):
    """Operations of one sample: forward, and of the way back what is used."""
    return 2 * multiply_adds_per_sample(Config(hidden=hidden))


@cuda.jit
def only_barriers(counter, steps):
    for i in range(steps):
        arrive_at_barrier(counter)
        wait_at_barrier(counter, 2 * i + 1)
        arrive_at_barrier(counter)
        wait_at_barrier(counter, 2 * i + 2)


def barrier_floor(blocks, threads, steps=20_000):
    counter = cuda.to_device(np.zeros(1, np.uint32))

    def run():
        counter.copy_to_device(np.zeros(1, np.uint32))
        only_barriers[blocks, threads](counter, steps)

    return best_of(run) / steps * 1e6


def steps_for(batch):
    return int(min(20_000, max(200, (1 << 29) // batch)))


def step_time(image, hidden, batch, channels=Config.channels):
    config = Config(hidden=hidden, batch=batch, channels=channels)
    backend = persistent_backend(image, config, initial_state(config))
    steps = steps_for(batch)
    rates = np.full((steps, 2), 0.001, np.float32)
    seconds = best_of(lambda: backend.run(1, rates))
    compiled = next(iter(backend.train.overloads.values()))
    us = seconds / steps * 1e6
    return {
        "backend": "persistent", "kernel": type(backend).__name__.removesuffix("Backend"),
        "hidden": hidden, "channels": channels, "batch": batch, "us_per_step": us,
        "blocks": backend.blocks, "registers": compiled.regs_per_thread,
        "local_bytes": compiled.local_mem_per_thread,
        "tflops": useful_flops(hidden) * batch / us * 1e-6,
        "share_of_tensor_peak": useful_flops(hidden) * batch / us * 1e6 / TENSOR_FLOPS,
    }  # fmt: skip


def time_of_peer(command, hidden, batch):
    """Microseconds per step of a program of tiny-cuda-nn. command: with names in braces."""
    steps = min(3000, steps_for(batch))
    filled = command.format(image=LAKE, hidden=hidden, steps=steps, batch=batch)
    return figures_of(filled.split())["us_per_step"]


def painting(image):
    """Pixels per second into the GPU's memory, beside what copying that memory takes."""
    config = Config()
    backend = PersistentBackend(image, config, initial_state(config))
    source = cuda.device_array(1 << 28, np.float32)
    target = cuda.device_array(1 << 28, np.float32)
    seconds = best_of(lambda: target.copy_to_device(source), 10)
    copied = 2 * source.nbytes / seconds
    rows = []
    for width, height in PAINTED:
        colours = cuda.device_array(width * height * COLOURS, np.float32)
        seconds = best_of(partial(backend.paint_into, colours, width, height), 20)
        pixels = width * height / seconds
        rows.append({
            "width": width, "height": height, "us": seconds * 1e6, "pixels_per_second": pixels,
            "share_of_copy_bandwidth": pixels * COLOURS * 4 / copied,
        })  # fmt: skip
    return {"copy_bytes_per_second": copied, "rows": rows}


# ---------------------------------------------------------------- the plot


def plot(rows, floor, path):
    sheet = Sheet(860, 580)
    left, right, top, bottom = 90, 640, 70, 480
    lowest, highest = 1.0, 3000.0

    def position(batch, us):
        x = left + (np.log2(batch) - 10) / 10 * (right - left)
        fraction = np.log(us / lowest) / np.log(highest / lowest)
        return x, bottom - fraction * (bottom - top)

    sheet.text(left, 24, "persistent: time of a step against the batch", INK, 18, "la")
    for us in (1, 10, 100, 1000):
        y = position(1024, us)[1]
        sheet.line([(left, y), (right, y)], GRID, 1)
        sheet.text(left - 10, y, f"{us:,}", MUTED, 14, "rm")
    for batch in BATCHES[::2]:
        x = position(batch, 1)[0]
        sheet.line([(x, top), (x, bottom)], GRID, 1)
        sheet.text(x, bottom + 10, f"{batch:,}", MUTED, 13, "ma")
    sheet.text(left, top - 12, "microseconds", MUTED, 14, "ls")
    sheet.text((left + right) / 2, bottom + 40, "samples per step", MUTED, 14, "ma")
    if any("tiny_cuda_nn_us" in row for row in rows):
        sheet.text(left, bottom + 62, "dots without a line: tiny-cuda-nn", MUTED, 14, "la")
    y = position(1024, floor)[1]
    sheet.dashed(left, right, y, MUTED, 1.5)
    sheet.text(right + 10, y, "two barriers", MUTED, 14, "lm")
    for hidden, colour in COLOUR_OF.items():
        points = [position(r["batch"], r["us_per_step"]) for r in rows if r["hidden"] == hidden]
        sheet.line(points, colour, 2)
        for x, y in points:
            sheet.dot(x, y, colour, 3)
        sheet.text(right + 10, points[-1][1], f"width {hidden}", colour, 15, "lm")
        for row in rows:
            if row["hidden"] == hidden and "tiny_cuda_nn_us" in row:
                sheet.dot(*position(row["batch"], row["tiny_cuda_nn_us"]), colour, 2)
        # Dashes at equal distances; below the plot there is nothing to see.
        batches = np.logspace(10, 20, 81, base=2)
        limit = useful_flops(hidden) * batches / TENSOR_FLOPS * 1e6
        seen = [
            position(batch, us) for batch, us in zip(batches, limit, strict=True) if us >= lowest
        ]
        for begin, end in zip(seen[::2], seen[1::2], strict=False):
            sheet.line([begin, end], colour, 1)
        if seen:
            sheet.text(right + 10, seen[-1][1], f"tensor cores, {hidden}", colour, 13, "lm")
    Image.fromarray(sheet.finished()).save(path)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--channels", type=int, default=Config.channels, help="of the grid")
    parser.add_argument("--tiny-cuda-nn", metavar="COMMAND", help="a program of it (default: none)")
    options = parser.parse_args()
    image = load_image(LAKE)
    rows = []
    for hidden in WIDTHS:
        for batch in BATCHES:
            row = step_time(image, hidden, batch, options.channels)
            print("width {hidden:2} batch {batch:9,} {us_per_step:8.2f} us, {tflops:6.1f} TFLOP/s, "
                  "{registers} registers, {local_bytes} bytes local, {kernel}".format(**row),
                  end="", flush=True)  # fmt: skip
            if options.tiny_cuda_nn and batch in BATCHES[::2]:
                row["tiny_cuda_nn_us"] = time_of_peer(options.tiny_cuda_nn, hidden, batch)
                print("; tiny-cuda-nn {:.2f} us".format(row["tiny_cuda_nn_us"]), end="")
            print(flush=True)
            rows.append(row)
    floor = barrier_floor(128, 128)
    print(f"two barriers of 128 blocks: {floor:.2f} us")
    painted = painting(image)
    for row in painted["rows"]:
        print("painting {width} x {height}: {us:.1f} us, {pixels_per_second:.3g} pixels/s, "
              "{share_of_copy_bandwidth:.1%} of the copy bandwidth".format(**row))  # fmt: skip
    save(options.save, rows=rows, barriers_us=floor, painting=painted)
    if options.save:
        plot(rows, floor, RESULTS / f"{options.save}.png")


if __name__ == "__main__":
    main()
