"""The command line of `train.py`: its options, their defaults, and the `Config` they stand for."""

import argparse
import math
import re
import shlex
import sys
from collections.abc import Sequence

from kernels.bits.lake_file import FILE as LAKE
from kernels.config import (
    ACTIVATIONS,
    HIDDEN_WIDTHS,
    MAX_BITS,
    MAX_CHANNELS,
    MAX_LAYERS,
    MAX_OCTAVES,
    OUTPUT_ACTIVATIONS,
    Config,
)
from kernels.files.images import MAX_MEGAPIXELS
from kernels.plumbing.errors import InputError, OneLineParser, not_empty
from kernels.plumbing.program import grid_size
from kernels.training.choose_backend import BACKENDS

MAX_RENDER_PIXELS = 1 << 28
BACKEND_CHOICES = ("auto", *BACKENDS, "native")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = OneLineParser(
        prog="python train.py", description="Train a small neural network to paint a picture."
    )
    usual = Config()
    add_run(parser, usual)
    add_network(parser, usual)
    add_outcome(parser)
    add_rendering(parser)
    options = parse_and_check(parser, arguments)
    given = sys.argv[1:] if arguments is None else arguments
    options.command = shlex.join(["python", "train.py", *given])
    return options


def add_run(parser: argparse.ArgumentParser, usual: Config) -> None:
    """What is learnt, how long, where and by whose kernels."""
    add = parser.add_argument
    # fmt: off
    add("image", nargs="?", metavar="IMAGE", type=not_empty,
        help="picture to learn (default: the lake)")
    add("--shrink", action="store_true",
        help=f"make a picture of more than {MAX_MEGAPIXELS} megapixels smaller first, by averaging "
        "(default: refuse it)")
    add("--steps", type=int, default=argparse.SUPPRESS, metavar="N",
        help=f"training steps, 1 or more (default: {usual.steps:,}; with --use on native: 1,000)")
    add("--batch", type=int, default=argparse.SUPPRESS, metavar="N",
        help="random samples per step, 1 or more "
        f"(default: {usual.batch:,}; with --use on native: 4,096)")
    add("--backend", choices=BACKEND_CHOICES, default="auto", metavar="NAME",
        help="where to train (default: auto, the fastest that works): cpu; cuda, graph, tensor or "
        "persistent, which need a GPU; native, the CUDA kernels on the CPU")
    add("--deterministic", action="store_true",
        help="the same bits in every run, also on a GPU, and also on a CPU with another number of "
        "threads; slower (default: the same bits on a CPU with the same number of threads)")
    add("--use", metavar="LESSONS", type=not_empty,
        help="train with your own kernels: lessons (all that are written), or lessons:3,4,7 "
        "(default: with ours)")
    add("--force", action="store_true",
        help="with --use: take failing kernels, too (default: refuse named ones, else take ours)")
    add("--seed", type=int, default=usual.seed, metavar="N",
        help=f"what all random numbers follow from, 0 or more (default: {usual.seed})")
    add("--out", metavar="FOLDER", type=not_empty,
        help="folder for everything the run writes (default: runs/NAME, where NAME is the "
        "picture's; with --use runs/NAME-lessons)")
    # fmt: on


