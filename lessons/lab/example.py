"""The lab on a kernel that reverses its input: without its barrier, repaired, measured and drawn.

python -m lessons.lab.example [PICTURE.png]
"""

# Numba compiles kernels: their types are Numba's.
# mypy: allow-untyped-defs

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from numba import cuda, float32

from kernels.errors import InputError
from lessons.lab import checked_run

THREADS = 8


@cuda.jit
def turn_around_too_early(values, result):
    tile = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = values[i]
    result[i] = tile[THREADS - 1 - thread]


@cuda.jit
def turn_around(values, result):
    tile = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = values[i]
    # Thread 0 reads what thread 7 writes: nobody may go on before everybody has written.
    cuda.syncthreads()
    result[i] = tile[THREADS - 1 - thread]


def main() -> None:
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/lab/accesses.png")
    values = np.arange(2 * THREADS, dtype=np.float32)
    result = np.zeros_like(values)

    print(checked_run(turn_around_too_early, 2, THREADS, values, result), end="\n\n")

    report = checked_run(turn_around, 2, THREADS, values, result, record=True)
    print(report, end="\n\n")
    print(report.table(), end="\n\n")
    with suppress(OSError):  # whatever is in the way there, is in the way of the picture too
        picture.parent.mkdir(parents=True, exist_ok=True)
    try:
        report.picture(picture)
    except InputError:
        print(f"no picture: cannot write {picture}; name another place as PICTURE.png")
        return
    print(f"which thread touched which element: {picture}")


if __name__ == "__main__":
    main()
