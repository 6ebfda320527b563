"""A picture of which any texel can be read, in few bits: `python -m lessons.20_few_bits`."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import grid_size, prepare
from kernels.plumbing.program import run as run_program

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

from argparse import ArgumentParser
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.bits.lake_file import Lake, from_bytes, to_bytes, weights_to_store, word_count
from kernels.bits.quantise import MAX_BITS
from kernels.config import Config, fitting_grid
from kernels.files.pictures import panels
from kernels.files.plot import (
    BOTTOM,
    LEFT,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    PSNR,
    RIGHT,
    TOP,
    LinearAxis,
    LogAxis,
    Panel,
    Sheet,
)
from kernels.files.psnr import psnr, psnr_label
from kernels.files.style import INK
from kernels.plumbing.errors import InputError
from kernels.state import State, initial_state
from kernels.training.waiting import leave
from lessons.capstones.command import Command, whole_number
from lessons.capstones.run import Run
from lessons.capstones.small_picture import add_image_and_limit, picture_to_learn

from . import others

STEPS = 3000
LOG_EVERY, SHOW_EVERY = 50, 500
FILE = "picture.lake"
FILES = FILE, "decoded.png", "some_texels.png", "bits.png", "panels.png"
LAUNCHES = "launch_quantise", "launch_follow", "launch_pack_cells", "launch_decode_texels"
COLOURS = {"JPEG": (118, 124, 132), "WebP": (88, 140, 190), "BC1": (190, 120, 60)}
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
        steps=run.options.steps, seed=run.options.seed, grid_width=columns, grid_height=rows
    )
    stages = run.stages("20", list(LAUNCHES))
    run.say(
        f"{width} x {height} pixels, a grid of {columns} x {rows} cells of three numbers, "
        f"{run.options.bits} bits each, with the kernels of {run.author}, on "
        f"{run.device.description}"
    )
    with run.writing(*FILES, inputs=[run.options.image]):
        learner = run.patiently("compiling", lambda: Learner(run, stages, image, config))
        learn(run, learner)
        content = to_bytes(learner.packed())
        run.save(FILE, lambda file: file.write(content))
        lake = from_bytes((run.folder.path / FILE).read_bytes(), FILE)
        decoded = decode(run, stages, lake, np.arange(width * height))
        decoded = decoded.reshape(image.shape)
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
            PSNR._replace(baseline="JPEG of as many bits"),
            jpeg,
            {"original": image},
            {"Bits per pixel and dB": curve_plot(curves, bits, reached)},
        )
    return (
        f"PSNR {psnr_label(reached)} with {bits:.3f} bits per pixel ({len(content):,} bytes) after "
        f"{run.step:,} steps, {run.seconds:.1f} s"
    )


def backend_on(device: str) -> Any:
    """Raises `InputError` in a handout, which lacks both: they hold what students write."""
    try:
        from kernels.training.cpu_backend import CpuBackend
        from kernels.training.staged_backends import CudaBackend
    except ModuleNotFoundError:
        raise InputError("a handout cannot train with bits: this needs the whole course") from None
    return CudaBackend if device == "cuda" else CpuBackend


class Learner:
    """A training run whose network sees a rounded grid; an exact one follows.

    On the CPU the step is that of `kernels/cpu`, on a GPU the staged kernels; the grid is rounded,
    and followed, by this lesson's.
    """

    def __init__(
        self, run: Run, stages: SimpleNamespace, image: np.ndarray, config: Config
    ) -> None:
        self.device, self.stages, self.config = run.device, stages, config
        self.bits, self.size = run.options.bits, (image.shape[1], image.shape[0])
        state = initial_state(config)
        kind = backend_on(self.device.name)
        self.backend: Any = kind(image, config, state)
        self.seen = self.parameters.feature_grid.reshape(-1)
        self.values = self.device.to_device(state.feature_grid.reshape(-1))
        self.quantised = self.device.empty(self.values.shape)
        self.round()
        self.backend.run(1, np.zeros((0, 2), np.float32))
        stages.launch_follow(self.values, self.quantised, self.seen, launch=self.device.launch)

    @property
    def parameters(self) -> State:
        held = self.backend if self.device.name != "cuda" else self.backend.arrays
        return held.parameters

    def round(self) -> None:
        """Round the exact grid: once to be seen, and moved; once to tell later how far."""
        for rounded in (self.seen, self.quantised):
            self.stages.launch_quantise(self.values, self.bits, rounded, launch=self.device.launch)

    def step(self, number: int) -> None:
        self.round()
        factor = self.config.learning_rate_factor(number)
        rates = self.config.learning_rate_mlp * factor, self.config.learning_rate_grid * factor
        self.backend.run(number, np.array([rates], np.float32))
        self.stages.launch_follow(self.values, self.quantised, self.seen, launch=self.device.launch)

    def packed(self) -> Lake:
        columns, rows = self.config.grid_width, self.config.grid_height
        words = self.device.to_device(np.zeros(word_count(columns, rows, self.bits), np.uint32))
        self.stages.launch_pack_cells(self.values, self.bits, words, launch=self.device.launch)
        weights = weights_to_store(self.device.to_host(self.parameters.weights))
        return Lake(columns, rows, *self.size, self.bits, self.device.to_host(words), weights)


def learn(run: Run, learner: Learner) -> None:
    """Step after step, until the last one or an interruption."""
    width, height = learner.size
    for step in run.steps():
        learner.step(step)
        if step % LOG_EVERY == 0 or step == run.options.steps:
            with run.aside():
                run.log(step, loss=float(np.mean(learner.backend.take_losses())))
        if step % SHOW_EVERY == 0 or step == run.options.steps:
            with run.aside():
                learner.round()
                painted = learner.backend.render(width, height)
                reached = psnr(painted, learner.backend.image)
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
    sheet = Sheet(LEFT + PANEL_WIDTH + RIGHT, TOP + PANEL_HEIGHT + BOTTOM)
    together = np.concatenate(list(curves.values()), axis=1)
    xs, ys = np.append(together[0], bits), np.append(together[1], reached)
    panel = Panel(sheet, LEFT, LogAxis(xs), LinearAxis(ys))
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
    leave(run_program(COMMAND.main))
