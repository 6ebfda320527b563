"""One kernel of the grammar in all three: does it compile, and what does it compute?"""

import linecache
import warnings
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from lessons.lab import checked_run, native
from lessons.lab.compiled.engine import NativeCompileError, NativeRefusal
from lessons.lab.numba_compiler import any_device
from tests.fuzz.grammar import HEADER, Case, case

BLOCKS, THREADS, ELEMENTS = 2, 32, 50
ROUNDING = 1e-5  # of float32; relative, and for numbers below 1 absolute


class Outcome(NamedTuple):
    """compiles: what Numba's compiler says, down to PTX. checked, native: "values", or a reason."""

    compiles: bool
    checked: str
    native: str

    @property
    def agree(self) -> bool:
        expected = "agrees" if self.compiles else "refused"
        return self.checked == expected and self.native in (expected, "not run")


@cache
def surroundings() -> dict[str, Any]:
    """What all kernels can use; its functions are compiled once."""
    return run_text("<fuzz>", HEADER, {})


def load(one: Case) -> Any:
    return run_text(f"<fuzz {one.seed}>", one.text, dict(surroundings()))["kernel"]


def run_text(name: str, text: str, scope: dict[str, Any]) -> dict[str, Any]:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    return scope


def inputs() -> list[Any]:
    random = np.random.default_rng(7)
    a = random.uniform(-2, 2, ELEMENTS).astype(np.float32)
    b = random.integers(-50, 50, ELEMENTS).astype(np.int32)
    return [a, b, np.zeros(ELEMENTS), np.zeros(ELEMENTS + 1, np.int32), 5]


@cache
def types_of_inputs() -> tuple[Any, ...]:
    from numba.cuda.typing.typeof import Purpose, typeof

    return tuple(typeof(value, Purpose.argument) for value in inputs())


def compiles(kernel: Any) -> bool:
    """Whether numba-cuda makes PTX of a kernel; asked on a way of its own, not by the lab."""
    with warnings.catch_warnings(), any_device():
        warnings.simplefilter("ignore")
        try:
            cuda.compile_ptx(kernel.py_func, types_of_inputs(), cc=(9, 0))
        except Exception:
            return False
    return True


def run_checked(kernel: Any) -> tuple[str, list[Any]]:
    arguments = inputs()
    report = checked_run(kernel, BLOCKS, THREADS, *arguments, measure=False)
    # Numba compiles a store into constant memory, which the lab tells all the same.
    kinds = {one.kind for one in report.problems if "lies in constant memory" not in one.message}
    if kinds == {"compile"}:
        return "refused", arguments
    return ("values" if not kinds else f"{sorted(kinds)}: {report.problems[0]}"), arguments


def run_native(kernel: Any, compiled: bool) -> tuple[str, list[Any]]:
    arguments = inputs()
    try:
        native(kernel)[BLOCKS, THREADS](*arguments)
    except Exception as error:
        if compiled and "in constant memory" in str(error):  # told, as by the checked simulator
            return "agrees", arguments
        refused = isinstance(error, (NativeRefusal, NativeCompileError)) and not compiled
        return ("refused" if refused else f"{type(error).__name__}: {error}"), arguments
    return "values", arguments


def outcome(one: Case, with_native: bool = True) -> Outcome:
    kernel = load(one)
    does = compiles(kernel)
    checked, computed = run_checked(kernel)
    if not with_native:
        return Outcome(does, "agrees" if checked == "values" else checked, "not run")
    compiled, expected = run_native(kernel, does)
    if checked == compiled == "values":
        checked = compiled = difference(computed, expected) or "agrees"
    else:
        checked = "agrees" if checked == "values" else checked
        compiled = "agrees" if compiled == "values" else compiled
    return Outcome(does, checked, compiled)


def difference(first: list[Any], second: list[Any]) -> str:
    for name, one, other in zip(("a", "b", "out", "counts"), first, second, strict=False):
        tolerance = ROUNDING if one.dtype.kind == "f" else 0
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            at = int(np.argmax(~np.isclose(one, other, rtol=tolerance, atol=tolerance)))
            return f"{name}[{at}] is {one[at]!r} checked, {other[at]!r} native"
    return ""


def count(seed: int, with_native: bool) -> Counter[str]:
    """What one kernel adds to the counts."""
    one = case(seed)
    found = outcome(one, with_native)
    right = "agrees" if found.compiles else "refused"
    if not found.agree:
        print(f"seed {seed}: {one.mistake}: {found}", flush=True)
    counts = Counter({"kernels": 1, "compile" if found.compiles else "do not compile": 1})
    counts["with a mistake written in"] = int(one.mistake is not None)
    counts["checked agrees"] = int(found.checked == right)
    if with_native:
        counts["native agrees"] = int(found.native == right)
    return counts
