"""The worker: the only process that ever runs a student's file.

    python -m lessons.grading.worker        (started by the judge, which talks to it over its pipes)

It imports the file, calls the functions that the judge names with the arrays that the judge sends,
on the engine that the judge chooses, and returns the arrays as they are afterwards. It never sees
an expected result, so there is nothing here to find out or to change. Whatever goes wrong, the
judge ends it, and begins with a new one.
"""

import importlib.util
import linecache
import os
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numba import cuda

from kernels.errors import InputError
from kernels.launch import on_gpu
from kernels.training.devices import gpu_name, why_no_gpu
from lessons.grading.allowed_names import MODULES, prepare_numba, safe_builtins
from lessons.grading.confinement import confine
from lessons.grading.limits import leave_with, limit_resources
from lessons.grading.own_kernels import OwnKernels, watched
from lessons.grading.plain_code import plain_code
from lessons.grading.protocol import Json, Packer, Unpacker, receive, send
from lessons.grading.reported import Finding, Row, doubles, problems, rows_of
from lessons.grading.stage_calls import StageCalls
from lessons.lab.compiled.engine import launch as launch_native
from lessons.lab.simulator.report import Report
from lessons.lab.simulator.run import checked_run

# Everything a lesson may need is imported before the student's file can touch it.
if importlib.util.find_spec("kernels.cpu"):  # a handout has none
    import kernels.cpu.step
import kernels.training_step  # noqa: F401  isort: skip

for module_name in sorted(MODULES):
    if module_name.startswith("kernels") and importlib.util.find_spec(module_name):
        # Their text, too: the simulator reads what a kernel calls, and will not find the file.
        linecache.getlines(str(importlib.import_module(module_name).__file__))

# The judge's own: what is expected, in NumPy.
NOT_FOR_STUDENTS = ("lessons.reference", "lessons.reference_training")
MODULE = "exercise"
PICTURE = "accesses.png"
MOST_ROUNDS = 50_000  # of loops in a run on the checked simulator; no exercise needs a tenth of it

Arrays = list[np.ndarray]
Launcher = Callable[..., None]
Size = int | tuple[int, ...]  # of a grid or a block


class Found(Exception):
    """The checked simulator found something; there is no point in going on."""


