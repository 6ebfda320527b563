"""The lab on a kernel that reverses its input: without its barrier, repaired, measured and drawn.

python -m lessons.lab.example
python -m lessons.lab.example --help
"""

# Numba compiles kernels: their types are Numba's.
# mypy: allow-untyped-defs

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numba import cuda, float32

from . import checked_run
from .errors import InputError, OneLineParser

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


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        run_example(parse(arguments))
        sys.stdout.flush()
    except InputError as error:
        print("error:", " ".join(str(error).splitlines()), file=sys.stderr)
        return 2
    except BrokenPipeError:  # as behind `| head`: nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor at Python's end
    return 0


USUAL_PICTURE = "runs/lab/accesses.png"


def parse(arguments: Sequence[str] | None) -> Path:
    """The file to draw into."""
    parser = OneLineParser(
        prog="python -m lessons.lab.example",
        description="Run a kernel that reverses its input in the checked simulator: without its "
        "barrier, which it reports as a race, and repaired. Then measure and draw it, and write a "
        "replay of the race for a browser beside the picture.",
    )
    parser.add_argument(
        "picture",
        nargs="?",
        metavar="PICTURE.png",
        default=USUAL_PICTURE,
        help="file for the drawing of its memory accesses (default: runs/lab/accesses.png)",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace files that are there under these names (default: refuse)",
    )
    options = parser.parse_args(arguments)
    picture = Path(options.picture)
    if picture.suffix.lower() != ".png":
        raise InputError(f"{picture} must end in .png: the drawing is a PNG file")
    for path in (picture, picture.with_suffix(".html")):
        if path.exists() and not options.overwrite and options.picture != USUAL_PICTURE:
            raise InputError(f"{path} exists already: use another name, or add --overwrite")
    return picture


def run_example(picture: Path) -> None:
    values = np.arange(2 * THREADS, dtype=np.float32)
    result = np.zeros_like(values)

    too_early = checked_run(turn_around_too_early, 2, THREADS, values, result, record=True)
    print(too_early, end="\n\n")

    report = checked_run(turn_around, 2, THREADS, values, result, record=True)
    print(report, end="\n\n")
    print(report.table(), end="\n\n")
    with suppress(OSError):  # whatever is in the way there, is in the way of the picture too
        picture.parent.mkdir(parents=True, exist_ok=True)
    try:
        too_early.html(picture.with_suffix(".html"))
        report.picture(picture)
    except InputError as error:
        print(f"no picture: {error}, as PICTURE.png")
        return
    print(f"which thread touched which element: {picture}")
    print(f"the race, step by step, in a browser: {picture.with_suffix('.html')}")


if __name__ == "__main__":
    sys.exit(main())
