"""The worker: the only process that ever runs a student's file.

It imports the file, calls the functions that the judge names with the arrays that the judge sends,
on the engine that the judge chooses, and returns the arrays as they are afterwards. It never sees
an expected result, so there is nothing here to find out or to change. Whatever goes wrong, the
judge ends it, and begins with a new one.
"""

import ast
import importlib.util
import linecache
import math
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numba
import numpy as np
from numba import cuda
from numba.cuda.cudadrv.error import CudaSupportError

from kernels.launch import on_gpu
from kernels.training.devices import why_no_gpu
from lessons.grading.walls.allowed_names import MODULES, prepare_numba
from lessons.grading.walls.limits import MOST_ROUNDS
from lessons.grading.worker.host_code import fixed, run_host_code
from lessons.grading.worker.own_kernels import (
    KERNEL,
    ConductedKernels,
    OwnKernels,
    no_usual_launcher,
    noting_changes,
    watched,
)
from lessons.grading.worker.protocol import Json, Packer, Unpacker
from lessons.grading.worker.reported import Finding, Row, doubles, problems, rows_of
from lessons.grading.worker.stage_calls import LaunchForgotten, StageCalls
from lessons.grading.worker.student_file import StudentFile
from lessons.lab.compiled.engine import launch as launch_native
from lessons.lab.dimensions import as_dim3, volume
from lessons.lab.libdevice import call_libdevice, names_of_libdevice
from lessons.lab.numba_types import Number, is_number
from lessons.lab.simulator.arguments import copies, restore
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.run import checked_run
from lessons.lab.simulator.watch import Computed

# Everything a lesson may need is imported before the student's file can touch it.
if importlib.util.find_spec("kernels.cpu"):  # a handout has none
    import kernels.cpu.step
import kernels.training_step  # noqa: F401  isort: skip

for module_name in sorted(MODULES):
    if module_name.startswith("kernels") and importlib.util.find_spec(module_name):
        # Their text, too: the simulator reads what a kernel calls, and will not find the file.
        linecache.getlines(str(importlib.import_module(module_name).__file__))

PICTURE = "accesses.png"
MOST_LEFT_OUT = 8  # lines that are told
WATCHED_THREADS = np.array([*range(12), 17, 22, 27, 31])  # of the first warp
MOST_WATCHED = 60_000  # numbers
CALLED_AGAIN = {"float32", "min", "max", "abs", "math.sqrt", "math.exp", "math.log"}
MOST_TIMES = 3  # that other texts are computed behind a node
NAN = 3e38  # in place of one that is computed
# Functions that raise `OverflowError` in Python. NumPy's give infinity, in their argument's type.
ENDLESS: dict[str, Callable[..., object]] = {
    "exp": np.exp, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "pow": np.power,
}  # fmt: skip
# Rounds of loops times threads: three to six seconds, in vain if the kernel then has to run on the
# native engine. No clock decides: the same file gets the same engine on a busy machine, too.
MOST_WORK = 80_000_000
THREADS_FOR_NOTHING = 6000  # what a round costs beside its threads, in threads

Arrays = list[np.ndarray]
Launcher = Callable[..., None]
Size = int | tuple[int, ...]  # of a grid or a block


class Found(Exception):
    """The checked simulator found something; there is no point in going on."""


def no_finding(*_: object, **__: object) -> NoReturn:
    """In place of what keeps a finding: what is only looked at ends there."""
    raise Found


