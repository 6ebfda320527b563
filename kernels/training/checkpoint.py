"""Saving a run so that it can go on, and a trained network so that it can paint again.

Both files are archives (see `archive`), and both are written under a temporary name and then
renamed: whenever the power fails, there is a whole old file or a whole new one. Whatever they hold
is checked when it is read: somebody may have edited it, and kernels trust their arrays.
"""

import hashlib
import itertools
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernels.config import COLOURS, MAX_STEPS, NETWORK_KNOBS, Config, falling_factor
from kernels.files.images import MAX_MEGAPIXELS
from kernels.files.pictures import FRAME_SIDES, fitted_size
from kernels.plumbing.errors import InputError
from kernels.state import State
from kernels.training.archive import Unfit, open_archive, short, write_archive

MAX_PARTITIONS = 4096  # more than a machine has threads
LONGEST = 1e12  # seconds
LARGEST = 1e40  # a loss, in float32; also more than a PSNR can be, unless it is infinite


@dataclass
class RunProgress:
    """How far a run has come.

    planned: steps of the whole run, as its checkpoint says. partitions: see `backend.Backend`; None
    before there is a backend. pending: losses of the `pending_steps` steps since the last log
    entry. history: (step, mean loss) of every log entry. measured: (step, PSNR of the whole
    picture). frames: (step, PSNR or None, small uint8 picture) of the animation.
    """

    step: int = 0
    planned: int = 0
    seconds: float = 0.0
    partitions: int | None = None
    pending: list[float] = field(default_factory=list)
    pending_steps: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    measured: list[tuple[int, float]] = field(default_factory=list)
    frames: list[tuple[int, float | None, np.ndarray]] = field(default_factory=list)


def image_digest(image: np.ndarray) -> str:
    """A text that two images share only if they are the same."""
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


def save_checkpoint(
    path: Path, config: Config, image: np.ndarray, progress: RunProgress, state: State
) -> None:
    """Save a run, so that `load_checkpoint` can go on from there.

    image: what is learnt; only its `image_digest` is saved. Raises `InputError` if the file cannot
    be written.
    """
    header = {
        "config": config.as_dict(),
        "image": image_digest(image),
        "step": progress.step,
        "seconds": progress.seconds,
        "partitions": progress.partitions,
        "pending": progress.pending,
        "pending_steps": progress.pending_steps,
        "history": progress.history,
        "measured": progress.measured,
        "frames": [(step, decibels) for step, decibels, _ in progress.frames],
    }
    arrays = state._asdict()
    for i, (_, _, picture) in enumerate(progress.frames):
        arrays[f"frame_{i}"] = picture
    write_archive(path, header, arrays)


def load_checkpoint(path: Path, config: Config, image: np.ndarray) -> tuple[RunProgress, State]:
    """Return (progress, state). Raises `InputError` if the file is damaged or of another run."""
    with open_archive(path, "checkpoint") as archive:
        header = archive.header
        require_same_run(path, header, config, image)
        progress = read_progress(header, config)
        size = fitted_size(image, FRAME_SIDES[0])
        pictures = [
            archive.array(f"frame_{i}", (*size, COLOURS), np.dtype(np.uint8))
            for i in range(len(header["frames"]))
        ]
        progress.frames = [
            (step, decibels, picture)
            for (step, decibels), picture in zip(header["frames"], pictures, strict=True)
        ]
        layout = state_layout(config)
        state = State(*(archive.array(name, *layout[name]) for name in State._fields))
        counts = state.grid_steps
        if counts.min() < 0 or counts.max() > progress.step:
            raise Unfit("its grid_steps count steps that never were")
    return progress, state


def departure(progress: RunProgress, steps: int) -> str:
    """How a resumed run differs from one that is planned for `steps` from its start; "" if not."""
    planned = progress.planned
    if planned == steps or falling_factor(progress.step, min(planned, steps)) == 1:
        return ""
    return (
        f": learning rates fell toward step {planned:,} until now, so the bits are not "
        f"those of a run that begins with --steps {steps}"
    )


class Found(NamedTuple):
    """What a checkpoint says of itself. digest: of the image. steps: of the whole run."""

    digest: str
    step: int
    steps: int


def peek(path: Path) -> Found | None:
    """Look at a checkpoint without reading all of it; None if there is none that can be read."""
    try:
        with open_archive(path, "checkpoint") as archive:
            steps = read_config(archive.header).steps
            step = require_int(archive.header, "step", 1, steps)
            return Found(str(archive.header["image"]), step, steps)
    except InputError:
        return None


def save_model(path: Path, config: Config, image: np.ndarray, state: State) -> None:
    """Save a trained network, and the size of the image that it has learnt.

    state: with the grid that is to be seen, which needs no rounding any more. Raises `InputError`
    if the file cannot be written.
    """
    height, width, _ = image.shape
    config = replace(config, bits=0)
    header = {"config": config.as_dict(), "width": width, "height": height}
    write_archive(path, header, {"feature_grid": state.feature_grid, "weights": state.weights})


