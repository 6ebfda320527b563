"""The judge's side of grading: start a worker, ask it, and end it when its time is up.

The judge never imports a student's file. It reads the text, gives the worker a copy in a folder of
its own, and treats every reply as untrusted input: number, shape, type and size are checked before
anything else is.
"""

import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kernels.plumbing.errors import InputError
from lessons.course.earlier import Earlier
from lessons.grading.judge.worker_start import (
    StartProcess,
    fresh_process,
    private_folder,
    remove_folder,
)
from lessons.grading.worker.outcome import Counts, Outcome, read_findings, read_rows
from lessons.grading.worker.protocol import Json, Packer, Unpacker, receive, send, whole
from lessons.grading.worker.stage_calls import read_calls
from lessons.grading.worker.text import printable

START_SECONDS = 120  # a worker's own imports, and a first kernel if there is a GPU
PRINTED_BYTES = 2000
EXERCISE = "exercise.py"
PNG_BEGINNING, MAX_PICTURE = b"\x89PNG\r\n\x1a\n", 1 << 24
MAX_REPLAY = 1 << 21
MAX_RETURNED = 1 << 24  # bytes of arrays that a called function returns
MOST_LEFT_OUT = 8
MAX_MESSAGE = 2000  # characters of a text of the worker's
SECONDS_TO_END = 20
READABLE = 0o644
KIND = re.compile(r"[A-Z]\w{0,59}")  # names of exceptions; "grader" is not a student's
NO_ANSWER = "it sent something that is no answer"

Arrays = list[np.ndarray]
Beside = Sequence[tuple[Sequence[int], str]]
Reply = tuple[Json, Arrays]
Answer = TypeVar("Answer")


class WorkerStopped(Exception):
    """The worker ended, or sent what is no answer."""


class WorkerTimeout(Exception):
    """The worker did not answer in time."""


class WorkerLost(InputError):
    """A worker could not be started, or has gone with the one that it was forked from.

    That is the machine's fault, and not the file's.
    """


class WorkerError(Exception):
    """The student's code raised an exception. Has its `kind`, and the `line`, None if unknown."""

    def __init__(self, kind: str, message: str, line: int | None) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line


