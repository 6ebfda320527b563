"""What a failed check says of the numbers within a kernel: which expression has wrong ones.

The call that went wrong is made again, of the student's file and of right ones, each in a worker of
its own, on the checked simulator, which then keeps what every expression was. It counts for no
points.
"""

import time
from collections.abc import Sequence

import numpy as np

from lessons.course.source_text import syntax_tree
from lessons.grading.advice.comparison import differing
from lessons.grading.advice.messages import quoted
from lessons.grading.checks.argument_names import names_of_arguments
from lessons.grading.checks.compare_inputs import watched, wrong_call
from lessons.grading.checks.explain import Effort, Failure, right_texts
from lessons.grading.checks.repeated_calls import RUN, Repeated, Request, WatchedCase
from lessons.grading.checks.verdict import CheckEnded
from lessons.grading.exchange.computed import Replaced, Series
from lessons.grading.influence.measure import OutOfRuns, Results
from lessons.grading.repairs.tries import OutOfTries
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.given_code import given_function_at
from lessons.grading.values.search import FoundValue, find_value
from lessons.grading.values.words import sentence

SECONDS_FOR_RIGHT = 6.0  # for all right files, beyond the first
MOST_RIGHT = 16
# Findings that a wrong number can lead to; of another one no number is the cause.
OF_A_WRONG_NUMBER = ("out-of-bounds", "uninitialised")
FEWEST_WHOLE = 4  # wrong elements that are whole numbers: a few are mended by many others


def lines_on_values(failure: Failure, workers: WorkerPool, effort: Effort) -> list[str]:
    """Lines for the message of a check that has failed, with wrong values or an index outside.

    workers: gives what starts a worker; its own one is left alone.
    """
    texts = likest(failure, right_texts(failure.lesson))
    if not (effort.runs and texts and is_asked(failure)):
        return []
    pools = [WorkerPool(trusted=True, new_worker=workers.new_worker) for _ in range(2)]
    try:
        found = search(failure, texts, pools, effort)
        mine = "\n".join(failure.submission.lines)
        if found is None or given_function_at(found.line, mine, failure.lesson):
            return []
        return [sentence(found), *quoted(found.line, failure.submission.lines)]
    except Exception:  # whatever strange values lead to here: the check is decided already
        return []
    finally:
        for pool in pools:
            pool.stop()


def likest(failure: Failure, texts: Sequence[str]) -> list[str]:
    """Our solution, and those right files that have most lines in common with the student's."""
    mine = lines_in(failure.submission.lines)
    shared = [len(mine & lines_in(text.splitlines())) for text in texts]
    others = sorted(range(1, len(texts)), key=lambda place: -shared[place])[: MOST_RIGHT - 1]
    return [*texts[:1], *(texts[place] for place in others)]


def lines_in(text: Sequence[str]) -> set[str]:
    return {line.strip() for line in text if line.strip()}


def is_asked(failure: Failure) -> bool:
    return failure.is_general or failure.diagnosis in OF_A_WRONG_NUMBER


def search(
    failure: Failure, texts: list[str], pools: list[WorkerPool], effort: Effort
) -> FoundValue | None:
    mine = "\n".join(failure.submission.lines) + "\n"
    deadline = time.monotonic() + 2 * effort.seconds_for_runs
    student = watched(failure, mine, pools[0], deadline)
    try:
        failure.function(student)
        return None
    except CheckEnded:
        pass
    request = wrong_call(student) if student.compared else last_call(student)
    tree = syntax_tree(mine)
    if request is None or request.kind != RUN or tree is None:
        return None
    names = names_of_arguments(student.submission, request.function, request.arguments)
    wrong, kept = computed(student, request, names)
    right, ours = computed_by_right_files(failure, texts, pools[1], request, names, deadline)
    if right is None or not kept or wrong_count(student, wrong, right) < fewest(right):
        return None
    end = time.monotonic() + effort.seconds_for_runs
    run = repeated(student, request, names)

    def attempt(others: Series) -> tuple[bool, Replaced | None]:
        if time.monotonic() > end:
            raise OutOfTries
        worker = student.loaded_worker()
        worker.watch(deadline, others)
        results = run(None)
        _, replaced = worker.watched(deadline)
        return wrong_count(student, results, right) == 0, replaced

    return find_value(tree, kept, ours, attempt)


def fewest(right: Results) -> int:
    """How many elements have to be wrong, so that nothing is mended by accident."""
    return 1 if any(values.dtype.kind == "f" for values in right.values()) else FEWEST_WHOLE


def last_call(case: WatchedCase) -> Request | None:
    return case.requests[-1] if case.requests else None


def repeated(case: WatchedCase, request: Request, names: list[str]) -> Repeated:
    run = Repeated(case, request, names)
    run.engine = "checked"
    return run


def computed(
    case: WatchedCase, request: Request, names: list[str]
) -> tuple[Results | None, list[Series]]:
    """What a call leaves, if it ends well, and what its kernels have computed."""
    worker = case.loaded_worker()
    worker.watch(case.deadline)
    results = repeated(case, request, names)(None)
    kept, _ = worker.watched(case.deadline)
    return results, kept


def computed_by_right_files(
    failure: Failure,
    texts: list[str],
    pool: WorkerPool,
    request: Request,
    names: list[str],
    deadline: float,
) -> tuple[Results | None, list[Series]]:
    """The results of the first right file, and what all of them have computed, one by one."""
    right, everything = None, []
    end = time.monotonic() + SECONDS_FOR_RIGHT
    for text in texts:
        if right is not None and time.monotonic() > end:
            break
        case = watched(failure, text, pool, deadline)
        try:
            results, kept = computed(case, request, names)
        except (CheckEnded, OutOfRuns):
            continue
        if results is not None:
            right = right or results
            everything += kept
    return right, everything


def wrong_count(case: WatchedCase, mine: Results | None, right: Results) -> int:
    """How many numbers of the results are wrong; all of them if there are no results."""
    if mine is None:
        return sum(wanted.size for wanted in right.values())
    count = 0
    for name, wanted in right.items():
        got = mine.get(name)
        if got is None or got.shape != wanted.shape:
            count += wanted.size
            continue
        tolerance = case.compared.tolerance if case.compared else case.usual_tolerance(wanted)
        wrong = differing(got, wanted, tolerance)
        if wanted.dtype.kind == "f":
            wrong &= ~(np.isnan(got) & np.isnan(wanted))
        count += int(wrong.sum())
    return count
