"""A worker that is never given a student's file: it stays warm, and forks workers that are.

    python -m lessons.grading.worker.warm_server SOCKET    (the judge starts it: `warm_workers`)

Importing Numba takes a second, compiling our own kernels for lesson 9 takes twenty. This process
does both once, by running our solutions as any worker would; when the judge closes its pipe, it
begins to fork. What it has compiled is memory, which a fork can change for itself alone.

It is also the parent of whatever a student's file starts and leaves behind, and ends it.
"""

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from lessons.grading.worker.process import answer_requests, give_up_rights, greet, private_pipes
from lessons.grading.worker.worker import Worker
from lessons.lab.compiled.cores import end_workers
from lessons.lab.source import Source

PR_SET_CHILD_SUBREAPER = 36
MAX_REQUEST = 1 << 16
DESCRIPTORS = 4  # a request brings: requests to read, replies to write, a log, a pipe for the end


class WarmServer:
    """Forks workers on request, and tells how each of them ended."""

    def __init__(self, worker: Worker, requests: socket.socket) -> None:
        self.worker = worker
        self.requests = requests
        self.ends: dict[int, int] = {}  # process -> pipe into which its exit status is written

    def serve(self) -> None:
        """Until the judge is gone; then no worker stays."""
        try:
            self.fork_on_request()
        finally:
            for process in self.ends:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process, signal.SIGKILL)
            self.end_strays()

    def fork_on_request(self) -> None:
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it only has to wake up whoever waits
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        selector = selectors.DefaultSelector()
        selector.register(woken, selectors.EVENT_READ)
        selector.register(self.requests, selectors.EVENT_READ)
        # Nothing here will ever be garbage; looking at it would copy the pages in every fork.
        gc.freeze()
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.requests:
                    if not self.answer():
                        return
                    continue
                with suppress(BlockingIOError):
                    os.read(woken, MAX_REQUEST)
                self.bury()

    def answer(self) -> bool:
        """Fork a worker for one request; False if there are no more."""
        message, descriptors, _, _ = socket.recv_fds(self.requests, MAX_REQUEST, DESCRIPTORS)
        if not message:
            return False
        request = json.loads(message)
        process = None
        with suppress(OSError):  # the system has no room for a process just now
            process = os.fork()
        if process == 0:
            self.become_worker(request["folder"], descriptors)
        *others, end = descriptors
        for descriptor in others:
            os.close(descriptor)
        if process is None:
            os.close(end)
        else:
            self.ends[process] = end
        answer = {"number": request["number"], "process": process}
        self.requests.send(json.dumps(answer).encode())
        return True

    def become_worker(self, folder: str, descriptors: list[int]) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for standard, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, standard)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.chdir(folder)
            requests, replies = private_pipes()
            give_up_rights(has_gpu=False)
            greet(self.worker, replies)
            answer_requests(self.worker, requests, replies)
            status = 0
        finally:
            os._exit(status)

    def bury(self) -> None:
        """Tell how workers ended, and end what they have left behind."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            process = ended.si_pid
            # As long as its number is not given away, the group's is not either.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            self.end_strays()
            end = self.ends.pop(process, None)
            if end is not None:
                with suppress(OSError):
                    os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(end)

    def end_strays(self) -> None:
        """Kill the children that this process has not forked: they were orphaned by a worker."""
        for process in children():
            if process not in self.ends:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)


def children() -> list[int]:
    """The numbers of this process's children; none where the system does not tell."""
    try:
        found = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return []
    return [int(number) for number in found.split()]


def main() -> None:
    requests, replies = private_pipes()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become its children
    worker = Worker()
    greet(worker, replies)
    answer_requests(worker, requests, replies)
    # A fork has none of the threads that wait for native kernels; it makes its own.
    end_workers()
    for thing in gc.get_objects():
        if type(thing) is Source:  # compiled kernels keep the texts of ours
            thing.lines.clear()
    WarmServer(worker, socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
