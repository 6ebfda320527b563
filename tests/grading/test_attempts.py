"""Attempts to compute in a launch function, from `attempts.txt`: none gets a point, none harms."""

from pathlib import Path

import pytest

from lessons.grading.walls.plain_code import plain_code
from tests.grading.grade import grade
from tests.grading.hostile_texts import SOLUTION

TEXT = (Path(__file__).parent / "attempts.txt").read_text("utf-8")
NAMES, MEMORY, METHODS, PLACES, FLOWS = (
    [line for line in part.splitlines()[1:] if line] for part in TEXT.split("\n=== ")[1:]
)
HEAD = """

import abc, collections, contextlib, dataclasses, datetime, enum, functools, logging, math, numba
import operator, os, sys, typing
import numpy as np
from numba import cuda

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu

class Mine:
    py_func = None

def print_it(*given):
    pass

held = {}

def compute(*given):
    source, result = held["source"], held["result"]
    result[...] = source @ np.float32([0.2126, 0.7152, 0.0722])
    held["computed"] = True
    return result

@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        gray[y, x] = 0
"""
EVIL = (
    "import sys; own = sys.modules['lessons.grading.worker.own_kernels'].OwnKernels\n"
    "def forget(self, when): pass\n"
    "def of_the_check(self, value): return value\n"
    "own.require_same = forget; own.arrays = property(lambda self: (), lambda self, value: None)\n"
    "own.shown = property(lambda self: self.kept, lambda self, value: None)"
)


def reaching(expressions):
    """A file that tries each of them, and runs a program of its own with whatever it gets.

    But for those that are left out when the file is read: their user would be left out with them.
    """
    tries = {
        f"try_{number}": f"def try_{number}(kernel, result):\n    return {expression}\n"
        for number, expression in enumerate(expressions)
    }
    refused = plain_code(HEAD + "\n".join(tries.values()), [*tries]).refused
    tries = {name: text for name, text in tries.items() if name not in refused}
    calls = "\n".join(
        f"    try:\n        use(try_{name}(kernel, result))\n    except Exception:\n        pass"
        for name in (name.removeprefix("try_") for name in tries)
    )
    return f"""{HEAD}
def use(got):
    print("GOT", got)
    got["__builtins__"]["exec"]({EVIL!r})

{"".join(tries.values())}

def launch_over_pixels(kernel, source, result, launch=on_gpu):
    held.update(source=source, result=result)
{calls}
    launch(kernel, (blocks_for(result.shape[1], TILE), blocks_for(result.shape[0], TILE)),
           (TILE, TILE), source, result)
"""


def asked(place):
    """A file that gives a launch an object, all of whose methods compute."""
    methods = "\n".join(f"    def {name}(self, *given): return compute()" for name in METHODS)
    kinds = {"Pair": "tuple", "Many": "list", "Number": "int", "Real": "float", "Other": "object"}
    classes = "\n".join(f"class {name}({base}):\n{methods}\n" for name, base in kinds.items())
    return f"""{HEAD}
{classes}
class Fields(typing.NamedTuple("Base", [("a", int), ("b", int)])):
{methods}

def launch_over_pixels(kernel, source, result, launch=on_gpu):
    held.update(source=source, result=result)
    blocks = blocks_for(result.shape[1], TILE), blocks_for(result.shape[0], TILE)
    threads, extra = (TILE, TILE), 0
    {place}
    if extra == 0 and type(extra) is int:
        launch(kernel, blocks, threads, source, result)
    else:
        launch(kernel, blocks, threads, source, result, extra)
"""


@pytest.fixture(scope="module")
def workers(warm):
    pool = warm.new_pool()
    yield pool
    pool.stop()


def points(text, workers):
    results = grade(SOLUTION.decode() + text, workers=workers)
    assert not [one for one in results.values() if one.diagnosis == "grader"]
    return results, sum(one.score for one in results.values())


@pytest.fixture(scope="module")
def zeros(workers):
    """The points of the same file without an attempt."""
    return points(reaching([]), workers)[1]


@pytest.mark.parametrize("kind", [NAMES, MEMORY], ids=["names", "memory"])
@pytest.mark.slow
def test_nothing_of_the_process_is_reached(kind, workers, zeros):
    results, got = points(reaching(kind), workers)
    assert got <= zeros, [one.message for one in results.values() if one.status == "passed"]


@pytest.mark.parametrize(
    "place",
    [
        *(pytest.param(place, marks=pytest.mark.each(8)) for place in PLACES),
        *(pytest.param(flow, marks=pytest.mark.thorough) for flow in FLOWS),
    ],
)
def test_nothing_but_a_kernel_computes_where_arrays_are(place, workers, zeros):
    results, got = points(asked(place), workers)
    assert got <= zeros, [one.message for one in results.values() if one.status == "passed"]
