"""Hostile submissions lose their own points, in time, and change nothing else."""

import os
import re
import time
from pathlib import Path

import pytest

from lessons.course.exercises import wrong_text
from lessons.course.lesson import find_lesson
from lessons.grading.worker_pool import WorkerPool
from tests.grading.grade import PATIENCE, grade

LESSON = find_lesson(1)
HOSTILE = Path(__file__).parent / "hostile"
# One of each kind: these run always, on two checks each; all of them on all checks are slow.
KINDS = [
    "endless_kernel",  # endless where the simulator notices
    "import_the_solution",  # takes what it should have written
    "replaced_comparison",  # makes every comparison agree, in its own process
    "segmentation_fault",  # crashes
    # Slow, all of them: endless loops in Python, forged answers, exhausted memory, and so on.
]
ENDLESS_SECONDS = 2.0  # for a check that ends only when its time is up
GRACE = 60.0  # seconds: starting and ending workers on a busy machine


def attack(path, names, capsys):
    """Grade a hostile file by some checks of lesson 1, in this order, and look at the results."""
    text = path.read_text(encoding="utf-8")
    costs = costs_of(path)
    status = re.search(r"^# status: (.+)$", text, re.MULTILINE)[1]
    checks = [LESSON.check(name) for name in names]
    if status == "timeout":
        # Any other attack ends by itself; how soon depends on the machine, and decides nothing.
        seconds = ENDLESS_SECONDS / PATIENCE
        checks = [c._replace(timeout=seconds) if c.name in costs else c for c in checks]

    results = grade(wrong_text(LESSON, path), checks)

    with capsys.disabled():
        for result in results.values():
            if result.check in costs or not costs:
                print(f"\n{path.stem:<26} {result.check:<12} {result.status:<8} "
                      f"{result.score} points  {result.seconds:5.1f} s", end="")  # fmt: skip
    for check in checks:
        result = results[check.name]
        if check.name in costs:
            assert result.status == status, result.message
            assert result.score == 0
        else:
            assert result.status == "passed", result.message
            assert result.score == check.points
        assert result.seconds < check.timeout * PATIENCE + GRACE
        assert result.max_score == check.points


def costs_of(path):
    """The checks that an attack spoils."""
    text = path.read_text(encoding="utf-8")
    costs = re.search(r"^# costs: (.+)$", text, re.MULTILINE)[1].split()
    return [] if costs == ["nothing"] else costs


@pytest.mark.parametrize("kind", KINDS)
def test_attack_of_each_kind_costs_its_check_and_not_the_next(kind, capsys):
    path = HOSTILE / f"{kind}.py"
    spared = next(check.name for check in LESSON.checks if check.name not in costs_of(path))
    attack(path, [costs_of(path)[0], spared], capsys)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(HOSTILE.glob("*.py")), ids=lambda path: path.stem)
def test_attack_costs_its_own_checks_and_gains_nothing(path, request, capsys):
    needs_gpu = "# needs a GPU" in path.read_text(encoding="utf-8")
    if needs_gpu and not request.config.getoption("--require-gpu"):
        pytest.skip("needs a GPU: pytest --require-gpu")
    attack(path, [check.name for check in LESSON.checks], capsys)


def test_no_child_is_left_running():
    """Uses what the attack of that name, run above or now, has started."""
    path = HOSTILE / "child_left_running.py"
    pool = WorkerPool()
    results = grade(wrong_text(LESSON, path), [LESSON.check("luminance")], workers=pool)
    assert results["luminance"].status == "passed", results["luminance"].message
    # The worker's folder is where it finds its temporary files.
    child = int((pool.worker.folder / "child_left_running.txt").read_text())
    assert is_running(child)
    pool.stop()
    deadline = time.monotonic() + GRACE
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:  # whoever adopted it may not have asked for its exit status yet
        return Path(f"/proc/{process}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False