def add_network(parser: argparse.ArgumentParser, usual: Config) -> None:
    """Sizes of the network, and how fast it learns."""
    add = parser.add_argument
    # fmt: off
    add("--grid", type=grid_size, default="auto", metavar="WxH",
        help="cells of the feature grid, such as 200x137 (default: auto, about 27,400 cells in the "
        "shape of the picture; fewer for a small one, and for a large one a cell per 17 pixels)")
    add("--hidden", type=int, default=usual.hidden, metavar="N",
        help=f"width of the hidden layers: {either(HIDDEN_WIDTHS)} (default: {usual.hidden})")
    add("--layers", type=int, default=usual.layers, metavar="N",
        help=f"number of hidden layers, 1 to {MAX_LAYERS} (default: {usual.layers})")
    add("--channels", type=int, default=usual.channels, metavar="N",
        help=f"numbers that a grid cell stores, 1 to {MAX_CHANNELS} (default: {usual.channels}); "
        "other than 3 or 4, and the next four, are for the backends cpu, cuda and native")
    add("--octaves", type=int, default=usual.octaves, metavar="N",
        help="waves across the picture that describe a point: 1, 2, 4, ..., so many of them, "
        f"0 to {MAX_OCTAVES} (default: {usual.octaves})")
    add("--activation", choices=ACTIVATIONS, default=usual.activation, metavar="NAME",
        help=f"of the hidden layers: {either(ACTIVATIONS)} (default: {usual.activation})")
    add("--output", choices=OUTPUT_ACTIVATIONS, default=usual.output_activation, metavar="NAME",
        help=f"activation of the colours, {either(OUTPUT_ACTIVATIONS)} "
        f"(default: {usual.output_activation})")
    add("--biases", action="store_true",
        help="give each unit a bias (default: only the first layer has something like it)")
    add("--bits", type=bits, default=usual.bits, metavar="N",
        help=f"train with N bits per number of the grid, 1 to {MAX_BITS}, on cpu or graph, and "
        "write a .lake file, of which any texel can be read alone (default: train with 32, and "
        "write none)")
    add("--lr-mlp", type=float, default=usual.learning_rate_mlp, metavar="RATE",
        help="learning rate of the network, above 0 and at most 10 "
        f"(default: {usual.learning_rate_mlp})")
    add("--lr-grid", type=float, default=usual.learning_rate_grid, metavar="RATE",
        help="learning rate of the feature grid, above 0 and at most 10 "
        f"(default: {usual.learning_rate_grid})")
    # fmt: on


def add_outcome(parser: argparse.ArgumentParser) -> None:
    """What a run leaves and prints."""
    add = parser.add_argument
    # fmt: off
    add("--snapshots", type=step_list, default="log", metavar="STEPS",
        help="when to save pictures: a list such as 1,50,500, or none "
        "(default: log, which is at 1, 10, 100, ... and at the end)")
    add("--checkpoint-every", type=int, default=5000, metavar="N",
        help="steps from one checkpoint to the next (default: 5,000); 0: only at the end")
    add("--resume", action="store_true",
        help="go on with the run that lies in the folder, if there is one; with --steps N, to step "
        "N (default: leave it alone)")
    add("--overwrite", action="store_true",
        help="begin anew in the place of the run that lies in the folder; with --render: replace "
        "the file (default: leave either alone)")
    add("--format", choices=("png", "ppm"), default="png", metavar="NAME",
        help="file format of still pictures, png or ppm (default: png)")
    add("--live", action="store_true",
        help="open a page in the browser that shows how the run learns (default: write the page, "
        "index.html, at the end)")
    add("--timings", action="store_true",
        help="print how many seconds each part of the run took (default: no)")
    add("--quiet", action="store_true",
        help="print nothing but the last line (default: say what happens, and how far it is)")
    # fmt: on


def add_rendering(parser: argparse.ArgumentParser) -> None:
    """Painting with the model of a run, or with a `.lake` file, instead of training."""
    add = parser.add_argument
    # fmt: off
    add("--render", metavar="MODEL", type=not_empty,
        help="paint with the model.npz of a run, or with a .lake file, instead of training "
        "(default: train)")
    add("--to", metavar="FILE", type=not_empty,
        help="with --render: the picture to write, which has to be named; with --bits: the .lake "
        f"file to write (default: {LAKE} in the run's folder)")
    add("--scale", type=float, default=1.0, metavar="FACTOR",
        help="with --render: size relative to the original, such as 4 or 0.5 (default: 1)")
    add("--texel", metavar="COLUMN,ROW", type=texel,
        help="with --render and a .lake file: print one texel, such as 0,0 for the upper left one, "
        "and how little of the file was read for it (default: paint all)")
    # fmt: on


def either(values: Sequence[object]) -> str:
    """ "16, 32 or 64"."""
    *most, last = map(str, values)
    return f"{', '.join(most)} or {last}"


def bits(text: str) -> int:
    if text not in map(str, range(1, MAX_BITS + 1)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MAX_BITS}")
    return int(text)


def texel(text: str) -> tuple[int, int]:
    found = re.fullmatch("([0-9]{1,9}),([0-9]{1,9})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no column and row, such as 120,80")
    return int(found[1]), int(found[2])


def step_list(text: str) -> str | list[int]:
    if text in ("log", "none"):
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,18}", part) and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not log, none or a list such as 1,50,500")
    return sorted(set(map(int, parts)))


