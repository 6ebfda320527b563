"""What a check gives to a student's functions: random numbers, a photograph, outputs to fill."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from kernels.files.images import load_image
from lessons.course.lesson import ROOT
from lessons.grading.exchange.output import Output
from lessons.grading.exchange.protocol import Student


@functools.cache
def the_lake() -> np.ndarray:
    """The photograph of the course, (height, width, 3) float32 in [0, 1]."""
    return load_image(ROOT / "images" / "lake.png")


class Inputs:
    """Draws inputs; the same for the same seed."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)

    def random(
        self,
        shape: int | tuple[int, ...],
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike = np.float32,
    ) -> np.ndarray:
        """An array of uniform random numbers in [low, high)."""
        return self.rng.uniform(low, high, shape).astype(dtype)

    def photo(self, shape: tuple[int, int, int]) -> np.ndarray:
        """A part of the lake, float32 in [0, 1], a little noisy: no two pixels are the same."""
        height, width, channels = shape
        lake = the_lake()
        rows = (np.arange(height) + 0.5) / height * lake.shape[0]
        columns = (np.arange(width) + 0.5) / width * lake.shape[1]
        picture = lake[rows.astype(int)][:, columns.astype(int), :channels]
        noise = self.rng.uniform(0, 1, shape)
        return (0.7 * picture + 0.3 * noise).astype(np.float32)

    def output(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike = np.float32,
        initial: np.ndarray | None = None,
    ) -> Output:
        """An `Output`: full of sentinels, or holding a copy of `initial`."""
        return Output(shape, dtype, initial)

    def student(self, name: str) -> Student:
        """Stands for the function `name` of the student's file, as an argument."""
        return Student(name)
