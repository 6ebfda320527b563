"""What a check of a lesson is written with: the words for inputs, and to run a student's functions.

    @check("every_pixel")
    def test_every_pixel(case):
        image = case.random((9, 14, 3))
        gray = case.output((9, 14))
        case.run("launch_over_pixels", case.student("grayscale"), image, gray)
        case.expect(gray, reference.grayscale(image), name="gray")

The function of a check runs here, in the judge. `case.run` and `case.call` run the student's
functions in a worker; `case.expect` compares what came back with what the judge has computed: that
and all else that a check asks for stands in `verdict`.
"""

import functools
import zlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from kernels.files.images import load_image
from lessons.course.lesson import ROOT
from lessons.grading.explain.evidence import Curve
from lessons.grading.judge.result import Attempt
from lessons.grading.judge.runs import Runs
from lessons.grading.worker.outcome import Counts
from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import Student

__all__ = ["Case", "CheckFunction", "Curve", "check"]  # what the files of checks import

ORDERS = "reverse", 1, 2  # of threads: backwards, and two that are drawn

Size = TypeVar("Size")
CheckFunction = Callable[["Case"], None]


def check(name: str) -> Callable[[CheckFunction], CheckFunction]:
    """Mark a test function as the check of this name in lesson.toml."""

    def mark(function: CheckFunction) -> CheckFunction:
        function.check_name = name  # type: ignore[attr-defined]  # pytest finds it there
        return function

    return mark


@functools.cache
def the_lake() -> np.ndarray:
    """The photograph of the course, (height, width, 3) float32 in [0, 1]."""
    return load_image(ROOT / "images" / "lake.png")


class Case:
    """Half of the words of a check; a `Verdict`, which each check gets, has them all."""

    def __init__(self, attempt: Attempt, runs: Runs) -> None:
        self.lesson, self.check, self.submission, self.seed, _ = attempt
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        name = f"{self.lesson.name} {self.check.name}".encode()
        self.rng = np.random.default_rng([self.seed, zlib.crc32(name)])
        self.runs = runs

    def go_on_with(self, text: bytes) -> None:
        """Take this text for the student's file from now on: with what a program wrote below it."""
        self.submission = self.submission._replace(text=text)
        self.runs.submission = self.submission

    # ---------------------------------------------------------------- inputs, and outputs to fill

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
        """An array that a kernel fills: full of sentinels, or holding a copy of `initial`."""
        return Output(shape, dtype, initial)

    def student(self, name: str) -> Student:
        """Stands for the function `name` of the student's file, as an argument."""
        return Student(name)

    def size(self, large: Size, small: Size) -> Size:
        """The size of a large input, or of one that the checked simulator can manage in any case.

        The small one is taken if the native engine has to run the student's kernel, and cannot.
        """
        return self.runs.size(large, small)

    # ---------------------------------------------------------------- the student's functions

    def run(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """Call the student's `function(*arguments, launch=...)`; outputs then hold the results.

        engine: None for the checked simulator, "native" for what takes it too long, "large" for an
        input that may: then a launch of many rounds runs on the native engine. Ends the check if
        the simulator finds anything but advice, or if another argument was changed.
        """
        self.runs.run(self.runs.backend_of(engine), function, arguments)

    def conduct(self, function: str, *arguments: object, engine: str | None = None) -> None:
        """As `run`, for a function that calls launch functions: the student's, and our own.

        Ends the check if the function changes an array itself: kernels compute, it only conducts.
        """
        self.runs.run(self.runs.backend_of(engine), function, arguments, conducts=True)

    @property
    def calls(self) -> list[str]:
        """The stages that the last `conduct` has called."""
        return self.runs.calls

    def measure(self, function: str, *arguments: object) -> Counts:
        """As `run`, always on the checked simulator. Returns how often each array was touched."""
        return self.runs.run("checked", function, arguments, measure=True)

    def same_bits_in_any_order(self, function: str, *arguments: object) -> None:
        """As `run`, on the checked simulator, and then in some other orders of threads.

        Ends the check with the diagnosis "order" if any array has other bits after one of them.
        """
        self.runs.run("checked", function, arguments, orders=ORDERS)

    @property
    def on_gpu(self) -> bool:
        return self.runs.on_gpu
