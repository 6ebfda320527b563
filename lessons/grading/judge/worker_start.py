"""How a worker's process is started, in what folder and environment, and how the folder goes."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT

KEPT = (
    "HOME", "LANG", "PATH", "PATHEXT", "COMSPEC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
    "TMPDIR", "TZ", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
    "VIRTUAL_ENV", "WINDIR",
)  # fmt: skip
KEPT_BEGINNINGS = (
    "CONDA_", "CUDA", "DYLD_", "LC_", "LD_", "NUMBA_", "NVIDIA_", "PYTHON", "WSL_", "XDG_",
)  # fmt: skip
OTHER_NUMBA = {"NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_JIT"}  # would run kernels another way
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def private_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="lesson-"))
    except OSError as error:
        raise InputError(
            f"a check needs a temporary folder ({error.strerror}): set TMPDIR to a folder of yours"
        ) from error


def remove_folder(folder: Path) -> None:
    """Remove what a worker has left: also folders in folders, as deep as it liked."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.name == "posix" and folder.exists():
        with suppress(OSError):
            flatten(folder)
            shutil.rmtree(folder, ignore_errors=True)


def flatten(folder: Path) -> None:
    """Move every folder within a folder to its top, where each has a short path."""
    waiting = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    count = 0
    while waiting:
        name = waiting.pop()
        (folder / name).chmod(0o700)
        for inner in list(os.scandir(folder / name)):
            if inner.is_dir(follow_symlinks=False):
                count += 1
                os.rename(inner.path, folder / f"moved-{count}")
                waiting.append(f"moved-{count}")


# What Numba says where it finds no place for locks between processes. A worker has none to share
# them with, and a student can do nothing about it.
WARNING_WITHOUT_LOCKS = "Could not obtain multiprocessing lock"


def worker_environment() -> dict[str, str]:
    """The environment of a worker: what Python, Numba and a GPU's driver use, and no secrets."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in KEPT
        or (name.upper().startswith(KEPT_BEGINNINGS) and name.upper() not in OTHER_NUMBA)
    }
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    # One thread: what a worker gives up, it gives up for the thread that says so.
    return {
        **kept,
        **ONE_THREAD,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONWARNINGS": f"ignore:{WARNING_WITHOUT_LOCKS}",
    }


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
    return started(folder, log, ["process"], worker_environment())


def started(
    folder: Path, log: IO[bytes], words: list[str], environment: dict[str, str], *descriptors: int
) -> Process:
    """words: a module of `worker` and what it is given. descriptors: those that it inherits."""
    module, *given = words
    return subprocess.Popen(
        [sys.executable, "-m", f"lessons.grading.worker.{module}", *given],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder, env=environment,
        pass_fds=descriptors,
        # A session of its own makes it the head of a process group that can be ended as one.
        start_new_session=os.name == "posix",
    )  # fmt: skip
