"""The command line of `train.py`: its options, their defaults, and the `Config` they stand for."""

import argparse
from collections.abc import Sequence

from kernels.config import HIDDEN_WIDTHS, MAX_LAYERS, Config
from kernels.errors import OneLineParser
from kernels.training.choose_backend import BACKENDS
from kernels.training.option_rules import parse_and_check

BACKEND_CHOICES = ("auto", *BACKENDS, "native")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    usual = Config()
    parser = OneLineParser(
        prog="python train.py",
        description="Train a small neural network to paint a picture.",
    )
    add = parser.add_argument
    # fmt: off
    add("image", nargs="?", metavar="IMAGE", type=not_empty,
        help="picture to learn (default: the lake)")
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
        help="with --use: take kernels that fail their checks too (default: refuse them)")
    add("--seed", type=int, default=usual.seed, metavar="N",
        help=f"what all random numbers follow from, 0 or more (default: {usual.seed})")
    add("--out", metavar="FOLDER", type=not_empty,
        help="folder for everything the run writes (default: runs/NAME, where NAME is the "
        "picture's; with --use runs/NAME-lessons)")
    add("--grid", type=grid_size, default="auto", metavar="WxH",
        help="cells of the feature grid, such as 200x137 (default: auto, about 27,400 cells in the "
        "shape of the picture; fewer for a small one)")
    add("--hidden", type=int, default=usual.hidden, metavar="N",
        help=f"width of the hidden layers: {either(HIDDEN_WIDTHS)} (default: {usual.hidden})")
    add("--layers", type=int, default=usual.layers, metavar="N",
        help=f"number of hidden layers, 1 to {MAX_LAYERS} (default: {usual.layers})")
    add("--lr-mlp", type=float, default=usual.learning_rate_mlp, metavar="RATE",
        help="learning rate of the network, above 0 and at most 10 "
        f"(default: {usual.learning_rate_mlp})")
    add("--lr-grid", type=float, default=usual.learning_rate_grid, metavar="RATE",
        help="learning rate of the feature grid, above 0 and at most 10 "
        f"(default: {usual.learning_rate_grid})")
    add("--snapshots", type=step_list, default="log", metavar="STEPS",
        help="when to save pictures: a list such as 1,50,500, or none "
        "(default: log, which is at 1, 10, 100, ... and at the end)")
    add("--checkpoint-every", type=int, default=5000, metavar="N",
        help="steps from one checkpoint to the next (default: 5,000); 0: only at the end")
    add("--resume", action="store_true",
        help="go on with the run that lies in the folder, if there is one "
        "(default: leave it alone)")
    add("--overwrite", action="store_true",
        help="begin anew in the place of the run that lies in the folder; with --render: replace "
        "the file (default: leave either alone)")
    add("--format", choices=("png", "ppm"), default="png", metavar="NAME",
        help="file format of still pictures, png or ppm (default: png)")
    add("--timings", action="store_true",
        help="print how many seconds each part of the run took (default: no)")
    add("--quiet", action="store_true",
        help="print nothing but the last line (default: say what happens, and how far it is)")
    add("--render", metavar="MODEL", type=not_empty,
        help="paint with the model.npz of a run, instead of training (default: train)")
    add("--to", metavar="FILE", type=not_empty,
        help="with --render: the picture to write, which has to be named (default: none)")
    add("--scale", type=float, default=1.0, metavar="FACTOR",
        help="with --render: size relative to the original, such as 4 or 0.5 (default: 1)")
    # fmt: on
    return parse_and_check(parser, arguments)


def not_empty(text: str) -> str:
    # In a script, it is a variable that was never set.
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def either(values: Sequence[object]) -> str:
    """ "16, 32 or 64"."""
    *most, last = map(str, values)
    return f"{', '.join(most)} or {last}"


def grid_size(text: str) -> tuple[int, int] | None:
    """(width, height) of the feature grid; None for "auto"."""
    if text == "auto":
        return None
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not auto or WIDTHxHEIGHT, such as 200x137")
    return int(width), int(height)


def step_list(text: str) -> str | list[int]:
    if text in ("log", "none"):
        return text
    if not all(part.strip().isdigit() and int(part) > 0 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not log, none or a list such as 1,50,500")
    return sorted({int(part) for part in text.split(",")})


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
    )


def snapshot_steps(wanted: str | list[int], steps: int) -> list[int]:
    """The steps of a run at which to save pictures. wanted: see `step_list`."""
    if isinstance(wanted, list):
        return [step for step in wanted if 1 <= step <= steps]
    if wanted == "none":
        return []
    return [10**power for power in range(len(str(steps))) if 10**power < steps] + [steps]
