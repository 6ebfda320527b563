"""Where in the user's own files something happened."""

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numba
import numpy

LAB = str(Path(__file__).resolve().parents[1])
FOREIGN = [LAB, str(Path(numba.__file__).parent), str(Path(numpy.__file__).parent)]
ALSO_FOREIGN = ("numba_cuda", "numba_cuda_mlir", "contextlib.py", "<frozen")


class HostPlace(NamedTuple):
    """A line of host code; file "" if there is none."""

    file: str
    line: int


NOWHERE_ON_THE_HOST = HostPlace("", 0)


def leave_out(folder: str) -> None:
    """The files below a folder are not the user's either: those of a grader, for one."""
    if folder not in FOREIGN:
        FOREIGN.append(folder)


def host_place() -> HostPlace:
    """The line of the user's code that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return HostPlace(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return NOWHERE_ON_THE_HOST


def is_users(filename: str) -> bool:
    """Whether a file is neither the lab's own nor NumPy's nor Numba's."""
    if filename.startswith(tuple(FOREIGN)):
        # Whatever lies among the lab's files but is run as a script is the user's.
        return False
    return not any(part in filename for part in ALSO_FOREIGN)


class Current(threading.local):
    """Of each thread of the host: which device it has selected, the last of those it entered."""

    def __init__(self) -> None:
        self.stack = [0]