class Watched(ast.NodeTransformer):
    """What some threads compute in a run, number by number: to see where a file goes wrong.

    spans: of the file's nodes, first line and column and last ones, and 1 for a float; of other
    files' nodes zeros; of the texts in `beside`, which are computed behind a node, the number of
    the text, and -1. places: which span each row of `numbers` is of, whose columns are threads.
    """

    def __init__(self, path: str, beside: Sequence[tuple[list[int], str]] = ()) -> None:
        self.path = path
        self.spans: dict[tuple[int, ...], int] = {}
        self.places: list[int] = []
        self.numbers: list[np.ndarray] = []
        self.called: dict[ast.AST, str] = {}  # what stands for a call -> its text
        self.texts: dict[ast.AST, str] = {}  # of calls
        self.latest: dict[str, Number] = {}  # text of a call -> its value
        self.beside: dict[tuple[int, ...], list[tuple[int, ast.expr]]] = {}
        for number, (span, text) in enumerate(beside):
            node = self.visit(ast.parse(text, "", "eval").body)
            self.beside.setdefault(tuple(span), []).append((number, node))
        self.times: Counter[tuple[int, ...]] = Counter()
        self.is_beside = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """In the place of a call in such a text: a number, for which its last value is taken."""
        if ast.unparse(node.func) in CALLED_AGAIN:
            return self.generic_visit(node)  # type: ignore[return-value]
        number = ast.copy_location(ast.Constant(0), node)
        self.called[number] = ast.unparse(node)
        return number

    def __call__(self, computed: Computed) -> Number:
        node, own = computed.node, computed.source.filename == self.path
        if self.is_beside:
            return self.latest[self.called[node]] if node in self.called else computed.value
        if own and isinstance(node, ast.Call):
            self.latest[self.text_of(node)] = computed.value
        span = node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
        self.keep(span if own else (0, 0, 0, 0), computed.value, computed.mask)
        if own and span in self.beside and self.times[span] < MOST_TIMES:
            self.times[span] += 1
            self.is_beside = True
            report = computed.launch.report
            report.add = report.has = no_finding  # type: ignore[method-assign]
            for number, other in self.beside[span]:
                with suppress(Exception):
                    for part in other.elts if isinstance(other, ast.Tuple) else [other]:
                        value = computed.evaluate(part, computed.mask)
                        if is_number(value):
                            self.keep((number, 0, 0, -1), value, computed.mask)
            self.is_beside = False
            del report.add, report.has
        return computed.value

    def text_of(self, node: ast.Call) -> str:
        if node not in self.texts:
            self.texts[node] = ast.unparse(node)
        return self.texts[node]

    def keep(self, span: tuple[int, ...], value: Any, mask: np.ndarray) -> None:
        if len(self.places) < MOST_WATCHED and len(mask) > max(WATCHED_THREADS):
            span = *span, int(np.asarray(value).dtype.kind == "f")
            vector = value[WATCHED_THREADS] if isinstance(value, np.ndarray) else value
            numbers = np.where(mask[WATCHED_THREADS], np.nan_to_num(vector, nan=NAN), np.nan)
            self.numbers.append(numbers)
            self.places.append(self.spans.setdefault(span, len(self.spans)))

    def reply(self) -> tuple[Json, Arrays]:
        numbers = np.array(self.numbers, np.float64).reshape(len(self.places), -1)
        return {"spans": list(self.spans)}, [np.array(self.places, np.int64), numbers]