def load_model(path: Path) -> tuple[Config, State, int, int]:
    """Return (config, state, width, height) of a trained network; Adam's memory is empty.

    path: of a `model.npz`, or of a `.lake` file. Raises `InputError` if the file is damaged, or
    neither.
    """
    from kernels.training.lake_model import is_lake, load_lake  # which a handout has not

    if is_lake(path):
        return load_lake(path)
    with open_archive(path, "model") as archive:
        config = read_config(archive.header)
        most = MAX_MEGAPIXELS * 1_000_000
        width = require_int(archive.header, "width", 1, most)
        height = require_int(archive.header, "height", 1, most // width)
        layout = state_layout(config)
        learnt = {name: archive.array(name, *layout[name]) for name in ("feature_grid", "weights")}
    if not all(np.isfinite(array).all() for array in learnt.values()):
        raise InputError(f"{path} holds numbers that are not finite: train the model again")
    blank = {name: np.zeros(*layout[name]) for name in State._fields if name not in learnt}
    return config, State(**learnt, **blank), width, height


def state_layout(config: Config) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """(shape, dtype) of each array of a `State`, before there is one."""
    cells = (config.grid_height, config.grid_width)
    grid = ((*cells, config.channels), np.dtype(np.float32))
    weights = ((config.weight_count,), np.dtype(np.float32))
    counts = (cells, np.dtype(np.int32))
    return dict(zip(State._fields, (grid, grid, grid, counts, *3 * (weights,)), strict=True))


# ---------------------------------------------------------------- what a header may say


def require_same_run(path: Path, header: dict[str, Any], config: Config, image: np.ndarray) -> None:
    """Raise `InputError` if a run with other settings, or on another image, is in the header."""
    theirs = settings_in(header)
    step = require_int(header, "step", 1, require_int(theirs, "steps", 1, MAX_STEPS))
    if step > config.steps:
        raise InputError(f"{path} has {step:,} steps behind it: choose more with --steps")
    differences = [
        f"{name} {short(theirs.get(name))} there, {value} here"
        for name, value in config.as_dict().items()
        if theirs.get(name) != value and name != "steps"
    ]
    anew = "or begin anew with --overwrite in place of --resume"
    if differences:
        theirs_and_ours = "; ".join(differences)
        raise InputError(
            f"{path} was made with other settings ({theirs_and_ours}): resume with the same, {anew}"
        )
    if header["image"] != image_digest(image):
        raise InputError(f"{path} was made with another image: give that one, {anew}")


def settings_in(header: dict[str, Any]) -> dict[str, Any]:
    """The settings that a header tells; each of them may still be anything."""
    theirs = header["config"]
    if not isinstance(theirs, dict) or "steps" not in theirs:
        raise Unfit("its settings are not those of a run")
    # Older files know of one network only.
    return {name: getattr(Config, name) for name in (*NETWORK_KNOBS, "bits")} | theirs


def read_config(header: dict[str, Any]) -> Config:
    theirs, defaults = settings_in(header), Config().as_dict()
    if theirs.keys() != defaults.keys():
        raise Unfit("its settings are not those of a run")
    for name, default in defaults.items():
        if type(theirs[name]) not in (type(default), int):
            raise Unfit(f"its {name} is {short(theirs[name])}")
    try:
        return Config(**theirs)
    except InputError as error:
        raise Unfit(f"its settings cannot be: {error}") from None


def read_progress(header: dict[str, Any], config: Config) -> RunProgress:
    """All but the frames, whose steps are checked."""
    step = require_int(header, "step", 1, config.steps)
    history = require_log(header, "history", step)
    frames = require_log(header, "frames", step, may_be_unknown=True)
    # Older checkpoints have measured only where they kept a picture.
    measured = require_log(header, "measured", step) if "measured" in header else frames
    if not all(0 <= loss <= LARGEST for _, loss in history):
        raise Unfit("its history has losses that cannot be")
    pending = header["pending"]
    if not isinstance(pending, list) or not all(type(loss) is float for loss in pending):
        raise Unfit("its pending losses are no list of numbers")
    seconds = header["seconds"]
    if type(seconds) not in (float, int) or not 0 <= seconds <= LONGEST:
        raise Unfit(f"its seconds are {short(seconds)}")
    return RunProgress(
        step=step, planned=header["config"]["steps"], seconds=seconds,
        partitions=require_int(header, "partitions", 1, MAX_PARTITIONS),
        pending=pending, history=history, measured=measured,
        pending_steps=require_int(header, "pending_steps", min(1, len(pending)), step),
    )  # fmt: skip


def require_int(header: dict[str, Any], name: str, lowest: int, highest: int) -> int:
    value = header[name]
    if type(value) is not int or not lowest <= value <= highest:
        raise Unfit(f"its {name} is {short(value)}, and not from {lowest:,} to {highest:,}")
    return value


def require_log(
    header: dict[str, Any], name: str, last: int, may_be_unknown: bool = False
) -> list[tuple[int, float]]:
    """The (step, number) pairs that the header has under a name: one at least, in order.

    may_be_unknown: whether None may stand where a number is not known; such pairs are left out.
    """
    entries = header[name]
    if not isinstance(entries, list) or not entries:
        raise Unfit(f"its {name} is no list of entries")
    for entry in entries:
        kinds = [type(part) for part in entry] if isinstance(entry, list) else []
        if may_be_unknown and kinds == [int, type(None)]:
            continue
        if kinds != [int, float]:
            raise Unfit(f"its {name} has the entry {short(entry)}")
        if not (-LARGEST <= entry[1] <= LARGEST or entry[1] == math.inf):
            raise Unfit(f"its {name} has the entry {short(entry)}")
    steps = [0, *(step for step, _ in entries), last + 1]
    if any(first >= second for first, second in itertools.pairwise(steps)):
        raise Unfit(f"its {name} has steps that are out of order")
    return [(step, number) for step, number in entries if number is not None]
