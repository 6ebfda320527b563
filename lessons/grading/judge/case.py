"""What a check of a lesson is written with: all its words are here.

    @check("every_pixel")
    def test_every_pixel(case):
        image = case.random((9, 14, 3))
        gray = case.output((9, 14))
        case.run("launch_over_pixels", case.student("grayscale"), image, gray)
        case.expect(gray, reference.grayscale(image), name="gray")

The function of a check runs here, in the judge. `case.run` and `case.call` run the student's
functions in a worker; `case.expect` compares what came back with what the judge has computed.

A case has two parts, each of which knows its own work: `runs` runs the student's functions,
`verdict` compares and ends the check. Another verdict may be put in its place.
"""

import functools
import zlib
from collections.abc import Callable
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from kernels.files.images import load_image
from lessons.course.lesson import ROOT
from lessons.grading.explain.comparison import Threads
from lessons.grading.explain.evidence import Curve
from lessons.grading.judge.result import Attempt
from lessons.grading.judge.runs import Runs
from lessons.grading.judge.verdict import Budget, Verdict
from lessons.grading.worker.outcome import Counts
from lessons.grading.worker.output import Output
from lessons.grading.worker.protocol import Student
from lessons.grading.worker.stage_calls import StageCall

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
    """The words of a check. verdict: None for the one that grades are decided by."""

    def __init__(self, attempt: Attempt, runs: Runs, verdict: Verdict | None = None) -> None:
        self.lesson, self.check, self.submission, self.seed, _ = attempt
        # The same numbers for the same seed, whichever checks are run, and others in each check.
        name = f"{self.lesson.name} {self.check.name}".encode()
        self.rng = np.random.default_rng([self.seed, zlib.crc32(name)])
        self.runs = runs
        self.verdict = verdict or Verdict(attempt, runs)

    def go_on_with(self, text: bytes) -> None:
        """Take this text for the student's file from now on: with what a program wrote below it."""
        self.submission = self.submission._replace(text=text)
        self.runs.submission = self.verdict.submission = self.submission

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
    def calls(self) -> list[StageCall]:
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

    def call(self, function: str, *arguments: object) -> object:
        """The value of the student's `function(*arguments)`, called as plain Python."""
        result = self.runs.call(function, arguments)
        if result is None:
            sentence = f"{function} returns nothing: it should end with `return`, and the result."
            self.require(False, "nothing returned", sentence)
        return result

    # ---------------------------------------------------------------- what is asked for

    def expect(
        self,
        got: object,
        expected: ArrayLike,
        name: str = "result",
        threads: Threads | None = None,
        tolerance: float | None = None,
        reason: str = "",
        over: Curve | None = None,
    ) -> None:
        """End the check, with feedback, unless `got` is near `expected`.

        got: an `Output`, an array or a number. tolerance: absolute; None for that of lesson.toml,
        times the largest expected magnitude if that is over 1. threads: which thread owns which
        element, see `Threads`. reason: why so much is allowed, if it is not that of lesson.toml.
        over: what a function was called with, whose values are drawn as a curve then.
        """
        self.verdict.expect(got, expected, name, threads, tolerance, reason, over)

    def require(self, ok: bool, diagnosis: str, sentence: str, line: int | None = None) -> None:
        """End the check with this diagnosis unless `ok`: for a property, not a value.

        line: of the student's file, which is shown.
        """
        self.verdict.require(ok, diagnosis, sentence, line)

    def budget(
        self,
        what: str,
        yours: float,
        ours: float,
        allowed: float,
        diagnosis: str,
        sentence: str | Callable[[], str],
        line: int = 0,
        noted: bool = True,
    ) -> None:
        """End the check with this diagnosis if `yours` is more than `allowed`.

        what: what was counted, such as "reads of global memory per product". ours: what the idea
        of the lesson needs; after a pass the student sees both. allowed: leaves room for other ways
        that are as good. sentence: or what makes it, which may wait until then. line: the line of
        the student's file with most of it; see `Counts.busiest_line`.
        """
        budget = Budget(what, yours, ours, allowed, diagnosis, sentence, line)
        self.verdict.keep_within(budget)
        if noted:
            self.verdict.note(budget.figures)

    # As `budget`, of which nothing is said if it is kept.
    keep_within = functools.partialmethod(budget, noted=False)

    def compare(self, what: str, yours: float, ours: float) -> None:
        """Note, for a check that passes, how often something was done: nothing is asked for."""
        self.verdict.note(Budget(what, yours, ours, yours, "", "").figures)

    def require_many_threads(
        self, counts: Counts, result: Output, threads: Threads | None = None
    ) -> None:
        """End the check if one thread has written all of a result, or each thread has.

        threads: which of them own it; it need not be given after `expect` of the same result.
        """
        self.verdict.require_many_threads(counts, result, threads)

    def own_launch(self) -> bool:
        """Whether the student has changed a launch function, and so the shape of its blocks."""
        return self.verdict.own_launch()

    def fail(self, diagnosis: str, *lines: str) -> NoReturn:
        """End the check: where what is wrong is found by the check itself."""
        self.verdict.fail(diagnosis, *lines)

    def show(self, picture: Callable[[], bytes]) -> None:
        """Draw this, a PNG, if anything that is asked for from now on is not so."""
        self.verdict.picture = picture

    @property
    def notes(self) -> list[str]:
        """What a student reads of a check that has passed."""
        return self.verdict.notes

    @property
    def on_gpu(self) -> bool:
        return self.runs.on_gpu
