"""Run a mutant, and say who noticed: the checked simulator, the comparison of values, or nobody."""

import functools
import traceback
from typing import NamedTuple

from lessons.lab.simulator.run import checked_run
from tests.mutants import stages
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.generate import load, mutants_of_module

CHECK, VALUE, SURVIVED, ERROR = "check", "value", "survived", "error"


class Verdict(NamedTuple):
    """caught_by: one of the four above. detail: what was noticed; for an error, the traceback."""

    caught_by: str
    detail: str


class Noticed(Exception):
    """What the checking has to say; it ends the stage at the first launch that has findings."""


@functools.cache
def mutants(kernel):
    """The list of a kernel's mutants; a mutant's number is its index there."""
    return mutants_of_module(stages.STAGES[kernel].module, kernel)


def mutated_module(kernel, number):
    """A fresh module with that mutant in it."""
    original = stages.STAGES[kernel].module.__name__
    file = original.rpartition(".")[2] + ".py"
    filename = f"<mutant {number} of {kernel} in {file}>"
    return load(mutants(kernel)[number].text, original, filename)


def judge(kernel, number):
    """`Verdict` on one mutant on the checked simulator."""
    return run_stage(kernel, mutated_module(kernel, number), launch_checked)


def judge_original(kernel):
    """`Verdict` on the kernel as it is."""
    return run_stage(kernel, stages.STAGES[kernel].module, launch_checked)


def run_stage(kernel, module, launch):
    try:
        reason = stages.check(kernel, module, launch)
    except Noticed as noticed:
        return Verdict(CHECK, str(noticed))
    except Exception:
        # The mutant is not caught: the checking itself has failed, or cannot do what it was asked.
        return Verdict(ERROR, traceback.format_exc())
    return Verdict(VALUE, reason) if reason else Verdict(SURVIVED, "")


def is_equivalent(kernel, number, verdict):
    """Whether a mutant that nobody noticed is known to be as right as the kernel."""
    return verdict.caught_by == SURVIVED and mutants(kernel)[number].key in EQUIVALENT


def launch_checked(kernel, blocks, threads, *arguments):
    report = checked_run(kernel, blocks, threads, *arguments, measure=False, ask_numba=False)
    # None of these kernels computes with doubles: one that does is changed.
    doubles = [finding for finding in report.findings if finding.topic == "double"]
    problems = report.problems + doubles
    if not problems:
        return
    kinds = ", ".join(dict.fromkeys(finding.kind for finding in problems))
    raise Noticed(f"{kinds} (line {problems[0].line})")
