"""Saving a run so that it can go on, and a trained network so that it can paint again.

Both files are NumPy archives (.npz) of plain arrays and one JSON text, without pickle, so that a
file from a stranger cannot run code. Both are written under a temporary name and then renamed:
whenever the power fails, there is a whole old file or a whole new one.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernels.config import Config
from kernels.errors import InputError
from kernels.files.atomic import unwritable, write_atomically
from kernels.state import State, initial_state

VERSION = 1


@dataclass
class RunProgress:
    """How far a run has come.

    partitions: see `backend.Backend`; None before there is a backend. pending: losses of the
    `pending_steps` steps since the last log entry. history: (step, mean loss) of every log entry.
    measured: (step, PSNR of the whole picture). frames: (step, PSNR or None, small uint8 picture)
    of the animation.
    """

    step: int = 0
    seconds: float = 0.0
    partitions: int | None = None
    pending: list[float] = field(default_factory=list)
    pending_steps: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    measured: list[tuple[int, float]] = field(default_factory=list)
    frames: list[tuple[int, float | None, np.ndarray]] = field(default_factory=list)


def image_digest(image: np.ndarray) -> str:
    """A text that two images share only if they are the same."""
    return hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()


def save_checkpoint(
    path: Path, config: Config, image: np.ndarray, progress: RunProgress, state: State
) -> None:
    """Save a run, so that `load_checkpoint` can go on from there.

    image: what is learnt; only its `image_digest` is saved. Raises `InputError` if the file cannot
    be written.
    """
    header = {
        "version": VERSION,
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
    header, arrays = read_archive(path, "checkpoint")
    try:
        theirs, learnt_digest = dict(header["config"]), header["image"]
        progress = RunProgress(
            step=header["step"],
            seconds=header["seconds"],
            partitions=header["partitions"],
            pending=header["pending"],
            pending_steps=header["pending_steps"],
            history=[tuple(entry) for entry in header["history"]],
            # Older checkpoints have measured only where they kept a picture.
            measured=[tuple(entry) for entry in header.get("measured", header["frames"])],
            frames=[
                (step, decibels, arrays[f"frame_{i}"])
                for i, (step, decibels) in enumerate(header["frames"])
            ],
        )
        state = State(*(arrays[name] for name in State._fields))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, "checkpoint") from error

    ours = config.as_dict()
    differences = [
        f"{name} {theirs.get(name)} there, {value} here"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    if differences:
        raise InputError(
            f"{path} was made with other settings ({'; '.join(differences)}): "
            "resume with the same ones, or start anew without --resume"
        )
    if learnt_digest != image_digest(image):
        raise InputError(
            f"{path} was made with another image: give that one, or start anew without --resume"
        )
    require_same_shapes(path, "checkpoint", state, initial_state(config))
    return progress, state


def remove_checkpoint(path: Path) -> None:
    """Remove the file if there is one. Raises `InputError` if that is impossible."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def require_same_shapes(path: Path, kind: str, state: State, expected: State) -> None:
    """Raise `InputError` unless every array has the shape and dtype that the config asks for."""
    for array, pattern in zip(state, expected, strict=True):
        if array.shape != pattern.shape or array.dtype != pattern.dtype:
            raise damaged(path, kind)


def save_model(path: Path, config: Config, image: np.ndarray, state: State) -> None:
    """Save a trained network, and the size of the image that it has learnt.

    Raises `InputError` if the file cannot be written.
    """
    height, width, _ = image.shape
    header = {
        "version": VERSION,
        "config": config.as_dict(),
        "width": width,
        "height": height,
    }
    write_archive(path, header, {"feature_grid": state.feature_grid, "weights": state.weights})


def load_model(path: Path) -> tuple[Config, State, int, int]:
    """Return (config, state, width, height) of a trained network; Adam's memory is empty.

    Raises `InputError` if the file is damaged or no model.
    """
    header, arrays = read_archive(path, "model")
    try:
        config = Config(**header["config"])
        blank = initial_state(config)
        state = blank._replace(feature_grid=arrays["feature_grid"], weights=arrays["weights"])
        width, height = int(header["width"]), int(header["height"])
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, "model") from error
    require_same_shapes(path, "model", state, blank)
    if not all(np.isfinite(array).all() for array in (state.feature_grid, state.weights)):
        raise InputError(f"{path} holds numbers that are not finite: train the model again")
    return config, state, width, height


def write_archive(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)

    def write(file: BinaryIO) -> None:
        # NumPy's own names for arguments are none of ours.
        np.savez(file, header=text, **arrays)  # type: ignore[arg-type]

    write_atomically(path, write)


def read_archive(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return (header, arrays). Raises `InputError` with one line on what is wrong with the file."""
    try:
        # NumPy would leave a file that it opened itself open when it turns out to be damaged.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        version = header["version"]
    except FileNotFoundError as error:
        raise InputError(f"no {kind} at {path}: check the path") from error
    except Exception as error:  # one wrong byte can surface as any of a dozen exceptions
        raise damaged(path, kind) from error
    if version != VERSION:
        raise InputError(f"{path} has format {version}, this program reads {VERSION}")
    return header, arrays


def damaged(path: Path, kind: str) -> InputError:
    return InputError(f"{path} is not a whole {kind} file: delete it and train again")
