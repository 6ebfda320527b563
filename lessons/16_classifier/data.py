"""Pictures to classify, and what part of them is held out.

`segments` needs nothing: it is drawn. `digits` and `mnist` lie in Python packages that are not
among our requirements, and any folder may hold the four files of MNIST or Fashion-MNIST.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.classifier.digits import labelled_digits
from kernels.classifier.idx_files import read_idx
from kernels.plumbing.errors import InputError

DIGITS = tuple("0123456789")
CLOTHES = (
    "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip
FASHION_FOLDER = "/usr/share/datasets/fashion-mnist"
# What a folder must hold, with ".gz" or without: images and labels, to train with and to hold out.
FILES = (
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
)  # fmt: skip


class Part(NamedTuple):
    """images: (n, height * width) float32 in [0, 1]. labels: (n,) int32, which class each is of."""

    images: np.ndarray
    labels: np.ndarray


class Data(NamedTuple):
    """training: what is learned from. held_out: what is never shown before it is asked for."""

    words: str  # such as "handwritten digits of 8 x 8"
    shape: tuple[int, int]  # of an image: height, width
    names: tuple[str, ...]  # of the classes
    training: Part
    held_out: Part


class Usual(NamedTuple):
    """How a kind of data is trained, unless the user says otherwise."""

    epochs: int
    hidden: int
    held_out: int  # how many are held out; 0 where the files say so


USUAL = {
    "segments": Usual(40, 64, 1000),
    "digits": Usual(50, 64, 360),
    "mnist": Usual(50, 128, 1000),
}
USUAL_FOLDER = Usual(10, 128, 0)


def usual(name: str) -> Usual:
    """How a kind of data, or a folder, is trained."""
    return USUAL.get(name, USUAL_FOLDER)


def load(name: str, seed: int, in_order: bool = False) -> Data:
    """The `Data` of a name of `USUAL`, or of a folder.

    seed: what is drawn, and what is held out, follow from it. in_order: hold out the last ones,
    and keep the others in their order. Raises `InputError` for what is not there.
    """
    if name not in USUAL:
        if in_order:
            raise InputError(
                f"--in-order is for {', '.join(USUAL)}: a folder's files say what is held out"
            )
        return from_folder(Path(name))
    images, labels = labelled_digits(name, seed, in_order)
    side, first = math.isqrt(images.shape[1]), len(labels) - USUAL[name].held_out
    how = "seven-segment" if name == "segments" else "handwritten"
    training, held_out = Part(images[:first], labels[:first]), Part(images[first:], labels[first:])
    words = f"{how} digits of {side} x {side}"
    return Data(words, (side, side), DIGITS, training, held_out)


def from_folder(folder: Path) -> Data:
    """The `Data` of four idx files. What is held out are those that the files say."""
    if not folder.is_dir():
        obstacle = "it is a file" if folder.exists() else "there is no such folder"
        raise InputError(
            f"--data {folder}: {obstacle}; choose one of {', '.join(USUAL)}, or a "
            f"folder with the files of MNIST or Fashion-MNIST (Debian and Ubuntu: sudo apt install "
            f"dataset-fashion-mnist, then --data {FASHION_FOLDER})"
        )
    images, labels, held_out_images, held_out_labels = (find(folder, name) for name in FILES)
    training = part_of(images, labels)
    held_out = part_of(held_out_images, held_out_labels)
    shape = read_idx(images).shape[1:]
    if shape != read_idx(held_out_images).shape[1:]:
        raise InputError(f"{held_out_images} has images of another size than {images}")
    fashion = "fashion" in folder.resolve().name.lower()
    kind = "clothes" if fashion else "images"
    words = f"{kind} of {shape[0]} x {shape[1]} of {folder}"
    return Data(words, shape, CLOTHES if fashion else DIGITS, training, held_out)


def find(folder: Path, name: str) -> Path:
    """One of `FILES` in a folder. Raises `InputError` if it is not there."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(
        f"{folder} holds no {name} and no {name}.gz: four files are needed, {', '.join(FILES)} "
        "(Debian and Ubuntu have those of Fashion-MNIST: sudo apt install dataset-fashion-mnist)"
    )


def part_of(images_path: Path, labels_path: Path) -> Part:
    """The `Part` of two idx files. Raises `InputError` if they do not belong together."""
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or 0 in images.shape:
        raise InputError(f"{images_path} has the shape {images.shape}, not (images, height, width)")
    if labels.ndim != 1:
        raise InputError(f"{labels_path} has the shape {labels.shape}, not (labels,)")
    if labels.shape != images.shape[:1]:
        raise InputError(
            f"{labels_path} has {labels.size:,} labels, and {images_path} {len(images):,} images"
        )
    if labels.max() >= len(DIGITS):
        raise InputError(f"{labels_path} has a label {labels.max()}; only 0 to 9 are classes here")
    flat = images.reshape(len(images), -1).astype(np.float32) / np.float32(255)
    return Part(flat, labels.astype(np.int32))
