"""A worker's process: its pipes to the judge, what it gives up, and its answers until its end.

python -m lessons.grading.worker.process    one that begins from nothing; the judge starts it
"""

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

import numpy as np

from kernels.training.devices import gpu_name
from lessons.grading.walls.confine import confine
from lessons.grading.walls.limits import leave_with, limit_resources
from lessons.grading.worker.protocol import receive, send
from lessons.grading.worker.reported import describe
from lessons.grading.worker.worker import Worker

# The judge's own: what is expected, in NumPy.
REFERENCE = Path(__file__).resolve().parents[2] / "reference"
NOT_FOR_STUDENTS = (
    "lessons.reference",
    *(f"lessons.reference.{path.stem}" for path in REFERENCE.glob("[!_]*.py")),
)


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