class Worker:
    """Answers requests; holds the student's file, once there is one."""

    def __init__(self) -> None:
        self.file = StudentFile()
        self.report: Report | None = None  # of the last run in which something was found
        self.last: Report | None = None  # of the last kernel that was recorded
        self.doubles: list[Finding] = []  # of the last run
        self.counts: list[Row] = []
        self.was_native = False  # whether a launch of the last run was given to the native engine
        self.watched = Watched("")  # of the last run
        self.stages = StageCalls()
        self.gpu_obstacle = why_no_gpu()
        prepare_numba(has_gpu=self.gpu_obstacle is None)

    def answer(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """(reply, arrays) for one request of the judge."""
        if request["do"] == "load":
            self.file.load(request)
            return {"left_out": self.file.left_out[:MOST_LEFT_OUT]}, []
        if request["do"] == "call":
            return self.call(request, arrays)
        if request["do"] == "draw":
            return {}, [self.picture()]
        if request["do"] == "replay":
            return {"replay": self.last.replay_data() if self.last else ""}, []
        if request["do"] == "watched":
            return self.watched.reply()
        if request["do"] == "host":
            return self.run_host_code(request, arrays)
        return self.run(request, arrays)

    def call(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        arguments = self.unpacked(request, arrays)
        packer = Packer()
        function = self.file.find(request["function"])
        function = getattr(function, "py_func", function)  # a device function cannot be called
        # As in a kernel, where numbers wrap without a word, and device functions can be called.
        with np.errstate(all="ignore"), plain_device_functions():
            try:
                result = packer.pack(plain(function(*arguments)))
            except OverflowError:
                with endless_math(self.file.module):
                    result = packer.pack(plain(function(*arguments)))
        return {"result": result}, packer.arrays

    def run(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """Call a launch function on an engine; returns the arrays as they are then."""
        backend = request["backend"]
        if backend == "cuda":
            return self.run_on_gpu(request, arrays)
        self.report = self.last = None
        self.watched = Watched(self.file.path, request["watch"] or ())
        self.doubles, self.counts, self.was_native = [], [], False
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        launchers = {"native": self.native, "checked": self.checked, "large": self.large}
        with suppress(Found):
            self.launch(request, arrays, launchers[backend](request, arrays))
        found = {"findings": problems(self.report, self.file.path), "doubles": self.doubles}
        ran = {"calls": self.stages.made, "native": self.was_native}
        return {**found, **ran, "counts": self.counts}, arrays

    def native(self, request: Json, arrays: Arrays) -> Launcher:
        """A launcher that runs a kernel on the native engine."""

        def launch(kernel: Callable, blocks: Size, threads: Size, *arguments: object) -> None:
            self.was_native = True
            launch_native(kernel, blocks, threads, *arguments)

        return launch

    def checked(self, request: Json, arrays: Arrays) -> Launcher:
        """A launcher that runs a kernel on the checked simulator, and keeps a report of problems.

        In the request: "record" for `picture` and replays, "measure" for counts, "orders" to try.
        """
        record, measure = request["record"], request["measure"]
        watch = None if request["watch"] is None else self.watched

        def launch(kernel: Callable, blocks: Size, threads: Size, *arguments: object) -> None:
            report = checked_run(
                kernel, blocks, threads, *arguments, measure=measure, record=record,
                budget=MOST_ROUNDS, schedule=request["orders"], same_bits=True,
                ask_numba=request["ask_numba"], negative=False, watch=watch,
            )  # fmt: skip
            self.last = report if record else None
            if measure:
                self.counts += rows_of(report, arguments, arrays, self.file.path)
            self.look_at(report)

        return launch

    def large(self, request: Json, arrays: Arrays) -> Launcher:
        """As `checked`, but what would take the simulator long runs on the native engine."""
        on_native = self.native(request, arrays)

        def launch(kernel: Callable, blocks: Size, threads: Size, *arguments: object) -> None:
            before, report = copies(arguments), None
            with suppress(MemoryError):
                report = checked_run(
                    kernel, blocks, threads, *arguments, measure=False,
                    budget=most_rounds(blocks, threads), ask_numba=request["ask_numba"],
                    negative=False,
                )  # fmt: skip
            if report is not None and not gave_up(report):
                self.look_at(report)
                return
            restore(arguments, before)
            on_native(kernel, blocks, threads, *arguments)

        return launch

    def look_at(self, report: Report) -> None:
        """Keep what was found. Raises `Found` if that is a problem."""
        self.doubles += doubles(report, self.file.path)
        if problems(report, self.file.path):
            self.report = report
            raise Found

    def picture(self) -> np.ndarray:
        """A PNG of what threads did to memory in the last run with a problem, as uint8.

        Empty if no array was touched.
        """
        if self.report is None or not self.report.events:
            return np.empty(0, np.uint8)
        path = Path.cwd() / PICTURE
        self.report.picture(path)
        return np.frombuffer(path.read_bytes(), np.uint8)

    def run_on_gpu(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        on_device = [cuda.to_device(array) for array in arrays]
        self.launch(request, on_device, on_gpu)
        cuda.synchronize()
        found: Json = {"findings": [], "doubles": [], "counts": [], "native": False}
        return {**found, "calls": self.stages.made}, [array.copy_to_host() for array in on_device]

    def run_host_code(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """Call a function that copies and launches by itself; returns what it returns."""
        self.report = self.last = None
        name, backend = request["function"], request["backend"]
        if backend != "cuda":  # where it may be pinned, which changes it for the driver
            arrays = [fixed(array) for array in arrays]
        arguments, packer = self.unpacked(request, arrays), Packer()
        run = run_host_code(name, self.file.find(name), arguments, arrays, self.file.path, backend)
        reply = {"result": packer.pack(run.result), "findings": run.findings}
        return {**reply, "doubles": run.doubles, "steps": run.steps}, packer.arrays

    def launch(self, request: Json, arrays: Sequence[Any], launch: Launcher) -> None:
        name = request["function"]
        if request["backend"] == "cuda":
            arguments = self.stages.watched(self.unpacked(request, arrays))
            self.file.find(name)(*arguments, launch=launch)
            return
        if not (request["conducts"] or name.startswith("launch_")):
            arguments = self.stages.watched(self.unpacked(request, arrays))
            with noting_changes(launch, arrays, self.stages.note_host) as noting:
                self.file.find(name)(*arguments, launch=noting)
            return
        kind = ConductedKernels if request["conducts"] else OwnKernels
        own = kind(arrays, self.file.path, name)
        arguments = self.stages.watched(self.unpacked(request, own.shown))
        if request["conducts"]:
            self.conduct(name, arguments, watched(launch, own))
        else:
            self.file.find(name)(*arguments, launch=watched(launch, own))
        own.at_the_end()

    def unpacked(self, request: Json, arrays: Sequence[Any]) -> list[Any]:
        return Unpacker(arrays, self.file.find).unpacked(request["arguments"])

    def conduct(self, name: str, arguments: Sequence[Any], launch: Launcher) -> None:
        """Call a function that calls launch functions; each of these needs to be told where."""
        try:
            with no_usual_launcher():
                self.file.find(name)(*arguments, launch=launch)
        except CudaSupportError as error:
            # Its line is that of the call in the student's file.
            raise LaunchForgotten(
                f"{name} calls a launch function without launch=launch: that does not know where "
                "to run its kernel, and would look for a GPU. Pass on the launch that you got"
            ).with_traceback(error.__traceback__) from None


def plain(value: object) -> object:
    """A returned value with ordinary tuples, so that it can be sent."""
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    return value


# ---------------------------------------------------------------- math as it is in a kernel


def computed(name: str, *arguments: Number) -> object:
    return call_libdevice(name, [np.asarray(argument)[()] for argument in arguments])


LIBDEVICE = importlib.import_module("numba.cuda.libdevice").__dict__
COMPUTED = {name: partial(computed, name) for name in names_of_libdevice()}


@contextmanager
def plain_device_functions() -> Iterator[None]:
    """Within this, device functions run as plain Python when called, those of libdevice, too."""
    compiled, empty = KERNEL.__call__, dict(LIBDEVICE)

    def call(function: Any, *arguments: object) -> object:
        if function.targetoptions["device"]:
            return function.py_func(*arguments)
        return compiled(function, *arguments)

    KERNEL.__call__ = call
    LIBDEVICE.update(COMPUTED)
    try:
        yield
    finally:
        KERNEL.__call__ = compiled
        LIBDEVICE.update(empty)


@contextmanager
def endless_math(module: types.ModuleType) -> Iterator[None]:
    """Within this, functions of `math` do not overflow, also those that a module has imported.

    A device function is called as plain Python. There `math.exp(1000.0)` is an error, and on a GPU
    it is infinity, with which 1 / (1 + exp(-x)) is right.
    """
    replaced = [
        (place, name, function)
        for place in (math, module)
        for name, function in list(vars(place).items())
        if any(function is getattr(math, known, None) for known in ENDLESS)
    ]
    for place, name, function in replaced:
        setattr(place, name, ENDLESS[function.__name__])
    try:
        yield
    finally:
        for place, name, function in replaced:
            setattr(place, name, function)


# ---------------------------------------------------------------- which engine for a large launch


def most_rounds(blocks: object, threads: object) -> int:
    """How many rounds of loops the simulator is given. Raises `ValueError` for no dimensions.

    It computes all threads at once, statement by statement. So many threads that do little cost it
    less than Numba needs to compile their kernel. Loops with many rounds cost it more.
    """
    together = volume(as_dim3(blocks, "grid")) * volume(as_dim3(threads, "block"))
    return min(MOST_ROUNDS, MOST_WORK // (together + THREADS_FOR_NOTHING))


def gave_up(report: Report) -> bool:
    """Whether the simulator has found no more than that the launch is too large for it."""
    kinds = {finding.kind for finding in report.findings if not finding.advice}
    too_long = {"endless"} if report.budget_used_up else set()
    return bool(kinds) and kinds <= {"unsupported"} | too_long
