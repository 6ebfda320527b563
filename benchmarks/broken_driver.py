"""Run broken kernels one after another on one engine: a process that `broken_kernels` starts.

python -m benchmarks.broken_driver ENGINE TASKS.json FIRST

ENGINE: checked (our simulator), numba (Numba's own, with NUMBA_ENABLE_CUDASIM=1) or gpu. Each task
has a line of the exported file, and the file that its text stands in, for Numba's cache. For each
from number FIRST on, two lines are printed: when it begins, and what came of it, so that whoever
reads knows which one is at work.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from lessons.broken import reader

BEGIN, END = "@begin", "@end"
AFTER_ERROR = 3  # exit status: this process can use the GPU no more


def main(engine, tasks, first):
    start = {"checked": Checked, "numba": Plain, "gpu": Gpu}[engine]
    for number, task in list(enumerate(json.loads(Path(tasks).read_text())))[int(first) :]:
        say(BEGIN, number, {})
        outcome = outcome_of(start(), task)
        say(END, number, outcome)
        if outcome.get("sticky"):
            return AFTER_ERROR
    return 0


def say(what, number, outcome):
    print(f"\n{what} {number} {json.dumps(outcome)}", flush=True)


def outcome_of(engine, task):
    """{"error"} if it was stopped, else {"found", "wrong"}: a finding, and how many numbers."""
    record, program = task["record"], task["record"][task["program"]]
    try:
        names = reader.loaded(program["source"], task["module"], task["file"])
        with np.errstate(all="ignore"):
            arrays = reader.run(record, program, engine.start, names, engine.put)
            arrays = engine.get(arrays)
    except Exception as error:
        kind, message = type(error).__name__, str(error)
        return {"error": f"{kind}: {message[:200]}", "sticky": engine.is_sticky(kind)}
    wrong = reader.wrong_arrays(record, arrays)
    return {"found": engine.found, "wrong": sum(map(len, wrong.values()))}


class Checked:
    """Our simulator, told which arrays hold garbage at first, as initcheck knows it."""

    def __init__(self):
        self.found = ""
        self.written = []  # (array of garbage, which of its elements are written)

    def put(self, array, recipe):
        if recipe.get("garbage"):
            self.written.append((array, np.zeros(array.shape, bool)))
        return array

    def start(self, kernel, grid, block, shared, arguments):
        from lessons.lab import checked_run

        code = getattr(kernel, "py_func", kernel).__code__
        given = list(zip(code.co_varnames, arguments, strict=False))
        garbage = {
            name: written
            for name, value in given
            for array, written in self.written
            if value is array
        }
        report = checked_run(
            kernel, grid, block, *arguments,
            measure=False, dynamic_shared=shared, uninitialised=garbage,
        )  # fmt: skip
        self.found = self.found or next((one.kind for one in report.problems), "")

    def get(self, arrays):
        return arrays

    def is_sticky(self, kind):
        return False


class Plain(Checked):
    """Numba's simulator: a thread of the processor per thread of a block."""

    def put(self, array, recipe):
        return array

    def start(self, kernel, grid, block, shared, arguments):
        kernel[grid, block, 0, shared](*arguments)


class Gpu(Plain):
    """The GPU, under a tool or without one."""

    def put(self, array, recipe):
        from numba import cuda

        if recipe.get("garbage"):
            return cuda.device_array(array.shape, array.dtype)
        return cuda.to_device(array)

    def start(self, kernel, grid, block, shared, arguments):
        from numba import cuda

        with suppress(RuntimeError, AttributeError):  # then it is compiled once more
            kernel.enable_caching()
        kernel[grid, block, 0, shared](*arguments)
        cuda.synchronize()

    def get(self, arrays):
        return [array.copy_to_host() for array in arrays]

    def is_sticky(self, kind):
        return kind in ("CudaAPIError", "CUDAError", "LinkerError")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
