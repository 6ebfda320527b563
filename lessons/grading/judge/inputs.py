"""What a check gives to a student's functions: random numbers, and photographs."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from kernels.files.images import load_image
from lessons.course.lesson import ROOT


@functools.cache
def the_lake() -> np.ndarray:
    """The photograph of the course, (height, width, 3) float32 in [0, 1]."""
    return load_image(ROOT / "images" / "lake.png")


class Inputs:
    """Draws inputs; the same for the same seed."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)

    def random(
        self, shape: int | tuple[int, ...], low: float, high: float, dtype: DTypeLike
    ) -> np.ndarray:
        return self.rng.uniform(low, high, shape).astype(dtype)

    def photo(self, shape: tuple[int, int, int]) -> np.ndarray:
        height, width, channels = shape
        lake = the_lake()
        rows = (np.arange(height) + 0.5) / height * lake.shape[0]
        columns = (np.arange(width) + 0.5) / width * lake.shape[1]
        picture = lake[rows.astype(int)][:, columns.astype(int), :channels]
        noise = self.rng.uniform(0, 1, shape)
        return (0.7 * picture + 0.3 * noise).astype(np.float32)
