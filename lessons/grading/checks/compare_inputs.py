"""What a failed check says of wrong values that nothing else explains: which inputs they come from.

The call whose result is wrong is made again with other numbers, of the student's file and of a
right one, each in a worker of its own. It counts for no points.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lessons.grading.advice.comparison import differing
from lessons.grading.checks.argument_names import names_of_arguments
from lessons.grading.checks.explain import Effort, Failure, right_texts
from lessons.grading.checks.repeated_calls import (
    Repeated,
    Request,
    WatchedCase,
    WrongResult,
    outputs_in,
)
from lessons.grading.checks.verdict import CheckEnded
from lessons.grading.exchange.output import Output
from lessons.grading.influence.inputs import inputs_of
from lessons.grading.influence.measure import Budget, Element, Results
from lessons.grading.influence.recipe import recipe_of
from lessons.grading.influence.search import AMOUNTS, CONSTANT, FACTOR, Search
from lessons.grading.influence.words import lines_of, sentences
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.submission import Submission

MOST_TIMES = 1e4  # a wrong number that is so much larger than right ones hides what moves it
UNKNOWN = "wrong"  # the diagnosis of values in no pattern that is known
SHARE_OF_RECIPE = 0.3  # of runs and time
FORMULAS = FACTOR, AMOUNTS, CONSTANT  # told only beside that
PATIENCE = 10.0  # seconds, for the check itself


def lines_on_inputs(failure: Failure, workers: WorkerPool, effort: Effort) -> list[str]:
    """Lines for the message of a check that has failed with wrong values.

    workers: gives what starts a worker; its own one is left alone.
    """
    right = right_texts(failure.lesson)[:1]
    if not (effort.runs and right and failure.is_general):
        return []
    pools = [WorkerPool(trusted=True, new_worker=workers.new_worker) for _ in range(2)]
    try:
        texts = "\n".join(failure.submission.lines) + "\n", right[0]
        deadline = time.monotonic() + PATIENCE + 2 * effort.seconds_for_runs
        with ThreadPoolExecutor(len(pools)) as at_once:
            student, ours = at_once.map(
                lambda text, pool: watched(failure, text, pool, deadline), texts, pools
            )
        return compared(failure, student, ours, effort)
    except Exception:  # whatever strange values lead to here: the check is decided already
        return []
    finally:
        for pool in pools:
            pool.stop()


def watched(failure: Failure, text: str, pool: WorkerPool, deadline: float) -> WatchedCase:
    pool.ready()
    submission = Submission(failure.submission.path, text.encode("utf-8"))
    case = WatchedCase(
        failure.lesson, failure.check, submission, pool, failure.seed, deadline,
        on_gpu=False, draw=False, backends=[], only_checked=True,
    )  # fmt: skip
    case.watch()
    return case


def compared(
    failure: Failure, student: WatchedCase, ours: WatchedCase, effort: Effort
) -> list[str]:
    """Lines on the first wrong element of a check; none if there is nothing to tell."""
    try:
        failure.function(student)
        return []
    except CheckEnded:
        pass
    request = wrong_call(student)
    if request is None or student.compared is None:
        return []
    names = names_of_arguments(student.submission, request.function, request.arguments)
    runs = [Repeated(case, request, names) for case in (student, ours)]
    with ThreadPoolExecutor(len(runs)) as at_once:  # compiling takes most of the time
        mine, right = at_once.map(lambda run: run(None), runs)
    if mine is None or right is None:
        return []
    element = first_wrong(mine, right, student.compared, outputs_in(request.originals, names))
    if element is None:
        return []
    budget = Budget(effort.runs, effort.seconds_for_runs)
    search = Search(runs[0], runs[1], inputs_of(request.arguments, names), element, budget)
    found = search.difference()
    if found is None or (found.kind in FORMULAS and failure.diagnosis != UNKNOWN):
        return []
    search.begin(element)
    search.allow(SHARE_OF_RECIPE)
    recipe = recipe_of(search)
    return [sentences(found), *(lines_of(recipe, element) if recipe else [])]


def wrong_call(case: WatchedCase) -> Request | None:
    """The call whose result was compared last, and is wrong; of many calls the first of these."""
    if case.compared is None or not case.requests:
        return None
    if case.of_first_wrong is not None:
        return case.of_first_wrong
    got = case.compared.got
    for request in reversed(case.requests):
        outputs = outputs_in(request.originals, [""] * len(request.originals))
        if any(output is got or shares(got, output) for _, output in outputs):
            return request
    return case.requests[-1]


def shares(got: object, output: Output) -> bool:
    """Whether what was compared is a part of an output, and no copy."""
    return isinstance(got, np.ndarray) and np.may_share_memory(got, output.buffer)


def first_wrong(
    mine: Results, right: Results, compared: WrongResult, outputs: Sequence[tuple[str, Output]]
) -> Element | None:
    """The first element that is wrong, and that was written at all.

    outputs: of the call, by name. If what was compared is one of them, or a part of one, it is an
    element of that; if it was computed from several, any of them.
    """
    compared_ones = [
        name for name, output in outputs if output is compared.got or shares(compared.got, output)
    ]
    for name in compared_ones or right:
        got, wanted = mine.get(name), right[name]
        if got is None or got.shape != wanted.shape:
            continue
        wrong = differing(got, wanted, compared.tolerance) & is_plain(got, wanted)
        wrong &= seen(compared.got, dict(outputs).get(name))
        places = np.argwhere(wrong)
        if len(places):
            return Element(name, tuple(int(place) for place in places[0]))
    return None


def seen(got: object, output: Output | None) -> np.ndarray | bool:
    """Which elements of an output are in the part of it that was compared; all if it is no part."""
    if output is None or not isinstance(got, np.ndarray) or not shares(got, output):
        return True
    before = output.buffer.copy()
    try:
        output.buffer[:] = 0
        got[...] = 1
        return output.array == 1
    finally:
        output.buffer[:] = before


def is_plain(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where a result is a number like those that are right, and not what was never written."""
    sentinel = Output((), got.dtype, None).sentinel
    with np.errstate(invalid="ignore"):
        most = MOST_TIMES * max(1e-3, float(np.abs(wanted).max(initial=0.0)))
        return (got != sentinel) & (np.abs(got.astype(np.float64)) <= most)
