"""Runs a kernel on both engines, and says what is not as it should be."""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lessons.lab import checked_run, instead_of_gpu, native
from lessons.lab.numba_compiler import CannotAsk, compile_error
from lessons.lab.signatures import converted
from tests.lab.helpers import HAS_NUMBA_CUDA
from tests.lab.strangers.case import CASES, MARK, PROGRAMS, Case, Program

NO_TOPICS = ("__init__", "__main__", "case", "judge", "test_strangers")
TOPICS = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in NO_TOPICS)


def cases_of(topic: str) -> list[Case] | list[Program]:
    importlib.import_module(f"tests.lab.strangers.{topic}")
    return PROGRAMS if topic == "programs" else [case for case in CASES if case.topic == topic]


def judge(case: Case | Program) -> list[str]:
    """What is not as it should be; nothing if all is."""
    if isinstance(case, Program):
        return list(complaints_of_program(case))
    return [
        *disagreements(case),
        *(complaints_if_wrong if case.kind else complaints_if_right)(case),
    ]


def disagreements(case: Case) -> Iterator[str]:
    """Whether Numba's compiler takes the kernel, as the case says."""
    arguments, types = converted(case.kernel, case.fresh_arguments)
    try:
        error = compile_error(case.kernel, case.kernel.py_func, arguments, types)
    except CannotAsk:
        return
    if (error is not None) != (case.kind == "compile"):
        yield f"numba-cuda: {'compiles' if error is None else error}"


# ---------------------------------------------------------------- right kernels


def complaints_if_right(case: Case) -> Iterator[str]:
    for ask_numba in (True, False):
        arguments = case.fresh_arguments
        report = run_checked(case, arguments, ask_numba)
        how = "checked" if ask_numba else "by rules"
        if not report.ok:
            yield f"{how}: false finding: {report}"
        yield from (f"{how}: {difference}" for difference in differences(case, arguments))
    if not case.native:
        return
    arguments = case.fresh_arguments
    native(case.kernel)[case.grid, case.block, 0, case.shared_bytes](*arguments)
    yield from (f"native: {difference}" for difference in differences(case, arguments))


def run_checked(case: Case, arguments, ask_numba):
    return checked_run(
        case.kernel,
        case.grid,
        case.block,
        *arguments,
        dynamic_shared=case.shared_bytes,
        ask_numba=ask_numba,
        negative="-1" not in (case.says or ""),  # those cases are about it
        **case.options,
    )


def differences(case: Case, arguments) -> Iterator[str]:
    """How the arguments differ from what they should be now."""
    try:
        for name, wanted in case.result.items():
            got = arguments[list(inspect.signature(case.kernel.py_func).parameters).index(name)]
            tolerance = 1e-4 if got.dtype.itemsize <= 4 else 1e-9
            np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=name)
        if case.checker:
            case.checker(*arguments)
    except AssertionError as error:
        yield " ".join(str(error).split())[:300]


# ---------------------------------------------------------------- wrong kernels


def complaints_if_wrong(case: Case) -> Iterator[str]:
    for ask_numba in [HAS_NUMBA_CUDA, False] if case.rules else [True] * HAS_NUMBA_CUDA:
        report = run_checked(case, case.fresh_arguments, ask_numba)
        how = "" if ask_numba else "by rules: "
        if not report.problems:
            yield f"{how}nothing was found"
        yield from (f"{how}{complaint}" for complaint in complaints_about(case, report))


def complaints_about(case: Case, report) -> Iterator[str]:
    lines = marked_lines(case)
    text = " ".join(finding.message for finding in report.problems)
    for finding in report.problems:
        if finding.kind not in (case.kind, case.also):
            yield f"not of kind {case.kind}: {finding}"
        if finding.line not in lines or (finding.other_line or finding.line) not in lines:
            yield f"not in the lines {sorted(lines)}: {finding}"
    if report.problems:
        yield from (f"does not say {word!r}: {report}" for word in case.says if word not in text)
        yield from (f"says {word!r}: {report}" for word in case.never if word in text)


def marked_lines(case: Case) -> set[int]:
    lines, first = inspect.getsourcelines(case.kernel.py_func)
    return {first + i for i, line in enumerate(lines) if MARK in line}


def complaints_of_program(case: Program) -> Iterator[str]:
    with instead_of_gpu(quiet=True) as session:
        case.run()
    found = session.problems
    text = " ".join(finding.message for finding in found)
    if bool(found) != bool(case.kind) or {finding.kind for finding in found} - {case.kind}:
        yield f"not of kind {case.kind}: {session}"
    source = Path(inspect.getsourcefile(case.run)).read_text().splitlines()
    for finding in found:
        if case.kind != "uninitialised" and MARK not in source[finding.line - 1]:
            yield f"not in a line that is marked: {finding}"
    yield from (f"does not say {word!r}: {session}" for word in case.says if word not in text)
