"""The names of `numba.cuda` that the lab knows are those that its engines can do something with."""

from lessons.lab import names
from lessons.lab.compiled import rewrite, runtime
from lessons.lab.simulator.cuda_functions import FUNCTIONS


def test_the_simulator_has_each_function_that_is_known_and_no_other():
    assert set(FUNCTIONS) == set(names.FUNCTIONS)


def test_the_native_engine_rewrites_only_names_that_are_known():
    positions = {path.split(".")[0] for path in rewrite.POSITIONS}
    atomics = {f"atomic.{operation}" for operation in runtime.ATOMICS}
    assert {*positions, *rewrite.NO_EFFECT, *atomics} <= set(names.KNOWN_PATHS)