def scaled_size(scale: float, width: int, height: int) -> tuple[int, int]:
    """(width, height) of a picture that --scale makes larger. Raises `InputError`: it cannot be."""
    if not 0 < scale < math.inf:
        raise InputError(f"--scale must be a number above 0, not {scale}; try 4")
    if width * scale * height * scale > MAX_RENDER_PIXELS:
        raise InputError(
            f"--scale {scale:g} means {width * scale:.6g} x {height * scale:.6g} pixels; "
            f"at most {MAX_RENDER_PIXELS:,} pixels can be painted"
        )
    return max(1, round(width * scale)), max(1, round(height * scale))


def config_from(
    options: argparse.Namespace, steps: int = Config.steps, batch: int = Config.batch
) -> Config:
    """The run's `Config`. steps, batch: what they are unless the user says otherwise."""
    grid_width, grid_height = options.grid or (Config.grid_width, Config.grid_height)
    return Config(
        steps=getattr(options, "steps", steps),
        batch=getattr(options, "batch", batch),
        seed=options.seed,
        grid_width=grid_width,
        grid_height=grid_height,
        hidden=options.hidden,
        layers=options.layers,
        learning_rate_mlp=options.lr_mlp,
        learning_rate_grid=options.lr_grid,
        channels=options.channels,
        octaves=options.octaves,
        activation=options.activation,
        output_activation=options.output,
        biases=options.biases,
        bits=options.bits,
    )


def snapshot_steps(wanted: str | list[int], steps: int) -> list[int]:
    """The steps of a run at which to save pictures. wanted: see `step_list`."""
    if isinstance(wanted, list):
        return [step for step in wanted if 1 <= step <= steps]
    if wanted == "none":
        return []
    return [10**power for power in range(len(str(steps))) if 10**power < steps] + [steps]


# ---------------------------------------------------------------- which options belong together
# What would be ignored is refused instead.

HOW_TO_RENDER = "--render MODEL --to FILE"
# Which options are for --render, and how; and which for both modes. All others are for training.
FOR_RENDERING = {
    "to": f"--render and --bits: {HOW_TO_RENDER}, or --bits 4 --to FILE.lake",
    "texel": "--render: --render FILE.lake --texel 120,80",
    "scale": f"--render: {HOW_TO_RENDER}",
}
IN_BOTH = {"backend", "use", "force", "quiet", "render", "overwrite"}
ROUNDING = ("auto", "cpu", "graph")  # backends for --bits
# option -> the one without which it has no meaning
NEEDS = {"force": "use"}
# options that contradict each other
EXCLUSIVE = [("resume", "overwrite"), ("bits", "use")]
EXCLUSIVE += [("texel", other) for other in ("to", "scale", "overwrite", "backend", "use")]


def parse_and_check(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Parse a command line. Raises `InputError` for options that have no meaning together."""
    options = parser.parse_args(arguments)
    given = given_options(parser, arguments, options)
    renders = "render" in given
    if renders and "image" in given:
        raise InputError(
            f"--render learns no picture ({options.image}), and paints to the file that --to "
            f"names: {HOW_TO_RENDER}"
        )
    in_both = IN_BOTH | {"to"} if "bits" in given else IN_BOTH
    for name in sorted(given):
        if name not in in_both and (name in FOR_RENDERING) != renders:
            raise InputError(
                f"{spelled(name)} is for training, not for --render"
                if renders
                else f"{spelled(name)} is only for {FOR_RENDERING[name]}"
            )
        if NEEDS.get(name, name) not in given:
            raise InputError(f"{spelled(name)} is only for {spelled(NEEDS[name])}")
    if renders and not {"to", "texel"} & given:
        raise InputError(f"--render needs a file to write: {HOW_TO_RENDER}; or --texel")
    if options.bits and options.backend not in ROUNDING:
        raise InputError(f"--bits is not for --backend {options.backend}: take cpu or graph")
    for one, other in EXCLUSIVE:
        if {one, other} <= given:
            raise InputError(f"choose one of {spelled(one)} and {spelled(other)}")
    return options


def given_options(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, options: argparse.Namespace
) -> set[str]:
    """The names of the options that the command line has, whatever their values."""
    absent = object()
    # A parser fills in a default only where nothing is yet.
    blank = argparse.Namespace(**dict.fromkeys(vars(options), absent))
    values = vars(parser.parse_args(arguments, blank))
    # An argument without a dash that is left out is None, in some versions of Python.
    return {name for name, value in values.items() if value is not absent and value is not None}


def spelled(name: str) -> str:
    return "--" + name.replace("_", "-")
