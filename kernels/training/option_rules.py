"""Which options of `train.py` belong together. What would be ignored is refused instead."""

import argparse
from collections.abc import Sequence

from kernels.errors import InputError

TRAINING, RENDERING = "training", "--render"

# option -> the only mode that it has a meaning in; options that are not named here have one in both
MODES = {
    "image": TRAINING,
    "steps": TRAINING,
    "batch": TRAINING,
    "deterministic": TRAINING,
    "seed": TRAINING,
    "out": TRAINING,
    "grid": TRAINING,
    "hidden": TRAINING,
    "layers": TRAINING,
    "channels": TRAINING,
    "octaves": TRAINING,
    "activation": TRAINING,
    "output": TRAINING,
    "biases": TRAINING,
    "lr_mlp": TRAINING,
    "lr_grid": TRAINING,
    "snapshots": TRAINING,
    "checkpoint_every": TRAINING,
    "resume": TRAINING,
    "format": TRAINING,
    "timings": TRAINING,
    "to": RENDERING,
    "scale": RENDERING,
}
# option -> the one without which it has no meaning
NEEDS = {"force": "use"}
# options that contradict each other
EXCLUSIVE = [("resume", "overwrite")]

HOW_TO_RENDER = "--render MODEL --to FILE"


def parse_and_check(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Parse a command line. Raises `InputError` for options that have no meaning together."""
    options = parser.parse_args(arguments)
    given = given_options(parser, arguments, options)
    mode = RENDERING if "render" in given else TRAINING
    if mode == RENDERING and "image" in given:
        raise InputError(
            f"--render learns no picture ({options.image}), and paints to the file that --to "
            f"names: {HOW_TO_RENDER}"
        )
    for name in sorted(given):
        if MODES.get(name, mode) != mode:
            raise InputError(
                f"{spelled(name)} is for training, not for --render"
                if mode == RENDERING
                else f"{spelled(name)} is only for --render: {HOW_TO_RENDER}"
            )
        if NEEDS.get(name, name) not in given:
            raise InputError(f"{spelled(name)} is only for {spelled(NEEDS[name])}")
    if mode == RENDERING and "to" not in given:
        raise InputError(f"--render needs a file to write: {HOW_TO_RENDER}")
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
