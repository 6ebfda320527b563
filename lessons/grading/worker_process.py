"""The judge's side of grading: start a worker, ask it, and end it when its time is up.

The judge never imports a student's file. It reads the text, gives the worker a copy in a folder of
its own, and looks at what comes back as at a letter from a stranger: number, shape, type and size
are checked before anything else is.
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
from contextlib import suppress
from pathlib import Path

from lessons.course.lesson import ROOT
from lessons.grading.protocol import BadMessage, Packer, Unpacker, receive, send

START_SECONDS = 120  # a worker's own imports, and a first kernel if there is a GPU
PRINTED_BYTES = 2000
EXERCISE = "exercise.py"


class WorkerStopped(Exception):
    """The worker ended, or sent what is no answer."""


class WorkerTimeout(Exception):
    """The worker did not answer in time."""


class WorkerError(Exception):
    """The student's code raised an exception. Has its `kind`, and the `line`, None if unknown."""

    def __init__(self, kind, message, line):
        super().__init__(message)
        self.kind = kind
        self.line = line


class Worker:
    """One worker process, alive until `stop`."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lesson-"))
        self.log = open(self.folder / "printed.txt", "wb")
        self.number = 0
        self.last_words = None
        # A session of its own makes it the head of a process group that can be ended as one.
        own_group = {"start_new_session": True} if os.name == "posix" else {}
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lessons.grading.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=self.folder,
            env=environment,
            **own_group,
        )
        self.replies = queue.Queue()
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()
        try:
            greeting, _ = self.wait_for_reply(time.monotonic() + START_SECONDS)
        except BaseException:
            self.stop()
            raise
        self.no_gpu = greeting.get("no_gpu")
        self.device = str(greeting.get("device"))

    def collect(self):
        """Put every reply into the queue, and at last the reason why there are no more."""
        try:
            while True:
                self.replies.put(receive(self.process.stdout))
        except (EOFError, BadMessage, OSError, ValueError, MemoryError) as error:
            self.replies.put(error)

    def wait_for_reply(self, deadline):
        try:
            reply = self.replies.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise WorkerTimeout from None
        if isinstance(reply, EOFError):
            raise WorkerStopped(self.how_it_ended())
        if isinstance(reply, Exception):
            raise WorkerStopped("it sent something that is no answer")
        return reply

    def how_it_ended(self):
        try:
            status = self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "it closed its connection to the judge"
        if status < 0:
            return f"it was ended by {signal.Signals(-status).name}"
        return f"it ended itself with exit status {status}"

    def ask(self, content, arrays, deadline):
        """Send a request and return (reply, arrays); deadline: seconds of `time.monotonic()`.

        Raises `WorkerError`, `WorkerStopped` or `WorkerTimeout`. After the last two it is stopped.
        """
        self.number += 1
        try:
            self.send_in_time({**content, "number": self.number}, arrays, deadline)
            reply, results = self.wait_for_reply(deadline)
            if reply.get("number") != self.number:
                raise WorkerStopped("it sent an answer that was not asked for")
        except (WorkerStopped, WorkerTimeout):
            self.stop()
            raise
        if "error" in reply:
            error = reply["error"]
            raise WorkerError(error["type"], error["message"], error["line"])
        return reply, results

    def send_in_time(self, content, arrays, deadline):
        # A worker that does not read lets the pipe fill up: writing has to have an end, too.
        failure = []

        def write():
            try:
                send(self.process.stdin, content, arrays)
            except (OSError, ValueError) as error:
                failure.append(error)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(max(0.0, deadline - time.monotonic()))
        if writer.is_alive():
            raise WorkerTimeout
        if failure:
            raise WorkerStopped(self.how_it_ended())

    def load(self, text, hide, deadline):
        """Give the worker a student's file. hide: module -> functions of it that are the solution."""
        path = self.folder / EXERCISE
        path.write_bytes(text)
        self.ask({"do": "load", "path": str(path), "hide": hide}, (), deadline)

    def run(self, function, arguments, backend, output_class, deadline):
        """Call `function(*arguments, launch=...)`. Returns (findings, [(sent, returned array)])."""
        packer = Packer(output_class)
        packed = [packer.pack(argument) for argument in arguments]
        request = {"do": "run", "function": function, "arguments": packed, "backend": backend}
        reply, results = self.ask(request, packer.arrays, deadline)
        self.require_alike(packer.arrays, results)
        return reply["findings"], list(zip(packer.originals, results, strict=True))

    def call(self, function, arguments, deadline):
        """The value of `function(*arguments)`, a number, an array or a tuple of them."""
        packer = Packer()
        packed = [packer.pack(argument) for argument in arguments]
        request = {"do": "call", "function": function, "arguments": packed}
        reply, results = self.ask(request, packer.arrays, deadline)
        try:
            return Unpacker(results).unpack(reply["result"])
        except (BadMessage, KeyError, IndexError, TypeError, ValueError):
            self.stop()
            raise WorkerStopped("it sent something that is no answer") from None

    def require_alike(self, sent, results):
        kinds = [(array.shape, array.dtype) for array in sent]
        if [(array.shape, array.dtype) for array in results] != kinds:
            self.stop()
            raise WorkerStopped("it sent arrays of another shape or type")

    def printed(self):
        """What the student's file has printed, at most the first `PRINTED_BYTES` of it."""
        if self.last_words is not None:
            return self.last_words
        try:
            with open(self.folder / "printed.txt", "rb") as file:
                return file.read(PRINTED_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    @property
    def alive(self):
        return self.process.poll() is None and self.folder.exists()

    def stop(self):
        """End the worker and all that it has started."""
        if self.last_words is not None:
            return
        self.last_words = self.printed()
        if os.name == "posix":
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        else:
            command = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            subprocess.run(command, capture_output=True)
        self.process.kill()
        self.process.wait()
        self.log.close()
        with suppress(OSError):
            self.process.stdin.close()
        # A child that fled from the group may hold the pipe open; then the reader keeps it.
        self.reader.join(timeout=1)
        if not self.reader.is_alive():
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)