class Solution:
    """Stands where a reference was that the student is to write."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: object, **keywords: object) -> NoReturn:
        raise InputError(f"{self.name} of kernels/ is the solution; write your own")

    def __getattr__(self, attribute: str) -> NoReturn:
        raise InputError(f"{self.name} of kernels/ is the solution; write your own")


class Worker:
    """Answers requests; holds the student's file, once there is one."""

    def __init__(self) -> None:
        self.module = types.ModuleType(MODULE)
        self.hidden: list[tuple[types.ModuleType, str, object]] = []  # module, name, original
        self.report: Report | None = None  # of the last run in which something was found
        self.last: Report | None = None  # of the last kernel that was recorded
        self.doubles: list[Finding] = []  # of the last run
        self.counts: list[Row] = []
        self.stages = StageCalls()
        self.gpu_obstacle = why_no_gpu()
        prepare_numba(has_gpu=self.gpu_obstacle is None)

    def answer(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """(reply, arrays) for one request of the judge."""
        if request["do"] == "load":
            for file in request["earlier"]:
                self.load_earlier(file["path"], file["functions"])
            self.load(request)
            return {}, []
        if request["do"] == "call":
            return self.call(request, arrays)
        if request["do"] == "draw":
            return {}, [self.picture()]
        if request["do"] == "replay":
            return {"replay": self.last.replay_data() if self.last else ""}, []
        return self.run(request, arrays)

    def load(self, request: Json) -> None:
        """Import the student's file, with the functions it has to write hidden from it.

        The request has "path"; "hide" and "given", module -> names: what is hidden, and what the
        exercise came with, in case it is gone; "any_code": run all of the file, and not only what
        `plain_code` allows.
        """
        path, hide = request["path"], request["hide"]
        for module, name, original in self.hidden:
            setattr(module, name, original)
        self.hidden.clear()
        for module_name, names in hide.items():
            module = importlib.import_module(module_name)
            for name in names:
                self.hidden.append((module, name, getattr(module, name)))
                setattr(module, name, Solution(name))
        linecache.checkcache(path)
        self.module = types.ModuleType(MODULE)
        self.module.__file__ = path
        sys.modules[MODULE] = self.module
        text = Path(path).read_text(encoding="utf-8")
        if request["any_code"]:
            exec(compile(text, path, "exec"), self.module.__dict__)
        else:
            run_plain(text, path, self.module, hide)
        self.add_missing(request["given"])

    def add_missing(self, given: dict[str, list[str]]) -> None:
        """Give the student's file those functions of its exercise that it lacks."""
        mine = self.module.__dict__
        for module_name, names in given.items():
            theirs = vars(importlib.import_module(module_name))
            for name in names:
                function = theirs[name]
                if name not in mine and isinstance(function, types.FunctionType):
                    known = {**theirs, **mine}
                    mine[name] = types.FunctionType(
                        function.__code__, known, name, function.__defaults__
                    )

    def load_earlier(self, path: str, functions: dict[str, list[str]]) -> None:
        """Put functions of an earlier lesson's file in the place of those that kernels/ lacks."""
        name = Path(path).stem
        module = types.ModuleType(name)
        try:
            run_plain(Path(path).read_text(encoding="utf-8"), path, module, functions)
        except Exception as error:
            raise InputError(f"{name}, which this lesson uses, has an error: {error}") from None
        for module_name, names in functions.items():
            for function in names:
                replace_everywhere(module_name, function, getattr(module, function))

    @property
    def path(self) -> str:
        """Of the student's file."""
        return str(self.module.__file__)

    def find(self, name: str) -> Callable:
        if not hasattr(self.module, name):
            raise InputError(f"there is no function {name} in the file")
        return getattr(self.module, name)

    def call(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        unpacker = Unpacker(arrays, self.find)
        arguments = [unpacker.unpack(argument) for argument in request["arguments"]]
        packer = Packer()
        function = self.find(request["function"])
        function = getattr(function, "py_func", function)  # a device function cannot be called
        result = packer.pack(plain(function(*arguments)))
        return {"result": result}, packer.arrays

    def run(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """Call a launch function on an engine; returns the arrays as they are then."""
        backend = request["backend"]
        if backend == "cuda":
            return self.run_on_gpu(request, arrays)
        self.report = self.last = None
        self.doubles, self.counts = [], []
        launch = launch_native if backend == "native" else self.checked(request, arrays)
        with suppress(Found):
            self.launch(request, arrays, launch)
        found = {"findings": problems(self.report, self.path), "doubles": self.doubles}
        return {**found, "counts": self.counts, "calls": self.stages.made}, arrays

    def checked(self, request: Json, arrays: Arrays) -> Launcher:
        """A launcher that runs a kernel on the checked simulator, and keeps a report of problems.

        In the request, "record" asks for what `picture` and a replay need, "measure" for counts.
        """
        record, measure = request["record"], request["measure"]

        def launch(kernel: Callable, blocks: Size, threads: Size, *arguments: object) -> None:
            report = checked_run(
                kernel, blocks, threads, *arguments, measure=measure, record=record,
                budget=MOST_ROUNDS,
            )  # fmt: skip
            self.last = report if record else None
            self.doubles += doubles(report, self.path)
            if measure:
                self.counts += rows_of(report, arguments, arrays)
            if problems(report, self.path):
                self.report = report
                raise Found

        return launch

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
        reply = {"findings": [], "doubles": [], "counts": [], "calls": self.stages.made}
        return reply, [array.copy_to_host() for array in on_device]

    def launch(self, request: Json, arrays: Sequence[Any], launch: Launcher) -> None:
        unpacker = Unpacker(arrays, self.find)
        arguments = self.stages.watched([unpacker.unpack(a) for a in request["arguments"]])
        name = request["function"]
        if request["backend"] == "cuda" or not name.startswith("launch_"):
            self.find(name)(*arguments, launch=launch)
            return
        own = OwnKernels(arrays, self.path, name)
        self.find(name)(*arguments, launch=watched(launch, own))
        own.at_the_end()


def run_plain(text: str, path: str, module: types.ModuleType, names: dict[str, list[str]]) -> None:
    """Run what of a file is no more than an exercise.

    names: module of kernels/ -> the functions in their place that the file has to define.
    """
    wanted = [function for functions in names.values() for function in functions]
    code = plain_code(text, wanted, path)
    module.__dict__["__builtins__"] = safe_builtins()
    exec(compile(code.tree, path, "exec", dont_inherit=True), module.__dict__)


def replace_everywhere(module_name: str, name: str, new: object) -> None:
    """Put `new` wherever a module of kernels/ has this function, also where it was imported."""
    old = getattr(importlib.import_module(module_name), name)
    for other, module in list(sys.modules.items()):
        if other.startswith("kernels") and getattr(module, name, None) is old:
            setattr(module, name, new)


def plain(value: object) -> object:
    """A returned value with ordinary tuples, so that it can be sent."""
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    return value


# ---------------------------------------------------------------- errors, limits, pipes


def describe(error: BaseException, path: str | None) -> Json:
    """{"type", "message", "line"} of an exception, with the line of the student's file."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == path:
            line = number
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    try:
        message = str(error)
    except Exception:
        message = "(it has no message)"
    lines = [part.strip() for part in message.splitlines() if part.strip()]
    return {"type": type(error).__name__, "message": " ".join(lines)[:500], "line": line}


def private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Move the judge's pipes away from standard input and output, and let prints go to the log.

    Returns (requests to read, replies to write).
    """
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, replies


def greet(worker: Worker, replies: IO[bytes]) -> None:
    """Say that the worker is there, and what it runs on."""
    no_gpu = worker.gpu_obstacle
    device = "CPU" if no_gpu else gpu_name()
    send(replies, {"ready": True, "no_gpu": no_gpu, "device": device})


def answer_requests(worker: Worker, requests: IO[bytes], replies: IO[bytes]) -> None:
    """Until the judge closes its end."""
    path = None
    while True:
        try:
            request, arrays = receive(requests)
        except EOFError:
            return
        path = request.get("path", path)
        try:
            reply, results = worker.answer(request, arrays)
        # SystemExit and KeyboardInterrupt are the student's here, not ours.
        except BaseException as error:
            reply, results = {"error": describe(error, path)}, []
        sys.stdout.flush()
        reply["number"] = request["number"]
        send(replies, reply, [np.asarray(array) for array in results])


def give_up_rights(has_gpu: bool) -> None:
    """Bound what this process may use and reach, before it gets a student's file."""
    for name in NOT_FOR_STUDENTS:
        sys.modules[name] = None  # type: ignore[assignment]  # so that it cannot be imported
    limit_resources(has_gpu)
    os.environ["TMPDIR"] = os.getcwd()
    tempfile.tempdir = None  # so that it is looked up anew
    if not has_gpu:  # a GPU's driver writes to devices and sockets of its own
        confine(Path.cwd())


def main() -> None:
    requests, replies = private_pipes()
    worker = Worker()
    give_up_rights(has_gpu=worker.gpu_obstacle is None)
    threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    greet(worker, replies)
    answer_requests(worker, requests, replies)


if __name__ == "__main__":
    main()
