"""A picture of which any texel can be read, in few bits: `python -m lessons.20_few_bits`."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import grid_size, prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

from argparse import ArgumentParser
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.bits.lake_file import FILE, Lake, from_bytes, to_bytes, weights_to_store, word_count
from kernels.config import MAX_BITS, Config, fitting_grid
from kernels.files import plot
from kernels.files.pictures import panels
from kernels.files.psnr import psnr, psnr_label
from kernels.files.style import INK
from kernels.state import initial_state
from kernels.training.few_bits import FewBits, Rounding
from kernels.training.staged_backends import StagedBackend
from kernels.training_step import Order, evaluate, training_steps
from lessons.capstones.command import Command, add_image_and_limit, picture_to_learn, whole_number
from lessons.capstones.device import Device
from lessons.capstones.run import Run

from . import others

STEPS = 3000
BATCH_IN_HANDOUT = 4096
LOG_EVERY, SHOW_EVERY = 50, 500
FILES = FILE, "decoded.png", "some_texels.png", "bits.png", "panels.png"
LAUNCHES = "launch_quantise", "launch_follow", "launch_pack_cells", "launch_decode_texels"
COLOURS = {
    "JPEG": (118, 124, 132), "WebP": (88, 140, 190), "BC1": (190, 120, 60), "BC7": (190, 120, 60)
}  # fmt: skip
OURS = (200, 40, 70)


def add_options(parser: ArgumentParser) -> None:
    add_image_and_limit(parser)
    parser.add_argument(
        "--bits", type=whole_number(1, MAX_BITS), default=4, metavar="N",
        help=f"bits of each number of the grid, 1 to {MAX_BITS} (default: 4)",
    )  # fmt: skip
    parser.add_argument(
        "--grid", type=grid_size, default="auto", metavar="WxH",
        help="cells of the grid, such as 200x137 (default: auto, about 27,400 in the shape of the "
        "picture)",
    )  # fmt: skip


def work(run: Run) -> str:
    image = picture_to_learn(run.options.image, run.options.limit)
    height, width, _ = image.shape
    columns, rows = run.options.grid or fitting_grid(width, height)
    config = Config(
        steps=run.options.steps,
        batch=BATCH_IN_HANDOUT if run.author == "your files" else Config.batch,
        seed=run.options.seed,
        grid_width=columns,
        grid_height=rows,
        bits=run.options.bits,
    )
    stages = run.stages("20", list(LAUNCHES))
    run.say(
        f"{width} x {height} pixels, a grid of {columns} x {rows} cells of three numbers, "
        f"{run.options.bits} bits each, with the kernels of {run.author}, on "
        f"{run.device.description}"
    )
    with run.writing(*FILES, inputs=[run.options.image]):
        backend = run.patiently("compiling", lambda: compiled(run, stages, image, config))
        learn(run, backend)
        content = to_bytes(packed(run, stages, backend))
        run.save(FILE, lambda file: file.write(content))
        lake = from_bytes((run.folder.path / FILE).read_bytes(), FILE)
        decoded = decode(run, stages, lake, np.arange(width * height)).reshape(image.shape)
        reached, bits = psnr(decoded, image), len(content) * 8 / (width * height)
        run.show(run.step, decoded, reached)
        run.save_picture("decoded.png", np.clip(decoded, 0, 1))
        run.save_picture("some_texels.png", some_texels(run, stages, lake))
        curves = run.patiently("comparing", lambda: others.curves(image))
        jpeg = float(np.interp(bits, *curves["JPEG"], left=np.nan, right=np.nan))
        run.save_picture("bits.png", curve_plot(curves, bits, reached))
        run.save_picture("panels.png", panels([image, decoded], ["original", f"{bits:.3f} bits"]))
        run.finish(
            {
                "image": run.options.image.name,
                "width": width,
                "height": height,
                "grid": f"{columns}x{rows}",
                "bits": run.options.bits,
                "file_bytes": len(content),
                "bits_per_pixel": bits,
                "psnr_db": reached,
                "jpeg_psnr_db": jpeg if np.isfinite(jpeg) else "not so small",
                "bc1_psnr_db": float(curves["BC1"][1, 0]),
            },
            plot.PSNR._replace(baseline="JPEG of as many bits"),
            jpeg,
            {"original": image},
            {"Bits per pixel and dB": curve_plot(curves, bits, reached)},
        )
    return (
        f"PSNR {psnr_label(reached)} with {bits:.3f} bits per pixel ({len(content):,} bytes) after "
        f"{run.step:,} steps, {run.seconds:.1f} s"
    )


def compiled(run: Run, stages: SimpleNamespace, image: np.ndarray, config: Config) -> Any:
    """A backend that trains with `config.bits`, whose grid is rounded, and followed, by `stages`.

    In a handout it is made of the staged kernels, which the student has written: the faster ones
    hold much of what lessons 2 to 9 ask for.
    """
    device, state = run.device, initial_state(config)
    rounding = Rounding(stages.launch_quantise, stages.launch_follow)
    backend: Any
    try:
        if device.name == "cuda":
            from kernels.training.graph_backend import GraphFewBits

            backend = GraphFewBits(image, config, state, rounding=rounding)
        else:
            from kernels.training.cpu_backend import CpuFewBits

            backend = CpuFewBits(image, config, state, rounding=rounding, launch=device.launch)
    except ModuleNotFoundError:
        # Named here: the defaults of `Order` were there before a student's functions.
        order = Order(evaluate, training_steps)
        backend = staged_on(device, rounding)(image, config, state, order=order)
    backend.run(1, np.zeros((0, 2), np.float32))
    return backend


def staged_on(where: Device, given: Rounding) -> Any:
    """A class: the staged kernels on a device, with a rounded grid."""

    class StagedFewBits(FewBits, StagedBackend):
        name, device, rounding = where.name, where.description, given
        launch, empty = staticmethod(where.launch), staticmethod(where.empty)
        to_device, to_host = staticmethod(where.to_device), staticmethod(where.to_host)

    return StagedFewBits


def packed(run: Run, stages: SimpleNamespace, backend: Any) -> Lake:
    device, config = run.device, backend.config
    columns, rows, bits = config.grid_width, config.grid_height, config.bits
    words = device.to_device(np.zeros(word_count(columns, rows, bits), np.uint32))
    stages.launch_pack_cells(backend.values, bits, words, launch=device.launch)
    weights = weights_to_store(backend.state().weights)
    height, width, _ = backend.image.shape
    return Lake(columns, rows, width, height, bits, device.to_host(words), weights)


def learn(run: Run, backend: Any) -> None:
    """Step after step, until the last one or an interruption."""
    height, width, _ = backend.image.shape
    config, logged = backend.config, 0
    for step in run.steps():
        factor = config.learning_rate_factor(step)
        rates = config.learning_rate_mlp * factor, config.learning_rate_grid * factor
        backend.run(step, np.array([rates], np.float32))
        if step % LOG_EVERY == 0 or step == run.options.steps:
            with run.aside():
                run.log(step, loss=sum(backend.take_losses()) / (step - logged))
                logged = step
        if step % SHOW_EVERY == 0 or step == run.options.steps:
            with run.aside():
                painted = backend.render(width, height)
                reached = psnr(painted, backend.image)
                run.log(step, psnr_db=reached)
                run.show(step, painted, reached)


def decode(run: Run, stages: SimpleNamespace, lake: Lake, texels: np.ndarray) -> np.ndarray:
    """(n, 3): the colours of texels, whose numbers may come in any order."""
    device = run.device
    colours = device.empty((len(texels), 3))
    stages.launch_decode_texels(
        device.to_device(lake.words), lake.bits, lake.columns, lake.rows,
        device.to_device(lake.weights), lake.width, lake.height,
        device.to_device(np.asarray(texels, np.int32)), colours, launch=device.launch,
    )  # fmt: skip
    return device.to_host(colours)


def some_texels(run: Run, stages: SimpleNamespace, lake: Lake) -> np.ndarray:
    """The texels of every other square, read alone; the others are white."""
    row, column = np.indices((lake.height, lake.width))
    texels = np.flatnonzero((row // 25 + column // 25) % 2 == 0)
    picture = np.ones((lake.height * lake.width, 3), np.float32)
    picture[texels] = decode(run, stages, lake, texels)
    return np.clip(picture.reshape(lake.height, lake.width, 3), 0, 1)


def curve_plot(curves: Mapping[str, np.ndarray], bits: float, reached: float) -> np.ndarray:
    """dB over bits per pixel: other ways, and ours as a dot."""
    width = plot.LEFT + plot.PANEL_WIDTH + plot.RIGHT
    sheet = plot.Sheet(width, plot.TOP + plot.PANEL_HEIGHT + plot.BOTTOM)
    together = np.concatenate(list(curves.values()), axis=1)
    xs, ys = np.append(together[0], bits), np.append(together[1], reached)
    panel = plot.Panel(sheet, plot.LEFT, plot.LogAxis(xs), plot.LinearAxis(ys))
    panel.frame("PSNR", "in dB", "bits per pixel")
    for name, (x, y) in curves.items():
        panel.curve(x, y, COLOURS[name], name)
    x, y = panel.x(bits), panel.y(reached)
    sheet.dot(x, y, OURS, 5)
    sheet.text(x + 8, y + 6, f"any texel: {reached:.2f} dB at {bits:.2f}", INK, 14, "la")
    return sheet.finished()


COMMAND = Command(
    "20_few_bits",
    "Learn a picture in few bits, of which any texel can be read alone.",
    work,
    STEPS,
    add_options,
)

if __name__ == "__main__":
    COMMAND.start()
