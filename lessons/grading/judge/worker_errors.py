"""How a question to a worker can end without an answer."""

from kernels.plumbing.errors import InputError


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
