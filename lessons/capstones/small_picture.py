"""The picture that a lesson learns, made smaller if that was asked for: `--limit`."""

import argparse
from pathlib import Path

import numpy as np

from kernels.files.images import load_image
from kernels.files.pictures import resize
from lessons.capstones.command import add_image, whole_number


def add_image_and_limit(parser: argparse.ArgumentParser) -> None:
    """The options of a lesson for which a smaller picture will do: `image` and `limit`."""
    add_image(parser)
    parser.add_argument(
        "--limit", type=whole_number(8, 65_536), metavar="N",
        help="make a larger picture smaller first, to at most N pixels on its longer side "
        "(default: learn it as it is)",
    )  # fmt: skip


def picture_to_learn(path: Path, limit: int | None) -> np.ndarray:
    """(H, W, 3) float32 in [0, 1], at most `limit` pixels on a side. Raises `InputError`."""
    image = load_image(path)
    height, width, _ = image.shape
    if limit is None or max(width, height) <= limit:
        return image
    scale = limit / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(resize(image, size), np.float32) / 255
