"""The judge's side of grading: start a worker, ask it, and end it when its time is up.

The judge never imports a student's file. It reads the text, gives the worker a copy in a folder of
its own, and treats every reply as untrusted input: number, shape, type and size are checked before
anything else is.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from kernels.errors import InputError
from lessons.course.earlier import Earlier
from lessons.course.lesson import ROOT
from lessons.grading.output import Output
from lessons.grading.protocol import BadMessage, Json, Packer, Unpacker, receive, send

START_SECONDS = 120  # a worker's own imports, and a first kernel if there is a GPU
PRINTED_BYTES = 2000
EXERCISE = "exercise.py"
PNG_BEGINNING, MAX_PICTURE = b"\x89PNG\r\n\x1a\n", 1 << 24
MAX_REPLAY = 1 << 21
NO_ANSWER = "it sent something that is no answer"

Reply = tuple[Json, list[np.ndarray]]
Finding = tuple[str, str, str]  # kind, number of the line, message


def private_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="lesson-"))
    except OSError as error:
        raise InputError(
            f"a check needs a temporary folder ({error.strerror}): set TMPDIR to a folder of yours"
        ) from error


def worker_environment() -> dict[str, str]:
    """The environment of a worker."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Process(Protocol):
    """What a worker's process can be asked: a part of `subprocess.Popen`."""

    stdin: Any
    stdout: Any
    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


StartProcess = Callable[[Path, IO[bytes]], Process]  # from a folder to run in and a log


