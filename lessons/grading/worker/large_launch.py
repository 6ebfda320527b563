"""Which engine is quicker for a large launch: the checked simulator, or the native engine?

The simulator computes all threads at once, statement by statement. So many threads that do little
cost it less than Numba needs to compile their kernel. Loops with many rounds cost it more.
"""

from lessons.grading.walls.limits import MOST_ROUNDS
from lessons.lab.dimensions import as_dim3, volume
from lessons.lab.simulator.report import Report

# Rounds of loops times threads: three to six seconds, in vain if the kernel then has to run on the
# native engine. No clock decides: the same file gets the same engine on a busy machine, too.
MOST_WORK = 80_000_000
THREADS_FOR_NOTHING = 6000  # what a round costs beside its threads, in threads


def most_rounds(blocks: object, threads: object) -> int:
    """How many rounds of loops the simulator is given. Raises `ValueError` for no dimensions."""
    together = volume(as_dim3(blocks, "grid")) * volume(as_dim3(threads, "block"))
    return min(MOST_ROUNDS, MOST_WORK // (together + THREADS_FOR_NOTHING))


def gave_up(report: Report) -> bool:
    """Whether the simulator has found no more than that the launch is too large for it."""
    kinds = {finding.kind for finding in report.findings if not finding.advice}
    too_long = {"endless"} if report.budget_used_up else set()
    return bool(kinds) and kinds <= {"unsupported"} | too_long
