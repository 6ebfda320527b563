"""The worker: the only process that ever runs a student's file.

    python -m lessons.grading.worker        (started by the judge, which talks to it over its pipes)

It imports the file, calls the functions that the judge names with the arrays that the judge sends,
on the engine that the judge chooses, and returns the arrays as they are afterwards. It never sees
an expected result, so there is nothing here to find out or to change. Whatever goes wrong, the
judge ends it, and begins with a new one.
"""

import importlib
import linecache
import os
import sys
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
from lessons.grading.protocol import Json, Packer, Unpacker, receive, send
from lessons.lab.compiled.engine import launch as launch_native
from lessons.lab.simulator.run import checked_run

# Everything a lesson may need is imported before the student's file can touch it.
import kernels.cpu.step  # isort: skip
import kernels.training_step  # noqa: F401  isort: skip

GIGABYTE = 1 << 30
MAX_MEMORY = 8 * GIGABYTE  # address space; where a GPU is, its driver reserves far more than this
MAX_DATA_WITH_GPU = 32 * GIGABYTE
MAX_FILE = GIGABYTE // 4
MODULE = "exercise"

Arrays = list[np.ndarray]
Launcher = Callable[..., None]
Size = int | tuple[int, ...]  # of a grid or a block
Finding = tuple[str, int, str]  # kind, number of the line, message


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
        self.gpu_obstacle = why_no_gpu()

    def answer(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """(reply, arrays) for one request of the judge."""
        if request["do"] == "load":
            self.load(request["path"], request["hide"])
            return {}, []
        if request["do"] == "call":
            return self.call(request, arrays)
        return self.run(request, arrays)

    def load(self, path: str, hide: dict[str, list[str]]) -> None:
        """Import the student's file, with the functions it has to write hidden from it."""
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
        exec(compile(text, path, "exec"), self.module.__dict__)

    def find(self, name: str) -> Callable:
        if not hasattr(self.module, name):
            raise InputError(f"there is no function {name} in the file")
        return getattr(self.module, name)

    def call(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        unpacker = Unpacker(arrays, self.find)
        arguments = [unpacker.unpack(argument) for argument in request["arguments"]]
        packer = Packer()
        result = packer.pack(plain(self.find(request["function"])(*arguments)))
        return {"result": result}, packer.arrays

    def run(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        """Call a launch function on an engine; returns the arrays as they are then."""
        backend = request["backend"]
        if backend == "cuda":
            return self.run_on_gpu(request, arrays)
        findings: list[Finding] = []
        launch = launch_native if backend == "native" else checking(findings)
        with suppress(Found):
            self.launch(request, arrays, launch)
        return {"findings": findings}, arrays

    def run_on_gpu(self, request: Json, arrays: Arrays) -> tuple[Json, Arrays]:
        on_device = [cuda.to_device(array) for array in arrays]
        self.launch(request, on_device, on_gpu)
        cuda.synchronize()
        return {"findings": []}, [array.copy_to_host() for array in on_device]

    def launch(self, request: Json, arrays: Sequence[Any], launch: Launcher) -> None:
        unpacker = Unpacker(arrays, self.find)
        arguments = [unpacker.unpack(argument) for argument in request["arguments"]]
        self.find(request["function"])(*arguments, launch=launch)


def checking(findings: list[Finding]) -> Launcher:
    """A launcher that runs a kernel on the checked simulator and keeps what is found."""

    def launch(kernel: Callable, blocks: Size, threads: Size, *arguments: object) -> None:
        report = checked_run(kernel, blocks, threads, *arguments, measure=False)
        for finding in report.findings:
            if not finding.advice:
                findings.append((finding.kind, finding.line, str(finding.message)))
        if findings:
            raise Found

    return launch


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


def limit_resources(has_gpu: bool) -> None:
    """Bound what a file may use, where the system can: memory, the size of files, no core dump."""
    try:
        import resource
    except ImportError:  # Windows; the judge's timeout still holds there
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: MAX_FILE}
    if has_gpu:
        limits[resource.RLIMIT_DATA] = MAX_DATA_WITH_GPU
    else:
        limits[resource.RLIMIT_AS] = MAX_MEMORY
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # a system that does not know this limit
            continue


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


def main() -> None:
    requests, replies = private_pipes()
    worker = Worker()
    no_gpu = worker.gpu_obstacle
    device = "CPU" if no_gpu else gpu_name()
    send(replies, {"ready": True, "no_gpu": no_gpu, "device": device})
    limit_resources(has_gpu=no_gpu is None)
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


if __name__ == "__main__":
    main()
