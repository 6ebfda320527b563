"""Run broken kernels one after another on one engine: a process that `broken_kernels` starts.

    python -m benchmarks.broken_driver ENGINE TASKS.json FIRST

ENGINE: checked (our simulator), numba (Numba's own, with NUMBA_ENABLE_CUDASIM=1) or gpu. Each task
is a line of the exported file, and a file with its text, for Numba's cache. For each from number
FIRST on two lines are printed: when it begins, and what came of it.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from lessons.broken import reader

BEGIN, END = "@begin", "@end"
STICKY = "CudaAPIError", "CUDAError", "LinkerError"  # after which a process has no GPU


def main(engine, tasks, first):
    for number, task in list(enumerate(json.loads(Path(tasks).read_text())))[int(first) :]:
        print(f"\n{BEGIN} {number} {{}}", flush=True)
        outcome = outcome_of(task, *ENGINES[engine]())
        print(f"\n{END} {number} {json.dumps(outcome)}", flush=True)
        if outcome.get("sticky"):
            return 3
    return 0


def outcome_of(task, start, put, get, findings):
    """{"error"} if it was stopped, else {"found", "wrong"}: a finding, and how many numbers."""
    record, program = task["record"], task["record"]["kernel"]
    try:
        names = reader.loaded(program["source"], task["module"], task["file"])
        with np.errstate(all="ignore"):
            arrays = reader.run(record, program, start, names, put)
            wrong = reader.wrong_arrays(record, [get(array) for array in arrays])
    except Exception as error:
        kind = type(error).__name__
        return {"error": f"{kind}: {str(error)[:200]}", "sticky": kind in STICKY}
    return {"found": "".join(findings[:1]), "wrong": sum(map(len, wrong.values()))}


def as_it_is(array, recipe=None):
    return array


def checked():
    """Our simulator, told which arrays hold garbage at first, as initcheck knows it."""
    from lessons.lab import checked_run
    from lessons.lab.simulator.arguments import arrays_of
    from lessons.lab.source import read_source

    findings, garbage = [], []  # garbage: (array, which of its elements are written)

    def put(array, recipe):
        if recipe.get("garbage"):
            garbage.append((array, np.zeros(array.shape, bool)))
        return array

    def start(kernel, grid, block, shared, given):
        held = {
            name: part_like(part, whole, written)
            for name, part in arrays_of(read_source(kernel), given).items()
            for whole, written in garbage
            if np.may_share_memory(part, whole)
        }
        options = {"measure": False, "dynamic_shared": shared, "uninitialised": held}
        report = checked_run(kernel, grid, block, *given, **options)
        findings.extend(one.kind for one in report.problems)

    return start, put, as_it_is, findings


def part_like(part, whole, other):
    """What a part of an array is of another array of the same shape."""
    first = (part.ctypes.data - whole.ctypes.data) // whole.itemsize
    return other.reshape(-1)[first : first + part.size].reshape(part.shape)


def numbas():
    def start(kernel, grid, block, shared, given):
        kernel[grid, block, 0, shared](*given)

    return start, as_it_is, as_it_is, []


def gpu():
    from numba import cuda

    def put(array, recipe):
        garbage = recipe.get("garbage")
        return cuda.device_array(array.shape, array.dtype) if garbage else cuda.to_device(array)

    def start(kernel, grid, block, shared, given):
        with suppress(RuntimeError, AttributeError):  # then it is compiled once more
            kernel.enable_caching()
        kernel[grid, block, 0, shared](*given)
        cuda.synchronize()

    return start, put, lambda array: array.copy_to_host(), []


ENGINES = {"checked": checked, "numba": numbas, "gpu": gpu}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
