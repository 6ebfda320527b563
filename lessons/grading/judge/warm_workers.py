"""Workers that begin warm: forked, where the system can, from one that has compiled our kernels."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import WorkerProcess
from lessons.grading.judge.worker_start import Process, fresh_process, started, worker_environment

SECONDS_TO_FORK = 20.0
MAX_ANSWER = 1 << 12


class NotForked(Exception):
    """The warm process could not fork just now."""


class WarmWorkers:
    """Gives workers that are forked from a warm process, or fresh ones where that cannot be.

    They are as separate from each other as fresh ones. On Linux without a GPU (a GPU's driver
    survives no fork); elsewhere, and if the warm process ends, `new_pool` gives fresh workers.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()  # one request at a time
        self.server: WorkerProcess | None = None
        self.socket: socket.socket | None = None
        self.requests = 0

    def new_pool(self, any_code: bool = False, trusted: bool = False) -> WorkerPool:
        """any_code: see `WorkerProcess`; trusted: see `WorkerPool`."""
        warm = self.socket is not None
        return WorkerPool(trusted, lambda: WorkerProcess(self.process, any_code), warm)

    # ---------------------------------------------------------------- warming up

    def warm_up(self, practise: Callable[[WorkerPool], None] = lambda pool: None) -> bool:
        """Start the warm process, and have it practise. Returns whether it will fork.

        practise: runs files of our own with the pool that it is given, see `run.run_solutions`.
        """
        if not sys.platform.startswith("linux"):
            return False
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.server = WorkerProcess(
                lambda folder, log: self.start_server(theirs.fileno(), folder, log)
            )
        if self.server.no_gpu is None:
            self.stop()
            return False
        pool = WorkerPool(trusted=True)
        pool.worker = self.server
        practise(pool)
        if pool.worker is not self.server or not self.server.alive:
            pool.stop()
            self.stop()
            return False
        self.server.to_worker.close()  # from now on it forks
        return True

    def start_server(self, descriptor: int, folder: Path, log: IO[bytes]) -> Process:
        # One core each: a native kernel is then run by the process's only thread, and a process
        # with one thread can be forked.
        environment = {**worker_environment(), "NUMBA_NUM_THREADS": "1"}
        return started(folder, log, ["warm_server", str(descriptor)], environment, descriptor)

    # ---------------------------------------------------------------- forking

    def process(self, folder: Path, log: IO[bytes]) -> Process:
        """A worker's process, see `WorkerProcess`."""
        with self.lock:
            if self.socket is not None:
                try:
                    return self.forked(self.socket, folder, log)
                except (TimeoutError, NotForked):
                    pass  # this once; to close the socket would end the others' workers
                except (ConnectionError, ValueError):
                    self.socket.close()
                    self.socket = None
        return fresh_process(folder, log)

    def forked(self, server: socket.socket, folder: Path, log: IO[bytes]) -> Process:
        requests, replies, end = os.pipe(), os.pipe(), os.pipe()
        theirs = requests[0], replies[1], end[1]
        mine = requests[1], replies[0], end[0]
        self.requests += 1
        message = json.dumps({"folder": str(folder), "number": self.requests}).encode()
        try:
            server.settimeout(SECONDS_TO_FORK)
            socket.send_fds(server, [message], [theirs[0], theirs[1], log.fileno(), theirs[2]])
            process = self.answer_of(server)
        except BaseException:
            for descriptor in mine:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return ForkedProcess(process, *mine)

    def answer_of(self, server: socket.socket) -> int:
        """The number of the process that was forked for the last request."""
        while True:
            answer = json.loads(server.recv(MAX_ANSWER))  # ValueError: the server has ended
            if answer["number"] != self.requests:
                continue  # to one that was given up
            if answer["process"] is None:
                raise NotForked
            return int(answer["process"])

    def stop(self) -> None:
        with self.lock:
            if self.socket is not None:
                self.socket.close()
            self.socket = None
        if self.server is not None:
            self.server.stop()
            self.server = None


class ForkedProcess:
    """What `subprocess.Popen` is for a child: this is for the child of another process."""

    def __init__(self, process: int, requests: int, replies: int, end: int) -> None:
        self.pid = process
        self.stdin: IO[bytes] = os.fdopen(requests, "wb")
        self.stdout: IO[bytes] = os.fdopen(replies, "rb")
        self.end = os.fdopen(end, "rb", buffering=0)
        self.returncode: int | None = None
        self.lost = False  # whether the warm process itself was ended, which says nothing then
        self.lock = threading.Lock()

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, negative for a signal. Raises `subprocess.TimeoutExpired`."""
        with self.lock:  # whoever interrupts a grading waits here while its thread does
            if self.returncode is None:
                readable, _, _ = select.select([self.end], [], [], timeout)
                if not readable:
                    raise subprocess.TimeoutExpired("worker", timeout or 0.0)
                said = self.end.read(16) or b""
                self.lost = not said
                self.returncode = int(said) if said else -signal.SIGKILL
                self.end.close()
            return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