def fresh_process(folder: Path, log: IO[bytes]) -> Process:
    return subprocess.Popen(
        [sys.executable, "-m", "lessons.grading.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=folder,
        env=worker_environment(),
        # A session of its own makes it the head of a process group that can be ended as one.
        start_new_session=os.name == "posix",
    )


class WorkerStopped(Exception):
    """The worker ended, or sent what is no answer."""


class WorkerTimeout(Exception):
    """The worker did not answer in time."""


class WorkerError(Exception):
    """The student's code raised an exception. Has its `kind`, and the `line`, None if unknown."""

    def __init__(self, kind: str, message: str, line: int | None) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line


class WorkerProcess:
    """One process that runs `lessons.grading.worker`, alive until `stop`."""

    def __init__(self, start: StartProcess = fresh_process) -> None:
        self.folder = private_folder()
        self.log = open(self.folder / "printed.txt", "wb")
        self.number = 0
        self.last_words: str | None = None
        self.process = start(self.folder, self.log)
        assert self.process.stdin and self.process.stdout, "both are pipes"
        self.to_worker, self.from_worker = self.process.stdin, self.process.stdout
        self.replies: queue.Queue[Reply | Exception] = queue.Queue()
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()
        try:
            greeting, _ = self.wait_for_reply(time.monotonic() + START_SECONDS)
        except BaseException:
            self.stop()
            raise
        self.no_gpu: str | None = greeting.get("no_gpu")
        self.device = str(greeting.get("device"))

    # ---------------------------------------------------------------- what it can be asked

    def load(
        self,
        text: bytes,
        hide: dict[str, list[str]],
        deadline: float,
        earlier: Sequence[Earlier] = (),
    ) -> None:
        """Give the worker a student's file.

        hide: module -> functions of it that are the solution. deadline: here and below, seconds of
        `time.monotonic()`. earlier: what is loaded before it. Raises what `ask` does.
        """
        path = self.folder / EXERCISE
        path.write_bytes(text)
        before = []
        for file in earlier:
            place = self.folder / f"{file.name}.py"
            place.write_bytes(file.text)
            before.append({"path": str(place), "functions": file.functions})
        request = {"do": "load", "path": str(path), "hide": hide, "earlier": before}
        self.ask(request, (), deadline)

    def run(
        self,
        function: str,
        arguments: Sequence[object],
        backend: str,
        deadline: float,
        record: bool = False,
    ) -> tuple[list[Finding], list[tuple[np.ndarray | Output, np.ndarray]]]:
        """Call `function(*arguments, launch=...)`. Returns (findings, [(sent, returned array)]).

        record: so that `picture` can draw, if something is found, and `replay` has something.
        """
        packer = Packer()
        packed = [packer.pack(argument) for argument in arguments]
        request = {
            "do": "run",
            "function": function,
            "arguments": packed,
            "backend": backend,
            "record": record,
        }
        reply, results = self.ask(request, packer.arrays, deadline)
        self.require_alike(packer.arrays, results)
        try:
            findings = [(str(kind), str(line), str(text)) for kind, line, text in reply["findings"]]
        except (KeyError, TypeError, ValueError):
            raise self.stopped(NO_ANSWER) from None
        return findings, list(zip(packer.originals, results, strict=True))

    def picture(self, deadline: float) -> bytes:
        """A PNG of the accesses to memory of the last `run` that had findings; empty if none.

        What it shows is the worker's word, and counts for nothing: it is for the student to see.
        """
        _, results = self.ask({"do": "draw"}, (), deadline)
        content = b"".join(array.tobytes() for array in results)
        if content and not content.startswith(PNG_BEGINNING):
            raise self.stopped(NO_ANSWER)
        return content[:MAX_PICTURE]

    def replay(self, deadline: float) -> str:
        """The data of a replay of the last kernel that `run` recorded; "" if there is none.

        As with `picture`, it counts for nothing. The page that shows it is the judge's own.
        """
        reply, _ = self.ask({"do": "replay"}, (), deadline)
        data = reply.get("replay")
        if not isinstance(data, str):
            raise self.stopped(NO_ANSWER)
        return data[:MAX_REPLAY]

    def call(self, function: str, arguments: Sequence[object], deadline: float) -> object:
        """The value of `function(*arguments)`, a number, an array or a tuple of them."""
        packer = Packer()
        packed = [packer.pack(argument) for argument in arguments]
        request = {"do": "call", "function": function, "arguments": packed}
        reply, results = self.ask(request, packer.arrays, deadline)
        try:
            return Unpacker(results).unpack(reply["result"])
        except (BadMessage, InputError, KeyError, IndexError, TypeError, ValueError):
            raise self.stopped(NO_ANSWER) from None

    def require_alike(self, sent: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        kinds = [(array.shape, array.dtype) for array in sent]
        if [(array.shape, array.dtype) for array in results] != kinds:
            raise self.stopped("it sent arrays of another shape or type")

    # ---------------------------------------------------------------- requests and replies

    def ask(self, content: Json, arrays: Sequence[np.ndarray], deadline: float) -> Reply:
        """Send a request and return the reply to it.

        Raises `WorkerError`, `WorkerStopped` or `WorkerTimeout`. After the last two it is stopped.
        """
        self.number += 1
        try:
            self.send_in_time({**content, "number": self.number}, arrays, deadline)
            reply, results = self.wait_for_reply(deadline)
        except (WorkerStopped, WorkerTimeout):
            self.stop()
            raise
        if reply.get("number") != self.number:
            raise self.stopped("it sent an answer that was not asked for")
        if "error" in reply:
            raise self.error_in(reply)
        return reply, results

    def error_in(self, reply: Json) -> Exception:
        try:
            error = reply["error"]
            line = None if error["line"] is None else int(error["line"])
            return WorkerError(str(error["type"]), str(error["message"]), line)
        except (KeyError, TypeError, ValueError):
            return self.stopped(NO_ANSWER)

    def stopped(self, reason: str) -> WorkerStopped:
        """Stop the worker; the error to raise."""
        self.stop()
        return WorkerStopped(reason)

    def send_in_time(self, content: Json, arrays: Sequence[np.ndarray], deadline: float) -> None:
        # A worker that does not read lets the pipe fill up: writing has to have an end, too.
        failure: list[Exception] = []

        def write() -> None:
            try:
                send(self.to_worker, content, arrays)
            except (OSError, ValueError) as error:
                failure.append(error)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(max(0.0, deadline - time.monotonic()))
        if writer.is_alive():
            raise WorkerTimeout
        if failure:
            raise WorkerStopped(self.how_it_ended())

    def collect(self) -> None:
        """Put every reply into the queue, and at last the reason why there are no more."""
        try:
            while True:
                self.replies.put(receive(self.from_worker))
        except (EOFError, BadMessage, OSError, ValueError, MemoryError) as error:
            self.replies.put(error)

    def wait_for_reply(self, deadline: float) -> Reply:
        try:
            reply = self.replies.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise WorkerTimeout from None
        if isinstance(reply, EOFError):
            raise WorkerStopped(self.how_it_ended())
        if isinstance(reply, Exception):
            raise WorkerStopped(NO_ANSWER)
        return reply

    def how_it_ended(self) -> str:
        try:
            status = self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "it closed its connection to the judge"
        if status < 0:
            return f"it was ended by {signal.Signals(-status).name}"
        return f"it ended itself with exit status {status}"

    # ---------------------------------------------------------------- its life

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and self.folder.exists()

    def printed(self) -> str:
        """What the student's file has printed, at most the first `PRINTED_BYTES` of it."""
        if self.last_words is not None:
            return self.last_words
        try:
            with open(self.folder / "printed.txt", "rb") as file:
                return file.read(PRINTED_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    def stop(self) -> None:
        """End the worker and all that it has started."""
        if self.last_words is not None:
            return
        self.last_words = self.printed()
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            command = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            subprocess.run(command, capture_output=True)
        self.process.kill()
        self.process.wait()
        self.log.close()
        with suppress(OSError):
            self.to_worker.close()
        # A child that fled from the group may hold the pipe open; then the reader keeps it.
        self.reader.join(timeout=1)
        if not self.reader.is_alive():
            self.from_worker.close()
        shutil.rmtree(self.folder, ignore_errors=True)