class WorkerProcess:
    """One process that runs `lessons.grading.worker`, alive until `stop`."""

    def __init__(self, start: StartProcess = fresh_process, any_code: bool = False) -> None:
        """any_code: whether a file may use all of Python. Its checks then prove nothing: it is for
        tests of what confines a worker.
        """
        self.any_code = any_code
        self.number = 0
        self.writer: threading.Thread | None = None
        self.last_words: str | None = None
        self.left_out: list[str] = []  # of the file: lines on what does not run
        self.most_bytes = 0  # of the arrays in a reply
        # One at a time: whoever sends more than was asked for waits.
        self.replies: queue.Queue[Reply | Exception] = queue.Queue(1)
        self.folder = private_folder()
        # Read through a file of the judge's own: the worker may put another in its place.
        self.log = open(self.folder / "printed.txt", "wb")
        self.log_to_read = open(self.folder / "printed.txt", "rb")
        try:
            self.process = start(self.folder, self.log)
        except BaseException:
            self.close_log()
            raise
        assert self.process.stdin and self.process.stdout, "both are pipes"
        self.to_worker, self.from_worker = self.process.stdin, self.process.stdout
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()
        try:
            greeting, _ = self.wait_for_reply(time.monotonic() + START_SECONDS)
        except BaseException as error:
            self.stop()
            if isinstance(error, (WorkerStopped, WorkerTimeout)):
                why = str(error) or f"it said nothing in {START_SECONDS} seconds"
                raise WorkerLost(f"a worker could not be started: {why}") from None
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
        given: dict[str, list[str]] | None = None,
        ours: Sequence[str] = (),
        forget: bool = True,
    ) -> None:
        """Give the worker a student's file.

        hide: module -> functions of it that are the solution. given: module -> functions that the
        exercise came with. deadline: here and below, seconds of `time.monotonic()`. earlier: what
        is loaded before it. ours: hidden functions that take the place of the file's own. forget:
        the texts of solutions, so that this worker is for one lesson. Raises what `ask` does.
        """
        path = self.put(EXERCISE, text)
        before = [
            {"path": str(self.put(f"{file.name}.py", file.text)), "functions": file.functions}
            for file in earlier
        ]
        request = {
            "do": "load", "path": str(path), "hide": hide, "given": given or {},
            "earlier": before, "ours": list(ours), "any_code": self.any_code,
            "forget": forget,
        }  # fmt: skip
        reply, _ = self.ask(request, (), deadline)
        lines = reply.get("left_out")
        kept = lines[:MOST_LEFT_OUT] if isinstance(lines, list) else []
        self.left_out = [printable(str(line)[:MAX_MESSAGE]) for line in kept]

    def put(self, name: str, text: bytes) -> Path:
        """Write a file into the worker's folder, where it may be another user who reads it."""
        path = self.folder / name
        path.write_bytes(text)
        path.chmod(READABLE)
        return path

    def run(
        self,
        function: str,
        arguments: Sequence[object],
        backend: str,
        deadline: float,
        record: bool = False,
        measure: bool = False,
        orders: Sequence[str | int] = (),
        conducts: bool = False,
        ask_numba: bool = True,
        watch: Beside | None = None,
    ) -> Outcome:
        """Call `function(*arguments, launch=...)`.

        record: so that `picture` can draw, if something is found, and `replay` has something.
        measure: count accesses. orders: of threads, in which the bits have to be the same.
        conducts: the function calls launch functions, and computes nothing itself. ask_numba: see
        `checked_run`. watch: so that `computed` has something; see `Watched`.
        """
        packer = Packer()
        request = {
            "do": "run", "function": function, "arguments": packer.packed(arguments),
            "backend": backend, "record": record, "measure": measure, "orders": list(orders),
            "conducts": conducts, "ask_numba": ask_numba, "watch": watch,
        }  # fmt: skip
        most = sum(array.nbytes for array in packer.arrays)

        def read(reply: Json, results: Arrays) -> Outcome:
            self.require_alike(packer.arrays, results)
            findings, doubles = read_findings(reply["findings"]), read_findings(reply["doubles"])
            counts = Counts(packer.originals, read_rows(reply["counts"]))
            both = list(zip(packer.originals, results, strict=True))
            calls, was_native = read_calls(reply["calls"]), bool(reply["native"])
            return Outcome(findings, doubles, counts, both, calls, was_native)

        return self.ask_for(request, packer.arrays, deadline, read, most)

    def picture(self, deadline: float) -> bytes:
        """A PNG of the accesses to memory of the last `run` that had findings; empty if none.

        What it shows is the worker's word, and counts for nothing: it is for the student to see.
        """
        _, results = self.ask({"do": "draw"}, (), deadline, MAX_PICTURE)
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

    def computed(self, deadline: float) -> tuple[list[tuple[int, ...]], np.ndarray]:
        """What some threads have computed in the last `run`; see `Watched`. As with `picture`."""
        reply, (places, numbers) = self.ask({"do": "watched"}, (), deadline, MAX_RETURNED)
        spans = [tuple(map(whole, span)) for span in reply["spans"]]
        return [spans[place] for place in places], numbers

    def call(self, function: str, arguments: Sequence[object], deadline: float) -> object:
        """The value of `function(*arguments)`, a number, an array or a tuple of them."""
        packer = Packer()
        request = {"do": "call", "function": function, "arguments": packer.packed(arguments)}
        return self.ask_for(request, packer.arrays, deadline, returned_in)

    def require_alike(self, sent: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        kinds = [(array.shape, array.dtype) for array in sent]
        if [(array.shape, array.dtype) for array in results] != kinds:
            raise self.stopped("it sent arrays of another shape or type")

    # ---------------------------------------------------------------- requests and replies

    def ask(
        self, content: Json, arrays: Sequence[np.ndarray], deadline: float, most_bytes: int = 0
    ) -> Reply:
        """Send a request and return the reply to it.

        most_bytes: of the arrays in the reply. Raises `WorkerError`, `WorkerStopped` or
        `WorkerTimeout`; after the last two it is stopped. Also `WorkerLost`.
        """
        self.number += 1
        self.most_bytes = most_bytes
        try:
            self.send_in_time({**content, "number": self.number}, arrays, deadline)
            reply, results = self.wait_for_reply(deadline)
        except (WorkerLost, WorkerStopped, WorkerTimeout):
            self.stop()
            raise
        if reply.get("number") != self.number:
            raise self.stopped("it sent an answer that was not asked for")
        if "error" in reply:
            raise self.error_in(reply)
        return reply, results

    def ask_for(
        self, content: Json, arrays: Arrays, deadline: float,
        read: Callable[[Json, Arrays], Answer], most_bytes: int = MAX_RETURNED,
    ) -> Answer:  # fmt: skip
        """What `read` makes of the reply to a request. Raises what `ask` does."""
        reply, results = self.ask(content, arrays, deadline, most_bytes)
        try:
            return read(reply, results)
        except WorkerStopped:
            raise
        except Exception:  # a stranger decides what is wrong with it
            raise self.stopped(NO_ANSWER) from None

    def error_in(self, reply: Json) -> Exception:
        try:
            error = reply["error"]
            line = None if error["line"] is None else whole(error["line"])
            kind, message = str(error["type"]), str(error["message"])
        except Exception:
            return self.stopped(NO_ANSWER)
        kind = kind if KIND.fullmatch(kind) else "Exception"
        return WorkerError(kind, printable(message[:MAX_MESSAGE]), line)

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

        self.writer = threading.Thread(target=write, daemon=True)
        self.writer.start()
        self.writer.join(max(0.0, deadline - time.monotonic()))
        if self.writer.is_alive():
            raise WorkerTimeout
        if failure:
            raise self.ended()

    def collect(self) -> None:
        """Put every reply into the queue, and at last the reason why there are no more."""
        try:
            while self.last_words is None:
                self.replies.put(receive(self.from_worker, lambda: self.most_bytes))
        except Exception as error:
            self.replies.put(error)

    def wait_for_reply(self, deadline: float) -> Reply:
        try:
            reply = self.replies.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise WorkerTimeout from None
        if isinstance(reply, EOFError):
            raise self.ended()
        if isinstance(reply, Exception):
            raise WorkerStopped(NO_ANSWER)
        return reply

    def ended(self) -> Exception:
        """The error to raise for a worker that has ended by itself."""
        how = self.how_it_ended()
        if getattr(self.process, "lost", False):
            return WorkerLost("a worker has gone, with the process that it was forked from")
        return WorkerStopped(how)

    def how_it_ended(self) -> str:
        try:
            status = self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "it closed its connection to the judge"
        if status < 0:
            named = -status in [known.value for known in signal.Signals]
            name = signal.Signals(-status).name if named else f"signal {-status}"
            return f"it was ended by {name}"
        return f"it ended itself with exit status {status}"

    # ---------------------------------------------------------------- its life

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and self.folder.exists()

    def printed(self) -> str:
        """What the student's file has printed, at most the first `PRINTED_BYTES` of it."""
        if self.last_words is not None:
            return self.last_words
        self.log_to_read.seek(0)
        return printable(self.log_to_read.read(PRINTED_BYTES).decode("utf-8", "replace"))

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
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_END)
        self.close_pipes()
        self.close_log()

    def close_log(self) -> None:
        self.log.close()
        self.log_to_read.close()
        remove_folder(self.folder)

    def close_pipes(self) -> None:
        # A child that fled from the group may hold a pipe open; then whoever uses it keeps it.
        if self.writer is not None:
            self.writer.join(timeout=1)
        if self.writer is None or not self.writer.is_alive():
            with suppress(OSError):
                self.to_worker.close()
        with suppress(queue.Empty):
            self.replies.get_nowait()  # so that the reader can go on, to the end
        self.reader.join(timeout=1)
        if not self.reader.is_alive():
            self.from_worker.close()
        # Another thread may wait for the reply that was just taken, until its deadline.
        with suppress(queue.Full):
            self.replies.put_nowait(EOFError())


def returned_in(reply: Json, arrays: Arrays) -> Any:
    """The value in a reply that a function has returned."""
    return Unpacker(arrays).unpack(reply["result"])
