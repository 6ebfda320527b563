"""At a first start two processes compile, which waits less long than one.

Numba compiles one function at a time in a process, however many threads ask. A second process,
`python -m MODULE ...`, leaves what it compiles in the same folder on the disk, where the first one
finds it. Nothing depends on that: what is not there, the first process compiles itself.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.cpu.compile import KEEP

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds; then the first process compiles the rest itself


def worth_it() -> bool:
    """Whether there is a core for a second process, and a folder for what it compiles."""
    return KEEP and (os.cpu_count() or 1) > 1


@contextmanager
def while_another_runs(module: str, *arguments: object) -> Iterator[None]:
    """`python -m module arguments` runs meanwhile, and has ended afterwards."""
    process = start(module, arguments)
    try:
        yield
        if process:
            process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process:
            process.kill()
            process.wait()


def start(module: str, arguments: tuple[object, ...]) -> "subprocess.Popen[bytes] | None":
    command = [sys.executable, "-m", module, *map(str, arguments)]
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError:
        return None
