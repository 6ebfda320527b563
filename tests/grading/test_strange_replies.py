"""Whatever a worker replies or a file holds: it costs that submission, and is no grader's error."""

import json
import socket
import struct
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from kernels.plumbing.errors import InputError
from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.explain import evidence
from lessons.grading.explain.clues import own_launch
from lessons.grading.explain.messages import lines_of_findings
from lessons.grading.judge import worker_pool
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.warm_workers import NotForked, WarmWorkers
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.judge.worker_process import WorkerLost
from lessons.grading.walls.fingerprint import fingerprint
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.outcome import Found, read_findings, read_rows
from lessons.grading.worker.protocol import whole
from lessons.lab.simulator.traffic import SUMS

LESSON = find_lesson(1)
CHECK = LESSON.check("luminance")
TEXT = solution_text(LESSON)


class Returning:
    """A pool, and its only worker, which returns `values` in turn, and then the last again."""

    no_gpu, device, alive, warm = "there is none", "CPU", True, False

    def __init__(self, values):
        self.values = values

    def describe(self):
        return self.no_gpu, self.device

    def ready(self):
        pass

    def with_file(self, *arguments):
        return self

    def call(self, *arguments):
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]

    def left_out(self):
        return []

    def printed(self):
        return ""

    def beside(self):
        return nullcontext(self)


def checked(*values):
    submission = Submission(LESSON.exercise, TEXT.encode())
    function = checks_of(LESSON)["luminance"]
    return run_check(
        function, LESSON, CHECK, submission, Returning([*values]), 1, draw=False, effort=NO_EFFORT
    )


@pytest.mark.parametrize(
    "values",
    [
        [[]],
        [(1.0,), (1.0, 2.0)],
        [10**400],
        [np.zeros((2, 2))],
        [np.zeros(3, "V0")],
        ["\ud800"],
        [{"a": 1}],
        [((((),),),)],
        [np.full((2,) * 9, np.nan)],
    ],
)
def test_values_of_no_kind_that_a_check_expects_cost_the_check(values):
    result = checked(*values)
    assert (result.status, result.score) == ("failed", 0)
    assert result.message.isprintable() or "\n" in result.message
    json.dumps(result).encode()


def test_what_a_check_cannot_make_sense_of_is_told_with_the_function_and_the_place():
    def of_pairs(case):
        _, _ = case.call("luminance", 1.0, 0.0, 0.0)

    submission = Submission(LESSON.exercise, TEXT.encode())
    result = run_check(
        of_pairs, LESSON, CHECK, submission, Returning([1.0]), 1, draw=False, effort=NO_EFFORT
    )
    assert result.diagnosis == "not understood"
    assert "what luminance returned (test_strange_replies.py, line" in result.message


def test_the_machines_faults_are_not_the_students():
    pool = Returning([1.0])
    pool.call = lambda *arguments: (_ for _ in ()).throw(OSError("no room"))
    with pytest.raises(OSError):
        run_check(checks_of(LESSON)["luminance"], LESSON, CHECK,
                  Submission(LESSON.exercise, TEXT.encode()), pool, 1, draw=False,
                  effort=NO_EFFORT)  # fmt: skip


# ---------------------------------------------------------------- replies


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan"), "x", None])
def test_numbers_that_nothing_counts_to_are_no_reply(number):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        whole(number)
    with pytest.raises((ValueError, TypeError, OverflowError)):
        read_rows([[0, 1, dict.fromkeys(SUMS, number)]])
    with pytest.raises((ValueError, TypeError, OverflowError)):
        read_findings([["race", number, "", True]])


@pytest.mark.parametrize("line", [10**9, 0, -5])
@pytest.mark.parametrize("source", [[], ["x = 1 / 2", ""]])
def test_a_finding_may_name_any_line(line, source):
    said = "does not compile, since line 999999999)"
    for kind in ("compile", "slow", "unsupported"):
        found = Found(kind, line, said, own=True)
        assert lines_of_findings([found], source)[0] == f"line {line}: {kind}: {said}"


@pytest.mark.parametrize("sides, shown", [((60_000, 10), False), ((0, 5), False), ((9, 5), True)])
def test_a_picture_that_no_browser_bears_is_not_kept(tmp_path, sides, shown):
    content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", *sides) + b"\x08\0\0\0\0"

    made = evidence.Evidence(LESSON, CHECK, tmp_path)
    assert bool(made.accesses(lambda: content)) is shown
    assert bool(list(tmp_path.rglob("*.png"))) is shown


def test_of_a_long_line_only_the_beginning_is_quoted():
    found = Found("race", 1, "two threads", own=True)
    line = lines_of_findings([found], ["x" * 200_000])[1]
    assert line.endswith("x...") and len(line) < 300


def test_what_cannot_be_drawn_ends_no_check(tmp_path):
    def fail(path):
        raise OverflowError

    made = evidence.Evidence(LESSON, CHECK, tmp_path)
    assert made.write("picture.png", fail) == []


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    "line", ["x = 1" + " + 1" * 400, "x = a" + ".b" * 900, "x = 0x" + "f" * 9999]
)
def test_a_launch_function_may_hold_what_python_cannot_write_out_again(line):
    head = "def launch_over_pixels(kernel, source, result, launch=on_gpu):\n"
    assert head in TEXT
    assert not own_launch(TEXT, LESSON)
    assert own_launch(TEXT.replace(head, f"{head}    {line}\n"), LESSON)


def test_a_number_of_any_length_can_be_compared():
    text = "def f(x):\n    y = x * 2 + 3\n    z = y - x / 4\n    return y * z + {number}\n"
    longer = [fingerprint(text.format(number="0x" + "f" * length)) for length in (3, 9999)]
    assert longer[0] != longer[1]


# ---------------------------------------------------------------- workers that are lost


def test_a_worker_that_cannot_be_started_is_tried_again(monkeypatch):
    monkeypatch.setattr(worker_pool, "WAITS", (0.0, 0.0))
    errors = [OSError("no process"), WorkerLost("no answer")]

    def start():
        if errors:
            raise errors.pop()
        return "a worker"

    pool = WorkerPool(new_worker=start)
    assert pool.start() == "a worker"
    pool.worker = None
    errors += [OSError(), OSError(), WorkerLost("a worker could not be started")]
    with pytest.raises((OSError, InputError)):
        pool.start()


class Loading:
    """A worker that is given files, until it is stopped."""

    def __init__(self):
        self.loaded, self.alive = 0, True

    def load(self, *arguments):
        assert self.alive
        self.loaded += 1

    def stop(self):
        self.alive = False


def test_a_check_that_goes_on_after_an_error_gets_a_new_worker():
    pool = WorkerPool(new_worker=Loading)
    submission = Submission(LESSON.exercise, TEXT.encode())
    first = pool.with_file(submission, {}, deadline=0.0)
    assert pool.with_file(submission, {}, deadline=0.0) is first
    pool.after_error()  # the native engine refuses, and the check begins anew
    second = pool.with_file(submission, {}, deadline=0.0)
    assert second is not first
    assert (first.loaded, second.loaded) == (1, 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, on Linux")
def test_late_and_refused_forks_are_told_apart():
    workers = WarmWorkers()
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        workers.requests = 2
        for answer in ({"number": 1, "process": 7}, {"number": 2, "process": 8}):
            theirs.send(json.dumps(answer).encode())
        assert workers.answer_of(mine) == 8
        theirs.send(json.dumps({"number": 2, "process": None}).encode())
        with pytest.raises(NotForked):
            workers.answer_of(mine)
